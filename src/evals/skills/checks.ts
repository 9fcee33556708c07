import { isJsonObject, type Json, type JsonObject } from "../types/json.ts";
import type { Complaints } from "./complaints.ts";
import type { LocatedJson } from "./json.ts";
import { unreadField } from "./shapes.ts";

/** The fields that hold what an answer must do. All that an entry has are read, in this order. */
export const checkKeys = ["expected_behavior", "assertions", "expectations", "checks"] as const;

/** Where the text of a check given as an object is looked for. */
const textKeys = ["text", "description", "criterion", "value", "name"] as const;
const command = /^(?:command|cmd|script|run|shell)$/;
const readKeys = new Set<string>([...textKeys, "id"]);

/**
 * The checks of an entry as sentences for a judge, equal ones once; when it has none, its `expected_output` is one. None is
 * dropped in silence: what cannot be read as text is an error, or counted where it is a check of another kind.
 */
export function checksOf(entry: JsonObject, located: LocatedJson, complaints: Complaints): string[] {
  const given = checkKeys.flatMap((key) => sentences(entry, key, located, complaints));
  return [...new Set(given.length > 0 ? given : sentences(entry, "expected_output", located, complaints))];
}

function sentences(entry: JsonObject, key: string, located: LocatedJson, complaints: Complaints): string[] {
  const given = Object.hasOwn(entry, key) ? entry[key] : undefined;
  if (given === undefined || given === null || given === "") return [];
  if (!Array.isArray(given)) return sentence(given, key, located.place(entry, key), located, complaints);
  return given.flatMap((check, at) => sentence(check, key, located.place(given, at), located, complaints));
}

function sentence(
  check: Json,
  field: string,
  place: ReturnType<LocatedJson["place"]>,
  located: LocatedJson,
  complaints: Complaints,
): string[] {
  if (typeof check === "string" && check.trim() !== "") return [check];
  if (!isJsonObject(check)) {
    complaints.error(`a check in \`${field}\` is no text`, "Write it as a sentence that is not empty.", place);
    return [];
  }
  const text = textKeys.map((key) => check[key]).find((one) => typeof one === "string" && one.trim() !== "");
  const others = Object.keys(check).filter((key) => !readKeys.has(key));
  if (typeof text === "string") {
    for (const key of others) unreadField(`${field}[].${key}`, located.place(check, key), complaints, adviceOn(key));
    return [text];
  }
  complaints.count(`unreadable ${field}`, place, (times) => ({
    message: `checks in \`${field}\` without a text are not graded: ${times}, the first has ${quoted(others)}`,
    hint: `${commands(others)}Say what each wants in its \`text\`; known are ${quoted(textKeys)}.`,
  }));
  return [];
}

function quoted(keys: readonly string[]): string {
  return keys.length === 0 ? "nothing" : keys.map((key) => `\`${key}\``).join(", ");
}

function commands(keys: readonly string[]): string {
  return keys.some((key) => command.test(key)) ? "A command in an eval file is never run. " : "";
}

function adviceOn(key: string): string {
  return `${commands([key])}The text of the check is judged, and nothing else of it.`;
}
