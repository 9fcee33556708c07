import { getOrAdd } from "../collections.ts";
import { type Scorer, type SearchDocument, stemWords } from "./document.ts";

/** The parameters of BM25: how fast repeats of a word stop counting, and how much a long text is discounted. */
export const bm25Parameters = { k1: 1.2, b: 0.75 } as const;

/**
 * Indexes texts, each given as its words with repeats. Returns a function that scores a word in each text that contains
 * it, by the index of the text. The score of a word in a text is
 *
 *   ln(1 + (N - n + 0.5) / (n + 0.5)) * f * (k1 + 1) / (f + k1 * (1 - b + b * length / mean length))
 *
 * for N texts, n of which contain the word, this one f times. Lengths are in words; the mean excludes texts without
 * words. Source: Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond (2009), 3.4. The `1 +`
 * inside the logarithm keeps the weight of frequent words above 0, as in Lucene.
 */
export function buildBm25Index(texts: readonly (readonly string[])[]): (stem: string) => ReadonlyMap<number, number> {
  const { k1, b } = bm25Parameters;
  const counts = new Map<string, Map<number, number>>();
  let words = 0;
  for (const [at, text] of texts.entries()) {
    words += text.length;
    for (const word of text) {
      const inTexts = getOrAdd(counts, word, () => new Map());
      inTexts.set(at, (inTexts.get(at) ?? 0) + 1);
    }
  }
  const mean = words / Math.max(1, texts.filter((text) => text.length > 0).length);
  const discounts = texts.map((text) => k1 * (1 - b + (b * text.length) / mean));
  return (stem) => {
    const inTexts = counts.get(stem) ?? new Map<number, number>();
    const rarity = Math.log(1 + (texts.length - inTexts.size + 0.5) / (inTexts.size + 0.5));
    const score = (f: number, at: number) => (rarity * f * (k1 + 1)) / (f + (discounts[at] ?? 0));
    return new Map([...inTexts].map(([at, f]) => [at, score(f, at)]));
  };
}

/**
 * BM25 over one text per document: name, hint, description and parameter names. Words are those of `stemWords`: split
 * at everything that is not a letter or digit and inside camelCase, lower-cased, without stop words, single letters and
 * English inflections. Each distinct word of the search text counts once.
 */
export function buildBm25Scorer(documents: readonly SearchDocument[]): Scorer {
  const scoreWord = buildBm25Index(documents.map(listDocumentWords));
  return (text) => {
    const scores = new Float64Array(documents.length);
    for (const word of new Set(stemWords(text)))
      for (const [at, score] of scoreWord(word)) scores[at] = (scores[at] ?? 0) + score;
    return scores;
  };
}

/** The words of a document that BM25 searches, with repeats. */
export function listDocumentWords({ name, description, hint = "", parameterNames }: SearchDocument): string[] {
  return stemWords(`${name} ${hint} ${description} ${parameterNames.join(" ")}`);
}
