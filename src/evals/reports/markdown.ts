import type { CaseSummary, SuiteSummary } from "../types/run.ts";
import { atMost, count, integer, percent, tally } from "./format.ts";
import type { Report, ReportInput } from "./report.ts";
import { plain } from "./untrusted.ts";
import {
  type CaseState,
  caseState,
  casesPhrase,
  coverageText,
  explainedCases,
  figures,
  lossOf,
  lostPhrase,
  modelLabel,
  onlyBroke,
  provenance,
  rateText,
  redFirst,
  runStatus,
  trialsPhrase,
  unansweredCases,
  wrongPairs,
} from "./view.ts";

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
    for (const most of [500, 150, 50, 15, 5, 2]) {
      text = wholeText(input, most);
      if (Buffer.byteLength(text) < maxBytes) break;
    }
    return text;
  },
};

const sign: Readonly<Record<CaseState, string>> = {
  passed: "✅",
  failed: "❌",
  "not gradable": "❔",
  broken: "⚠️",
  missing: "⚠️",
};

function wholeText({ summary, manifest }: ReportInput, most: number): string {
  const status = runStatus(summary);
  const models = listed([...new Set(summary.suites.map(modelLabel))], Math.min(most, 3), "model", (model) =>
    code(model, 160),
  );
  const blocks = [
    `### ${status === "PASSED" ? "✅" : status === "FAILED" ? "❌" : "⚠️"} ${status} ${casesPhrase(summary)}`,
    [trialsPhrase(summary), models.join(", ")].filter((part) => part !== "").join(" · "),
    ...listed(summary.suites, most, "suite", (suite) =>
      sections
        .map((section) => section(suite, most))
        .filter((part) => part !== "")
        .join("\n\n"),
    ),
    folded(
      "Run",
      [...provenance(manifest), ["record", summary.dir] as const].map(([label, value]) => `- ${label}: ${code(value)}`),
    ),
  ];
  return `${blocks.filter((block) => block !== "").join("\n\n")}\n`;
}

/** The parts of a suite; one that has nothing to say is empty. */
const sections: readonly ((suite: SuiteSummary, most: number) => string)[] = [
  (suite) =>
    `#### ${code(suite.name)} on ${code(suite.model)}${suite.note === undefined ? "" : ` (${code(suite.note, 160)})`}`,
  caseTable,
  (suite, most) =>
    folded(
      `Not answered, so in no rate: ${lostPhrase(suite.totals)}`,
      listed(
        unansweredCases(suite),
        most,
        "case",
        (one) => `- ${code(one.id)}: ${tail(lossOf(one))}${onlyBroke(one) ? reasons(one, most) : ""}`,
      ),
    ),
  (suite, most) =>
    folded(
      "Confused pairs",
      listed(
        wrongPairs(suite),
        most,
        "pair",
        ({ expected, picked, n }) => `- ${integer(n)}× expected ${code(expected)}, picked ${code(picked)}`,
      ),
    ),
  (suite, most) =>
    folded(
      "Why",
      listed(
        explainedCases(suite),
        most,
        "case",
        (one) => `- ${sign[caseState(one)]} ${code(one.id)}: ${code(one.input, 200)}${reasons(one, most)}`,
      ),
    ),
  (suite, most) =>
    folded(
      `Coverage: ${coverageText(suite)}`,
      listed(suite.coverage.missing, most, "tool", (tool) => `- no case expects ${code(tool)}`),
    ),
  (suite) =>
    figures(suite)
      .map((fact) => fact.join(" "))
      .join(" · "),
];

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

/** Text that is ours but for a name in it: plain where it holds words, numbers and commas only, else code. */
function tail(text: string): string {
  return text === "" || /^[\w ,()-]+$/.test(text) ? text : code(text, 200);
}

function shortened(text: string, max: number): string {
  const signs = [...text];
  return signs.length <= max ? text : `${signs.slice(0, max - 1).join("")}…`;
}
