import { describe, expect, it } from "vitest";
import { formatJsonPath } from "../../../src/evals/base/jsonSchema/walk.ts";
import { isSuppressing, type Settings } from "../../../src/evals/base/types/finding.ts";
import { loadLintSettings } from "../../../src/evals/input/suites/load.ts";
import {
  type Families,
  type LintSubject,
  type Rule,
  runRules,
  type ToolSubject,
  type Violation,
} from "../../../src/evals/inspection/lint/rule.ts";
import { complaint, load, workspace } from "../../input/suites/workspace.ts";
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

const lintTools = (targets: readonly LintSubject[], ...tools: Rule<ToolSubject>[]) =>
  runRules(targets, { ...none, tools });

describe("lint", () => {
  it("says what each rule found, where, and counts it", () => {
    const rules = [aRule("one"), aRule("two", { severity: "error" })];
    const { findings, ...counted } = lintTools([aTarget("x"), aTarget("y")], ...rules);
    const location = { server: "s", tool: "x", path: "$.name" };
    expect(findings).toEqual([
      { rule: "one", severity: "warning", message: "one is broken.", fix: "Fix it.", location },
      { rule: "two", severity: "error", message: "two is broken.", fix: "Fix it.", location },
    ]);
    expect(counted).toEqual({
      unusedSuppressions: [],
      counts: { error: 1, warning: 1, info: 0, suppressed: 0, linted: { tools: 2 } },
    });
  });

  it("runs the rules of a kind on that kind alone", () => {
    const families = { ...none, suites: [{ ...aRule("s"), check: () => [{ at: [], message: "", fix: "" }] }] };
    expect(runRules([aTarget("x")], families).findings).toEqual([]);
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

/** Finds something in every tool, in none, and in every list. */
const found: readonly Violation[] = [{ at: [], message: "Broken.", fix: "Fix it." }];
const base = { severity: "error", why: "", docs: "" } as const;
const families: Families = {
  ...none,
  tools: [
    { ...base, id: "always", check: () => found },
    { ...base, id: "never", check: () => [] },
  ],
  toolsets: [{ ...base, id: "in-list", check: () => found }],
};

const suppressing = (...ignore: NonNullable<Settings["ignore"]>) => ({ ignore });
const reason = "it has to be so";

describe("a suppression", () => {
  it("keeps the finding with its reason, and takes it out of the counts", () => {
    const { findings, counts, unusedSuppressions } = runRules(
      [aTarget("a", suppressing({ rule: "always", reason }))],
      families,
    );
    expect(findings.map(({ rule, suppressed }) => [rule, suppressed])).toEqual([["always", reason]]);
    expect(counts).toEqual({ error: 0, warning: 0, info: 0, suppressed: 1, linted: { tools: 1 } });
    expect(unusedSuppressions).toEqual([]);
  });

  it("holds for the tools that it names, from whatever settings it comes", () => {
    const targets = ["get_a", "get_b", "set_a"].map((name) =>
      aTarget(name, {}, suppressing({ rule: "always", tool: "get_*", reason })),
    );
    const { findings } = runRules(targets, families);
    expect(findings.map(({ location, suppressed }) => [location.tool, suppressed])).toEqual([
      ["get_a", reason],
      ["get_b", reason],
      ["set_a", undefined],
    ]);
  });

  it("is unused when its rule ran over what it names and found nothing", () => {
    const unused = { rule: "never", tool: "a", reason };
    expect(runRules([aTarget("a", suppressing(unused))], families).unusedSuppressions).toEqual([unused]);
  });

  it.each([
    ["its rule did not run", suppressing({ rule: "in-list", reason })],
    ["its tool was not there", suppressing({ rule: "never", tool: "b", reason })],
    ["its rule is off", { ...suppressing({ rule: "never", reason }), severities: { never: "off" } } as const],
  ])("is not unused when %s", (_, settings) => {
    expect(runRules([aTarget("a", settings)], families).unusedSuppressions).toEqual([]);
  });

  it("names a tool of a list by where the finding is", () => {
    const target: LintSubject = {
      kind: "toolsets",
      subject: { server: "s", tools: [{ name: "a" }] },
      names: ["a", "b"],
      settings: [suppressing({ rule: "in-list", tool: "a", reason })],
      where: () => ({ server: "s", tool: "b", path: "$" }),
    };
    const { counts, unusedSuppressions } = runRules([target], families);
    expect([counts.error, unusedSuppressions.length]).toEqual([1, 1]);
  });
});

describe("isSuppressing", () => {
  it.each([
    ["get_*", "get_weather", true],
    ["get_*", "forget_it", false],
    ["*_all", "delete_all", true],
    ["a*a", "a", false],
    ["a*b*c", "a-b-b-c", true],
    ["a*b*c", "a-c-b", false],
    ["*", "", true],
    ["get.a", "get_a", false],
    ["a*", undefined, false],
    [undefined, undefined, true],
  ])("%s and %s: %s", (tool, name, expected) => {
    expect(isSuppressing({ rule: "r", reason, ...(tool !== undefined && { tool }) }, name)).toBe(expected);
  });
});

describe("a file of settings", () => {
  const read = async (text: string) =>
    loadLintSettings("evals/lint.yaml", { cwd: await workspace({ "evals/lint.yaml": text }) });

  it("reports what it suppresses, and where", async () => {
    const { settings, location } = await read(
      'ignore:\n  - { rule: name-length, tool: "get_*", reason: old }\nseverities: { suite-size: off }\n',
    );
    expect(settings).toEqual({
      ignore: [{ rule: "name-length", tool: "get_*", reason: "old" }],
      severities: { "suite-size": "off" },
    });
    expect(location(["ignore", 0, "reason"])).toEqual({ file: "evals/lint.yaml", line: 2, column: 49 });
  });

  it.each([
    ["ignore: [{ rule: a }]", 'evals/lint.yaml:1:10: error: "reason" is missing.'],
    [
      'ignore: [{ rule: a, reason: "" }]',
      'evals/lint.yaml:1:29: error: "reason" is empty.\n  Fill it in, or leave it out.',
    ],
    [
      "ignore: [{ rule: a, reason: r, tol: t }]",
      'evals/lint.yaml:1:32: error: Unknown key "tol".\n  Did you mean "tool"?',
    ],
    ["severities: { a: warn }", 'evals/lint.yaml:1:18: error: "a" must be error | warning | info | off, got "warn".'],
    ["lint: {}", 'evals/lint.yaml:1:1: error: Unknown key "lint".\n  Known keys here: ignore, severities, profile.'],
    ["- a", "evals/lint.yaml:1:1: error: The file must be an object, got a list."],
  ])("reports what is wrong with %j", async (text, message) => {
    expect(await complaint(read(text))).toBe(message);
  });

  it("is read as strictly inside of a suite", async () => {
    const text = "cases: [{ input: hi, expect: { tool: none } }]\nlint: { ignore: [{ rule: a }] }\n";
    expect(await complaint(load({ "s.yaml": text }))).toBe('s.yaml:2:18: error: "reason" is missing.');
  });

  it("changes nothing of what a suite means", async () => {
    const text = "cases: [{ input: hi, expect: { tool: none } }]\n";
    const lintKey = "lint: { ignore: [{ rule: a, reason: r }] }\n";
    const [plain] = (await load({ "s.yaml": text })).suites;
    const [linted] = (await load({ "s.yaml": text + lintKey })).suites;
    expect(linted?.lint).toEqual({ ignore: [{ rule: "a", reason: "r" }] });
    expect(linted?.hash).toBe(plain?.hash);
  });
});
