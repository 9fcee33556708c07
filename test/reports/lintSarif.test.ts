import { describe, expect, it } from "vitest";
import * as z from "zod";
import { sarif } from "../../src/evals/reports/sarif.ts";
import type { LintReport } from "../../src/evals/types/lint.ts";
import { aFinding, aReport, hostile, mixed, ruleInfos } from "./lintSamples.ts";

// What SARIF 2.1.0 (OASIS, sarif-schema-2.1.0.json) requires of the parts that are written here, and no key beyond them.
const text = z.string().min(1);
const level = z.enum(["none", "note", "warning", "error"]);
const messageSchema = z.strictObject({ text });
const helpSchema = z.strictObject({ text, markdown: text });
const uri = z.string().regex(/^[^\s:\\]+$/, "a relative URI reference");
const physical = z.strictObject({
  artifactLocation: z.strictObject({ uri }),
  region: z.strictObject({ startLine: z.int().min(1), startColumn: z.int().min(1).optional() }).optional(),
});
const notificationSchema = z.strictObject({
  level,
  message: messageSchema,
  locations: z.array(z.strictObject({ physicalLocation: physical })).optional(),
});
const resultSchema = z.strictObject({
  ruleId: text,
  ruleIndex: z.int().min(-1),
  level,
  message: messageSchema,
  locations: z.tuple([
    z.strictObject({
      physicalLocation: physical.optional(),
      logicalLocations: z.array(z.strictObject({ fullyQualifiedName: text, kind: text })).min(1),
    }),
  ]),
  partialFingerprints: z.record(z.string(), z.string()),
  suppressions: z
    .array(
      z.strictObject({
        kind: z.enum(["inSource", "external"]),
        status: z.enum(["accepted", "underReview", "rejected"]),
        justification: text,
      }),
    )
    .optional(),
});
const logSchema = z.strictObject({
  $schema: z.url(),
  version: z.literal("2.1.0"),
  runs: z.tuple([
    z.strictObject({
      tool: z.strictObject({
        driver: z.strictObject({
          name: text,
          version: text,
          rules: z.array(
            z.strictObject({
              id: text,
              shortDescription: messageSchema,
              fullDescription: messageSchema,
              help: helpSchema,
              helpUri: z.url().optional(),
              defaultConfiguration: z.strictObject({ level }),
            }),
          ),
        }),
      }),
      columnKind: z.enum(["utf16CodeUnits", "unicodeCodePoints"]),
      invocations: z.tuple([
        z.strictObject({
          executionSuccessful: z.boolean(),
          exitCode: z.int(),
          toolExecutionNotifications: z.array(notificationSchema),
        }),
      ]),
      results: z.array(resultSchema).max(5_000),
    }),
  ]),
});

function runOf(report: LintReport) {
  const log = logSchema.parse(JSON.parse(sarif(report, { rules: ruleInfos, version: "1.2.3" })));
  return log.runs[0];
}

describe("SARIF", () => {
  it("has the results, errors first and suppressed ones last, with rule, place and remedy", () => {
    const { results } = runOf(mixed);
    expect(
      results.map(({ ruleId, level: as, message, locations: [at], suppressions }) => ({
        result: `${as} ${ruleId}: ${message.text}`,
        at: at.physicalLocation,
        about: at.logicalLocations[0]?.fullyQualifiedName,
        suppressions,
      })),
    ).toMatchInlineSnapshot(`
      [
        {
          "about": "tools · find city $.inputSchema.properties["the city"]",
          "at": {
            "artifactLocation": {
              "uri": "lists/a%20b.json",
            },
            "region": {
              "startColumn": 5,
              "startLine": 12,
            },
          },
          "result": "error required-unknown: required names "city", which is no property. Add it to properties.",
          "suppressions": undefined,
        },
        {
          "about": "weather · get_weather $",
          "at": {
            "artifactLocation": {
              "uri": "evals/weather.yaml",
            },
            "region": {
              "startColumn": 9,
              "startLine": 2,
            },
          },
          "result": "warning description-missing: The tool has no description. Say what the tool does, when to call it, and which sibling to call for the rest of what users ask for.",
          "suppressions": undefined,
        },
        {
          "about": "evals/weather.yaml $.cases",
          "at": {
            "artifactLocation": {
              "uri": "evals/weather.yaml",
            },
            "region": {
              "startColumn": 3,
              "startLine": 4,
            },
          },
          "result": "note tool-coverage: 1 of 2 listed tools is expected by no case: find_city. Add a query for it.",
          "suppressions": undefined,
        },
        {
          "about": "weather · get_weather $.inputSchema.required[0]",
          "at": undefined,
          "result": "error required-unknown: required names "city", which is no property. Add it to properties.",
          "suppressions": [
            {
              "justification": "the host fills it",
              "kind": "external",
              "status": "accepted",
            },
          ],
        },
      ]
    `);
  });

  it("tells of each rule that found something, once", () => {
    const { tool, results } = runOf(mixed);
    const { rules } = tool.driver;
    expect(rules.map(({ id, helpUri, defaultConfiguration }) => [id, helpUri, defaultConfiguration.level])).toEqual([
      ["required-unknown", "https://json-schema.org/x#y", "error"],
    ]);
    expect(
      results.filter(({ ruleIndex }) => ruleIndex >= 0).map(({ ruleId, ruleIndex }) => [ruleId, ruleIndex]),
    ).toEqual([
      ["required-unknown", 0],
      ["required-unknown", 0],
    ]);
  });

  it("tells what could not be linted, and what suppresses nothing", () => {
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
          message: { text: "The suppression of name-length suppresses nothing: old" },
          locations: [{ physicalLocation: { artifactLocation: { uri: "evals/lint.yaml" } } }],
        },
      ],
    });
  });

  it("knows a finding again when its line moved, and tells equal ones apart", () => {
    const at = (line: number) => aFinding({ where: { server: "s", tool: "t", path: "$", file: "f.json", line } });
    const prints = (report: LintReport) => runOf(report).results.map(({ partialFingerprints }) => partialFingerprints);
    const moved = prints(aReport([at(7)]));
    expect(moved).toEqual(prints(aReport([at(9)])));
    expect(moved).not.toEqual(prints(aReport([aFinding({ where: { server: "s", tool: "u", path: "$" } })])));
    const [first, second] = prints(aReport([at(7), at(7)]));
    expect(first).not.toEqual(second);
  });

  it("holds 5,000 results, errors before the others, and counts the rest", () => {
    const few = aFinding({ severity: "error" });
    const many = Array.from({ length: 5_003 }, () => aFinding({ severity: "info" }));
    const { results, invocations } = runOf(aReport([...many, few]));
    expect([results.length, results[0]?.level]).toEqual([5_000, "error"]);
    expect(invocations[0].toolExecutionNotifications).toEqual([
      { level: "warning", message: { text: "4 more findings are left out." } },
    ]);
  });

  it("shows no control character of a server", () => {
    const [result] = runOf(hostile).results;
    const shown = [result?.message.text, result?.locations[0].logicalLocations[0]?.fullyQualifiedName].join("");
    expect(shown).toContain("\\u{202e}");
    expect(shown).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });
});
