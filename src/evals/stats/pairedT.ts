import { type CaseCounts, comparable, rate } from "./counts.ts";
import { studentTCdf } from "./distributions.ts";

/** `p` is one-sided, small when head dropped. Undefined needs a reason that can be printed. */
export type PairedT =
  | { kind: "tested"; t: number; degreesOfFreedom: number; p: number }
  | { kind: "undefined"; why: string };

/**
 * The paired t test over cases of base rate - head rate: t = mean / (sd / sqrt(n)), n - 1 degrees of freedom.
 * A weak second opinion that does not assume independent trials within a case: each case counts as one observation.
 * Source: Student, Biometrika 6 (1908); for evals Miller, arXiv 2411.00640.
 */
export function pairedT(cases: readonly CaseCounts[]): PairedT {
  const drops = comparable(cases).map(({ base, head }) => rate(base) - rate(head));
  const n = drops.length;
  if (n < 2) return { kind: "undefined", why: "fewer than two cases have trials in both arms" };
  const mean = drops.reduce((sum, drop) => sum + drop, 0) / n;
  const variance = drops.reduce((sum, drop) => sum + (drop - mean) ** 2, 0) / (n - 1);
  // Equal drops such as .3 - .1 and .2 differ by rounding; their spread is none.
  if (variance < 1e-24) return { kind: "undefined", why: "all cases moved by the same amount" };
  const t = mean / Math.sqrt(variance / n);
  return { kind: "tested", t, degreesOfFreedom: n - 1, p: studentTCdf(-t, n - 1) };
}
