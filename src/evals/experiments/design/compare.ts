import type { TrialRecord } from "../../asking/trials/design.ts";
import { type CaseCounts, noTrials, pool } from "../../base/stats/counts.ts";
import { normalCdf } from "../../base/stats/distributions.ts";
import { cochranMantelHaenszel, fisherP, isSignificant } from "../../base/stats/hypothesisTests.ts";
import { deriveSeed, drawBeta, type Random, seededRandom } from "../../base/stats/random.ts";
import type { ComparedCheck } from "../../base/types/check.ts";
import { countRate, type Rate } from "./grades.ts";
import {
  type CheckVerdict,
  conclude,
  countCalls,
  describeSuite,
  type Figures,
  fallP,
  judgeSuite,
  listFlips,
  missingAnswers,
  nameTested,
  type PairCount,
  type PairTally,
  readArm,
  tallyCase,
} from "./observe.ts";
import { boundaries, caseErrorOnce, defaultMargin, type LookPlan, type MeanDrop, suspicionAt } from "./statistics.ts";

/**
 * Two finished records. `samePairs`: trial t of a case had the same tool order in both; whether the records are of one
 * time is the caller's to say: if not, a change of the model looks like a change of the wording.
 */
type CompareSetup = {
  cases: readonly string[];
  record: TrialRecord;
  samePairs: boolean;
  /** Whether the model always gives the same reply to the same request, so that there is no noise. */
  alwaysAlike?: boolean;
  seed: number;
  margin?: number;
  /** Comparisons that share the error rate, as for a check. */
  families?: number;
  withReach?: boolean;
};

/**
 * Compares two finished records in one look, without asking for anything. With the same orders: the tests of a check on
 * the first pairs that both records have, a = .04 for the suite, .01/n for a case. With different orders: the exact
 * Cochran-Mantel-Haenszel test at .04, and D with the pooled variance r(1-r)(1/k_b + 1/k_h), r = (s + 1/2)/(N + 1), in
 * place of the pairs. Levels are divided by `families`. Missing answers count both ways. `cases`: those with a trial in
 * both records, at least one.
 */
export function compareRecords(setup: CompareSetup): CheckVerdict {
  const { cases, record, seed, margin = defaultMargin, families = 1, withReach = true } = setup;
  // A deterministic model gives the same answer in any order.
  const samePairs = setup.samePairs || setup.alwaysAlike === true;
  const { suiteLevel: level, z } = boundaries(1);
  const suiteLevel = (setup.alwaysAlike ? exhaustedLevel : level) / families;
  const tallies = cases.map((id) => {
    const [base, head] = [readArm(record, id, "base"), readArm(record, id, "head")];
    return tallyCase(id, base, head, samePairs ? Math.min(base.answers.length, head.answers.length) : undefined);
  });
  const suite = judgeSuite(tallies, margin, z, samePairs ? undefined : unpaired);
  const counts = tallies.map(({ ways }) => countPasses(ways[0]));
  const trials = Math.min(...counts.flatMap(({ base, head }) => [base.trials, head.trials]));
  const caseLevel = caseErrorOnce / cases.length / families;
  const hasFallen = isSignificant(suite.p, suiteLevel);
  const described = describeSuite(suite, z, { level: suiteLevel, hasFallen });
  const figures: Figures = {
    method: samePairs ? "records" : "unpaired-records",
    look: 1,
    looks: 1,
    trials,
    tested: trials,
    cap: trials,
    margin,
    families,
    cases: cases.length,
    ...described,
    suite: { ...described.suite, ...(!samePairs && { down: null, up: null }) },
    suspects: nameTested(tallies, fallP, (p) => !isSignificant(p, caseLevel) && isSignificant(p, 0.2)),
    missing: missingAnswers(tallies),
    reach: withReach && trials > 0 ? simulateReach(tallies, { rungs: [trials], least: 1, caseLevel }, 1, seed) : null,
    calls: countCalls(record, cases),
  };
  if (setup.alwaysAlike) {
    const exhausted: Figures = { ...figures, method: "exhausted", reach: null, suspects: [] };
    return decideExhausted(tallies, suiteLevel, exhausted);
  }
  const regressed = findRegression(tallies, caseLevel, hasFallen, figures);
  if (regressed) return regressed;
  if (suite.lacksAnswers) return conclude(figures, { kind: "inconclusive", because: "missing" });
  if (suite.live.pass === 0) return conclude(figures, { kind: "inconclusive", because: "nothing-can-fall" });
  if (suite.isClear) return conclude(figures, { kind: "no-regression" });
  const mean = suite.drops.pass;
  const advice = mean && trials > 0 ? adviseOpen(mean, trials, margin, z) : null;
  return conclude(figures, { kind: "inconclusive", because: "cap", advice });
}

/** REGRESSED by cases (in their selections if no pass rate fell beyond doubt); else by the suite. */
function findRegression(tallies: readonly PairTally[], caseLevel: number, hasFallen: boolean, figures: Figures) {
  const flagged = nameTested(tallies, fallP, (p) => isSignificant(p, caseLevel));
  if (flagged.length > 0) {
    const rate = flagged.every(({ selected }) => selected) ? "selection" : "pass";
    return conclude(figures, { kind: "regressed", by: "cases", rate, flagged });
  }
  return hasFallen ? conclude(figures, { kind: "regressed", by: "suite", rate: figures.suite.rate }) : undefined;
}

const countArms = ({ base, head }: Pick<PairCount, "base" | "head">, rate: Rate): CaseCounts => ({
  base: countRate(base, rate),
  head: countRate(head, rate),
});
const countPasses = (count: PairCount) => countArms(count, "pass");

/** The test of the suite by counts, for arms without common tool orders. It tests the pass rate alone. */
const unpaired = {
  test: (counts: readonly PairCount[]) => ({
    p: cochranMantelHaenszel(counts.map(countPasses)),
    rate: "pass" as const,
  }),
  measure: (counts: readonly PairCount[], rate: Rate) => pooledDrop(counts.map((one) => countArms(one, rate))),
};

function pooledDrop(cases: readonly CaseCounts[]): MeanDrop | undefined {
  let drop = 0;
  let variance = 0;
  for (const { base, head } of cases) {
    if (base.trials === 0 || head.trials === 0) return undefined;
    drop += base.passed / base.trials - head.passed / head.trials;
    const r = (base.passed + head.passed + 0.5) / (base.trials + head.trials + 1);
    variance += r * (1 - r) * (1 / base.trials + 1 / head.trials);
  }
  return cases.length === 0
    ? undefined
    : { drop: drop / cases.length, standardError: Math.sqrt(variance) / cases.length };
}

/** Level of the suite, and of all cases together, when everything that can be asked was asked. */
export const exhaustedLevel = 0.025;

/**
 * The verdict on a deterministic model, when all of its different requests were asked: REGRESSED by the tests of a
 * check; NO REGRESSION, exact for these requests, when nothing went from pass to fail; else CHANGED with every flip.
 * One flipped case with one order is CHANGED, never REGRESSED: nothing distinguishes it from a harmless flip.
 */
export function decideExhausted(tallies: readonly PairTally[], level: number, figures: Figures): CheckVerdict {
  const regressed = findRegression(tallies, level / tallies.length, isSignificant(figures.suite.p, level), figures);
  if (regressed) return regressed;
  const flips = listFlips(tallies);
  if (flips.some(({ down }) => down > 0)) return conclude(figures, { kind: "changed", flips });
  if (figures.missing) return conclude(figures, { kind: "inconclusive", because: "missing" });
  return conclude(figures, { kind: "no-regression" });
}

const mostPairs = 20_000;

/** What an open check needs: further pairs per case for a verdict with a chance of 50 % and of 80 %. */
export function adviseOpen(mean: MeanDrop, trials: number, margin: number, z: number): ComparedCheck["advice"] {
  const likely = furtherPairs(mean, trials, margin, z, 0.5);
  const safe = furtherPairs(mean, trials, margin, z, 0.8);
  return { likely: likely ?? mostPairs, safe: safe ?? mostPairs, atLeast: likely === undefined };
}

/**
 * Further pairs per case after which an open check has come to a verdict with at least this chance: the least f of 1,
 * 2, .. then steps of 5 % with Phi((margin - z s - D)/t) + Phi((D - 2 s)/t) >= chance, where V = trials SE^2, s =
 * sqrt(V/(trials + f)) is the standard error then and t = sqrt(V (1/trials - 1/(trials + f))) how far D may still move.
 * Undefined when 20,000 are not enough. Within a factor of two of what is needed in 81-100 % of open checks
 * (simulated).
 */
export function furtherPairs(
  { drop, standardError }: MeanDrop,
  trials: number,
  margin: number,
  z: number,
  chance: number,
): number | undefined {
  const variance = standardError ** 2 * trials;
  for (let f = 1; f < mostPairs; f = Math.max(f + 1, Math.floor(f * 1.05))) {
    const later = Math.sqrt(variance / (trials + f));
    const move = Math.sqrt(variance * (1 / trials - 1 / (trials + f)));
    const cleared = normalCdf((margin - z * later - drop) / move);
    const regressed = normalCdf((drop - 2 * later) / move);
    if (cleared + regressed >= chance) return f;
  }
  return undefined;
}

const reachPlays = 400;
const reachShare = 0.8;
const nothing = { base: [0, 0, 0], head: [0, 0, 0] } as const;
type ReachPlan = Pick<LookPlan, "rungs" | "least" | "caseLevel">;
const losses = [30, 40, 50, 60, 70, 80, 90, 100];

/**
 * What the looks taken would have caught: the least loss of one case, in points, that is named 8 times in 10. Null when
 * not even a dead case is. By simulation from the run's own rates, 400 plays a loss: a case drawn at random, its base
 * rate from Beta(s + 1/2, 2K - s + 1/2) with s its passes of both arms in K pairs, its head rate that less the loss,
 * played alone through the looks and its rungs. `tallies`: of the deciding look; `look`: its number.
 */
export function simulateReach(
  tallies: readonly PairTally[],
  plan: ReachPlan,
  look: number,
  seed: number,
): number | null {
  for (const loss of losses) {
    const random = seededRandom(deriveSeed(seed, "reach", loss));
    let caught = 0;
    for (let play = 0; play < reachPlays; play++) {
      const { base: then, head: now } = tallies[random.below(tallies.length)]?.ways[0] ?? nothing;
      const both = pool([countRate(then, "pass"), countRate(now, "pass")]);
      const base = drawBeta(both.passed + 0.5, both.trials - both.passed + 0.5, random);
      if (isCaught(base, Math.max(0, base - loss / 100), plan, look, random)) caught++;
    }
    if (caught >= reachShare * reachPlays) return loss;
  }
  return null;
}

/** Simulates one case alone through the looks up to `look` and the rungs that its own p takes it to. */
function isCaught(baseRate: number, headRate: number, plan: ReachPlan, look: number, random: Random): boolean {
  const [base, head] = [{ ...noTrials }, { ...noTrials }];
  let rung = -1;
  const climb = () => {
    const trials = plan.rungs[++rung] ?? 0;
    for (; base.trials < trials; base.trials++, head.trials++) {
      if (random.next() < baseRate) base.passed++;
      if (random.next() < headRate) head.passed++;
    }
    return { trials, p: fisherP(base, head) };
  };
  const isHit = ({ trials, p }: { trials: number; p: number }) =>
    trials >= plan.least && isSignificant(p, plan.caseLevel);
  for (let j = 0; j < look; j++) {
    if (rung >= j) continue;
    for (let now = climb(); ; now = climb()) {
      if (isHit(now)) return true;
      if (rung + 1 >= plan.rungs.length || !isSignificant(now.p, suspicionAt(now.trials))) break;
    }
  }
  return false;
}
