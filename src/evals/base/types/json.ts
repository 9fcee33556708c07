import * as z from "zod";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** The keys and indices that lead from the root of a value to a value inside it. */
export type Path = readonly (string | number)[];

/** Any JSON value. Unlike `z.json()`, it does not try a union at every level, which is slow for large tool lists. */
export const jsonSchema: z.ZodType<Json> = z.unknown().refine(isJson, "not a JSON value") as unknown as z.ZodType<Json>;
export const jsonObjectSchema: z.ZodType<JsonObject> = z
  .record(z.string(), z.unknown())
  .refine(isJson, "not a JSON object") as unknown as z.ZodType<JsonObject>;

/** Whether `JSON.parse` could return this value. Not recursive, because hostile values may be deep. */
function isJson(value: unknown): value is Json {
  const waiting = [value];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (typeof next === "object" && next !== null) {
      const prototype: unknown = Object.getPrototypeOf(next);
      if (!Array.isArray(next) && prototype !== Object.prototype && prototype !== null) return false;
      for (const member of Object.values(next)) waiting.push(member);
    } else if (typeof next === "number" ? !Number.isFinite(next) : !isScalar(next)) return false;
  }
  return true;
}

const isScalar = (value: unknown) => value === null || typeof value === "string" || typeof value === "boolean";

/** The value of a JSON text; undefined if it is not JSON. */
export function parseJsonText(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** True for a plain JSON object, not for an array or null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value at a path; undefined if there is none. */
export function getAtPath(value: Json, path: Path): Json | undefined {
  let found: Json | undefined = value;
  for (const step of path) {
    if (Array.isArray(found)) found = typeof step === "number" ? found[step] : undefined;
    else if (isJsonObject(found)) found = Object.hasOwn(found, step) ? found[step] : undefined;
    else return undefined;
  }
  return found;
}

/** The canonical text of a JSON value: object keys sorted by code unit, no white space. Hashes are computed over it. */
export function canonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  let members = "";
  for (const key of Object.keys(value).sort()) {
    const member = value[key];
    if (member !== undefined) members += `${members && ","}${JSON.stringify(key)}:${canonicalJson(member)}`;
  }
  return `{${members}}`;
}

/** Maximum nesting of values from outside. Deeper ones overflow the stack of parsers and writers; none is real. */
export const maxDepth = 100;
/** The same for the program's own files, in which such values are some levels below the top. */
export const maxRecordDepth = maxDepth + 20;

/** Whether a value is nested more than `levels` deep. Not recursive, because hostile values may be deep. */
export function isNestedDeeper(value: unknown, levels = maxDepth): boolean {
  const waiting: { value: unknown; depth: number }[] = [{ value, depth: 0 }];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    if (typeof next.value !== "object" || next.value === null) continue;
    if (next.depth >= levels) return true;
    for (const member of Object.values(next.value)) waiting.push({ value: member, depth: next.depth + 1 });
  }
  return false;
}

/** Parses JSON. Throws an error for text that is no JSON, and for a value that is nested more than `levels` deep. */
export function parseBoundedJson(text: string, levels = maxDepth): Json {
  const value = JSON.parse(text) as Json;
  if (isNestedDeeper(value, levels)) throw new Error(`it is nested more than ${levels} levels deep`);
  return value;
}

/** Whether two values are the same JSON, in any order of keys. Not recursive, because hostile values may be deep. */
export function sameJson(one: Json | undefined, other: Json | undefined): boolean {
  const waiting: [Json | undefined, Json | undefined][] = [[one, other]];
  for (let pair = waiting.pop(); pair; pair = waiting.pop()) {
    const [a, b] = pair;
    if (a === b) continue;
    if (Array.isArray(a) && Array.isArray(b)) {
      if (a.length !== b.length) return false;
      for (const [at, item] of a.entries()) waiting.push([item, b[at]]);
    } else if (isJsonObject(a) && isJsonObject(b)) {
      const [mine, theirs] = [Object.keys(a), Object.keys(b)];
      if (mine.length !== theirs.length || !mine.every((key) => Object.hasOwn(b, key))) return false;
      for (const key of mine) waiting.push([a[key], b[key]]);
    } else return false;
  }
  return true;
}

// JavaScript has no whole numbers beyond 2^53 in JSON, but ids of messages, posts and users are often larger. One that
// a number cannot hold is kept as a text: a mark, which no text contains, and its digits. It is a number again where it
// leaves.

const mark = "\uFDD0";
const markedForm = new RegExp(`^${mark}-?\\d+$`);
const markedText = new RegExp(`"${mark}(-?\\d+)"`, "g");
/** The parts of a number that may be whole. */
const wholeForm = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]\+?(-?\d+))?$/;
const token = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** A number as written: a number, or the marked digits of a whole number that a number cannot hold. */
export function readWhole(written: string): Json {
  const number = Number(written);
  const digits = Number.isSafeInteger(number) ? undefined : writeDigits(written);
  const held = /^-?\d+$/.test(written) ? String(number) : writeDigits(String(number));
  return digits === undefined || held === digits ? number : `${mark}${digits}`;
}

function writeDigits(number: string): string | undefined {
  const [, sign, whole, decimals = "", exponent = 0] = wholeForm.exec(number) ?? [];
  let end = decimals.length;
  while (decimals[end - 1] === "0") end--;
  const fraction = decimals.slice(0, end);
  const zeros = Number(exponent) - end;
  const isWhole = whole !== undefined && zeros >= 0 && zeros < 400;
  return isWhole ? `${sign}${`${whole}${fraction}${"0".repeat(zeros)}`.replace(/^0+(?=\d)/, "")}` : undefined;
}

/** A JSON text in which whole numbers that a number cannot hold are marked texts. */
export function markWholes(json: string): string {
  if (!/\d{16}|\d[eE]\+?\d/.test(json)) return json;
  return json.replace(token, (one) => {
    const read = one.startsWith('"') ? undefined : readWhole(one);
    return typeof read === "string" ? `"${read}"` : one;
  });
}

/** `JSON.parse` without loss of digits. */
export const parseExactJson = (text: string): Json => JSON.parse(markWholes(text)) as Json;

/** The same; undefined for a text that is not JSON. */
export const parseExactText = (text: string): Json | undefined => parseJsonText(markWholes(text));

/** A JSON text with the digits of marked texts in their place. */
export const unmarkWholes = (json: string): string => (json.includes(mark) ? json.replace(markedText, "$1") : json);

/** `JSON.stringify` for a value of `parseExactJson`. */
export const writeExactJson = (value: unknown, indent?: number): string =>
  unmarkWholes(JSON.stringify(value, null, indent));

/** Whether a value is a whole number that a number cannot hold. */
export const isMarked = (value: Json | undefined): value is string =>
  typeof value === "string" && value.startsWith(mark) && markedForm.test(value);

/** The value with numbers, which are nearly the same, in place of marked texts. */
export function toNumbers(value: Json): Json {
  if (isMarked(value)) return Number(value.slice(mark.length));
  if (Array.isArray(value)) return value.map(toNumbers);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, toNumbers(member)]));
}
