import { isJsonObject, type Json, type JsonObject } from "../../../base/types/json.ts";
import type { CaseFile } from "../../../base/types/suite.ts";
import { markerNamespace } from "../source/builtIns.ts";
import { type ReadSource, readSource } from "../source/read.ts";
import { getName, getNode, getNodes } from "../source/syntax.ts";
import {
  Closure,
  explainMisfit,
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
import { toObject } from "./data.ts";
import {
  expectCall,
  type FileCall,
  type Format,
  type ImportContext,
  type ImportedCase,
  keep,
  leaveOut,
  listFailed,
  type Unsaid,
} from "./imported.ts";

/**
 * `describeAccuracyTests([{ prompt, expectedToolCalls, systemPrompt?, mockedTools?, customScorer? }])`, in TypeScript.
 */
export const mongodb: Format = {
  name: "mongodb",
  label: "MongoDB's accuracy tests",
  isSource: true,
  recognises: ({ file, text }) => /\.test\.[mc]?[tj]s$/.test(file) && /\bdescribeAccuracyTests\(/.test(text),
  async read(source, context) {
    const { file } = source;
    const Matcher = markerNamespace("Matcher", new Set(["undefined", "null", "anyValue", "emptyObjectOrUndefined"]));
    const given = { Matcher, formatUntrustedData: joinTexts };
    const read = await readSource(source, ["describeAccuracyTests"], given, context);
    const unsaid: Unsaid[] = listFailed(read);
    const cases = read.calls.flatMap(({ args: [configs, settings], line, missed }) => {
      const list = Array.isArray(configs) ? configs : [configs ?? new Unknown(missed ?? "no list of tests", line)];
      if (settings !== undefined) unsaid.push({ what: "settings of the server under test" });
      return list.map((one) => readConfig(one, { file, line }, context));
    });
    const system = readSystem(read);
    if (system === undefined) unsaid.push({ what: "the system prompt of the agent, which is not in agent.ts" });
    return { file, cases, unsaid, ...(system !== undefined && { system }) };
  },
};

/** The system prompt of every case: `systemPrompt` in agent.ts, next to the file of `describeAccuracyTests`. */
function readSystem({ module, modules, evaluator }: ReadSource): string | undefined {
  const imports = getNodes(module.tree, "body").filter(({ type }) => type === "ImportDeclaration");
  const own = imports.find((one) =>
    getNodes(one, "specifiers").some((name) => getName(getNode(name, "imported")) === "describeAccuracyTests"),
  );
  const specifier = own && getName(getNode(own, "source"));
  const agent =
    specifier && modules.resolve(`${specifier.slice(0, specifier.lastIndexOf("/") + 1)}agent.ts`, module.path);
  if (typeof agent !== "object" || agent.kind !== "module") return undefined;
  const texts = toJson(evaluator.readName(agent, "systemPrompt"));
  return "json" in texts && Array.isArray(texts.json) ? texts.json.join("\n") : undefined;
}

/** MongoDB's function that marks data as untrusted. Here it joins its texts to the result of a mock. */
const joinTexts = new Native("formatUntrustedData", (args, line) => {
  const text = args.find((one) => one instanceof Unknown) ?? args.filter((one) => typeof one === "string").join("\n");
  return text instanceof Unknown ? new Unknown(text.reason, line) : [{ type: "text", text }];
});

function readConfig(value: Value, at: { file: string; line: number }, context: ImportContext): ImportedCase {
  const place = { file: at.file, line: (isObject(value) ? lines.get(value) : undefined) ?? at.line };
  if (!isObject(value)) {
    const common = { name: "a test that is made by the source", place, unsaid: [] };
    return leaveOut(common, explainMisfit(value, "", "it is no object"));
  }
  const { prompt, expectedToolCalls, systemPrompt, mockedTools, customScorer, validateAgentResult } = value;
  const prompts = [prompt].flat();
  const name = prompts.map((one) => (typeof one === "string" ? one : "?")).join(" / ");
  const unsaid: Unsaid[] = [];
  if (customScorer !== undefined) unsaid.push({ what: "a scorer that is a function (customScorer)" });
  if (validateAgentResult !== undefined)
    unsaid.push({ what: "a check of the answer that is a function (validateAgentResult)" });
  const common = { name, place, unsaid };
  const wrong = [prompt, systemPrompt].map(findUnknown).find(Boolean);
  if (wrong) return leaveOut(common, `its prompt is not known: ${wrong.text}`);
  if (!prompts.every((one) => typeof one === "string")) return leaveOut(common, "its prompt is no text");
  if (!Array.isArray(expectedToolCalls)) return leaveOut(common, "its expected calls are no list");
  let expected: FileCall[];
  try {
    const converter = new Converter(context, unsaid);
    expected = expectedToolCalls.map((call) => converter.readCall(call));
  } catch (error) {
    if (error instanceof Misfit) return leaveOut(common, error.message);
    throw error;
  }
  // If every call is optional, only further calls can fail the case.
  const isRequired = expected.some(({ optional }) => !optional);
  const calls = { calls: expected, order: "any" as const, ...(isRequired && { extras: true }) };
  return keep(common, {
    ...writePrompts(prompts as string[], typeof systemPrompt === "string" ? systemPrompt : undefined, unsaid),
    expect: { ...(expected.length === 0 ? { tool: "none" } : calls), argsMatch: "mongodb" },
    ...readMocks(mockedTools, unsaid),
    maxTurns: 10,
  });
}

/** Several prompts are the turns of one conversation, whose first message then starts with the system prompt. */
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

/** The results of mocked tools whose functions return plain data. */
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

/** The id of the connection with which their tests start the server (PRECONFIGURED_CONNECTION_ID). */
const connection = "preconfigured";

/** An expected call that a suite cannot express. */
class Misfit extends Error {}

/** Converts expected calls and their matchers to those of a suite. `at` is the start of messages: where a value is. */
class Converter {
  constructor(
    readonly context: ImportContext,
    readonly unsaid: Unsaid[],
  ) {}

  /** Throws Misfit. */
  readCall(call: Value): FileCall {
    if (!isObject(call))
      throw new Misfit(explainMisfit(call, "an expected call is not known: ", "an expected call is no object"));
    const { toolName, parameters = {}, optional } = call;
    if (typeof toolName !== "string")
      throw new Misfit(
        explainMisfit(toolName, "the name of a tool is not known: ", "an expected call has no toolName"),
      );
    if (!isObject(parameters)) throw new Misfit(`the parameters of ${toolName} are not known`);
    const args = this.#members(parameters, `${toolName}: `);
    // Their harness expects the preconfigured connection for tools that take one.
    const { tools } = this.context;
    if (!("connectionId" in args) && (!tools || tools.get(toolName)?.has("connectionId")))
      args.connectionId = tools ? connection : { $optional: connection };
    return { ...expectCall(toolName, args), ...(optional === true && { optional: true }) };
  }

  #members(object: ObjectValue, at: string): JsonObject {
    const members = Object.entries(object).map(([key, value]) => [key, this.#value(value, `${at}${key}: `)]);
    return Object.fromEntries(members);
  }

  #value(value: Value, at: string): Json {
    if (value instanceof Unknown) throw new Misfit(`${at}${value.text}`);
    if (value instanceof Marker) return this.#matcher(value, at);
    if (value === undefined || value === null) return null;
    if (Array.isArray(value)) return value.map((item) => this.#value(item, at));
    if (isObject(value)) return toObject(this.#members(value, at));
    if (isFunction(value) || value instanceof RegExp) throw new Misfit(`${at}a function or a pattern as a value`);
    return value;
  }

  #matcher({ name, args, line }: Marker, at: string): Json {
    const [first] = args;
    switch (name.slice("Matcher.".length)) {
      case "undefined":
        return { $absent: true };
      case "null":
        return { $type: "null" };
      case "anyValue":
        return { $optional: { $any: true } };
      case "emptyObjectOrUndefined":
        return { $anyOf: [null, { $equals: {} }, { $equals: [] }] };
      case "number":
        return this.#filtered("number", first, line);
      case "string":
        return this.#filtered("string", first, line);
      case "boolean":
        return typeof first === "boolean" ? first : { $type: "boolean" };
      case "caseInsensitiveString":
        if (typeof first === "string") return { $ignoreCase: first };
        throw new Misfit(`${at}a text that is not known`);
      case "value":
        return this.#value(first, at);
      case "not":
        return { $not: this.#value(first, at) };
      case "arrayOrSingle": {
        const json = this.#value(first, at);
        return {
          $anyOf: [
            { $anyOf: [json], $not: { $type: "array" } },
            { $anyOf: [[json]], $not: { $equals: [] } },
          ],
        };
      }
      case "anyOf":
        return this.#anyOf(args, at);
      default:
        throw new Misfit(`${at}${name} is not a known matcher (line ${line})`);
    }
  }

  /** A value that may be undefined is optional. */
  #anyOf(args: readonly Value[], at: string): Json {
    const isAbsent = (one: Value) => one instanceof Marker && one.name === "Matcher.undefined";
    const given = args.filter((item) => !isAbsent(item)).map((item) => this.#value(item, at));
    const [only = { $absent: true }] = given;
    const inner = given.length === 1 ? only : { $anyOf: given };
    return args.some(isAbsent) && given.length > 0 ? { $optional: withoutOptional(inner) } : inner;
  }

  /** Converts a usual filter function to a matcher. For others only the type is kept, which is reported. */
  #filtered(type: "number" | "string", filter: Value, line: number): Json {
    if (filter === undefined) return { $type: type };
    const found = filter instanceof Closure ? readFilter(filter) : undefined;
    if (found !== undefined) return found;
    this.unsaid.push({ what: "a function that filters values", detail: `line ${line}` });
    return { $type: type };
  }
}

const withoutOptional = (json: Json): Json =>
  isJsonObject(json) && "$optional" in json ? (json.$optional ?? null) : json;

/** Converts `(value) => value === 0`, `>= 1`, `.includes("x")` and the like to matchers. */
function readFilter({ node }: Closure): Json | undefined {
  const [body, parameter] = [getNode(node, "body"), getName(getNodes(node, "params")[0])];
  const callee = body && getNode(body, "callee");
  const subject = callee ? getNode(callee, "object") : body && getNode(body, "left");
  const operand = body && (callee ? getNodes(body, "arguments")[0] : getNode(body, "right"));
  const given = operand?.type === "Literal" ? operand.value : undefined;
  if (subject?.type !== "Identifier" || getName(subject) !== parameter) return undefined;
  if (typeof given !== "string" && typeof given !== "number") return undefined;
  const key = callee ? getName(getNode(callee, "property")) : body?.operator;
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
  return typeof key === "string" && Object.hasOwn(written, key) ? written[key] : undefined;
}
