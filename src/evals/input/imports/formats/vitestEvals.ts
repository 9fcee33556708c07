import type { Json } from "../../../base/types/json.ts";
import type { CaseFile } from "../../../base/types/suite.ts";
import {
  explainOther,
  type FunctionValue,
  isFunction,
  isObject,
  isUnknown,
  type SourceCall,
  type SourceRun,
  toJson,
  type Value,
} from "../source/values.ts";
import { toLiteralArgs } from "./data.ts";
import {
  expectCall,
  type FileCall,
  type Format,
  type ImportContext,
  type ImportedCase,
  keepJudged,
  type Loss,
  leaveOut,
} from "./imported.ts";

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

type EvalBlock = { title: string; location: ImportedCase["location"]; context: ImportContext };

function readData(members: Readonly<Record<string, Value>>, block: EvalBlock, losses: Loss[]): ImportedCase[] {
  const { data = null, task, threshold = null } = members;
  if (data === null) return [];
  if (threshold !== null) losses.push({ what: "a threshold on the score: `passRate` counts trials instead" });
  const entries = isFunction(data) ? (data.returned ?? null) : data;
  const asserted = isFunction(task) ? readAsserted(task) : { calls: [], losses: [] };
  if (Array.isArray(entries)) return entries.map((entry) => readEntry(entry, block, asserted));
  const reason = isUnknown(entries) ? `its data is not known: ${entries.reason}` : "its data is not a list";
  return [leaveOut({ name: block.title, location: block.location, losses: [] }, reason)];
}

function readEntry(entry: Value, { title, location, context }: EvalBlock, asserted: Asserted): ImportedCase {
  if (!isObject(entry)) return leaveOut({ name: title, location, losses: [] }, "an entry is not an object");
  const { input = null, expectedTools = null, expected, ...others } = entry.members;
  const losses = [
    ...Object.keys(others)
      .filter((key) => key !== "name")
      .map((key) => ({ what: `the key "${key}"` })),
    ...(isObject(expected) ? [{ what: "an expected output that is an object (of an agent inside a tool)" }] : []),
    ...asserted.losses,
  ];
  const common = { name: typeof input === "string" ? input : title, location, losses };
  if (typeof input !== "string") return leaveOut(common, "its input is not a text");
  const isAsserted = expectedTools === null;
  const calls = isAsserted ? asserted.calls : readExpectedTools(expectedTools);
  if (typeof calls === "string") return leaveOut(common, calls);
  // A task asserts that a call was made, at any position.
  const expect = !isAsserted && calls.length === 0 ? { tool: "none" } : expectCalls(calls, isAsserted);
  const maxTurns = isAsserted && calls.length > 0 && { maxTurns: 8 };
  const sentences = typeof expected === "string" ? [expected.replace(/\s+/g, " ")] : [];
  const content: CaseFile = { input, ...(expect && { expect, ...maxTurns }) };
  return keepJudged(context, common, content, sentences, "it expects no tool, and its scorers are functions");
}

function expectCalls(calls: readonly FileCall[], isLoose: boolean): CaseFile["expect"] {
  const [only] = calls;
  if (!only) return undefined;
  if (isLoose) return { calls: [...calls], order: "any", extras: true };
  return calls.length === 1 ? only : { calls: [...calls], order: "strict" };
}

/** `[{ name, arguments }]`, or names alone. */
function readExpectedTools(value: Value): FileCall[] | string {
  const read = toJson(value);
  if ("reason" in read) return `its expected tools are not known: ${read.reason}`;
  if (!Array.isArray(read.json)) return "its expected tools are not a list";
  const calls = read.json.flatMap((tool): FileCall[] => {
    if (typeof tool === "string") return [{ tool }];
    const { name, arguments: args } = tool as { name?: Json; arguments?: Json };
    const given = typeof args === "object" && args !== null && !Array.isArray(args) ? toLiteralArgs(args) : {};
    return typeof name === "string" ? [expectCall(name, given)] : [];
  });
  return calls.length < read.json.length ? "an expected tool has no name" : calls;
}

type Asserted = { calls: FileCall[]; losses: Loss[] };

/** Reads the tools that a task names: `call.toolName === X`, and objects with `toolName: X`. */
function readAsserted({ expressions }: FunctionValue): Asserted {
  const { toolName: names = [], toolArguments = [] } = expressions;
  const known = names.filter((name) => typeof name === "string");
  return {
    calls: [...new Set(known)].map((tool) => ({ tool })),
    losses: [
      ...names.filter(isUnknown).map((name) => ({
        what: "an assertion about a tool whose name is not known",
        detail: explainOther(name),
      })),
      ...toolArguments.map((tool) => ({ what: "an assertion about arguments of a call", detail: String(tool) })),
    ],
  };
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
  const expect = expectCalls(calls, true);
  const sentences = expected.filter((text) => typeof text === "string").slice(0, 1);
  const losses = [{ what: "assertions of the test that are functions" }];
  const content = { input, ...(expect && { expect, maxTurns: 8 }) };
  return keepJudged(context, { ...common, losses }, content, sentences, "its expectations are functions");
}
