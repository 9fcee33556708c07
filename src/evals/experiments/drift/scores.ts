import { type Counts, noTrials, pool } from "../../base/stats/counts.ts";
import { lnGamma } from "../../base/stats/distributions.ts";

/** Passes of the regular trials of a night, and of those that followed up on them in the same night. */
export type NightCounts = Counts & { followUps?: Counts };

/** All passes of a night. */
export const sumNight = ({ passed, trials, followUps = noTrials }: NightCounts): Counts => ({
  passed: passed + followUps.passed,
  trials: trials + followUps.trials,
});

/** Passes of a case by night: `bank` by nights of the recording, `nights` by nights of the monitor, holes if none. */
export type CaseHistory = {
  bank: readonly Counts[];
  nights: readonly (NightCounts | undefined)[];
};

/** w_1: the chance that a change came before the first night. */
const firstWeight = 0.2;
/** From the second night on a change comes with chance 1/50 a night. */
const hazard = 1 / 50;
/**
 * Follow-ups are asked because of what was seen, and share the luck of that night: each is discounted by so much more.
 * At an unmeasured correlation of .1 this brings false alarms over 90 nights from 10-14 % to 1-6 %; an acute break is
 * still reported the same night, a slow fall two nights later.
 */
const followUpDiscount = 0.08;
/** Standard deviation, in logits, of a harmless night-to-night wobble of the whole suite. */
const wobble = 0.4;
/** Standard deviation, in logits, of the changes of the whole suite that are looked for. */
const shift = 0.7;

/** The prior weight of "changed on night v", v = 1, 2, .. */
export function weightOf(v: number): number {
  return v === 1 ? firstWeight : (1 - firstWeight) * hazard * (1 - hazard) ** (v - 2);
}

/** The prior weight of "not changed in nights 1..T". */
export function weightOfNone(nights: number): number {
  return nights === 0 ? 1 : (1 - firstWeight) * (1 - hazard) ** (nights - 1);
}

/** A score, and the night at which a change is likeliest if there was one (0 without nights). */
export type Score = { value: number; likeliest: number };

/**
 * E_i, a Bayes factor: "the rate of this case changed on some night" against "one rate throughout":
 * rest + sum_v w_v exp(lnKT(before v) + lnKT(from v on) - lnKT(all)), v = 1..nights. 1 without nights; both directions
 * count. The trials of one night (and of one bank night) are worth
 * k / (1 + (k - 1) rho): they are correlated; follow-ups a little less.
 *
 * With rates drawn from Beta(1/2, 1/2) it is a martingale that starts at 1, so it reaches 20 in at most 5 % of
 * unchanged histories, however many nights, looks and follow-ups there are (Ville 1939). For fixed rates: measured.
 * `splits`: a cache that the caller may keep while nights are only added.
 */
export function caseScore(history: CaseHistory, count: number, rho: number, splits: Split[] = []): Score {
  const { nights } = history;
  extendSplits(splits, history, count, rho);
  const all = { passed: splits[count]?.passed ?? 0, failed: splits[count]?.failed ?? 0 };
  addNight(all, nights[count - 1], rho);
  if (count === 0) return { value: 1, likeliest: 0 };
  const whole = lnKT(all.passed, all.failed);
  let value = weightOfNone(count);
  let likeliest = 0;
  let most = -1;
  let ratio = 1;
  let weight = firstWeight;
  for (let v = 1; v <= count; v++) {
    const before = splits[v];
    // Without trials in the night before, the split is the same as one night earlier.
    if (before && (v === 1 || nights[v - 2])) {
      const after = lnKT(positive(all.passed - before.passed), positive(all.failed - before.failed));
      ratio = Math.exp(before.ln + after - whole);
    }
    const term = weight * ratio;
    value += term;
    if (term > most) {
      most = term;
      likeliest = v;
    }
    weight = v === 1 ? weightOf(2) : weight * (1 - hazard);
  }
  return { value, likeliest };
}

/** Discounted passes and failures before a night, and their lnKT. */
export type Split = { passed: number; failed: number; ln: number };

/** Brings `splits[v]`, what is before night v, up to v = `count`. */
function extendSplits(splits: Split[], { bank, nights }: CaseHistory, count: number, rho: number): void {
  for (let v = Math.max(1, splits.length); v <= count; v++) {
    const before = { passed: splits[v - 1]?.passed ?? 0, failed: splits[v - 1]?.failed ?? 0 };
    if (v === 1) for (const night of bank) addNight(before, night, rho);
    else addNight(before, nights[v - 2], rho);
    splits[v] = { ...before, ln: lnKT(before.passed, before.failed) };
  }
}

/** Differences of sums of fractions may come out a rounding error off 0. */
const positive = (x: number) => (x < 1e-12 ? 0 : x);

type Discounted = { passed: number; failed: number };

function addNight(sum: Discounted, night: NightCounts | undefined, rho: number): void {
  if (!night) return;
  const { passed, trials } = sumNight(night);
  if (trials === 0) return;
  const worth = 1 / (1 + (trials - 1) * rho + (night.followUps?.trials ?? 0) * followUpDiscount);
  sum.passed += passed * worth;
  sum.failed += (trials - passed) * worth;
}

/**
 * S: the same for a small change of all cases together. For each v, over cases with trials in both parts and 0 < X < K:
 * U = sum(x_post - q s / N), V = sum q p s (N - s) / (N^2 (N - 1)), d = U/V (a shift in logits), v2 = 1/V + tau^2 (1/(B
 * + v - 1) + 1/(T - v + 1)), BF_v = sqrt(v2 / (v2 + s2)) exp(d^2/2 (1/v2 - 1/(v2 + s2))), 1 if V = 0; S = rest + sum_v
 * w_v BF_v. tau = .4 allows for night-to-night wobble, s2 = .7^2. Counts are whole here; correlation within a night
 * multiplies 1/V by 1 + (k + 3) rho, k = the nightly trials. `direction`: the sign of d at the likeliest night. Source:
 * the score test of a common log odds ratio (Cochran, Mantel, Haenszel), as an approximate Bayes factor.
 */
export function suiteScore(
  cases: readonly CaseHistory[],
  count: number,
  { rho, trials, bankNights }: { rho: number; trials: number; bankNights: number },
): Score & { direction: "up" | "down" } {
  const U = new Float64Array(count);
  const V = new Float64Array(count);
  for (const history of cases) addSplits(U, V, history, count);
  let value = weightOfNone(count);
  let best = { term: -1, likeliest: 0, direction: "down" as "up" | "down" };
  for (let v = 1; v <= count; v++) {
    const [u, information] = [U[v - 1] ?? 0, V[v - 1] ?? 0];
    let factor = 1;
    if (information > 0) {
      const d = u / information;
      const spread = wobble ** 2 * (1 / (bankNights + v - 1) + 1 / (count - v + 1));
      const own = (1 + (trials + 3) * rho) / information + spread;
      const wide = own + shift ** 2;
      factor = Math.sqrt(own / wide) * Math.exp(((d * d) / 2) * (1 / own - 1 / wide));
    }
    const term = weightOf(v) * factor;
    value += term;
    if (term > best.term) best = { term, likeliest: v, direction: u > 0 ? "up" : "down" };
  }
  return { value, likeliest: best.likeliest, direction: best.direction };
}

/** Adds one case's score and information at every split to U and V. */
function addSplits(U: Float64Array, V: Float64Array, { bank, nights }: CaseHistory, count: number): void {
  const before = pool(bank);
  const all = { ...before };
  for (let v = 1; v <= count; v++) addWhole(all, nights[v - 1]);
  const [N, s] = [all.trials, all.passed];
  if (s === 0 || s === N) return;
  for (let v = 1; v <= count; v++) {
    const p = before.trials;
    const q = N - p;
    if (p > 0 && q > 0) {
      U[v - 1] = (U[v - 1] ?? 0) + (s - before.passed - (q * s) / N);
      V[v - 1] = (V[v - 1] ?? 0) + (q * p * s * (N - s)) / (N * N * (N - 1));
    }
    addWhole(before, nights[v - 1]);
  }
}

export function addWhole(sum: Counts, night: NightCounts | undefined): void {
  if (!night) return;
  const { passed, trials } = sumNight(night);
  sum.passed += passed;
  sum.trials += trials;
}

/**
 * ln R of an alarm on night `alarm` (likeliest night `since`) by the nights after it: how much better the later nights
 * go with the time before the change than with the nights of the change. R <= 1/20: the change lasts; R >= 20: it was a
 * blip. Follow-ups are left out: they were asked because of what had been seen.
 */
export function returnScore(
  cases: readonly CaseHistory[],
  since: number,
  alarm: number,
  count: number,
  rho: number,
): number {
  let score = 0;
  for (const { bank, nights } of cases) {
    const before = { passed: 0, failed: 0 };
    for (const night of bank) addNight(before, night, rho);
    for (let v = 1; v < since; v++) addNight(before, nights[v - 1], rho);
    const changed = { passed: 0, failed: 0 };
    for (let v = since; v <= alarm; v++) addNight(changed, nights[v - 1], rho);
    const later = { passed: 0, failed: 0 };
    for (let v = alarm + 1; v <= count; v++) {
      const night = nights[v - 1];
      if (night) addNight(later, { passed: night.passed, trials: night.trials }, rho);
    }
    const gain = (part: Discounted) =>
      lnKT(part.passed + later.passed, part.failed + later.failed) - lnKT(part.passed, part.failed);
    score += gain(before) - gain(changed);
  }
  return score;
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
