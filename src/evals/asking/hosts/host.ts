import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { cut } from "../../base/text/text.ts";
import type { EndpointOptions } from "../../base/types/endpoint.ts";
import { messageOf, usageError } from "../../base/types/errors.ts";
import { isJsonObject, type JsonObject, parseJsonText } from "../../base/types/json.ts";
import type { HostedTrial } from "../../base/types/model.ts";
import type { ToolOutput } from "../protocols/protocol.ts";

/** The folder of one trial, the only one in which a host may write. */
export type TrialFolder = { dir: string; project: string; home: string; tmp: string };

/** What a host is started with in one trial. Its prompt comes through the standard input. */
type Launch = {
  trial: HostedTrial;
  folder: TrialFolder;
  /** The addresses of the tool servers, by their names in the host's configuration. */
  servers: ReadonlyMap<string, string>;
  /** The base URL of the provider: the tap of the trial. */
  baseUrl: string;
  /** The system messages of the case; empty if there are none. */
  system: string;
};

/** How a host is started. `env` is added to that of the model and the folders of the trial. */
export type Command = { args: readonly string[]; env: Readonly<Record<string, string>> };

/** What is needed to read the conversations of a host. Names are as the host writes them. */
export type HostWording = {
  searchTools: ReadonlySet<string>;
  /** The tools with which a model loads a skill. The notes after their outputs are the bodies. */
  skillTools: ReadonlySet<string>;
  /** Why a call was not executed, read from its output; undefined when it was. */
  readRefusal(output: ToolOutput): string | undefined;
  /** Matches a reason that means that a permission was denied. Absent: the host denies no calls. */
  denial?: RegExp;
};

/**
 * The contract of a host: a program that shows tools and skills to a model in its own way. Everything else (folders,
 * tool servers, the recording of requests, limits, outcomes) is the same for all hosts, and what a host prints is only
 * used for messages: what it showed and what the model replied is read from its requests.
 */
export type Host = {
  /** The name of the host in messages. */
  name: string;
  wording: HostWording;
  /** The name of a server in the host's configuration, and of its tools as a model sees them. */
  toServerName(server: string): string;
  toShownName(serverName: string, tool: string): string;
  /** Where the host looks for the skills of a project, and the folders by which a file would configure it. */
  skillFolder: string;
  configFolders: RegExp;
  /** Whether it can be allowed to write files in the project and nowhere else. */
  writesFiles?: true;
  /** Whether it may show a tool neither by its definition nor by name before a search. */
  hidesTools: boolean;
  /** Measured upper bounds, with a margin: tokens of its own prompt and tools, and resident memory of a process. */
  ownPromptTokens: number;
  processBytes: number;
  configure(launch: Launch): Promise<Command>;
  /** Why the host failed, read from its standard output; undefined if it gives no reason. */
  readFailure(output: string): string | undefined;
};

/** Writes the tool servers in the form of `.mcp.json`, each with these further `fields`, and returns the path. */
export async function writeServers({ dir }: TrialFolder, servers: Launch["servers"], fields: object): Promise<string> {
  const path = join(dir, "mcp.json");
  const mcpServers = Object.fromEntries([...servers].map(([name, url]) => [name, { ...fields, url }]));
  await writeFile(path, JSON.stringify({ mcpServers }), { mode: 0o600 });
  return path;
}

/** The JSON objects among the lines that a host printed. */
export const readEvents = (output: string): JsonObject[] => output.split("\n").map(parseJsonText).filter(isJsonObject);

/** The part of the user's environment that every host gets: programs and language, but no settings and no logins. */
export function passEnvironment(env: EndpointOptions["env"], passed = /^(PATH|LANG|LC_ALL)$/i): Record<string, string> {
  const kept = Object.entries(env).filter(([name, value]) => value && passed.test(name));
  return { ...(Object.fromEntries(kept) as Record<string, string>), TERM: "dumb" };
}

const run = promisify(execFile);

/** How the program of a host is found. `pattern` matches what `--version` prints; its first group is the version. */
type ProgramFacts = { name: string; pattern: RegExp; install: string };

/** Finds the program, on the PATH of `env` unless given as a path. Throws a usage error if it is missing or another. */
export async function findProgram(
  path: string,
  { name, pattern, install }: ProgramFacts,
  env: Readonly<Record<string, string>>,
): Promise<{ command: string; version: string }> {
  const command = /[/\\]/.test(path) ? resolve(path) : path;
  const { stdout } = await run(command, ["--version"], { env, timeout: 30_000 }).catch((error) => {
    throw usageError(`${name} cannot be started as "${command}": ${messageOf(error)}.`, install);
  });
  const version = pattern.exec(stdout)?.[1];
  if (version !== undefined) return { command, version };
  throw usageError(`"${command}" is not ${name}: its version is "${cut(stdout.trim(), 80)}".`, install);
}
