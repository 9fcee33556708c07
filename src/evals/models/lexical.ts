import { buildToolIndex, type IndexedTool, stemWords, type ToolIndex, toToolText } from "../search/keywords.ts";
import { type AskedModel, type ModelRequest, noUsage } from "../types/model.ts";
import type { OfferedTool } from "../types/tool.ts";
import type { Turn } from "../types/trial.ts";
import { extractLiterals, fillArguments, type LiteralKind } from "./fillArguments.ts";
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

/** A tool, or a skill with the call that loads it. */
type Candidate = { text: IndexedTool; call(query: string): Pick<Turn["calls"][number], "tool" | "arguments"> };
type Index = { search: ToolIndex; candidates: ReadonlyMap<string, Candidate> };

/**
 * The offline model: keyword search (BM25) over names, descriptions and parameters of the tools, and over skills. The
 * first turn calls the best tool, loads the best skill or does nothing; the second ends. The reply depends on the request
 * only, not on the order of tools.
 */
export function lexical(): AskedModel {
  const getIndex = cacheByToolset<Index>(64);
  return {
    id: "lexical",
    kind: "retrieval baseline",
    note: "a retrieval baseline, not a language model: it shows what a host's keyword tool search would surface",
    settings: { search: "BM25 over name, description and parameters", leastShare },
    maxOutputTokens: 0,
    deterministic: true,
    cost: () => 0,
    ask: async (request, signal) => {
      if (signal.aborted) return cancelled;
      const startedAt = performance.now();
      const calls = pickCalls(request, () => getIndex(request.toolset, () => indexTools(request)));
      const ms = performance.now() - startedAt;
      return { kind: "turn", turn: { text: "", calls, stop: calls.length > 0 ? "calls" : "done", usage: noUsage, ms } };
    },
  };
}

function pickCalls({ messages, turn }: ModelRequest, index: () => Index): Turn["calls"] {
  if (messages.some(({ role }) => role === "results")) return [];
  const query = messages.reduce((last, message) => (message.role === "user" ? message.content : last), "");
  const { search, candidates } = index();
  const best = candidates.get(findBest(query, search) ?? "");
  return best ? [{ id: `lexical_${turn}`, ...best.call(query) }] : [];
}

/** The id of the best candidate that shares enough words with the query; ties are broken by name. */
function findBest(query: string, search: ToolIndex): string | undefined {
  const { literals, rest } = extractLiterals(query);
  const asked = new Set(stemWords(rest));
  const hints = stemWords([...new Set(literals.map(({ kind }) => wordsOfLiteral[kind] ?? ""))].join(" "));
  const all = [...new Set([...asked, ...hints])];
  const [best] = search
    .search(all.join(" "))
    .map((hit) => ({ id: String(hit.id), score: hit.score, words: hit.queryTerms, fields: Object.values(hit.match) }))
    .filter((hit) => isEnough(hit.words, hit.fields, asked))
    .sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1));
  return best?.id;
}

/**
 * Whether a tool shares enough with the query: a third of the query's words, and either a word of its name or two words
 * of its text, because a single word somewhere in a long description is chance.
 */
function isEnough(matched: readonly string[], fields: readonly string[][], asked: ReadonlySet<string>): boolean {
  const share = asked.size > 0 ? matched.filter((word) => asked.has(word)).length / asked.size : 0;
  return share >= leastShare && (fields.flat().includes("name") || matched.length > 1);
}

function indexTools({ tools, catalogue = [] }: ModelRequest): Index {
  const loaders = new Set(catalogue.map(({ load }) => load.tool));
  const entries = [
    ...tools.filter(({ name }) => !loaders.has(name)).map((tool) => [tool.name, toolCandidate(tool)] as const),
    ...catalogue.map(({ load, ...skill }) => [`skill ${skill.name}`, { text: skill, call: () => load }] as const),
  ];
  // Sorted, because the index sums mean lengths in the order of texts, and a floating-point sum depends on the order.
  const candidates = new Map<string, Candidate>(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
  return { search: buildToolIndex([...candidates].map(([id, { text }]) => toToolText(id, text))), candidates };
}

function toolCandidate(tool: OfferedTool): Candidate {
  return { text: tool, call: (query) => ({ tool: tool.name, arguments: fillArguments(tool, query) }) };
}
