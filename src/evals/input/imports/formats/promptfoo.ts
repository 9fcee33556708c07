import { cut } from "../../../base/text/text.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../base/types/json.ts";
import type { CaseFile } from "../../../base/types/suite.ts";
import type { ParsedFile } from "../../parsing/json.ts";
import { asObject, asText, listOtherKeys, parseData, readTexts, toLiteralArgs } from "./data.ts";
import {
  type FileCall,
  type Format,
  type ImportedCase,
  keepJudged,
  leaveOut,
  oneOrSeveral,
  type Unsaid,
} from "./imported.ts";

/** promptfoo: `{ prompts, tests: [{ vars, assert }] }`, with assertions about tool calls. */
export const promptfoo: Format = {
  name: "promptfoo",
  label: "promptfoo's tests",
  recognizes: ({ file, text }) =>
    /\.(?:ya?ml|json)$/.test(file) &&
    (/promptfoo/i.test(file) || /"?prompts"?:/.test(text)) &&
    /"?tests"?:/.test(text) &&
    /trajectory:|tool-call|tools-call|skill-used|promptfoo/.test(text),
  async read(source, context) {
    const parsed = await parseData(source);
    const config = asObject(parsed.value);
    const known = ["description", "prompts", "tests", "providers", "targets", "defaultTest", "tracing", "env"];
    const unsaid = listOtherKeys(config, known);
    if (!Array.isArray(config.tests)) {
      const what =
        typeof config.tests === "string" ? `tests of another file (${config.tests})` : "tests that are no list";
      return { file: source.file, cases: [], unsaid: [...unsaid, { what }] };
    }
    const templates = listTemplates(config.prompts);
    const shared = asObject(config.defaultTest);
    const cases = (config.tests as Json[]).flatMap((test, index): ImportedCase[] => {
      const place = parsed.place(["tests", index]);
      if (!isJsonObject(test)) {
        const reason = typeof test === "string" ? "tests of another file" : "the test is not an object";
        return [leaveOut({ name: typeof test === "string" ? test : JSON.stringify(test), place, unsaid: [] }, reason)];
      }
      return templates.map((template) => readTest(template, test, shared, { place, context }));
    });
    return { file: source.file, cases, unsaid };
  },
};

/** The texts of the prompts; undefined for a prompt that is in a file. */
function listTemplates(prompts: Json | undefined): (string | undefined)[] {
  const list = [prompts ?? "{{prompt}}"].flat().map((one) => {
    const text = typeof one === "string" ? one : (asText(asObject(one).raw) ?? asText(asObject(one).content));
    return text === undefined || /^file:|\.(?:txt|json|js|py|md)$/.test(text) ? undefined : text;
  });
  return list.length > 0 ? list : ["{{prompt}}"];
}

type TestExpectations = {
  calls: FileCall[];
  avoid: string[];
  skill?: string;
  /** Whether an assertion is about the first call of the first reply. If it names no tool, any call is expected. */
  isFirst?: boolean;
  isOrdered?: boolean;
  isExact?: boolean;
  argsMode?: "exact";
  sentences: string[];
  unsaid: Unsaid[];
};

function readTest(
  template: string | undefined,
  test: JsonObject,
  shared: JsonObject,
  { place, context }: { place: ReturnType<ParsedFile["place"]>; context: { judged: boolean } },
): ImportedCase {
  const vars = { ...asObject(shared.vars), ...asObject(test.vars) };
  const found: TestExpectations = { calls: [], avoid: [], sentences: [], unsaid: [] };
  const { transform, ...options } = { ...asObject(shared.options), ...asObject(test.options) };
  const assertions = [shared.assert ?? [], test.assert ?? []].flat() as Json[];
  for (const assertion of assertions)
    readAssertion({ ...(transform !== undefined && { transform }), ...asObject(assertion) }, found);
  const others = [
    ...listOtherKeys(test, ["description", "vars", "assert", "metadata", "threshold", "options"]),
    ...listOtherKeys(options, []),
  ];
  const named = asText(test.description);
  const common = { name: named ?? cut(JSON.stringify(vars), 80), place, unsaid: [...others, ...found.unsaid] };
  if (template === undefined) return leaveOut(common, "its prompt is in another file");
  const input = fill(template, vars);
  if (input === undefined) return leaveOut(common, "its prompt has variables without a value");
  const expect = buildExpectation(found);
  const sentences = found.sentences.map((text) => fill(text, vars) ?? text);
  const reason = assertions.length === 0 ? "it has no assertion" : "no assertion is about tools or has a rubric";
  return keepJudged(context, common, { input, ...(expect && { expect, maxTurns: 8 }) }, sentences, reason);
}

function buildExpectation({ calls, avoid, skill, ...rules }: TestExpectations): CaseFile["expect"] {
  const { isFirst, isOrdered, isExact, argsMode } = rules;
  const avoided = avoid.length > 0 ? { avoid: oneOrSeveral([...new Set(avoid)]) } : {};
  const [call] = calls;
  if (isFirst && calls.length < 2) return { ...(call ? { ...call, extras: true } : { tool: "any" }), ...avoided };
  if (calls.length > 0)
    return {
      calls,
      order: isOrdered ? "strict" : "any",
      ...(!isExact && { extras: true }),
      ...(argsMode && { argsMode }),
      ...avoided,
    };
  if (skill !== undefined) return { skill, ...avoided };
  return avoid.length > 0 ? avoided : undefined;
}

/** Replaces `{{variables}}` in a template; undefined if one has no plain value, or there is other syntax. */
function fill(template: string, vars: JsonObject): string | undefined {
  if (/\{%/.test(template)) return undefined;
  let isWhole = true;
  const text = template.replace(/\{\{-?\s*([\w.]+)\s*-?\}\}/g, (_, name: string) => {
    const value = vars[name];
    if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") isWhole = false;
    return String(value);
  });
  return isWhole && !text.includes("{{") ? text : undefined;
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
  const name =
    type === "equals" && readsName.test(asText(transform)?.trim() ?? "")
      ? text
      : type === "javascript"
        ? comparesName.exec(text)?.[1]
        : undefined;
  const [, argument, single, double, number] = (type === "javascript" && comparesArgument.exec(text)) || [];
  const isForm = /^is-valid-(?:openai-)?(?:function|tools)-call$/.test(asText(type) ?? "");
  const [call] = found.calls;
  if (name !== undefined && name !== "") addCall(found, name);
  else if (argument !== undefined && call)
    call.args = { ...call.args, ...toLiteralArgs({ [argument]: single ?? double ?? Number(number) }) };
  else if (!isForm) return false;
  found.isFirst = true;
  return true;
}

function readAssertion({ transform, ...assertion }: JsonObject, found: TestExpectations): void {
  if (readFirstCall({ transform: transform ?? null, ...assertion }, found)) return;
  const { type, value, ...others } = assertion;
  const name = asText(type) ?? "without a type";
  const { calls, avoid, sentences, unsaid } = found;
  if (others.weight !== undefined || others.threshold !== undefined)
    unsaid.push({ what: "a weight or threshold of an assertion" });
  switch (name) {
    case "trajectory:tool-used":
    case "not-trajectory:tool-used": {
      const tools = listTools(value, unsaid);
      if (name.startsWith("not-")) avoid.push(...tools);
      else for (const tool of tools) addCall(found, tool);
      return;
    }
    case "trajectory:tool-sequence": {
      const { steps, mode } = Array.isArray(value) ? { steps: value, mode: undefined } : asObject(value);
      const tools = listTools(steps, unsaid);
      calls.splice(0, calls.length, ...tools.map((tool) => calls.find((call) => call.tool === tool) ?? { tool }));
      found.isOrdered = true;
      if (mode === "exact") found.isExact = true;
      return;
    }
    case "trajectory:tool-args-match": {
      const { name: tool, tool: other, pattern, args, arguments: given, mode } = asObject(value);
      const called = asText(tool) ?? asText(other);
      if (called === undefined) {
        const what = pattern === undefined ? "a tool name that is not text" : "arguments of a pattern of tools";
        return void unsaid.push({ what, detail: JSON.stringify(value) });
      }
      addCall(found, called, toLiteralArgs(asObject(args ?? given)));
      if (mode === "exact") found.argsMode = "exact";
      return;
    }
    case "tool-call-f1":
      for (const tool of listTools(typeof value === "string" ? value.split(",") : value, unsaid))
        addCall(found, tool.trim());
      if (others.threshold === 1) found.isExact = true;
      return;
    case "skill-used": {
      const skills = [asText(asObject(value).name) ?? readTexts(value, name, unsaid)].flat();
      found.skill = skills[0] ?? "";
      if (skills.length > 1) unsaid.push({ what: "several skills that must all be loaded" });
      return;
    }
    case "not-skill-used":
      avoid.push(...readTexts(value, name, unsaid).map((skill) => `skill:${skill}`));
      return;
    case "llm-rubric":
    case "trajectory:goal-success":
      sentences.push(...readTexts(value, name, unsaid));
      return;
    default:
      unsaid.push({ what: `the assertion "${name}"` });
  }
}

/** Adds an expected call, or the arguments of a call that is already expected. */
function addCall({ calls }: TestExpectations, tool: string, args?: JsonObject): void {
  const known = calls.find((call) => call.tool === tool && !call.args);
  if (!known) calls.push({ tool, ...(args && { args }) });
  else if (args) known.args = args;
}

/** The tools of a name, a list, or `{ name, min, max }`. Patterns and counts are reported. */
function listTools(value: Json | undefined, unsaid: Unsaid[]): string[] {
  return ([value ?? []].flat() as Json[]).flatMap((one) => {
    if (typeof one === "string") return [one];
    const { name, tool, pattern, min, max } = asObject(one);
    const named = asText(name) ?? asText(tool);
    if (pattern !== undefined) unsaid.push({ what: "a pattern of tool names", detail: String(pattern) });
    else if (named === undefined) unsaid.push({ what: "a tool name that is not text", detail: JSON.stringify(one) });
    if ((min !== undefined && min !== 1) || max !== undefined) unsaid.push({ what: "how often a tool is called" });
    if (max === 0) return [];
    return named === undefined ? [] : [named];
  });
}
