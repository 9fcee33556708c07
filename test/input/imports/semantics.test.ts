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
    lost: [...file.cases, file].flatMap(({ unsaid }) => unsaid.map(({ what }) => what)),
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
});
