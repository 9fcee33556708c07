import type { CaseSummary, RunSummary, SuiteSummary } from "../types/run.ts";
import { atMost, count } from "./format.ts";
import { pipe, type Report } from "./report.ts";
import { terminal } from "./terminal.ts";
import { plain } from "./untrusted.ts";
import { caseSentence, headline, modelLabel, redFirst, runStatus } from "./view.ts";

type Level = "error" | "warning";

/** GitHub shows ten annotations of a level in a step and drops the rest without a word. */
const most = 10;

/**
 * For the log of a GitHub workflow: the terminal report, in which commands are switched off because it quotes untrusted
 * text, and an annotation on the suite file's line for every red case (error) and every case with lost trials (warning).
 */
export const github: Report = {
  name: "github",
  render: (input) => {
    const { summary } = input;
    const pairs = summary.suites.flatMap((suite) => redFirst(suite.cases).map((one) => ({ suite, one })));
    const errors = pairs.filter(({ one }) => !one.ok);
    const warnings = pairs.filter(({ one }) => one.ok && one.trials < one.planned);
    const lines = [...annotations("error", errors, summary), ...annotations("warning", warnings, summary)];
    // What is red without a red case (a run cut short, a run of nothing) still has to stand out.
    if (errors.length === 0 && runStatus(summary) !== "PASSED")
      lines.push(command("error", {}, plain(headline(summary))));
    return (
      withoutCommands(terminal.render({ ...input, display: input.display ?? pipe })) +
      lines.map((line) => `${line}\n`).join("")
    );
  },
};

function annotations(
  level: Level,
  all: readonly { suite: SuiteSummary; one: CaseSummary }[],
  { dir }: RunSummary,
): string[] {
  const { shown, left } = atMost(all, all.length > most ? most - 1 : most);
  return [
    ...shown.map(({ suite, one }) => caseAnnotation(level, suite, one)),
    ...(left > 0
      ? [command(level, { title: "tool-evals" }, `and ${count(left, "more case")}: see the report in ${dir}`)]
      : []),
  ];
}

function caseAnnotation(level: Level, suite: SuiteSummary, one: CaseSummary): string {
  const reasons = one.reasons.slice(0, 3).map(({ text, n }) => `${n}x ${plain(text).slice(0, 500)}`);
  const title = `${suite.name}: ${one.id} (${suite.model})`.slice(0, 200);
  const message = [caseSentence(one), `expected ${one.expected}; model: ${modelLabel(suite)}`, ...reasons];
  return command(level, { file: one.file, line: one.line, title }, message.map(plain).join("\n"));
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
