import type { Counts } from "./counts.ts";
import { normalQuantile } from "./distributions.ts";

/** Lower and upper end. */
export type Interval = readonly [number, number];

/**
 * The Wilson score interval of a pass rate, for display: the p with |c/n - p| <= z sqrt(p(1-p)/n). Undefined without
 * trials. For what to expect of new queries, give it the suite's mean rate with n = the number of *cases* (`passed` may
 * then be a fraction): trials of one case are not new queries.
 * Source: Wilson, JASA 22 (1927); Brown, Cai and DasGupta, Statistical Science 16 (2001).
 */
export function wilson({ passed, trials }: Counts, confidence = 0.95): Interval | undefined {
  if (trials <= 0) return undefined;
  const z2 = normalQuantile((1 + confidence) / 2) ** 2;
  const centre = (passed + z2 / 2) / (trials + z2);
  const half = Math.sqrt(z2 * ((passed * (trials - passed)) / trials + z2 / 4)) / (trials + z2);
  return [passed <= 0 ? 0 : Math.max(0, centre - half), passed >= trials ? 1 : Math.min(1, centre + half)];
}
