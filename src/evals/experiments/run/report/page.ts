import { getOrAdd } from "../../../base/collections.ts";
import { pool } from "../../../base/stats/counts.ts";
import { joinPieces, stringifyInParts } from "../../../base/text/jsonParts.ts";
import { describePolicy } from "../../../base/types/flagValues.ts";
import { type Json, writeExactJson } from "../../../base/types/json.ts";
import {
  type CaseSummary,
  type ManifestCase,
  type RunManifest,
  type RunSummary,
  type SuiteSummary,
  withoutArm,
} from "../../../base/types/run.ts";
import { isCallable, joinResult, type ToolResult } from "../../../base/types/tool.ts";
import type { Call, Trial } from "../../../base/types/trial.ts";
import {
  type Block,
  type Blocks,
  details,
  facts,
  heading,
  makeColumns,
  type Page,
  plainText,
  section,
  type Tone,
  table,
  text,
} from "../../../reports/document.ts";
import { integer, money, share } from "../../../reports/format.ts";
import { triggerBlocks } from "../../arms/skills.ts";
import { caseMatrix, confusionGrid, intervalPlot, intervalRow } from "../../results/figures.ts";
import { CaseTally } from "../../results/tally.ts";
import { caseState, countOffered, lostPhrase, modelLabel, provenance } from "../../results/text.ts";
import { incumbentArm } from "../../variants/verdict.ts";
import { missBlocks, overallRate } from "./cases.ts";
import { comparisonBlocks, type RunInput, runFacts, suiteFacts } from "./run.ts";
import { headline, leadLines, statusTone } from "./status.ts";

// The data of a page, which is JSON in its file: the report as blocks, and the cases and trials that it lists.

/** The most that a page holds: trials, their characters in total, and the characters of one text. */
export const pageLimits = { trials: 20_000, characters: 30_000_000, text: 4000 } as const;

/** `redact` removes known secrets from a text before it is cut, since a cut secret could no longer be recognized. */
type CollectorOptions = { limits?: { trials: number; characters: number }; redact?: (text: string) => string };

type Limit = (text: string) => string;

type CollectedCase = { suite: string; model: string; case: ManifestCase; at: number; arms: Map<string, CaseTally> };

/** Collects the cases and trials of a record for its page: as many as fit, those that did not pass first. */
export class PageTrialCollector {
  readonly #limits: { trials: number; characters: number };
  readonly #limit: Limit;
  readonly #cases = new Map<string, CollectedCase>();
  /** The trials of the arm `head` are counted by the summary of a run. */
  readonly #isRun: boolean;
  readonly #passed: KeptTrial[] = [];
  readonly #others: KeptTrial[] = [];
  #characters = 0;
  /** Some passing trial did not fit, so that no further one is kept. */
  #isFull = false;
  #recorded = 0;

  constructor({ suites, models, experiment }: RunManifest, options: CollectorOptions = {}) {
    const { limits = pageLimits, redact = (text) => text } = options;
    this.#limits = limits;
    this.#limit = (text) => (text.length <= pageLimits.text ? text : limitText(redact(text)));
    this.#isRun = experiment === undefined;
    for (const { name: suite, models: asked, cases } of suites)
      for (const { id: model } of models.filter(({ id }) => asked?.includes(id) ?? true))
        for (const one of cases.filter(({ id }) => experiment?.cases.includes(id) ?? true))
          this.#cases.set(caseKey(suite, model, one.id), {
            suite,
            model,
            case: one,
            at: this.#cases.size,
            arms: new Map(),
          });
  }

  add(trial: Trial): void {
    const { suite, model, case: id, arm } = trial.cell;
    const known = this.#cases.get(caseKey(suite, model, id));
    if (!known || trial.copy) return;
    if (arm !== "head" || !this.#isRun) getOrAdd(known.arms, arm, () => new CaseTally()).add(trial);
    this.#recorded++;
    const kept = trial.verdict?.grade === "pass" ? this.#passed : this.#others;
    if (this.#isFull && kept === this.#passed) return;
    const { trial: number, attempt = 1 } = trial.cell;
    const json = writeTrial(trial, this.#limit);
    kept.push({ at: known.at, arm, trial: number, attempt, json });
    this.#characters += json.length;
    const { trials, characters } = this.#limits;
    while (this.#passed.length + this.#others.length > trials || this.#characters > characters) {
      this.#isFull = true;
      this.#characters -= (this.#passed.pop() ?? this.#others.pop())?.json.length ?? 0;
    }
  }

  /** The cases in the order of the suites, and their trials. `summary`: of a run, for the states of its cases. */
  collect(summary?: RunSummary) {
    const summaries = new Map(
      summary?.suites.flatMap(({ name, model, cases }) => cases.map((one) => [caseKey(name, model, one.id), one])),
    );
    const cases = [...this.#cases].map(([key, { suite, model, case: asked, arms }]) => {
      const known = summaries.get(key);
      const head = arms.get("head");
      const isAsked = known && !head && known.trials + known.broken + known.notGradable > 0;
      const reasons = known?.reasons ?? head?.reasons.ranked().map(([text, n]) => ({ text, n })) ?? [];
      const counted = [...arms].sort(([a], [b]) => compareArms(a, b)).map(([arm, tally]) => countArm(arm, tally));
      return {
        suite,
        model,
        id: asked.id,
        input: this.#limit(asked.input),
        ...(asked.paraphrases && { paraphrases: asked.paraphrases.map(this.#limit) }),
        expected: asked.expected,
        location: asked.file === "" ? "" : `${asked.file}:${asked.line}`,
        // Only a run has gates.
        ...(known && { passRate: known.passRate, state: caseState(known) }),
        arms: [...(isAsked ? [countArm("head", known)] : []), ...counted],
        reasons: reasons.slice(0, 5).map(({ text, n }) => ({ text: this.#limit(text), n })),
      };
    });
    const kept = [...this.#passed, ...this.#others].sort(
      (a, b) => a.at - b.at || compareArms(a.arm, b.arm) || a.trial - b.trial || a.attempt - b.attempt,
    );
    return {
      cases,
      /** Each is the JSON of a `Trial`, which takes a fraction of the object's memory. */
      trials: kept.map(({ json }) => json),
      /** The number of recorded trials; the page may hold fewer. */
      recorded: this.#recorded,
    };
  }
}

type WrittenTrials = ReturnType<PageTrialCollector["collect"]>;
/** A case on a model. */
export type PageCase = WrittenTrials["cases"][number];
/** Counts all trials of a case in one arm, including those that the page does not hold. */
export type ArmCounts = ReturnType<typeof countArm>;

function countArm(arm: string, { passed, broken, notGradable, ...rest }: CaseTally | CaseSummary) {
  return { arm, passed, trials: "failed" in rest ? passed + rest.failed : rest.trials, broken, notGradable };
}

const caseKey = (suite: string, model: string, id: string) => JSON.stringify([suite, model, id]);

/** The JSON of a trial, with its sort keys. `at`: the index of its case. */
type KeptTrial = { at: number; arm: string; trial: number; attempt: number; json: string };

/** Known arms first (the shift makes -1 the largest rank), then by number: `distractors-5` before `distractors-10`. */
const compareArms = (a: string, b: string) => (a === b ? 0 : armRank(a) - armRank(b) || byNumber.compare(a, b));
const armRank = (arm: string) => ["head", "base", withoutArm, incumbentArm].indexOf(arm) >>> 0;
const byNumber = new Intl.Collator("en", { numeric: true });

/** The JSON of a trial with each of its texts limited: arguments and results, which have parts, as a whole. */
function writeTrial(trial: Trial, limit: Limit): string {
  const turns = trial.turns.map((turn) => ({ ...turn, calls: turn.calls.map((call) => limitCall(call, limit)) }));
  return JSON.stringify({ ...trial, turns }, (_, value) => (typeof value === "string" ? limit(value) : value));
}

function limitCall({ arguments: given, inner, execution, ...call }: Call, limit: Limit) {
  const limitArguments = (args: Json | undefined) => {
    if (args === undefined) return undefined;
    const text = writeExactJson(args, 2);
    // The page could not tell the digits of a large number.
    const isExact = text === JSON.stringify(args, null, 2);
    return text.length > pageLimits.text || !isExact ? limit(text) : args;
  };
  const readAsText = (result: ToolResult) => {
    return { isError: result.isError, content: [{ type: "text", text: joinResult(result, 2) }] };
  };
  return {
    ...call,
    arguments: limitArguments(given),
    inner: inner && { ...inner, arguments: limitArguments(inner.arguments) },
    execution: execution?.status === "executed" ? { ...execution, result: readAsText(execution.result) } : execution,
  };
}

function limitText(text: string): string {
  const left = text.length - pageLimits.text;
  return left <= 0 ? text : `${text.slice(0, pageLimits.text)}\n… ${integer(left)} more characters on the record`;
}

/** The cases and trials that a page lists. */
export type PageTrials = Omit<WrittenTrials, "trials"> & { trials: readonly Trial[] };

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

/** The page of a run: the verdict, the cases and trials, and all other measurements. */
export function runPage(input: RunInput, trials: PageTrialCollector): WrittenReport {
  const { summary, manifest, followUp } = input;
  const { suites } = summary;
  const collected = trials.collect(summary);
  return {
    kind: "report",
    title: headline(summary),
    before: [
      heading(1, headline(summary), statusTone(summary)),
      text(...leadLines(summary, manifest, followUp)),
      totalFacts(summary, manifest),
      ...suites.flatMap((suite) => verdictBlocks(suite, collected.cases, input)),
    ],
    trials: collected,
    toolsets: listToolNames(manifest),
    after: [
      ...caseMatrix(suites),
      ...suites.flatMap(({ name, model, confusion, cases }) => {
        const passes = cases.map(({ expected, passed }) => ({ expected, n: passed }));
        return confusionGrid(`Expected (rows) and picked instead (columns) · ${name} · ${model}`, confusion, passes);
      }),
      ...suites.flatMap((suite) => {
        const blocks = missBlocks(suite);
        return suites.length > 1 ? section(`${suite.name} · ${modelLabel(suite)}`, blocks) : blocks;
      }),
      ...triggerBlocks(summary),
      ...suites.flatMap((suite) => [
        heading(3, `${suite.name} · ${modelLabel(suite)}`),
        suiteFacts(suite, summary.partial !== undefined),
      ]),
      ...manifestBlocks(manifest),
      facts(...runFacts(summary, manifest)),
    ],
  };
}

function totalFacts(summary: RunSummary, manifest: RunManifest): Block {
  const { totals, suites } = summary;
  const graded = pool(suites.flatMap(({ cases }) => cases));
  const lost = lostPhrase(totals);
  return facts(
    ["Pass rate", overallRate(summary, manifest) ?? (graded.trials === 0 ? "no graded trial" : share(graded))],
    ["Trials", `${integer(totals.trials)}${lost === "" ? "" : ` (${lost})`}`],
    ["Tokens", `${integer(totals.inputTokens)} in, ${integer(totals.outputTokens)} out`],
    ["Cost", money(totals.costUsd)],
  );
}

function verdictBlocks(suite: SuiteSummary, cases: readonly PageCase[], input: RunInput): Block[] {
  const blocks = [...comparisonBlocks(suite, input), ...armFigure(suite, cases)];
  return blocks.length === 0 ? [] : [heading(2, `${suite.name} · ${modelLabel(suite)}`), ...blocks];
}

/** The rates of the compared cases with the tools of the baseline and the current ones, largest drop first. */
function armFigure(suite: SuiteSummary, cases: readonly PageCase[]): Block[] {
  const own = cases.filter(({ suite: name, model }) => name === suite.name && model === suite.model);
  const rows = own.flatMap(({ id, arms }) => {
    const [base, head] = ["base", "head"].map((name) => arms.find(({ arm }) => arm === name));
    if (!base || !head || base.trials === 0 || head.trials === 0) return [];
    return [{ row: intervalRow(id, [base, head]), drop: base.passed / base.trials - head.passed / head.trials }];
  });
  const worstFirst = rows.sort((a, b) => b.drop - a.drop).map(({ row }) => row);
  return intervalPlot("Pass rate by case, 95% CI", ["baseline", "now"], worstFirst);
}

/** The page of a report without a record of its own. */
export function blocksPage(blocks: Blocks): WrittenReport {
  const [first] = blocks;
  const title = first?.kind === "heading" ? plainText(first.text) : "tool-evals";
  return { kind: "report", title, before: blocks, toolsets: {}, after: [] };
}

/** The page of an experiment: its report, and the cases and trials in its record. */
export function experimentPage(blocks: Blocks, manifest: RunManifest, trials: PageTrialCollector): WrittenReport {
  return {
    ...blocksPage(blocks),
    trials: trials.collect(),
    toolsets: listToolNames(manifest),
    after: [...manifestBlocks(manifest), facts(["Run", provenance(manifest)])],
  };
}

const listToolNames = ({ toolsets }: RunManifest) =>
  Object.fromEntries(Object.entries(toolsets).map(([hash, tools]) => [hash, tools.map(({ name }) => name)]));

function manifestBlocks({ models, suites, toolsets }: RunManifest): Block[] {
  const json = (value: unknown): Block[] =>
    value === undefined ? [] : [{ kind: "verbatim", text: writeExactJson(value, 2) }];
  return [
    heading(2, "What decided this run"),
    ...models.map(({ id, kind, note, settings }) =>
      details(["Model ", { code: id }, `: ${note ?? kind}`], ...json(settings)),
    ),
    ...suites.map(({ name, file, hash, execute, isolate, server }) => {
      const title = `Suite ${name}: ${file}, executes calls: ${describePolicy(execute)}, a server per ${isolate}`;
      return details(title, text(["SHA-256 ", { code: hash }]), ...json(server));
    }),
    ...Object.entries(toolsets).map(([hash, tools]) => {
      const rows = tools.map(({ name, description, server, origin }) => [
        ...[name, { code: description ?? "(no description)" }],
        origin === "server" ? server : `${server}, ${origin}`,
      ]);
      const columns = makeColumns(["name", "tool"], ["text", "description", "from"]);
      const skills = tools.filter(({ origin }) => origin === "skill").length;
      const shown = countOffered(tools.filter(isCallable).length, skills).join(" and ");
      return details([`${shown} shown, toolset `, { code: hash.slice(0, 12) }], table("tool", columns, rows));
    }),
  ];
}
