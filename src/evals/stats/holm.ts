/**
 * Holm's step-down adjustment, in the order given: adj_(j) = max over l <= j of min(1, (m - l + 1) p_(l)).
 * Rejecting every adj <= alpha errs on any true hypothesis with chance <= alpha, however the tests depend on each other.
 * Source: Holm, A simple sequentially rejective multiple test procedure, Scand. J. Statist. 6 (1979).
 */
export function holm(ps: readonly number[]): number[] {
  const ascending = ps.map((p, index) => ({ p, index })).toSorted((a, b) => a.p - b.p);
  const adjusted = ps.map(() => 1);
  let largest = 0;
  for (const [j, { p, index }] of ascending.entries()) {
    largest = Math.max(largest, Math.min(1, (ps.length - j) * p));
    adjusted[index] = largest;
  }
  return adjusted;
}
