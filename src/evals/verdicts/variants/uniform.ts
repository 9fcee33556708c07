import { holm } from "../../stats/hypothesisTests.ts";
import { type Design, type Evidence, incumbent, type Look, type Step } from "../design.ts";
import { requestAll, type Span, stillMissing } from "../evidence.ts";
import { regressionDefaults } from "../regression/verdict.ts";
import { type Trialled, trial } from "./trial.ts";
import { ruleOn, type VariantSetup, type VariantVerdict, variantVerdict } from "./verdict.ts";

/** The looks of uniform variants, in trials per case and wording; their shares add up to 5 %. */
const uniformLooks: readonly Look[] = [
  { trials: 5, alpha: 0.01 },
  { trials: 10, alpha: 0.015 },
  { trials: 20, alpha: 0.025 },
];

/**
 * The design for up to three challengers: all wordings interleaved, as many trials each; at every look the exact CMH
 * test of each challenger against the incumbent, with Holm's correction, and the global test as no-harm guard.
 */
export function uniform(setup: VariantSetup): Design<VariantVerdict> {
  const { cases, challengers, margin = regressionDefaults.margin } = setup;
  const arms = [incumbent, ...challengers];
  const looks = uniformLooks.length;
  const cap = cases.length * arms.length * Math.max(...uniformLooks.map((look) => look.trials));
  return {
    cap,
    next(evidence): Step<VariantVerdict> {
      let tests: Trialled[] = [];
      for (const [j, { trials, alpha }] of uniformLooks.entries()) {
        const span = { from: 1, to: trials };
        const requests = stillMissing(evidence, requestAll(cases, arms, span));
        if (requests.length > 0) return { kind: "ask", requests, look: j + 1 };
        tests = testAll(evidence, setup, span, { alpha, margin });
        const kind = ruleOn(tests, margin);
        if (kind === "go on" && j + 1 < looks) continue;
        const frame = { method: "uniform", rounds: [], look: j + 1, looks, margin, cap } as const;
        return {
          kind: "decided",
          verdict: variantVerdict(kind === "go on" ? "inconclusive" : kind, tests, setup, frame, evidence),
        };
      }
      throw new RangeError("a design without looks");
    },
  };
}

/** Each challenger's test on these trials, with Holm's correction over them. */
function testAll(
  evidence: Evidence,
  { cases, challengers }: VariantSetup,
  span: Span,
  at: { alpha: number; margin: number },
): Trialled[] {
  const tests = challengers.map((variant) => trial(evidence, cases, variant, span, at));
  const adjusted = holm(tests.map((one) => one.p));
  return tests.map((one, i) => ({ ...one, adjusted: adjusted[i] ?? 1 }));
}
