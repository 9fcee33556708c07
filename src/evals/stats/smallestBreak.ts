import { headNull } from "./counts.ts";
import { isSignificant } from "./significance.ts";

/** A case that passed all of its base trials is caught when at most `headPasses` head trials pass; `p` is its p-value. */
export type SmallestBreak = { kind: "catchable"; headPasses: number; p: number } | { kind: "none" };

/**
 * The smallest break of a single case, from always passing, that the exact test can call at `alpha` with this many
 * trials: the largest j with P(Y <= j | all base trials and j head trials passed) <= alpha. With `none`, even a total
 * break of one case would go unseen. The other cases are taken to pass always: ones that vary make it harder.
 */
export function smallestBreak(baseTrials: number, headTrials: number, alpha: number): SmallestBreak {
  const base = { passed: baseTrials, trials: baseTrials };
  for (let headPasses = headTrials - 1; headPasses >= 0; headPasses--) {
    // Base passed everything, so the observed head passes are the fewest attainable and their tail is one mass.
    const p = headNull({ base, head: { passed: headPasses, trials: headTrials } }).masses[0] ?? 1;
    if (isSignificant(p, alpha)) return { kind: "catchable", headPasses, p };
  }
  return { kind: "none" };
}
