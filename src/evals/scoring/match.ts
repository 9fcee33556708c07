import { isJsonObject, type Json } from "../types/json.ts";

/**
 * Whether a value is what was wanted; `unknown` when that could not be decided, with the reason. `evidence` is what a
 * judge quoted for it, word for word.
 */
export type Match = { met: "yes"; evidence?: string } | { met: "no" | "unknown"; why: string; evidence?: string };

export const yes: Match = { met: "yes" };
export const no = (why: string): Match => ({ met: "no", why });
export const unknown = (why: string): Match => ({ met: "unknown", why });

/** What only a judge can decide: whether a sentence is true of a trial, or whether a value meets a criterion. */
export type Question =
  | { about: "behaviour"; criterion: string }
  | { about: "value"; criterion: string; at: string; value: Json };

/**
 * Answers a question at once. Asking a judge model takes time, and scoring is pure: so a trial is graded with `noJudge`
 * first; when that leaves it not gradable, its questions are collected by a judge that notes them, put to the model, and
 * the trial is graded again with a judge that looks the answers up.
 */
export type Judge = (question: Question) => Match;

/** The judge of a run that was given none. */
export const noJudge: Judge = () => unknown("no judge model was given");

/** Decides one value; undefined is a value that was not given. `at` is its dotted place, which every `why` names. */
export type Test = (value: Json | undefined, at: string, judge: Judge) => Match;

/** Yes when all are; else the first no, else the first unknown. */
export function every<T>(items: readonly T[], match: (item: T, index: number) => Match): Match {
  let result: Match = yes;
  for (const [index, item] of items.entries()) {
    const found = match(item, index);
    if (found.met === "no") return found;
    if (found.met === "unknown" && result.met === "yes") result = found;
  }
  return result;
}

/** Yes when one is; else the first unknown, else `otherwise`. */
export function some<T>(items: readonly T[], match: (item: T, index: number) => Match, otherwise: () => Match): Match {
  let result: Match | undefined;
  for (const [index, item] of items.entries()) {
    const found = match(item, index);
    if (found.met === "yes") return found;
    if (found.met === "unknown") result ??= found;
  }
  return result ?? otherwise();
}

/** A no that says what was expected at a place and what stood there. */
export function differs(at: string, expected: string, got: Json | undefined): Match {
  return no(`${at}: expected ${expected}, got ${got === undefined ? "nothing" : show(got)}`);
}

/** A value as JSON for a message, cut to 200 characters. */
export function show(value: Json): string {
  return cut(JSON.stringify(value));
}

export function cut(text: string): string {
  return text.length > 200 ? `${text.slice(0, 199)}…` : text;
}

/** The place of a member: `at.key`, or `at["a key"]` when the key is no plain word. */
export function member(at: string, key: string): string {
  return /^[\w$-]+$/.test(key) ? `${at}.${key}` : `${at}[${JSON.stringify(key)}]`;
}

/** The member that the object itself has: what it inherits (`constructor`, `toString`) was not given. */
export function own(object: { readonly [key: string]: Json }, key: string): Json | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** The same JSON value: numbers by value (-0 is 0), object members in any order. */
export function sameJson(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => sameJson(item, b[index]));
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && sameJson(a[key], b[key]))
  );
}
