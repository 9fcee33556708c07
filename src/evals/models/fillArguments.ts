import { getProperty, listProperties, listRequired } from "../jsonSchema/values.ts";
import { isStopWord, words } from "../search/keywords.ts";
import { isJsonObject, type Json, type JsonObject } from "../types/json.ts";
import type { Tool } from "../types/tool.ts";
import { type Literal, type LiteralKind, literalsOf } from "./literals.ts";

type Asked = Pick<Tool, "name" | "description" | "inputSchema">;

/** What the query offers: literals not yet given to a parameter, and its text. */
type Evidence = { query: string; asked: ReadonlySet<string>; unused: Literal[] };

/**
 * Arguments for a tool, read off the query by the tool's input schema. Only what the query shows is filled in: quoted
 * strings, URLs, addresses, dates, paths and numbers in the order of appearance, values of an enum that occur in it, and
 * booleans whose name does. A parameter that is not required and has no such evidence is left to its default; one that
 * is required and has none is left out too, except that a single required text gets what the query says otherwise.
 * A value is as it stands in the query; the schema's bounds and patterns are not looked at.
 */
export function fillArguments({ name: toolName, description, inputSchema }: Asked, query: string): JsonObject {
  const { literals } = literalsOf(query);
  const evidence = { query, asked: new Set(words(query)), unused: literals };
  const filled = fillObject(inputSchema, evidence);
  const missing = listRequired(inputSchema).filter((name) => !Object.hasOwn(filled, name));
  const [text] = missing;
  if (missing.length === 1 && text !== undefined && isFreeText(readProperty(inputSchema, text))) {
    const said = remainingText(query, new Set(words(`${toolName} ${description ?? ""} ${namesIn(inputSchema)}`)));
    if (said !== "") filled[text] = said;
  }
  return filled;
}

/** Required parameters choose first, then the others; among them in the order of the schema. */
function fillObject(schema: JsonObject, evidence: Evidence): JsonObject {
  const required = new Set(listRequired(schema));
  const names = listProperties(schema).map(([name]) => name);
  const filled: JsonObject = {};
  for (const name of [...names.filter((n) => required.has(n)), ...names.filter((n) => !required.has(n))]) {
    const value = valueFor(name, readProperty(schema, name), required.has(name), evidence);
    if (value !== undefined) filled[name] = value;
  }
  return filled;
}

function valueFor(name: string, schema: JsonObject, required: boolean, evidence: Evidence): Json | undefined {
  if (Array.isArray(schema.enum)) return enumValues(schema.enum, evidence.query)[0];
  // A value of no particular kind is evidence for an optional parameter only if the query also names the parameter.
  const named = words(name).some((word) => evidence.asked.has(word));
  switch (typeOf(schema)) {
    case "integer":
    case "number":
      return required || named ? takeNumber(evidence, typeOf(schema) === "integer") : undefined;
    case "boolean":
      return booleanFor(name, evidence);
    case "array":
      return arrayFor(name, schema, required || named, evidence);
    case "object": {
      const inner = fillObject(schema, evidence);
      return required || Object.keys(inner).length > 0 ? inner : undefined;
    }
    default:
      return take(evidence, kindsFor(name, schema, required || named))?.text;
  }
}

/** Which literals a text parameter takes, by its format, name and description; the surest kind first. */
function kindsFor(name: string, schema: JsonObject, sure: boolean): LiteralKind[] {
  const kind =
    kindIn(`${name} ${String(schema.format ?? "")}`, kindWords) ?? kindIn(String(schema.description), rareKinds);
  return [...(kind ? [kind] : []), ...(sure ? (["quoted"] as const) : [])];
}

type KindWords = readonly (readonly [LiteralKind, ReadonlySet<string>])[];
const rareKinds: KindWords = [
  ["url", new Set(words("url uri link href"))],
  ["email", new Set(words("email mail"))],
];
/** In a description, "date" and "file" seldom tell that the value is one; in a name they do. */
const kindWords: KindWords = [
  ...rareKinds,
  ["date", new Set(words("date day since until"))],
  ["path", new Set(words("path file filename dir directory folder source destination"))],
];

function kindIn(text: string, kinds: KindWords): LiteralKind | undefined {
  const found = words(text);
  return kinds.find(([, hints]) => found.some((word) => hints.has(word)))?.[0];
}

function arrayFor(name: string, schema: JsonObject, sure: boolean, evidence: Evidence): Json[] | undefined {
  const items = isJsonObject(schema.items) ? schema.items : {};
  if (Array.isArray(items.enum)) return nonEmpty(enumValues(items.enum, evidence.query));
  const values: Json[] = [];
  for (;;) {
    // A plural names the kind of its items: paths, urls, emails.
    const value = sure ? valueFor(name, items, true, evidence) : undefined;
    if (value === undefined || isJsonObject(value) || typeof value === "boolean") return nonEmpty(values);
    values.push(value);
  }
}

function nonEmpty(values: readonly Json[]): Json[] | undefined {
  return values.length > 0 ? [...values] : undefined;
}

/** The enum's values that occur in the query as words, in the order of appearance. */
function enumValues(values: readonly Json[], query: string): Json[] {
  const text = ` ${spaced(query)} `;
  return values
    .map((value) => ({ value, at: text.indexOf(` ${spaced(String(value))} `) }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at)
    .map(({ value }) => value);
}

function spaced(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
}

const negation = /\b(?:no|not|without|don't|dont|never|disable[sd]?|exclud\w+|skip\w*|off)\b[^.,;]*$/i;

/** True when the query names the parameter (all words of it but `include`, `is` and the like), false after a "no". */
function booleanFor(name: string, { query, asked }: Evidence): boolean | undefined {
  const named = words(name.replace(/^(?:is|has|include|enable|with|use|should)(?=[_A-Z-])/i, ""));
  const [first] = named;
  if (first === undefined || !named.every((word) => asked.has(word))) return undefined;
  const at = query.toLowerCase().indexOf(first);
  return !negation.test(at < 0 ? query : query.slice(0, at));
}

function take(evidence: Evidence, kinds: readonly LiteralKind[]): Literal | undefined {
  for (const kind of kinds) {
    const at = evidence.unused.findIndex((literal) => literal.kind === kind);
    if (at >= 0) return evidence.unused.splice(at, 1)[0];
  }
  return undefined;
}

function takeNumber({ unused }: Evidence, whole: boolean): number | undefined {
  const at = unused.findIndex(({ kind, text }) => kind === "number" && (!whole || Number.isInteger(Number(text))));
  const [number] = at >= 0 ? unused.splice(at, 1) : [];
  return number && Number(number.text);
}

/**
 * What a query says beside asking for the tool: what follows a colon, or else the query from its first to its last word
 * that is neither the tool's (its name, description, parameters, enum values) nor a stop word; the words between stay.
 */
function remainingText(query: string, known: ReadonlySet<string>): string {
  const [, afterColon] = /:\s+(\S.*)$/s.exec(query) ?? [];
  if (afterColon !== undefined) return afterColon.trim();
  const parts = query.split(/\s+/).filter((part) => part !== "");
  const isOwn = (part: string) => !isStopWord(part) && words(part).some((word) => !known.has(word));
  const from = parts.findIndex(isOwn);
  const to = parts.findLastIndex(isOwn);
  // A query of the tool's words alone: what stands after its verb.
  const kept = from < 0 ? parts.slice(1) : parts.slice(from, to + 1);
  return kept.join(" ").replace(/[?!.,;]+$/, "");
}

/** The names of an object's parameters, and the values that they can choose from. */
function namesIn(schema: JsonObject): string {
  return listProperties(schema)
    .map(([key, value]) => (isJsonObject(value) && value.enum ? `${key} ${value.enum}` : key))
    .join(" ");
}

function isFreeText(schema: JsonObject): boolean {
  return typeOf(schema) === "string" && !Array.isArray(schema.enum);
}

/** The schema's type, or the first that is not null of several (a list of types, anyOf, oneOf). */
function typeOf(schema: JsonObject): string {
  if (typeof schema.type === "string") return schema.type;
  if (Array.isArray(schema.type)) return String(schema.type.find((type) => type !== "null") ?? "string");
  for (const branches of [schema.anyOf, schema.oneOf]) {
    const types = Array.isArray(branches) ? branches.filter(isJsonObject).map(typeOf) : [];
    const type = types.find((candidate) => candidate !== "null");
    if (type) return type;
  }
  return isJsonObject(schema.properties) ? "object" : "string";
}

function readProperty(schema: JsonObject, name: string): JsonObject {
  const property = getProperty(schema, name);
  return isJsonObject(property) ? property : {};
}
