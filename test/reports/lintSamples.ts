import type { Finding, LintReport, RuleInfo } from "../../src/evals/base/types/finding.ts";
import type { FindingList } from "../../src/evals/reports/findings.ts";

export function aFinding(changes: Partial<Finding> = {}): Finding {
  return {
    rule: "required-unknown",
    severity: "error",
    message: 'required names "city", which is no property.',
    fix: "Add it to properties.",
    location: { server: "weather", tool: "get_weather", path: "$.inputSchema.required[0]" },
    ...changes,
  };
}

/** A report of these findings. */
export function aReport(
  findings: readonly Finding[],
  counts: Partial<LintReport["counts"]> = {},
  changes: Partial<LintReport> = {},
): LintReport {
  const open = findings.filter(({ suppressed }) => suppressed === undefined);
  const count = (level: string) => open.filter(({ severity }) => severity === level).length;
  const counted = { error: count("error"), warning: count("warning"), info: count("info") };
  return {
    ...{ findings: [...findings], unusedSuppressions: [], problems: [] },
    ...{ counts: { ...counted, suppressed: findings.length - open.length, linted: {}, ...counts }, failOn: "error" },
    ...{ ok: counted.error === 0, exitCode: counted.error === 0 ? 0 : 1 },
    ...changes,
  };
}

/** All severities and kinds of places, a suppressed finding, an unused suppression, and a problem. */
export const mixed = aReport(
  [
    aFinding({
      rule: "tool-coverage",
      severity: "info",
      message: "1 of 2 listed tools is expected by no case: find_city.",
      fix: "Add a query for it.",
      location: { path: "$.cases", file: "evals/weather.yaml", line: 4, column: 3 },
    }),
    aFinding({
      rule: "description-missing",
      severity: "warning",
      message: "The tool has no description.",
      fix: "Say what the tool does, when to call it, and which sibling to call for the rest of what users ask for.",
      location: {
        server: "weather",
        tool: "get_weather",
        path: "$",
        via: { file: "evals/weather.yaml", line: 2, column: 9 },
      },
    }),
    aFinding({
      location: {
        ...{ server: "tools", tool: "find city", path: '$.inputSchema.properties["the city"]' },
        ...{ file: "lists/a b.json", line: 12, column: 5 },
      },
    }),
    aFinding({ suppressed: "the host fills it" }),
  ],
  { linted: { tools: 2, toolsets: 1, suites: 1 } },
  {
    unusedSuppressions: [
      { rule: "name-length", reason: "old", location: { file: "evals/lint.yaml", line: 3, column: 5 } },
    ],
    problems: [
      {
        message: 'server "files" did not start: exit code 1',
        hint: "Run it directly.",
        location: { file: ".mcp.json", line: 3, column: 7 },
      },
    ],
  },
);

const nasty = "a\x1b[2Jb\u202ec\u200bd\r\n::error::e";

/** Hostile text of a server in every field that can contain it. */
export const hostile = aReport([
  aFinding({
    message: nasty.repeat(10),
    fix: nasty,
    location: { server: nasty, tool: nasty, path: nasty, file: nasty, line: 1 },
  }),
]);

export const ruleInfos: readonly RuleInfo[] = [
  {
    id: "required-unknown",
    severity: "error",
    on: "tools",
    why: "A model cannot give what is described nowhere.",
    docs: "https://json-schema.org/x#y",
  },
  {
    ...{ id: "suite-size", severity: "warning", on: "suites", why: "Few queries | little known." },
    docs: "docs/lint-rules.md",
  },
];

/** What the forms of findings show of a report. */
export function listOf({ findings, problems, unusedSuppressions, failOn, exitCode }: LintReport): FindingList {
  const unused = unusedSuppressions.map(({ rule, reason, location }) => ({
    severity: "warning" as const,
    message: `The suppression of ${rule} suppresses nothing.`,
    hint: reason,
    ...(location && { location }),
  }));
  const all = [...problems.map((one) => ({ severity: "error" as const, ...one })), ...unused];
  return { command: "lint", findings, problems: all, rules: ruleInfos, failOn, exitCode };
}
