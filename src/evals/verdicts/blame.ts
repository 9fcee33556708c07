import type { Counts } from "../stats/counts.ts";
import { globalTest, isSignificant } from "../stats/hypothesisTests.ts";
import {
  type Hypothesis,
  type Known,
  type Mask,
  nextMask,
  posterior,
  priors,
  type Tried,
  type Weighted,
} from "./culprits.ts";
import type { Design, Evidence, Look, Step } from "./design.ts";
import { countTrials, madeTrials, requestAll, stillMissing } from "./evidence.ts";

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
export function maskOfArm(arm: string): Mask {
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
      const searched = searchedIn(evidence, id);
      const belief = posterior(prior, searched.tried, known).toSorted((a, b) => b.chance - a.chance);
      const best = belief[0];
      const search = {
        changed,
        belief,
        calls: { search: searched.made, confirmation: 0, oneAtATime: 10 * changed.length },
      };
      const obstacle = obstacleTo(changed, known);
      if (obstacle || !best) return { kind: "decided", verdict: verdictOf(search, undefined, obstacle) };
      if (best.chance < certain && searched.made < searchCap)
        return ask(id, evidence, nextMask(belief, changed.length));
      if (searched.made > 0 && searched.tried.length === 0) {
        return { kind: "decided", verdict: verdictOf(search, undefined, { kind: "search broke" }) };
      }
      return confirm(id, evidence, best.hypothesis, search);
    },
  };
}

function obstacleTo(changed: readonly string[], known: Known): BlameBasis | undefined {
  if (changed.length === 0) return { kind: "nothing changed" };
  if (known.old.trials === 0 || known.new.trials === 0) return { kind: "not scored before" };
  const hasDropped = known.new.passed * known.old.trials < known.old.passed * known.new.trials;
  return hasDropped ? undefined : { kind: "no drop" };
}

function searchedIn(evidence: Evidence, id: string): { tried: Tried[]; made: number } {
  const arms = [...(evidence.get(id)?.keys() ?? [])].filter((arm) => arm.startsWith("search:")).sort();
  const tried = arms.map((arm) => ({ mask: maskOfArm(arm), counts: countTrials(evidence, id, arm) }));
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
  return { kind: "decided", verdict: verdictOf({ ...search, calls: { ...search.calls, confirmation } }, necessity) };
}

function verdictOf(
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
    basis: obstacle ?? basisOf(necessity),
    culprits: blamed ? (first?.changes ?? []) : [],
    relation: first?.kind ?? "single",
    chance: first?.chance ?? 0,
    ranking,
    ...(necessity && { necessity }),
    calls,
  };
}

function basisOf(necessity: Necessity | undefined): BlameBasis {
  if (!necessity) return { kind: "not tested" };
  const { reverted, allNew, confirmed } = necessity;
  if (reverted.trials === 0 || allNew.trials === 0) return { kind: "confirmation broke" };
  return { kind: confirmed ? "confirmed" : "not confirmed" };
}
