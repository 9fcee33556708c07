import { judge } from "../../probes/checks/index.ts";
import { failed, resultOf } from "../../probes/outcome.ts";
import type { Observation, Probe, ProbedTool } from "../../probes/probe.ts";
import type { ProbeFinding } from "../../reports/probe.ts";
import { observe, type Session } from "./session.ts";
import { smallest } from "./smallest.ts";
import { findingOf, parameterAt, type Tally } from "./tally.ts";
import type { Target } from "./targets.ts";

/** What probing needs beside the tool. */
export type Probing = { session: Session; target: Target; maxCalls: number; signal: AbortSignal };

/** After so many calls that broke, a tool is left: each may cost a whole time limit, and a start of the server. */
const mostBroken = 3;

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
  // What the server was told before: it may be the cause.
  const before = probing.session.history.slice(0, -seen.answers.length);
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
    findings.set(check.id, await smallest(check, verdict.wrong, { seen, before }, probing));
  }
}

function add(finding: ProbeFinding, { probe }: Observation): void {
  finding.times += 1;
  finding.parameters = [...new Set([...finding.parameters, ...parameterAt(probe)])];
}
