import { showJson } from "../../base/text/text.ts";
import type { Json } from "../../base/types/json.ts";

/** Whether a value is as expected, or why that could not be decided. `evidence` is a judge's verbatim quote. */
export type Match = { met: "yes"; evidence?: string } | { met: "no" | "unknown"; why: string; evidence?: string };

export const yes: Match = { met: "yes" };
export const no = (why: string): Match => ({ met: "no", why });
export const unknown = (why: string): Match => ({ met: "unknown", why });

/** A question for a judge: whether a sentence is true of a trial, or whether a value meets a criterion. */
export type JudgeQuestion =
  | { about: "behavior"; criterion: string }
  | { about: "value"; criterion: string; at: string; value: Json };

/** A question for a file of code: whether a trial or a value is as its author wants it. `file` is the path in the suite. */
export type CodeQuestion =
  | { about: "trial"; file: string }
  | { about: "argument"; file: string; at: string; value: Json; with?: Json };

export type Question = JudgeQuestion | CodeQuestion;

/**
 * Answers a question synchronously, because scoring is pure and a judge model is not: a trial is graded first with a
 * judge that collects the questions; then the model answers them, and the trial is graded again with a judge that looks
 * up the answers.
 */
export type Judge = (question: Question) => Match;

/** The judge of a run without a judge model. */
export const noJudge: Judge = () => unknown("no judge model was given");

/** Matches one value; undefined is an absent value. `at` is its dotted path, which every `why` names. */
export type Test = (value: Json | undefined, at: string, judge: Judge) => Match;

/** Yes if all match, otherwise the first no, otherwise the first unknown. */
export function every<T>(items: readonly T[], match: (item: T, index: number) => Match): Match {
  let result: Match = yes;
  for (const [index, item] of items.entries()) {
    const found = match(item, index);
    if (found.met === "no") return found;
    if (found.met === "unknown" && result.met === "yes") result = found;
  }
  return result;
}

/** Yes if one matches, otherwise the first unknown, otherwise `otherwise`. */
export function some<T>(items: readonly T[], match: (item: T, index: number) => Match, otherwise: () => Match): Match {
  let result: Match | undefined;
  for (const [index, item] of items.entries()) {
    const found = match(item, index);
    if (found.met === "yes") return found;
    if (found.met === "unknown") result ??= found;
  }
  return result ?? otherwise();
}

/** A no with the expected and the actual value at a path. */
export function differs(at: string, expected: string, actual: Json | undefined): Match {
  return no(`${at}: expected ${expected}, got ${actual === undefined ? "nothing" : showJson(actual)}`);
}

/** The path of a member: `at.key`, or `at["a key"]` if the key is not a plain word. */
export function member(at: string, key: string): string {
  return /^[\w$-]+$/.test(key) ? `${at}.${key}` : `${at}[${JSON.stringify(key)}]`;
}

/** An own member of the object: inherited ones (`constructor`, `toString`) are absent. */
export function own(object: { readonly [key: string]: Json }, key: string): Json | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** For each left item, the right item it is paired with; undefined if there is none. */
export type Pairing = readonly (number | undefined)[];

/**
 * The largest pairing of `left` items with `right` items along the edges, by augmenting paths (Kuhn's algorithm, so that
 * an early choice never blocks a later one). It starts from `seed`, and every left item that is paired there stays paired.
 */
export function pairUp(
  left: number,
  right: number,
  edge: (left: number, right: number) => boolean,
  seed: Pairing = [],
): Pairing {
  const partner: (number | undefined)[] = Array.from({ length: left }, (_, index) => seed[index]);
  const takenBy: (number | undefined)[] = Array.from({ length: right });
  for (const [index, other] of partner.entries()) if (other !== undefined) takenBy[other] = index;

  const augment = (from: number, seen: Set<number>): boolean => {
    for (let to = 0; to < right; to++) {
      if (seen.has(to) || !edge(from, to)) continue;
      seen.add(to);
      const holder = takenBy[to];
      if (holder !== undefined && !augment(holder, seen)) continue;
      takenBy[to] = from;
      partner[from] = to;
      return true;
    }
    return false;
  };
  for (let from = 0; from < left; from++) if (partner[from] === undefined) augment(from, new Set());
  return partner;
}

/** True when every left item has its own right item. */
export function complete(pairing: Pairing): boolean {
  return pairing.every((other) => other !== undefined);
}
