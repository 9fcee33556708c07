import { groupBy, sumOf } from "../../base/collections.ts";
import type { Counts } from "../../base/stats/counts.ts";
import type { Random } from "../../base/stats/random.ts";

/** For each changed description, whether it has its new wording. */
export type Mask = readonly boolean[];

/**
 * What may have made a case fall. `none`: no description, it was chance. `single`: this one. `or`: each of the two is
 * enough. `and`: it takes both. `add`: each does a part. `members` are indices of changed descriptions.
 */
export type Hypothesis = { kind: "none" | "single" | "or" | "and" | "add"; members: readonly number[]; prior: number };

/** Passes with all old wordings and with all new ones, from the check that found the case. */
export type Known = { old: Counts; new: Counts };

const cells = ["old", "new", "middle", "all"] as const;
type Cell = 0 | 1 | 2 | 3;
const [oldCell, newCell, middleCell, allCell] = [0, 1, 2, 3] as const;

/** Weights of the kinds of hypotheses; each kind shares its weight equally. */
const weights = { none: 5, single: 80, pairs: 20 / 3 };
/** Hypotheses below this probability are ignored when the information of a trial is computed. */
const negligible = 1e-9;
const randomMasks = 10;

/** All hypotheses about this many changed descriptions, with their prior probabilities. */
export function listHypotheses(changed: number): Hypothesis[] {
  const indices = Array.from({ length: changed }, (_, i) => i);
  const singles = indices.map((i) => [i]);
  const pairs = indices.flatMap((a) => indices.slice(a + 1).map((b) => [a, b]));
  const share = (kind: Hypothesis["kind"], weight: number, sets: number[][]) =>
    sets.map((members) => ({ kind, members, prior: weight / sets.length }));
  const all = [
    ...share("none", weights.none, [[]]),
    ...share("single", weights.single, singles),
    ...(["or", "and", "add"] as const).flatMap((kind) => share(kind, weights.pairs, pairs)),
  ];
  const sum = sumOf(all, ({ prior }) => prior);
  return all.map((one) => ({ ...one, prior: one.prior / sum }));
}

function cellOf({ kind, members }: Hypothesis, mask: Mask): Cell {
  if (kind === "none") return allCell;
  const served = sumOf(members, (i) => Number(mask[i]));
  if (served === members.length) return newCell;
  if (served === 0) return oldCell;
  return kind === "or" ? newCell : kind === "and" ? oldCell : middleCell;
}

/** A set of descriptions (empty: none) with the chance of all its relations together, and the likeliest of them. */
export type SetChance = { members: readonly number[]; chance: number; likeliest: Hypothesis };

/**
 * What is believed of one case by its own trials. Rates are integrated over Beta distributions, never plugged in: old
 * and new from the check's trials, which count half because they were chosen for being far apart; the middle from
 * Beta(1, 1); and one rate for everything from both. The predictive of a pass in a cell is (a + passes) / (a + b +
 * trials), so the chance of a hypothesis does not depend on the order of the trials.
 */
export class Belief {
  readonly hypotheses: readonly Hypothesis[];
  /** Chances by hypothesis; they add up to 1. */
  readonly chances: Float64Array;
  readonly #passes: Float64Array;
  readonly #fails: Float64Array;
  trials = 0;

  constructor(hypotheses: readonly Hypothesis[], known: Known) {
    this.hypotheses = hypotheses;
    this.chances = Float64Array.from(hypotheses, ({ prior }) => prior);
    const half = ({ passed, trials }: Counts) => [0.5 + passed / 2, 0.5 + (trials - passed) / 2] as const;
    const [[a, b], [c, d]] = [half(known.old), half(known.new)];
    const priors = [
      [a, b],
      [c, d],
      [1, 1],
      [a + c - 0.5, b + d - 0.5],
    ];
    const size = hypotheses.length * cells.length;
    this.#passes = Float64Array.from({ length: size }, (_, i) => priors[i % cells.length]?.[0] ?? 1);
    this.#fails = Float64Array.from({ length: size }, (_, i) => priors[i % cells.length]?.[1] ?? 1);
  }

  /** The predictive chance of a pass with this mask if hypothesis `h` is true. */
  passChance(h: number, mask: Mask): number {
    return this.#rate(this.#index(h, mask));
  }

  observe(mask: Mask, isPass: boolean): void {
    let sum = 0;
    for (let h = 0; h < this.hypotheses.length; h++) {
      const pass = this.passChance(h, mask);
      const chance = (this.chances[h] ?? 0) * (isPass ? pass : 1 - pass);
      this.chances[h] = chance;
      sum += chance;
      const counts = isPass ? this.#passes : this.#fails;
      const i = this.#index(h, mask);
      counts[i] = (counts[i] ?? 0) + 1;
    }
    for (let h = 0; h < this.chances.length; h++) this.chances[h] = (this.chances[h] ?? 0) / sum;
    this.trials++;
  }

  /** Which of two pairs of arms, with the other member new or reverted, shows the larger step if `h` adds up. */
  isLargerStepWithOtherNew(h: number): boolean {
    const rate = (cell: Cell) => this.#rate(h * cells.length + cell);
    return rate(middleCell) - rate(newCell) >= rate(oldCell) - rate(middleCell);
  }

  #rate(i: number): number {
    const passes = this.#passes[i] ?? 1;
    return passes / (passes + (this.#fails[i] ?? 1));
  }

  #index(h: number, mask: Mask): number {
    const hypothesis = this.hypotheses[h];
    return h * cells.length + (hypothesis ? cellOf(hypothesis, mask) : 0);
  }
}

/**
 * The working chances of one case when several fell: its own evidence, with half the prior replaced by the mean of what
 * the other cases believe. Only evidence is lent, so nothing is counted twice.
 */
export function shareEvidence(own: Belief, others: readonly Belief[]): Float64Array {
  if (others.length === 0) return own.chances;
  const shared = own.hypotheses.map(({ prior }, h) => {
    const lent = sumOf(others, ({ chances }) => chances[h] ?? 0) / others.length;
    return ((own.chances[h] ?? 0) / prior) * (prior / 2 + lent / 2);
  });
  const sum = sumOf(shared, (one) => one);
  return Float64Array.from(shared, (one) => one / sum);
}

/** The sets of descriptions, likeliest first. The three relations of a pair are one set. */
export function rankSets(hypotheses: readonly Hypothesis[], chances: Float64Array): SetChance[] {
  const all = hypotheses.map((hypothesis, h) => ({ hypothesis, chance: chances[h] ?? 0 }));
  const sets = [...groupBy(all, ({ hypothesis }) => hypothesis.members.join()).values()].map((own) => {
    const { hypothesis: likeliest } = own.reduce((best, one) => (one.chance > best.chance ? one : best));
    return { members: likeliest.members, chance: sumOf(own, ({ chance }) => chance), likeliest };
  });
  return sets.sort((a, b) => b.chance - a.chance);
}

/** The information of a trial, in nats: H(P(pass)) - sum_h P(h) H(pass | h). Source: Lindley 1956. */
export function measureInformation(belief: Belief, chances: Float64Array, mask: Mask): number {
  let pass = 0;
  let entropy = 0;
  for (let h = 0; h < chances.length; h++) {
    const chance = chances[h] ?? 0;
    if (chance <= negligible) continue;
    const p = belief.passChance(h, mask);
    pass += chance * p;
    entropy += chance * binaryEntropy(p);
  }
  return binaryEntropy(pass) - entropy;
}

const binaryEntropy = (p: number) => (p <= 0 || p >= 1 ? 0 : -p * Math.log(p) - (1 - p) * Math.log(1 - p));

/**
 * The mask of the next trial: the one with the largest information among the climb's, all new, all old, only the
 * likeliest members, all but them (of a pair also all but each one), and ten random ones in which each description is
 * new with chance 1/2. Exhaustive search takes 2^n masks.
 */
export function chooseMask(belief: Belief, chances: Float64Array, changed: number, random: Random): Mask {
  const members = rankSets(belief.hypotheses, chances)[0]?.members ?? [];
  const make = (isNew: (i: number) => boolean) => Array.from({ length: changed }, (_, i) => isNew(i));
  const candidates: Mask[] = [
    climbMask(belief.hypotheses, chances, changed),
    make(() => true),
    make(() => false),
    make((i) => members.includes(i)),
    make((i) => !members.includes(i)),
    ...(members.length > 1 ? members.map((member) => make((i) => i !== member)) : []),
    ...Array.from({ length: randomMasks }, () => make(() => random.next() < 0.5)),
  ];
  let best = candidates[0] ?? [];
  let most = Number.NEGATIVE_INFINITY;
  for (const mask of candidates) {
    const information = measureInformation(belief, chances, mask);
    if (information > most + 1e-12) [best, most] = [mask, information];
  }
  return best;
}

/** Climbs from all old, one description at a time, to a mask whose chance to be broken is near 1/2. */
function climbMask(hypotheses: readonly Hypothesis[], chances: Float64Array, changed: number): Mask {
  const broken = [0, 1, 0.5, 0.5];
  const likely = hypotheses.flatMap((hypothesis, h) =>
    (chances[h] ?? 0) > negligible ? [{ hypothesis, chance: chances[h] ?? 0 }] : [],
  );
  const distance = (mask: Mask) => {
    const chance = sumOf(likely, (one) => one.chance * (broken[cellOf(one.hypothesis, mask)] ?? 0));
    return Math.abs(chance - 0.5);
  };
  let mask: Mask = Array.from({ length: changed }, () => false);
  for (let nearest = distance(mask); ; ) {
    let best = mask;
    for (let i = 0; i < changed; i++) {
      const flipped = mask.map((isNew, j) => (j === i ? !isNew : isNew));
      const off = distance(flipped);
      if (off < nearest - 1e-12) [best, nearest] = [flipped, off];
    }
    if (best === mask) return mask;
    mask = best;
  }
}
