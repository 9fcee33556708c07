import * as z from "zod";
import { type ListingHost, listingHosts } from "../../base/search/skillListing.ts";
import { queryResultSchema, rankerResultSchema } from "./evaluate.ts";

const number = z.number().int().min(0);
const texts = z.array(z.string()).readonly();

/** The skills of a suite as one host lists them, and how well BM25 finds the expected ones in that list. */
const listingResultSchema = rankerResultSchema.omit({ ranker: true }).extend({
  host: z.enum(listingHosts as [ListingHost, ...ListingHost[]]),
  version: z.string(),
  budget: number,
  whole: number,
  cut: number,
  nameOnly: texts.describe("skills that are listed without a description"),
});
export type ListingResult = z.infer<typeof listingResultSchema>;

const suiteSearchSchema = z.object({
  suite: z.string(),
  file: z.string(),
  tools: number,
  skills: number,
  queries: z.array(queryResultSchema).readonly(),
  rankers: z.array(rankerResultSchema).readonly(),
  listings: z.array(listingResultSchema).readonly(),
  leftOut: z
    .array(z.object({ case: z.string(), reason: z.string(), broken: z.boolean() }))
    .readonly()
    .describe("cases without a query for a search; `broken`: it should have had one"),
  shortfalls: texts.describe("the thresholds that are not reached, a sentence each"),
});
export type SuiteSearch = z.infer<typeof suiteSearchSchema>;

/** What `evals search` prints with --json. */
export const searchReportSchema = z.object({
  host: z.string(),
  thresholds: texts,
  suites: z.array(suiteSearchSchema).readonly(),
});
export type SearchReport = z.infer<typeof searchReportSchema>;
