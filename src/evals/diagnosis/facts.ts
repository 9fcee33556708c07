import type { Severity } from "../types/lint.ts";
import type { CallOutcome } from "../types/server.ts";
import type { Tool } from "../types/tool.ts";

/** What running a server's command directly showed, with the protocol's first request on its stdin. */
export type LocalStart = {
  kind: "local";
  program:
    | { kind: "found" }
    | { kind: "missing"; searched: readonly string[]; instead?: string }
    | { kind: "not executable"; path: string };
  /** The folder that it was started in, and whether it is there. */
  folder: { path: string; exists: boolean };
  /** The script that an interpreter was to run, as written and as looked up from that folder. */
  script?: { given: string; path: string; relative: boolean; exists: boolean };
  /** How it ended before it answered, in words that follow "the server"; absent when it did not. */
  ended?: string;
  answered: boolean;
  /** Until it answered, ended, or was no longer waited for. */
  ms: number;
  /** The last lines of each; of stdout only what is not the protocol. */
  stderr: readonly string[];
  noise: readonly string[];
  /** Variables that are set where this was run, but are not passed on to a server. */
  notPassedOn: ReadonlySet<string>;
};

/** What a plain request to a URL came to, after a client could not connect to it. */
export type RemoteStart = {
  kind: "remote";
  url: string;
  transport: "http" | "sse";
  answer:
    | { kind: "status"; status: number; type?: string; location?: string; authenticate?: string }
    | { kind: "none"; code: string; message: string };
};

/** What could be observed of one server. A stage is absent when one before it failed. */
export type ServerFacts = {
  /** Commands that show what is wrong: with its start, with its list, and, where one can be made, with a call. */
  show: { direct: string; lint: string; call?(tool: string): string };
  /** Its entry in a host's file. */
  entry: readonly { id: string; severity: Severity; message: string; fix: string }[];
  start?: LocalStart | RemoteStart;
  connected?: { kind: "yes" } | { kind: "no"; message: string; hint: string };
  listed?: { kind: "yes"; tools: readonly Tool[] } | { kind: "no"; message: string; hint: string };
  calls: readonly { tool: string; outcome: CallOutcome }[];
};
