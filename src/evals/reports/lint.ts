import type { Finding, LintReport, Severity, Where } from "../types/lint.ts";
import { atMost, count } from "./format.ts";
import { safeJson } from "./json.ts";
import { wrap } from "./layout.ts";
import type { Display } from "./report.ts";
import { type Paint, type Screen, screenFor } from "./screen.ts";

const paints: Readonly<Record<Severity, Paint>> = { error: "red", warning: "yellow", info: "dim" };
const severities: readonly Severity[] = ["error", "warning", "info"];

/** More than anyone reads; the JSON has them all. */
const mostShown = 500;
const margin = 2;
const gap = 2;

/** The findings for a person to read, by what they are about, errors first, each with its remedy; then the counts. */
export function lintText(report: LintReport, display: Display): string {
  const screen = screenFor({ ...display, width: Math.max(60, display.width) - margin });
  const { shown, left } = atMost(worstFirst(report.findings), mostShown);
  const ruleWidth = Math.max(0, ...shown.map(({ rule }) => rule.length));
  const groups = new Map<string, Finding[]>();
  for (const finding of shown) {
    const subject = subjectOf(finding.where);
    groups.set(subject, [...(groups.get(subject) ?? []), finding]);
  }
  const lines = [
    ...[...groups].flatMap(([subject, findings]) => [
      ...screen.lines(subject).map((line) => screen.paint("bold", line)),
      ...rows(findings, ruleWidth, screen).map((line) => " ".repeat(margin) + line),
      "",
    ]),
    ...pairLines(report.confusable, screen),
    ...changeLines(report.changes, screen),
    ...(left > 0 ? [...screen.lines(`… and ${count(left, "more finding")}: --json has them all`), ""] : []),
    ...closing(report, screen),
  ];
  return `${lines.join("\n")}\n`;
}

/** Exactly one object. */
export function lintJson(report: LintReport): string {
  return safeJson(report, 2);
}

/** What is not suppressed, errors first; within a severity in the order of what was linted. */
export function worstFirst(findings: readonly Finding[]): Finding[] {
  const rank = ({ severity }: Finding) => severities.indexOf(severity);
  return findings.filter(({ suppressed }) => suppressed === undefined).sort((a, b) => rank(a) - rank(b));
}

/** What a finding is about: `server · tool`, `skill name`, or the file. */
export function subjectOf({ server, tool, skill, file }: Where): string {
  if (skill !== undefined) return `skill ${skill}`;
  if (server !== undefined) return tool === undefined ? server : `${server} · ${tool}`;
  return file ?? "";
}

/** `file:line:column` where the text lives in a file, then the path. */
function placeOf({ file, line, column, path }: Where): string {
  const place = [file, line, column].filter((part) => part !== undefined).join(":");
  return [place, path].filter(Boolean).join(" ");
}

function rows(findings: readonly Finding[], ruleWidth: number, screen: Screen): string[] {
  const levelWidth = "warning".length + gap;
  const indent = levelWidth + ruleWidth + gap;
  const room = Math.max(20, screen.width - indent);
  // Not through the table: it takes seconds to lay out hundreds of cells of several lines.
  return findings.flatMap(({ severity, rule, message, fix, where }) => {
    const [first = "", ...rest] = [placeOf(where), message, `→ ${fix}`].flatMap((raw) => wrap(screen.text(raw), room));
    const level = screen.paint(paints[severity], severity) + " ".repeat(levelWidth - severity.length);
    return [level + rule.padEnd(ruleWidth + gap) + first, ...rest.map((line) => " ".repeat(indent) + line)];
  });
}

function pairLines(pairs: LintReport["confusable"], screen: Screen): string[] {
  if (!pairs) return [];
  if (pairs.length === 0) return ["No two tools are much alike.", ""];
  const several = new Set(pairs.map(({ server }) => server)).size > 1;
  const rows = pairs.map(({ server, a, b, similarity, shared }) => [
    { text: similarity.toFixed(2) },
    { text: [a, b] },
    { text: shared.join(" ") },
    ...(several ? [{ text: server }] : []),
  ]);
  const columns = ["tools", "shared words", ...(several ? ["server"] : [])].map((head) => ({ head }));
  const head = [{ head: "alike", fixed: true }, ...columns];
  return [screen.paint("bold", "Tools that a model can confuse"), ...screen.table(head, rows), ""];
}

function changeLines(changes: LintReport["changes"], screen: Screen): string[] {
  if (!changes) return [];
  if (changes.length === 0) return ["Nothing changed in the list.", ""];
  const { shown, left } = atMost(changes, mostShown);
  return [
    screen.paint("bold", "What changed in the list"),
    ...shown.flatMap((change) => screen.lines(`${change.class}: ${change.what}`, margin)),
    ...(left > 0 ? screen.lines(`… and ${count(left, "more change")}`, margin) : []),
    "",
  ];
}

function closing({ counts, ok, exitCode, problems, unusedSuppressions }: LintReport, screen: Screen): string[] {
  const { error, warning, info, suppressed, linted } = counts;
  const word = ok ? "PASSED" : exitCode === 1 ? "FAILED" : "INCOMPLETE";
  const found = [count(error, "error"), count(warning, "warning"), count(info, "info", "info")];
  const looked = Object.entries(linted)
    .filter(([kind]) => kind !== "toolsets" && kind !== "versions")
    .map(([kind, n]) => count(n, kind.replace(/s$/, ""), kind));
  const parts = [
    `${word} ${found.join(", ")}`,
    ...(suppressed > 0 ? [`${suppressed} suppressed`] : []),
    ...(unusedSuppressions.length > 0 ? [count(unusedSuppressions.length, "unused suppression")] : []),
    ...(problems.length > 0 ? [count(problems.length, "problem")] : []),
    `linted ${looked.join(", ") || "nothing"}`,
  ];
  return screen.lines(parts.join(" · ")).map((line) => screen.paint(ok ? "green" : "red", line));
}
