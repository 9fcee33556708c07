import { sumOf } from "../collections.ts";
import { type CaseCounts, type Counts, comparable, meanChange, rate, swapArms } from "./counts.ts";
import { type Interval, z95 } from "./intervals.ts";

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
  const change = meanChange(compared);
  if (change === undefined) return undefined;
  const drop = -change;
  const isShort = (d: number) => {
    const variance = sumOf(compared, (one) => dropVariance(one, d));
    return d - drop < z * Math.sqrt(variance / (n * n) + extra);
  };
  return lastTurn(isShort, drop, 1);
}

/** The net change of the suite, head - base, with its two-sided 95% interval, for display. */
export function netChange(cases: readonly CaseCounts[]): { change: number; interval: Interval } | undefined {
  const [fall, rise] = [upperDrop(cases, z95), upperDrop(cases.map(swapArms), z95)];
  const change = meanChange(cases);
  if (fall === undefined || rise === undefined || change === undefined) return undefined;
  return { change, interval: [-fall, rise] };
}

function dropVariance({ base, head }: CaseCounts, drop: number): number {
  const p = constrainedBaseRate(base, head, drop);
  const q = p - drop;
  const total = base.trials + head.trials;
  return (((p * (1 - p)) / base.trials + (q * (1 - q)) / head.trials) * total) / (total - 1);
}

/** The maximum-likelihood base rate p under p_base - p_head = drop. Source: Farrington and Manning (1990), appendix. */
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
