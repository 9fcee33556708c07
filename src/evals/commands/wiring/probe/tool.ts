import { judge } from "../../../probes/checks/index.ts";
import { failed, resultOf } from "../../../probes/outcome.ts";
import { type Check, isSameProbe, type Observation, type Probe, type ProbedTool } from "../../../probes/probe.ts";
import { shrink, simplerObjects } from "../../../probes/shrink.ts";
import type { ProbeFinding } from "../../../reports/probe.ts";
import { canonicalJson } from "../../../types/json.ts";
import { observe, type Session } from "./session.ts";
import { findingOf, parameterAt, type Tally } from "./tally.ts";
import type { Target } from "./targets.ts";

/** What probing needs beside the tool. */
export type Probing = { session: Session; target: Target; maxCalls: number; signal: AbortSignal };

/** After so many calls that broke, a tool is left: each may cost a whole time limit, and a start of the server. */
const mostBroken = 3;
/** What a call that is not answered uses up of the calls that shrinking may make. */
const timeoutCost = 10;

/** Makes the probes one after the other and keeps what they came to in the tally, until the signal aborts. */
export async function makeProbes(
  tool: ProbedTool,
  probes: readonly Probe[],
  tally: Tally,
  probing: Probing,
): Promise<void> {
  let broken = 0;
  for (const [at, probe] of probes.entries()) {
    if (broken >= mostBroken) {
      tally.notes.push(`given up after ${mostBroken} calls that broke; ${probes.length - at} probes were not made`);
      return;
    }
    const seen = await observe(probing.session, probe, tool);
    if (probing.signal.aborted) return;
    if (seen.answers.at(-1)?.outcome.kind === "broken") broken += 1;
    await keep(seen, tally, probing);
    if (probing.signal.aborted) return;
  }
  if (!tally.succeeded && probes[0]?.kind !== "unknown tool")
    tally.notes.push("no call with valid input succeeded: what a success is was not seen");
}

async function keep(seen: Observation, tally: Tally, probing: Probing): Promise<void> {
  const { ok, findings } = tally;
  const answered = seen.answers.flatMap((answer) => resultOf(answer) ?? []);
  tally.succeeded ||= answered.some((result) => !failed(result));
  for (const { check, verdict } of judge(seen)) {
    if (verdict === "ok") ok.add(check.id);
    if (typeof verdict === "string") continue;
    const known = findings.get(check.id);
    if (known) {
      add(known, seen);
      continue;
    }
    // Kept as it is first: the server may be gone for good.
    findings.set(check.id, findingOf(check, verdict.wrong, seen, { target: probing.target, again: "not tried" }));
    findings.set(check.id, await smallest(check, verdict.wrong, seen, probing));
  }
}

function add(finding: ProbeFinding, { probe }: Observation): void {
  finding.times += 1;
  finding.parameters = [...new Set([...finding.parameters, ...parameterAt(probe)])];
}

/** Makes the probe again, and, if it comes to the same, makes it smaller as long as it does. */
async function smallest(check: Check, message: string, first: Observation, probing: Probing): Promise<ProbeFinding> {
  const { tool } = first;
  const { session, target, maxCalls, signal } = probing;
  let shown = { message, seen: first };
  let left = maxCalls;
  const fails = async (probe: Probe): Promise<boolean | "stop"> => {
    if (left <= 0 || signal.aborted) return "stop";
    const seen = await observe(session, probe, tool);
    if (signal.aborted) return "stop";
    left -= seen.answers.reduce((sum, { outcome }) => sum + (isTimeout(outcome) ? timeoutCost : 1), 0);
    const verdict = check.check(seen);
    if (typeof verdict === "string") return false;
    shown = { message: verdict.wrong, seen };
    return true;
  };
  // As the command that repeats it does: without what came before.
  if (left > 0) await session.renew();
  const again = await fails(first.probe);
  if (again === true) await shrink(first.probe, (from) => simplerProbes(tool, from), keyOf, fails);
  const repeated = again === "stop" ? "not tried" : again ? "yes" : "no";
  return findingOf(check, shown.message, shown.seen, { target, again: repeated });
}

/** One of several calls alone, then the same probe from a simpler base. */
function* simplerProbes(tool: ProbedTool, probe: Probe): Generator<Probe> {
  const calls = probe.calls(probe.base);
  if (calls.length > 1) for (const base of calls) yield { kind: "valid", base, calls: (now) => [now] };
  const held = probe.kind === "boundary" ? undefined : probe.parameter;
  for (const base of simplerObjects(probe.base, held)) if (isSameProbe(tool, probe, base)) yield { ...probe, base };
}

const keyOf = ({ base, calls }: Probe) => canonicalJson([...calls(base)]);

function isTimeout(outcome: Observation["answers"][number]["outcome"]): boolean {
  return outcome.kind === "broken" && outcome.stage === "timeout";
}
