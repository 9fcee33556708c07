import { type CaseCounts, type Counts, comparable, rate } from "./counts.ts";
import { normalQuantile } from "./stdlib.ts";

/**
 * The mean drop over cases, D = mean(base rate - head rate), and the most it may be at the given z. Positive is worse.
 * `cases` is how many were compared.
 */
export type DropBound = { kind: "bounded"; drop: number; upper: number; cases: number } | { kind: "no cases" };

/**
 * The upper confidence bound of the mean drop. "No regression" is concluded when `upper` is below the margin, with
 * z = normalQuantile(1 - alpha), one-sided.
 *
 * upper is the largest root d >= D of d - D = z sqrt(sum_i V_i(d)) / n, where V_i is the variance of case i's rate difference
 * under p_base - p_head = d: [p(1-p)/k_base + q(1-q)/k_head] N/(N-1), N = k_base + k_head, with p and q = p - d the
 * constrained maximum-likelihood rates. Score interval: unlike a Wald interval it keeps its width when all pass.
 * Source: Miettinen and Nurminen, Statistics in Medicine 4 (1985); strata weighted equally.
 */
export function noRegressionBound(cases: readonly CaseCounts[], z: number): DropBound {
  const compared = comparable(cases);
  const n = compared.length;
  if (n === 0) return { kind: "no cases" };
  const drop = compared.reduce((sum, { base, head }) => sum + rate(base) - rate(head), 0) / n;
  const short = (d: number) => {
    const variance = compared.reduce((sum, one) => sum + dropVariance(one, d), 0);
    return d - drop < (z * Math.sqrt(variance)) / n;
  };
  // D itself is a root when all pass, so the search keeps to the right of it: at d = 1 the variance is 0.
  return { kind: "bounded", drop, upper: lastTurn(short, drop, 1), cases: n };
}

/** Head - base, in rates: positive is better. */
export type NetChange = { kind: "estimated"; change: number; lower: number; upper: number } | { kind: "no cases" };

/** The net change of the suite with a two-sided interval, for display: the bound above, and the same with arms swapped. */
export function netChange(cases: readonly CaseCounts[], confidence = 0.95): NetChange {
  const z = normalQuantile((1 + confidence) / 2);
  const fall = noRegressionBound(cases, z);
  const swapped = cases.map(({ base, head }) => ({ base: head, head: base }));
  const rise = noRegressionBound(swapped, z);
  if (fall.kind === "no cases" || rise.kind === "no cases") return { kind: "no cases" };
  return { kind: "estimated", change: rise.drop, lower: -fall.upper, upper: rise.upper };
}

function dropVariance({ base, head }: CaseCounts, drop: number): number {
  const p = constrainedBaseRate(base, head, drop);
  const q = p - drop;
  const total = base.trials + head.trials;
  return (((p * (1 - p)) / base.trials + (q * (1 - q)) / head.trials) * total) / (total - 1);
}

/**
 * The maximum-likelihood base rate p under p_base - p_head = drop: a root of a cubic, in closed form.
 * Source: Farrington and Manning, Statistics in Medicine 9 (1990), appendix.
 */
export function constrainedBaseRate(base: Counts, head: Counts, drop: number): number {
  const theta = head.trials / base.trials;
  const [p, q] = [rate(base), rate(head)];
  const a = 1 + theta;
  const b = -(1 + theta + p + theta * q + drop * (theta + 2));
  const c = drop * drop + drop * (2 * p + theta + 1) + p + theta * q;
  const d = -p * drop * (1 + drop);
  const v = (b / (3 * a)) ** 3 - (b * c) / (6 * a * a) + d / (2 * a);
  const u = (v < 0 ? -1 : 1) * Math.sqrt(Math.max(0, (b / (3 * a)) ** 2 - c / (3 * a)));
  const cosine = u === 0 ? 1 : Math.min(1, Math.max(-1, v / u ** 3));
  const root = 2 * u * Math.cos((Math.PI + Math.acos(cosine)) / 3) - b / (3 * a);
  return Math.min(1, 1 + drop, Math.max(0, drop, root));
}

/**
 * The largest x in `low`..`high` at which `holds` turns from true to false; `low` counts as holding. With one or two
 * trials in a case it may turn more than once: a grid finds the last interval with a turn, bisection the place to 1e-15.
 */
function lastTurn(holds: (x: number) => boolean, low: number, high: number): number {
  const step = (high - low) / 100;
  let inside = high - step;
  while (inside > low && !holds(inside)) inside -= step;
  inside = Math.max(low, inside);
  let outside = inside + step;
  for (let halvings = 0; halvings < 48; halvings++) {
    const middle = (inside + outside) / 2;
    if (holds(middle)) inside = middle;
    else outside = middle;
  }
  return outside;
}

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
