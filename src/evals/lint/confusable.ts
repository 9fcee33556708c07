import { type IndexedTool, splitWords, toToolText } from "../search/keywords.ts";
import { findSimilarPairs, listSharedWords, weigh } from "../search/similarity.ts";
import { once } from "./once.ts";

/**
 * Two tools that a keyword search can hardly tell apart. `similarity` is 0 to 1 (see `retrieval/similarity.ts`), `shared`
 * the words that make it, the weightiest first, `at` the places of `a` and `b` in the list.
 */
export type ConfusablePair = {
  a: string;
  b: string;
  similarity: number;
  shared: readonly string[];
  at: readonly [number, number];
};

/**
 * Less alike pairs are no news. Measured (bench/confusable.mjs) on recorded answers of two language models (Berkeley leaderboard, 250 lists, 634
 * pairs of the right tool and another): 8 pairs were mixed up, 6 of them among the 171 at or above this, and where there
 * was more than one other tool it was the most alike one. A mixed-up pair is more alike than another in 81 % of cases;
 * yet of the 50 most alike pairs just one was mixed up. So it says where to look, and not what a model will do.
 */
const leastSimilarity = 0.3;

/**
 * The pairs of tools that a model can confuse, the most alike first: by the index that the lexical model searches, over
 * names, descriptions and parameters. At most `most` pairs of at least `least`. The order of tools does not count; tools
 * without a name are left out. Of very long texts only the beginning and the weightiest words count.
 */
export function confusablePairs(
  tools: readonly IndexedTool[],
  { least = leastSimilarity, most = 50 }: { least?: number; most?: number } = {},
): ConfusablePair[] {
  const { named, weights } = weighed(tools);
  const pairs: ConfusablePair[] = [];
  for (const { a, b, similarity } of findSimilarPairs(weights, least).slice(0, most)) {
    const [one, other, mine, theirs] = [named[a], named[b], weights[a], weights[b]];
    if (!one || !other || !mine || !theirs) continue;
    const spelled = new Map(splitWords(Object.values(one.text).join(" ")).map(({ text, stem }) => [stem, text]));
    const shared = listSharedWords(mine, theirs).map((stem) => spelled.get(stem) ?? stem);
    pairs.push({ a: one.name, b: other.name, similarity, shared, at: [one.at, other.at] });
  }
  return pairs;
}

/** To index a list takes longest, and both the rule and the ranking ask for it. */
const weighed = once((tools: readonly IndexedTool[]) => {
  const named = tools
    .flatMap((tool, at) =>
      typeof tool.name === "string" ? [{ at, name: tool.name, text: toToolText(tool.name, tool) }] : [],
    )
    // Sums of fractions depend on their order, so the list has one.
    .sort((one, other) => (textKey(one) < textKey(other) ? -1 : 1));
  return { named, weights: weigh(named.map(({ text }) => text)) };
});

function textKey({ name, text }: { name: string; text: { description?: string; parameters?: string } }): string {
  return JSON.stringify([name, text.description, text.parameters]);
}
