import { sumOf } from "../../base/collections.ts";
import type { Counts } from "../../base/stats/counts.ts";
import { halfBinomial, hypergeometric, lnFactorial, lowerTail } from "../../base/stats/distributions.ts";
import { findLowest, fisherP, isSignificant } from "../../base/stats/hypothesisTests.ts";

// Tests of answers with three grades: 2 passes, 1 only selects the right tool (or rightly none), 0 does neither. Two
// rates follow from them, and each test is the exact law of the smaller p of the two.

/** The rate of answers that pass, and of those that select the right tool whether they pass or not. */
export type Rate = "pass" | "selection";
export const rates = ["pass", "selection"] as const;

/** How many answers have grade 0, 1 and 2. */
export type Grades = readonly [number, number, number];

/** A p-value, and the rate that it is about. */
export type RatedP = { p: number; rate: Rate };

/** The answers that have a rate, among all of them. */
export function countRate([neither, selected, passed]: Grades, rate: Rate): Counts {
  return { passed: rate === "pass" ? passed : selected + passed, trials: neither + selected + passed };
}

/**
 * Did one case drop? With m the smaller of Fisher's p of both rates: P(either is <= m) given how often each grade came
 * in both arms together. Where only two grades came the rates are the same test, or one cannot move: then m itself. The
 * rate with the smaller p is named, the pass rate on ties.
 */
export function caseP(base: Grades, head: Grades): RatedP {
  const [pass = 1, selection = 1] = rates.map((rate) => fisherP(countRate(base, rate), countRate(head, rate)));
  const rate = pass <= selection ? "pass" : "selection";
  const smaller = Math.min(pass, selection);
  const [t0, t1, t2] = [base[0] + head[0], base[1] + head[1], base[2] + head[2]];
  if (smaller === 1 || t0 === 0 || t1 === 0 || t2 === 0) return { p: smaller, rate };
  const [all, draws] = [t0 + t1 + t2, head[0] + head[1] + head[2]];
  const selections = hypergeometric(all, t1 + t2, draws);
  const fewSelections = findLowest(selections, smaller);
  const fewPasses = findLowest(hypergeometric(all, t2, draws), smaller);
  const p = sumOf(selections.masses.entries(), ([j, mass]) => {
    const selected = selections.least + j;
    return selected <= fewSelections ? mass : mass * lowerTail(hypergeometric(t1 + t2, t2, selected), fewPasses);
  });
  return { p: Math.min(1, p), rate };
}

/** Pairs whose grades differ, by kind: 2 in one arm against 0, 2 against 1, and 1 against 0 in the other. */
export type Kinds = readonly [number, number, number];

/** The pairs in which a rate differs. */
export function countDiffering(kinds: Kinds, rate: Rate): number {
  return kinds[0] + (rate === "pass" ? kinds[1] : kinds[2]);
}

/**
 * Did the suite drop? The exact sign test (McNemar 1947) on the pairs that differ in a rate; with m the smaller p of
 * both rates, P(either is <= m). Under the null a differing pair goes either way with chance 1/2 whatever its order did
 * to both arms, so the test is exact under order effects and drift in time. `down`: base has the better grade.
 */
export function suiteP(down: Kinds, up: Kinds): RatedP {
  const [a, b, c] = [down[0] + up[0], down[1] + up[1], down[2] + up[2]];
  const [ab, ac] = [halfBinomial(a + b), halfBinomial(a + c)];
  const pass = ab.tails[countDiffering(down, "pass")] ?? 0;
  const selection = ac.tails[countDiffering(down, "selection")] ?? 0;
  const rate = pass <= selection ? "pass" : "selection";
  const smaller = Math.min(pass, selection);
  if (smaller === 1 || b + c === 0) return { p: smaller, rate };
  const [fewestPasses, fewestSelections] = [ab, ac].map(({ tails }) =>
    tails.findIndex((tail) => isSignificant(tail, smaller)),
  );
  const [ofB, ofC] = [halfBinomial(b).tails, halfBinomial(c).tails];
  const tail = (tails: Float64Array, x: number) => (x <= 0 ? 1 : (tails[x] ?? 0));
  const p = sumOf(halfBinomial(a).masses.entries(), ([i, mass]) => {
    const neither = (1 - tail(ofB, (fewestPasses ?? 0) - i)) * (1 - tail(ofC, (fewestSelections ?? 0) - i));
    return mass * (1 - neither);
  });
  return { p: Math.min(1, p), rate };
}

/** Answers to one request that were all alike: their grade and number. */
export type AlikeAnswers = { grade: 0 | 1 | 2; trials: number };

/**
 * ln of the chance that equal requests always get equal grades, if answers could be exchanged between trials, given how
 * often each grade came: (ways to give whole requests the observed numbers of grades) / (k! / (k0! k1! k2!)). 0 when
 * all grades are equal, or no request was repeated. A low value shows that the model is deterministic.
 */
export function lnAgreement(requests: readonly AlikeAnswers[]): number {
  const counts = [0, 1, 2].map((grade) => sumOf(requests, (one) => (one.grade === grade ? one.trials : 0)));
  const [n0 = 0, n1 = 0, n2 = 0] = counts;
  const all = n0 + n1 + n2;
  if (counts.includes(all) || requests.length === all) return 0;
  // ways[i (n2 + 1) + j]: ways to give grade 1 to i answers and grade 2 to j.
  const width = n2 + 1;
  const ways = new Float64Array((n1 + 1) * width);
  ways[0] = 1;
  for (const { trials } of requests)
    for (let i = n1; i >= 0; i--)
      for (let j = n2; j >= 0; j--) {
        const at = i * width + j;
        const one = i >= trials ? (ways[at - trials * width] ?? 0) : 0;
        const two = j >= trials ? (ways[at - trials] ?? 0) : 0;
        ways[at] = (ways[at] ?? 0) + one + two;
      }
  return Math.log(ways.at(-1) ?? 0) + sumOf(counts, lnFactorial) - lnFactorial(all);
}

/** The answers of one case in order of asking, by grade (0, 1 or 2), as many in both arms. */
export type Sequence = { base: readonly number[]; head: readonly number[] };

/**
 * `score`: how far consecutive answers of an arm agree beyond chance and beyond what both arms share, about standard
 * normal. `correlation`: their lag-1 autocorrelation.
 */
export type Dependence = { score: number; correlation: number };

/** With a larger score, consecutive answers are not independent. */
const foundAt = 2.5;
/** With a larger score that is not found, further answers should be seen first. */
const doubtfulAt = 0.8;

export const isDependent = ({ score }: Dependence): boolean => score > foundAt;
export const isDoubtful = ({ score }: Dependence): boolean => score > doubtfulAt && score <= foundAt;

/**
 * Tests whether consecutive answers of a case and arm are independent: the circular lag-1 products of the grades less
 * their mean, summed over cases, against their moments under permutation. What both arms share (drift, moods, orders)
 * shows in the products across arms as well and does no harm, so it is subtracted.
 */
export function measureDependence(cases: readonly Sequence[]): Dependence {
  const moments = cases.filter(({ base }) => base.length >= 3).map(measureProducts);
  const sum = (key: keyof ReturnType<typeof measureProducts>) => sumOf(moments, (one) => one[key]);
  const [within, variance, spread] = [sum("within"), sum("variance"), sum("spread")];
  const w = standardise(within, variance, sum("skew") / variance);
  const c = sum("acrossVariance") > 0 ? sum("across") / Math.sqrt(sum("acrossVariance")) : 0;
  // The difference of two scores has twice the variance, and 2.33 is where it errs as often as the plain score.
  const score = c <= 1 ? w - Math.max(0, c) : ((w - c) / Math.SQRT2) * (foundAt / 2.33);
  return { score, correlation: spread > 0 ? within / spread : 0 };
}

/** The centered lag-1 products of one case, within and across arms, and their moments. */
function measureProducts({ base, head }: Sequence) {
  const k = base.length;
  const [b, h] = [center(base), center(head)];
  const power = (values: readonly number[], exponent: number) => sumOf(values, (value) => value ** exponent);
  const lagged = (xs: readonly number[], ys: readonly number[]) =>
    xs.reduce((sum, x, t) => sum + x * (ys[(t + 1) % k] ?? 0), 0);
  const joint = b.reduce((sum, x, t) => sum + x * (h[t] ?? 0), 0);
  const [b2, h2] = [power(b, 2), power(h, 2)];
  return {
    within: lagged(b, b) + lagged(h, h) + (b2 + h2) / (k - 1),
    variance: lagVariance(b2, power(b, 4), k) + lagVariance(h2, power(h, 4), k) + (2 * joint * joint) / (k - 1),
    skew: (power(b, 3) ** 2 + power(h, 3) ** 2) / k,
    across: lagged(b, h) + lagged(h, b) + (2 * joint) / (k - 1),
    acrossVariance: (2 * (b2 * h2 + joint * joint)) / (k - 1),
    spread: b2 + h2,
  };
}

function center(values: readonly number[]): number[] {
  const mean = sumOf(values, (value) => value) / values.length;
  return values.map((value) => value - mean);
}

/** The variance of a circular lag-1 sum over the permutations of k centered values, from their power sums. */
function lagVariance(squares: number, fourths: number, k: number): number {
  if (squares < 1e-9) return 0;
  const pairs = (squares ** 2 - fourths) / (k - 1);
  const others = (squares ** 2 - 2 * fourths) / ((k - 1) * (k - 2));
  return Math.max(0, pairs + others - (squares / (k - 1)) ** 2);
}

/**
 * The normal score of a centered sum that moves in steps of about `step`. Few failures are few coincidences, which are
 * a Poisson count rather than normal: the score is then that of its square root. Without variance, the score is 0.
 */
function standardise(sum: number, variance: number, step: number): number {
  if (variance === 0) return 0;
  if (step * step < 1e-4 * variance) return sum / Math.sqrt(variance);
  const count = variance / step / step;
  return 2 * (Math.sqrt(Math.max(0, count + sum / step - 1 / 8)) - Math.sqrt(count + 1 / 8));
}

/** How many consecutive answers count as one: 3, or as many as the correlation asks for. */
export function chooseBlock(correlation: number): number {
  const r = Math.max(0, Math.min(0.9, correlation));
  return Math.max(3, Math.ceil((1 + r) / (1 - r)));
}

/**
 * The smaller Fisher p of both rates when so many answers count as one; a loss of base is rounded against the claim.
 */
export function blockP(base: Grades, head: Grades, block: number): number {
  const ps = rates.map((rate) => {
    const [then, now] = [countRate(base, rate), countRate(head, rate)];
    const trials = Math.floor(then.trials / block);
    const passed = Math.min(trials, Math.ceil(now.passed / block));
    return fisherP({ passed: Math.floor(then.passed / block), trials }, { passed, trials });
  });
  return Math.min(...ps);
}
