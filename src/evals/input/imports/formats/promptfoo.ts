import { dirname, join, resolve } from "node:path";
import { cut } from "../../../base/text/text.ts";
import type { Location } from "../../../base/types/errors.ts";
import { getAtPath, isJsonObject, type Json, type JsonObject, readWhole } from "../../../base/types/json.ts";
import { type CaseFile, type ServerSpec, serverFileSchema } from "../../../base/types/suiteFile.ts";
import { readConfined } from "../../parsing/folders.ts";
import type { ParsedFile } from "../../parsing/json.ts";
import { maxBytes } from "../../parsing/read.ts";
import {
  asList,
  asObject,
  asText,
  type Expectations,
  type FileCall,
  type Format,
  type ImportedCase,
  keepJudged,
  type Loss,
  leaveOut,
  listOtherKeys,
  oneOrSeveral,
  parseData,
  pickSkill,
  readTexts,
  type SourceFile,
  showValue,
  toLiteralArgs,
} from "./format.ts";

/** promptfoo: `{ prompts, tests: [{ vars, assert }] }`, with assertions about tool calls. */
export const promptfoo: Format = {
  name: "promptfoo",
  label: "promptfoo's tests",
  recognizes: ({ file, text }) =>
    /\.(?:ya?ml|json)$/.test(file) &&
    (/promptfoo/i.test(file) || /"?prompts"?:/.test(text)) &&
    /"?tests"?:/.test(text) &&
    /trajectory:|tool-call|tools-call|skill-used|promptfoo|file:/.test(text),
  async read(source, context) {
    const parsed = await parseData(source);
    const config = asObject(parsed.value);
    const losses: Loss[] = listOtherKeys(config, ["description", "prompts", "tests", "scenarios", "defaultTest"]);
    for (const key of ["tests", "scenarios", "defaultTest"]) {
      const given = config[key] ?? [];
      const isHere = Array.isArray(given) || (key === "defaultTest" ? isJsonObject(given) : typeof given === "string");
      if (!isHere) losses.push({ what: `"${key}" in another file`, detail: showValue(given) });
    }
    const templates = listTemplates(config.prompts);
    const shared = asObject(config.defaultTest);
    const tests = [...(await readTests(parsed, source)), ...crossScenarios(parsed)];
    const cases = tests.flatMap(({ test, location }): ImportedCase[] => {
      const leave = (reason: string, name = showValue(test)) => [leaveOut({ name, location, losses: [] }, reason)];
      const file = asText(test) ?? asText(asObject(test).path);
      if (file !== undefined) return leave("tests of another file", file);
      if (!isJsonObject(test)) return leave("the test is not an object");
      const combinations = expandVars(test, shared);
      if (typeof combinations === "string") return leave(combinations, asText(test.description));
      return templates.flatMap((template) =>
        combinations.map((vars) => readTest(template, vars, test, shared, { location, context })),
      );
    });
    const server = findServer(config.providers, dirname(source.path));
    return { file: source.file, cases, losses, ...(server && { server }) };
  },
};

/**
 * The MCP server of the providers, under `config.mcp` or, of the provider `mcp`, under `config`. Undefined if there are
 * several. References to the environment become `${NAME}`.
 */
function findServer(providers: Json | undefined, cwd: string): ServerSpec | undefined {
  const texts = asList(providers).flatMap((provider) => {
    const config = asObject(asObject(provider).config);
    const { server, servers } = asObject(config.mcp ?? config);
    return asList(server ?? servers).map((one) => {
      const { command, args, path = "", env, url, headers } = asObject(one);
      const file = asText(path);
      const written = asText(command) ?? (file && (file.endsWith(".py") ? "python3" : "node"));
      const reached = asText(url) && { url, ...(isJsonObject(headers) && { headers }) };
      const started = { command: written, args: args ?? (file && [file]), ...(isJsonObject(env) && { env }), cwd };
      return JSON.stringify(reached || started).replace(/\{\{\s*env\.(\w+)\s*\}\}/g, "$${$1}");
    });
  });
  const [text, ...others] = new Set(texts);
  const read = serverFileSchema.safeParse(text !== undefined && others.length === 0 && JSON.parse(text));
  return read.data;
}

type PlacedTest = { test: Json; location: Location };

/** The tests of the list, and of the files beside it that it names. A file that is not read stays a name. */
async function readTests({ value, location }: ParsedFile, { path, file }: SourceFile): Promise<PlacedTest[]> {
  const { tests } = asObject(value);
  const listed = Array.isArray(tests) ? tests.map((test, at) => ({ test, at: ["tests", at] })) : [];
  const all = typeof tests === "string" ? [{ test: tests, at: ["tests"] }] : listed;
  const placed = all.map(async ({ test, at }): Promise<PlacedTest[]> => {
    const [, name] = /^(?:file:\/\/)?(.+\.(?:ya?ml|json))$/.exec(asText(test) ?? "") ?? [];
    const read = name === undefined ? undefined : readConfined(resolve(dirname(path), name), dirname(path), maxBytes);
    if (name === undefined || !read || !("text" in read)) return [{ test, location: location(at) }];
    const other = await parseData({ path, file: join(dirname(file), name), text: read.text });
    return asList(other.value).map((one, index) => ({ test: one, location: other.location([index]) }));
  });
  return (await Promise.all(placed)).flat();
}

/** The tests of the scenarios: each with each entry of the scenario's `config`. */
function crossScenarios({ value, location }: ParsedFile): PlacedTest[] {
  const { scenarios } = asObject(value);
  return (Array.isArray(scenarios) ? scenarios : []).flatMap((scenario, at) => {
    const { config, tests: own } = asObject(scenario);
    return ([config ?? scenario].flat() as Json[]).flatMap((data) =>
      ([own ?? {}].flat() as Json[]).map((test) => {
        const merged = isJsonObject(data) && isJsonObject(test) ? mergeTests(data, test) : undefined;
        return { test: merged ?? (isJsonObject(data) ? test : data), location: location(["scenarios", at]) };
      }),
    );
  });
}

function mergeTests(first: JsonObject, second: JsonObject): JsonObject {
  const merge = (key: string) => ({ ...asObject(first[key]), ...asObject(second[key]) });
  const assert = [first.assert ?? [], second.assert ?? []].flat() as Json[];
  return { ...first, ...second, vars: merge("vars"), options: merge("options"), assert };
}

const maxCases = 1_000;
/** The variables of each case, or why there are none: a variable with a list makes a case for each of its values. */
function expandVars(test: JsonObject, shared: JsonObject): JsonObject[] | string {
  const { vars, options } = mergeTests(shared, test);
  if (!isJsonObject(test.vars ?? {})) return "its variables are in another file";
  if (asObject(options).disableVarExpansion === true) return [asObject(vars)];
  let combinations: JsonObject[] = [{}];
  for (const [name, value] of Object.entries(asObject(vars))) {
    const values: Json[] = [value].flat();
    if (values.length === 0) return "one of its variables is an empty list";
    if (combinations.length * values.length > maxCases) return `its variables make more than ${maxCases} cases`;
    combinations = combinations.flatMap((given) => values.map((one) => ({ ...given, [name]: one })));
  }
  return combinations;
}

/** Whether a threshold permits that something fails. One that is no number may. */
const isLow = (threshold: Json = 1) => threshold !== null && !(Number(threshold) >= 1);

/** The texts of the prompts; undefined for a prompt that is in a file. */
function listTemplates(prompts: Json | undefined): (string | undefined)[] {
  const list = [prompts ?? "{{prompt}}"].flat().map((one) => {
    const text = typeof one === "string" ? one : (asText(asObject(one).raw) ?? asText(asObject(one).content));
    return text === undefined || /^file:|\.(?:txt|json|js|py|md)$/.test(text) ? undefined : text;
  });
  return list.length > 0 ? list : ["{{prompt}}"];
}

type TestExpectations = Expectations & {
  /** The expected order of the calls. */
  sequence?: readonly string[];
  /** Whether an assertion is about the first call of the first reply. */
  isFirst?: boolean;
  /** Whether an assertion is that some call is well-formed. */
  isAny?: boolean;
  isExact?: boolean;
  /** The modes in which arguments are compared. */
  modes: Set<Json>;
};

function readTest(
  template: string | undefined,
  given: JsonObject,
  test: JsonObject,
  shared: JsonObject,
  { location, context }: { location: ReturnType<ParsedFile["location"]>; context: { judged: boolean } },
): ImportedCase {
  // A value of a variable may name others.
  const vars = Object.fromEntries(Object.entries(given).map(([name, one]) => [name, fillAll(one, given) ?? one]));
  const found: TestExpectations = { calls: [], avoid: [], skills: [], modes: new Set(), sentences: [], losses: [] };
  const merged = mergeTests(shared, test);
  const { transform, disableVarExpansion, disableDefaultAsserts, ...options } = asObject(merged.options);
  const assertions = asList((disableDefaultAsserts === true ? test : merged).assert);
  for (const assertion of assertions)
    readAssertion({ ...(transform !== undefined && { transform }), ...asObject(assertion) }, vars, found);
  const known = ["description", "vars", "assert", "metadata", "threshold", "options"];
  const others: Loss[] = [...listOtherKeys(merged, known), ...listOtherKeys(options, [])];
  const { threshold } = merged;
  if (isLow(threshold))
    others.push({ what: "a threshold of the test: every assertion has to hold", detail: showValue(threshold) });
  const expect = buildExpectation(found);
  const named = asText(test.description);
  const common = { name: named ?? cut(showValue(given), 80), location, losses: [...others, ...found.losses] };
  if (template === undefined) return leaveOut(common, "its prompt is in another file");
  if (/^\s*(?:\[\s*\{|- role:)/.test(template)) return leaveOut(common, "its prompt is a list of messages");
  const input = fill(template, vars);
  if (input === undefined)
    return leaveOut(common, "its prompt has variables without a value, or other template syntax");
  const lost = [...new Set(found.losses.map(({ what }) => what))].join("; ") || "none is about tools or has a rubric";
  const reason = assertions.length === 0 ? "it has no assertion" : `no assertion can be kept: ${lost}`;
  return keepJudged(context, common, { input, ...(expect && { expect, maxTurns: 8 }) }, found.sentences, reason);
}

/** Names in `losses` what one expectation cannot say of several assertions. */
function buildExpectation(found: TestExpectations): CaseFile["expect"] {
  const { avoid, modes, isFirst, isExact, sequence, losses } = found;
  const avoided = avoid.length > 0 ? { avoid: oneOrSeveral([...new Set(avoid)]) } : {};
  const calls = sequence ? orderCalls(sequence, found) : found.calls;
  const [call, ...further] = calls;
  const skill = pickSkill(found, call !== undefined || found.isAny === true);
  if (further.length > 0 && isFirst) losses.push({ what: "that a call is the first" });
  const hasChoice = calls.some(({ tool }) => Array.isArray(tool));
  const tools = calls.flatMap(({ tool, args }) => (args ? [tool] : []));
  if (further.length > 0 && (hasChoice || new Set(tools).size < tools.length))
    losses.push({ what: "that one call may meet several assertions" });
  // The mode is one for all calls, also for those without arguments.
  const isStrict = modes.has("exact") && modes.size === 1 && calls.every(({ args }) => args);
  if (modes.has("exact") && !isStrict) losses.push({ what: 'the mode "exact" of one of several calls' });
  const argsMode = isStrict ? { argsMode: "exact" as const } : {};
  const extras = isExact ? {} : { extras: true };
  if (call && further.length === 0 && isFirst) return { ...call, ...extras, ...argsMode, ...avoided };
  if (call) return { calls, order: sequence ? "strict" : "any", ...extras, ...argsMode, ...avoided };
  if (found.isAny) return { tool: "any", ...avoided };
  if (skill !== undefined) return { skill, ...avoided };
  return avoid.length > 0 ? avoided : undefined;
}

/** The calls of a sequence, with the arguments that other assertions expect of them. */
function orderCalls(sequence: readonly string[], { calls, losses }: TestExpectations): FileCall[] {
  const open = [...calls];
  const ordered = sequence.map((tool): FileCall => {
    const at = open.findIndex((call) => call.tool === tool);
    return (at < 0 ? undefined : open.splice(at, 1)[0]) ?? { tool };
  });
  if (ordered.some(({ args }) => args))
    losses.push({ what: "that another call than that of the sequence may have the arguments" });
  if (open.length > 0) {
    const detail = open.map(({ tool }) => [tool].flat().join(" or ")).join(", ");
    losses.push({ what: "an expected call beside a sequence", detail });
  }
  return ordered;
}

/**
 * Replaces `{{variables}}` in a template; undefined if one has no plain value or is in another file, or there is other
 * syntax.
 */
function fill(template: string, vars: JsonObject): string | undefined {
  let isWhole = !/\{[%#]|^file:/.test(template);
  const text = template.replace(/\{\{-?\s*([\w.]+)\s*-?\}\}/g, (_, name: string) => {
    const value = getAtPath(vars, name.split(".")) ?? null;
    const written = showValue(value);
    if (value === null || typeof value === "object" || written.startsWith("file:")) isWhole = false;
    return written;
  });
  return isWhole && !text.includes("{{") ? text : undefined;
}

/** Replaces the variables in all texts of a value. */
function fillAll(value: Json, vars: JsonObject): Json | undefined {
  if (typeof value === "string") return fill(value, vars);
  if (value === null || typeof value !== "object") return value;
  const members = Object.entries(value).flatMap(([key, one]) => {
    const filled = fillAll(one, vars);
    return filled === undefined ? [] : [[key, filled] as const];
  });
  if (members.length < Object.keys(value).length) return undefined;
  return Array.isArray(value) ? members.map(([, one]) => one) : Object.fromEntries(members);
}

/** A JavaScript expression for the first tool call of the output, in the spellings that are understood. */
const firstCall = /(?:output|JSON\.parse\(output\))(?:\[0\])?(?:\.function)?/.source;
const readsName = new RegExp(`^${firstCall}\\.name$`);
const comparesName = new RegExp(`^${firstCall}\\.name\\s*===?\\s*['"]([\\w.:/-]+)['"];?$`);
const comparesArgument = new RegExp(
  `^JSON\\.parse\\(${firstCall}\\.arguments\\)\\.(\\w+)\\s*===?\\s*(?:'([^']*)'|"([^"]*)"|(-?[\\d.]+));?$`,
);

/** Reads an assertion about the name, an argument or the form of the first call. Returns whether it was one. */
function readFirstCall({ type, value, transform }: JsonObject, found: TestExpectations): boolean {
  const text = asText(value)?.trim() ?? "";
  const code = type === "javascript" ? text : "";
  const isName = type === "equals" && readsName.test(asText(transform)?.trim() ?? "");
  const name = isName ? text : comparesName.exec(code)?.[1];
  const [, argument, single, double, number] = comparesArgument.exec(code) ?? [];
  const isForm = /^is-valid-(?:openai-)?(?:function|tools)-call$/.test(asText(type) ?? "");
  const [call] = found.calls;
  if (isForm) found.isAny = true;
  else if (name !== undefined && name !== "") addCall(found, name);
  else if (argument !== undefined && call)
    call.args = { ...call.args, ...toLiteralArgs({ [argument]: single ?? double ?? readWhole(number ?? "") }) };
  else return false;
  found.isFirst ||= !isForm;
  return true;
}

/** Reads an assertion. Those that cannot fail in promptfoo, and those that a suite cannot express, are named. */
function readAssertion({ transform, ...assertion }: JsonObject, vars: JsonObject, found: TestExpectations): void {
  const { type, value: template, threshold, weight, metric, metricOnly, assert, ...others } = assertion;
  const name = asText(type) ?? "without a type";
  const { avoid, skills, sentences, losses } = found;
  if (weight === 0 || metricOnly === true)
    return void losses.push({ what: "an assertion that is measured and cannot fail", detail: name });
  const value = fillAll(template ?? null, vars);
  if (value === undefined)
    return void losses.push({ what: "an assertion with variables without a value, or in another file", detail: name });
  if (readFirstCall({ type: type ?? null, value, transform: transform ?? null }, found)) return;
  const isF1 = name === "tool-call-f1";
  if (weight !== undefined || (threshold !== undefined && !isF1 && name !== "assert-set"))
    losses.push({ what: "a weight or threshold of an assertion", detail: name });
  if (transform !== undefined && !/^(?:not-)?(?:trajectory:|skill-used)/.test(name))
    losses.push({ what: "a transform of the output", detail: name });
  losses.push(...Object.keys(others).map((key) => ({ what: `"${key}" of an assertion`, detail: name })));
  switch (name) {
    case "assert-set":
      readAssertSet({ threshold: threshold ?? null, assert: assert ?? [] }, vars, found);
      return;
    case "trajectory:tool-used":
    case "not-trajectory:tool-used":
      for (const tool of listTools(value, losses)) expectCount(tool, name.startsWith("not-"), found);
      return;
    case "trajectory:tool-sequence": {
      const { steps, mode } = Array.isArray(value) ? { steps: value, mode: undefined } : asObject(value);
      const tools = listTools(steps, losses).map((tool) => tool.name);
      if (tools.length < [steps ?? []].flat().length) return;
      if (found.sequence) return void losses.push({ what: "a further sequence of calls" });
      found.sequence = tools;
      if (mode === "exact") found.isExact = true;
      return;
    }
    case "trajectory:tool-args-match":
      readArguments(asObject(value), found);
      return;
    case "tool-call-f1":
      if (isLow(threshold))
        return void losses.push({ what: "tool-call-f1 with a threshold below 1", detail: showValue(threshold) });
      for (const tool of readTexts(typeof value === "string" ? value.split(",") : value, name, losses))
        addCall(found, tool.trim());
      losses.push({ what: "repeated calls of a tool, which tool-call-f1 allows" });
      found.isExact = true;
      return;
    case "skill-used":
    case "not-skill-used": {
      const { name: skill, pattern, min, max } = asObject(value);
      const named = [asText(skill) ?? asText(pattern) ?? readTexts(value, name, losses)].flat();
      const plain = named.filter((one) => !/[*?]/.test(one));
      if (plain.length < named.length) losses.push({ what: "a pattern of skill names", detail: named.join(", ") });
      if ((min !== undefined && min !== 1) || (max !== undefined && max !== 0))
        losses.push({ what: "how often a skill is loaded", detail: named.join(", ") });
      if (max === 0 || name.startsWith("not-")) avoid.push(...plain.map((one) => `skill:${one}`));
      else if (max === undefined || (typeof min === "number" && min > 0)) skills.push(...plain);
      return;
    }
    case "llm-rubric":
    case "trajectory:goal-success":
      sentences.push(...readTexts(asObject(value).goal ?? value, name, losses));
      return;
    default:
      losses.push({ what: `the assertion "${name}"` });
  }
}

/** A set without a threshold is its assertions. One of which a single call suffices expects any of the tools. */
function readAssertSet({ threshold, assert }: JsonObject, vars: JsonObject, found: TestExpectations): void {
  const inner = asList(assert).map(asObject);
  if (!isLow(threshold)) {
    for (const one of inner) readAssertion(one, vars, found);
    return;
  }
  const names = inner.flatMap(({ type, value, ...others }) => {
    const tool = fillAll(value ?? null, vars);
    const isPlain = type === "trajectory:tool-used" && typeof tool === "string" && !/[*?]/.test(tool);
    return isPlain && Object.keys(others).length === 0 ? [tool] : [];
  });
  const isChoice = names.length === inner.length && Number(threshold) > 0 && Number(threshold) * names.length <= 1;
  if (isChoice) found.calls.push({ tool: oneOrSeveral(names) });
  else found.losses.push({ what: "an assert-set with a threshold below 1", detail: showValue(threshold) });
}

/** Adds the calls that a tool has to have, or forbids them. */
function expectCount({ name, min, max }: ToolCount, isNegated: boolean, found: TestExpectations): void {
  const isCounted = isNegated ? min !== 1 || max !== undefined : max !== undefined && (max > 0 || min > 0);
  if (isCounted || min > 20)
    found.losses.push({ what: "how often a tool is called", detail: `${name}: ${min} to ${max ?? "any"}` });
  if (isNegated ? !isCounted : max === 0) found.avoid.push(name);
  else if (!isNegated) for (let count = 1; count <= Math.min(min, 20); count++) addCall(found, name, count);
}

/** In exact mode, arguments of `defaults` may have that value, and those of `ignore` any. */
function readArguments(value: JsonObject, found: TestExpectations): void {
  const { args, arguments: given, mode, defaults, ignore, ...matcher } = value;
  const { losses, calls } = found;
  const [tool] = listTools([matcher], losses);
  if (!tool) return;
  const expected = args ?? given ?? null;
  if (!isJsonObject(expected)) return void losses.push({ what: "arguments that are no object", detail: tool.name });
  const ignored = readTexts(ignore, "ignore", losses);
  const usual = asObject(defaults);
  const isExact = mode === "exact";
  if (ignored.some((key) => /[*?]/.test(key)) || Object.keys(usual).some((key) => key in expected))
    losses.push({ what: '"ignore" with a pattern, or "defaults" of expected arguments', detail: tool.name });
  if (!isExact && Object.values(expected).some((one) => /\{/.test(showValue(one))))
    losses.push({ what: "that nested objects may have further members", detail: tool.name });
  const free = ignored.map((key) => [key, { $optional: { $any: true } }] as const);
  const optional = Object.entries(toLiteralArgs(usual)).map(([key, one]) => [key, { $optional: one }] as const);
  const literal = Object.entries(toLiteralArgs(expected)).filter(([key]) => !ignored.includes(key));
  const all = Object.fromEntries([...(isExact ? [...optional, ...free] : []), ...literal]);
  found.modes.add(isExact ? "exact" : "partial");
  const open = calls.find((call) => call.tool === tool.name && !call.args);
  if (open) open.args = all;
  else calls.push({ tool: tool.name, args: all });
}

/** Makes sure that at least `count` calls of a tool are expected. */
function addCall({ calls }: TestExpectations, tool: string, count = 1): void {
  if (calls.filter((call) => call.tool === tool).length < count) calls.push({ tool });
}

type ToolCount = { name: string; min: number; max: number | undefined };

/** The tools of a name, a list, or `{ name, min, max }`. In promptfoo, a name with `*` or `?` is a pattern. */
function listTools(value: Json | undefined, losses: Loss[]): ToolCount[] {
  const counts: ToolCount[] = [];
  for (const one of asList(value)) {
    const { name, tool, pattern, min, max } = asObject(typeof one === "string" ? { name: one } : one);
    const named = asText(pattern) ?? asText(name) ?? asText(tool);
    const [least, most] = [min, max].map((count) => (typeof count === "number" ? count : undefined));
    if (named === undefined) losses.push({ what: "a tool name that is not text", detail: showValue(one) });
    else if (/[*?]/.test(named)) losses.push({ what: "a pattern of tool names", detail: named });
    else counts.push({ name: named, min: least ?? 1, max: most });
  }
  return counts;
}
