import { groupBy } from "../../../base/groupBy.ts";
import { sumOf } from "../../../base/sum.ts";
import type { CaseSummary, RunManifest, RunSummary, SuiteSummary } from "../../../base/types/run.ts";
import {
  type Block,
  details,
  type Fact,
  facts,
  heading,
  type Item,
  list,
  makeColumns,
  maxRows,
  type Span,
  type TableCell,
  type TableRow,
  table,
  text,
} from "../../../reports/document.ts";
import { count, integer, percent, share, some, tally } from "../../../reports/format.ts";
import { armsBlocks, discoveryBlocks } from "../../arms/report.ts";
import { serverBlocks } from "../../arms/serversReport.ts";
import { judgeText, triggerBlocks } from "../../arms/skillReport.ts";
import type { FollowUp } from "../../check/report.ts";
import { checkBlocks } from "../../check/report.ts";
import { driftBlocks } from "../../drift/report.ts";
import { missBlocks } from "../../results/missesReport.ts";
import {
  caseState,
  describePair,
  explainedCases,
  isBelowBefore,
  lossText,
  lostPhrase,
  modelLabel,
  onlyBroke,
  provenance,
  rateText,
  redFirst,
  stateMark,
  unansweredCases,
  usageText,
} from "../../results/text.ts";
import { partialFacts } from "./partial.ts";
import { exitText, headline, leadingSuite, leadLines, statusTone } from "./status.ts";

/**
 * What the reports of a run are made from. `followUp`: what the command does
 * itself after this report.
 */
export type RunInput = { summary: RunSummary; manifest: RunManifest; followUp?: FollowUp };

/** How many entries of each list a terminal shows. Other forms show more; each form says how many it leaves out. */
const limits = { cases: 24, explained: 12, reasons: 4, pairs: 10, tools: 12 } as const;

/** The report of a run for terminals and Markdown. */
export function runDocument({ summary, manifest, followUp = {} }: RunInput): Block[] {
  const leading = leadingSuite(summary);
  const isPartial = summary.partial !== undefined;
  return [
    heading(1, headline(summary), statusTone(summary)),
    text(...leadLines(summary, followUp)),
    ...summary.suites.flatMap((suite) => suiteBlocks(suite, { followUp, isLeading: suite === leading, isPartial })),
    ...triggerBlocks(summary),
    facts(
      ["Total", summary.suites.length > 1 ? usageText({ totals: summary.totals }) : undefined],
      ...runFacts(summary, manifest),
    ),
  ];
}

/** Facts about the whole run. */
export function runFacts(summary: RunSummary, manifest: RunManifest): Fact[] {
  return [
    ["Judge", judgeText(summary)],
    ["Exit code", exitText(summary)],
    ...partialFacts(summary),
    ["Run", provenance(manifest)],
    ["Record", { code: summary.dir, max: 1000 }],
  ];
}

/** `isLeading`: the lead of the report already has the sentences of its check. */
function suiteBlocks(
  suite: SuiteSummary,
  options: { followUp: FollowUp; isLeading: boolean; isPartial: boolean },
): Block[] {
  return [
    heading(2, `${suite.name} · ${modelLabel(suite)}`),
    ...checkBlocks(suite, options),
    ...(suite.drift ? driftBlocks(suite.drift, options) : []),
    ...armsBlocks(suite),
    ...serverBlocks(suite),
    ...caseTable(suite),
    ...unanswered(suite),
    ...discoveryBlocks(suite),
    ...missBlocks(suite),
    ...substitutes(suite),
    explanations(suite),
    suiteFacts(suite, options.isPartial),
  ];
}

/** Coverage of the suite (only for a full run), unchecked expectations, and usage. */
export function suiteFacts(suite: SuiteSummary, isPartial: boolean): Block {
  return facts(
    ["Coverage", isPartial || suite.coverage.tools === 0 ? undefined : describeCoverage(suite)],
    ...mockFacts(suite),
    ...denialFacts(suite),
    ...uncheckedFacts(suite),
    ["Usage", usageText(suite)],
  );
}

function caseTable({ cases }: SuiteSummary): Block[] {
  if (cases.length === 0) return [text([{ strong: "No case was run.", tone: "bad" }])];
  const red = cases.filter((one) => !one.ok).length;
  // A numeric id does not describe its case.
  const hasQueries = cases.every(({ id }) => /^[\w-]*\d$/.test(id));
  const columns = makeColumns(
    ["text", "gate"],
    ["id", "case"],
    ["aside", ...(hasQueries ? ["query"] : [])],
    ["name", "expected"],
    ["figure", "passed (95% CI)"],
    ["text", "outcomes"],
  );
  const listed = redFirst(cases).slice(0, maxRows);
  const rows = listed.map((one) => caseRow(one, hasQueries));
  const unlisted = { rows: cases.length - listed.length, red: red - listed.filter((one) => !one.ok).length };
  // A long list omits passing cases first.
  const shown = cases.length <= limits.cases ? limits.cases : Math.min(red, limits.cases);
  return [table("case", columns, rows, { unlisted, max: shown })];
}

function caseRow(one: CaseSummary, hasQuery: boolean): TableRow {
  const tone = one.ok ? "good" : "bad";
  const { rate, interval, passRate, notGradable, trials } = one;
  const cells: TableCell[] = [
    [{ mark: stateMark[caseState(one)] }, ` ≥${percent(passRate)}`],
    one.id,
    ...(hasQuery ? [{ code: one.input, max: 60 }] : []),
    one.expected,
    [
      { strong: rateText(one), tone },
      ...(rate === null || interval === null ? [] : [{ bar: { rate, interval, needed: passRate } }]),
    ],
    { lines: tally({ ...one.outcomes, ...(trials > 0 && { "not gradable": notGradable }) }) },
  ];
  return { cells, ...(!one.ok && { tone: "bad" as const }) };
}

function unanswered(suite: SuiteSummary): Block[] {
  const lost = lostPhrase(suite.totals);
  if (lost === "") return [];
  const items = groupByCause(unansweredCases(suite)).map(describeLost);
  const title = `Unanswered (excluded from rates): ${lost} of ${count(suite.totals.trials, "trial")}`;
  if (items.length === 0) return [text(title)];
  return [details(title, list("case", items, limits.explained))];
}

/** Groups cases that broke for the same cause, so that a crashed server is reported once. */
function groupByCause(cases: readonly CaseSummary[]): CaseSummary[][] {
  const groups = groupBy(cases, (one) => {
    const cause = onlyBroke(one) ? one.reasons.map(({ text: reason }) => withoutTool(reason)).join("\n") : "";
    return cause === "" ? `case ${one.id}` : cause;
  });
  return [...groups.values()];
}

/** Drops the called tool from a reason: it does not explain why the server died. */
const withoutTool = (reason: string) => reason.replace(/, called for "[^"]*",/, "");

function describeLost(group: readonly CaseSummary[]): Item {
  const [one] = group;
  if (!one) return { text: "" };
  if (group.length === 1)
    return { text: [{ code: one.id }, `: ${lossText(one)}`], ...(onlyBroke(one) && reasons(one)) };
  const trials = sumOf(group, ({ broken }) => broken);
  const named = some(group.map(({ id }) => id));
  const causes = one.reasons.map(({ text: reason }): Span => ({ code: withoutTool(reason), max: 300 }));
  return {
    text: [`${count(group.length, "case")}, ${count(trials, "broken trial")}: `, { code: named, max: 200 }],
    items: causes,
  };
}

/** Trials that passed with an acceptable tool instead of the expected one. */
export function substitutes({ substituted = [] }: SuiteSummary): Block[] {
  const n = sumOf(substituted, (pair) => pair.n);
  if (n === 0) return [];
  const title = `Substituted (${count(n, "trial")} passed with an acceptable tool)`;
  return [details(title, list("pair", substituted.map(describePair), limits.pairs))];
}

function explanations(suite: SuiteSummary): Block {
  const items = explainedCases(suite).map((one): Item => {
    const where = one.file === "" ? "" : ` (${one.file}:${one.line})`;
    const before = one.before && isBelowBefore(one) ? `, ${share(one.before)} in the baseline` : "";
    const { items: all, ...rest } = reasons(one);
    return {
      text: [{ mark: stateMark[caseState(one)] }, " ", { code: one.id }, where + before],
      items: [...queries(one, 90), ...all],
      ...rest,
    };
  });
  return details("Why trials failed", list("case", items, limits.explained));
}

/** The query of a case, or each of its paraphrases with its passes. */
function queries({ input, paraphrases }: CaseSummary, max: number): Span[] {
  if (!paraphrases) return [{ code: `"${input}"`, max, dim: true }];
  return paraphrases.map((one) => ({ code: `${one.passed}/${one.trials} "${one.input}"`, max, dim: true }));
}

function reasons({ reasons: all }: CaseSummary) {
  const items = all.map(({ text: reason, n }): Span[] => [`${integer(n)}x `, { code: reason, max: 300 }]);
  return { items, max: limits.reasons, noun: "reason" };
}

/** How many calls mocks answered, and which mocks answered none: their matchers may fit no call. */
function mockFacts({ mocks }: SuiteSummary): Fact[] {
  if (!mocks) return [];
  const { answered, unused, unusedPlaces = [], unmatched } = mocks;
  const names = unused.slice(0, limits.tools).flatMap((label, at): Span[] => {
    const place = unusedPlaces[at] ? ` (${unusedPlaces[at]})` : "";
    return [at === 0 ? "" : ", ", { code: label }, place];
  });
  const left = unused.length > limits.tools ? ` and ${integer(unused.length - limits.tools)} more` : "";
  return [
    ["Mocks", `${count(answered, "call")} answered`],
    ["Mocks never matched", unused.length > 0 ? [...names, left] : undefined],
    ...unmatched
      .slice(0, limits.reasons)
      .map(({ text: why, n }): Fact => ["Not mocked", [`${count(n, "call")}: `, { code: why, max: 300 }]]),
  ];
}

/** What models did after a denied call; nothing if every trial ended at the denial. */
function denialFacts({ denials }: SuiteSummary): Fact[] {
  if (!denials) return [];
  const { calls, trials, retries, next, text: given } = denials;
  const { ended, ...seen } = next;
  const answered = trials - ended;
  if (answered === 0) return [];
  const names = {
    sameCall: "the same call",
    otherArguments: "the same tool with other arguments",
    otherTool: "another tool",
    noCall: "an answer without a call",
  };
  const parts = Object.entries(seen).flatMap(([key, passed]) =>
    passed === 0 ? [] : [`${names[key as keyof typeof names]} ${share({ passed, trials: answered })}`],
  );
  const head = `${count(calls, "call")} in ${count(trials, "trial")}, ${count(retries, "retry")}; then ${parts.join(", ")}`;
  return [
    ["Denied calls", head],
    ["Text at a denial", given === undefined ? undefined : { code: given, max: 200 }],
  ];
}

/** What could not be checked, and in how many trials. It fails no trial, so only these facts show it. */
function uncheckedFacts({ unchecked = [] }: SuiteSummary): Fact[] {
  return unchecked
    .slice(0, limits.reasons)
    .map(({ text: what, n }) => ["Not judged", [`${count(n, "trial")}: `, { code: what, max: 300 }]]);
}

/** How many of the offered tools are expected by a case. */
function describeCoverage({ coverage: { tools, expected, missing } }: SuiteSummary): Span[] {
  const verb = expected === 1 ? "is" : "are";
  const max = limits.tools;
  const names = missing
    .slice(0, max)
    .flatMap((tool, at): Span[] => [at === 0 ? "; no case expects " : ", ", { code: tool }]);
  const left = missing.length - max;
  const shown = `${integer(expected)} of ${count(tools, "tool")} ${verb} expected by a case`;
  return [shown, ...names, left > 0 ? ` and ${integer(left)} more` : ""];
}
