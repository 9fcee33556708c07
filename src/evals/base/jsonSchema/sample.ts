import { isJsonObject, type Json, type JsonObject } from "../types/json.ts";
import { getNumber, getSingleType, listProperties, listRequired } from "./values.ts";

/** Chooses one of `n` options, by its index. */
export type Choose = (n: number) => number;

/** Always chooses the first option, for reproducible values. */
export const chooseFirst: Choose = () => 0;

/** Plausible arguments. `unfilled`: required parameters for which no plausible value can be made up. */
export type SampledArguments = { args: JsonObject; unfilled: string[] };

/**
 * Makes up plausible arguments for a tool: all required ones, and the optional ones that `includes` picks. They match
 * the types and enums of the schema; callers must check other keywords (patterns, lengths).
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

/** Values of string parameters, by a word in the name. */
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

/** A value for a parameter, from its schema or else by its name; undefined for objects and lists of objects. */
function sampleValue(name: string, schema: JsonObject, choose: Choose): Json | undefined {
  const given = [schema.const, schema.default, ...pick(schema.examples, choose), ...pick(schema.enum, choose)].find(
    isSimple,
  );
  if (given !== undefined) return given;
  switch (getSingleType(schema)) {
    case "string": {
      const described = typeof schema.description === "string" ? readExample(schema.description) : undefined;
      if (described !== undefined) return described;
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

/** The first example in a description, such as `EUR` in "Currency (e.g. 'EUR', 'USD')", or a date in the form that it names. */
function readExample(description: string): string | undefined {
  const example =
    /\b(?:e\.g\.?|for example|such as)[,:]? +(?:"([^"\n]{1,60})"|'([^'\n]{1,60})'|`([^`\n]{1,60})`|(?!(?:an?|the|this|that)\b)([\w./:@+-]{0,59}\w))/i;
  const found = example
    .exec(description)
    ?.slice(1)
    .find((one) => one !== undefined);
  return found ?? /\bYYYY-MM(?:-DD)?\b/.exec(description)?.[0].replace("YYYY-MM", "2026-01").replace("DD", "15");
}

const pick = (list: Json | undefined, choose: Choose) =>
  Array.isArray(list) && list.length > 0 ? [list[choose(list.length)]] : [];

function isSimple(value: Json | undefined): value is string | number | boolean {
  if (typeof value === "string") return value !== "" && value.length <= 60;
  return typeof value === "number" || typeof value === "boolean";
}
