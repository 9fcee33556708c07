import { describe, expect, it } from "vitest";
import { formatJsonPath } from "../../../src/evals/base/jsonSchema/walk.ts";
import type { Settings } from "../../../src/evals/base/types/lint.ts";
import { lint } from "../../../src/evals/inspection/lint/lint.ts";
import type { Families, LintSubject, Rule, ToolSubject, Violation } from "../../../src/evals/inspection/lint/rule.ts";
import { aToolSubject } from "./cases/cases.ts";

const none: Families = {
  tools: [],
  toolsets: [],
  "judged tools": [],
  versions: [],
  skills: [],
  "eval files": [],
  "host entries": [],
  suites: [],
};

/** A rule that finds this in a tool whose name holds an `x`. */
function aRule(id: string, changes: Partial<Rule<ToolSubject>> = {}): Rule<ToolSubject> {
  const found: Violation[] = [{ at: ["name"], message: `${id} is broken.`, fix: "Fix it." }];
  const check = ({ tool }: ToolSubject) => (String(tool.name).includes("x") ? found : []);
  return { id, severity: "warning", why: "", docs: "", check, ...changes };
}

function aTarget(name: string, ...settings: Settings[]): LintSubject {
  return {
    kind: "tools",
    subject: aToolSubject({ name }),
    names: [name],
    settings,
    where: (at) => ({ server: "s", tool: name, path: formatJsonPath(at) }),
  };
}

const lintTools = (targets: readonly LintSubject[], ...tools: Rule<ToolSubject>[]) => lint(targets, { ...none, tools });

describe("lint", () => {
  it("says what each rule found, where, and counts it", () => {
    const rules = [aRule("one"), aRule("two", { severity: "error" })];
    expect(lintTools([aTarget("x"), aTarget("y")], ...rules)).toEqual({
      findings: [
        {
          rule: "one",
          severity: "warning",
          message: "one is broken.",
          fix: "Fix it.",
          location: { server: "s", tool: "x", path: "$.name" },
        },
        {
          rule: "two",
          severity: "error",
          message: "two is broken.",
          fix: "Fix it.",
          location: { server: "s", tool: "x", path: "$.name" },
        },
      ],
      unusedSuppressions: [],
      counts: { error: 1, warning: 1, info: 0, suppressed: 0, linted: { tools: 2 } },
    });
  });

  it("runs the rules of a kind on that kind alone", () => {
    const families = { ...none, suites: [{ ...aRule("s"), check: () => [{ at: [], message: "", fix: "" }] }] };
    expect(lint([aTarget("x")], families).findings).toEqual([]);
  });

  it("goes by the first settings that name a rule", () => {
    const strong = { severities: { one: "info" } } as const;
    const weak = { severities: { one: "error", two: "error" } } as const;
    const { findings } = lintTools([aTarget("x", strong, weak)], aRule("one"), aRule("two"), aRule("three"));
    expect(findings.map(({ rule, severity }) => [rule, severity])).toEqual([
      ["one", "info"],
      ["two", "error"],
      ["three", "warning"],
    ]);
  });

  it("does not look at a rule that is off", () => {
    const check = () => {
      throw new Error("was looked at");
    };
    const off = { severities: { one: "off" } } as const;
    expect(lintTools([aTarget("x", off)], aRule("one", { check })).findings).toEqual([]);
  });

  it("shows texts of any size in a few hundred signs", () => {
    const long = "x".repeat(10_000_000);
    const check = () => [{ at: [long], message: long, fix: long }];
    const { findings } = lintTools([aTarget(long)], aRule("one", { check }));
    expect(JSON.stringify(findings).length).toBeLessThan(3_000);
    expect(findings[0]?.message).toMatch(/^x{499}…$/);
  });
});

describe("formatJsonPath", () => {
  it.each([
    [[], "$"],
    [["inputSchema", "properties", "unit", "enum", 0], "$.inputSchema.properties.unit.enum[0]"],
    [["a\u200bb", "\u202e", "a\nb"], '$["a\\u{200b}b"]["\\u{202e}"]["a\\nb"]'],
    [["a b", 'say "hi"', "0", "_x1"], '$["a b"]["say \\"hi\\""]["0"]._x1'],
  ])("writes %j", (path, text) => {
    expect(formatJsonPath(path)).toBe(text);
  });
});
