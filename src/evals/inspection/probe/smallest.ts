import { type Check, isSameProbe, type Observation, type Probe, type ProbedTool } from "../../probes/probe.ts";
import { shorter, shrink, simplerObjects } from "../../probes/shrink.ts";
import type { ProbeCall, ProbeFinding } from "../../reports/probe.ts";
import { canonicalJson } from "../../types/json.ts";
import { observe } from "./session.ts";
import { findingOf } from "./tally.ts";
import type { Probing } from "./tool.ts";

/** What a call that is not answered uses up of the calls that shrinking may make. */
const timeoutCost = 10;

/** A probe as it was made, and the calls that the server had been sent before since it started. */
type Seen = { seen: Observation; before: readonly ProbeCall[] };

/**
 * Makes a probe again on a fresh start, alone, and if that does not come to the same, after the calls that went before it.
 * If one does, that is made smaller as long as it does.
 */
export async function smallest(check: Check, message: string, first: Seen, probing: Probing): Promise<ProbeFinding> {
  const { session, target, maxCalls, signal } = probing;
  const { tool, probe: made } = first.seen;
  let shown = { message, seen: first.seen, before: [] as readonly ProbeCall[] };
  let left = maxCalls;
  const fails = async (probe: Probe, before: readonly ProbeCall[]): Promise<boolean | "stop"> => {
    if (left <= 0 || signal.aborted) return "stop";
    if (before.length > 0) await session.renew();
    left -= before.length;
    for (const call of before)
      if ((await session.call(call.tool, call.arguments)).outcome.kind === "broken") return false;
    const seen = await observe(session, probe, tool);
    if (signal.aborted) return "stop";
    left -= seen.answers.reduce((sum, { outcome }) => sum + (isTimeout(outcome) ? timeoutCost : 1), 0);
    const verdict = check.check(seen);
    if (typeof verdict === "string") return false;
    shown = { message: verdict.wrong, seen, before };
    return true;
  };
  // As the command that repeats it does: without what came before.
  if (left > 0) await session.renew();
  let again = await fails(made, []);
  let needed: readonly ProbeCall[] = [];
  const before = first.before.slice(-Math.ceil(maxCalls / 2));
  if (again === false && before.length > 0 && (await fails(made, before)) === true) {
    again = true;
    needed = await shrink(before, shorter, canonicalOf, (calls) => fails(made, calls));
  }
  if (again === true)
    await shrink(
      made,
      (from) => simplerProbes(tool, from),
      keyOf,
      (probe) => fails(probe, needed),
    );
  const repeated = again === "stop" ? "not tried" : again ? "yes" : "no";
  return findingOf(check, shown.message, shown.seen, { target, again: repeated, before: shown.before });
}

/** One of several calls alone, then the same probe from a simpler base. */
function* simplerProbes(tool: ProbedTool, probe: Probe): Generator<Probe> {
  const calls = probe.calls(probe.base);
  if (calls.length > 1) for (const base of calls) yield { kind: "valid", base, calls: (now) => [now] };
  const held = probe.kind === "boundary" ? undefined : probe.parameter;
  for (const base of simplerObjects(probe.base, held)) if (isSameProbe(tool, probe, base)) yield { ...probe, base };
}

const keyOf = ({ base, calls }: Probe) => canonicalJson([...calls(base)]);
const canonicalOf = (calls: readonly ProbeCall[]) => canonicalJson([...calls]);

function isTimeout(outcome: Observation["answers"][number]["outcome"]): boolean {
  return outcome.kind === "broken" && outcome.stage === "timeout";
}
