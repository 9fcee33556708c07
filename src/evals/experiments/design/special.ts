import type { Random } from "../../base/stats/random.ts";
import { lnGamma } from "../../base/stats/stdlib.ts";

const logFactorials = new Float64Array(1024);
for (let n = 2; n < logFactorials.length; n++) logFactorials[n] = (logFactorials[n - 1] ?? 0) + Math.log(n);

/** ln n!, n a whole number >= 0. */
export function lnFactorial(n: number): number {
  return n < logFactorials.length ? (logFactorials[n] ?? 0) : lnGamma(n + 1);
}

/** ln C(n, k), 0 <= k <= n. */
export function lnChoose(n: number, k: number): number {
  return lnFactorial(n) - lnFactorial(k) - lnFactorial(n - k);
}

/**
 * ln of the chance of one sequence with `passed` passes and `failed` failures, its rate drawn from Beta(1/2, 1/2):
 * ln Gamma(x + 1/2) + ln Gamma(f + 1/2) - ln Gamma(x + f + 1) - ln pi. Counts may be fractions.
 * Source: Krichevsky and Trofimov, IEEE Transactions on Information Theory 27 (1981).
 */
export function lnKT(passed: number, failed: number): number {
  if (passed === 0 && failed === 0) return 0;
  return lnGammaHalf(passed) + lnGammaHalf(failed) - lnGamma(passed + failed + 1) - logPi;
}

const logPi = Math.log(Math.PI);
/** ln Gamma(x + 1/2); mostly asked for at 0. */
const lnGammaHalf = (x: number) => (x === 0 ? logPi / 2 : lnGamma(x + 0.5));

/**
 * A draw from Beta(a, b), a and b > 0: X / (X + Y) of two gamma draws.
 * Source: Marsaglia and Tsang, ACM Transactions on Mathematical Software 26 (2000), with the boost for shapes below 1.
 */
export function drawBeta(a: number, b: number, random: Random): number {
  const x = drawGamma(a, random);
  const y = drawGamma(b, random);
  return x + y > 0 ? x / (x + y) : 0.5;
}

function drawGamma(shape: number, random: Random): number {
  if (shape < 1) return drawGamma(shape + 1, random) * (1 - random.next()) ** (1 / shape);
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const z = drawNormal(random);
    const v = (1 + c * z) ** 3;
    if (v > 0 && Math.log(1 - random.next()) < 0.5 * z * z + d * (1 - v + Math.log(v))) return d * v;
  }
}

/** A standard normal draw (Box and Muller 1958). */
export function drawNormal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
}
