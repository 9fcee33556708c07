import { type CaseCounts, comparable, rate } from "../stats/counts.ts";
import { constrainedBaseRate } from "../stats/meanDrop.ts";

/**
 * U(z): the most that the mean drop over cases may be, where the arms are not paired: the largest root d >= D of
 * d - D = z sqrt(sum V_i(d) / n^2 + extra), V_i the variance of case i's rate difference under p_base - p_head = d, with
 * the constrained maximum-likelihood rates and the factor N/(N-1). `extra`: variance of the mean from elsewhere.
 * Undefined when no case was tried in both arms. A score bound: unlike Wald's it keeps its width when all pass.
 * Source: Miettinen and Nurminen, Statistics in Medicine 4 (1985), strata weighted equally; Farrington and Manning 1990.
 */
export function upperDrop(cases: readonly CaseCounts[], z: number, extra = 0): number | undefined {
  const compared = comparable(cases);
  const n = compared.length;
  if (n === 0) return undefined;
  const drop = compared.reduce((sum, { base, head }) => sum + rate(base) - rate(head), 0) / n;
  const isShort = (d: number) => {
    const variance = compared.reduce((sum, one) => sum + dropVariance(one, d), 0);
    return d - drop < z * Math.sqrt(variance / (n * n) + extra);
  };
  return lastTurn(isShort, drop, 1);
}

function dropVariance({ base, head }: CaseCounts, drop: number): number {
  const p = constrainedBaseRate(base, head, drop);
  const q = p - drop;
  const total = base.trials + head.trials;
  return (((p * (1 - p)) / base.trials + (q * (1 - q)) / head.trials) * total) / (total - 1);
}

/**
 * The largest x in `low`..`high` at which `holds` turns from true to false, to 1e-14. With few trials it may turn more
 * than once (D itself is a root when all pass), so a grid finds the last turn and bisection its place.
 */
function lastTurn(holds: (x: number) => boolean, low: number, high: number): number {
  const step = (high - low) / 50;
  let inside = high - step;
  while (inside > low && !holds(inside)) inside -= step;
  inside = Math.max(low, inside);
  let outside = inside + step;
  for (let halvings = 0; halvings < 44; halvings++) {
    const middle = (inside + outside) / 2;
    if (holds(middle)) inside = middle;
    else outside = middle;
  }
  return outside;
}
