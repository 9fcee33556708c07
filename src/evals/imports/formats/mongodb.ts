import type { Json, JsonObject } from "../../types/json.ts";
import type { CaseFile } from "../../types/suite.ts";
import { markerNamespace } from "../source/builtIns.ts";
import { Evaluator } from "../source/evaluate.ts";
import { Modules } from "../source/modules.ts";
import { parseSource } from "../source/syntax.ts";
import {
  Closure,
  findUnknown,
  isFunction,
  isObject,
  lines,
  Marker,
  Native,
  type ObjectValue,
  toJson,
  Unknown,
  type Value,
} from "../source/values.ts";
import { toObject } from "./expected.ts";
import { type Format, type ImportContext, type ImportedCase, keep, leaveOut, type Unsaid } from "./imported.ts";

/** `describeAccuracyTests([{ prompt, expectedToolCalls, systemPrompt?, mockedTools?, customScorer? }])`, in TypeScript. */
export const mongodb: Format = {
  name: "mongodb",
  label: "MongoDB's accuracy tests",
  recognises: ({ file, text }) => /\.test\.[mc]?[tj]s$/.test(file) && /\bdescribeAccuracyTests\(/.test(text),
  async read({ path, file, text }, context) {
    const cases: ImportedCase[] = [];
    const unsaid: Unsaid[] = [];
    const describe = new Native("describeAccuracyTests", ([configs, settings], line) => {
      const list = Array.isArray(configs) ? configs : [configs ?? new Unknown("no list of tests", line)];
      for (const one of list) cases.push(readConfig(one, { file, line }, context));
      if (settings !== undefined) unsaid.push({ what: "settings of the server under test" });
      return undefined;
    });
    const matcher = markerNamespace("Matcher", new Set(["undefined", "null", "anyValue", "emptyObjectOrUndefined"]));
    const given: Readonly<Record<string, Value>> = {
      describeAccuracyTests: describe,
      Matcher: matcher,
      formatUntrustedData: joinTexts,
    };
    const evaluator = new Evaluator(new Modules(path, context.cwd), (name) => given[name]);
    evaluator.run({ kind: "module", path, file, tree: parseSource(text, file) });
    return { file, cases, unsaid };
  },
};

/** What marks data as untrusted there; here a mock's result is its texts. */
const joinTexts = new Native("formatUntrustedData", (args, line) => {
  const text = args.find((one) => one instanceof Unknown) ?? args.filter((one) => typeof one === "string").join("\n");
  return text instanceof Unknown ? new Unknown(text.reason, line) : [{ type: "text", text }];
});

function readConfig(value: Value, at: { file: string; line: number }, context: ImportContext): ImportedCase {
  const place = { file: at.file, line: (isObject(value) ? lines.get(value) : undefined) ?? at.line };
  const unknown = isObject(value) ? undefined : findUnknown(value);
  if (!isObject(value)) {
    const reason = unknown ? `${unknown.reason} (line ${unknown.line})` : "it is no object";
    return leaveOut({ name: "a test that is made by the source", place, unsaid: [] }, reason);
  }
  const { prompt, expectedToolCalls, systemPrompt, mockedTools, customScorer, validateAgentResult } = value;
  const prompts = [prompt].flat();
  const name = prompts.map((one) => (typeof one === "string" ? one : "?")).join(" / ");
  const unsaid: Unsaid[] = [
    ...(customScorer === undefined ? [] : [{ what: "a scorer that is a function (customScorer)" }]),
    ...(validateAgentResult === undefined
      ? []
      : [{ what: "a check of the answer that is a function (validateAgentResult)" }]),
  ];
  const common = { name, place, unsaid };
  const wrong = [prompt, systemPrompt].map(findUnknown).find(Boolean);
  if (wrong) return leaveOut(common, `its prompt is not known: ${wrong.reason} (line ${wrong.line})`);
  if (!prompts.every((one) => typeof one === "string")) return leaveOut(common, "its prompt is no text");
  if (!Array.isArray(expectedToolCalls)) return leaveOut(common, "its expected calls are no list");
  const converter = new Converter(context, unsaid);
  const calls = expectedToolCalls.map((call) => converter.readCall(call));
  const failed = calls.find((call) => typeof call === "string");
  if (typeof failed === "string") return leaveOut(common, failed);
  const expected = calls.filter((call) => typeof call !== "string");
  const mocks = readMocks(mockedTools, unsaid);
  const content = {
    ...writePrompts(prompts as string[], typeof systemPrompt === "string" ? systemPrompt : undefined, unsaid),
    expect:
      expected.length === 0
        ? { tool: "none" }
        : {
            calls: expected,
            order: "any" as const,
            extras: true,
            ...(context.tools && { argsMode: "exact" as const }),
          },
    ...mocks,
    maxTurns: 10,
  };
  if (expected.length > 0 && expected.every(({ optional }) => optional))
    return leaveOut(common, "all its expected calls are optional");
  return keep(common, content as CaseFile);
}

/** Several prompts are the turns of one conversation. A system prompt of such a case stands before its first message. */
function writePrompts(prompts: string[], system: string | undefined, unsaid: Unsaid[]) {
  const [input = "", ...later] = prompts;
  if (later.length > 0) {
    if (system !== undefined) unsaid.push({ what: "a system prompt of several turns: it stands before the first" });
    const first = system === undefined ? input : `${system}\n\n${input}`;
    return { turns: [first, ...later].map((one) => ({ input: one })) };
  }
  if (system === undefined) return { input };
  return {
    messages: [
      { role: "system" as const, content: system },
      { role: "user" as const, content: input },
    ],
  };
}

/** The results of mocked tools, as far as their functions return plain data. */
function readMocks(mocked: Value, unsaid: Unsaid[]): Pick<CaseFile, "mocks"> {
  if (!isObject(mocked)) return {};
  const mocks = Object.entries(mocked).flatMap(([tool, mock]) => {
    const result = isFunction(mock) ? mock.call([new Unknown("the arguments of a mocked call", 1)], 1) : mock;
    const read = toJson(result);
    if ("json" in read) return [[tool, { result: read.json }] as const];
    unsaid.push({ what: "a mocked tool that computes its result", detail: tool });
    return [];
  });
  return mocks.length > 0 ? { mocks: Object.fromEntries(mocks) } : {};
}

type ExpectedCallFile = { tool: string; args?: JsonObject; optional?: true };

/** Expected calls and the matchers in them, as those of a suite. */
class Converter {
  constructor(
    readonly context: ImportContext,
    readonly unsaid: Unsaid[],
  ) {}

  readCall(call: Value): ExpectedCallFile | string {
    if (!isObject(call)) {
      const unknown = findUnknown(call);
      return unknown
        ? `an expected call is not known: ${unknown.reason} (line ${unknown.line})`
        : "an expected call is no object";
    }
    const { toolName, parameters = {}, optional } = call;
    if (typeof toolName !== "string") {
      const unknown = findUnknown(toolName);
      return unknown
        ? `the name of a tool is not known: ${unknown.reason} (line ${unknown.line})`
        : "an expected call has no toolName";
    }
    if (!isObject(parameters)) return `the parameters of ${toolName} are not known`;
    const args = this.#members(parameters);
    if (typeof args === "string") return `${toolName}: ${args}`;
    // Every tool that takes a connection is expected to be given the one that the tests are started with.
    const takes = this.context.tools?.get(toolName)?.has("connectionId") === true && !("connectionId" in args);
    if (takes) args.connectionId = { $optional: { $any: true } };
    return {
      tool: toolName,
      ...(Object.keys(args).length > 0 && { args }),
      ...(optional === true && { optional: true }),
    };
  }

  #members(object: ObjectValue): JsonObject | string {
    const members: JsonObject = {};
    for (const [key, value] of Object.entries(object)) {
      const read = this.#value(value);
      if ("problem" in read) return `${key}: ${read.problem}`;
      members[key] = read.json;
    }
    return members;
  }

  #value(value: Value): { json: Json } | { problem: string } {
    if (value instanceof Unknown) return { problem: `${value.reason} (line ${value.line})` };
    if (value instanceof Marker) return this.#matcher(value);
    if (value === undefined || value === null) return { json: { $optional: { $type: "null" } } };
    if (Array.isArray(value)) return this.#list(value);
    if (isObject(value)) {
      const members = this.#members(value);
      return typeof members === "string" ? { problem: members } : { json: toObject(members) };
    }
    if (isFunction(value) || value instanceof RegExp) return { problem: "a function or a pattern as a value" };
    return { json: value };
  }

  /** Items at the end that may be left out make several lists of it. */
  #list(list: readonly Value[]): { json: Json } | { problem: string } {
    const items: Json[] = [];
    for (const item of list) {
      const read = this.#value(item);
      if ("problem" in read) return read;
      items.push(read.json);
    }
    const isOptional = (item: Json | undefined) => typeof item === "object" && item !== null && "$optional" in item;
    const required = items.findLastIndex((item) => !isOptional(item)) + 1;
    const plain = items.map((item) => (isOptional(item) ? ((item as JsonObject).$optional ?? null) : item));
    if (required === items.length) return { json: plain };
    return {
      json: {
        $anyOf: [plain, ...Array.from({ length: items.length - required }, (_, at) => plain.slice(0, required + at))],
      },
    };
  }

  #matcher({ name, args, line }: Marker): { json: Json } | { problem: string } {
    const [first] = args;
    switch (name.slice("Matcher.".length)) {
      case "undefined":
        return { json: { $absent: true } };
      case "null":
        return { json: { $type: "null" } };
      case "anyValue":
        return { json: { $optional: { $any: true } } };
      case "emptyObjectOrUndefined":
        return { json: { $optional: { $anyOf: [{ $equals: {} }, { $type: "null" }] } } };
      case "number":
        return this.#filtered("number", first, line);
      case "string":
        return this.#filtered("string", first, line);
      case "boolean":
        return { json: typeof first === "boolean" ? first : { $type: "boolean" } };
      case "caseInsensitiveString":
        return typeof first === "string" ? { json: { $ignoreCase: first } } : { problem: "a text that is not known" };
      case "value":
        return this.#value(first);
      case "not":
        return wrap(this.#value(first), (json) => ({ $not: json }));
      case "arrayOrSingle":
        return wrap(this.#value(first), (json) => ({ $anyOf: [json, [json]] }));
      case "anyOf":
        return this.#anyOf(args);
      default:
        return { problem: `${name} is not a known matcher (line ${line})` };
    }
  }

  /** What may be undefined may be left out. */
  #anyOf(args: readonly Value[]): { json: Json } | { problem: string } {
    const isAbsent = (one: Value) => one instanceof Marker && one.name === "Matcher.undefined";
    const given: Json[] = [];
    for (const one of args.filter((item) => !isAbsent(item))) {
      const read = this.#value(one);
      if ("problem" in read) return read;
      given.push(read.json);
    }
    const [only = { $absent: true }] = given;
    const inner = given.length === 1 ? only : { $anyOf: given };
    return { json: args.some(isAbsent) && given.length > 0 ? { $optional: withoutOptional(inner) } : inner };
  }

  /** A filter by a function: its usual forms are tried on values, others are named. */
  #filtered(type: "number" | "string", filter: Value, line: number): { json: Json } | { problem: string } {
    if (filter === undefined) return { json: { $type: type } };
    const found = filter instanceof Closure ? readFilter(filter) : undefined;
    if (found !== undefined) return { json: found };
    this.unsaid.push({ what: "a function that filters values", detail: `line ${line}` });
    return { json: { $type: type } };
  }
}

const wrap = (read: { json: Json } | { problem: string }, change: (json: Json) => Json) =>
  "json" in read ? { json: change(read.json) } : read;

const withoutOptional = (json: Json): Json =>
  typeof json === "object" && json !== null && "$optional" in json ? ((json as JsonObject).$optional ?? null) : json;

/** `(value) => value === 0`, `>= 1`, `.includes("x")`, `.startsWith("x")` as matchers. */
function readFilter({ node }: Closure): Json | undefined {
  const body = node.body as {
    type?: string;
    operator?: string;
    right?: Literal;
    callee?: { property?: { name?: string } };
    arguments?: Literal[];
  };
  const given = body.type === "BinaryExpression" ? body.right?.value : body.arguments?.[0]?.value;
  if (typeof given !== "string" && typeof given !== "number") return undefined;
  const key = body.type === "BinaryExpression" ? (body.operator ?? "") : (body.callee?.property?.name ?? "");
  const written: Readonly<Record<string, Json>> = {
    "===": given,
    "==": given,
    ">=": { $gte: given },
    "<=": { $lte: given },
    ">": { $gte: given, $not: given },
    "<": { $lte: given, $not: given },
    includes: { $contains: given },
    startsWith: { $startsWith: given },
    endsWith: { $endsWith: given },
  };
  return Object.hasOwn(written, key) ? written[key] : undefined;
}

type Literal = { value?: unknown };
