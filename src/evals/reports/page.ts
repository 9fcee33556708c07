import { joinPieces, stringifyInParts } from "../types/jsonParts.ts";
import type { Trial } from "../types/trial.ts";
import type { Blocks, Tone } from "./document.ts";
import type { CaseState } from "./runText.ts";

// What the page is given: the report as blocks, and the cases and trials that it lists. It is JSON in the page's file.

/** The trials of a case in one arm, all of them, whether the page holds them or not. */
export type ArmCounts = { arm: string; passed: number; trials: number; broken: number; notGradable: number };

/** A case on a model. `state` is absent where no gate is applied: in the record of an experiment. */
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

/** One call as the page shows it: texts are cut at `maxText`. */
export type PageCall = {
  tool: string;
  role?: "search" | "built-in";
  arguments: string;
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

/** `at`: the index of its case. `outcome`: the selection, or the stage that broke it. */
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
  /** How a host showed the picked tool and the expected ones: `read_file deferred`. */
  shown?: readonly string[];
  toolset: string;
  orderSeed: number;
  turns: readonly PageTurn[];
  tokens: number;
  costUsd: number | "unknown";
  ms: number;
};

/** `recorded`: how many trials there are, of which the page may hold fewer. */
export type PageTrials = { cases: readonly PageCase[]; trials: readonly PageTrial[]; recorded: number };

/** `title` is that of the window. `before` is shown above the cases and trials, `after` below them. */
export type ReportPage = {
  kind: "report";
  title: string;
  before: Blocks;
  trials?: PageTrials;
  /** The tools of each list, by its hash. */
  toolsets: Readonly<Record<string, readonly string[]>>;
  after: Blocks;
  /** Where the page is served: the address of the list of all records. */
  home?: string;
  /** Where the page is served: the address of its data, which is asked for again while the run goes on. */
  live?: string;
};

/** A record in the list of `evals view`. `result`: what came of it in a few words, and how it is to be read. */
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

/** The start page of `evals view`: all records, the newest first, and how suites did from run to run. */
export type RunsPage = { kind: "runs"; title: string; folder: string; runs: readonly RunEntry[]; trends: Blocks };

/** A page as a browser reads it. */
export type PageData = ReportPage | RunsPage;

/**
 * Trials as a page is written: each is the JSON of a `PageTrial`. The objects of a long run would take several times the
 * memory.
 */
export type WrittenTrials = Omit<PageTrials, "trials"> & { trials: readonly string[] };
export type WrittenReport = Omit<ReportPage, "trials"> & { trials?: WrittenTrials };

/** The JSON of a page, which a browser reads as `PageData`. */
export function stringifyPage(page: WrittenReport | RunsPage): string {
  return [...stringifyPageInParts(page)].join("");
}

/** The same in parts. */
export function* stringifyPageInParts(page: WrittenReport | RunsPage): Generator<string> {
  if (page.kind === "runs" || !page.trials) return yield JSON.stringify(page);
  const { trials, ...about } = page;
  const { cases, recorded, trials: texts } = trials;
  yield `${JSON.stringify(about).slice(0, -1)},"trials":{"recorded":${recorded},"cases":`;
  yield* stringifyInParts(cases);
  yield ',"trials":[';
  yield* joinPieces(texts, ",");
  yield "]}}";
}
