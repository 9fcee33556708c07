import { createHash } from "node:crypto";
import type { JsonObject } from "../types/json.ts";
import type { Finding, LintReport, RuleInfo, Severity } from "../types/lint.ts";
import { plain } from "./escape.ts";
import { count } from "./format.ts";
import { subjectText, worstFirst } from "./lint.ts";

const levels = { error: "error", warning: "warning", info: "note" } as const satisfies Record<Severity, string>;

/** GitHub's code scanning shows 5,000 results of a run and drops the rest. */
const mostResults = 5_000;

/**
 * The findings as SARIF 2.1.0 (OASIS, 2020): one run, every rule that has a finding, paths relative to where it ran.
 * Open findings first, errors before the others; beyond 5,000 they are only counted. Does not throw.
 */
export function sarif(report: LintReport, { rules, version }: { rules: readonly RuleInfo[]; version: string }): string {
  const suppressed = report.findings.filter((one) => one.suppressed !== undefined);
  const all = [...worstFirst(report.findings), ...suppressed];
  const results = all.slice(0, mostResults);
  const found = new Set(results.map(({ rule }) => rule));
  const used = rules.filter(({ id }) => found.has(id));
  const index = new Map(used.map(({ id }, at) => [id, at]));
  const fingerprint = fingerprints();
  const log = {
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [
      {
        tool: { driver: { name: "tool-evals", version, rules: used.map(descriptor) } },
        columnKind: "utf16CodeUnits",
        invocations: [
          {
            executionSuccessful: report.problems.length === 0,
            exitCode: report.exitCode,
            toolExecutionNotifications: notifications(report, all.length - results.length),
          },
        ],
        results: results.map((one) => ({
          ruleId: one.rule,
          ruleIndex: index.get(one.rule) ?? -1,
          level: levels[one.severity],
          message: { text: plain(`${one.message} ${one.fix}`) },
          locations: [location(one)],
          partialFingerprints: { "toolEvals/v1": fingerprint(one) },
          ...(one.suppressed !== undefined && {
            suppressions: [{ kind: "external", status: "accepted", justification: plain(one.suppressed) }],
          }),
        })),
      },
    ],
  };
  return `${JSON.stringify(log, null, 2)}\n`;
}

function descriptor({ id, severity, why, docs, clauses }: RuleInfo): JsonObject {
  const list = clauses.map((clause) => `- ${clause}`).join("\n");
  return {
    id,
    shortDescription: { text: why },
    fullDescription: { text: `${why} Asked for: ${clauses.join("; ")}.` },
    help: { text: `${why}\n${list}`, markdown: `${why}\n\n${list}` },
    ...(docs.startsWith("http") && { helpUri: docs }),
    defaultConfiguration: { level: levels[severity] },
  };
}

/** In the file that holds the text, else in the one that names the server; the logical location says what it is about. */
function location({ where }: Finding): JsonObject {
  const { file, line, column } = where.file === undefined ? (where.via ?? {}) : where;
  const logical = { fullyQualifiedName: plain(`${subjectText(where)} ${where.path}`), kind: "member" };
  return {
    ...(file !== undefined && {
      physicalLocation: {
        artifactLocation: { uri: relativeUri(file) },
        ...(line !== undefined && {
          region: { startLine: line, ...(column !== undefined && { startColumn: column }) },
        }),
      },
    }),
    logicalLocations: [logical],
  };
}

function relativeUri(file: string): string {
  return file.replaceAll("\\", "/").split("/").map(encodeURIComponent).join("/");
}

/** What stays the same when lines move: rule, subject and path, and which of several there it is. */
function fingerprints(): (finding: Finding) => string {
  const seen = new Map<string, number>();
  return ({ rule, where: { file = "", server = "", tool = "", skill = "", path } }) => {
    const key = JSON.stringify([rule, file, server, tool, skill, path]);
    const nth = seen.get(key) ?? 0;
    seen.set(key, nth + 1);
    return createHash("sha256").update(`${key}#${nth}`).digest("hex");
  };
}

function notifications({ problems, unusedSuppressions }: LintReport, left: number): JsonObject[] {
  const note = (level: "error" | "warning", text: string, file?: string): JsonObject => ({
    level,
    message: { text: plain(text) },
    ...(file !== undefined && { locations: [{ physicalLocation: { artifactLocation: { uri: relativeUri(file) } } }] }),
  });
  return [
    ...problems.map(({ message, hint, place }) =>
      note("error", [message, hint].filter(Boolean).join(" "), place?.file),
    ),
    ...unusedSuppressions.map(({ rule, reason, place }) =>
      note("warning", `The suppression of ${rule} suppresses nothing: ${reason}`, place?.file),
    ),
    ...(left > 0 ? [note("warning", `${count(left, "more finding")} are left out.`)] : []),
  ];
}
