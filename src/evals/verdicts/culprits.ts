import type { Counts } from "../stats/counts.ts";

/** For each changed description, whether the list is served with its new wording. */
export type Mask = readonly boolean[];

/**
 * What may have broken a case, by indices of changed descriptions. `single`: this one. `either`: each of the two
 * suffices. `both`: it takes the two together.
 */
export type Hypothesis = { kind: "single" | "either" | "both"; members: readonly number[] };

export type Weighted = { hypothesis: Hypothesis; chance: number };

/** Scored trials of the case with one mask. */
export type Tried = { mask: Mask; counts: Counts };

/** What is known of the case from before: its trials with all old wordings and with all new ones. */
export type Known = { old: Counts; new: Counts };

/** Every hypothesis with its prior: singles .8, pairs of which either suffices .1, pairs that it takes both of .1. */
export function priors(changed: number): Weighted[] {
  const indices = Array.from({ length: changed }, (_, i) => i);
  const pairs = indices.flatMap((a) => indices.slice(a + 1).map((b) => [a, b]));
  const spread = (share: number, kind: Hypothesis["kind"], members: number[][]) =>
    members.map((one) => ({ hypothesis: { kind, members: one }, chance: share / members.length }));
  const all = [
    ...spread(
      0.8,
      "single",
      indices.map((i) => [i]),
    ),
    ...spread(0.1, "either", pairs),
    ...spread(0.1, "both", pairs),
  ];
  return normalised(
    all.map((one) => Math.log(one.chance)),
    all,
  );
}

/** Whether the case is broken under this mask if the hypothesis is true. */
function isBroken({ kind, members }: Hypothesis, mask: Mask): boolean {
  return kind === "either" ? members.some((i) => mask[i]) : members.every((i) => mask[i]);
}

/**
 * The priors updated by what was tried, by Bayes' rule: a trial passes with the old rate where the hypothesis says sound
 * and with the new rate where it says broken. Both rates are (x + .5)/(k + 1) of what was seen before. (Integrating over
 * what is not known of them is more careful, but takes a third more calls for the same share of right answers.)
 */
export function posterior(prior: readonly Weighted[], tried: readonly Tried[], known: Known): Weighted[] {
  const [sound, broken] = [smoothed(known.old), smoothed(known.new)];
  const logs = prior.map(({ hypothesis, chance }) =>
    tried.reduce((log, { mask, counts: { passed, trials } }) => {
      const rate = isBroken(hypothesis, mask) ? broken : sound;
      return log + passed * Math.log(rate) + (trials - passed) * Math.log(1 - rate);
    }, Math.log(chance)),
  );
  return normalised(logs, prior);
}

/** Never 0 or 1, so that no trial can rule a hypothesis out by itself. */
function smoothed({ passed, trials }: Counts): number {
  return (passed + 0.5) / (trials + 1);
}

function normalised(logs: readonly number[], all: readonly Weighted[]): Weighted[] {
  const largest = Math.max(...logs);
  const raw = logs.map((log) => Math.exp(log - largest));
  const sum = raw.reduce((total, one) => total + one, 0);
  return all.map(({ hypothesis }, i) => ({ hypothesis, chance: (raw[i] ?? 0) / sum }));
}

/** The chance that the case is broken under this mask. */
export function chanceBroken(weighted: readonly Weighted[], mask: Mask): number {
  return weighted.reduce((sum, { hypothesis, chance }) => sum + (isBroken(hypothesis, mask) ? chance : 0), 0);
}

/**
 * The mask to try next: one whose chance to be broken is near 1/2, which tells most. Exhaustive search takes 2^n masks, so
 * this one climbs: from all old, the one change of a description that gets nearest to 1/2, until none helps. Adding
 * descriptions only raises the chance, from 0 to 1, so the climb cannot end far off. Ties go to the first description.
 */
export function nextMask(weighted: readonly Weighted[], changed: number): Mask {
  let mask: Mask = Array.from({ length: changed }, () => false);
  let distance = 0.5;
  for (;;) {
    let best = mask;
    let nearest = distance - 1e-12;
    for (let i = 0; i < changed; i++) {
      const flipped = mask.with(i, !mask[i]);
      const off = Math.abs(chanceBroken(weighted, flipped) - 0.5);
      if (off < nearest) [best, nearest] = [flipped, off];
    }
    if (best === mask) return mask;
    mask = best;
    distance = Math.abs(chanceBroken(weighted, mask) - 0.5);
  }
}
