import type { Scorer, SearchDocument } from "./document.ts";
import { buildWordIndex } from "./wordIndex.ts";

/** What a word of the search text adds to the score of a document: by where the document has it. */
const weights = { namePart: 6, insideName: 3, hint: 2, description: 1 } as const;

/**
 * Literal keywords, in the shape of Claude Code's ToolSearch. The text is split at white space, and each word is looked up
 * as it is written, without regard to case: no inflections, no stop words. A name is compared by its parts (split at `_`;
 * the prefix `mcp__` is none), hint and description by their whole words. Parameters are not searched.
 *
 * Three other forms: `select:a,b` finds the tools of these names, a text that is a name finds that tool, and of a text with
 * `+word` only tools that contain each such word are found.
 */
export function buildKeywordScorer(documents: readonly SearchDocument[]): Scorer {
  const names = documents.map(({ name }) => name.toLowerCase());
  const scoreWord = buildWordScorer(documents);
  return (text) => {
    const lower = text.toLowerCase().trim();
    const named = lower.startsWith("select:") ? lower.slice("select:".length).split(",") : [lower];
    const wanted = new Set(named.map((name) => name.trim()));
    const exact = names.map((name) => (wanted.has(name) ? 1 : 0));
    if (lower.startsWith("select:") || exact.includes(1)) return exact;
    const scores = new Float64Array(documents.length);
    const excluded = new Set<number>();
    for (const word of lower.split(/\s+/).filter((one) => one !== "" && one !== "+")) {
      const isRequired = word.startsWith("+");
      const found = scoreWord(isRequired ? word.slice(1) : word);
      for (const [at, score] of found) scores[at] = (scores[at] ?? 0) + score;
      if (isRequired) for (const at of documents.keys()) if (!found.has(at)) excluded.add(at);
    }
    for (const at of excluded) scores[at] = 0;
    return scores;
  };
}

/** What one lower-cased word adds to the score of each document that has it, by the index of the document. */
function buildWordScorer(documents: readonly SearchDocument[]): (word: string) => ReadonlyMap<number, number> {
  const parts = documents.map(({ name }) =>
    name
      .toLowerCase()
      .replace(/^mcp__/, "")
      .split(/_+/),
  );
  const names = buildWordIndex(parts);
  const texts = [
    { find: buildTextFinder(documents.map(({ hint = "" }) => hint)), weight: weights.hint },
    { find: buildTextFinder(documents.map(({ description }) => description)), weight: weights.description },
  ];
  return (word) => {
    const scores = new Map<number, number>();
    const add = (at: number, weight: number) => scores.set(at, (scores.get(at) ?? 0) + weight);
    for (const at of names.findPiece(word)) add(at, parts[at]?.includes(word) ? weights.namePart : weights.insideName);
    for (const { find, weight } of texts) for (const at of find(word)) add(at, weight);
    return scores;
  };
}

const wordCharacters = /^[\p{L}\p{N}_]+$/u;

/** Finds the texts that contain a word with no letter, digit or `_` next to it. The word may have other characters in it. */
function buildTextFinder(texts: readonly string[]): (word: string) => Iterable<number> {
  const lower = texts.map((text) => text.toLowerCase());
  const index = buildWordIndex(lower.map((text) => text.split(/[^\p{L}\p{N}_]+/u)));
  return (word) => {
    if (wordCharacters.test(word)) return index.findWord(word);
    return lower.flatMap((text, at) => (hasWord(text, word) ? [at] : []));
  };
}

function hasWord(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    const [before = "", after = ""] = [text[at - 1], text[at + word.length]];
    if (!wordCharacters.test(before) && !wordCharacters.test(after)) return true;
  }
  return false;
}

/** Tells of words whether any of these documents has them: in a part of its name, or in its hint or description. */
export function buildKeywordFinder(documents: readonly SearchDocument[]): (word: string) => boolean {
  const scoreWord = buildWordScorer(documents);
  return (word) => scoreWord(word.toLowerCase()).size > 0;
}
