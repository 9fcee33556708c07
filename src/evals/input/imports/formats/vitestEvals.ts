import { isJsonObject, type Json } from "../../../base/types/json.ts";
import type { CaseFile } from "../../../base/types/suiteFile.ts";
import {
  explainOther,
  type FunctionValue,
  isFunction,
  isObject,
  isStub,
  isUnknown,
  type SourceCall,
  type SourceRun,
  toJson,
  type Value,
} from "../source/run.ts";
import {
  expectCall,
  type FileCall,
  type Format,
  type ImportContext,
  type ImportedCase,
  keepJudged,
  type Loss,
  leaveOut,
  toLiteralArgs,
} from "./format.ts";

const string = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`/.source;
const constant = `[\\w$.]+|${string}`;
const list = /\[(?:[^[\]]|\[[^[\]]*\])*\]/.source;

/**
 * vitest-evals: `describeEval(name, { data, task, scorers })`. An expectation is the `expectedTools` of an entry, or
 * what the task asserts of `toolName`. With a harness, `it(name, ({ run }) => run("..."))`.
 */
export const vitestEvals: Format = {
  name: "vitest-evals",
  label: "vitest-evals",
  recognizes: ({ file, text }) =>
    /\.[mc]?[tj]sx?$/.test(file) && /\bdescribeEval\(/.test(text) && /from ["']vitest-evals/.test(text),
  request: {
    functions: ["describeEval"],
    stubs: ["ToolCallScorer"],
    expressions: {
      toolName: `\\btoolName\\s*(?:===?|:)\\s*(${constant})`,
      toolArguments: `\\btoolName\\s*:\\s*(${constant}),\\s*args\\s*:`,
      input: `\\brun\\(\\s*(${constant})`,
      expectedTools: `\\bexpectedTools\\s*:\\s*(${list})`,
      expected: `\\bexpected\\s*:\\s*(${string})`,
    },
  },
  async read({ file, run = { calls: [] } }, context) {
    const losses: Loss[] = [];
    const cases = groupTests(run).flatMap(({ args: [name = null, options = null], line, tests }): ImportedCase[] => {
      const block = { title: typeof name === "string" ? name : "?", location: { file, line }, context };
      return [
        ...(isObject(options) ? readData(options.members, block, losses) : []),
        ...tests.flatMap(({ args: [title = null, body], line: at }) =>
          isFunction(body) ? [readTest(title, body, { ...block, location: { file, line: at } })] : [],
        ),
      ];
    });
    return { file, cases, losses };
  },
};

/** The calls of `describeEval`, each with those that its callback makes of `it`. */
function groupTests({ calls }: SourceRun): (SourceCall & { tests: SourceCall[] })[] {
  const blocks: (SourceCall & { tests: SourceCall[] })[] = [];
  for (const call of calls) {
    if (call.name === "describeEval") blocks.push({ ...call, tests: [] });
    else blocks.at(-1)?.tests.push(call);
  }
  return blocks;
}

type EvalBlock = { title: string; location: ImportedCase["location"]; context: ImportContext; rules?: CallRules };

/** How calls of all replies are compared. */
type CallRules = Pick<NonNullable<CaseFile["expect"]>, "order" | "extras" | "argsMode">;

/** A task asserts that a call was made, at any position. */
const anywhere: CallRules = { order: "any", extras: true };

/** Reads the options of `ToolCallScorer`; undefined if other scorers decide. */
function readScorers(scorers: Value, losses: Loss[]): CallRules | undefined {
  const all = scorers === null ? [] : [scorers].flat();
  const isKnown = (one: Value) => isStub(one) && one.name === "ToolCallScorer";
  if (!all.every(isKnown)) losses.push({ what: "a scorer that is a function" });
  const found = all.find(isKnown);
  if (!isStub(found)) return undefined;
  const [options = null] = found.args ?? [];
  const { ordered = false, allowExtras = true, ...others } = isObject(options) ? options.members : {};
  const usual: Readonly<Record<string, Value>> = { requireAll: true, params: "strict" };
  for (const key of Object.keys(others))
    if (others[key] !== usual[key])
      losses.push({ what: `"${key}" of ToolCallScorer: all calls and arguments must match` });
  return { order: ordered === true ? "strict" : "any", extras: allowExtras !== false, argsMode: "exact" };
}

function readData(members: Readonly<Record<string, Value>>, given: EvalBlock, losses: Loss[]): ImportedCase[] {
  const { data = null, task, threshold = null, scorers = null } = members;
  if (data === null) return [];
  const rules = readScorers(scorers, losses);
  const block = { ...given, ...(rules && { rules }) };
  if (threshold !== null) losses.push({ what: "a threshold on the score: `passRate` counts trials instead" });
  const entries = isFunction(data) ? (data.returned ?? null) : data;
  const asserted = isFunction(task) ? readAsserted(task) : { calls: [], losses: [] };
  if (Array.isArray(entries)) return entries.map((entry) => readEntry(entry, block, asserted));
  const reason = isUnknown(entries) ? `its data is not known: ${entries.reason}` : "its data is not a list";
  return [leaveOut({ name: block.title, location: block.location, losses: [] }, reason)];
}

function readEntry(entry: Value, { title, location, context, rules }: EvalBlock, asserted: Asserted): ImportedCase {
  if (!isObject(entry)) return leaveOut({ name: title, location, losses: [] }, "an entry is not an object");
  const { input = null, expectedTools = null, expected, ...others } = entry.members;
  const losses = [
    ...Object.keys(others).flatMap((key) => (key === "name" ? [] : { what: `the key "${key}"` })),
    ...(isObject(expected) ? [{ what: "an expected output that is an object (of an agent inside a tool)" }] : []),
    ...asserted.losses,
  ];
  const common = { name: typeof input === "string" ? input : title, location, losses };
  if (typeof input !== "string") return leaveOut(common, "its input is not a text");
  const isAsserted = expectedTools === null;
  const calls = isAsserted ? asserted.calls : readExpectedTools(expectedTools);
  if (typeof calls === "string") return leaveOut(common, calls);
  const rule = isAsserted ? anywhere : rules;
  if (!isAsserted && rules && isPairedOtherwise(calls, rules))
    losses.push({ what: "that ToolCallScorer pairs calls of one tool in their order" });
  const expect = calls.length === 0 && rule === undefined ? { tool: "none" } : expectCalls(calls, rule);
  const maxTurns = rule && calls.length > 0 && { maxTurns: 8 };
  const sentences = typeof expected === "string" ? [expected.replace(/\s+/g, " ")] : [];
  const content: CaseFile = { input, ...(expect && { expect, ...maxTurns }) };
  return keepJudged(context, common, content, sentences, "it expects no tool, and its scorers are functions");
}

/** Without rules, calls are expected in the first reply if it is one, else in their order. */
function expectCalls(calls: readonly FileCall[], rules?: CallRules): CaseFile["expect"] {
  if (calls.length === 0) return undefined;
  if (rules) return { calls: [...calls], ...rules };
  const named = calls.map(({ tool, args }) => expectCall(tool, args));
  return calls.length === 1 ? named[0] : { calls: named, order: "strict" };
}

/** Whether a pairing in order can miss calls that another one finds: some arguments are expected, others are free. */
function isPairedOtherwise(calls: readonly FileCall[], { order, extras }: CallRules): boolean {
  const withArgs = calls.filter(({ args }) => args).map(({ tool }) => tool);
  if (order === "strict") return extras === true && withArgs.length > 0;
  return calls.some(({ tool, args }) => !args && withArgs.includes(tool));
}

/** `[{ name, arguments }]`, or names alone. */
function readExpectedTools(value: Value): FileCall[] | string {
  const read = toJson(value);
  if ("reason" in read) return `its expected tools are not known: ${read.reason}`;
  if (!Array.isArray(read.json)) return "its expected tools are not a list";
  const calls = read.json.flatMap((tool): FileCall[] => {
    if (typeof tool === "string") return [{ tool }];
    const { name, arguments: args = null } = tool as { name?: Json; arguments?: Json };
    return typeof name === "string" ? [{ tool: name, ...(isJsonObject(args) && { args: toLiteralArgs(args) }) }] : [];
  });
  return calls.length < read.json.length ? "an expected tool has no name" : calls;
}

type Asserted = { calls: FileCall[]; losses: Loss[] };

/** Reads the tools that a task names: `call.toolName === X`, and objects with `toolName: X`. */
function readAsserted({ expressions }: FunctionValue): Asserted {
  const { toolName: names = [], toolArguments = [] } = expressions;
  const known = names.filter((name) => typeof name === "string");
  const unnamed = "an assertion about a tool whose name is not known";
  const losses = [
    ...names.filter(isUnknown).map((name) => ({ what: unnamed, detail: explainOther(name) })),
    ...toolArguments.map((tool) => ({ what: "an assertion about arguments of a call", detail: String(tool) })),
  ];
  return { calls: [...new Set(known)].map((tool) => ({ tool })), losses };
}

/** `it("name", async ({ run }) => { const expected = { expectedTools: [...] }; await run("input") })`. */
function readTest(title: Value, { expressions }: FunctionValue, { location, context }: EvalBlock): ImportedCase {
  const common = { name: typeof title === "string" ? title : "?", location, losses: [] };
  const { input: inputs = [], expectedTools = [], expected = [] } = expressions;
  const [input] = inputs;
  if (inputs.length !== 1 || typeof input !== "string")
    return leaveOut(common, "it does not run one text that is written in the source");
  const calls = readExpectedTools(expectedTools[0] ?? []);
  if (typeof calls === "string") return leaveOut(common, calls);
  const expect = expectCalls(calls, anywhere);
  const sentences = expected.filter((text) => typeof text === "string").slice(0, 1);
  const losses = [{ what: "assertions of the test that are functions" }];
  const content = { input, ...(expect && { expect, maxTurns: 8 }) };
  return keepJudged(context, { ...common, losses }, content, sentences, "its expectations are functions");
}
