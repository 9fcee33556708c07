import type { Counts } from "./counts.ts";

/**
 * pass@k: the chance that at least one of k trials passes, 1 - C(n-c, k) / C(n, k), the unbiased estimate from c passes
 * of n trials. Undefined when k is not within 1..n. Source: Chen et al., arXiv 2107.03374.
 */
export function passAtK({ passed, trials }: Counts, k: number): number | undefined {
  const allFail = passHatK({ passed: trials - passed, trials }, k);
  return allFail === undefined ? undefined : 1 - allFail;
}

/**
 * pass^k: the chance that all of k trials pass, C(c, k) / C(n, k), the unbiased estimate from c passes of n trials.
 * Undefined when k is not within 1..n. Of a suite it is the mean over its cases. Source: Yao et al. (tau-bench),
 * arXiv 2406.12045.
 */
export function passHatK({ passed, trials }: Counts, k: number): number | undefined {
  if (k < 1 || k > trials) return undefined;
  let chance = 1;
  for (let i = 0; i < k; i++) chance *= Math.max(0, passed - i) / (trials - i);
  return chance;
}
