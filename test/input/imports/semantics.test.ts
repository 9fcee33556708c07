import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createGrader } from "../../../src/evals/asking/scoring/score.ts";
import type { Json, JsonObject } from "../../../src/evals/base/types/json.ts";
import type { CaseFile } from "../../../src/evals/base/types/suiteFile.ts";
import { formats } from "../../../src/evals/input/imports/find.ts";
import type { SourceRun, Value } from "../../../src/evals/input/imports/source/run.ts";
import { parseJson } from "../../../src/evals/input/parsing/json.ts";
import { buildSuite } from "../../../src/evals/input/suites/build.ts";
import { checkSuite } from "../../../src/evals/input/suites/validate.ts";
import { call, toolsetOf, turn } from "../../asking/scoring/make.ts";

type Called = { tool: string; args?: JsonObject };

const tools = ["a", "b", "c"];
const offered = toolsetOf(tools.map((name) => ({ name })));

/** Imports one source of one case, or what running it gave: the case, if it is kept, and what is named as lost. */
async function importOne(name: string, source: string | SourceRun) {
  const format = formats.find((one) => one.name === name);
  if (!format) throw new Error(`There is no format ${name}.`);
  const given = typeof source === "string" ? { text: source } : { text: "", run: source };
  const file = await format.read({ path: "/source.json", file: "source.json", ...given }, { cwd: "/", judged: false });
  return {
    kept: file.cases.flatMap((one) => (one.kind === "kept" ? [one.content] : [])),
    lost: [...file.cases, file].flatMap(({ losses }) => losses.map(({ what }) => what)),
  };
}

/** Decides whether calls pass a case. Undefined for a case that no calls can pass: it is left out. */
function createRule(content: CaseFile, { areTogether, isMet }: Reading): Source["rule"] | undefined {
  const suite = { cases: [content] } as unknown as Json;
  const { checked, problems } = checkSuite(suite);
  if (problems.some(({ message }) => message.includes("no trial can pass"))) return undefined;
  if (!checked) throw new Error(JSON.stringify(problems));
  const parsed = parseJson(JSON.stringify(suite), "suite.json");
  const [one] = buildSuite(checked, parsed, "/").cases;
  if (!one) throw new Error("no case");
  const own = content.tools as unknown as Parameters<typeof toolsetOf>[0] | undefined;
  const grade = createGrader(one, own ? toolsetOf(own) : offered);
  const judge = () => (isMet ? { met: "yes" as const } : { met: "no" as const, why: "the judge says no" });
  return (called) => {
    const calls = called.map(({ tool, args }) => call(tool, args));
    const turns = areTogether ? [turn(...calls)] : [...calls.map((made) => turn(made)), turn()];
    return grade(turns, judge).grade === "pass";
  };
}

const toolName = fc.constantFrom(...tools);
const someArgs = fc.dictionary(fc.constantFrom("x", "path"), fc.constantFrom<Json>(1, "1", null), { maxKeys: 2 });
const someCalls = fc.array(fc.record({ tool: toolName, args: someArgs }), { maxLength: 4 });

/** A source, its text or what running it gave, its own rule, and what its judge says. */
type Source = { text: string | SourceRun; rule: (calls: readonly Called[]) => boolean; isMet?: boolean };

/** `areTogether`: all calls are made in one reply; else each in a reply of its own. */
type Reading = { areTogether?: boolean | undefined; isMet?: boolean | undefined };

/** How calls are made, and what may be named as lost because the calls of the test cannot show it. */
type Comparison = Pick<Reading, "areTogether"> & { accepted?: readonly string[]; calls?: fc.Arbitrary<Called[]> };

/** Compares the rule of a source with ours, on sources of which nothing else is named as lost: fails if they are rare. */
async function compare(
  format: string,
  source: fc.Arbitrary<Source>,
  { areTogether, accepted = [], calls: made = someCalls }: Comparison = {},
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(source, fc.array(made, { minLength: 5, maxLength: 5 }), async ({ text, rule, isMet }, trials) => {
      const { kept, lost } = await importOne(format, text);
      const [content] = kept;
      const isWhole = lost.every((what) => accepted.includes(what));
      const ours = content && isWhole ? createRule(content, { areTogether, isMet }) : undefined;
      if (!ours) return fc.pre(false);
      for (const calls of trials) expect([content, calls, ours(calls)]).toEqual([content, calls, rule(calls)]);
    }),
    { numRuns: 100, maxSkipsPerRun: 20 },
  );
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

const count = (calls: readonly Called[], tool: string) => names(calls).filter((one) => one === tool).length;
const isIn = (wanted: readonly string[], made: readonly string[]) => {
  let at = 0;
  for (const tool of made) if (tool === wanted[at]) at++;
  return at === wanted.length;
};
const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);
const sorted = (args: JsonObject = {}) => Object.entries(args).sort(([one], [other]) => (one < other ? -1 : 1));

const promptfooSource = fc
  .record({ assertions: fc.array(promptfooAssertion, { minLength: 1, maxLength: 3 }), isShared: fc.boolean() })
  .map(({ assertions, isShared }): Source => {
    const assert = assertions.map(({ json }) => json);
    const [own, shared] = isShared ? [assert.slice(1), assert.slice(0, 1)] : [assert, []];
    const tests = [{ vars: { q: "Go" }, assert: own }];
    return {
      text: JSON.stringify({ prompts: ["{{q}}"], defaultTest: { assert: shared }, tests }),
      rule: (calls) => assertions.every(({ rule }) => rule(calls)),
    };
  });

/** Required calls by whole names and patterns of arguments, and forbidden ones. */
const vallySource = fc
  .record({
    required: fc.uniqueArray(fc.record({ name: toolName, x: fc.option(fc.constantFrom("1", "^1$", "2")) }), {
      minLength: 1,
      maxLength: 2,
      selector: ({ name }) => name,
    }),
    disallowed: fc.option(toolName),
  })
  .map(({ required, disallowed }): Source => {
    const config = {
      required: required.map(({ name, x }) => ({ name: `^${name}$`, ...(x !== null && { args: { x } }) })),
      ...(disallowed !== null && { disallowed: [`^${disallowed}$`] }),
    };
    const isMet = ({ name, x }: (typeof required)[number], calls: readonly Called[]) =>
      calls.some(
        ({ tool, args }) =>
          tool === name && (x === null || (typeof args?.x === "string" && new RegExp(x).test(args.x))),
      );
    return {
      text: JSON.stringify({ stimuli: [{ name: "s", prompt: "Go", graders: [{ type: "tool-calls", config }] }] }),
      rule: (calls) => required.every((one) => isMet(one, calls)) && !names(calls).some((tool) => tool === disallowed),
    };
  });

/** Any expected or acceptable tool, after any other calls. */
const posthogSource = fc
  .record({ expected: fc.uniqueArray(toolName, { minLength: 1 }), acceptable: fc.uniqueArray(toolName) })
  .map(({ expected, acceptable }): Source => {
    const task = { id: "t", intent: "Go", expected_tools: expected, acceptable_tools: acceptable };
    return {
      text: JSON.stringify({ tasks: [task] }),
      rule: (calls) => names(calls).some((tool) => expected.includes(tool) || acceptable.includes(tool)),
    };
  });

/** "tool-exact-match": the names of one reply, whatever their order. */
const apifySource = fc.array(toolName, { minLength: 1, maxLength: 3 }).map((expectedTools): Source => {
  const wanted = [...expectedTools].sort();
  return {
    text: JSON.stringify({ testCases: [{ id: "t", query: "Go", expectedTools }] }),
    rule: (calls) => same(names(calls).sort(), wanted),
  };
});

/** "first_tool_match": the first call is of an expected tool, and has the listed arguments; others are ignored. */
const apifyTaskSource = fc
  .record({ expectedTools: fc.uniqueArray(toolName, { minLength: 1 }), args: fc.option(someArgs) })
  .map(({ expectedTools, args }): Source => {
    const task = { id: "t", kind: "tool-call", query: "Go", expectedTools, ...(args && { expectedArgs: args }) };
    return {
      text: JSON.stringify([task]),
      rule: ([first]) =>
        first !== undefined &&
        expectedTools.includes(first.tool) &&
        Object.entries(args ?? {}).every(([key, value]) => has(first.args, key, value)),
    };
  });

/** Exactly the expected tool and no other call in one reply; `null` is a distractor, for which none may be called. */
const whichtoolSource = fc.option(toolName).map((expected): Source => {
  return {
    text: JSON.stringify({ tasks: [{ id: "t", prompt: "Go", expected }] }),
    rule: (calls) => same(names(calls), expected === null ? [] : [expected]),
  };
});

/** A model scores the answer, whatever was called. */
const mcpEvalsSource = fc.boolean().map((isMet): Source => {
  const one = { name: "t", prompt: "Go", expected_result: "It went." };
  return { text: JSON.stringify({ evals: [one] }), rule: () => isMet, isMet };
});

const object = (members: { [name: string]: Value }): Value => ({ kind: "object", members });
const stub = (name: string, args?: Value[]): Value => ({ kind: "stub", name, ...(args && { args }) });

/** ToolCallScorer: by default every expected call, any order, any further calls, equal arguments where they are given. */
const vitestEvalsSource = fc
  .record({
    expected: fc.array(fc.record({ name: toolName, args: fc.option(someArgs, { freq: 2 }) }), {
      minLength: 1,
      maxLength: 3,
    }),
    ordered: fc.option(fc.boolean(), { nil: undefined }),
    allowExtras: fc.option(fc.boolean(), { nil: undefined }),
  })
  .map(({ expected, ordered, allowExtras = true }): Source => {
    const fits = (call: Called, { name, args }: (typeof expected)[number]) =>
      call.tool === name && (args === null || same(sorted(call.args), sorted(args)));
    const rule = (calls: readonly Called[]) => {
      const open = [...calls];
      for (const one of ordered ? expected : [...expected].reverse()) {
        const at = ordered
          ? open.findIndex(({ tool }) => tool === one.name || !allowExtras)
          : open.findIndex((call) => fits(call, one));
        const call = open[at];
        if (!call || !fits(call, one)) return false;
        open.splice(ordered ? 0 : at, ordered ? at + 1 : 1);
      }
      return allowExtras || open.length === 0;
    };
    const options = object({ ...(ordered !== undefined && { ordered }), allowExtras });
    const expectedTools = expected.map(({ name, args }) =>
      object({ name, ...(args && { arguments: object(args as { [name: string]: Value }) }) }),
    );
    const described = object({
      data: [object({ input: "Go", expectedTools })],
      scorers: [stub("ToolCallScorer", [options])],
    });
    return { text: { calls: [{ name: "describeEval", args: ["t", described], line: 1 }] }, rule };
  });

type Parameter = { value: Value; fits(given: Json | undefined): boolean };
const matcher = (name: string, args?: Value[]): Value => stub(`Matcher.${name}`, args);

/** Values and matchers of MongoDB, each with what it matches perfectly. */
const mongodbParameter: fc.Arbitrary<Parameter> = fc.constantFrom<Parameter>(
  { value: 1, fits: (given) => given === 1 },
  { value: null, fits: (given) => given === null || given === undefined },
  { value: matcher("undefined"), fits: (given) => given === undefined },
  { value: matcher("null"), fits: (given) => given === null },
  { value: matcher("anyValue"), fits: () => true },
  { value: matcher("number", []), fits: (given) => typeof given === "number" },
  { value: matcher("not", [1]), fits: (given) => given !== 1 },
  { value: matcher("anyOf", [matcher("undefined"), 1]), fits: (given) => given === undefined || given === 1 },
  { value: matcher("emptyObjectOrUndefined"), fits: (given) => given === undefined || given === null },
  { value: matcher("caseInsensitiveString", ["1"]), fits: (given) => given === "1" },
  { value: matcher("arrayOrSingle", [1]), fits: (given) => given === 1 },
);

/** Every required call with perfect parameters; further calls pass (.75) where one is required. */
const mongodbSource = fc
  .uniqueArray(fc.record({ name: toolName, x: fc.option(mongodbParameter), optional: fc.boolean() }), {
    maxLength: 2,
    selector: ({ name }) => name,
  })
  .map((expected): Source => {
    const fits = ({ args = {} }: Called, { x }: (typeof expected)[number]) =>
      Object.keys(args).every((key) => key === "x" && x !== null) && (x === null || x.fits(args.x));
    const expectedToolCalls = expected.map(({ name, x, optional }) =>
      object({ toolName: name, parameters: object(x === null ? {} : { x: x.value }), ...(optional && { optional }) }),
    );
    return {
      text: {
        calls: [{ name: "describeAccuracyTests", args: [[object({ prompt: "Go", expectedToolCalls })]], line: 1 }],
      },
      rule: (calls) => {
        const paired = expected.flatMap((one) => calls.find((call) => call.tool === one.name && fits(call, one)) ?? []);
        const required = expected.filter(({ optional }) => !optional);
        const areMade = required.every((one) => paired.some(({ tool }) => tool === one.name));
        return areMade && (required.length > 0 || paired.length === calls.length);
      },
    };
  });

type Answer = { name: "a" | "b"; s: readonly string[]; n: readonly (number | "")[]; l: readonly (readonly string[])[] };

/** The functions of the leaderboard's case: text, whole number and list; `s` is required. */
const bfclFunction = (name: string) => ({
  name,
  description: "",
  parameters: {
    type: "dict",
    properties: { s: { type: "string" }, n: { type: "integer" }, l: { type: "array", items: { type: "string" } } },
    required: ["s"],
  },
});

/** As many calls as answers, each with the parameters of one answer and values that it accepts; "" is that it may be omitted. */
const bfclSource = fc
  .uniqueArray(
    fc.record<Answer>({
      name: fc.constantFrom("a", "b"),
      s: fc.subarray(["Oslo", "Rome"], { minLength: 1 }),
      n: fc.subarray<number | "">([1, 2, ""], { minLength: 1 }),
      l: fc.subarray<readonly string[]>([["X"], ["X", "Y"]], { minLength: 1 }),
    }),
    { minLength: 1, selector: ({ name }) => name },
  )
  .map((answers): Source => {
    const fold = (value: Json | undefined): string => JSON.stringify(value ?? "").toLowerCase();
    const fits = ({ tool, args = {} }: Called, { name, ...accepted }: Answer) =>
      tool === name &&
      (["s", "n", "l"] as const).every((key) => {
        const one = accepted[key] as readonly Json[];
        return Object.hasOwn(args, key)
          ? one.some((value) => value !== "" && fold(value) === fold(args[key]))
          : one.includes("");
      });
    const entry = {
      id: "p",
      question: [[{ role: "user", content: "Go" }]],
      function: [bfclFunction("a"), bfclFunction("b")],
      ground_truth: answers.map(({ name, ...accepted }) => ({ [name]: accepted })),
    };
    return {
      text: JSON.stringify(entry),
      rule: (calls) => calls.length === answers.length && answers.every((one) => calls.some((call) => fits(call, one))),
    };
  });
const bfclCalls = fc.array(
  fc.record({
    tool: fc.constantFrom("a", "b"),
    args: fc.record<JsonObject>(
      {
        s: fc.constantFrom<Json>("Oslo", "oslo", "ROME", "Bonn"),
        n: fc.constantFrom<Json>(1, 2, 3),
        l: fc.constantFrom<Json>(["x"], ["X", "y"], ["Y", "X"], []),
      },
      { requiredKeys: [] },
    ),
  }),
  { maxLength: 2 },
);

/** waza: every grader of a task passes. */
const wazaGrader: fc.Arbitrary<Assertion> = fc.oneof(
  fc
    .record({ required: fc.uniqueArray(toolName), forbidden: fc.uniqueArray(toolName, { maxLength: 1 }) })
    .map(({ required, forbidden }) => ({
      json: { type: "behavior", config: { required_tools: required, forbidden_tools: forbidden } },
      rule: (calls: readonly Called[]) =>
        required.every((tool) => count(calls, tool) > 0) && forbidden.every((tool) => count(calls, tool) === 0),
    })),
  fc
    .record({
      actions: fc.array(toolName, { minLength: 1, maxLength: 3 }),
      mode: fc.constantFrom("exact_match", "in_order_match", "any_order_match"),
    })
    .map(({ actions, mode }) => ({
      json: { type: "action_sequence", config: { expected_actions: actions, matching_mode: mode } },
      rule: (calls: readonly Called[]) => {
        if (mode === "exact_match") return same(names(calls), actions);
        if (mode === "in_order_match") return isIn(actions, names(calls));
        return actions.every(
          (tool) =>
            count(calls, tool) >=
            count(
              actions.map((one) => ({ tool: one })),
              tool,
            ),
        );
      },
    })),
  fc
    .record({
      expected: toolName,
      rejected: fc.option(toolName),
      x: fc.option(fc.constantFrom("1", "^1$")),
    })
    .map(({ expected, rejected, x }) => ({
      json: {
        type: "tool_constraint",
        config: {
          expect_tools: [{ tool: `^${expected}$`, ...(x && { path_pattern: x }) }],
          ...(rejected !== null && { reject_tools: [{ tool: `^${rejected}$` }] }),
        },
      },
      rule: (calls: readonly Called[]) =>
        calls.some(({ tool, args }) => tool === expected && (x === null || args?.path === "1")) &&
        !names(calls).some((tool) => tool === rejected),
    })),
);
const wazaSource = fc.array(wazaGrader, { minLength: 1, maxLength: 3 }).map((graders): Source => {
  const task = { id: "t", inputs: { prompt: "Go" }, graders: graders.map(({ json }) => json) };
  return { text: JSON.stringify(task), rule: (calls) => graders.every(({ rule }) => rule(calls)) };
});

describe("the rule of a source", () => {
  it.each<[format: string, source: fc.Arbitrary<Source>, comparison?: Comparison]>([
    ["promptfoo", promptfooSource],
    ["vally", vallySource],
    ["posthog", posthogSource],
    ["apify", apifySource, { areTogether: true }],
    ["apify-tasks", apifyTaskSource],
    ["whichtool", whichtoolSource, { areTogether: true }],
    [
      "mcp-evals",
      mcpEvalsSource,
      { accepted: ["the scores from 1 to 5: a judge decides whether the sentence is met"] },
    ],
    ["vitest-evals", vitestEvalsSource],
    [
      "mongodb",
      mongodbSource,
      {
        accepted: [
          "the points of its scorer: a trial with additional calls passes, one with additional arguments fails",
          "the system prompt of the agent, which is not in agent.ts",
        ],
      },
    ],
    ["bfcl", bfclSource, { areTogether: true, accepted: ["rules of the leaderboard"], calls: bfclCalls }],
    ["waza", wazaSource, { accepted: ["names of tools in any case of letters"] }],
  ])("of %s is ours, where nothing is named as lost", async (format, source, comparison) => {
    await compare(format, source, comparison);
  });

  it.each([
    ["apify", { testCases: [{ id: "t", query: "Go", expectedTools: ["a"] }], model: "m" }, ['the key "model"']],
    ["posthog", { tasks: [{ id: "t", intent: "Go", expected_tools: ["a"] }], timeout: 3 }, ['the key "timeout"']],
    ["whichtool", { tasks: [{ id: "t", prompt: "Go", expected: "a" }], surface: "s" }, ['the key "surface"']],
    [
      "mcp-evals",
      { evals: [{ name: "t", prompt: "Go", expected_result: "yes" }], model: { name: "m" } },
      ["the scores from 1 to 5: a judge decides whether the sentence is met", 'the key "model"'],
    ],
    [
      "apify",
      { testCases: [{ id: "t", query: "Go", expectedTools: [] }] },
      ["that an empty expectedTools passes whatever is called: no call is expected"],
    ],
    [
      "apify-tasks",
      [{ id: "t", kind: "agent", query: "Go", reference: "r" }],
      ["that an error of a tool fails the task"],
    ],
    [
      "waza",
      {
        inputs: { prompt: "Go" },
        graders: [
          {
            type: "tool_constraint",
            config: { expect_tools: [{ tool: "^a$", args: { x: { json_schema: {} }, y: { regex: "1" } } }] },
          },
          { type: "skill_invocation", config: { required_skills: ["s"], mode: "any_order", allow_extra: false } },
        ],
      },
      [
        "names of tools in any case of letters",
        '"args" of an expected call',
        '"mode" of the grader "skill_invocation"',
        '"allow_extra" of the grader "skill_invocation"',
        "a skill beside expected calls",
      ],
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

  it.each<[string, { [name: string]: Value }, string[]]>([
    ["a scorer of its own", { scorers: [{ kind: "unknown", reason: "?" }] }, ["a scorer that is a function"]],
    ["a threshold", { threshold: 0.6 }, ["a threshold on the score: `passRate` counts trials instead"]],
    [
      "arguments that are compared loosely, and only some calls",
      { scorers: [stub("ToolCallScorer", [object({ params: "fuzzy", requireAll: false })])] },
      [
        '"params" of ToolCallScorer: all calls and arguments must match',
        '"requireAll" of ToolCallScorer: all calls and arguments must match',
      ],
    ],
    [
      "an order in which calls are paired",
      { scorers: [stub("ToolCallScorer", [object({ ordered: true })])] },
      ["that ToolCallScorer pairs calls of one tool in their order"],
    ],
  ])("names %s of vitest-evals", async (_, options, lost) => {
    const data = [object({ input: "Go", expectedTools: [object({ name: "a", arguments: object({ x: 1 }) })] })];
    const run = { calls: [{ name: "describeEval", args: ["t", object({ data, ...options })], line: 1 }] };
    expect((await importOne("vitest-evals", run)).lost).toEqual(lost);
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
