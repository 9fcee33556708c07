import * as fc from "fast-check";
import type { Json, JsonObject } from "../types/json.ts";
import { numberAt } from "./schema.ts";

const longest = 10_000;
const longestPattern = 500;

const twoDigits = (min: number, max: number) => fc.integer({ min, max }).map((n) => String(n).padStart(2, "0"));
const date = fc
  .tuple(fc.integer({ min: 1970, max: 2099 }), twoDigits(1, 12), twoDigits(1, 28))
  .map((all) => all.join("-"));
const time = fc.tuple(twoDigits(0, 23), twoDigits(0, 59), twoDigits(0, 59)).map((all) => `${all.join(":")}Z`);

/** Names under `.example` and `.invalid` are nobody's (RFC 2606), so that no stranger is called. */
const host = fc.stringMatching(/^[a-z]{1,8}\.example$/);

const formats: Readonly<Record<string, fc.Arbitrary<string>>> = {
  date,
  time,
  "date-time": fc.tuple(date, time).map((both) => both.join("T")),
  duration: fc.integer({ min: 1, max: 48 }).map((hours) => `PT${hours}H`),
  email: host.map((at) => `somebody@${at}`),
  hostname: host,
  ipv4: fc.ipV4(),
  ipv6: fc.ipV6(),
  uuid: fc.uuid(),
  uri: host.map((at) => `https://${at}/page`),
  url: host.map((at) => `https://${at}/page`),
};

/** Strings for a schema, or undefined where none can be made within bounds. */
export function stringOf(way: JsonObject): fc.Arbitrary<Json> | undefined {
  const { pattern, format } = way;
  if (typeof pattern === "string") return matching(pattern);
  if (typeof format === "string" && Object.hasOwn(formats, format)) return formats[format];
  const minLength = numberAt(way, "minLength") ?? 0;
  const maxLength = Math.min(numberAt(way, "maxLength") ?? minLength + 12, minLength + 12);
  if (minLength > longest || minLength > maxLength) return undefined;
  if (minLength > 100) return fc.constant("x".repeat(minLength));
  const letters = fc.constantFrom(..."abcdefghijklmnopqrstuvwxyz 0123456789-");
  return fc.oneof(
    fc.string({ unit: letters, minLength, maxLength }),
    fc.string({ minLength, maxLength }),
    fc.string({ unit: "grapheme", minLength, maxLength }),
  );
}

/** Strings that match. A pattern that would make huge ones, or that has parts which cannot be made, gives none. */
function matching(pattern: string): fc.Arbitrary<string> | undefined {
  const repeats = [...pattern.matchAll(/\{(\d+)/g)].reduce((product, [, n]) => product * Math.max(1, Number(n)), 1);
  if (pattern.length > longestPattern || repeats > longest) return undefined;
  try {
    return fc.stringMatching(new RegExp(pattern, "u"), { size: "-1" });
  } catch {
    return undefined;
  }
}
