import { type CaseCounts, type Counts, comparable, rate } from "./counts.ts";

/** One-sided 5 % and power 80 %, in standard deviations. */
const zSum = 1.645 + 0.84;

/**
 * How many trials per case and arm, those already made included, would settle an inconclusive comparison:
 * ceil(zSum^2 V / gap^2), V = n^-2 sum over cases of (v_base + v_head), v = r(1-r), r = (x + .5)/(k + 1).
 * The gap is the smaller of (margin - D) and D, where D is the mean drop; when one of them is not positive (no drop at
 * all, or one beyond the margin) there is only the other to settle. Undefined without comparable cases.
 * Source: the usual sample size for a difference of proportions (Fleiss, Levin and Paik 2003), stratified.
 */
export function trialsToSettle(cases: readonly CaseCounts[], margin: number): number | undefined {
  const compared = comparable(cases);
  const n = compared.length;
  if (n === 0) return undefined;
  const drop = compared.reduce((sum, { base, head }) => sum + rate(base) - rate(head), 0) / n;
  const variance = compared.reduce((sum, { base, head }) => sum + oneTrial(base) + oneTrial(head), 0) / n ** 2;
  // A drop of 1e-17 is rounding, not a gap.
  const gap = Math.min(...[margin - drop, drop].filter((one) => one > 1e-9));
  return Math.ceil((zSum ** 2 * variance) / gap ** 2);
}

function oneTrial({ passed, trials }: Counts): number {
  const smoothed = (passed + 0.5) / (trials + 1);
  return smoothed * (1 - smoothed);
}
