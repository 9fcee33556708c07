import { isJsonObject, type Json, parseJsonText } from "./json.ts";

// JavaScript has no whole numbers beyond 2^53 in JSON, but ids of messages, posts and users are often larger. One that a number
// cannot hold is kept as a text: a mark, which no text contains, and its digits. It is a number again where it leaves.

const mark = "\uFDD0";
const markedForm = new RegExp(`^${mark}-?\\d+$`);
const markedText = new RegExp(`"${mark}(-?\\d+)"`, "g");
const token = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** A whole number as written: a number, or its marked digits if a number cannot hold it. */
export function readWhole(digits: string): Json {
  return String(Number(digits)) === digits ? Number(digits) : `${mark}${digits}`;
}

/** A JSON text in which whole numbers that a number cannot hold are marked texts. */
export function markWholes(json: string): string {
  if (!/\d{16}/.test(json)) return json;
  return json.replace(token, (one) => {
    const read = /^-?\d{16,}$/.test(one) ? readWhole(one) : one;
    return typeof read === "string" && read !== one ? `"${read}"` : one;
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
