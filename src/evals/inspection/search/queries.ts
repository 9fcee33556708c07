import * as z from "zod";
import type { RankerName } from "../../base/search/rankers.ts";
import { maxPattern } from "../../base/search/regex.ts";
import { splitWords } from "../../base/search/words.ts";

/**
 * A query. `request`: what a user says, which a model turns into a search text. `written`: a search text written by a
 * person or a model; between slashes (`/read|open/`) it is a pattern, which only the regex ranker is asked.
 */
export const searchQuerySchema = z.object({ kind: z.enum(["request", "written"]), text: z.string() });
export type SearchQuery = z.infer<typeof searchQuerySchema>;

/**
 * The search text of a query for a ranker; undefined if the query is not for this ranker. A written text is used as it
 * is. For a request, `bm25` gets the whole text, `keyword` its words without stop words, and `regex` a case-insensitive
 * pattern that matches any of these words, as many as fit into the longest pattern.
 */
export function toSearchText({ kind, text }: SearchQuery, ranker: RankerName): string | undefined {
  const pattern = kind === "written" ? /^\/(.+)\/$/s.exec(text)?.[1] : undefined;
  if (pattern !== undefined) return ranker === "regex" ? pattern : undefined;
  if (ranker === "regex") return writePattern(text);
  return kind === "written" || ranker === "bm25" ? text : listQueryWords(text).join(" ");
}

/** The distinct words of a text without stop words, lower-cased, as they are spelled. */
export function listQueryWords(text: string): string[] {
  return [...new Set(splitWords(text).map((word) => word.text))];
}

function writePattern(text: string): string {
  let pattern = "";
  for (const word of listQueryWords(text)) {
    const longer = pattern === "" ? `(?i)${word}` : `${pattern}|${word}`;
    if (longer.length > maxPattern) break;
    pattern = longer;
  }
  return pattern;
}
