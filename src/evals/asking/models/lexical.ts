import { getProperty, listProperties, listRequired } from "../../base/jsonSchema/keywords.ts";
import { listDocumentWords } from "../../base/search/bm25.ts";
import {
  isStopWord,
  type SearchableTool,
  type SearchDocument,
  splitWords,
  stemWords,
  toSearchDocument,
} from "../../base/search/document.ts";
import { buildRanker, type Ranker } from "../../base/search/rankers.ts";
import { isJsonObject, type Json, type JsonObject } from "../../base/types/json.ts";
import { type AskedModel, judgedByTools, lexicalId, type ModelRequest, noUsage } from "../../base/types/model.ts";
import type { OfferedTool, Tool } from "../../base/types/tool.ts";
import type { Turn } from "../../base/types/trial.ts";
import { cancelled } from "./remote.ts";
import { cacheByToolset } from "./wireNames.ts";

/**
 * The minimum share of the query's words that a tool must contain to be called.
 *
 * A bound on BM25's score cannot detect that no tool fits: its idf grows with the number of tools (one tool:
 * ln(1 + 0.5/1.5) = 0.29 for every word; a word of one tool in fifty: 3.5), so the same match would be called in one list
 * and not in another. The share of words does not depend on the list. With a third, "What is the weather in Oslo?" (two
 * words after stop words) matches a tool with one of them; of a sentence with four words, one match is chance.
 */
const leastShare = 1 / 3;

/** The maximum number of characters of a query that are read. It bounds the time for pasted files. */
const maxQuery = 10_000;

/**
 * Words implied by a literal value: a query with a path is about a file. They improve the ranking, but name the object
 * and not the action, so they do not count as words of the query: a bare path calls nothing.
 */
const wordsOfLiteral: Partial<Record<LiteralKind, string>> = {
  path: "file path",
  url: "url web page",
  email: "email",
  date: "date",
};

/** A tool, or a skill with the call that loads it, and the words by which it is found. */
type Candidate = SearchDocument & {
  nameWords: ReadonlySet<string>;
  words: ReadonlySet<string>;
  call(query: string): Pick<Turn["calls"][number], "tool" | "arguments">;
};

/**
 * The offline model: the BM25 ranking of tool search (`search/bm25.ts`) over tools and skills. The first turn calls the
 * best tool, loads the best skill or does nothing; the second ends. Where definitions have to be loaded and none of the
 * loaded ones fits, it first searches for the words of the query. The reply depends on the request only, not on the order
 * of tools.
 */
export function lexical(): AskedModel {
  const getRanker = cacheByToolset<Ranker<Candidate>>(64);
  return {
    id: lexicalId,
    aliases: ["lexical"],
    kind: "retrieval baseline",
    note: "keyword search, not a language model",
    settings: { search: "BM25 over name, description and parameter names", leastShare, ...judgedByTools },
    makesUpArguments: true,
    maxOutputTokens: 0,
    deterministic: true,
    cost: () => 0,
    ask: async (request, signal) => {
      if (signal.aborted) return cancelled;
      const startedAt = performance.now();
      const calls = pickCalls(request, () =>
        getRanker(request.toolset, () => buildRanker("bm25", listCandidates(request))),
      );
      const ms = performance.now() - startedAt;
      return { kind: "turn", turn: { text: "", calls, stop: calls.length > 0 ? "calls" : "done", usage: noUsage, ms } };
    },
  };
}

function pickCalls({ messages, turn, loader }: ModelRequest, getRanker: () => Ranker<Candidate>): Turn["calls"] {
  // Earlier results belong to messages that have been answered.
  const since = messages.slice(messages.findLastIndex(({ role }) => role === "user") + 1);
  const results = since.flatMap((message) => (message.role === "results" ? message.results : []));
  if (results.some(({ tool }) => tool !== loader?.tool)) return [];
  const last = messages.reduce((text, message) => (message.role === "user" ? message.content : text), "");
  const query = last.slice(0, maxQuery);
  const best = findBest(query, getRanker());
  const id = `lexical_${turn}`;
  if (best) return [{ id, ...best.call(query) }];
  return loader && results.length === 0
    ? [{ id, tool: loader.tool, arguments: writeSearch(query, loader.ranker) }]
    : [];
}

/** A search for the words of a query, in the form that the ranker accepts. */
function writeSearch(query: string, ranker: string): JsonObject {
  const words = [...new Set(splitWords(query).map(({ text }) => text))];
  return { query: ranker === "regex" ? `(?i)${words.join("|")}` : words.join(" ") };
}

/** What is searched for a request of a user, here and by `evals search`: its words, with those implied by its literal values. */
export function readRequest(request: string): { rest: string; implied: string; text: string } {
  const { literals, rest } = extractLiterals(request.slice(0, maxQuery));
  const implied = [...new Set(literals.map(({ kind }) => wordsOfLiteral[kind] ?? ""))].join(" ");
  return { rest, implied, text: `${rest} ${implied}` };
}

/** The best candidate that shares enough words with the query. */
function findBest(query: string, rank: Ranker<Candidate>): Candidate | undefined {
  const { rest, implied, text } = readRequest(query);
  const asked = new Set(stemWords(rest));
  const result = rank(text, Number.POSITIVE_INFINITY);
  if (result.kind === "refused") return undefined;
  const searched = new Set([...asked, ...stemWords(implied)]);
  return result.ranked.find(({ document }) => isEnough(document, searched, asked))?.document;
}

/**
 * Whether a tool shares enough with the query: a third of the query's words, and either a word of its name or two words
 * of its text, because a single word somewhere in a long description is chance.
 */
function isEnough({ words, nameWords }: Candidate, searched: ReadonlySet<string>, asked: ReadonlySet<string>): boolean {
  const matched = [...searched].filter((word) => words.has(word));
  const share = asked.size > 0 ? matched.filter((word) => asked.has(word)).length / asked.size : 0;
  return share >= leastShare && (matched.length > 1 || matched.some((word) => nameWords.has(word)));
}

function listCandidates({ tools, catalog = [], loader }: ModelRequest): Candidate[] {
  const loaders = new Set([...catalog.map(({ load }) => load.tool), loader?.tool]);
  return [
    ...tools.filter(({ name }) => !loaders.has(name)).map((tool) => toCandidate(tool, toCall(tool))),
    ...catalog.map(({ load, ...skill }) => toCandidate(skill, () => load)),
  ];
}

function toCall(tool: OfferedTool): Candidate["call"] {
  return (query) => ({ tool: tool.name, arguments: fillArguments(tool, query) });
}

function toCandidate(tool: SearchableTool, call: Candidate["call"]): Candidate {
  const document = toSearchDocument(tool);
  const [nameWords, words] = [new Set(stemWords(document.name)), new Set(listDocumentWords(document))];
  return { ...document, nameWords, words, call };
}

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
