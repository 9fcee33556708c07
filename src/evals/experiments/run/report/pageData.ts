import { joinPieces, stringifyInParts } from "../../../base/text/jsonParts.ts";
import type { Blocks, Page, Tone } from "../../../reports/document.ts";
import type { PageTrial, WrittenTrials } from "./pageTrials.ts";

// The data of a page, which is JSON in its file: the report as blocks, and the cases and trials that it lists.

/** The cases and trials that a page lists. */
export type PageTrials = Omit<WrittenTrials, "trials"> & { trials: readonly PageTrial[] };

/** `title`: the window title. `before` and `after` are shown above and below the cases and trials. */
export type ReportPage = {
  kind: "report";
  title: string;
  before: Blocks;
  trials?: PageTrials;
  /** The tool names of each list, by hash. */
  toolsets: Readonly<Record<string, readonly string[]>>;
  after: Blocks;
  /** The URL of the list of all records; only on a served page. */
  home?: string;
  /** The URL to poll for new data; only on a served page of an unfinished run. */
  live?: string;
};

/** A record in the list of `evals view`. `result`: its result in a few words. */
export type RunEntry = {
  id: string;
  command: string;
  startedAt: string;
  isFinished: boolean;
  result: { text: string; tone?: Tone };
  about: string;
  trials: number | null;
  costUsd: number | "unknown" | null;
};

/** The start page of `evals view`: all records, newest first, and the trend of each suite. */
export type RunsPage = { kind: "runs"; title: string; folder: string; runs: readonly RunEntry[]; trends: Blocks };

/** A page as the browser reads it. */
export type PageData = ReportPage | RunsPage;

/** A report before its page is written. */
export type WrittenReport = Omit<ReportPage, "trials"> & { trials?: WrittenTrials };

/** A page as it is written. Its JSON is made in parts, which the browser reads as `PageData`. */
export const toPage = (data: WrittenReport | RunsPage): Page => ({ title: data.title, json: stringifyPage(data) });

function* stringifyPage(page: WrittenReport | RunsPage): Generator<string> {
  if (page.kind === "runs" || !page.trials) return yield JSON.stringify(page);
  const { trials, ...about } = page;
  const { cases, recorded, trials: texts } = trials;
  yield `${JSON.stringify(about).slice(0, -1)},"trials":{"recorded":${recorded},"cases":`;
  yield* stringifyInParts(cases, { depth: 0 });
  yield ',"trials":[';
  yield* joinPieces(texts, ",");
  yield "]}}";
}
