import type { Finding, LintReport, Severity } from "../types/lint.ts";
import { atMost, count } from "./format.ts";
import { command, withoutCommands } from "./github.ts";
import { lintText, subjectOf, worstFirst } from "./lint.ts";
import { type Display, pipe } from "./report.ts";
import { plain } from "./untrusted.ts";

const levels = { error: "error", warning: "warning", info: "notice" } as const satisfies Record<Severity, string>;
type LevelName = (typeof levels)[Severity];

/** GitHub shows ten annotations of a level in a step and drops the rest without a word. */
const most = 10;

/**
 * For the log of a GitHub workflow: the report as a person reads it, in which commands are switched off because it quotes
 * untrusted text, and annotations on the lines of the findings; those of a live server on the line that names it.
 */
export function lintGithub(report: LintReport, display: Display = pipe): string {
  const problems = report.problems.map(({ message, hint, place = {} }) => ({
    level: "error" as const,
    line: command("error", { ...placed(place), title: "not linted" }, [message, hint].flatMap(safe).join("\n")),
  }));
  const unused = report.unusedSuppressions.map(({ rule, reason, place = {} }) => ({
    level: "warning" as const,
    line: command("warning", { ...placed(place), title: `unused suppression: ${rule}` }, plain(reason)),
  }));
  const found = worstFirst(report.findings).map((one) => ({ level: levels[one.severity], line: annotation(one) }));
  const all = [...problems, ...found, ...unused];
  const lines = (["error", "warning", "notice"] as const).flatMap((level) => ofLevel(level, all));
  return withoutCommands(lintText(report, display)) + lines.map((line) => `${line}\n`).join("");
}

function ofLevel(level: LevelName, all: readonly { level: LevelName; line: string }[]): string[] {
  const own = all.filter((one) => one.level === level);
  const { shown, left } = atMost(own, own.length > most ? most - 1 : most);
  const more = command(
    level,
    { title: "tool-evals lint" },
    `and ${count(left, "more annotation")}: see the log of this step`,
  );
  return [...shown.map(({ line }) => line), ...(left > 0 ? [more] : [])];
}

function annotation({ severity, rule, message, fix, where }: Finding): string {
  const text = [`${subjectOf(where)} ${where.path}`, message, fix].flatMap(safe).join("\n");
  return command(
    levels[severity],
    { ...placed(where.file === undefined ? (where.via ?? {}) : where), title: rule },
    text,
  );
}

type Placed = { file?: string | undefined; line?: number | undefined; column?: number | undefined };

function placed({ file, line, column }: Placed): Record<string, string | number> {
  if (file === undefined) return {};
  return { file, ...(line !== undefined && { line }), ...(column !== undefined && { col: column }) };
}

function safe(text: string | undefined): string[] {
  return text === undefined ? [] : [plain(text)];
}
