import { isSignificant } from "../../base/stats/hypothesisTests.ts";
import { fallP, listFlips, nameCases, type PairTally } from "./tally.ts";
import type { CheckVerdict, Figures } from "./verdict.ts";

/** Level of the suite, and of all cases together, when everything that can be asked was asked. */
export const exhaustedLevel = 0.025;

/**
 * The verdict on a deterministic model, when all of its different requests were asked: REGRESSED by the tests of
 * a check; NO REGRESSION, exact for these requests, when nothing went from pass to fail; else CHANGED with every flip. One
 * flipped case with one order is CHANGED, never REGRESSED: nothing distinguishes it from a harmless flip.
 */
export function decideExhausted(
  cases: readonly string[],
  tallies: readonly PairTally[],
  level: number,
  figures: Figures,
): CheckVerdict {
  const tested = tallies.map((tally, i) => ({ id: cases[i] ?? "", tally, p: fallP(tally) }));
  const fell = tested.filter(({ p }) => isSignificant(p, level / cases.length));
  if (fell.length > 0) return { kind: "regressed", by: "cases", fell: nameCases(fell), ...figures };
  if (isSignificant(figures.suite.p, level)) return { kind: "regressed", by: "suite", ...figures };
  const answered = tallies.map((tally) => ({ ...tally, ...tally.answered }));
  const flips = listFlips(cases, answered);
  if (flips.some(({ down }) => down > 0)) return { kind: "changed", fell: [], rose: [], flips, ...figures };
  if (figures.missing) return { kind: "inconclusive", because: "missing", ...figures };
  return { kind: "no-regression", ...figures };
}
