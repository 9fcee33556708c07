import type { Json } from "../../../base/types/json.ts";
import type { CaseFile } from "../../../base/types/suite.ts";
import { markerNamespace } from "../source/builtIns.ts";
import { Evaluator } from "../source/evaluate.ts";
import { type Module, Modules } from "../source/modules.ts";
import { readSource } from "../source/read.ts";
import { getName, getNode, getNodes, type Node, parseSource, walkNodes } from "../source/syntax.ts";
import {
  Closure,
  explainMisfit,
  isFunction,
  isObject,
  lines,
  type Native,
  type ObjectValue,
  toJson,
  Unknown,
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
  leaveOut,
  listFailed,
  type Unsaid,
} from "./imported.ts";

/**
 * vitest-evals: `describeEval(name, { data, task, scorers })`. An expectation is the `expectedTools` of an entry, or
 * what the task asserts of `toolName`. With a harness, `it(name, ({ run }) => run("..."))`.
 */
export const vitestEvals: Format = {
  name: "vitest-evals",
  label: "vitest-evals",
  isSource: true,
  recognises: ({ file, text }) =>
    /\.[mc]?[tj]sx?$/.test(file) && /\bdescribeEval\(/.test(text) && /from ["']vitest-evals/.test(text),
  async read(source, context) {
    const { file } = source;
    const given = { expect: markerNamespace("expect", new Set()) };
    const read = await readSource(source, ["describeEval"], given, context);
    const { module, evaluator } = read;
    const unsaid: Unsaid[] = listFailed(read);
    const cases = read.calls.flatMap(({ args: [name, options, callback], line, missed }): ImportedCase[] => {
      if (missed !== undefined) return [leaveOut({ name: "?", place: { file, line }, unsaid: [] }, missed)];
      const title = typeof name === "string" ? name : "?";
      const found = { title, line, file, module, evaluator, context };
      return [
        ...(isObject(options) ? readData(options, found, unsaid) : []),
        ...(isFunction(callback) ? readHarness(callback, found) : []),
      ];
    });
    return { file, cases, unsaid };
  },
};

type EvalBlock = {
  title: string;
  line: number;
  file: string;
  module: Module & { kind: "module" };
  evaluator: Evaluator;
  context: ImportContext;
};

function readData(options: ObjectValue, found: EvalBlock, unsaid: Unsaid[]): ImportedCase[] {
  const { data, task, threshold } = options;
  if (data === undefined) return [];
  if (threshold !== undefined) unsaid.push({ what: "a threshold on the score: `passRate` counts trials instead" });
  const entries = isFunction(data) ? data.call([], found.line) : data;
  const asserted = task instanceof Closure ? readAsserted(task.node, found) : { calls: [], unsaid: [] };
  if (!Array.isArray(entries)) {
    const reason = explainMisfit(entries, "its data is not known: ", "its data is no list");
    return [leaveOut({ name: found.title, place: { file: found.file, line: found.line }, unsaid: [] }, reason)];
  }
  return entries.map((entry) => readEntry(entry, found, asserted));
}

function readEntry(entry: Value, { title, file, line, context }: EvalBlock, asserted: Asserted): ImportedCase {
  const place = { file, line: (isObject(entry) ? lines.get(entry) : undefined) ?? line };
  if (!isObject(entry))
    return leaveOut({ name: title, place, unsaid: [] }, explainMisfit(entry, "", "an entry is no object"));
  const { input, expectedTools, expected, ...others } = entry;
  const unsaid = [
    ...Object.keys(others)
      .filter((key) => key !== "name")
      .map((key) => ({ what: `the key "${key}"` })),
    ...(isObject(expected) ? [{ what: "an expected output that is an object (of an agent inside a tool)" }] : []),
    ...asserted.unsaid,
  ];
  const common = { name: typeof input === "string" ? input : title, place, unsaid };
  if (typeof input !== "string")
    return leaveOut(common, explainMisfit(input, "its input is not known: ", "its input is no text"));
  const calls = expectedTools === undefined ? asserted.calls : readExpectedTools(expectedTools);
  if (typeof calls === "string") return leaveOut(common, calls);
  const isNone = expectedTools !== undefined && calls.length === 0;
  // A task asserts that a call was made, at any position.
  const expect = isNone ? { tool: "none" } : expectCalls(calls, expectedTools === undefined);
  const maxTurns = calls.length > 0 && expectedTools === undefined && { maxTurns: 8 };
  const base: CaseFile = { input, ...(expect && { expect, ...maxTurns }) };
  const sentences = typeof expected === "string" ? [expected.replace(/\s+/g, " ")] : [];
  return keepJudged(context, common, base, sentences, "it expects no tool, and its scorers are functions");
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
  if (!Array.isArray(read.json)) return "its expected tools are no list";
  const calls = read.json.map((tool): FileCall | string => {
    if (typeof tool === "string") return { tool };
    const { name, arguments: args } = tool as { name?: Json; arguments?: Json };
    if (typeof name !== "string") return "an expected tool has no name";
    const given = typeof args === "object" && args !== null && !Array.isArray(args) ? toLiteralArgs(args) : {};
    return expectCall(name, given);
  });
  const wrong = calls.find((call) => typeof call === "string");
  return typeof wrong === "string" ? wrong : calls.filter((call) => typeof call !== "string");
}

type Asserted = { calls: FileCall[]; unsaid: Unsaid[] };

/** Reads the tools that a task names: `call.toolName === X`, and objects with `toolName: X`. */
function readAsserted(task: Node, { module, evaluator }: EvalBlock): Asserted {
  const calls = new Map<string, FileCall>();
  const unsaid: Unsaid[] = [];
  const isToolName = (node: Node | undefined) =>
    node?.type === "MemberExpression" && getName(getNode(node, "property")) === "toolName";
  for (const node of walkNodes(task)) {
    const [left, right] = [getNode(node, "left"), getNode(node, "right")];
    const isComparison = node.operator === "===" && (isToolName(left) || isToolName(right));
    const named = node.type === "ObjectExpression" ? findProperty(node, "toolName") : undefined;
    const compared = isToolName(left) ? right : left;
    const target = isComparison ? compared : named;
    if (!target) continue;
    const tool = evaluator.evaluateIn(module, target);
    if (typeof tool !== "string") {
      unsaid.push({
        what: "an assertion about a tool whose name is not known",
        detail: tool instanceof Unknown ? tool.reason : "",
      });
      continue;
    }
    if (named && findProperty(node, "args"))
      unsaid.push({ what: "an assertion about arguments of a call", detail: tool });
    if (!calls.has(tool)) calls.set(tool, { tool });
  }
  return { calls: [...calls.values()], unsaid };
}

function findProperty(object: Node, name: string): Node | undefined {
  const property = getNodes(object, "properties").find(
    (one) => one.type === "Property" && getName(getNode(one, "key")) === name,
  );
  return property && getNode(property, "value");
}

/** `(it) => { it("name", async ({ run }) => { const expected = { expectedTools: [...] }; await run("input") }) }`. */
function readHarness(callback: Closure | Native, found: EvalBlock): ImportedCase[] {
  const cases: ImportedCase[] = [];
  if (!(callback instanceof Closure)) return cases;
  for (const node of walkNodes(callback.node)) {
    const callee = getNode(node, "callee");
    if (node.type !== "CallExpression" || (getName(callee) !== "it" && getName(callee) !== "test")) continue;
    const [title, ...bodies] = getNodes(node, "arguments");
    const body = bodies.find(({ type }) => /Function/.test(type));
    if (title && body) cases.push(readTest(title, body, found));
  }
  return cases;
}

function readTest(title: Node, body: Node, { file, module, evaluator, context }: EvalBlock): ImportedCase {
  const nodes = [...walkNodes(body)];
  const place = { file, line: title.loc.start.line };
  const runs = nodes.filter((node) => node.type === "CallExpression" && getName(getNode(node, "callee")) === "run");
  const name = getName(title) ?? "?";
  const inputs = runs.map((node) => evaluator.evaluateIn(module, getNodes(node, "arguments")[0] ?? node));
  const common = { name, place, unsaid: [] };
  const [input] = inputs;
  if (inputs.length !== 1 || typeof input !== "string")
    return leaveOut(common, "it does not run one text that is written in the source");
  const read = (key: string) => {
    const property = nodes.flatMap((node) =>
      node.type === "ObjectExpression" ? (findProperty(node, key) ?? []) : [],
    )[0];
    return property && evaluator.evaluateIn(module, property);
  };
  const calls = readExpectedTools(read("expectedTools") ?? []);
  const expected = read("expected");
  if (typeof calls === "string") return leaveOut(common, calls);
  const expect = expectCalls(calls, true);
  const sentences = typeof expected === "string" ? [expected] : [];
  const reason = "its expectations are functions";
  const unsaid = [{ what: "assertions of the test that are functions" }];
  return keepJudged(
    context,
    { ...common, unsaid },
    { input, ...(expect && { expect, maxTurns: 8 }) },
    sentences,
    reason,
  );
}

/** mcp-evals in TypeScript: `grade(model, "prompt")`, which a judge scores without an expectation. */
export const mcpEvalsSource: Format = {
  name: "mcp-evals-ts",
  label: "mcp-evals in TypeScript",
  recognises: ({ file, text }) =>
    /\.[mc]?[tj]s$/.test(file) && /from ["']mcp-evals["']/.test(text) && /\bgrade\(/.test(text),
  async read({ path, file, text }, context) {
    const module = { kind: "module", path, file, tree: parseSource(text, file) } as const;
    const evaluator = new Evaluator(new Modules(path, context.cwd), {});
    const cases = [...walkNodes(module.tree)].flatMap((node): ImportedCase[] => {
      if (node.type !== "CallExpression" || getName(getNode(node, "callee")) !== "grade") return [];
      const prompt = getNodes(node, "arguments")[1];
      const input = prompt && evaluator.evaluateIn(module, prompt);
      const common = {
        name: typeof input === "string" ? input : "?",
        place: { file, line: node.loc.start.line },
        unsaid: [],
      };
      return [leaveOut(common, "it has no expectation: a judge scores the answer by nothing in particular")];
    });
    return { file, cases, unsaid: [] };
  },
};
