import { sumOf } from "../../../base/sum.ts";
import { describePolicy } from "../../../base/types/execution.ts";
import type { RunManifest, RunSummary, SuiteSummary } from "../../../base/types/run.ts";
import { isCallable } from "../../../base/types/tool.ts";
import {
  type Block,
  type Blocks,
  details,
  facts,
  heading,
  makeColumns,
  plainText,
  table,
  text,
} from "../../../reports/document.ts";
import { count, integer, money, percent, ratio } from "../../../reports/format.ts";
import { triggerBlocks } from "../../arms/skillReport.ts";
import { caseMatrix, confusionGrid, intervalPlot, intervalRow } from "../../results/figures.ts";
import { lostPhrase, modelLabel, provenance } from "../../results/text.ts";
import { missBlocks, substitutes } from "./cases.ts";
import type { WrittenReport } from "./pageData.ts";
import type { PageCase, PageTrialCollector } from "./pageTrials.ts";
import { comparisonBlocks, type RunInput, runFacts, suiteFacts } from "./run.ts";
import { headline, leadLines, statusTone } from "./status.ts";

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
      text(...leadLines(summary, followUp)),
      totalFacts(summary),
      ...suites.flatMap((suite) => verdictBlocks(suite, collected.cases, input)),
    ],
    trials: collected,
    toolsets: listToolNames(manifest),
    after: [
      ...caseMatrix(suites),
      ...suites.flatMap(({ name, model }) =>
        confusionGrid(`Expected (rows) and picked (columns) · ${name} · ${model}`, trials.picks(name, model)),
      ),
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

function totalFacts({ totals, suites }: RunSummary): Block {
  const { passed } = totals;
  const trials = sumOf(suites, ({ cases }) => sumOf(cases, (one) => one.trials));
  const lost = lostPhrase(totals);
  return facts(
    ["Passed", trials === 0 ? "no graded trial" : `${ratio({ passed, trials })} ${percent(passed / trials)}`],
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
    value === undefined ? [] : [{ kind: "verbatim", text: JSON.stringify(value, null, 2) ?? "" }];
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
