import * as z from "zod";
import { nearest } from "../text/nearest.ts";
import { isJsonObject, type Json, type JsonObject, jsonObjectSchema, jsonSchema } from "./json.ts";

const types = ["string", "number", "integer", "boolean", "array", "object", "null"] as const;

/** The operands of a matcher by keyword, without its `$`; see `readMatcher`. */
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

/** How each keyword is written: with a `$`, since any plain key can be a member of a literal. */
export const writtenKeywords: readonly string[] = Object.keys(matcherSchema.shape).map((keyword) => `$${keyword}`);
const written = new Set(writtenKeywords);

/** How an expected value is read. `invalid`: an object with `$` keys that is no matcher, with the wrong key. */
export type ReadMatcher =
  | { kind: "literal" }
  | { kind: "matcher"; operands: JsonObject }
  | { kind: "invalid"; key: string; message: string; hint: string };

/** Reads a value of `args`. An object with a key that begins with `$` is a matcher; every other value is a literal. */
export function readMatcher(value: Json): ReadMatcher {
  const keys = isJsonObject(value) ? Object.keys(value) : [];
  if (!isJsonObject(value) || !keys.some((key) => key.startsWith("$"))) return { kind: "literal" };
  const wrong = keys.find((key) => !written.has(key));
  if (wrong !== undefined) return explainKey(wrong);
  return { kind: "matcher", operands: Object.fromEntries(keys.map((key) => [key.slice(1), value[key] ?? null])) };
}

function explainKey(key: string): ReadMatcher {
  const wrap = "if the object is meant literally, write { $equals: ... }";
  if (!key.startsWith("$")) {
    const message = `"${key}" stands beside keys that begin with $, which only matchers have`;
    const hint = written.has(`$${key}`) ? `Did you mean "$${key}"?` : `Remove it; ${wrap}.`;
    return { kind: "invalid", key, message, hint };
  }
  const near = nearest(key, written);
  const meant = near === undefined ? "" : `Did you mean "${near}"? `;
  return { kind: "invalid", key, message: `"${key}" is not a matcher keyword`, hint: `${meant}I${wrap.slice(1)}.` };
}
