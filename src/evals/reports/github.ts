import type { CaseSummary, RunManifest, RunSummary, SuiteSummary } from "../types/run.ts";
import { checkLines, checkView } from "./check.ts";
import { atMost, count } from "./format.ts";
import { pipe, type Report } from "./report.ts";
import { terminal } from "./terminal.ts";
import { plain } from "./untrusted.ts";
import { caseSentence, headline, modelLabel, redFirst, runStatus } from "./view.ts";

type Level = "error" | "warning" | "notice";
type Annotation = { level: Level; place: CaseSummary | undefined; title: string; message: readonly string[] };

/** GitHub shows ten annotations of a level in a step and drops the rest without a word. */
const most = 10;
/** What a change or a reason may take of an annotation, and how many dropped cases and changes it names. */
const shownSigns = 500;
const shownRows = 5;

/**
 * For the log of a GitHub workflow: the terminal report, in which commands are switched off because it quotes untrusted
 * text, and annotations on the suite file's lines: an error for every regression and every red case, a warning for every
 * case with lost trials, a notice for every other check.
 */
export const github: Report = {
  name: "github",
  render: (input) => {
    const { summary, manifest } = input;
    const all = summary.suites.flatMap((suite) => [
      ...checkAnnotation(suite, manifest),
      ...redFirst(suite.cases).flatMap((one) => caseAnnotation(suite, one)),
    ]);
    const lines = (["error", "warning", "notice"] as const).flatMap((level) => annotations(level, all, summary));
    // What is red without a red case (a run cut short, a run of nothing) still has to stand out.
    if (all.every(({ level }) => level !== "error") && runStatus(summary) !== "PASSED")
      lines.push(command("error", {}, plain(headline(summary))));
    return (
      withoutCommands(terminal.render({ ...input, display: input.display ?? pipe })) +
      lines.map((line) => `${line}\n`).join("")
    );
  },
};

function annotations(level: Level, all: readonly Annotation[], { dir }: RunSummary): string[] {
  const own = all.filter((one) => one.level === level);
  const { shown, left } = atMost(own, own.length > most ? most - 1 : most);
  const more = `and ${count(left, level === "notice" ? "more check" : "more case")}: see the report in ${dir}`;
  return [
    ...shown.map(({ place, title, message }) => {
      const at = place && { file: place.file, line: place.line };
      return command(level, { ...at, title: title.slice(0, 200) }, message.map(plain).join("\n"));
    }),
    ...(left > 0 ? [command(level, { title: "tool-evals" }, more)] : []),
  ];
}

/** On the line of the case that dropped most, or of the suite's first case. */
function checkAnnotation(suite: SuiteSummary, _manifest: RunManifest): Annotation[] {
  const { verdict } = suite;
  const view = checkView(suite);
  if (!verdict || !view) return [];
  const worst = verdict.kind === "regressed" ? verdict.flagged[0]?.case : undefined;
  const level = verdict.kind === "regressed" ? "error" : "notice";
  const rows = level === "error" ? shownRows : 0;
  const tables = view.tables.map((table) => ({ ...table, rows: table.rows.slice(0, rows) }));
  const lines = checkLines({ ...view, tables, involved: view.involved.slice(0, rows), others: [], facts: [] });
  return [
    {
      level,
      place: suite.cases.find(({ id }) => id === worst) ?? suite.cases[0],
      title: `${suite.name}: regression check (${suite.model})`,
      message: lines.map((line) => plain(line).slice(0, shownSigns)),
    },
  ];
}

/** None for a case that passed with all its trials. */
function caseAnnotation(suite: SuiteSummary, one: CaseSummary): Annotation[] {
  if (one.ok && one.trials >= one.planned) return [];
  const reasons = one.reasons.slice(0, 3).map(({ text, n }) => `${n}x ${plain(text).slice(0, shownSigns)}`);
  return [
    {
      level: one.ok ? "warning" : "error",
      place: one,
      title: `${suite.name}: ${one.id} (${suite.model})`,
      message: [caseSentence(one), `expected ${one.expected}; model: ${modelLabel(suite)}`, ...reasons],
    },
  ];
}

/** A workflow command in one line, escaped as the runner's own toolkit does. */
export function command(name: string, properties: Readonly<Record<string, string | number>>, message: string): string {
  const list = Object.entries(properties).map(([key, value]) => `${key}=${escapeProperty(plain(String(value)))}`);
  return `::${name}${list.length > 0 ? ` ${list.join(",")}` : ""}::${escapeData(message)}`;
}

/** The text with workflow commands switched off around it; a text that is not in it switches them on again. */
export function withoutCommands(text: string): string {
  let token = "end-of-tool-evals-report";
  // The runner compares the token without regard to case.
  while (text.toLowerCase().includes(token)) token += "-";
  return `::stop-commands::${token}\n${text}${text.endsWith("\n") ? "" : "\n"}::${token}::\n`;
}

function escapeData(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}
