import { describe, expect, it } from "vitest";
import type { LintReport } from "../../src/evals/base/types/finding.ts";
import { findingSarif, listVerdicts } from "../../src/evals/reports/findings.ts";
import { junit } from "../../src/evals/reports/junit.ts";
import { listJenkinsFaults } from "./jenkins.ts";
import { aFinding, aReport, hostile, listOf, mixed } from "./lintSamples.ts";
import { listSarifFaults } from "./sarif.ts";

type Rule = { id: string; helpUri?: string; defaultConfiguration: { level: string } };
type Result = {
  ruleId: string;
  ruleIndex?: number;
  level: string;
  message: { text: string };
  locations: [{ physicalLocation?: object; logicalLocations: { fullyQualifiedName: string }[] }];
  partialFingerprints: object;
  suppressions?: object[];
};
type SarifRun = {
  tool: { driver: { rules: Rule[] } };
  invocations: [{ toolExecutionNotifications: object[] }];
  results: Result[];
};

function runOf(report: LintReport): SarifRun {
  const log = JSON.parse(findingSarif(listOf(report), "1.2.3"));
  expect(listSarifFaults(log)).toEqual([]);
  return log.runs[0];
}

describe("SARIF", () => {
  it("has results with rule, place and fix, errors first and suppressed ones last", () => {
    const { results } = runOf(mixed);
    expect(
      results.map(({ ruleId, level: as, message, locations: [at], suppressions }) => ({
        result: `${as} ${ruleId}: ${message.text}`,
        at: at.physicalLocation,
        about: at.logicalLocations[0]?.fullyQualifiedName,
        suppressions,
      })),
    ).toEqual([
      {
        about: 'tools · find city $.inputSchema.properties["the city"]',
        at: { artifactLocation: { uri: "lists/a%20b.json" }, region: { startColumn: 5, startLine: 12 } },
        result: 'error required-unknown: required names "city", which is no property. Add it to properties.',
      },
      {
        about: "weather · get_weather $",
        at: { artifactLocation: { uri: "evals/weather.yaml" }, region: { startColumn: 9, startLine: 2 } },
        result:
          "warning description-missing: The tool has no description. Say what the tool does, when to call it, and which sibling to call for the rest of what users ask for.",
      },
      {
        about: "evals/weather.yaml $.cases",
        at: { artifactLocation: { uri: "evals/weather.yaml" }, region: { startColumn: 3, startLine: 4 } },
        result: "note tool-coverage: 1 of 2 listed tools is expected by no case: find_city. Add a query for it.",
      },
      {
        about: "weather · get_weather $.inputSchema.required[0]",
        result: 'error required-unknown: required names "city", which is no property. Add it to properties.',
        suppressions: [{ justification: "the host fills it", kind: "external", status: "accepted" }],
      },
    ]);
  });

  it("describes each rule with findings once", () => {
    const { tool, results } = runOf(mixed);
    const { rules } = tool.driver;
    expect(rules.map(({ id, helpUri, defaultConfiguration }) => [id, helpUri, defaultConfiguration.level])).toEqual([
      ["required-unknown", "https://json-schema.org/x#y", "error"],
    ]);
    expect(
      results.filter(({ ruleIndex }) => ruleIndex !== undefined).map(({ ruleId, ruleIndex }) => [ruleId, ruleIndex]),
    ).toEqual([
      ["required-unknown", 0],
      ["required-unknown", 0],
    ]);
  });

  it("reports what could not be linted, and unused suppressions", () => {
    expect(runOf(mixed).invocations[0]).toEqual({
      executionSuccessful: false,
      exitCode: 1,
      toolExecutionNotifications: [
        {
          level: "error",
          message: { text: 'server "files" did not start: exit code 1 Run it directly.' },
          locations: [{ physicalLocation: { artifactLocation: { uri: ".mcp.json" } } }],
        },
        {
          level: "warning",
          message: { text: "The suppression of name-length suppresses nothing. old" },
          locations: [{ physicalLocation: { artifactLocation: { uri: "evals/lint.yaml" } } }],
        },
      ],
    });
  });

  it("recognizes a finding whose line moved, and distinguishes equal ones", () => {
    const at = (line: number) => aFinding({ location: { server: "s", tool: "t", path: "$", file: "f.json", line } });
    const prints = (report: LintReport) => runOf(report).results.map(({ partialFingerprints }) => partialFingerprints);
    const moved = prints(aReport([at(7)]));
    expect(moved).toEqual(prints(aReport([at(9)])));
    expect(moved).not.toEqual(prints(aReport([aFinding({ location: { server: "s", tool: "u", path: "$" } })])));
    const [first, second] = prints(aReport([at(7), at(7)]));
    expect(first).not.toEqual(second);
  });

  it("contains 5,000 results, errors first, and counts the rest", () => {
    const few = aFinding({ severity: "error" });
    const many = Array.from({ length: 5_003 }, () => aFinding({ severity: "info" }));
    const { results, invocations } = runOf(aReport([...many, few]));
    expect([results.length, results[0]?.level]).toEqual([5_000, "error"]);
    expect(invocations[0].toolExecutionNotifications).toEqual([
      { level: "warning", message: { text: "4 more findings are left out." } },
    ]);
  });

  it("escapes control characters of a server", () => {
    const [result] = runOf(hostile).results;
    const shown = [result?.message.text, result?.locations[0].logicalLocations[0]?.fullyQualifiedName].join("");
    expect(shown).toContain("\\u{202e}");
    expect(shown).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });
});

describe("JUnit", () => {
  it("has a suite per subject, and a failure for each finding at the threshold", async () => {
    const text = junit(listVerdicts(listOf(mixed)));
    expect(await listJenkinsFaults({ mixed: text, hostile: junit(listVerdicts(listOf(hostile))) })).toEqual([]);
    await expect(text).toMatchFileSnapshot("snapshots/findings.junit.xml.txt");
  });

  it("has one case that passed where nothing was found", () => {
    expect(junit(listVerdicts(listOf(aReport([]))))).toContain('<testcase classname="lint" name="findings"/>');
  });
});
