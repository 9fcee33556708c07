import { joinPieces, stringifyInParts } from "../types/jsonParts.ts";
import type { Trial } from "../types/trial.ts";
import type { Blocks, Tone } from "./document.ts";
import type { CaseState } from "./runText.ts";

// The data of a page, which is JSON in its file: the report as blocks, and the cases and trials that it lists.

/** Counts all trials of a case in one arm, including those that the page does not hold. */
export type ArmCounts = { arm: string; passed: number; trials: number; broken: number; notGradable: number };

/** A case on a model. `state` is absent if there is no gate: in the record of an experiment. */
export type PageCase = {
  suite: string;
  model: string;
  id: string;
  input: string;
  paraphrases?: readonly string[];
  expected: string;
  place: string;
  passRate?: number;
  state?: CaseState;
  arms: readonly ArmCounts[];
  reasons: readonly { text: string; n: number }[];
};

export type TrialResult = "passed" | "failed" | "not gradable" | "broken";

/** A call as the page shows it. Long texts are cut. */
export type PageCall = {
  tool: string;
  role?: "search" | "built-in";
  arguments: string;
  /** What it calls through a dispatcher, which is scored. */
  inner?: { tool: string; arguments: string };
  result?: { text: string; isError: boolean; ms: number };
  skipped?: string;
};

export type PageTurn = {
  text: string;
  calls: readonly PageCall[];
  searches?: readonly { query: string; found: readonly string[] }[];
  stop: Trial["turns"][number]["stop"];
  tokensIn: number;
  tokensOut: number;
  ms: number;
};

/** A trial. `at`: the index of its case. `outcome`: the selection, or the stage at which it broke. */
export type PageTrial = {
  at: number;
  arm: string;
  number: number;
  attempt?: number;
  result: TrialResult;
  outcome: string;
  expected: string;
  picked: string;
  reason?: string;
  checks: readonly { what: string; met: "yes" | "no" | "unknown"; why?: string; evidence?: string }[];
  unchecked?: readonly string[];
  discovery?: string;
  /** How the host showed the picked and expected tools: `read_file deferred`. */
  shown?: readonly string[];
  toolset: string;
  orderSeed: number;
  turns: readonly PageTurn[];
  tokens: number;
  costUsd: number | "unknown";
  ms: number;
};

/** `recorded`: the number of recorded trials; the page may hold fewer. */
export type PageTrials = { cases: readonly PageCase[]; trials: readonly PageTrial[]; recorded: number };

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

/**
 * Trials before a page is written: each is the JSON of a `PageTrial`, which takes a fraction of the object's memory.
 */
export type WrittenTrials = Omit<PageTrials, "trials"> & { trials: readonly string[] };
export type WrittenReport = Omit<ReportPage, "trials"> & { trials?: WrittenTrials };

/** The JSON of a page, which the browser reads as `PageData`. */
export function stringifyPage(page: WrittenReport | RunsPage): string {
  return [...stringifyPageInParts(page)].join("");
}

/** The same in parts. */
export function* stringifyPageInParts(page: WrittenReport | RunsPage): Generator<string> {
  if (page.kind === "runs" || !page.trials) return yield JSON.stringify(page);
  const { trials, ...about } = page;
  const { cases, recorded, trials: texts } = trials;
  yield `${JSON.stringify(about).slice(0, -1)},"trials":{"recorded":${recorded},"cases":`;
  yield* stringifyInParts(cases, { depth: 0 });
  yield ',"trials":[';
  yield* joinPieces(texts, ",");
  yield "]}}";
}
