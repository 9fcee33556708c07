import { usageError } from "../../../base/types/errors.ts";
import { getAtPath, isJsonObject, type Json, type JsonObject, type Path } from "../../../base/types/json.ts";
import { matcherSchema } from "../../../base/types/matcher.ts";
import type { ParsedFile } from "../../parsing/json.ts";
import { parseText } from "../../parsing/read.ts";
import type { Loss, SourceFile } from "./imported.ts";

/** Parses a YAML or JSON file of another tool. Throws EvalsError with the place. */
export function parseData({ text, file }: SourceFile): Promise<ParsedFile> {
  return parseText(text, file, { lenient: true });
}

/** The objects of the list at a path, each with its path. Throws EvalsError with the place of any other value. */
export function listObjects(parsed: ParsedFile, path: Path, what: string): { path: Path; entry: JsonObject }[] {
  const value = getAtPath(parsed.value, path);
  if (!Array.isArray(value)) throw malformed(parsed, path, `${what} must be a list.`);
  return value.map((entry, index) => {
    const at = [...path, index];
    if (!isJsonObject(entry)) throw malformed(parsed, at, `An entry of ${what} is not an object.`);
    return { path: at, entry };
  });
}

export function malformed(parsed: ParsedFile, path: Path, message: string) {
  return usageError(message, "Correct the file, or name its format with --from.", parsed.location(path));
}

export const asText = (value: Json | undefined): string | undefined =>
  typeof value === "string" && value.trim() !== "" ? value : undefined;

/** A text, or the texts of a list. Other entries are named in `losses`, as entries of `what`. */
export function readTexts(value: Json | undefined, what: string, losses: Loss[]): string[] {
  const all = ([value ?? []].flat() as Json[]).filter((one) => typeof one !== "string" || one.trim() !== "");
  for (const one of all.filter((other) => typeof other !== "string"))
    losses.push({ what: `an entry of "${what}" that is not text`, detail: JSON.stringify(one) });
  return all.filter((one) => typeof one === "string");
}

export const asObject = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : {});

/** Writes arguments that are expected literally: an object that would be read as a matcher is wrapped in `$object`. */
export function toLiteralArgs(args: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [name, toLiteral(value)]));
}

export function toLiteral(value: Json): Json {
  if (Array.isArray(value)) return value.map(toLiteral);
  return isJsonObject(value) ? toObject(toLiteralArgs(value)) : value;
}

/** Wraps an object in `$object` if it would be read as a matcher, or be taken for one without `$`. Its members are already expected values. */
export function toObject(members: JsonObject): JsonObject {
  const isAmbiguous =
    Object.keys(members).some((key) => key.startsWith("$")) || matcherSchema.safeParse(members).success;
  return isAmbiguous ? { $object: members } : members;
}

/** Reports the keys of an entry that an import does not read. */
export function listOtherKeys(entry: JsonObject, known: readonly string[]): { what: string }[] {
  return Object.keys(entry)
    .filter((key) => !known.includes(key) && entry[key] !== null)
    .map((key) => ({ what: `the key "${key}"` }));
}
