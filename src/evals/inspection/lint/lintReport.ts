import { groupBy, sumOf } from "../../base/collections.ts";
import type { Finding, FindingLocation, LintReport, RuleInfo } from "../../base/types/finding.ts";
import { type Block, heading, list, makeColumns, section, table, text, unlimited } from "../../reports/document.ts";
import { findingItem, severityOrder, subjectText, worstFirst } from "../../reports/findings.ts";
import { count, some, withoutOutput } from "../../reports/format.ts";

/** The most entries to show; the JSON has all of them. */
const maxItems = 500;

/**
 * The report of `evals lint`: `next`: what to do if there is none. Repeated findings are folded into one entry with
 * their places, and infos are only counted, unless `isWhole`.
 */
export function lintDocument(report: LintReport, { isWhole = false, next = "" } = {}): Block[] {
  const { confusable, changes, ok, skillFolders = [] } = report;
  const findings = worstFirst(report.findings);
  const shown = isWhole ? findings : findings.filter(({ severity }) => severity !== "info");
  const entries = isWhole ? shown.map(showAlone) : foldFindings(shown);
  const sections = groupBy(entries.slice(0, maxItems), ({ subject }) => subject);
  const left = sumOf(entries.slice(maxItems), ({ others }) => 1 + others.length);
  return [
    heading(1, headline(report), ok ? "good" : "bad"),
    text(...leadLines(report, shown.length, next)),
    ...(skillFolders.length > 0 ? [text(`Includes the skills in ${some(skillFolders)}, as in \`evals run\`.`)] : []),
    ...(shown.length < findings.length ? [text(hiddenInfos(findings))] : []),
    ...summaryByRule(shown),
    ...[...sections].flatMap(([subject, own]) => section(subject, [list("finding", own.map(entryItem), maxItems)])),
    ...(left > 0 ? [text(`… and ${count(left, "more finding")}: --json has them all`)] : []),
    ...(confusable ? confusablePairs(confusable) : []),
    ...(changes ? changeList(changes) : []),
  ];
}

function leadLines({ counts: { error }, problems }: LintReport, shown: number, afterwards: string): string[] {
  const [first] = problems;
  if (first) return [`Next: fix what could not be linted: ${withoutOutput(first.message)}`];
  if (shown === 0) return [`Next: ${afterwards}.`];
  const [sure, next] =
    error > 0
      ? ["an error breaks a client, a model or a requirement of the specification", "the errors"]
      : ["warnings and infos break nothing; `evals run` measures whether they matter to a model", "what applies"];
  return [`How sure: ${sure}.`, `Next: fix ${next}; each has its remedy below.`];
}

function hiddenInfos(findings: readonly Finding[]): string {
  const infos = findings.filter(({ severity }) => severity === "info");
  const byRule = [...groupBy(infos, ({ rule }) => rule)].sort(([, a], [, b]) => b.length - a.length);
  const rules = byRule.map(([rule, own]) => `${own.length} ${rule}`).join(", ");
  return `Not shown: ${count(infos.length, "info", "info")} (${rules}). Show ${infos.length === 1 ? "it" : "them"} with --all.`;
}

/** Fewer findings need no summary. */
const minSummarized = 8;

function summaryByRule(findings: readonly Finding[]): Block[] {
  if (findings.length < minSummarized) return [];
  const rules = [...groupBy(findings, ({ rule }) => rule)].map(([rule, own]) => ({
    rule,
    severity: own[0]?.severity ?? "info",
    findings: own.length,
    subjects: new Set(own.map(({ location }) => subjectText(location))).size,
  }));
  const rows = rules
    .sort((a, b) => severityOrder.indexOf(a.severity) - severityOrder.indexOf(b.severity) || b.findings - a.findings)
    .map(({ rule, severity, findings, subjects }) => [severity, rule, String(findings), String(subjects)]);
  const columns = makeColumns(["text", "severity", "rule"], ["figure", "findings", "affected"]);
  return [table("rule", columns, rows, { max: maxItems })];
}

/** Findings that are shown as one: the first in full, the others as their places. */
type Entry = { subject: string; first: Finding; others: readonly Finding[] };

const showAlone = (one: Finding): Entry => ({ subject: subjectText(one.location), first: one, others: [] });

/** The most findings of a rule to show individually; more are folded. */
const maxPerRule = 3;

/** Folds findings that say the same, of one tool or of several. */
function foldFindings(findings: readonly Finding[]): Entry[] {
  return [...groupBy(findings, makeShapeKey).values()].flatMap((own): Entry[] => {
    const [first, ...others] = own;
    if (!first || own.length <= maxPerRule) return own.map(showAlone);
    const { server } = first.location;
    const subject = server !== undefined && countTools(own) > 1 ? server : subjectText(first.location);
    return [{ subject, first, others }];
  });
}

const countTools = (findings: readonly Finding[]) => new Set(findings.map(({ location }) => location.tool)).size;

/** Equal for findings of one rule on one server whose texts differ only in names, values and numbers. */
function makeShapeKey({ severity, rule, message, fix, location: { server, file } }: Finding): string {
  return JSON.stringify([server ?? file, severity, rule, readShape(message), readShape(fix)]);
}

const variable = /"(?:[^"\\]|\\.)*"|`[^`]*`|\d[\d.,]*/g;

const readShape = (message: string) => message.replace(variable, "…").replace(/…(?:(?:, | and | or )…)+/g, "…");

/** The most places of an entry to show, fewer where each names its tool too. */
const maxPlaces = { ofSubject: 10, ofServer: 4 };

function entryItem({ first, others }: Entry) {
  const tools = countTools([first, ...others]);
  const showPlace = ({ location }: Finding) => `${tools > 1 ? `${location.tool} ` : ""}${locationText(location)}`;
  const times = others.length > 0 ? ` (${others.length + 1} times${tools > 1 ? ` in ${tools} tools` : ""})` : "";
  const locations = others.slice(0, tools > 1 ? maxPlaces.ofServer : maxPlaces.ofSubject).map(showPlace);
  const left = others.length - locations.length;
  const rest = left > 0 ? [`${left} more (--all shows each)`] : [];
  return findingItem(first, {
    title: `${first.rule}${times}  ${showPlace(first)}`,
    more: locations.length === 0 ? [] : [`Also: ${[...locations, ...rest].join(", ")}`],
  });
}

/** `file:line:column` if the finding is in a file, then the path within the subject. */
function locationText({ file, line, column, path = "" }: FindingLocation): string {
  const location = [file, line, column].filter((part) => part !== undefined).join(":");
  return [location, path].filter(Boolean).join(" ");
}

function confusablePairs(pairs: NonNullable<LintReport["confusable"]>): Block[] {
  if (pairs.length === 0) return [text("No two are easily confused.")];
  const several = new Set(pairs.map(({ server }) => server)).size > 1;
  const rows = pairs.map(({ server, a, b, similarity, shared }) => [
    ...[similarity.toFixed(2), { lines: [a, b] }, shared.join(" ")],
    ...(several ? [server] : []),
  ]);
  const heads = ["pair", "shared words", ...(several ? ["server"] : [])];
  const columns = makeColumns(["figure", "similarity"], ["text", ...heads]);
  return section("What a model can confuse", [table("pair", columns, rows, { max: unlimited })]);
}

function changeList(changes: NonNullable<LintReport["changes"]>): Block[] {
  if (changes.length === 0) return [text("The tool list is unchanged.")];
  const items = changes.map((change) => `${change.class}: ${change.what}`);
  return section("Changes in the tool list", [list("change", items, maxItems)]);
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

/** The report of `evals lint --rules`. */
export function rulesDocument(rules: readonly RuleInfo[]): Block[] {
  return [
    heading(1, count(rules.length, "rule")),
    ...[...groupBy(rules, ({ on }) => on)].flatMap(([family, own]) => {
      const items = own.map(({ id, severity, why }) => ({ text: `${id} (${severity})`, items: [why] }));
      return section(`${family}: ${count(own.length, "rule")}`, [list("rule", items, maxItems)]);
    }),
  ];
}

/** The page of all rules in Markdown: for each kind of subject a table with a row a rule. */
export function rulesMarkdown(rules: readonly RuleInfo[]): string {
  const row = ({ id, severity, profile, why, docs }: RuleInfo) => {
    const source = docs.startsWith("http") ? ` [Source](${docs})` : "";
    const text = why.replace(/[\\`*_<>[\]|]/g, "\\$&");
    return `| ${id} | ${severity}${profile ? `, \`--profile ${profile}\`` : ""} | ${text}${source} |`;
  };
  const families = [...groupBy(rules, ({ on }) => on)].map(([family, own]) =>
    [`## Rules for ${family}`, "", "| rule | severity | why |", "|---|---|---|", ...own.map(row)].join("\n"),
  );
  return `${[rulesIntro, ...families].join("\n\n")}\n`;
}

const rulesIntro = `# Lint rules

<!-- Generated by \`npm run docs:lint\` from \`evals lint --rules --format markdown\`. Do not edit. -->

\`evals lint\` checks tool lists, schemas, suites, skill packages and host configuration against these rules. A rule is
suppressed, or given another severity, by its id.`;
