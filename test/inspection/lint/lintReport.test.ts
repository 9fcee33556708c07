import { describe, expect, it } from "vitest";
import type { LintReport } from "../../../src/evals/base/types/finding.ts";
import { lintDocument, rulesDocument, rulesMarkdown } from "../../../src/evals/inspection/lint/lintReport.ts";
import { safeJson } from "../../../src/evals/reports/escape.ts";
import { findingSarif, listVerdicts } from "../../../src/evals/reports/findings.ts";
import { githubReport } from "../../../src/evals/reports/github.ts";
import { pipe, renderTerminal } from "../../../src/evals/reports/terminal.ts";
import { aFinding, aReport, listOf, mixed, ruleInfos } from "../../reports/lintSamples.ts";

const next = "see what a model picks with `evals run`";

const githubRendered = (report: LintReport) =>
  githubReport(lintDocument(report, { isWhole: true }), listVerdicts(listOf(report)), pipe);

/** The workflow commands that the runner would execute. */
function obeyed(log: string): string[] {
  const [, after = ""] = log.split(/^::end-of-tool-evals-report-*::$/m);
  return after.split("\n").filter((line) => line.startsWith("::"));
}

describe("for a person", () => {
  it("groups findings by subject, errors first, with the fix", async () => {
    await expect(renderTerminal(lintDocument(mixed, { isWhole: true }), pipe)).toMatchFileSnapshot(
      "snapshots/mixed.txt",
    );
  });

  it("says what was linted if nothing was found", () => {
    const clean = aReport([], { linted: { tools: 1, toolsets: 1, suites: 2 } });
    expect(renderTerminal(lintDocument(clean, { next }), pipe)).toBe(
      "PASSED 0 errors, 0 warnings, 0 info · linted 1 tool, 2 suites\n  Next: see what a model picks with `evals run`.\n",
    );
  });

  it("names the folders of skills that were found", () => {
    const report = { ...aReport([], { linted: { skills: 2 } }), skillFolders: [".claude/skills", ".agents/skills"] };
    expect(renderTerminal(lintDocument(report), pipe)).toContain(
      "\nIncludes the skills in .claude/skills, .agents/skills, as in `evals run`.\n",
    );
  });

  it("counts infos in one line, unless all are requested", () => {
    const info = { severity: "info" as const };
    const ids = [aFinding({ ...info, rule: "id-as-number" }), aFinding({ ...info, rule: "id-as-number" })];
    const findings = [aFinding({ ...info, rule: "count-as-number" }), ...ids];
    expect(renderTerminal(lintDocument(aReport(findings), { next }), pipe)).toMatchSnapshot();
    expect(renderTerminal(lintDocument(aReport(findings), { isWhole: true }), pipe)).toContain("info id-as-number");
  });

  it("reports what could not be linted", () => {
    const report = aReport([], {}, { problems: [{ message: "no server" }], ok: false, exitCode: 3 });
    expect(renderTerminal(lintDocument(report, { next }), pipe)).toBe(
      "INCOMPLETE 0 errors, 0 warnings, 0 info · 1 problem · linted nothing\n  Next: fix what could not be linted: no server\n",
    );
  });

  it("colors severities", () => {
    const text = renderTerminal(lintDocument(aReport([aFinding()])), { ...pipe, color: true });
    expect(text).toContain("\x1b[31merror\x1b[39m");
  });

  it("ranks confusable pairs, and classifies changes", () => {
    const pair = { server: "s", a: "list_directory", b: "list_files", similarity: 0.7912, shared: ["list", "files"] };
    const change = { id: "get_a", tool: "get_a", path: ["get_a"], kind: "tool-removed", what: "get_a was removed." };
    const report = aReport([], {}, { confusable: [pair], changes: [{ ...change, class: "breaking" as const }] });
    expect(renderTerminal(lintDocument(report, { next }), { ...pipe, width: 60 })).toMatchSnapshot();
    expect(renderTerminal(lintDocument(aReport([], {}, { confusable: [], changes: [] }), { next }), pipe)).toBe(
      "PASSED 0 errors, 0 warnings, 0 info · linted nothing\n  Next: see what a model picks with `evals run`.\n\nNo two are easily confused.\n\nThe tool list is unchanged.\n",
    );
  });

  it("shows 500 and counts the rest", () => {
    const many = Array.from({ length: 512 }, (_, n) =>
      aFinding({ location: { server: "weather", tool: `tool_${n}`, path: "$.name" } }),
    );
    const text = renderTerminal(lintDocument(aReport(many), { isWhole: true }), pipe);
    expect(text.match(/^weather · tool_/gm)).toHaveLength(500);
    expect(text).toContain("… and 12 more findings: --json has them all");
  });

  it("starts with a summary by rule, and folds repeated findings of a rule on a tool", async () => {
    const repeated = Array.from({ length: 14 }, (_, n) => {
      const location = { server: "weather", tool: "get", path: `$.inputSchema.properties.p${n}` };
      return aFinding({ rule: "property-type", severity: "warning", location });
    });
    const findings = [...repeated, aFinding()];
    await expect(renderTerminal(lintDocument(aReport(findings), { next }), pipe)).toMatchFileSnapshot(
      "snapshots/folded.txt",
    );
  });

  it("folds what one rule says of many tools of a server; other severities, servers and messages stay apart", () => {
    const name = (server: string, n: number, parameter: string, message = `The unit "${parameter}" is free text.`) =>
      aFinding({
        rule: "unit-without-enum",
        severity: "warning",
        message,
        location: { server, tool: `tool_${n}`, path: `$.inputSchema.properties.${parameter}` },
      });
    const findings = [
      ...Array.from({ length: 6 }, (_, n) => name("weather", n, n % 2 ? "unit" : "scale")),
      name("weather", 5, "weight"),
      name("weather", 9, "length", "The length is a string."),
      name("roads", 1, "unit"),
    ];
    const folded = renderTerminal(lintDocument(aReport(findings), { next }), pipe);
    expect(folded).toMatch(/^warning +unit-without-enum +9 +8$/m);
    expect(folded.slice(folded.indexOf("weather\n"))).toMatchSnapshot();
    const whole = renderTerminal(lintDocument(aReport(findings), { isWhole: true }), pipe);
    expect(whole.match(/^ {2}warning unit-without-enum {2}/gm)).toHaveLength(9);
    expect(JSON.parse(safeJson(aReport(findings))).findings).toHaveLength(9);
    const sarif = JSON.parse(findingSarif(listOf(aReport(findings)), "1.2.3"));
    expect(sarif.runs[0].results).toHaveLength(9);
  });
});

describe("for a GitHub workflow", () => {
  it("annotates the line of the finding, or the line that names the server", () => {
    expect(obeyed(githubRendered(mixed))).toMatchSnapshot();
  });

  it("writes at most ten annotations per level and counts the rest", () => {
    const lines = obeyed(githubRendered(aReport(Array.from({ length: 25 }, () => aFinding()))));
    expect(lines).toHaveLength(10);
    expect(lines[9]).toBe("::error title=tool-evals::and 16 more annotations: see all in the log of this step");
  });
});

describe("the catalog", () => {
  it("renders as a list", () => {
    expect(renderTerminal(rulesDocument(ruleInfos.slice(0, 1)), pipe)).toBe(
      "1 rule\n\ntools: 1 rule\n  required-unknown (error)\n    A model cannot give what is described nowhere.\n",
    );
  });

  it("renders as Markdown, with a row for each rule", () => {
    const page = rulesMarkdown(ruleInfos);
    expect(page.slice(page.indexOf("## Rules"))).toMatchSnapshot();
  });
});
