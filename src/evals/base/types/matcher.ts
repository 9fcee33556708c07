import * as z from "zod";
import { nearest } from "../text/nearest.ts";
import { isJsonObject, type Json, type JsonObject, jsonObjectSchema, jsonSchema } from "./json.ts";

const types = ["string", "number", "integer", "boolean", "array", "object", "null"] as const;

/** The operands of a matcher by keyword, as they are once the form of its keys is read; see `readMatcher`. */
export const matcherSchema = z
  .strictObject({
    equals: jsonSchema.describe("Exactly this value, whatever its keys"),
    anyOf: z.array(jsonSchema).min(1).describe("Any of these values or matchers"),
    matches: z.string().describe("A regular expression (RE2 syntax, linear time) that matches a part of the string"),
    contains: jsonSchema.describe("A substring of a string, or an element of an array"),
    startsWith: z.string(),
    endsWith: z.string(),
    ignoreCase: z.string().describe("Equal to this text, ignoring case"),
    gte: z.number(),
    lte: z.number(),
    type: z.enum(types),
    optional: jsonSchema.describe("May be omitted; if given, it must match this"),
    any: z.literal(true).describe("Given, with any value"),
    absent: z.literal(true).describe("Must be omitted"),
    unordered: z.array(jsonSchema).describe("An array with these elements in any order"),
    judge: z.string().describe("A judge model decides whether the value meets this criterion"),
    custom: z
      .union([z.string().min(1), z.strictObject({ file: z.string().min(1), with: jsonSchema })])
      .describe("A JavaScript or TypeScript file decides; it gets what stands under `with`"),
    not: jsonSchema.describe("Given or omitted, but not this value or matcher"),
    object: jsonObjectSchema.describe("An object with exactly these members, whatever their names; may hold matchers"),
  })
  .partial()
  .refine((matcher) => Object.keys(matcher).length > 0, "at least one keyword is required");
export type Matcher = z.infer<typeof matcherSchema>;
export type Keyword = keyof Matcher;

/** Named arguments, each with a literal value or a matcher. */
export const argsSchema = jsonObjectSchema.describe("By name: literal values or matchers");

/** Keywords that exist with `$` only: as bare keys they have always been literal. */
const marked: ReadonlySet<string> = new Set<Keyword>(["not", "object", "custom"]);

/** Keywords that may also be written without `$`. */
export const bareKeywords: ReadonlySet<string> = new Set(
  Object.keys(matcherSchema.shape).filter((keyword) => !marked.has(keyword)),
);

/** The written form with `$` of each keyword. `$regex` is another name of `$matches`. */
export const markedKeywords: ReadonlyMap<string, Keyword> = new Map([
  ...Object.keys(matcherSchema.shape).map((keyword) => [`$${keyword}`, keyword as Keyword] as const),
  ["$regex", "matches"],
]);

/**
 * How an expected value is read. `matcher`: its operands by keyword, and the key of each as written. `invalid`: an object
 * with `$` keys that is no matcher, with the wrong key.
 */
export type ReadMatcher =
  | { kind: "literal" }
  | { kind: "matcher"; operands: JsonObject; written: Readonly<Record<string, string>> }
  | { kind: "invalid"; key: string; message: string; hint: string };

const literal: ReadMatcher = { kind: "literal" };

/**
 * Reads a value of `args`. An object with any key that begins with `$` is a matcher and nothing else: all its keys must
 * be marked keywords. An object without one is a matcher if all its keys are keywords, and `type`, which is a common name
 * of members, has the name of a JSON type or a misspelled one. Every other value is a literal, which may contain matchers.
 */
export function readMatcher(value: Json): ReadMatcher {
  if (!isJsonObject(value)) return literal;
  const keys = Object.keys(value);
  if (keys.some((key) => key.startsWith("$"))) return readMarked(value, keys);
  const isBare = keys.length > 0 && keys.every((key) => bareKeywords.has(key)) && isPlausibleType(value.type);
  if (!isBare) return literal;
  return { kind: "matcher", operands: value, written: Object.fromEntries(keys.map((key) => [key, key])) };
}

function readMarked(value: JsonObject, keys: readonly string[]): ReadMatcher {
  const wrong = keys.find((key) => !markedKeywords.has(key));
  if (wrong !== undefined) return explainKey(wrong);
  const written: Record<string, string> = {};
  const operands: JsonObject = {};
  for (const key of keys) {
    const keyword = markedKeywords.get(key) ?? "equals";
    if (written[keyword] !== undefined) {
      const message = `"${key}" and "${written[keyword]}" mean the same`;
      return { kind: "invalid", key, message, hint: "Keep one of them, or put both into $anyOf." };
    }
    written[keyword] = key;
    operands[keyword] = value[key] ?? null;
  }
  return { kind: "matcher", operands, written };
}

function explainKey(key: string): ReadMatcher {
  const wrap = "if the object is meant literally, write { $equals: ... }";
  if (!key.startsWith("$")) {
    const message = `"${key}" stands beside keys that begin with $, which only matchers have`;
    const hint = markedKeywords.has(`$${key}`) ? `Did you mean "$${key}"?` : `Remove it; ${wrap}.`;
    return { kind: "invalid", key, message, hint };
  }
  const message = `"${key}" is not a matcher keyword`;
  const near = nearest(key, markedKeywords.keys());
  const hint = near === undefined ? `${capitalize(wrap)}.` : `Did you mean "${near}"? ${capitalize(wrap)}.`;
  return { kind: "invalid", key, message, hint };
}

const capitalize = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** `{ type: search }` is a literal, `{ type: strin }` a misspelled matcher; what is no text never fits a literal either. */
function isPlausibleType(type: Json | undefined): boolean {
  return typeof type !== "string" || nearest(type, types) !== undefined;
}
