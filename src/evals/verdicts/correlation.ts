import type { CaseCounts } from "../stats/counts.ts";
import { comparable, rate } from "../stats/counts.ts";
import { normalQuantile } from "../stats/distributions.ts";
import type { Interval } from "../stats/intervals.ts";

/**
 * How much the trials of one case and arm hang together. `designEffect`: the variance of an arm's rate over what it were
 * with independent trials. `icc`: the correlation of two trials, (designEffect - 1) / (k - 1) with k trials per arm.
 * Undefined when no case varied: then nothing can be told.
 */
export type Correlation =
  | {
      kind: "estimated";
      designEffect: number;
      designEffectInterval: Interval;
      icc: number;
      iccInterval: Interval;
      cases: number;
    }
  | { kind: "undefined"; why: string };

/**
 * Estimates the correlation from two arms that were the same list (A/A). For a case with rates a, b and pooled rate p,
 * (a - b)^2 is p(1-p)(1/k_a + 1/k_b) on average if trials are independent, and designEffect times that if not. With m
 * cases that varied, m designEffect_hat / designEffect is about chi-squared with m degrees of freedom, hence the interval.
 * It is wide: with ten cases it spans a factor of six. Source: Donner and Klar, Cluster Randomization Trials (2000), 1.4.
 */
export function correlationOf(cases: readonly CaseCounts[], confidence = 0.95): Correlation {
  const varied = comparable(cases).filter(({ base, head }) => {
    const passed = base.passed + head.passed;
    return passed > 0 && passed < base.trials + head.trials && base.trials > 1 && head.trials > 1;
  });
  const m = varied.length;
  if (m === 0) return { kind: "undefined", why: "every case always passed or always failed, so nothing varied" };
  const designEffect = varied.reduce((sum, one) => sum + ratioOf(one), 0) / m;
  const upperTail = (1 - confidence) / 2;
  const designEffectInterval = [
    (m * designEffect) / chiSquaredQuantile(1 - upperTail, m),
    (m * designEffect) / chiSquaredQuantile(upperTail, m),
  ] as const;
  const k = varied.reduce((sum, { base, head }) => sum + (base.trials + head.trials) / 2, 0) / m;
  const icc = (effect: number) => Math.min(1, Math.max(0, (effect - 1) / (k - 1)));
  const iccInterval = [icc(designEffectInterval[0]), icc(designEffectInterval[1])] as const;
  return { kind: "estimated", designEffect, designEffectInterval, icc: icc(designEffect), iccInterval, cases: m };
}

/** (a - b)^2 over its mean under independence; p(1-p) is estimated without bias by p_hat(1 - p_hat) N/(N - 1). */
function ratioOf({ base, head }: CaseCounts): number {
  const total = base.trials + head.trials;
  const p = (base.passed + head.passed) / total;
  const variance = ((p * (1 - p) * total) / (total - 1)) * (1 / base.trials + 1 / head.trials);
  return (rate(base) - rate(head)) ** 2 / variance;
}

/** Wilson and Hilferty, PNAS 17 (1931): the cube root of chi-squared / m is nearly normal. Within 2 % for m >= 3. */
function chiSquaredQuantile(p: number, m: number): number {
  const c = 2 / (9 * m);
  // At one degree of freedom the lower quantiles come out near 0 or below; the exact ones are positive.
  return m * Math.max(0.01, 1 - c + normalQuantile(p) * Math.sqrt(c)) ** 3;
}
