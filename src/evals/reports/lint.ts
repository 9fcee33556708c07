import type { Finding, LintReport, RuleInfo, Severity, Where } from "../types/lint.ts";
import { type Block, heading, type Item, makeRows, section, text } from "./document.ts";
import { count } from "./format.ts";

const severities: readonly Severity[] = ["error", "warning", "info"];

/** More than anyone reads; the JSON has them all. */
const most = 500;

/** The report of `evals lint`: the counts, then the findings by what they are about, errors first, each with its fix. */
export function lintDocument(report: LintReport): Block[] {
  const { confusable, changes, ok } = report;
  const groups = new Map<string, Finding[]>();
  for (const finding of worstFirst(report.findings).slice(0, most)) {
    const subject = subjectText(finding.where);
    groups.set(subject, [...(groups.get(subject) ?? []), finding]);
  }
  const left = worstFirst(report.findings).length - most;
  return [
    heading(1, headline(report), ok ? "good" : "bad"),
    ...[...groups].flatMap(([subject, findings]) =>
      section(subject, [{ kind: "list", items: findings.map(findingItem), most, noun: "finding" }]),
    ),
    ...(left > 0 ? [text(`… and ${count(left, "more finding")}: --json has them all`)] : []),
    ...(confusable ? confusablePairs(confusable) : []),
    ...(changes ? changeList(changes) : []),
  ];
}

/** What is not suppressed, errors first; within a severity in the order of what was linted. */
export function worstFirst(findings: readonly Finding[]): Finding[] {
  const rank = ({ severity }: Finding) => severities.indexOf(severity);
  return findings.filter(({ suppressed }) => suppressed === undefined).sort((a, b) => rank(a) - rank(b));
}

/** What a finding is about: `server · tool`, `skill name`, or the file. */
export function subjectText({ server, tool, skill, file }: Where): string {
  if (skill !== undefined) return `skill ${skill}`;
  if (server !== undefined) return tool === undefined ? server : `${server} · ${tool}`;
  return file ?? "";
}

function findingItem({ severity, rule, message, fix, where }: Finding): Item {
  const tone = severity === "error" ? "bad" : "warn";
  return {
    text: [{ strong: severity, ...(severity !== "info" && { tone }) }, ` ${rule}  ${placeText(where)}`],
    items: [message, `Fix: ${fix}`],
  };
}

/** `file:line:column` where the text lives in a file, then the path. */
function placeText({ file, line, column, path }: Where): string {
  const place = [file, line, column].filter((part) => part !== undefined).join(":");
  return [place, path].filter(Boolean).join(" ");
}

function confusablePairs(pairs: NonNullable<LintReport["confusable"]>): Block[] {
  if (pairs.length === 0) return [text("No two tools are easily confused.")];
  const several = new Set(pairs.map(({ server }) => server)).size > 1;
  const rows = pairs.map(({ server, a, b, similarity, shared }) => [
    ...[similarity.toFixed(2), { lines: [a, b] }, shared.join(" ")],
    ...(several ? [server] : []),
  ]);
  const columns = [
    { head: "similarity", kind: "figure" as const },
    ...["tools", "shared words", ...(several ? ["server"] : [])].map((head) => ({ head })),
  ];
  return section("Tools that a model can confuse", [
    { kind: "table", columns, rows: makeRows(rows), most: Number.POSITIVE_INFINITY, noun: "pair" },
  ]);
}

function changeList(changes: NonNullable<LintReport["changes"]>): Block[] {
  if (changes.length === 0) return [text("The tool list is unchanged.")];
  const items = changes.map((change) => `${change.class}: ${change.what}`);
  return section("Changes in the tool list", [{ kind: "list", items, most, noun: "change" }]);
}

function headline({ counts, ok, exitCode, problems, unusedSuppressions }: LintReport): string {
  const { error, warning, info, suppressed, linted } = counts;
  const word = ok ? "PASSED" : exitCode === 1 ? "FAILED" : "INCOMPLETE";
  const found = [count(error, "error"), count(warning, "warning"), count(info, "info", "info")];
  const subjects = Object.entries(linted)
    .filter(([kind]) => kind !== "toolsets" && kind !== "versions")
    .map(([kind, n]) => count(n, kind.replace(/ies$/, "y").replace(/s$/, ""), kind));
  return [
    `${word} ${found.join(", ")}`,
    ...(suppressed > 0 ? [`${suppressed} suppressed`] : []),
    ...(unusedSuppressions.length > 0 ? [count(unusedSuppressions.length, "unused suppression")] : []),
    ...(problems.length > 0 ? [count(problems.length, "problem")] : []),
    `linted ${subjects.join(", ") || "nothing"}`,
  ].join(" · ");
}

/** The catalogue of rules. */
export function rulesDocument(rules: readonly RuleInfo[]): Block[] {
  const families = [...new Set(rules.map(({ on }) => on))];
  return [
    heading(1, count(rules.length, "rule")),
    ...families.flatMap((family) => {
      const own = rules.filter(({ on }) => on === family);
      const items = own.map(({ id, severity, why }) => ({ text: `${id} (${severity})`, items: [why] }));
      return section(`${family}: ${count(own.length, "rule")}`, [{ kind: "list", items, most, noun: "rule" }]);
    }),
  ];
}
