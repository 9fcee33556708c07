import { buildBm25Scorer } from "./bm25.ts";
import { type Scorer, type SearchDocument, shortenDocument } from "./document.ts";
import { buildKeywordScorer } from "./keyword.ts";
import { buildRegexScorer } from "./regex.ts";

const scorers = {
  keyword: buildKeywordScorer,
  bm25: buildBm25Scorer,
  regex: buildRegexScorer,
} satisfies Record<string, (documents: readonly SearchDocument[]) => Scorer>;

/**
 * The searches by which hosts and APIs find tools. `keyword`: literal words, in the shape of Claude Code's ToolSearch.
 * `bm25`: the ranking of tool search in APIs and in Codex. `regex`: a pattern, the other tool search of APIs.
 */
export type RankerName = keyof typeof scorers;

export const rankerNames = Object.keys(scorers) as readonly RankerName[];

/** To be raised when the results of a ranker change, so that records of the old ones are told apart. */
const versions: Readonly<Record<RankerName, number>> = { keyword: 1, bm25: 1, regex: 1 };

/** A ranker with its version, as it is recorded: `keyword 1`. */
export function nameRanker(name: RankerName): string {
  return `${name} ${versions[name]}`;
}

/** The ranker of a recorded name, also of an API's search (`tool_search_tool_bm25_20251119`); undefined for another name. */
export function findRanker(recorded: string | undefined): RankerName | undefined {
  const words = recorded?.split(/[ _]/);
  return rankerNames.find((name) => words?.includes(name));
}

/**
 * The result of a search: what was found, the best first; or the reason why the text is not one that this search takes.
 * A score compares documents within one search only.
 */
type SearchResult<D> =
  | { kind: "found"; ranked: readonly { document: D; score: number }[] }
  | { kind: "refused"; reason: string };

/**
 * Searches the documents that it was built for, and gives at most `limit` of those that score above 0. Equal scores are
 * ordered by name, so that the order of the documents does not matter.
 */
export type Ranker<D> = (text: string, limit: number) => SearchResult<D>;

/** Characters of a search text that are read. A longer text is cut, not refused. */
const maxSearchText = 10_000;

/** Builds a ranker of these documents, to be asked any number of times. What it finds are the documents as passed in. */
export function buildRanker<D extends SearchDocument>(name: RankerName, documents: readonly D[]): Ranker<D> {
  const score = scorers[name](documents.map(shortenDocument));
  const byName = documents.map((document, at) => ({ document, at })).sort(compareNames);
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

/** Made with the first tie, because it takes some milliseconds. */
let collator: Intl.Collator | undefined;

/** The order of Claude Code's ties. The language is fixed, so that the result does not depend on the machine. */
function compareNames({ document: { name: a } }: Listed, { document: { name: b } }: Listed): number {
  collator ??= new Intl.Collator("en");
  return collator.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0);
}

type Listed = { document: SearchDocument };
