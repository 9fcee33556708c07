import type { QueryResult, RankerResult } from "./evaluate.ts";
import type { ListingHost } from "./skillListing.ts";

/** The skills of a suite as one host lists them, and how the search by BM25 finds the expected ones in that list. */
export type ListingResult = {
  host: ListingHost;
  version: string;
  budget: number;
  whole: number;
  cut: number;
  /** The skills that are listed without a description. */
  nameOnly: readonly string[];
} & Omit<RankerResult, "ranker">;

/** What `evals search` finds in one suite. */
export type SuiteSearch = {
  suite: string;
  file: string;
  tools: number;
  skills: number;
  queries: readonly QueryResult[];
  rankers: readonly RankerResult[];
  listings: readonly ListingResult[];
  /** Cases without a query for a search, each with the reason; `broken`: it should have had one. */
  leftOut: readonly { case: string; reason: string; broken: boolean }[];
  /** The thresholds that are not reached, a sentence each. */
  shortfalls: readonly string[];
};

/** What `evals search` prints with --json. */
export type SearchReport = {
  host: string;
  thresholds: readonly string[];
  suites: readonly SuiteSearch[];
};
