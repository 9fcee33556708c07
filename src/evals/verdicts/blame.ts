import type { Counts } from "../stats/counts.ts";
import { globalTest, isSignificant } from "../stats/hypothesisTests.ts";
import {
  countTrials,
  type Design,
  type Evidence,
  type Look,
  madeTrials,
  requestAll,
  type Step,
  stillMissing,
} from "./design.ts";

/** The case that broke, the names of what changed since (descriptions, parameters), and what was seen of it before. */
export type BlameSetup = { case: string; changed: readonly string[]; known: Known; searchCap?: number };

type Suspicion = { kind: Hypothesis["kind"]; changes: readonly string[]; chance: number };

/** The only guarantee: with everything new, the case passes less often than with the blamed changes reverted. */
type Necessity = {
  reverted: Counts;
  allNew: Counts;
  p: number;
  alpha: number;
  look: number;
  confirmed: boolean;
};

/** Why a verdict. `seen to break`: a deterministic model passes with `reverted`, and fails with `breaking` alone. */
export type BlameBasis =
  | { kind: "confirmed" | "not confirmed" }
  | { kind: "seen to break"; reverted: readonly string[]; breaking: readonly string[] }
  | { kind: "nothing changed" | "not scored before" | "no drop" | "passes with all new" | "fails with all old" }
  | { kind: "search broke" | "confirmation broke" | "a trial broke" | "not tested" };

/**
 * `blamed`: `culprits` were confirmed by the fresh necessity test. `relation` tells whether each of two suffices to break
 * the case or it takes both; it is the likeliest reading, not tested. `ranking` is what the search came to believe.
 * `calls.oneAtATime` is what reverting each change by itself, ten trials each, would have cost.
 */
export type BlameVerdict = {
  kind: "blamed" | "inconclusive";
  basis: BlameBasis;
  culprits: readonly string[];
  relation: Hypothesis["kind"];
  chance: number;
  ranking: readonly Suspicion[];
  necessity?: Necessity;
  calls: { search: number; confirmation: number; oneAtATime: number };
};

type Stage = "search" | "confirm";

/** An arm of blame is a stage and a mask, one digit per change in the order given: `search:01000000` (1 is new). */
export function blameArm(stage: Stage, mask: Mask): string {
  return `${stage}:${mask.map(Number).join("")}`;
}

/** The mask of an arm's name: which changes are served in their new wording. */
export function parseArm(arm: string): Mask {
  return [...arm.slice(arm.indexOf(":") + 1)].map((digit) => digit === "1");
}

/** Stricter than 99 %, because the rates behind the posterior are estimates themselves. */
const certain = 0.995;

/** The looks of the necessity test, per arm; its shares add up to 5 %. */
const necessityLooks: readonly Look[] = [
  { trials: 5, alpha: 0.01 },
  { trials: 10, alpha: 0.015 },
  { trials: 20, alpha: 0.025 },
];

/**
 * Finds which of several changes broke a case. Search: one trial at a time, of the mask that tells most, until one
 * hypothesis has posterior .995 or the cap is reached (then the likeliest one goes on). Confirmation: fresh trials,
 * all new against the blamed ones reverted, one-sided 5 % in all; it stops early when the reverted list does no better.
 */
export function blame({
  case: id,
  changed,
  known,
  searchCap = 20 + 5 * changed.length,
}: BlameSetup): Design<BlameVerdict> {
  const prior = priors(changed.length);
  const cap = searchCap + 2 * Math.max(...necessityLooks.map((look) => look.trials));
  return {
    cap,
    next(evidence): Step<BlameVerdict> {
      const searched = countSearch(evidence, id);
      const belief = posterior(prior, searched.tried, known).toSorted((a, b) => b.chance - a.chance);
      const best = belief[0];
      const search = {
        changed,
        belief,
        calls: { search: searched.made, confirmation: 0, oneAtATime: 10 * changed.length },
      };
      const obstacle = findObstacle(changed, known);
      if (obstacle || !best) return { kind: "decided", verdict: makeVerdict(search, undefined, obstacle) };
      if (best.chance < certain && searched.made < searchCap)
        return ask(id, evidence, nextMask(belief, changed.length));
      if (searched.made > 0 && searched.tried.length === 0) {
        return { kind: "decided", verdict: makeVerdict(search, undefined, { kind: "search broke" }) };
      }
      return confirm(id, evidence, best.hypothesis, search);
    },
  };
}

function findObstacle(changed: readonly string[], known: Known): BlameBasis | undefined {
  if (changed.length === 0) return { kind: "nothing changed" };
  if (known.old.trials === 0 || known.new.trials === 0) return { kind: "not scored before" };
  const hasDropped = known.new.passed * known.old.trials < known.old.passed * known.new.trials;
  return hasDropped ? undefined : { kind: "no drop" };
}

function countSearch(evidence: Evidence, id: string): { tried: Tried[]; made: number } {
  const arms = [...(evidence.get(id)?.keys() ?? [])].filter((arm) => arm.startsWith("search:")).sort();
  const tried = arms.map((arm) => ({ mask: parseArm(arm), counts: countTrials(evidence, id, arm) }));
  const made = arms.reduce((sum, arm) => sum + madeTrials(evidence, [id], arm).made, 0);
  return { tried: tried.filter(({ counts }) => counts.trials > 0), made };
}

function ask(id: string, evidence: Evidence, mask: Mask): Step<BlameVerdict> {
  const arm = blameArm("search", mask);
  const next = (evidence.get(id)?.get(arm)?.length ?? 0) + 1;
  return { kind: "ask", look: 1, requests: [{ case: id, arm, from: next, trials: next }] };
}

type SearchResult = { changed: readonly string[]; belief: readonly Weighted[]; calls: BlameVerdict["calls"] };

function confirm(id: string, evidence: Evidence, blamed: Hypothesis, search: SearchResult): Step<BlameVerdict> {
  const allNew = search.changed.map(() => true);
  const arms = [allNew.map((_, i) => !blamed.members.includes(i)), allNew].map((mask) => blameArm("confirm", mask));
  const [reverted = "", full = ""] = arms;
  let necessity: Necessity | undefined;
  for (const [j, { trials, alpha }] of necessityLooks.entries()) {
    const span = { from: 1, to: trials };
    const requests = stillMissing(evidence, requestAll([id], arms, span));
    if (requests.length > 0) return { kind: "ask", requests, look: j + 2 };
    const counts = { base: countTrials(evidence, id, reverted, span), head: countTrials(evidence, id, full, span) };
    const p = globalTest([counts]).p;
    const confirmed = isSignificant(p, alpha);
    necessity = { reverted: counts.base, allNew: counts.head, p, alpha, look: j + 1, confirmed };
    if (confirmed || p > 0.5) break;
  }
  const confirmation = arms.reduce((sum, arm) => sum + madeTrials(evidence, [id], arm).made, 0);
  return { kind: "decided", verdict: makeVerdict({ ...search, calls: { ...search.calls, confirmation } }, necessity) };
}

function makeVerdict(
  { changed, belief, calls }: SearchResult,
  necessity: Necessity | undefined,
  obstacle?: BlameBasis,
): BlameVerdict {
  const ranking = belief.slice(0, 5).map(({ hypothesis, chance }) => ({
    kind: hypothesis.kind,
    changes: hypothesis.members.map((i) => changed[i] ?? ""),
    chance,
  }));
  const [first] = ranking;
  const blamed = necessity?.confirmed ?? false;
  return {
    kind: blamed ? "blamed" : "inconclusive",
    basis: obstacle ?? findBasis(necessity),
    culprits: blamed ? (first?.changes ?? []) : [],
    relation: first?.kind ?? "single",
    chance: first?.chance ?? 0,
    ranking,
    ...(necessity && { necessity }),
    calls,
  };
}

function findBasis(necessity: Necessity | undefined): BlameBasis {
  if (!necessity) return { kind: "not tested" };
  const { reverted, allNew, confirmed } = necessity;
  if (reverted.trials === 0 || allNew.trials === 0) return { kind: "confirmation broke" };
  return { kind: confirmed ? "confirmed" : "not confirmed" };
}

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
