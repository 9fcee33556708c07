import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createGrader } from "../../../src/evals/asking/scoring/score.ts";
import type { Json, JsonObject } from "../../../src/evals/base/types/json.ts";
import type { CaseFile } from "../../../src/evals/base/types/suite.ts";
import { formats } from "../../../src/evals/input/imports/find.ts";
import { parseJson } from "../../../src/evals/input/parsing/json.ts";
import { buildSuite } from "../../../src/evals/input/suites/build.ts";
import { checkSuite } from "../../../src/evals/input/suites/validate.ts";
import { call, toolsetOf, turn } from "../../asking/scoring/make.ts";

type Called = { tool: string; args?: JsonObject };

const tools = ["a", "b", "c"];
const offered = toolsetOf(tools.map((name) => ({ name })));

/** Imports one source of one case: the case, if it is kept, and what is named as lost. */
async function importOne(name: string, text: string) {
  const format = formats.find((one) => one.name === name);
  if (!format) throw new Error(`There is no format ${name}.`);
  const file = await format.read({ path: "/source.json", file: "source.json", text }, { cwd: "/", judged: false });
  return {
    kept: file.cases.flatMap((one) => (one.kind === "kept" ? [one.content] : [])),
    lost: [...file.cases, file].flatMap(({ losses }) => losses.map(({ what }) => what)),
  };
}

/** Decides whether calls, each in a turn of its own, pass a case. Undefined for a case that no calls can pass: it is left out. */
function createRule(content: CaseFile): Source["rule"] | undefined {
  const suite = { cases: [content] } as unknown as Json;
  const { checked, problems } = checkSuite(suite);
  if (problems.some(({ message }) => message.includes("no trial can pass"))) return undefined;
  if (!checked) throw new Error(JSON.stringify(problems));
  const parsed = parseJson(JSON.stringify(suite), "suite.json");
  const [one] = buildSuite(checked, parsed, "/").cases;
  if (!one) throw new Error("no case");
  const grade = createGrader(one, offered);
  return (calls) => grade([...calls.map(({ tool, args }) => turn(call(tool, args))), turn()]).grade === "pass";
}

const toolName = fc.constantFrom(...tools);
const someArgs = fc.dictionary(fc.constantFrom("x", "y"), fc.constantFrom<Json>(1, "1", null), { maxKeys: 2 });
const someCalls = fc.array(fc.record({ tool: toolName, args: someArgs }), { maxLength: 4 });

/** A source, its text and its own rule. */
type Source = { text: string; rule: (calls: readonly Called[]) => boolean };

/** Compares the rule of a source with ours, on sources of which nothing is named as lost. Returns how many there were. */
async function compare(format: string, source: fc.Arbitrary<Source>): Promise<number> {
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(source, fc.array(someCalls, { minLength: 5, maxLength: 5 }), async ({ text, rule }, trials) => {
      const { kept, lost } = await importOne(format, text);
      const [content] = kept;
      const ours = content && lost.length === 0 ? createRule(content) : undefined;
      if (!ours) return;
      compared++;
      for (const calls of trials) expect([content, calls, ours(calls)]).toEqual([content, calls, rule(calls)]);
    }),
    { numRuns: 400 },
  );
  return compared;
}

const names = (calls: readonly Called[]) => calls.map(({ tool }) => tool);
const has = (args: JsonObject | undefined, key: string, value: Json | undefined) =>
  Object.hasOwn(args ?? {}, key) && args?.[key] === value;

type Assertion = { json: JsonObject; rule: Source["rule"] };

/** From promptfoo's documentation of deterministic assertions. */
const promptfooAssertion: fc.Arbitrary<Assertion> = fc.oneof(
  fc.uniqueArray(toolName, { minLength: 1 }).map((value) => ({
    json: { type: "trajectory:tool-used", value },
    rule: (calls: readonly Called[]) => value.every((tool) => names(calls).includes(tool)),
  })),
  fc.uniqueArray(toolName, { minLength: 1 }).map((value) => ({
    json: { type: "not-trajectory:tool-used", value },
    rule: (calls: readonly Called[]) => !value.some((tool) => names(calls).includes(tool)),
  })),
  fc
    .record({ name: toolName, min: fc.nat(2), max: fc.option(fc.nat(3), { nil: undefined }) })
    .map(({ name, min, max }) => ({
      json: { type: "trajectory:tool-used", value: { name, min, ...(max !== undefined && { max }) } },
      rule: (calls: readonly Called[]) => {
        const count = names(calls).filter((tool) => tool === name).length;
        return count >= min && (max === undefined || count <= max);
      },
    })),
  fc
    .record({ name: toolName, args: someArgs, mode: fc.constantFrom("exact", "partial"), defaults: someArgs })
    .map(({ defaults, ...value }) => ({
      json: { type: "trajectory:tool-args-match", value: { ...value, defaults } },
      rule: (calls: readonly Called[]) =>
        calls.some(({ tool, args = {} }) => {
          const left = Object.entries(args).filter(([key, given]) => !has(defaults, key, given));
          return (
            tool === value.name &&
            Object.entries(value.args).every(([key, one]) =>
              left.some(([name, given]) => name === key && given === one),
            ) &&
            (value.mode === "partial" || left.length === Object.keys(value.args).length)
          );
        }),
    })),
  fc
    .record({ steps: fc.array(toolName, { minLength: 1, maxLength: 3 }), mode: fc.constantFrom("exact", "in_order") })
    .map((value) => ({
      json: { type: "trajectory:tool-sequence", value },
      rule: (calls: readonly Called[]) => {
        if (value.mode === "exact") return JSON.stringify(names(calls)) === JSON.stringify(value.steps);
        let at = 0;
        for (const tool of names(calls)) if (tool === value.steps[at]) at++;
        return at === value.steps.length;
      },
    })),
  fc.record({ first: toolName, second: toolName, threshold: fc.constantFrom(0.5, 0.6, 1) }).map((set) => ({
    json: {
      type: "assert-set",
      threshold: set.threshold,
      assert: [set.first, set.second].map((value) => ({ type: "trajectory:tool-used", value })),
    },
    rule: (calls: readonly Called[]) => {
      const met = [set.first, set.second].filter((tool) => names(calls).includes(tool)).length;
      return met / 2 >= set.threshold;
    },
  })),
  fc.record({ name: toolName, weight: fc.constantFrom(0, 2) }).map(({ name, weight }) => ({
    json: { type: "trajectory:tool-used", value: name, weight },
    rule: (calls: readonly Called[]) => weight === 0 || names(calls).includes(name),
  })),
);

describe("the rule of a source", () => {
  it("is ours for promptfoo, where nothing is named as lost", async () => {
    const source = fc
      .record({
        assertions: fc.array(promptfooAssertion, { minLength: 1, maxLength: 3 }),
        isShared: fc.boolean(),
      })
      .map(({ assertions, isShared }): Source => {
        const assert = assertions.map(({ json }) => json);
        const [own, shared] = isShared ? [assert.slice(1), assert.slice(0, 1)] : [assert, []];
        const config = {
          prompts: ["{{q}}"],
          defaultTest: { assert: shared },
          tests: [{ vars: { q: "Go" }, assert: own }],
        };
        return { text: JSON.stringify(config), rule: (calls) => assertions.every(({ rule }) => rule(calls)) };
      });
    expect(await compare("promptfoo", source)).toBeGreaterThan(40);
  });

  it("is ours for Vally: required calls by whole names and patterns of arguments, and forbidden ones", async () => {
    const required = fc.uniqueArray(fc.record({ name: toolName, x: fc.option(fc.constantFrom("1", "^1$", "2")) }), {
      minLength: 1,
      maxLength: 2,
      selector: ({ name }) => name,
    });
    const source = fc
      .record({ required, disallowed: fc.option(toolName) })
      .map(({ required: wanted, disallowed }): Source => {
        const config = {
          required: wanted.map(({ name, x }) => ({ name: `^${name}$`, ...(x !== null && { args: { x } }) })),
          ...(disallowed !== null && { disallowed: [`^${disallowed}$`] }),
        };
        const stimuli = [{ name: "s", prompt: "Go", graders: [{ type: "tool-calls", config }] }];
        const isMet = ({ name, x }: (typeof wanted)[number], calls: readonly Called[]) =>
          calls.some(
            ({ tool, args }) =>
              tool === name && (x === null || (typeof args?.x === "string" && new RegExp(x).test(args.x))),
          );
        return {
          text: JSON.stringify({ stimuli }),
          rule: (calls) =>
            wanted.every((one) => isMet(one, calls)) && !names(calls).some((tool) => tool === disallowed),
        };
      });
    expect(await compare("vally", source)).toBeGreaterThan(40);
  });

  it("is ours for PostHog: any expected or acceptable tool, after any other calls", async () => {
    const source = fc
      .record({ expected: fc.uniqueArray(toolName, { minLength: 1 }), acceptable: fc.uniqueArray(toolName) })
      .map(({ expected, acceptable }): Source => {
        const others = acceptable.filter((name) => !expected.includes(name));
        const task = { id: "t", intent: "Go", expected_tools: expected, acceptable_tools: others };
        return {
          text: JSON.stringify({ tasks: [task] }),
          rule: (calls) => names(calls).some((tool) => expected.includes(tool) || others.includes(tool)),
        };
      });
    expect(await compare("posthog", source)).toBeGreaterThan(40);
  });

  it.each([
    ["apify", { testCases: [{ id: "t", query: "Go", expectedTools: ["a"] }], model: "m" }, ['the key "model"']],
    ["posthog", { tasks: [{ id: "t", intent: "Go", expected_tools: ["a"] }], timeout: 3 }, ['the key "timeout"']],
    ["whichtool", { tasks: [{ id: "t", prompt: "Go", expected: "a" }], surface: "s" }, ['the key "surface"']],
    [
      "mcp-evals",
      { evals: [{ name: "t", prompt: "Go", expected_result: "yes" }], model: { name: "m" } },
      ['the key "model"'],
    ],
    [
      "apify-tasks",
      [{ id: "t", query: "Go", reference: "r", maxTurns: 400 }],
      ["maxTurns that is no whole number from 1 to 100"],
    ],
    [
      "vally",
      {
        stimuli: [{ name: "s", prompt: "Go", graders: [{ type: "tool-calls", config: { required: ["(?i)a|b"] } }] }],
      },
      ["a pattern that fits longer names of tools as well", "names of tools in any case of letters"],
    ],
  ])("names what %s says and a suite does not", async (format, source, what) => {
    expect((await importOne(format, JSON.stringify(source))).lost).toEqual(what);
  });

  it("keeps every function of an accepted answer of the Berkeley leaderboard", async () => {
    const entry = {
      id: "p",
      question: [[{ role: "user", content: "Go" }]],
      function: [],
      ground_truth: [{ a: { x: [1] }, b: {} }],
      level: 2,
    };
    const { kept, lost } = await importOne("bfcl", JSON.stringify(entry));
    expect(kept[0]?.expect?.calls?.map(({ tool }) => tool)).toEqual(["a", "b"]);
    expect(lost).toContain('the key "level"');
  });
});
