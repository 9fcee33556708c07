import type { RunManifest, SuiteSummary } from "../types/run.ts";
import { isCallable } from "../types/tool.ts";
import { checkBlocks } from "./check.ts";
import { type Block, type Blocks, heading, makeRows, plainText, type TableCell, text } from "./document.ts";
import { driftBlocks } from "./drift.ts";
import { discoveryBlocks, exposureBlocks } from "./exposures.ts";
import { caseMatrix, confusionGrid, intervalPlot, intervalRow } from "./figures.ts";
import { count, integer, money, percent, ratio } from "./format.ts";
import { leadingSuite, leadLines } from "./lead.ts";
import type { PageCase, ReportPage } from "./page.ts";
import type { PageTrialCollector } from "./pageTrials.ts";
import { type RunInput, suiteFacts } from "./run.ts";
import { exitText, headline, lostPhrase, modelLabel, provenance, runStatus, statusTone } from "./runText.ts";
import { judgeText, liftBlocks, triggerBlocks } from "./skillEffect.ts";

/** The page of a run: the verdict, the cases and trials, and what else the run measured. */
export function runPage({ summary, manifest }: RunInput, trials: PageTrialCollector): ReportPage {
  const { suites } = summary;
  const collected = trials.collect(summary);
  const judge = judgeText(summary);
  const exit = exitText(summary);
  const [main = "", ...others] = headline(summary).split(" · ");
  return {
    kind: "report",
    title: headline(summary),
    before: [
      heading(1, main, statusTone[runStatus(summary)]),
      text(others.join(" · "), ...leadLines(summary)),
      { kind: "facts", facts: totalFacts(summary.totals, suites) },
      ...suites.flatMap((suite) => verdictBlocks(suite, collected.cases, suite === leadingSuite(summary))),
    ],
    trials: collected,
    toolsets: trials.toolsets(),
    after: [
      ...caseMatrix(suites),
      ...suites.flatMap(({ name, model }) =>
        confusionGrid(`Expected (rows) and picked (columns) · ${name} · ${model}`, trials.picks(name, model)),
      ),
      ...triggerBlocks(summary),
      ...suites.flatMap(liftBlocks),
      ...suites.flatMap((suite): Block[] => [
        heading(3, `${suite.name} · ${modelLabel(suite)}`),
        { kind: "facts", facts: suiteFacts(suite) },
      ]),
      ...manifestBlocks(manifest),
      {
        kind: "facts",
        facts: [
          ...(judge === undefined ? [] : [["Judge", judge] as const]),
          ...(exit === undefined ? [] : [["Exit code", exit] as const]),
          ["Run", provenance(manifest)],
          ["Record", { code: summary.dir, max: 1000 }],
        ],
      },
    ],
  };
}

function totalFacts(
  totals: RunInput["summary"]["totals"],
  suites: readonly SuiteSummary[],
): (readonly [string, string])[] {
  const graded = suites.flatMap(({ cases }) => cases).reduce((sum, one) => sum + one.trials, 0);
  const lost = lostPhrase(totals);
  return [
    [
      "Passed",
      graded === 0
        ? "no graded trial"
        : `${ratio({ passed: totals.passed, trials: graded })} ${percent(totals.passed / graded)}`,
    ],
    ["Trials", `${integer(totals.trials)}${lost === "" ? "" : ` (${lost})`}`],
    ["Tokens", `${integer(totals.inputTokens)} in, ${integer(totals.outputTokens)} out`],
    ["Cost", money(totals.costUsd)],
  ];
}

/** What was decided about a suite: its check, drift, exposures. Nothing where only its cases say something. */
function verdictBlocks(suite: SuiteSummary, cases: readonly PageCase[], isLeading: boolean): Block[] {
  const blocks = [
    ...checkBlocks(suite, { explain: true, isLeading }),
    ...armFigure(suite, cases),
    ...(suite.drift ? driftBlocks(suite.drift, true) : []),
    ...exposureBlocks(suite),
    ...exposureFigure(suite),
    ...discoveryBlocks(suite),
  ];
  return blocks.length === 0 ? [] : [heading(2, `${suite.name} · ${modelLabel(suite)}`), ...blocks];
}

/** The rates of the compared cases with the tools of the baseline and with those of now, the largest drop first. */
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

function exposureFigure({ exposures = [], choices = [] }: SuiteSummary): Block[] {
  if (exposures.length < 2) return [];
  const rows = choices.map(({ expected, chosen }) => intervalRow(expected, chosen));
  const names = exposures.map(({ exposure, surface }) => surface ?? exposure.kind);
  return intervalPlot("Chosen, by expected tool and exposure, 95% CI", names, rows);
}

/** The page of a report without a record of its own. */
export function blocksPage(blocks: Blocks): ReportPage {
  const [first] = blocks;
  const title = first?.kind === "heading" ? plainText(first.text) : "tool-evals";
  return { kind: "report", title, before: blocks, toolsets: {}, after: [] };
}

/** The page of an experiment: its report, and the cases and trials of its record. */
export function experimentPage(blocks: Blocks, manifest: RunManifest, trials: PageTrialCollector): ReportPage {
  return {
    ...blocksPage(blocks),
    trials: trials.collect(),
    toolsets: trials.toolsets(),
    after: [...manifestBlocks(manifest), { kind: "facts", facts: [["Run", provenance(manifest)]] }],
  };
}

/** What decided the run's answers: models with their settings, suites, and the tools that were shown. */
function manifestBlocks({ models, suites, toolsets }: RunManifest): Block[] {
  const json = (value: unknown): Block[] =>
    value === undefined ? [] : [{ kind: "verbatim", text: JSON.stringify(value, null, 2) ?? "" }];
  return [
    heading(2, "What decided this run"),
    ...models.map(({ id, kind, note, settings }): Block => {
      return { kind: "details", title: ["Model ", { code: id }, `: ${note ?? kind}`], blocks: json(settings) };
    }),
    ...suites.map(({ name, file, hash, execute, isolate, server }): Block => {
      const title = `Suite ${name}: ${file}, executes calls: ${execute}, a server per ${isolate}`;
      return { kind: "details", title, blocks: [text(["SHA-256 ", { code: hash }]), ...json(server)] };
    }),
    ...Object.entries(toolsets).map(([hash, tools]): Block => {
      const rows = tools.map(({ name, description, server, origin }): TableCell[] => [
        ...[name, { code: description ?? "(no description)" }],
        origin === "server" ? server : `${server}, ${origin}`,
      ]);
      const columns = [{ head: "tool", kind: "name" as const }, { head: "description" }, { head: "from" }];
      const table: Block = { kind: "table", columns, rows: makeRows(rows), noun: "tool" };
      return {
        kind: "details",
        title: [`${count(tools.filter(isCallable).length, "tool")} shown, toolset `, { code: hash.slice(0, 12) }],
        blocks: [table],
      };
    }),
  ];
}
