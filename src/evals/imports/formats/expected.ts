import { isJsonObject, type Json, type JsonObject } from "../../types/json.ts";
import { bareKeywords, readMatcher } from "../../types/matcher.ts";

/** A literal value as an expected one: what would be read as a matcher is marked as an object. */
function toLiteral(value: Json): Json {
  if (Array.isArray(value)) return value.map(toLiteral);
  if (!isJsonObject(value)) return value;
  return toObject(Object.fromEntries(Object.entries(value).map(([key, member]) => [key, toLiteral(member)])));
}

/** An object whose members are expected values already. */
export function toObject(members: JsonObject): JsonObject {
  const keys = Object.keys(members);
  const looksAlike =
    keys.some((key) => key.startsWith("$") || bareKeywords.has(key)) || readMatcher(members).kind !== "literal";
  return looksAlike ? { $object: members } : members;
}

/** Arguments that are expected literally. */
export function toLiteralArgs(args: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [name, toLiteral(value)]));
}
