import { isJsonObject, type Json, type JsonObject } from "../../../base/types/json.ts";
import type { CaseFile } from "../../../base/types/suiteFile.ts";
import {
  explainOther,
  type FunctionValue,
  isFunction,
  isObject,
  isStub,
  isUnknown,
  type ObjectValue,
  type Stub,
  toJson,
  type Value,
} from "../source/run.ts";
import {
  type FileCall,
  type Format,
  type ImportContext,
  type ImportedCase,
  keep,
  type Loss,
  leaveOut,
  toObject,
} from "./format.ts";

/**
 * `describeAccuracyTests([{ prompt, expectedToolCalls, systemPrompt?, mockedTools?, customScorer? }])`, in TypeScript.
 * The system prompt of every case is `systemPrompt` in agent.ts, next to the file of `describeAccuracyTests`.
 */
export const mongodb: Format = {
  name: "mongodb",
  label: "MongoDB's accuracy tests",
  recognizes: ({ file, text }) => /\.test\.[mc]?[tj]s$/.test(file) && /\bdescribeAccuracyTests\(/.test(text),
  request: {
    functions: ["describeAccuracyTests"],
    stubs: ["Matcher", "formatUntrustedData"],
    constant: { importedName: "describeAccuracyTests", file: "agent.ts", name: "systemPrompt" },
  },
  async read({ file, run = { calls: [] } }, context) {
    const losses: Loss[] = [
      { what: "the points of its scorer: a trial with additional calls passes, one with additional arguments fails" },
    ];
    const cases = run.calls.flatMap(({ args: [configs = null, settings = null], line }) => {
      if (settings !== null) losses.push({ what: "settings of the server under test" });
      return (Array.isArray(configs) ? configs : [configs]).map((one) => readConfig(one, { file, line }, context));
    });
    const texts = toJson(run.constant ?? null);
    if (!("json" in texts) || !Array.isArray(texts.json)) {
      losses.push({ what: "the system prompt of the agent, which is not in agent.ts" });
      return { file, cases, losses };
    }
    return { file, cases, losses, system: texts.json.join("\n") };
  },
};

function readConfig(value: Value, location: ImportedCase["location"], context: ImportContext): ImportedCase {
  if (!isObject(value)) {
    const reason = isUnknown(value) || isStub(value) ? explainOther(value) : "it is not an object";
    return leaveOut({ name: "a test that is made by the source", location, losses: [] }, reason);
  }
  const { prompt = null, expectedToolCalls, systemPrompt, mockedTools, ...functions } = value.members;
  const prompts = [prompt].flat();
  const name = prompts.map((one) => (typeof one === "string" ? one : "?")).join(" / ");
  const losses: Loss[] = [];
  if (functions.customScorer) losses.push({ what: "a scorer that is a function (customScorer)" });
  if (functions.validateAgentResult)
    losses.push({ what: "a check of the answer that is a function (validateAgentResult)" });
  const common = { name, location, losses };
  if (!prompts.every((one) => typeof one === "string")) return leaveOut(common, "its prompt is not a text");
  if (!Array.isArray(expectedToolCalls)) return leaveOut(common, "its expected calls are not a list");
  const converter = new Converter(context, losses);
  let expected: FileCall[];
  try {
    expected = expectedToolCalls.map((call) => converter.readCall(call));
  } catch (error) {
    if (error instanceof Misfit) return leaveOut(common, error.message);
    throw error;
  }
  // If every call is optional, only further calls can fail the case.
  const isRequired = expected.some(({ optional }) => !optional);
  const calls = { calls: expected, order: "any", argsMode: "exact", ...(isRequired && { extras: true }) } as const;
  return keep(common, {
    ...writePrompts(prompts, typeof systemPrompt === "string" ? systemPrompt : undefined, losses),
    expect: expected.length === 0 ? { tool: "none" } : calls,
    ...readMocks(mockedTools, losses),
    maxTurns: 10,
  });
}

/** Several prompts are the turns of one conversation, whose first message then starts with the system prompt. */
function writePrompts(prompts: string[], system: string | undefined, losses: Loss[]) {
  const [input = "", ...later] = prompts;
  if (later.length > 0) {
    if (system !== undefined) losses.push({ what: "a system prompt of several turns: it stands before the first" });
    const first = system === undefined ? input : `${system}\n\n${input}`;
    return { turns: [first, ...later].map((one) => ({ input: one })) };
  }
  const user = { role: "user" as const, content: input };
  return system === undefined ? { input } : { messages: [{ role: "system" as const, content: system }, user] };
}

/** The results of mocked tools whose functions return plain data. */
function readMocks(mocked: Value | undefined, losses: Loss[]): Pick<CaseFile, "mocks"> {
  if (!isObject(mocked)) return {};
  const mocks = Object.entries(mocked.members).flatMap(([tool, mock]) => {
    const result = isFunction(mock) ? (mock.returned ?? mock) : mock;
    const read = toJson(joinUntrusted(result));
    if ("json" in read) return [[tool, { result: read.json }] as const];
    losses.push({ what: "a mocked tool that computes its result", detail: tool });
    return [];
  });
  return mocks.length > 0 ? { mocks: Object.fromEntries(mocks) } : {};
}

/** `formatUntrustedData`, which marks data as untrusted, joins its texts to a content of the result. */
function joinUntrusted(value: Value): Value {
  if (Array.isArray(value)) return value.map(joinUntrusted);
  if (isObject(value)) {
    const members = Object.entries(value.members).map(([name, one]) => [name, joinUntrusted(one)]);
    return { kind: "object", members: Object.fromEntries(members) };
  }
  if (!isStub(value) || value.name !== "formatUntrustedData" || !value.args) return value;
  const text = value.args.filter((one) => typeof one === "string").join("\n");
  return [{ kind: "object", members: { type: "text", text } }];
}

/** The id of the connection with which their tests start the server (PRECONFIGURED_CONNECTION_ID). */
const connection = "preconfigured";

/** An expected call that a suite cannot express. */
class Misfit extends Error {}

/** Converts expected calls and their matchers to those of a suite. `at` is the start of messages: where a value is. */
class Converter {
  constructor(
    readonly context: ImportContext,
    readonly losses: Loss[],
  ) {}

  /** Throws Misfit. */
  readCall(call: Value): FileCall {
    if (!isObject(call)) throw new Misfit("an expected call is not an object");
    const { toolName, parameters = null, optional } = call.members;
    if (typeof toolName !== "string") throw new Misfit("the name of an expected tool is not a text");
    if (parameters !== null && !isObject(parameters)) throw new Misfit(`the parameters of ${toolName} are not known`);
    const args = parameters === null ? {} : this.#members(parameters, `${toolName}: `);
    // Their harness expects the preconfigured connection for tools that take one.
    const { tools } = this.context;
    if (!("connectionId" in args) && (!tools || tools.get(toolName)?.has("connectionId")))
      args.connectionId = tools ? connection : { $optional: connection };
    return { tool: toolName, args, ...(optional === true && { optional: true }) };
  }

  #members({ members }: ObjectValue, at: string): JsonObject {
    const entries = Object.entries(members).map(([name, value]) => [name, this.#value(value, `${at}${name}: `)]);
    return Object.fromEntries(entries);
  }

  /** In their rules, an expected `null` also matches a missing value. */
  #value(value: Value, at: string): Json {
    if (value === null) return { $optional: null };
    if (typeof value !== "object") return value;
    if (Array.isArray(value)) return this.#list(value, at);
    if (isObject(value)) return toObject(this.#members(value, at));
    if (isStub(value)) return this.#matcher(value, at);
    throw new Misfit(`${at}${explainOther(value)}`);
  }

  /** The last items of a list may be missing if they are optional: then the list is one of several lengths. */
  #list(values: readonly Value[], at: string): Json {
    const items = values.map((item) => this.#value(item, at));
    const required = items.findLastIndex((item) => !isOptional(item)) + 1;
    const whole = items.map(withoutOptional);
    if (required === items.length) return whole;
    const lengths = Array.from({ length: items.length - required + 1 }, (_, shorter) => items.length - shorter);
    return { $anyOf: lengths.map((length) => whole.slice(0, length)) };
  }

  #matcher({ name, args = [] }: Stub, at: string): Json {
    const [first = null] = args;
    const kind = name.slice("Matcher.".length);
    const constant = constants.get(kind);
    if (constant !== undefined) return constant;
    if (kind === "number" || kind === "string") return this.#filtered(kind, first);
    if (kind === "boolean") return typeof first === "boolean" ? first : { $type: "boolean" };
    if (kind === "caseInsensitiveString") {
      if (typeof first === "string") return { $ignoreCase: first };
      throw new Misfit(`${at}a text that is not known`);
    }
    if (kind === "anyOf") return this.#anyOf(args, at);
    if (!["value", "not", "arrayOrSingle"].includes(kind)) throw new Misfit(`${at}${name} is not a known matcher`);
    const value = this.#value(first, at);
    if (kind === "not") return { $not: value };
    const single = { $anyOf: [value], $not: { $type: "array" } };
    return kind === "value" ? value : { $anyOf: [single, [withoutOptional(value)]] };
  }

  /** A value that may be undefined is optional. */
  #anyOf(args: readonly Value[], at: string): Json {
    const isAbsent = (one: Value) => isStub(one) && one.name === "Matcher.undefined";
    const given = args.filter((item) => !isAbsent(item)).map((item) => this.#value(item, at));
    const [only = { $absent: true }] = given;
    const inner = given.length === 1 ? only : { $anyOf: given };
    return args.some(isAbsent) && given.length > 0 ? { $optional: withoutOptional(inner) } : inner;
  }

  /** Converts a usual filter function to a matcher. For others only the type is kept, which is reported. */
  #filtered(type: "number" | "string", filter: Value): Json {
    if (filter === null) return { $type: type };
    const found = isFunction(filter) ? readFilter(filter) : undefined;
    if (found !== undefined) return found;
    this.losses.push({ what: "a function that filters values", ...(isFunction(filter) && { detail: filter.source }) });
    return { $type: type };
  }
}

/** Matchers without arguments. */
const constants: ReadonlyMap<string, Json> = new Map<string, Json>([
  ["undefined", { $absent: true }],
  ["null", { $type: "null" }],
  ["anyValue", { $optional: { $any: true } }],
  ["emptyObjectOrUndefined", { $optional: { $anyOf: [null, { $equals: {} }, { $equals: [] }] } }],
]);

const isOptional = (json: Json): json is { $optional: Json } => isJsonObject(json) && "$optional" in json;
const withoutOptional = (json: Json): Json => (isOptional(json) ? json.$optional : json);

const comparison = /^\(?(\w+)\)?\s*=>\s*\1\s*(===?|[<>]=?)\s*(-?[\d.]+|"[^"\\]*"|'[^'\\]*');?$/;
const textTest = /^\(?(\w+)\)?\s*=>\s*\1\.(includes|startsWith|endsWith)\(("[^"\\]*"|'[^'\\]*')\);?$/;

/** Converts `(value) => value === 0`, `>= 1`, `.includes("x")` and the like to matchers. */
function readFilter({ source }: FunctionValue): Json | undefined {
  const [, , key = "", literal = ""] = comparison.exec(source) ?? textTest.exec(source) ?? [];
  const given = /^["']/.test(literal) ? literal.slice(1, -1) : Number(literal);
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
  return written[key];
}
