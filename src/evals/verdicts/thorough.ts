import { comparable } from "../stats/counts.ts";
import { globalTest, isSignificant, stepDown } from "../stats/hypothesisTests.ts";
import { normalQuantile } from "../stats/stdlib.ts";
import {
  countCases,
  type Design,
  type Evidence,
  type Look,
  type NamedCounts,
  regressionArms,
  requestAll,
  type Step,
  stillMissing,
} from "./design.ts";
import {
  type LookResult,
  type RegressionVerdict,
  regressionDefaults,
  regressionVerdict,
  withinMargin,
} from "./regression.ts";

/**
 * The looks of `thorough`; their shares add up to 5 %. Most of it is kept for the last look: it catches what moves every
 * case a little, while a case that breaks outright is caught by the early ones at almost any share.
 */
const thoroughLooks: readonly Look[] = [
  { trials: 5, alpha: 0.005 },
  { trials: 12, alpha: 0.01 },
  { trials: 25, alpha: 0.035 },
];

/** At an early look, no case may look even slightly worse before the verdict is "no regression". */
const calm = 0.15;

/**
 * The design for a release, or when there is no bank: base and head interleaved, up to 25 trials per case and arm.
 * At each look: regressed if the global test's p is within the look's share; else no regression if the bound at the
 * same share is below the margin (and, before the last look, every case's own p is above .15); else on. The chance of
 * "regressed" when nothing dropped is at most the sum of the shares (Bonferroni over looks).
 */
export function thorough(
  cases: readonly string[],
  margin: number = regressionDefaults.margin,
  looks: readonly Look[] = thoroughLooks,
): Design<RegressionVerdict> {
  const cap = cases.length * 2 * Math.max(0, ...looks.map((look) => look.trials));
  return {
    cap,
    next(evidence): Step<RegressionVerdict> {
      let result = resultAt(
        [],
        { trials: 0, alpha: regressionDefaults.alpha },
        { look: 1, looks: looks.length, margin },
      );
      for (const [j, look] of looks.entries()) {
        const span = { from: 1, to: look.trials };
        const requests = stillMissing(evidence, requestAll(cases, regressionArms, span));
        if (requests.length > 0) return { kind: "ask", requests, look: j + 1 };
        result = resultAt(countCases(evidence, cases, regressionArms, span), look, {
          look: j + 1,
          looks: looks.length,
          margin,
        });
        const kind = decide(result, j + 1 === looks.length);
        if (kind !== "go on") return decided(kind, result, evidence, cap);
      }
      return decided("inconclusive", result, evidence, cap);
    },
  };
}

/**
 * Two finished records against each other, in one look at 5 %, without asking for anything. Whether their trials were
 * interleaved is for the caller to know: if not, a change of the model in between looks like a change of the wording.
 */
export function compareRecords(
  evidence: Evidence,
  cases: readonly string[],
  margin: number = regressionDefaults.margin,
): RegressionVerdict {
  const counts = countCases(evidence, cases, regressionArms);
  const look = { trials: 0, alpha: regressionDefaults.alpha };
  const result: LookResult = { ...resultAt(counts, look, { look: 1, looks: 1, margin }), method: "records" };
  const kind = decide(result, true);
  return regressionVerdict(kind === "go on" ? "inconclusive" : kind, result, { evidence, cap: 0 });
}

function resultAt(
  counts: readonly NamedCounts[],
  { alpha }: Look,
  at: { look: number; looks: number; margin: number },
): LookResult {
  const criterion = { kind: "p-value", p: globalTest(counts).p, alpha } as const;
  return { method: "thorough", ...at, criterion, z: normalQuantile(1 - alpha), alpha, tested: counts, bounded: counts };
}

/** The rule of one look, for designs that test with a p-value. Without anything scored it is inconclusive at once. */
export function decide(result: LookResult, last: boolean): RegressionVerdict["kind"] | "go on" {
  const { criterion, tested, bounded } = result;
  if (comparable(bounded).length === 0) return "inconclusive";
  if (criterion.kind === "p-value" && isSignificant(criterion.p, criterion.alpha)) return "regressed";
  const quiet = last || stepDown(tested).every(({ p }) => p > calm);
  return quiet && withinMargin(result) ? "no-regression" : "go on";
}

function decided(
  kind: RegressionVerdict["kind"],
  result: LookResult,
  evidence: Evidence,
  cap: number,
): Step<RegressionVerdict> {
  return { kind: "decided", verdict: regressionVerdict(kind, result, { evidence, cap }) };
}
