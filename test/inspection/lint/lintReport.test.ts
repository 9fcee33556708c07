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
    expect(renderTerminal(lintDocument(aReport(findings), { next }), pipe)).toMatchInlineSnapshot(`
      "PASSED 0 errors, 0 warnings, 3 info · linted nothing
        Next: see what a model picks with \`evals run\`.

      Not shown: 3 info (2 id-as-number, 1 count-as-number). Show them with --all.
      "
    `);
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
    expect(renderTerminal(lintDocument(report, { next }), { ...pipe, width: 60 })).toMatchInlineSnapshot(`
      "PASSED 0 errors, 0 warnings, 0 info · linted nothing
        Next: see what a model picks with \`evals run\`.

      What a model can confuse
      similarity  pair                        shared words
      ────────────────────────────────────────────────────
      0.79        list_directory, list_files  list files

      Changes in the tool list
        breaking: get_a was removed.
      "
    `);
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
    expect(folded.slice(folded.indexOf("weather\n"))).toMatchInlineSnapshot(`
      "weather
        warning unit-without-enum (7 times in 6 tools)  tool_0 $.inputSchema.properties.scale
          The unit "scale" is free text.
          Fix: Add it to properties.
          Also: tool_1 $.inputSchema.properties.unit, tool_2 $.inputSchema.properties.scale, tool_3
            $.inputSchema.properties.unit, tool_4 $.inputSchema.properties.scale, 2 more (--all shows
            each)

      weather · tool_9
        warning unit-without-enum  $.inputSchema.properties.length
          The length is a string.
          Fix: Add it to properties.

      roads · tool_1
        warning unit-without-enum  $.inputSchema.properties.unit
          The unit "unit" is free text.
          Fix: Add it to properties.
      "
    `);
    const whole = renderTerminal(lintDocument(aReport(findings), { isWhole: true }), pipe);
    expect(whole.match(/^ {2}warning unit-without-enum {2}/gm)).toHaveLength(9);
    expect(JSON.parse(safeJson(aReport(findings))).findings).toHaveLength(9);
    const sarif = JSON.parse(findingSarif(listOf(aReport(findings)), "1.2.3"));
    expect(sarif.runs[0].results).toHaveLength(9);
  });
});

describe("for a GitHub workflow", () => {
  it("annotates the line of the finding, or the line that names the server", () => {
    expect(obeyed(githubRendered(mixed))).toMatchInlineSnapshot(`
      [
        "::error file=.mcp.json,line=3,col=7,title=lint%3A error::server "files" did not start: exit code 1%0ARun it directly.",
        "::error file=lists/a b.json,line=12,col=5,title=tools · find city%3A required-unknown $.inputSchema.properties["the city"]::required names "city", which is no property.%0AAdd it to properties.",
        "::warning file=evals/lint.yaml,line=3,col=5,title=lint%3A warning::The suppression of name-length suppresses nothing.%0Aold",
        "::warning file=evals/weather.yaml,line=2,col=9,title=weather · get_weather%3A description-missing $::The tool has no description.%0ASay what the tool does, when to call it, and which sibling to call for the rest of what users ask for.",
        "::notice file=evals/weather.yaml,line=4,col=3,title=evals/weather.yaml%3A tool-coverage $.cases::1 of 2 listed tools is expected by no case: find_city.%0AAdd a query for it.",
      ]
    `);
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
    expect(page.slice(page.indexOf("## Rules"))).toMatchInlineSnapshot(`
      "## Rules for tools

      | rule | severity | why |
      |---|---|---|
      | required-unknown | error | A model cannot give what is described nowhere. [Source](https://json-schema.org/x#y) |

      ## Rules for suites

      | rule | severity | why |
      |---|---|---|
      | suite-size | warning | Few queries \\| little known. |
      "
    `);
  });
});
