import { joinPieces, stringifyInParts } from "../../../base/text/jsonParts.ts";
import { describePolicy } from "../../../base/types/flagValues.ts";
import { writeExactJson } from "../../../base/types/json.ts";
import type { RunManifest, RunSummary, SuiteSummary } from "../../../base/types/run.ts";
import { isCallable } from "../../../base/types/tool.ts";
import type { Trial } from "../../../base/types/trial.ts";
import {
  type Block,
  type Blocks,
  details,
  facts,
  heading,
  makeColumns,
  type Page,
  plainText,
  type Tone,
  table,
  text,
} from "../../../reports/document.ts";
import { count, integer, money, share } from "../../../reports/format.ts";
import { triggerBlocks } from "../../arms/skills.ts";
import { caseMatrix, confusionGrid, intervalPlot, intervalRow } from "../../results/figures.ts";
import { lostPhrase, modelLabel, provenance } from "../../results/text.ts";
import { addCounts, missBlocks, overallRate, substitutes } from "./cases.ts";
import type { PageCase, PageTrialCollector, WrittenTrials } from "./pageTrials.ts";
import { comparisonBlocks, type RunInput, runFacts, suiteFacts } from "./run.ts";
import { headline, leadLines, statusTone } from "./status.ts";

// The data of a page, which is JSON in its file: the report as blocks, and the cases and trials that it lists.

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
      ...suites.flatMap((suite) => explainMisses(suite, suites.length > 1)),
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
  const graded = addCounts(suites.flatMap(({ cases }) => cases));
  const lost = lostPhrase(totals);
  return facts(
    ["Pass rate", overallRate(summary, manifest) ?? (graded.trials === 0 ? "no graded trial" : share(graded))],
    ["Trials", `${integer(totals.trials)}${lost === "" ? "" : ` (${lost})`}`],
    ["Tokens", `${integer(totals.inputTokens)} in, ${integer(totals.outputTokens)} out`],
    ["Cost", money(totals.costUsd)],
  );
}

/** Why trials of a suite missed, and which passed with another tool. `isNamed`: adds the name of the suite. */
function explainMisses(suite: SuiteSummary, isNamed: boolean): Block[] {
  const blocks = [...missBlocks(suite), ...substitutes(suite)];
  return blocks.length === 0 || !isNamed ? blocks : [heading(3, `${suite.name} · ${modelLabel(suite)}`), ...blocks];
}

/** What was decided about a suite beyond its cases, with charts. */
function verdictBlocks(suite: SuiteSummary, cases: readonly PageCase[], input: RunInput): Block[] {
  const blocks = [...comparisonBlocks(suite, input), ...armFigure(suite, cases), ...choicesFigure(suite)];
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

function choicesFigure({ arms: all = [] }: SuiteSummary): Block[] {
  return all.flatMap(({ axis, arms, choices }) => {
    const rows = choices.map(({ expected, chosen }) => intervalRow(expected, chosen));
    const names = arms.map(({ name }) => name);
    return intervalPlot(`Chosen, by expected tool and ${axis}, 95% CI`, names, rows, "Share of trials");
  });
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
      const callable = tools.filter(isCallable).length;
      const shown = [
        ...(callable > 0 || skills === 0 ? [count(callable, "tool")] : []),
        ...(skills > 0 ? [count(skills, "skill")] : []),
      ].join(" and ");
      return details([`${shown} shown, toolset `, { code: hash.slice(0, 12) }], table("tool", columns, rows));
    }),
  ];
}
