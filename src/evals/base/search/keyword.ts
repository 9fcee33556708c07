import { getOrAdd } from "../collections.ts";
import type { Scorer, SearchDocument } from "./document.ts";

/**
 * What a word of the search text adds to the score of a document, by where the document contains it. The unit is a word
 * of the description: measured on Claude Code 2.1.330 by how many words of a description outweigh each.
 */
const weights = { wholeName: 12, namePart: 8, insideName: 5, hint: 2, description: 1 } as const;

/**
 * Literal keywords, as Claude Code's ToolSearch ranks them (bench/claudeCodeSearch.mjs at the tag studies-2026-11
 * compares the two). The text is split at white space, and each word is matched literally and case-insensitively,
 * without stop words or inflections. In a name it matches parts (split at `_`, including the server's name), in the
 * hint and the description whole words. A word adds the weight of its best match in the name, and the weights of hint
 * and description. Parameters are not searched.
 *
 * Other forms: `select:a,b` finds the tools with these names, with or without the prefix `mcp__<server>__`, in this
 * order. A text that starts with `mcp__` finds the tools whose names start with it. `+word` finds only tools that
 * contain the word.
 */
export function buildKeywordScorer(documents: readonly SearchDocument[]): Scorer {
  const names = documents.map(({ name }) => [name, withoutPrefix(name)]);
  const scoreWord = buildWordScorer(documents);
  return (text) => {
    const trimmed = text.trim();
    const [, selected] = /^select:(.*)$/s.exec(trimmed) ?? [];
    if (selected !== undefined) {
      const wanted = selected.split(",").map((name) => name.trim());
      return names.map((forms) => {
        const at = wanted.findIndex((name) => forms.includes(name));
        return at < 0 ? 0 : wanted.length - at;
      });
    }
    const lower = trimmed.toLowerCase();
    const isPrefix = /^mcp__./.test(lower);
    const prefixed = documents.map(({ name }) => (isPrefix && name.toLowerCase().startsWith(lower) ? 1 : 0));
    return prefixed.includes(1) ? prefixed : scoreWords(lower, documents.length, scoreWord);
  };
}

type WordScorer = (word: string) => ReadonlyMap<number, number>;

function scoreWords(text: string, count: number, scoreWord: WordScorer): Float64Array {
  const scores = new Float64Array(count);
  const excluded = new Set<number>();
  for (const word of text.split(/\s+/).filter((one) => one !== "" && one !== "+")) {
    const isRequired = word.startsWith("+");
    const found = scoreWord(isRequired ? word.slice(1) : word);
    for (const [at, score] of found) scores[at] = (scores[at] ?? 0) + score;
    if (isRequired) for (let at = 0; at < count; at++) if (!found.has(at)) excluded.add(at);
  }
  for (const at of excluded) scores[at] = 0;
  return scores;
}

const withoutPrefix = (name: string) => name.replace(/^mcp__.*?__/, "");

/** Creates a function that returns what a lower-cased word adds to the scores of documents, by index. */
function buildWordScorer(documents: readonly SearchDocument[]): WordScorer {
  const names = documents.map(({ name }) => name.toLowerCase());
  const parts = names.map((name) => name.replace(/^mcp__/, "").split(/_+/));
  const index = buildWordIndex(parts);
  const wholeNames = buildWordIndex(names.map((name) => [withoutPrefix(name)]));
  const texts = [
    { find: buildTextFinder(documents.map(({ hint = "" }) => hint)), weight: weights.hint },
    { find: buildTextFinder(documents.map(({ description }) => description)), weight: weights.description },
  ];
  return (word) => {
    const scores = new Map<number, number>();
    for (const at of index.findPiece(word))
      scores.set(at, parts[at]?.includes(word) ? weights.namePart : weights.insideName);
    for (const at of wholeNames.findWord(word)) scores.set(at, weights.wholeName);
    for (const { find, weight } of texts) for (const at of find(word)) scores.set(at, (scores.get(at) ?? 0) + weight);
    return scores;
  };
}

/**
 * Finds the texts that contain a word between two word boundaries like JavaScript's `\b`: between an ASCII letter,
 * digit or `_` and another character. So a word in another script is found only next to an ASCII letter.
 */
function buildTextFinder(texts: readonly string[]): (word: string) => Iterable<number> {
  const lower = texts.map((text) => text.toLowerCase());
  const index = buildWordIndex(lower.map((text) => text.split(/[^a-z0-9_]+/)));
  return (word) => {
    if (/^[a-z0-9_]+$/.test(word)) return index.findWord(word);
    return lower.flatMap((text, at) => (hasWord(text, word) ? [at] : []));
  };
}

function hasWord(text: string, word: string): boolean {
  for (let at = text.indexOf(word); word !== "" && at >= 0; at = text.indexOf(word, at + 1)) {
    const end = at + word.length;
    if (isLetter(text[at - 1]) !== isLetter(text[at]) && isLetter(text[end - 1]) !== isLetter(text[end])) return true;
  }
  return false;
}

const isLetter = (character = "") => /^[a-z0-9_]$/.test(character);

/** Creates a test for whether any of these documents has a word in a part of its name, hint or description. */
export function buildKeywordFinder(documents: readonly SearchDocument[]): (word: string) => boolean {
  const scoreWord = buildWordScorer(documents);
  return (word) => scoreWord(word.toLowerCase()).size > 0;
}

type WordIndex = {
  /** The indices of the texts that contain this word. */
  findWord(word: string): Iterable<number>;
  /** The indices of the texts with a word that contains this piece. */
  findPiece(piece: string): Iterable<number>;
};

/** Indexes texts, each given as its words. */
export function buildWordIndex(texts: readonly Iterable<string>[]): WordIndex {
  const holders = new Map<string, number[]>();
  for (const [at, words] of texts.entries())
    for (const word of new Set(words)) getOrAdd(holders, word, () => []).push(at);
  return {
    findWord: (word) => holders.get(word) ?? [],
    findPiece: (piece) => {
      const found = new Set<number>();
      for (const [word, at] of holders) if (word.includes(piece)) for (const one of at) found.add(one);
      return found;
    },
  };
}
