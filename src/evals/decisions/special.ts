import type { Random } from "../stats/random.ts";

/** Coefficients B_2j / (2j (2j - 1)) of Stirling's series, j = 1..8. */
const stirling = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400];

/**
 * ln Gamma(x), x > 0. Absolute error below 1e-13 up to 1e3, relative error below 1e-15 beyond.
 * Stirling's series at x >= 9, below it by Gamma(x) = Gamma(x + n) / (x (x + 1) .. (x + n - 1)).
 * Source: Abramowitz and Stegun 6.1.41 and 6.1.15.
 */
export function lnGamma(x: number): number {
  let shifted = x;
  let product = 1;
  while (shifted < 9) {
    product *= shifted;
    shifted++;
  }
  const square = 1 / (shifted * shifted);
  let series = 0;
  for (let j = stirling.length - 1; j >= 0; j--) series = series * square + (stirling[j] ?? 0);
  return (shifted - 0.5) * Math.log(shifted) - shifted + halfLogTwoPi + series / shifted - Math.log(product);
}

const halfLogTwoPi = 0.5 * Math.log(2 * Math.PI);

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
 * The standard normal distribution function, relative error below 1e-13 down to 1e-300.
 * Within 3 of the mean Phi(x) = 1/2 + phi(x) sum x^(2k+1) / (1 3 5 .. (2k+1)); beyond, Laplace's continued fraction
 * Q(x) = phi(x) / (x + 1/(x + 2/(x + 3/(x + ..)))).
 * Source: Abramowitz and Stegun 26.2.11 and 26.2.14.
 */
export function normalCdf(x: number): number {
  const size = Math.abs(x);
  if (size < 3) return 0.5 + Math.sign(x) * density(x) * oddSeries(size);
  let fraction = size;
  for (let k = 160; k >= 1; k--) fraction = size + k / fraction;
  const tail = density(x) / fraction;
  return x < 0 ? tail : 1 - tail;
}

function oddSeries(x: number): number {
  let term = x;
  let sum = x;
  for (let k = 1; term > sum * 1e-17; k++) {
    term *= (x * x) / (2 * k + 1);
    sum += term;
  }
  return sum;
}

/** phi(x). The square is split so that the exponential keeps its digits far out (Cody 1969). */
function density(x: number): number {
  const coarse = Math.trunc(16 * x) / 16;
  return (Math.exp(-0.5 * coarse * coarse) * Math.exp(-0.5 * (x - coarse) * (x + coarse))) / Math.sqrt(2 * Math.PI);
}

/**
 * The z that a standard normal variable stays below with probability `p`, 0 < p < 1; error below 1e-13.
 * A starting value within 4.5e-4, then Halley's steps on the distribution function, which cube the error.
 * Source of the starting value: Abramowitz and Stegun 26.2.23.
 */
export function normalQuantile(p: number): number {
  if (p > 0.5) return -normalQuantile(1 - p);
  const t = Math.sqrt(-2 * Math.log(p));
  const above = 2.515517 + t * (0.802853 + t * 0.010328);
  const below = 1 + t * (1.432788 + t * (0.189269 + t * 0.001308));
  let z = above / below - t;
  for (let step = 0; step < 2; step++) {
    const error = (normalCdf(z) - p) / density(z);
    z -= error / (1 + (z * error) / 2);
  }
  return z;
}

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
