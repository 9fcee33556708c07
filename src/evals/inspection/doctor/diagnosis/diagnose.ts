import type { Finding } from "../../../base/types/finding.ts";
import type { Tool } from "../../../base/types/tool.ts";
import { type Cause, findMissingKey, quoteLines } from "../../../servers/diagnosis/signatures.ts";
import {
  diagnoseLocalStart,
  diagnoseRemoteStart,
  explainKnown,
  findRefusal,
  isSlow,
  type LocalStart,
  type RemoteStart,
  slowMs,
} from "../../../servers/diagnosis/start.ts";
import { type Diagnosis, diagnoseTools, type TestCall } from "./tools.ts";

type Failure = { kind: "no"; message: string; hint: string };

/** What was observed of one server. A stage is absent if an earlier one failed. */
export type ServerFacts = {
  /** Commands that reproduce a fault of the start, of the tool list and, where one can be made, of a call. */
  show: { direct: string; lint: string; call?(tool: string): string };
  /** Findings of the lint rules for its entry in the configuration file of a host. */
  entry: readonly (Cause & Pick<Finding, "severity">)[];
  start?: LocalStart | RemoteStart;
  connected?: { kind: "yes" } | Failure;
  listed?: { kind: "yes"; tools: readonly Tool[] } | Failure;
  calls: readonly TestCall[];
};

/** This lint rule for entries reports the same as these diagnoses of the start. */
const scriptRule = "registration-script-missing";
const startRules = new Set(["script-missing", "program-missing"]);

/**
 * The diagnoses of a server: the first stage that failed, and the faults of its entry, which may be the cause. For a
 * working server, the faults of its tools, and what may fail in another host.
 */
export function diagnose(facts: ServerFacts): Diagnosis[] {
  const failure = diagnoseFailure(facts);
  const entry = diagnoseEntry(facts, failure);
  if (failure) return [failure, ...entry];
  const { show, start, listed, calls } = facts;
  const local = start?.kind === "local" ? start : undefined;
  const tools = listed?.kind === "yes" ? diagnoseTools(listed.tools, calls, local) : [];
  return [
    // Skipped if a call already named the missing key.
    ...(tools.some(({ rule }) => rule === "variable-missing") ? [] : diagnoseNotice(facts)),
    ...tools.map(({ tool, ...one }): Diagnosis => {
      return { ...one, command: tool === undefined ? show.lint : (show.call?.(tool) ?? show.direct) };
    }),
    ...diagnoseRisks(facts),
    ...entry,
  ];
}

/** A missing key that a server reports but can start without. */
function diagnoseNotice({ start, show }: ServerFacts): Diagnosis[] {
  const key = start?.kind === "local" ? findMissingKey(start.stderr.join("\n"), "running") : undefined;
  if (start?.kind !== "local" || !key) return [];
  const { rule, variables, line } = key;
  const what = variables?.join(" and ") ?? "API key or token";
  return [
    {
      rule,
      severity: "warning",
      message: `The server starts, but reports that it has no ${what}: some of its tools may fail.`,
      evidence: quoteLines("stderr", start.stderr, line),
      fix: explainKnown(key, start),
      command: show.direct,
    },
  ];
}

function diagnoseEntry({ entry, listed }: ServerFacts, failure: Diagnosis | undefined): Diagnosis[] {
  // A server that starts here proves that its entry can work.
  const works = listed?.kind === "yes";
  const isRepeated = startRules.has(failure?.rule ?? "");
  return entry
    .filter(({ rule, severity }) => severity !== "info" && !(isRepeated && rule === scriptRule))
    .map((one) => ({ ...one, severity: works ? "warning" : one.severity }));
}

function diagnoseFailure({ start, connected, listed, show }: ServerFacts): Diagnosis | undefined {
  const local = start?.kind === "local" ? diagnoseLocalStart(start, show.direct) : undefined;
  if (local) return { severity: "error", ...local };
  if (connected?.kind === "no" && start?.kind === "remote")
    return { severity: "error", ...diagnoseRemoteStart(start, connected), command: show.direct };
  const failed = connected?.kind === "no" ? connected : listed?.kind === "no" ? listed : undefined;
  if (!failed) return undefined;
  const cause = failed === connected ? explainNoSession(failed) : explainNoList(failed);
  const command = failed === connected ? show.direct : show.lint;
  return { severity: "error", ...cause, evidence: [failed.message], command };
}

function explainNoSession({ hint }: Failure): Cause {
  return { rule: "no-session", message: "The server starts, but no client can connect to it.", fix: hint };
}

function explainNoList({ message, hint }: Failure): Cause {
  // Recognized by the messages of servers/toolList.ts.
  if (/\btwo tools\b|\bduplicate\b/i.test(message))
    return {
      rule: "duplicate-tools",
      message: "Two of its tools have the same name.",
      fix: "Give each tool a unique name: neither a host nor a model can tell them apart.",
    };
  if (/\bmalformed\b/i.test(message))
    return { rule: "malformed-tool", message: "A malformed tool makes clients reject the list.", fix: hint };
  const refusal = findRefusal(message);
  const refused = `The server connects, but answers the request for its tools with HTTP ${refusal}.`;
  return refusal
    ? { rule: "credentials", message: refused, fix: hint }
    : { rule: "list-fails", message: "The server connects, but its tools cannot be listed.", fix: hint };
}

/** What may fail in another host. */
function diagnoseRisks({ start }: ServerFacts): Diagnosis[] {
  if (start?.kind !== "local") return [];
  const slow: Diagnosis = {
    rule: "slow-start",
    severity: "warning",
    message: `The server takes ${Math.round(start.ms / 1000)} s to answer; some hosts give up after ${slowMs / 1000} s.`,
    fix: "Install it instead of downloading it at each start, and load heavy dependencies on first use.",
  };
  const noise: Diagnosis = {
    rule: "stdout-noise",
    severity: "warning",
    message: "The server writes output other than protocol messages to stdout; some hosts then close the connection.",
    evidence: quoteLines("stdout", start.noise),
    fix: "Write logs to stderr.",
  };
  return [...(isSlow(start) ? [slow] : []), ...(start.noise.length > 0 ? [noise] : [])];
}
