import {
  getProperty,
  getSingleType,
  listProperties,
  listRequired,
  withoutNull,
} from "../../base/jsonSchema/keywords.ts";
import { listDocumentWords } from "../../base/search/bm25.ts";
import {
  type SearchableTool,
  type SearchDocument,
  splitWords,
  stemWords,
  toSearchDocument,
} from "../../base/search/document.ts";
import { buildRanker, type Ranker } from "../../base/search/rankers.ts";
import { isJsonObject, type Json, type JsonObject } from "../../base/types/json.ts";
import { type AskedModel, judgedByTools, lexicalId, type ModelRequest, noUsage } from "../../base/types/model.ts";
import type { Tool } from "../../base/types/tool.ts";
import type { Turn } from "../../base/types/trial.ts";
import { cancelled } from "./remote.ts";
import { cacheByToolset } from "./wireNames.ts";

/**
 * The minimum share of the query's words that a tool must contain to be called.
 *
 * A bound on BM25's score cannot detect that no tool fits: its idf grows with the number of tools (one tool: ln(1 +
 * 0.5/1.5) = 0.29 for every word; a word of one tool in fifty: 3.5), so the same match would be called in one list and
 * not in another. The share of words does not depend on the list. With a third, "What is the weather in Oslo?" (two
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
 * loaded ones fits, it first searches for the words of the query. The reply depends on the request only, not on the
 * order of tools.
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
      const rank = () => getRanker(request.toolset, () => buildRanker("bm25", listCandidates(request)));
      const calls = pickCalls(request, rank);
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
  if (!loader || results.length > 0) return [];
  // In the form that the ranker accepts.
  const words = [...new Set(splitWords(query).map(({ text }) => text))];
  const search = loader.ranker === "regex" ? `(?i)${words.join("|")}` : words.join(" ");
  return [{ id, tool: loader.tool, arguments: { query: search } }];
}

/** What is searched for a request, here and by `evals search`: its words, and those implied by its literal values. */
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
    ...tools
      .filter(({ name }) => !loaders.has(name))
      .map((tool) => toCandidate(tool, (query) => ({ tool: tool.name, arguments: fillArguments(tool, query) }))),
    ...catalog.map(({ load, ...skill }) => toCandidate(skill, () => load)),
  ];
}

function toCandidate(tool: SearchableTool, call: Candidate["call"]): Candidate {
  const document = toSearchDocument(tool);
  const [nameWords, words] = [new Set(stemWords(document.name)), new Set(listDocumentWords(document))];
  return { ...document, nameWords, words, call };
}

/** The names of parameters whose values are of a kind. */
const kindNames: readonly (readonly [LiteralKind, RegExp])[] = [
  ["url", /ur[il]|link|href/i],
  ["email", /e-?mail/i],
  ["date", /date|day|since|until/i],
  ["path", /path|file|dir|folder|source|destination/i],
];

/**
 * The arguments that a query states: values of enums, numbers, quoted texts, URLs, addresses, dates and paths, in order
 * of appearance. An optional parameter has one only if the query names it or a value of its enum; a single required
 * text without one gets what follows a colon, or the whole query. They are neither judged nor executed.
 */
export function fillArguments({ inputSchema }: Pick<Tool, "inputSchema">, query: string): JsonObject {
  const { literals } = extractLiterals(query);
  const take = (wanted: LiteralKind, isWhole = false): string | undefined => {
    const at = literals.findIndex(({ kind, text }) => kind === wanted && (!isWhole || Number.isInteger(Number(text))));
    return at < 0 ? undefined : literals.splice(at, 1)[0]?.text;
  };
  const required = new Set(listRequired(inputSchema));
  const asked = ` ${spaced(query)} `;
  const isAsked = (value: Json) => asked.includes(` ${spaced(String(value))} `);
  const findValue = (name: string, given: Json): Json | undefined => {
    const schema = isJsonObject(given) ? withoutNull(given) : {};
    if (Array.isArray(schema.enum)) return schema.enum.find(isAsked);
    if (!required.has(name) && !isAsked(name)) return undefined;
    const type = getSingleType(schema) ?? "string";
    if (type === "array") {
      const { items = {} } = schema;
      const choices = isJsonObject(items) ? items.enum : undefined;
      const values = Array.isArray(choices) ? choices.filter(isAsked) : [];
      const findNext = () => (choices ? undefined : findValue(name, items));
      for (let value = findNext(); value !== undefined; value = findNext()) values.push(value);
      return values.length > 0 ? values : undefined;
    }
    const number = type === "number" || type === "integer" ? take("number", type === "integer") : undefined;
    if (number !== undefined) return Number(number);
    if (type !== "string") return undefined;
    const [kind] = kindNames.find(([, names]) => names.test(`${name} ${schema.format ?? ""}`)) ?? [];
    return (kind && take(kind)) ?? take("quoted");
  };
  const filled: JsonObject = {};
  for (const [name, schema] of listProperties(inputSchema)) {
    const value = findValue(name, schema);
    if (value !== undefined) filled[name] = value;
  }
  const [text = "", ...others] = [...required].filter((name) => !Object.hasOwn(filled, name));
  const schema = others.length === 0 ? getProperty(inputSchema, text) : undefined;
  const isFreeText = isJsonObject(schema) && schema.type === "string" && !schema.enum;
  if (isFreeText && query !== "") filled[text] = /:\s+(\S.*)$/s.exec(query)?.[1] ?? query;
  return filled;
}

function spaced(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
}

/** The kinds of literal values in a query. */
export type LiteralKind = "quoted" | "url" | "email" | "date" | "path" | "number";

/** A literal value in the query. */
export type Literal = { kind: LiteralKind; text: string };

/** Each pattern is tried once per run of its characters, or limited in length: a query may be a pasted file. */
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
