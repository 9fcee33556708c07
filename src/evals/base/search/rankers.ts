import { byCodeUnit } from "../text/text.ts";
import { buildBm25Scorer } from "./bm25.ts";
import { type Scorer, type SearchDocument, shortenDocument } from "./document.ts";
import { buildKeywordScorer } from "./keyword.ts";
import { buildRegexScorer } from "./regex.ts";

const scorers = {
  keyword: buildKeywordScorer,
  bm25: buildBm25Scorer,
  regex: buildRegexScorer,
} satisfies Record<string, (documents: readonly SearchDocument[]) => Scorer>;

/** `keyword`: literal words, like Claude Code's ToolSearch; `bm25` and `regex`: the tool searches of APIs. */
export type RankerName = keyof typeof scorers;

export const rankerNames = Object.keys(scorers) as readonly RankerName[];

/** Increase a version when the results of the ranker change, so that records show which ranker was used. */
const versions: Readonly<Record<RankerName, number>> = { keyword: 1, bm25: 1, regex: 1 };

/** A ranker with its version, as recorded: `keyword 1`. */
export function nameRanker(name: RankerName): string {
  return `${name} ${versions[name]}`;
}

/** The ranker of a recorded name or an API's search (`tool_search_tool_bm25_20251119`); undefined for others. */
export function findRanker(recorded: string | undefined): RankerName | undefined {
  const words = recorded?.split(/[ _]/);
  return rankerNames.find((name) => words?.includes(name));
}

/** What was found, best first, or why the text was refused. Scores can only be compared within one search. */
type SearchResult<D> =
  | { kind: "found"; ranked: readonly { document: D; score: number }[] }
  | { kind: "refused"; reason: string };

/** Returns at most `limit` documents with a score above 0. Equal scores are sorted by name, not in the given order. */
export type Ranker<D> = (text: string, limit: number) => SearchResult<D>;

/** The number of characters of a search text that are read. A longer text is cut, not refused. */
const maxSearchText = 10_000;

/** Builds a ranker, which can be used any number of times and returns the objects that were passed in. */
export function buildRanker<D extends SearchDocument>(name: RankerName, documents: readonly D[]): Ranker<D> {
  const score = scorers[name](documents.map(shortenDocument));
  const byName = documents.map((document, at) => ({ document, at }));
  byName.sort((a, b) => compareNames(a.document.name, b.document.name));
  return (text, limit) => {
    const scores = score(text.slice(0, maxSearchText));
    if (typeof scores === "string") return { kind: "refused", reason: scores };
    // The sort is stable, so equal scores stay in the order of names.
    const ranked = byName
      .flatMap(({ document, at }) => ((scores[at] ?? 0) > 0 ? [{ document, score: scores[at] ?? 0 }] : []))
      .sort((a, b) => b.score - a.score)
      .slice(0, limit);
    return { kind: "found", ranked };
  };
}

/** Created for the first tie, because it takes some milliseconds. */
let collator: Intl.Collator | undefined;

/** Sorts ties like Claude Code. The language is fixed, so that the result does not depend on the machine. */
function compareNames(a: string, b: string): number {
  collator ??= new Intl.Collator("en");
  return collator.compare(a, b) || byCodeUnit(a, b);
}
