import { exitCodes } from "../types/errors.ts";
import type { LintReport, Severity } from "../types/lint.ts";
import type { CaseSummary, SuiteSummary } from "../types/run.ts";
import { checkLines } from "./check.ts";
import { driftLines } from "./drift.ts";
import { plain } from "./escape.ts";
import { count } from "./format.ts";
import { lintDocument, subjectText, worstFirst } from "./lint.ts";
import { type RunInput, runDocument } from "./run.ts";
import { caseSentence, caseState, headline, isGatedByRate, modelLabel, redFirst } from "./runText.ts";
import { type Display, renderTerminal } from "./terminal.ts";

// For the log of a GitHub workflow: a report in which commands are switched off, because it quotes untrusted text, and
// annotations on lines of files.

type Level = "error" | "warning" | "notice";
type AnnotatedPlace = { file?: string | undefined; line?: number | undefined; column?: number | undefined };
type Annotation = { level: Level; place?: AnnotatedPlace | undefined; title?: string; message: readonly string[] };

/** GitHub shows ten annotations of a level in a step and drops the rest without a word. */
const most = 10;
/** What a line may take of an annotation. */
const shownCharacters = 500;

/**
 * The report of a run, with an error for every regression and every red case, a warning for every case with lost trials,
 * and a notice for every other check, on the lines of the suite file.
 */
export function githubRun(input: RunInput, display: Display): string {
  const { summary } = input;
  const all = summary.suites.flatMap((suite) => [
    ...checkAnnotation(suite),
    ...driftAnnotation(suite),
    ...redFirst(suite.cases).flatMap((one) => caseAnnotation(suite, one)),
  ]);
  // What is red without a red case (a run cut short, a run of nothing) still has to stand out.
  if (all.every(({ level }) => level !== "error") && summary.exitCode !== exitCodes.passed)
    all.push({ level: "error", message: [headline(summary)] });
  const annotations = annotate(all, "tool-evals", ` in the report in ${summary.dir}`);
  return withoutCommands(renderTerminal(runDocument(input), display)) + annotations;
}

/** The report of a lint, with annotations on the lines of the findings; those of a live server on the line that names it. */
export function githubLint(report: LintReport, display: Display): string {
  const problems = report.problems.map(({ message, hint, place }): Annotation => {
    return { level: "error", place, title: "not linted", message: [message, ...(hint ? [hint] : [])] };
  });
  const findings = worstFirst(report.findings).map(({ severity, rule, message, fix, where }): Annotation => {
    const place = where.file === undefined ? where.via : where;
    const subject = `${subjectText(where)} ${where.path}`;
    return { level: levels[severity], place, title: rule, message: [subject, message, fix] };
  });
  const unused = report.unusedSuppressions.map(({ rule, reason, place }): Annotation => {
    return { level: "warning", place, title: `unused suppression: ${rule}`, message: [reason] };
  });
  const annotations = annotate([...problems, ...findings, ...unused], "tool-evals lint", " in the log of this step");
  return withoutCommands(renderTerminal(lintDocument(report), display)) + annotations;
}

const levels = { error: "error", warning: "warning", info: "notice" } as const satisfies Record<Severity, Level>;

/** The annotations as lines, errors first, at most ten of a level, the last of which says how many are left out. */
function annotate(all: readonly Annotation[], title: string, where: string): string {
  const lines = (["error", "warning", "notice"] as const).flatMap((level) => {
    const own = all.filter((one) => one.level === level);
    const shown = own.slice(0, own.length > most ? most - 1 : most);
    const left = own.length - shown.length;
    return [
      ...shown.map((one) =>
        command(level, { ...placed(one.place), ...titled(one) }, one.message.map(plain).join("\n")),
      ),
      ...(left > 0 ? [command(level, { title }, `and ${count(left, "more annotation")}: see all${where}`)] : []),
    ];
  });
  return lines.map((line) => `${line}\n`).join("");
}

const titled = ({ title }: Annotation) => (title === undefined ? {} : { title: title.slice(0, 200) });

function placed({ file, line, column }: Partial<AnnotatedPlace> = {}): Record<string, string | number> {
  if (file === undefined) return {};
  return { file, ...(line !== undefined && { line }), ...(column !== undefined && { col: column }) };
}

/** On the line of the case that dropped most, or of the suite's first case. */
function checkAnnotation(suite: SuiteSummary): Annotation[] {
  const { verdict } = suite;
  if (!verdict) return [];
  const worst = "flagged" in verdict ? verdict.flagged[0]?.case : undefined;
  const level = verdict.exitCode === exitCodes.failed ? "error" : verdict.kind === "regressed" ? "warning" : "notice";
  const lines = checkLines(verdict, level === "notice" ? 0 : 5);
  return [
    {
      level,
      place: casePlace(suite.cases.find(({ id }) => id === worst) ?? suite.cases[0]),
      title: `${suite.name}: regression check (${suite.model})`,
      message: lines.map((line) => plain(line).slice(0, shownCharacters)),
    },
  ];
}

/** On the line of the case that drifted, or of the suite's first case. */
function driftAnnotation({ drift, failed = [], cases, name, model }: SuiteSummary): Annotation[] {
  const lines = drift ? driftLines(drift) : [];
  if (!drift || lines.length === 0) return [];
  const { verdict } = drift;
  const worst = "alarm" in verdict ? verdict.alarm.cases[0]?.case : undefined;
  const level = failed.includes("drifted") ? "error" : verdict.kind === "drifted" ? "warning" : "notice";
  return [
    {
      level,
      place: casePlace(cases.find(({ id }) => id === worst) ?? cases[0]),
      title: `${name}: drift (${model})`,
      message: lines.map((line) => plain(line).slice(0, shownCharacters)),
    },
  ];
}

const casePlace = (one: CaseSummary | undefined) => one && { file: one.file, line: one.line };

/** None for a case that passed with all its trials. */
function caseAnnotation(suite: SuiteSummary, one: CaseSummary): Annotation[] {
  if (one.ok && one.trials >= one.planned) return [];
  const reasons = one.reasons.slice(0, 3).map(({ text, n }) => `${n}x ${plain(text).slice(0, shownCharacters)}`);
  return [
    {
      level: one.ok || (caseState(one) === "failed" && !isGatedByRate(suite)) ? "warning" : "error",
      place: casePlace(one),
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
