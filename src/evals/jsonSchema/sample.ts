import { isJsonObject, type Json, type JsonObject } from "../types/json.ts";
import { getNumber, getSingleType, listProperties, listRequired } from "./values.ts";

/** Chooses one of `n` possibilities, from 0. */
export type Choose = (n: number) => number;

/** The first of everything, for values that are always the same. */
export const chooseFirst: Choose = () => 0;

/** Arguments as a user could mean them. `unfilled`: the required ones for which no plausible value can be made up. */
export type SampledArguments = { args: JsonObject; unfilled: string[] };

/**
 * Plausible arguments for a tool: every required one, and of the others those that `includes` picks. They suit the types
 * and enumerations of the schema; other keywords (patterns, lengths) have to be checked.
 */
export function sampleArguments(
  schema: JsonObject,
  choose: Choose,
  includes: (name: string) => boolean = () => false,
): SampledArguments {
  const schemas = new Map(listProperties(schema));
  const required = new Set(listRequired(schema));
  const args: JsonObject = {};
  const unfilled: string[] = [];
  for (const name of [...required, ...[...schemas.keys()].filter((name) => !required.has(name) && includes(name))]) {
    const property = schemas.get(name);
    const value = sampleValue(name, isJsonObject(property) ? property : {}, choose);
    if (value !== undefined) args[name] = value;
    else if (required.has(name)) unfilled.push(name);
  }
  return { args, unfilled };
}

/** What a text parameter gets, by a word of its name. */
const texts: readonly (readonly [name: RegExp, values: readonly string[]])[] = [
  [/path|file/i, ["notes.txt", "report.md", "src/main.py"]],
  [/dir|folder/i, ["docs", "photos", "archive"]],
  [/ur[il]|link|website/i, ["https://example.com", "https://example.org/news"]],
  [/mail/i, ["ada@example.com", "grace@example.org"]],
  [/date|day/i, ["2026-01-15", "2026-03-02"]],
  [/time/i, ["09:30", "17:45"]],
  [/city|location|place/i, ["Oslo", "Lisbon", "Kyoto"]],
  [/query|search|keyword|term|topic/i, ["garden", "solar power", "invoice"]],
  [/(^|_)id$|Id$/, ["42", "1207"]],
  [/name|title/i, ["garden", "Atlas", "budget plan"]],
  [/./, ["hello", "good morning", "see you on Friday"]],
];

const numbers = [3, 7, 12] as const;

/** A value for a parameter, from its schema, else by its name; undefined for objects and lists of them. */
function sampleValue(name: string, schema: JsonObject, choose: Choose): Json | undefined {
  const given = [schema.const, schema.default, ...pick(schema.examples, choose), ...pick(schema.enum, choose)].find(
    isSimple,
  );
  if (given !== undefined) return given;
  switch (getSingleType(schema)) {
    case "string": {
      const values = texts.find(([pattern]) => pattern.test(name))?.[1] ?? [];
      return values[choose(values.length)];
    }
    case "integer":
    case "number": {
      const number = numbers[choose(numbers.length)] ?? numbers[0];
      const least = Math.max(getNumber(schema, "minimum") ?? number, number);
      return Math.min(getNumber(schema, "maximum") ?? least, least);
    }
    case "boolean":
      return true;
    case "array": {
      const item = isJsonObject(schema.items) ? sampleValue(name, schema.items, choose) : undefined;
      return item === undefined || Array.isArray(item) ? undefined : [item];
    }
    default:
      return undefined;
  }
}

const pick = (list: Json | undefined, choose: Choose) =>
  Array.isArray(list) && list.length > 0 ? [list[choose(list.length)]] : [];

function isSimple(value: Json | undefined): value is string | number | boolean {
  if (typeof value === "string") return value !== "" && value.length <= 60;
  return typeof value === "number" || typeof value === "boolean";
}
