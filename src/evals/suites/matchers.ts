import { RE2JS } from "re2js";
import { messageOf } from "../errors.ts";
import type { Path } from "../parsing/tree.ts";
import { isJsonObject, type Json, type JsonObject } from "../types/json.ts";
import { nearest } from "../types/nearest.ts";
import { matcherSchema } from "../types/suite.ts";
import { explain } from "./explain.ts";
import type { Fault } from "./fault.ts";

const keywords: ReadonlySet<string> = new Set(Object.keys(matcherSchema.shape));
const literalHint = "wrap the object in { equals: ... } if it is meant literally";

/** What is wrong with a value of `args`: a literal, a matcher, or a literal with matchers inside. */
export function matcherFaults(value: Json, path: Path): Fault[] {
  if (Array.isArray(value)) return value.flatMap((item, i) => matcherFaults(item, [...path, i]));
  if (!isJsonObject(value)) return [];
  const keys = Object.keys(value);
  const known = keys.filter((key) => keywords.has(key));
  if (known.length === 0) return literalFaults(value, path);
  const strange = keys.find((key) => !keywords.has(key));
  if (strange === undefined) return keywordFaults(value, path);
  const message = `\`${known[0]}\` is a matcher keyword and \`${strange}\` is not: one object cannot hold both`;
  return [{ path: [...path, strange], part: "key", message, hint: literalHint }];
}

function literalFaults(value: JsonObject, path: Path): Fault[] {
  const members = Object.entries(value);
  const [only] = members.length === 1 ? Object.keys(value) : [];
  const near = only === undefined ? undefined : nearest(only, keywords);
  const inside = members.flatMap(([key, member]) => matcherFaults(member, [...path, key]));
  if (only === undefined || near === undefined) return inside;
  const message = `\`${only}\` is not a matcher keyword, so this object is compared literally`;
  const hint = `did you mean "${near}"? If not, ${literalHint.replace(" if it is meant literally", "")}`;
  return [{ path: [...path, only], part: "key", severity: "warning", message, hint }, ...inside];
}

function keywordFaults(value: JsonObject, path: Path): Fault[] {
  const faults = explain(matcherSchema, value, path).map((fault) => ({ ...fault, hint: fault.hint ?? literalHint }));
  // `equals` is literal through and through; the others hold matchers.
  const inside = ["anyOf", "unordered", "optional", "contains"].flatMap((key) =>
    value[key] === undefined ? [] : matcherFaults(value[key], [...path, key]),
  );
  return [...faults, ...regexFaults(value.matches, [...path, "matches"]), ...inside];
}

/** A regular expression that RE2 cannot compile. */
export function regexFaults(pattern: Json | undefined, path: Path): Fault[] {
  if (typeof pattern !== "string") return [];
  try {
    RE2JS.compile(pattern);
    return [];
  } catch (error) {
    const hint = "RE2 syntax: no look-around and no back-references; in YAML put it in single quotes";
    return [{ path, message: `\`matches\` is not a regular expression: ${messageOf(error)}`, hint }];
  }
}
