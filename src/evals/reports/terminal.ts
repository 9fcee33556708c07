import type { CaseSummary, RunSummary, SuiteSummary } from "../types/run.ts";
import { checkView } from "./check.ts";
import { atMost, count, integer, percent, ranked } from "./format.ts";
import { cut } from "./layout.ts";
import { pipe, type Report } from "./report.ts";
import { bounded, labelled, type Paint, type Screen, screenFor, title, tonePaint } from "./screen.ts";
import { judgeText, liftView, type SkillView, triggerViews } from "./skillView.ts";
import type { Cell, Column } from "./table.ts";
import { checkBlocks, tableBlock } from "./terminalCheck.ts";
import { plain } from "./untrusted.ts";
import {
  caseState,
  coverageText,
  explainedCases,
  figures,
  headline,
  lossOf,
  lostPhrase,
  modelLabel,
  onlyBroke,
  provenance,
  rateText,
  runStatus,
  stateMark,
  statusTone,
  unansweredCases,
  wrongPairs,
} from "./view.ts";

/** What is shown of each list; the rest is in the other reports, and how much that is gets said. */
const most = { cases: 60, explained: 12, reasons: 3, pairs: 10, tools: 12 } as const;

/** The report for a person at a terminal, and for a log. Never wider than the display, 40 columns at least. */
export const terminal: Report = {
  name: "terminal",
  render({ summary, manifest, display = pipe }) {
    const screen = screenFor(display);
    const judge = judgeText(summary);
    const blocks = [
      verdictLine(summary, screen),
      ...summary.suites.flatMap((suite) => [
        title(screen, `${suite.name} · ${modelLabel(suite)}`),
        ...checkBlocks(checkView(suite), screen, display),
        ...sections.map((section) => section(suite, screen)),
        ...skillBlocks(liftView(suite), screen),
      ]),
      ...triggerViews(summary).flatMap((view) => skillBlocks(view, screen)),
      summary.suites.length > 1 ? labelled(screen, "In all", figures({ totals: summary.totals })) : [],
      judge === undefined ? [] : screen.lines(judge),
      [...labelled(screen, "Run", provenance(manifest)), ...screen.lines(`Record: ${summary.dir}`, 0, 8)],
    ];
    const texts = blocks.filter((block) => block.length > 0).map((block) => block.join("\n"));
    return `${texts.join("\n\n")}\n`;
  },
};

/** The parts of a suite, each a block of lines, or none where there is nothing to say. */
const sections: readonly ((suite: SuiteSummary, screen: Screen) => string[])[] = [
  caseTable,
  brokenSection,
  confusionSection,
  reasonsSection,
  figuresSection,
];

function skillBlocks(view: SkillView | undefined, screen: Screen): string[][] {
  if (!view) return [];
  const { title: heading, sentences, tables } = view;
  const head = [...title(screen, heading), ...sentences.flatMap((sentence) => screen.lines(sentence, 2))];
  return [head, ...tables.map((table) => tableBlock(table, screen))];
}

function verdictLine(summary: RunSummary, screen: Screen): string[] {
  const status = runStatus(summary);
  const [first = "", ...rest] = screen.lines(headline(summary));
  return [screen.paint(tonePaint[statusTone[status]], status) + first.slice(status.length), ...rest];
}

function caseTable({ cases }: SuiteSummary, screen: Screen): string[] {
  if (cases.length === 0) return [screen.paint("red", "No case was run.")];
  const red = cases.filter((one) => !one.ok);
  // In a long list the cases that passed are the ones to leave out.
  const listed = cases.length <= most.cases ? cases : red.slice(0, most.cases);
  const [left, leftRed] = [cases.length - listed.length, red.length - listed.length];
  const table = listed.length === 0 ? [] : screen.table(caseColumns, listed.map(caseRow));
  if (left === 0) return table;
  const which = leftRed > 0 ? `${integer(leftRed)} of them red` : "all passed";
  return [...table, screen.text(`… and ${count(left, "more case")}, ${which}`)];
}

const caseColumns: readonly Column[] = [
  { head: "gate", fixed: true },
  { head: "case" },
  { head: "expected" },
  { head: "passed (95%)", fixed: true },
  { head: "outcomes", joins: true },
];

function caseRow(one: CaseSummary): Cell[] {
  const paint: Paint = one.ok ? "green" : "red";
  const rate = rateText(one);
  return [
    { text: `${stateMark[caseState(one)]} ≥${percent(one.passRate)}`, paint },
    { text: one.id },
    { text: one.expected },
    { text: one.trials > 0 && one.notGradable > 0 ? [rate, `${integer(one.notGradable)} not gradable`] : rate, paint },
    { text: ranked(one.outcomes).map(([name, n]) => `${name} ${integer(n)}`) },
  ];
}

function brokenSection(suite: SuiteSummary, screen: Screen): string[] {
  const lost = lostPhrase(suite.totals);
  if (lost === "") return [];
  return [
    ...title(screen, `Not answered, so in no rate: ${lost} of ${count(suite.totals.trials, "trial")}`, "yellow"),
    ...bounded(unansweredCases(suite), most.explained, "case", 2, screen, (one) => [
      ...screen.lines(`${brief(one.id)}: ${lossOf(one)}`, 2),
      ...(onlyBroke(one) ? reasons(one, screen) : []),
    ]),
  ];
}

function confusionSection(suite: SuiteSummary, screen: Screen): string[] {
  const pairs = wrongPairs(suite);
  if (pairs.length === 0) return [];
  return [
    ...title(screen, "Confused (expected → picked)"),
    ...bounded(pairs, most.pairs, "pair", 2, screen, ({ expected, picked, n }) =>
      screen.lines(`${times(n)}${brief(expected)} → ${brief(picked)}`, 2, 8),
    ),
  ];
}

function reasonsSection(suite: SuiteSummary, screen: Screen): string[] {
  const cases = explainedCases(suite);
  if (cases.length === 0) return [];
  return [
    ...title(screen, "Why"),
    ...bounded(cases, most.explained, "case", 2, screen, (one) => [
      ...screen.lines(`${stateMark[caseState(one)]} ${brief(one.id)} (${one.file}:${one.line})`, 2, 4),
      `    ${screen.paint("dim", screen.short(`"${one.input}"`, screen.width - 4))}`,
      ...reasons(one, screen),
    ]),
  ];
}

function reasons(one: CaseSummary, screen: Screen): string[] {
  return bounded(one.reasons, most.reasons, "reason", 4, screen, ({ text, n }) =>
    screen.lines(`${times(n)}${brief(text, 300)}`, 4, 10),
  );
}

function figuresSection(suite: SuiteSummary, screen: Screen): string[] {
  const missing = atMost(suite.coverage.missing, most.tools);
  const names = missing.shown.map((tool) => brief(tool)).join(", ");
  const rest = missing.left === 0 ? "" : ` and ${integer(missing.left)} more`;
  return [
    ...screen.lines(`Coverage: ${coverageText(suite)}${names === "" ? "" : `; by none: ${names}${rest}`}`),
    ...labelled(screen, "Took", figures(suite)),
  ];
}

/** Untrusted text that stands inside a line, shortened so that the line stays readable. */
function brief(raw: string, width = 60): string {
  return cut(plain(raw), width, "…");
}

function times(n: number): string {
  return `${integer(n)}×`.padEnd(6);
}
