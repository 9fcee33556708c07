import { getOrAdd } from "../getOrAdd.ts";
import type { SecretForm } from "./secretForms.ts";

/** Hides what a limit has left of secrets: their start before the mark of a cut, their end after it, and what a line break parts. */
export type CutSecrets = (text: string, substitute: (at: number) => string) => string;

/** Fewer characters of a secret may stay: they say nothing about the rest, and other texts have them too. */
const fewest = 4;

/** What a cut can leave of an escaped character. */
const brokenEscape =
  /(?:\\+(?:u\{?[\da-f]{0,5}|x[\da-f]?)?|%[\da-f]{0,2}|&#?\w{0,8}|[\ud800-\udbff]){0,4}(?=…|\.\.\.)/iy;
const restOfEscape = /[\\\w%;{}\udc00-\udfff]{0,8}/y;
const lineBreak = /\n[ │|]{0,40}/y;

/** A text with more candidates was made to take time. */
const maxTried = 2_000;

/** `forms` with the number that `substitute` gets. */
export function createCutSecrets(forms: readonly { form: SecretForm; at: number }[]): CutSecrets {
  const long = forms.filter(({ form }) => form.length > fewest);
  if (long.length === 0) return (text) => text;
  let finders: Finders | undefined;
  return (text, substitute) => {
    if (!/…|\.\.\.|\n/.test(text)) return text;
    finders ??= createFinders(long);
    const found = [...findStarts(text, finders), ...findEnds(text, finders)];
    let result = "";
    let done = 0;
    for (const { from, to, at } of found.sort((a, b) => a.from - b.from || b.to - a.to)) {
      if (from < done) continue;
      result += text.slice(done, from) + substitute(at);
      done = to;
    }
    return result + text.slice(done);
  };
}

type Piece = RegExp;
type Finders = {
  pieces: readonly { form: readonly Piece[]; at: number }[];
  reach: number;
  starts: RegExp;
  ends: RegExp;
};
type Found = { from: number; to: number; at: number };

function createFinders(forms: readonly { form: SecretForm; at: number }[]): Finders {
  // Most pieces are the same few characters.
  const compiled = new Map<string, Piece>();
  const compile = (piece: string) => getOrAdd(compiled, piece, () => new RegExp(piece, "y"));
  return {
    pieces: forms.map(({ form, at }) => ({ at, form: form.map(compile) })),
    // An escaped character has up to twelve.
    reach: Math.max(...forms.map(({ form }) => form.length)) * 12,
    starts: createFinder(forms.map(({ form }) => form.slice(0, fewest))),
    ends: createFinder(forms.map(({ form }) => form.slice(-fewest))),
  };
}

const createFinder = (forms: readonly SecretForm[]) =>
  new RegExp([...new Set(forms.map((form) => form.join("")))].join("|"), "g");

/** Secrets of which the start is before the mark of a cut, or that a line break parts. */
function* findStarts(text: string, { starts, pieces }: Finders): Generator<Found> {
  for (const { index } of matchAll(text, starts))
    for (const { form, at } of pieces) {
      const to = walk(text, index, form);
      if (to === undefined) continue;
      yield { from: index, to, at };
      break;
    }
}

/** Where the secret that starts here ends, if it is cut there or is parted by a line break; otherwise undefined. */
function walk(text: string, from: number, form: readonly Piece[]): number | undefined {
  let at = from;
  let isParted = false;
  for (const [count, piece] of form.entries()) {
    const next = matchAt(piece, text, at);
    const afterBreak = next === undefined && count > 0 ? matchAt(lineBreak, text, at) : undefined;
    const other = afterBreak === undefined ? undefined : matchAt(piece, text, afterBreak);
    if (next === undefined && other === undefined) return count < fewest ? undefined : matchAt(brokenEscape, text, at);
    isParted ||= next === undefined;
    at = next ?? other ?? at;
  }
  return isParted ? at : undefined;
}

/** Secrets of which the end is after the mark of a cut. */
function* findEnds(text: string, { ends, pieces, reach }: Finders): Generator<Found> {
  for (const { index, 0: end } of matchAll(text, ends)) {
    const from = findMark(text, index, reach);
    const to = index + end.length;
    const whose = from === undefined ? undefined : pieces.find(({ form }) => endsWith(text, from, to, form));
    if (from !== undefined && whose) yield { from, to, at: whose.at };
  }
}

/** Whether the text between two places is the end of this form, behind what a cut has left of an escaped character. */
function endsWith(text: string, from: number, to: number, form: readonly Piece[]): boolean {
  const latest = matchAt(restOfEscape, text, from) ?? from;
  for (let first = Math.max(1, form.length - (to - from)); first <= form.length - fewest; first++)
    for (let start = from; start <= latest; start++) if (walkTo(text, start, form, first) === to) return true;
  return false;
}

/** Where a form ends that goes on here with its piece `first`; undefined if it does not. */
function walkTo(text: string, from: number, form: readonly Piece[], first: number): number | undefined {
  let at: number | undefined = from;
  for (let next = first; next < form.length && at !== undefined; next++) {
    const piece = form[next];
    at = piece && matchAt(piece, text, at);
  }
  return at;
}

/** Where the last mark of a cut before a place ends, if it is not further away than `reach`. */
function findMark(text: string, before: number, reach: number): number | undefined {
  const start = Math.max(0, before - reach);
  const near = text.slice(start, before);
  const [sign, dots] = [near.lastIndexOf("…"), near.lastIndexOf("...")];
  if (sign < 0 && dots < 0) return undefined;
  return start + Math.max(sign + 1, dots < 0 ? 0 : dots + 3);
}

/** Where the match that begins here ends. */
function matchAt(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

/** The first matches, also those that overlap. */
function* matchAll(text: string, pattern: RegExp): Generator<RegExpExecArray> {
  pattern.lastIndex = 0;
  for (let tried = 0; tried < maxTried; tried++) {
    const found = pattern.exec(text);
    if (!found) return;
    yield found;
    pattern.lastIndex = found.index + 1;
  }
}
