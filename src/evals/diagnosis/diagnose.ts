import type { ServerFacts } from "./facts.ts";
import { whyNotStarted } from "./local.ts";
import { whyNotReached } from "./remote.ts";
import type { Diagnosis } from "./report.ts";
import { wrongTools } from "./tools.ts";

/** A host that waits less is known, and none that is asked for a setting first. */
const slowMs = 10_000;

/** The rule that says of an entry what these diagnoses say of the start. */
const scriptRule = "registration-script-missing";
const missing = new Set(["script-missing", "program-missing"]);

/**
 * What is wrong with a server, by what was observed: the first stage that failed, with the faults of its entry, which may
 * be the cause; for a server that works, what may go wrong elsewhere. Pure.
 */
export function diagnose(facts: ServerFacts, command: string): Diagnosis[] {
  const failure = notUsable(facts, command);
  const { show } = facts;
  // A server that starts here shows that its entry can work.
  const works = facts.listed?.kind === "yes";
  const entry = facts.entry
    .filter(({ id, severity }) => severity !== "info" && !(missing.has(failure?.id ?? "") && id === scriptRule))
    .map(({ id, severity, message, fix }): Diagnosis => {
      return {
        id,
        severity: works || severity !== "error" ? "warning" : "error",
        wrong: message,
        evidence: [],
        remedy: fix,
      };
    });
  if (failure) return [failure, ...entry];
  const tools = facts.listed?.kind === "yes" ? wrongTools(facts.listed.tools, facts.calls) : [];
  return [
    ...tools.map(({ tool, ...one }): Diagnosis => {
      return { ...one, show: tool === undefined ? show.lint : (show.call?.(tool) ?? show.direct) };
    }),
    ...worksButMay(facts),
    ...entry,
  ];
}

function notUsable({ start, connected, listed, show }: ServerFacts, command: string): Diagnosis | undefined {
  const local = start?.kind === "local" ? whyNotStarted(start, command, show.direct) : undefined;
  if (local) return { ...local, severity: "error" };
  if (connected?.kind === "no") {
    const { message, hint } = connected;
    if (start?.kind === "remote") return { ...whyNotReached(start, connected), severity: "error", show: show.direct };
    const wrong = "It starts, but no client can connect to it.";
    return { id: "no-session", severity: "error", wrong, evidence: [message], remedy: hint, show: show.direct };
  }
  return listed?.kind === "no" ? { ...whyNotListed(listed), severity: "error", show: show.lint } : undefined;
}

function whyNotListed({ message, hint }: { message: string; hint: string }) {
  const evidence = [message];
  if (message.includes("lists two tools named"))
    return {
      id: "duplicate-tools",
      wrong: "Two of its tools have one name.",
      evidence,
      remedy: "Give each a name of its own: neither a host nor a model can tell them apart.",
    };
  if (message.includes("is malformed"))
    return { id: "malformed-tool", wrong: "One malformed tool makes clients refuse its list.", evidence, remedy: hint };
  return { id: "list-fails", wrong: "It connects, but its tools cannot be listed.", evidence, remedy: hint };
}

function worksButMay({ start }: ServerFacts): Diagnosis[] {
  if (start?.kind !== "local") return [];
  const slow: Diagnosis = {
    id: "slow-start",
    severity: "warning",
    wrong: `It takes ${Math.round(start.ms / 1000)} s to answer; some hosts give up after ${slowMs / 1000}.`,
    evidence: [],
    remedy: "Install it instead of fetching it at each start, and load what is heavy when it is first needed.",
  };
  const noise: Diagnosis = {
    id: "stdout-noise",
    severity: "warning",
    wrong: "It writes to stdout what is not the protocol; some hosts close the connection for that.",
    evidence: start.noise.map((line) => `stdout: ${line}`),
    remedy: "Write logs to stderr.",
  };
  return [...(start.ms > slowMs ? [slow] : []), ...(start.noise.length > 0 ? [noise] : [])];
}
