import { globalTest, isSignificant } from "../../stats/hypothesisTests.ts";
import type { NamedCounts } from "../evidence.ts";

/**
 * The bank of base trials (here `base`) against fresh trials of the same list (here `head`): what has changed is the
 * model, not the wording. `p` is two-sided. It is told apart, and never fails a build. The cases that are compared were
 * picked because head looked worse than the bank, which favours banks that were lucky: hence the strict level.
 */
export type Drift = { drifted: boolean; p: number; direction: "down" | "up"; cases: readonly NamedCounts[] };

const level = 0.01;

/** Tests in both directions with the global test; p = twice the smaller, at most 1. */
export function driftOf(cases: readonly NamedCounts[]): Drift {
  const down = globalTest(cases).p;
  const up = globalTest(cases.map(({ base, head }) => ({ base: head, head: base }))).p;
  const p = Math.min(1, 2 * Math.min(down, up));
  return { drifted: isSignificant(p, level), p, direction: down <= up ? "down" : "up", cases };
}
