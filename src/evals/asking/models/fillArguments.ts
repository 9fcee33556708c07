import { getProperty, listProperties, listRequired } from "../../base/jsonSchema/keywords.ts";
import { isStopWord, stemWords } from "../../base/search/document.ts";
import { isJsonObject, type Json, type JsonObject } from "../../base/types/json.ts";
import type { Tool } from "../../base/types/tool.ts";

type ToolSchema = Pick<Tool, "name" | "description" | "inputSchema">;

/** The query, its words, and its literals that are not yet assigned to a parameter. */
type Evidence = { query: string; asked: ReadonlySet<string>; unused: Literal[] };

/**
 * Fills a tool's arguments from the query by the tool's input schema. Only what occurs in the query is used: quoted
 * strings, URLs, addresses, dates, paths and numbers in order of appearance, enum values, and booleans by their names.
 * Parameters without such evidence are left out, except that a single required text gets the rest of the query. Values
 * are copied verbatim; bounds and patterns of the schema are ignored.
 */
export function fillArguments({ name: toolName, description, inputSchema }: ToolSchema, query: string): JsonObject {
  const { literals } = extractLiterals(query);
  const evidence = { query, asked: new Set(stemWords(query)), unused: literals };
  const filled = fillObject(inputSchema, evidence);
  const missing = listRequired(inputSchema).filter((name) => !Object.hasOwn(filled, name));
  const [text] = missing;
  if (missing.length === 1 && text !== undefined && isFreeText(readProperty(inputSchema, text))) {
    const rest = extractRest(query, new Set(stemWords(`${toolName} ${description ?? ""} ${listNames(inputSchema)}`)));
    if (rest !== "") filled[text] = rest;
  }
  return filled;
}

/** Required parameters are filled first, then the others, each in the order of the schema. */
function fillObject(schema: JsonObject, evidence: Evidence): JsonObject {
  const required = new Set(listRequired(schema));
  const names = listProperties(schema).map(([name]) => name);
  const filled: JsonObject = {};
  for (const name of [...names.filter((n) => required.has(n)), ...names.filter((n) => !required.has(n))]) {
    const value = fillValue(name, readProperty(schema, name), required.has(name), evidence);
    if (value !== undefined) filled[name] = value;
  }
  return filled;
}

function fillValue(name: string, schema: JsonObject, required: boolean, evidence: Evidence): Json | undefined {
  if (Array.isArray(schema.enum)) return findEnumValues(schema.enum, evidence.query)[0];
  // A literal of no particular kind is evidence for an optional parameter only if the query also names the parameter.
  const isNamed = stemWords(name).some((word) => evidence.asked.has(word));
  switch (readType(schema)) {
    case "integer":
    case "number":
      return required || isNamed ? takeNumber(evidence, readType(schema) === "integer") : undefined;
    case "boolean":
      return fillBoolean(name, evidence);
    case "array":
      return fillArray(name, schema, required || isNamed, evidence);
    case "object": {
      const inner = fillObject(schema, evidence);
      return required || Object.keys(inner).length > 0 ? inner : undefined;
    }
    default:
      return take(evidence, listKinds(name, schema, required || isNamed))?.text;
  }
}

/** The kinds of literals a text parameter accepts, by its format, name and description; the most likely kind first. */
function listKinds(name: string, schema: JsonObject, isExpected: boolean): LiteralKind[] {
  const kind =
    findKind(`${name} ${String(schema.format ?? "")}`, kindWords) ?? findKind(String(schema.description), rareKinds);
  return [...(kind ? [kind] : []), ...(isExpected ? (["quoted"] as const) : [])];
}

type KindWords = readonly (readonly [LiteralKind, ReadonlySet<string>])[];
const rareKinds: KindWords = [
  ["url", new Set(stemWords("url uri link href"))],
  ["email", new Set(stemWords("email mail"))],
];
/** "date" and "file" indicate the kind of the value in a name, but rarely in a description. */
const kindWords: KindWords = [
  ...rareKinds,
  ["date", new Set(stemWords("date day since until"))],
  ["path", new Set(stemWords("path file filename dir directory folder source destination"))],
];

function findKind(text: string, kinds: KindWords): LiteralKind | undefined {
  const found = stemWords(text);
  return kinds.find(([, hints]) => found.some((word) => hints.has(word)))?.[0];
}

function fillArray(name: string, schema: JsonObject, isExpected: boolean, evidence: Evidence): Json[] | undefined {
  const items = isJsonObject(schema.items) ? schema.items : {};
  if (Array.isArray(items.enum)) return nonEmpty(findEnumValues(items.enum, evidence.query));
  const values: Json[] = [];
  for (;;) {
    // A plural name gives the kind of the items: paths, urls, emails.
    const value = isExpected ? fillValue(name, items, true, evidence) : undefined;
    if (value === undefined || isJsonObject(value) || typeof value === "boolean") return nonEmpty(values);
    values.push(value);
  }
}

function nonEmpty(values: readonly Json[]): Json[] | undefined {
  return values.length > 0 ? [...values] : undefined;
}

/** The enum values that occur in the query as words, in order of appearance. */
function findEnumValues(values: readonly Json[], query: string): Json[] {
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

const negation = /\b(?:no|not|without|don't|dont|never|disable[sd]?|exclud\w+|skip\w*|off)\b/i;

/** True when the query names the parameter (all words except `include`, `is` etc.), false after a negation in its clause. */
function fillBoolean(name: string, { query, asked }: Evidence): boolean | undefined {
  const named = stemWords(name.replace(/^(?:is|has|include|enable|with|use|should)(?=[_A-Z-])/i, ""));
  const [first] = named;
  if (first === undefined || !named.every((word) => asked.has(word))) return undefined;
  const at = query.toLowerCase().indexOf(first);
  const clause = (at < 0 ? query : query.slice(0, at)).split(/[.,;]/).at(-1) ?? "";
  return !negation.test(clause);
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
 * The content of a query without the request for the tool: what follows a colon, or else the query from its first to its
 * last word that is neither one of the tool's (name, description, parameters, enum values) nor a stop word.
 */
function extractRest(query: string, known: ReadonlySet<string>): string {
  const [, afterColon] = /:\s+(\S.*)$/s.exec(query) ?? [];
  if (afterColon !== undefined) return afterColon.trim();
  const parts = query.split(/\s+/).filter((part) => part !== "");
  const isContent = (part: string) => !isStopWord(part) && stemWords(part).some((word) => !known.has(word));
  const from = parts.findIndex(isContent);
  const to = parts.findLastIndex(isContent);
  // If all words of the query are the tool's, keep what follows the verb.
  const kept = from < 0 ? parts.slice(1) : parts.slice(from, to + 1);
  return kept.join(" ").replace(/(?<![?!.,;])[?!.,;]+$/, "");
}

/** The names of an object's parameters, and the values that they can choose from. */
function listNames(schema: JsonObject): string {
  return listProperties(schema)
    .map(([key, value]) => (isJsonObject(value) && value.enum ? `${key} ${value.enum}` : key))
    .join(" ");
}

function isFreeText(schema: JsonObject): boolean {
  return readType(schema) === "string" && !Array.isArray(schema.enum);
}

/** The type of a schema, or the first non-null one of several (a list of types, anyOf, oneOf). */
function readType(schema: JsonObject): string {
  if (typeof schema.type === "string") return schema.type;
  if (Array.isArray(schema.type)) return String(schema.type.find((type) => type !== "null") ?? "string");
  for (const branches of [schema.anyOf, schema.oneOf]) {
    const types = Array.isArray(branches) ? branches.filter(isJsonObject).map(readType) : [];
    const type = types.find((candidate) => candidate !== "null");
    if (type) return type;
  }
  return isJsonObject(schema.properties) ? "object" : "string";
}

function readProperty(schema: JsonObject, name: string): JsonObject {
  const property = getProperty(schema, name);
  return isJsonObject(property) ? property : {};
}

/** The kinds of literal values in a query. */
export type LiteralKind = "quoted" | "url" | "email" | "date" | "path" | "number";

/** A literal value in the query. */
export type Literal = { kind: LiteralKind; text: string };

/** Each pattern is tried once per run of its characters, or is limited in length, because a query may be a pasted file. */
const patterns: readonly [LiteralKind, RegExp][] = [
  ["quoted", /"([^"]+)"|“([^“”]+)”|`([^`]+)`|(?<![\p{L}\p{N}])'([^']+)'(?![\p{L}\p{N}])/u],
  ["url", /\b[a-z][a-z0-9+.-]{0,30}:\/\/[^\s"'<>]*[^\s"'<>.,;:!?)\]]/i],
  ["email", /[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+/],
  ["date", /\b\d{4}-\d{2}-\d{2}(?:T[\d:.]+Z?)?\b/],
  // With a slash, or a name with an extension; not "e.g.", "and/or" or "3.5".
  [
    "path",
    /(?<![\w.-])(?!and\/or\b|n\/a\b)(?:~|\.{1,2}|[\w.-]+)?\/[\w./-]*[\w/-]|(?<![\w.-])(?=[\w-]*[A-Za-z_])[\w-]+\.(?!g\b)[A-Za-z]\w{0,9}\b/,
  ],
  ["number", /(?<![\w.])-?\d+(?:\.\d+)?(?![\w]|\.\d)/],
];
const anyLiteral = new RegExp(patterns.map(([kind, { source }]) => `(?<${kind}>${source})`).join("|"), "giu");

/** The literals of a query in order of appearance, and the query without them. */
export function extractLiterals(query: string): { literals: Literal[]; rest: string } {
  const literals: Literal[] = [];
  const rest = query.replace(anyLiteral, (...match) => {
    const groups = match.at(-1) as Record<LiteralKind, string | undefined>;
    const found = patterns.find(([kind]) => groups[kind] !== undefined);
    const text = match[0] as string;
    if (found) literals.push({ kind: found[0], text: found[0] === "quoted" ? text.slice(1, -1) : text });
    return " ";
  });
  return { literals, rest };
}
