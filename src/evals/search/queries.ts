import * as z from "zod";
import type { RankerName } from "./rankers.ts";
import { maxPattern } from "./regex.ts";
import { splitWords } from "./words.ts";

/**
 * What is searched for. `request`: what a user says, which a model turns into a search text. `written`: a search text as a
 * person or model writes it; between slashes (`/read|open/`) it is a pattern, for the regex ranker alone.
 */
export const searchQuerySchema = z.object({ kind: z.enum(["request", "written"]), text: z.string() });
export type SearchQuery = z.infer<typeof searchQuerySchema>;

/**
 * The text that a ranker is asked for a query; undefined where it is not for this ranker. A written text is used as it is.
 * Of a request, `bm25` gets all, `keyword` its words in their spelling without stop words, and `regex` a pattern of any of
 * these words without regard to case, as many as the longest pattern has room for.
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
