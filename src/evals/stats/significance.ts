/**
 * Whether a p-value is at most `alpha`. An exact p-value that equals alpha (3 of 3 against 0 of 3 is 1/20) may come out
 * a rounding error above it, so a relative 1e-9 is forgiven. Every decision goes through here.
 */
export function isSignificant(p: number, alpha: number): boolean {
  return p <= alpha * (1 + 1e-9);
}
