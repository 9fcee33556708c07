import { comparable } from "../../stats/counts.ts";
import { type Design, incumbent, type Step } from "../design.ts";
import { requestAll, stillMissing } from "../evidence.ts";
import { regressionDefaults } from "../regression/verdict.ts";
import { type Trialled, trial } from "./trial.ts";
import { type VariantBasis, type VariantSetup, type VariantVerdict, variantVerdict } from "./verdict.ts";

/** The verdict on a model that always answers alike. The figures of chance in `tests` mean nothing here. */
export type CertainVerdict = Omit<VariantVerdict, "method"> & { method: "deterministic" };

/**
 * The design for a model that always answers alike: one trial per case and wording, and a difference is a difference.
 * Adopts the challenger that passes most, of those that pass more cases than the incumbent and break none that it
 * passes; of equals the first. What breaks a case is not adopted, however much it gains.
 */
export function deterministicVariants(setup: VariantSetup): Design<CertainVerdict> {
  const { cases, challengers, margin = regressionDefaults.margin } = setup;
  const arms = [incumbent, ...challengers];
  const cap = cases.length * arms.length;
  const span = { from: 1, to: 1 };
  return {
    cap,
    next(evidence): Step<CertainVerdict> {
      const requests = stillMissing(evidence, requestAll(cases, arms, span));
      if (requests.length > 0) return { kind: "ask", requests, look: 1 };
      const tests = challengers.map((name) => trial(evidence, cases, name, span, { alpha: 0, margin }));
      const ranked = tests.toSorted((a, b) => gainOf(b) - gainOf(a));
      const better = ranked.filter((one) => gainOf(one) > 0);
      const chosen = better.find((one) => brokenBy(one).length === 0 && isWhole(one));
      const best = chosen ?? ranked[0];
      const kind = chosen ? "adopt" : tests.every(isWhole) ? "keep" : "inconclusive";
      const frame = { method: "uniform", rounds: [], look: 1, looks: 1, margin, cap } as const;
      const made = variantVerdict(kind, best ? [best] : [], setup, frame, evidence, basisOf(kind, best));
      const { furtherTrials: _, ...verdict } = made;
      return { kind: "decided", verdict: { ...verdict, method: "deterministic", tests: ranked } };
    },
  };
}

/** Cases that pass now less cases that passed before, of those scored in both. */
function gainOf({ counts }: Trialled): number {
  return comparable(counts).reduce((sum, { base, head }) => sum + head.passed - base.passed, 0);
}

function brokenBy({ counts }: Trialled): string[] {
  const broken = counts.filter((one) => comparable([one]).length > 0 && one.head.passed < one.base.passed);
  return broken.map((one) => one.case);
}

function isWhole({ counts }: Trialled): boolean {
  return comparable(counts).length === counts.length;
}

function basisOf(kind: VariantVerdict["kind"], best: Trialled | undefined): VariantBasis {
  if (!best || comparable(best.counts).length === 0) return { kind: "nothing scored" };
  if (kind === "inconclusive") return { kind: "cases not scored" };
  return { kind: "counted", variant: best.variant, gain: gainOf(best), breaks: brokenBy(best) };
}
