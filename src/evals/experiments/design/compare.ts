import type { TrialRecord } from "../../asking/trials/design.ts";
import type { CaseCounts } from "../../base/stats/counts.ts";
import { cochranMantelHaenszel, isSignificant } from "../../base/stats/hypothesisTests.ts";
import { adviseOpen, simulateReach } from "./advice.ts";
import {
  type CheckVerdict,
  conclude,
  countAnswered,
  countCalls,
  type Figures,
  fallP,
  joinJudgements,
  judgeSuite,
  lacksAnswers,
  listFlips,
  missingAnswers,
  nameCases,
  netChange,
  type PairTally,
  readArm,
  type SuiteJudgement,
  tallyCase,
} from "./observe.ts";
import { boundaries, caseError, defaultMargin, isWithinMargin, type LookPlan, type MeanDrop } from "./statistics.ts";

/**
 * Two finished records. `samePairs`: trial t of a case had the same tool order in both; whether the records are of one time
 * is the caller's to say: if not, a change of the model looks like a change of the wording.
 */
export type CompareSetup = {
  cases: readonly string[];
  record: TrialRecord;
  samePairs: boolean;
  /** Whether the model always gives the same reply to the same request, so that there is no noise. */
  alwaysAlike?: boolean;
  seed: number;
  margin?: number;
  /** Comparisons that share the error rate, as for a check. */
  families?: number;
  /** As for a check. */
  withReach?: boolean;
};

/**
 * Compares two finished records in one look, without asking for anything. With the same orders: the tests of a check on the
 * first pairs that both records have, a = .04 for the suite, .01/n for a case. With different orders: the exact
 * Cochran-Mantel-Haenszel test at .04, and D with the pooled variance r(1-r)(1/k_b + 1/k_h), r = (s + 1/2)/(N + 1), in place
 * of the pairs. Levels are divided by `families`. Missing answers count both ways. `cases`: those with a trial in both
 * records, at least one.
 */
export function compareRecords(setup: CompareSetup): CheckVerdict {
  const { cases, record, seed, margin = defaultMargin, families = 1, withReach = true } = setup;
  // A deterministic model gives the same answer in any order.
  const samePairs = setup.samePairs || setup.alwaysAlike === true;
  if (cases.length === 0) throw new RangeError("a comparison needs at least one case");
  const { suiteLevel: level, z } = boundaries(1, cases.length);
  const suiteLevel = level / families;
  const tallies = cases.map((id) => {
    const [base, head] = [readArm(record, id, "base"), readArm(record, id, "head")];
    return tallyCase(base, head, samePairs ? Math.min(base.answers.length, head.answers.length) : undefined);
  });
  const suite = samePairs
    ? judgeSuite(tallies, margin, z)
    : joinJudgements(tallies, (counted) => judgeUnpaired(counted, margin, z));
  const trials = Math.min(...tallies.flatMap(({ base, head }) => [base.trials, head.trials]));
  const caseLevel = caseError / cases.length / families;
  const plan: LookPlan = { looks: [trials], rungs: [trials], least: 1, suiteLevel, z, caseLevel, riseLevel: caseLevel };
  const tested = tallies.map((tally, i) => ({ id: cases[i] ?? "", tally, p: fallP(tally) }));
  const isHit = ({ p }: { p: number }) => isSignificant(p, caseLevel);
  const figures: Figures = {
    method: samePairs ? "records" : "unpaired-records",
    look: 1,
    looks: 1,
    trials,
    cap: trials,
    margin,
    families,
    cases: cases.length,
    net: netChange(suite.mean, z, cases.length),
    suite: {
      down: samePairs ? suite.down : null,
      up: samePairs ? suite.up : null,
      p: suite.p,
      level: suiteLevel,
    },
    suspects: nameCases(tested.filter((one) => !isHit(one) && isSignificant(one.p, 0.2))),
    missing: missingAnswers(tallies),
    reach: withReach && trials > 0 ? simulateReach(tallies, plan, 1, seed) : null,
    calls: countCalls(
      record,
      cases,
      tallies.map(({ pairs }) => pairs),
    ),
  };
  if (setup.alwaysAlike) {
    const exhausted: Figures = { ...figures, method: "exhausted", reach: null, suspects: [] };
    return decideExhausted(cases, tallies, exhaustedLevel / families, exhausted);
  }
  const fell = tested.filter(isHit);
  if (fell.length > 0) return conclude(figures, { kind: "regressed", by: "cases", flagged: nameCases(fell) });
  if (isSignificant(suite.p, suiteLevel)) return conclude(figures, { kind: "regressed", by: "suite" });
  if (suite.lacksAnswers) return conclude(figures, { kind: "inconclusive", because: "missing" });
  if (suite.isClear) return conclude(figures, { kind: "no-regression" });
  const advice = suite.mean && trials > 0 ? adviseOpen(suite.mean, trials, margin, z) : null;
  return conclude(figures, { kind: "inconclusive", because: "cap", advice });
}

/** The test of the suite by counts, for arms without common tool orders. */
function judgeUnpaired(tallies: readonly PairTally[], margin: number, z: number): SuiteJudgement {
  const answered = tallies.map(countAnswered);
  const mean = pooledDrop(tallies);
  return {
    down: 0,
    up: 0,
    p: Math.max(cochranMantelHaenszel(tallies), cochranMantelHaenszel(answered)),
    mean,
    isClear: isWithinMargin(mean, margin, z) && isWithinMargin(pooledDrop(answered), margin, z),
    lacksAnswers: lacksAnswers(tallies),
  };
}

function pooledDrop(cases: readonly CaseCounts[]): MeanDrop | undefined {
  let drop = 0;
  let variance = 0;
  for (const { base, head } of cases) {
    if (base.trials === 0 || head.trials === 0) return undefined;
    drop += base.passed / base.trials - head.passed / head.trials;
    const r = (base.passed + head.passed + 0.5) / (base.trials + head.trials + 1);
    variance += r * (1 - r) * (1 / base.trials + 1 / head.trials);
  }
  return { drop: drop / cases.length, standardError: Math.sqrt(variance) / cases.length };
}

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
  if (fell.length > 0) return conclude(figures, { kind: "regressed", by: "cases", flagged: nameCases(fell) });
  if (isSignificant(figures.suite.p, level)) return conclude(figures, { kind: "regressed", by: "suite" });
  const answered = tallies.map((tally) => ({ ...tally, ...tally.answered }));
  const flips = listFlips(cases, answered);
  if (flips.some(({ down }) => down > 0)) return conclude(figures, { kind: "changed", flips });
  if (figures.missing) return conclude(figures, { kind: "inconclusive", because: "missing" });
  return conclude(figures, { kind: "no-regression" });
}
