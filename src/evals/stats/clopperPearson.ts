import type { Counts } from "./counts.ts";
import { betaQuantile } from "./distributions.ts";
import type { Interval } from "./wilson.ts";

/**
 * The exact interval of a pass rate: it holds the true rate with at least this confidence, whatever the rate.
 * [beta(a/2; c, n-c+1), beta(1-a/2; c+1, n-c)] with a = 1 - confidence. Without trials it is [0, 1].
 * Source: Clopper and Pearson, Biometrika 26 (1934).
 */
export function clopperPearson(counts: Counts, confidence = 0.95): Interval {
  const oneSided = (1 + confidence) / 2;
  const failed = { passed: counts.trials - counts.passed, trials: counts.trials };
  return [clopperPearsonLower(counts, oneSided), 1 - clopperPearsonLower(failed, oneSided)];
}

/**
 * The rate that the true pass rate reaches with at least this one-sided confidence: a hard gate "at least x %" holds
 * when this is >= x. beta(1 - confidence; c, n-c+1), and 0 without a pass.
 */
export function clopperPearsonLower({ passed, trials }: Counts, confidence = 0.95): number {
  return passed === 0 ? 0 : betaQuantile(1 - confidence, passed, trials - passed + 1);
}
