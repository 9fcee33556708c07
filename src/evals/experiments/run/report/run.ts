import { shellWord } from "../../../base/text/display.ts";
import type { RunManifest, RunSummary, SuiteSummary } from "../../../base/types/run.ts";
import {
  type Block,
  type Blocks,
  type Fact,
  facts,
  hasContent,
  heading,
  type Inline,
  plainText,
  type Span,
  text,
} from "../../../reports/document.ts";
import { count, integer, share, some } from "../../../reports/format.ts";
import { armsBlocks, discoveryBlocks } from "../../arms/report.ts";
import { serverBlocks } from "../../arms/servers.ts";
import { triggerBlocks } from "../../arms/skills.ts";
import { checkBlocks } from "../../check/report.ts";
import type { FollowUp } from "../../check/sentences.ts";
import { driftBlocks } from "../../drift/report.ts";
import { countUnreviewed, modelLabel, provenance, usageText } from "../../results/text.ts";
import {
  casesByModel,
  caseTable,
  confusedTools,
  explanations,
  failingCases,
  isDeterministic,
  madeUp,
  missBlocks,
  overallRate,
  unanswered,
  ungradable,
} from "./cases.ts";
import { describeLeftOut, exitText, headline, leadingSuite, leadLines, runStatus, statusTone } from "./status.ts";

/** What the reports of a run are made from. `followUp`: what the command does itself after this report. */
export type RunInput = { summary: RunSummary; manifest: RunManifest; followUp?: FollowUp };

/** What `evals run` prints, about a screen: what happened and what to do, which cases fail and how, and the cost. */
export function briefDocument(input: RunInput): Block[] {
  const { summary, manifest } = input;
  const { suites, totals, dir } = summary;
  const isNamed = suites.length > 1;
  const isFree = totals.costUsd === 0 && totals.inputTokens === 0 && !totals.cached;
  const exit = exitText(summary, manifest);
  const isDraft = runStatus(summary) === "NOT REVIEWED";
  return [
    ...leadBlocks(input),
    ...suites.flatMap((suite) => {
      const blocks = withoutFigures(comparisonBlocks(suite, input), runStatus(summary));
      return isNamed && blocks.length > 0 ? [heading(2, `${suite.name} · ${suite.model}`), ...blocks] : blocks;
    }),
    ...(isDraft ? [] : [...triggerBlocks(summary), ...failingCases(summary), ...confusedTools(summary)]),
    ...ungradable(summary),
    ...suites.flatMap(unanswered),
    facts(
      ...madeUp(summary),
      ["Not reviewed", isDraft ? undefined : notReviewed(manifest)],
      ["Usage", isFree ? undefined : usageText({ totals })],
      ["Exit code", exit],
      ["All figures", `\`evals show${/^reports[/\\][^/\\]+$/.test(dir) ? "" : ` ${shellWord(dir)}`}\``],
      ["Page", { code: `${dir}/report.html`, max: 1000 }],
    ),
  ];
}

const notReviewed = ({ suites }: RunManifest) => {
  const open = countUnreviewed(suites);
  return open && `${open} (\`evals queries\`)`;
};

/** The blocks without statistics, and without a heading that says no more than the status of the run. */
function withoutFigures(blocks: Blocks, status: string): Block[] {
  const kept = blocks.filter(
    (block) =>
      hasContent(block) && block.kind !== "facts" && !(block.kind === "heading" && plainText(block.text) === status),
  );
  return kept.map((block, at) => (block.kind === "heading" && at === kept.length - 1 ? text(block.text) : block));
}

/** The whole report of a run: that of `evals show`, of Markdown and of logs. */
export function runDocument(input: RunInput): Block[] {
  const { summary, manifest } = input;
  const isPartial = summary.partial !== undefined;
  return [
    ...leadBlocks(input),
    ...casesByModel(summary.suites),
    ...summary.suites.flatMap((suite) => [
      heading(2, `${suite.name} · ${modelLabel(suite)}`),
      ...comparisonBlocks(suite, input),
      ...caseTable(suite, isDeterministic(suite.model, manifest.models)),
      ...unanswered(suite),
      ...missBlocks(suite),
      explanations(suite),
      suiteFacts(suite, isPartial),
    ]),
    ...triggerBlocks(summary),
    facts(
      ["Total", summary.suites.length > 1 ? usageText({ totals: summary.totals }) : undefined],
      ...runFacts(summary, manifest),
    ),
  ];
}

function leadBlocks({ summary, manifest, followUp }: RunInput): Block[] {
  const rate = overallRate(summary, manifest);
  return [
    heading(1, headline(summary), statusTone(summary)),
    text(rate && `Pass rate: ${rate}`, ...leadLines(summary, manifest, followUp)),
  ];
}

/** What was decided about a suite beyond its cases: check, drift, arms, servers, tool search. */
export function comparisonBlocks(suite: SuiteSummary, { summary, followUp = {} }: RunInput): Blocks {
  const options = { followUp, isLeading: suite === leadingSuite(summary) };
  return [
    ...checkBlocks(suite, options),
    ...(suite.drift ? driftBlocks(suite.drift, options) : []),
    ...armsBlocks(suite),
    ...serverBlocks(suite),
    ...discoveryBlocks(suite),
  ];
}

/** Facts about the whole run. */
export function runFacts(summary: RunSummary, manifest: RunManifest): Fact[] {
  return [
    ["Judge", judgeText(summary)],
    ["Exit code", exitText(summary, manifest)],
    ...(summary.partial ? describeLeftOut(summary.partial) : []).map((line): Fact => ["Left out", line]),
    ["Run", provenance(manifest)],
    ["Record", { code: summary.dir, max: 1000 }],
  ];
}

/** What is remarkable about a suite, and what it used. Most suites have the last row alone. */
const suiteRows: readonly (readonly [label: string, lines: (suite: SuiteSummary) => readonly Inline[]])[] = [
  ["Mocks", ({ mocks }) => (mocks ? [`${count(mocks.answered, "call")} answered`] : [])],
  ["Mocks never matched", ({ mocks }) => (mocks?.unused.length ? [{ code: some(mocks.unused, 12) }] : [])],
  ["Not mocked", ({ mocks }) => (mocks?.unmatched ?? []).slice(0, 4).map((one) => quoteCounted(one, "call"))],
  ["Denied calls", ({ denials }) => (denials ? describeDenials(denials) : [])],
  // It fails no trial, so only this shows it.
  ["Not judged", ({ unchecked = [] }) => unchecked.slice(0, 4).map((one) => quoteCounted(one, "trial"))],
  ["Usage", (suite) => [usageText(suite)]],
];

/** Coverage of the suite (only for a full run), what is remarkable about it, and usage. */
export function suiteFacts(suite: SuiteSummary, isPartial: boolean): Block {
  const { tools, expected, missing } = suite.coverage;
  const covered = `${integer(expected)} of ${count(tools, "tool")} ${expected === 1 ? "is" : "are"} expected by a case`;
  const names = listNames(missing.map((tool) => [{ code: tool }]));
  const coverage = missing.length === 0 ? covered : [`${covered}; no case expects `, ...names];
  return facts(
    ["Coverage", isPartial || tools === 0 ? undefined : coverage],
    ...suiteRows.flatMap(([label, lines]) => lines(suite).map((line): Fact => [label, line])),
  );
}

function listNames(names: readonly (readonly Span[])[], max = 12): Span[] {
  const shown = names.slice(0, max).flatMap((name, at): Span[] => [at === 0 ? "" : ", ", ...name]);
  return names.length > max ? [...shown, ` and ${integer(names.length - max)} more`] : shown;
}

const quoteCounted = ({ text: what, n }: { text: string; n: number }, noun: string): Inline => [
  `${count(n, noun)}: `,
  { code: what, max: 300 },
];

/** What models did after a denied call; nothing if every trial ended at the denial. */
function describeDenials(denials: NonNullable<SuiteSummary["denials"]>): Inline[] {
  const { calls, trials, retries, next, text: given } = denials;
  const answered = trials - next.ended;
  if (answered === 0) return [];
  const names = {
    sameCall: "the same call",
    otherArguments: "the same tool with other arguments",
    otherTool: "another tool",
    noCall: "an answer without a call",
  } as const;
  const parts = (Object.keys(names) as (keyof typeof names)[]).flatMap((key) =>
    next[key] === 0 ? [] : [`${names[key]} ${share({ passed: next[key], trials: answered })}`],
  );
  return [
    `${count(calls, "call")} in ${count(trials, "trial")}, ${count(retries, "retry")}; then ${parts.join(", ")}`,
    ...(given === undefined ? [] : [["the model was told: ", { code: given, max: 200 }]]),
  ];
}

function judgeText({ judge }: RunSummary): string | undefined {
  if (!judge) return undefined;
  const measured = judge.figure?.replace(/^judge /, "");
  return measured ?? `${judge.model}: agreement with people not measured (see \`evals judge check\`)`;
}
