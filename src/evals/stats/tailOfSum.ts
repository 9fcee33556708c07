/** One independent summand: `scores[j]`, an integer >= 0, with chance `masses[j]`. */
export type Summand = { scores: readonly number[]; masses: Float64Array };

/** Mass that is too small to follow. It is counted as having reached the threshold, so the tail is never understated. */
const negligible = 1e-40;

/**
 * P(sum of the summands >= threshold), exactly but for rounding: the distribution of the sum is built by convolution
 * over the integers. Scores are never negative, so what has reached the threshold stays there; only the part below it
 * is kept, and of that only the window that holds more than 1e-40 on either side. No cancellation: small tails keep
 * their digits, down to about 1e-37 where the bound on the trimmed mass takes over. With no summands the sum is 0.
 */
export function tailOfSum(summands: readonly Summand[], threshold: number): number {
  if (threshold <= 0) return 1;
  let below: { from: number; masses: Float64Array } = { from: 0, masses: Float64Array.of(1) };
  let reached = 0;
  for (const summand of summands) {
    const { from, masses } = below;
    const next = new Float64Array(Math.min(masses.length + Math.max(...summand.scores), threshold - from));
    for (const [j, score] of summand.scores.entries()) {
      const mass = summand.masses[j] ?? 0;
      const staying = Math.max(0, Math.min(masses.length, next.length - score));
      for (let t = 0; t < staying; t++) next[t + score] = (next[t + score] ?? 0) + mass * (masses[t] ?? 0);
      for (let t = staying; t < masses.length; t++) reached += mass * (masses[t] ?? 0);
    }
    const window = trim(next);
    reached += window.trimmed;
    below = { from: from + window.start, masses: window.masses };
  }
  return Math.min(1, reached);
}

/** Cuts off what lies before and after all but a negligible mass. */
function trim(masses: Float64Array): { start: number; masses: Float64Array; trimmed: number } {
  const low = negligibleRun(masses, 0, 1);
  const high = negligibleRun(masses, masses.length - 1, -1);
  const end = Math.max(low.length, masses.length - high.length);
  return { start: low.length, masses: masses.subarray(low.length, end), trimmed: low.mass + high.mass };
}

/** The longest run from `start` on, going by `step`, that holds at most a negligible mass. */
function negligibleRun(masses: Float64Array, start: number, step: 1 | -1): { length: number; mass: number } {
  let mass = 0;
  for (let length = 0; length < masses.length; length++) {
    const more = mass + (masses[start + step * length] ?? 0);
    if (more > negligible) return { length, mass };
    mass = more;
  }
  return { length: masses.length, mass };
}
