import type { Severity } from "../../../base/types/lint.ts";
import type { Tool } from "../../../base/types/tool.ts";
import { findMissingKey, quoteLines } from "./knownErrors.ts";
import { diagnoseLocalStart, type LocalStart } from "./local.ts";
import { diagnoseRemoteStart, findRefusal, type RemoteStart } from "./remote.ts";
import type { Diagnosis } from "./report.ts";
import { diagnoseTools, type TestCall } from "./tools.ts";

type Failure = { kind: "no"; message: string; hint: string };

/** What was observed of one server. A stage is absent if an earlier one failed. */
export type ServerFacts = {
  /** Commands that reproduce a fault of the start, of the tool list and, where one can be made, of a call. */
  show: { direct: string; lint: string; call?(tool: string): string };
  /** Findings of the lint rules for its entry in the configuration file of a host. */
  entry: readonly { id: string; severity: Severity; message: string; fix: string }[];
  start?: LocalStart | RemoteStart;
  connected?: { kind: "yes" } | Failure;
  listed?: { kind: "yes"; tools: readonly Tool[] } | Failure;
  calls: readonly TestCall[];
};

/** The shortest start-up timeout of known hosts. */
const slowMs = 10_000;

/** Whether a start was slow. Other servers that start at the same time may be the cause. */
export const isSlow = ({ ms }: LocalStart) => ms > slowMs;

/** This lint rule for entries reports the same as these diagnoses of the start. */
const scriptRule = "registration-script-missing";
const startDiagnoses = new Set(["script-missing", "program-missing"]);

/**
 * The diagnoses of a server: the first stage that failed, and the faults of its entry, which may be the cause. For a
 * working server, the faults of its tools, and what may fail in another host.
 */
export function diagnose(facts: ServerFacts): Diagnosis[] {
  const failure = diagnoseFailure(facts);
  const entry = diagnoseEntry(facts, failure);
  if (failure) return [failure, ...entry];
  const { show, listed, calls } = facts;
  const tools = listed?.kind === "yes" ? diagnoseTools(listed.tools, calls) : [];
  return [
    // Skipped if a call already named the missing key.
    ...(tools.some(({ id }) => id === "variable-missing") ? [] : diagnoseNotice(facts)),
    ...tools.map(({ tool, ...one }): Diagnosis => {
      return { ...one, show: tool === undefined ? show.lint : (show.call?.(tool) ?? show.direct) };
    }),
    ...diagnoseRisks(facts),
    ...entry,
  ];
}

/** A missing key that a server reports but can start without. */
function diagnoseNotice({ start, show }: ServerFacts): Diagnosis[] {
  const key = start?.kind === "local" ? findMissingKey(start.stderr.join("\n")) : undefined;
  if (start?.kind !== "local" || !key) return [];
  const { id, variables } = key;
  const what = variables?.join(" and ") ?? "API key or token";
  return [
    {
      id,
      severity: "warning",
      wrong: `The server starts, but reports that it has no ${what}: some of its tools may fail.`,
      evidence: quoteLines("stderr", start.stderr, key.line),
      remedy: key.remedy,
      show: show.direct,
    },
  ];
}

function diagnoseEntry({ entry, listed }: ServerFacts, failure: Diagnosis | undefined): Diagnosis[] {
  // A server that starts here proves that its entry can work.
  const works = listed?.kind === "yes";
  const isRepeated = (id: string) => startDiagnoses.has(failure?.id ?? "") && id === scriptRule;
  return entry
    .filter(({ id, severity }) => severity !== "info" && !isRepeated(id))
    .map(({ id, severity, message, fix }) => ({
      id,
      severity: works || severity !== "error" ? "warning" : "error",
      wrong: message,
      evidence: [],
      remedy: fix,
    }));
}

function diagnoseFailure({ start, connected, listed, show }: ServerFacts): Diagnosis | undefined {
  const local = start?.kind === "local" ? diagnoseLocalStart(start, show.direct) : undefined;
  if (local) return { ...local, severity: "error" };
  if (connected?.kind === "no") {
    const { message, hint } = connected;
    if (start?.kind === "remote")
      return { ...diagnoseRemoteStart(start, connected), severity: "error", show: show.direct };
    const wrong = "The server starts, but no client can connect to it.";
    return { id: "no-session", severity: "error", wrong, evidence: [message], remedy: hint, show: show.direct };
  }
  return listed?.kind === "no" ? { ...diagnoseList(listed), severity: "error", show: show.lint } : undefined;
}

function diagnoseList({ message, hint }: Failure): Pick<Diagnosis, "id" | "wrong" | "evidence" | "remedy"> {
  const evidence = [message];
  // Recognized by the messages of toolsets/toolList.ts.
  if (/\btwo tools\b|\bduplicate\b/i.test(message))
    return {
      id: "duplicate-tools",
      wrong: "Two of its tools have the same name.",
      evidence,
      remedy: "Give each tool a unique name: neither a host nor a model can tell them apart.",
    };
  if (/\bmalformed\b/i.test(message))
    return { id: "malformed-tool", wrong: "A malformed tool makes clients reject the list.", evidence, remedy: hint };
  const refusal = findRefusal(message);
  if (refusal)
    return {
      id: "credentials",
      wrong: `The server connects, but answers the request for its tools with HTTP ${refusal}.`,
      evidence,
      remedy: hint,
    };
  return { id: "list-fails", wrong: "The server connects, but its tools cannot be listed.", evidence, remedy: hint };
}

/** What may fail in another host. */
function diagnoseRisks({ start }: ServerFacts): Diagnosis[] {
  if (start?.kind !== "local") return [];
  const slow: Diagnosis = {
    id: "slow-start",
    severity: "warning",
    wrong: `The server takes ${Math.round(start.ms / 1000)} s to answer; some hosts give up after ${slowMs / 1000} s.`,
    evidence: [],
    remedy: "Install it instead of downloading it at each start, and load heavy dependencies on first use.",
  };
  const noise: Diagnosis = {
    id: "stdout-noise",
    severity: "warning",
    wrong: "The server writes output other than protocol messages to stdout; some hosts then close the connection.",
    evidence: quoteLines("stdout", start.noise),
    remedy: "Write logs to stderr.",
  };
  return [...(isSlow(start) ? [slow] : []), ...(start.noise.length > 0 ? [noise] : [])];
}
