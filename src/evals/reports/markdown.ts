import type { CaseSummary, RunManifest, SuiteSummary } from "../types/run.ts";
import { type CheckView, checkView, type FigureTable } from "./check.ts";
import { atMost, count, integer, percent, tally } from "./format.ts";
import type { Report, ReportInput } from "./report.ts";
import { judgeText, liftView, type SkillView, triggerViews } from "./skillView.ts";
import { plain } from "./untrusted.ts";
import {
  type CaseState,
  caseState,
  coverageText,
  explainedCases,
  figures,
  lossOf,
  lostPhrase,
  modelLabel,
  onlyBroke,
  outcome,
  provenance,
  rateText,
  redFirst,
  statusTone,
  type Tone,
  trialsPhrase,
  unansweredCases,
  withDetail,
  wrongPairs,
} from "./view.ts";
import { wordingMarkdown } from "./wording.ts";

/** A pull request comment holds 65,536 characters; this leaves room for what a workflow puts around it. */
const maxBytes = 60_000;

/**
 * A summary for a workflow's summary page or a pull request comment: the verdict, a table per suite and model with the
 * red cases first, details folded. Always below 60,000 bytes: lists get shorter until it is, and say what they leave out.
 */
export const markdown: Report = {
  name: "markdown",
  file: "summary.md",
  render(input) {
    let text = "";
    const suites = input.summary.suites.map((suite) => suiteInput(suite, input.manifest));
    for (const most of [500, 150, 50, 15, 5, 2]) {
      text = wholeText(input, suites, most);
      if (Buffer.byteLength(text) < maxBytes) break;
    }
    return text;
  },
};

const sign: Record<CaseState, string> = { passed: "✅", failed: "❌", "not gradable": "❔", broken: "⚠️", missing: "⚠️" };
const toneSign: Record<Tone, string> = { good: "✅", bad: "❌", warn: "⚠️" };

/** To compare wordings takes time, so it is done once. */
function suiteInput(suite: SuiteSummary, _manifest: RunManifest) {
  const check = checkView(suite);
  return { suite, check, changes: check ? [...check.involved, ...check.others].map(wordingMarkdown) : [] };
}
type SuiteInput = ReturnType<typeof suiteInput>;

function wholeText({ summary, manifest }: ReportInput, suites: readonly SuiteInput[], most: number): string {
  const { status, main, detail, beside } = outcome(summary);
  const judge = judgeText(summary);
  const models = listed([...new Set(summary.suites.map(modelLabel))], Math.min(most, 3), "model", (model) =>
    code(model, 160),
  );
  const blocks = [
    `### ${toneSign[statusTone[status]]} ${status} ${withDetail(main, detail)}`,
    joined([...beside, trialsPhrase(summary), models.join(", ")]),
    ...listed(suites, most, "suite", (suite) => joined(suiteParts(suite, most), "\n\n")),
    ...triggerViews(summary).flatMap((view) => skillParts(view, most)),
    judge === undefined ? "" : tail(judge, 300),
    folded(
      "Run",
      [...provenance(manifest), ["record", summary.dir] as const].map(([label, value]) => `- ${label}: ${code(value)}`),
    ),
  ];
  return `${joined(blocks, "\n\n")}\n`;
}

/** The parts that say something. */
function joined(parts: readonly string[], between = " · "): string {
  return parts.filter((part) => part !== "").join(between);
}

/** The parts of a suite; one that has nothing to say is empty. */
function suiteParts({ suite, check, changes }: SuiteInput, most: number): string[] {
  const { name, model, note, totals, coverage } = suite;
  const part = <T>(title: string, list: readonly T[], one: string, print: (item: T) => string) =>
    folded(
      title,
      listed(list, most, one, (item) => `- ${print(item)}`),
    );
  const lost = (one: CaseSummary) => `${code(one.id)}: ${tail(lossOf(one))}${onlyBroke(one) ? reasons(one, most) : ""}`;
  const why = (one: CaseSummary) =>
    `${sign[caseState(one)]} ${code(one.id)}: ${code(one.input, 200)}${reasons(one, most)}`;
  return [
    `#### ${code(name)} on ${code(model)}${note === undefined ? "" : ` (${code(note, 160)})`}`,
    ...(check ? checkParts(check, changes, most) : []),
    caseTable(suite, most),
    part(`Not answered, so in no rate: ${lostPhrase(totals)}`, unansweredCases(suite), "case", lost),
    part(
      "Confused pairs",
      wrongPairs(suite),
      "pair",
      ({ expected, picked, n }) => `${integer(n)}× expected ${code(expected)}, picked ${code(picked)}`,
    ),
    part("Why", explainedCases(suite), "case", why),
    part(`Coverage: ${coverageText(suite)}`, coverage.missing, "tool", (tool) => `no case expects ${code(tool)}`),
    ...skillParts(liftView(suite), most),
    joined(figures(suite).map((fact) => fact.join(" "))),
  ];
}

function skillParts(view: SkillView | undefined, most: number): string[] {
  if (!view) return [];
  const { title, sentences, tables } = view;
  return [
    `**${tail(title)}**`,
    ...sentences.map((one) => tail(one, 300)),
    ...tables.map((table) => figureTable(table, most)),
  ];
}

/** The verdict of the regression check and the cases that dropped, the rest folded. */
function checkParts(check: CheckView, changes: readonly string[], most: number): string[] {
  const { headline, tone, sentences, tables, facts, notes } = check;
  return [
    `**${toneSign[tone]} ${tail(headline, 300)}**`,
    ...sentences.map((sentence) => tail(sentence, 300)),
    ...tables.map((table) => figureTable(table, most)),
    folded(
      `${count(changes.length, "change")} in the list`,
      listed(changes, most, "change", (change) => change),
    ),
    folded(
      "What the check could see and what it took",
      facts.map((fact) => `- ${tail(fact.join(": "), 300)}`),
    ),
    listed(notes, most, "note", (note) => `- ${tail(note, 300)}`).join("\n"),
  ];
}

function figureTable({ title, heads, names, rows }: FigureTable, most: number): string {
  const { shown, left } = atMost(rows, most);
  const row = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [
    `**${title}**`,
    "",
    row(heads),
    `|${":--|".repeat(names)}${"--:|".repeat(heads.length - names)}`,
    ...shown.map((cells) => row(cells.map((cell, at) => (at < names ? code(cell) : tail(cell))))),
    ...(left === 0 ? [] : ["", `… and ${count(left, "more row")}`]),
  ].join("\n");
}

function caseTable({ cases }: SuiteSummary, most: number): string {
  if (cases.length === 0) return "**No case was run.**";
  const { shown, left } = atMost(redFirst(cases), most);
  const red = cases.filter((one) => !one.ok).length - shown.filter((one) => !one.ok).length;
  const rows = shown.map(
    (one) =>
      `| ${sign[caseState(one)]} ≥${percent(one.passRate)} | ${code(one.id)} | ${code(one.expected)} | ${rateText(one)} | ${tail(tally(one.outcomes))} |`,
  );
  const more = left === 0 ? [] : ["", `… and ${count(left, "more case")}, ${integer(red)} of them red`];
  return [
    "| gate | case | expected | passed (95% interval) | outcomes |",
    "|:--|:--|:--|:--|:--|",
    ...rows,
    ...more,
  ].join("\n");
}

function reasons(one: CaseSummary, most: number): string {
  return listed(
    one.reasons,
    Math.min(most, 5),
    "reason",
    ({ text, n }) => `\n  - ${integer(n)}× ${code(text, 300)}`,
  ).join("");
}

/** The first of a list, and how many more there are. */
function listed<T>(list: readonly T[], most: number, one: string, print: (item: T) => string): string[] {
  const { shown, left } = atMost(list, most);
  const texts = shown.map(print);
  if (left === 0) return texts;
  const lead = /^\s*- /.exec(texts[0] ?? "")?.[0] ?? "";
  return [...texts, `${lead}… and ${count(left, `more ${one}`)}`];
}

function folded(title: string, lines: readonly string[]): string {
  if (lines.length === 0) return "";
  return `<details><summary>${title}</summary>\n\n${lines.join("\n")}\n\n</details>`;
}

/**
 * Untrusted text as code, at most `max` signs of it. In a code span nothing is a link, a mention or a tag. Where the
 * text could end the span or the table cell, every punctuation sign is an entity instead.
 */
export function code(raw: string, max = 100): string {
  const text = shortened(plain(raw), max);
  if (text.trim() === "") return "_empty_";
  if (!/[`|\\<]/.test(text)) return `\`${text}\``;
  return `<code>${text.replace(/[!-/:-@[-`{-~]/g, (one) => `&#${one.charCodeAt(0)};`)}</code>`;
}

/** Text that is ours but for a name in it: plain where nothing in it can be more than prose, else code. */
function tail(text: string, max = 200): string {
  const isProse = /^[\w ,:;.'=+−%/()<>$-]*$/.test(text) && !/<[^ \d]|(^|[^-])>|\/\/|www\.|__|\$.*\$/i.test(text);
  return isProse && text.length <= max ? text.replaceAll("<", "&lt;") : code(text, max);
}

function shortened(text: string, max: number): string {
  const signs = [...text];
  return signs.length <= max ? text : `${signs.slice(0, max - 1).join("")}…`;
}
