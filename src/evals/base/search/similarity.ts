import { getOrAdd, once, sumOf } from "../collections.ts";
import { listProperties } from "../jsonSchema/keywords.ts";
import { isJsonObject } from "../types/json.ts";
import { buildBm25Index } from "./bm25.ts";
import { type SearchableTool, splitWords, stemWords } from "./document.ts";

/** The text by which a tool is compared. */
export type ToolText = { name?: string; description?: string; parameters?: string };

/** How much of a tool is compared: far more than hosts show, but little enough to limit the time. */
const limits = { characters: 10_000, parameters: 500 } as const;

/** The text by which a tool is compared: unlike a search document, with its title and parameter descriptions. */
export function toToolText({ name, title, description, inputSchema }: SearchableTool & { title?: unknown }): ToolText {
  const parameters = listProperties(isJsonObject(inputSchema) ? inputSchema : {})
    .slice(0, limits.parameters)
    .map(([key, property]) => `${key} ${isJsonObject(property) ? shorten(property.description) : ""}`);
  return {
    name: shorten(name),
    description: shorten(`${shorten(title)} ${shorten(description)}`),
    parameters: shorten(parameters.join(" ")),
  };
}

function shorten(text: unknown): string {
  return typeof text === "string" ? text.slice(0, limits.characters) : "";
}

/** A name says what the tool does; parameters describe its input, which other tools share. */
const fieldWeights = { name: 3, description: 1, parameters: 0.5 } as const;

/** The weight of each word of a text, by stem. */
export type Weights = ReadonlyMap<string, number>;

/**
 * The minimum similarity at which two tools can be confused. Measured (bench/confusable.mjs at the tag studies-2026-11)
 * on recorded answers of two language models (Berkeley leaderboard, 250 lists, 634 pairs of the right tool and
 * another): 8 pairs were confused, 6 of them among the 173 pairs at or above this value, and in lists of more than two
 * tools always with the most similar tool. A confused pair is more similar than another in 81% of comparisons, but only
 * one of the 50 most similar pairs was confused. So similarity shows where to look, not what a model will do.
 */
export const leastConfusable = 0.3;

/** Two texts by their index in a list, and their similarity: 0 (no word in common) to 1. */
export type SimilarPair = { a: number; b: number; similarity: number };

/**
 * Shorter lists are padded to this length. In a list of two tools, BM25 gives a word that both contain a quarter of the
 * weight of a word that one contains; in one of this length, four fifths.
 */
const minListLength = 20;

/** Only the heaviest words of a text count, to limit the time for all pairs. No real tool was seen with more. */
const maxWords = 128;

/** Weighs the words of each text: the sum over its fields of the word's BM25 score times the weight of the field. */
export function weighWords(texts: readonly ToolText[]): Weights[] {
  const weights = texts.map(() => new Map<string, number>());
  const fillers = Array.from({ length: Math.max(0, minListLength - texts.length) }, () => []);
  for (const field of ["name", "description", "parameters"] as const) {
    const words = texts.map((text) => stemWords(text[field] ?? ""));
    const scoreWord = buildBm25Index([...words, ...fillers]);
    for (const word of new Set(words.flat()))
      for (const [at, score] of scoreWord(word))
        weights[at]?.set(word, (weights[at]?.get(word) ?? 0) + score * fieldWeights[field]);
  }
  return weights.map((all) => (all.size > maxWords ? new Map(heaviest(all).slice(0, maxWords)) : all));
}

/**
 * The similarity of two texts, from 0 to 1. The geometric mean of two shares: the score of each as a query in the
 * other, by that in itself.
 */
export function measureSimilarity(a: Weights, b: Weights): number {
  let [inB, inA] = [0, 0];
  for (const [word, weight] of a) {
    const other = b.get(word);
    if (other === undefined) continue;
    inB += other;
    inA += weight;
  }
  return meanShare(inB, sum(a), inA, sum(b));
}

/** Finds all pairs with a similarity of at least `least` (above 0), most similar first. */
export function findSimilarPairs(weights: readonly Weights[], least: number): SimilarPair[] {
  const own = weights.map(sum);
  const holders = new Map<string, { at: number; weight: number }[]>();
  const pairs: SimilarPair[] = [];
  for (const [b, words] of weights.entries()) {
    const [inB, inA] = [new Float64Array(b), new Float64Array(b)];
    for (const [word, weight] of words) {
      const known = getOrAdd(holders, word, () => []);
      for (const { at, weight: other } of known) {
        inB[at] = (inB[at] ?? 0) + weight;
        inA[at] = (inA[at] ?? 0) + other;
      }
      known.push({ at: b, weight });
    }
    for (let a = 0; a < b; a++) {
      const found = meanShare(inB[a] ?? 0, own[a] ?? 0, inA[a] ?? 0, own[b] ?? 0);
      if (found >= least) pairs.push({ a, b, similarity: found });
    }
  }
  return pairs.sort((one, other) => other.similarity - one.similarity || one.a - other.a || one.b - other.b);
}

/** The words that two texts share, starting with those that contribute most to their similarity. */
export function listSharedWords(a: Weights, b: Weights): string[] {
  const shared = [...a].flatMap(([word, weight]): [string, number][] => {
    const other = b.get(word);
    return other === undefined ? [] : [[word, weight + other]];
  });
  return heaviest(shared).map(([word]) => word);
}

/**
 * Lists at most `most` pairs of tools with a similarity (0 to 1) of at least `least`, most similar first, judged by the
 * words of their names, descriptions and parameters: with the shared words, heaviest first. The order of tools does
 * not matter; tools without a name are skipped.
 */
export function listConfusablePairs(tools: readonly SearchableTool[], { least = leastConfusable, most = 50 } = {}) {
  const { named, weights } = indexTools(tools);
  return findSimilarPairs(weights, least)
    .slice(0, most)
    .flatMap(({ a, b, similarity }) => {
      const [one, other, mine, theirs] = [named[a], named[b], weights[a], weights[b]];
      if (!one || !other || !mine || !theirs) return [];
      const spelled = new Map(splitWords(Object.values(one.text).join(" ")).map(({ text, stem }) => [stem, text]));
      const shared = listSharedWords(mine, theirs).map((stem) => spelled.get(stem) ?? stem);
      return [{ a: one.name, b: other.name, similarity, shared }];
    });
}

/** Lines of this many tools are notes on all of them (on input, output or limits), and make no two of them alike. */
const repeatedIn = 3;

/** The tools without the lines that several descriptions have in common, but always with their first. */
function dropRepeatedLines(tools: readonly SearchableTool[]): SearchableTool[] {
  const texts = tools.map(({ description }) => shorten(description).trim());
  const lines = texts.map((text) => text.split(/\s*\n\s*/));
  const holders = new Map<string, number>();
  for (const line of lines.flatMap((own) => [...new Set(own)])) holders.set(line, (holders.get(line) ?? 0) + 1);
  const isOwn = (line: string, at: number) => at === 0 || (holders.get(line) ?? 0) < repeatedIn;
  return tools.map((tool, at) => ({ ...tool, description: lines[at]?.filter(isOwn).join("\n") }));
}

/** Memoized, because indexing takes most of the time, and several callers need it. */
const indexTools = once((tools: readonly SearchableTool[]) => {
  const named = dropRepeatedLines(tools)
    .flatMap((tool) => (typeof tool.name === "string" ? [{ name: tool.name, text: toToolText(tool) }] : []))
    .map((one) => ({ ...one, key: JSON.stringify([one.name, one.text.description, one.text.parameters]) }))
    // Sorted, because floating-point sums depend on the order.
    .sort((one, other) => (one.key < other.key ? -1 : 1));
  return { named, weights: weighWords(named.map(({ text }) => text)) };
});

function heaviest(weights: Iterable<[string, number]>): [string, number][] {
  return [...weights].sort(([one, a], [other, b]) => b - a || (one < other ? -1 : 1));
}

function meanShare(inB: number, ownA: number, inA: number, ownB: number): number {
  if (inA === 0 || inB === 0) return 0;
  return Math.sqrt(Math.min(1, inB / ownA) * Math.min(1, inA / ownB));
}

const sum = (weights: Weights) => sumOf(weights.values(), (weight) => weight);
