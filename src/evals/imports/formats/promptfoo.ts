import type { ParsedFile } from "../../parsing/json.ts";
import { isJsonObject, type Json, type JsonObject } from "../../types/json.ts";
import type { CaseFile } from "../../types/suite.ts";
import { asObject, asText, asTexts, listObjects, listOtherKeys, parseData } from "./data.ts";
import { toLiteralArgs } from "./expected.ts";
import { addSentences, type Format, type ImportedCase, keep, leaveOut, oneOrSeveral, type Unsaid } from "./imported.ts";

/** promptfoo: `{ prompts, tests: [{ vars, assert }] }`, with assertions about tool calls. */
export const promptfoo: Format = {
  name: "promptfoo",
  label: "promptfoo's tests",
  recognises: ({ file, text }) =>
    /\.(?:ya?ml|json)$/.test(file) &&
    (/promptfoo/i.test(file) || /"?prompts"?:/.test(text)) &&
    /"?tests"?:/.test(text) &&
    /trajectory:|tool-call|tools-call|skill-used|promptfoo/.test(text),
  async read(source, context) {
    const parsed = await parseData(source);
    const config = asObject(parsed.value);
    const unsaid = listOtherKeys(config, [
      "description",
      "prompts",
      "tests",
      "providers",
      "targets",
      "defaultTest",
      "tracing",
      "env",
    ]);
    if (!Array.isArray(config.tests)) {
      const what =
        typeof config.tests === "string" ? `tests of another file (${config.tests})` : "tests that are no list";
      return { file: source.file, cases: [], unsaid: [...unsaid, { what }] };
    }
    const templates = listTemplates(config.prompts);
    const shared = asObject(config.defaultTest);
    const cases = (config.tests as Json[]).flatMap((test, index): ImportedCase[] => {
      const place = parsed.place(["tests", index]);
      if (!isJsonObject(test)) return [leaveOut({ name: String(test), place, unsaid: [] }, "tests of another file")];
      return templates.map((template) => readTest(template, test, shared, { place, context }));
    });
    return { file: source.file, cases, unsaid };
  },
};

/** The texts of prompts; one that is in a file is undefined. */
function listTemplates(prompts: Json | undefined): (string | undefined)[] {
  const list = [prompts ?? "{{prompt}}"].flat().map((one) => {
    const text = typeof one === "string" ? one : (asText(asObject(one).raw) ?? asText(asObject(one).content));
    return text === undefined || /^file:|\.(?:txt|json|js|py|md)$/.test(text) ? undefined : text;
  });
  return list.length > 0 ? list : ["{{prompt}}"];
}

type Found = {
  calls: { tool: string | string[]; args?: JsonObject }[];
  avoid: string[];
  skill?: string;
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
  const found: Found = { calls: [], avoid: [], sentences: [], unsaid: [] };
  for (const assertion of [shared.assert ?? [], test.assert ?? []].flat() as Json[])
    readAssertion(asObject(assertion), found);
  const others = listOtherKeys(test, ["description", "vars", "assert", "metadata", "threshold"]);
  const named = asText(test.description);
  const common = { name: named ?? JSON.stringify(vars).slice(0, 80), place, unsaid: [...others, ...found.unsaid] };
  const input = template === undefined ? undefined : fill(template, vars);
  if (input === undefined)
    return leaveOut(
      common,
      template === undefined ? "its prompt is in another file" : "its prompt has variables without a value",
    );
  const expect = buildExpectation(found);
  const base: CaseFile = { input, ...(expect && { expect, maxTurns: 8 }) };
  const { content, unsaid } = addSentences(
    context,
    base,
    found.sentences.map((text) => fill(text, vars) ?? text),
  );
  if (!content.expect && !content.expected_behavior)
    return leaveOut(common, "no assertion is about tools or has a rubric");
  return keep({ ...common, unsaid: [...common.unsaid, ...unsaid] }, content);
}

function buildExpectation({ calls, avoid, skill, isOrdered, isExact, argsMode }: Found): CaseFile["expect"] {
  const avoided = avoid.length > 0 ? { avoid: oneOrSeveral([...new Set(avoid)]) } : {};
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

/** Text with `{{variables}}` replaced; undefined where one has no plain value, or the template does more. */
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

function readAssertion({ type, value, ...others }: JsonObject, found: Found): void {
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
      const { name: tool, tool: other, args, arguments: given, mode } = asObject(value);
      const called = asText(tool) ?? asText(other);
      if (called === undefined) return void unsaid.push({ what: "arguments of a pattern of tools" });
      addCall(found, called, toLiteralArgs(asObject(args ?? given)));
      if (mode === "exact") found.argsMode = "exact";
      return;
    }
    case "tool-call-f1":
      for (const tool of typeof value === "string"
        ? value.split(",").map((one) => one.trim())
        : listTools(value, unsaid))
        addCall(found, tool);
      if (others.threshold === 1) found.isExact = true;
      return;
    case "skill-used":
      found.skill = asTexts(value)[0] ?? asText(asObject(value).name) ?? "";
      return;
    case "not-skill-used":
      avoid.push(...asTexts(value).map((skill) => `skill:${skill}`));
      return;
    case "llm-rubric":
    case "trajectory:goal-success":
      sentences.push(...asTexts(value));
      return;
    default:
      unsaid.push({ what: `the assertion "${name}"` });
  }
}

/** An expected call, or the arguments of one that is expected already. */
function addCall({ calls }: Found, tool: string, args?: JsonObject): void {
  const known = calls.find((call) => call.tool === tool && !call.args);
  if (!known) calls.push({ tool, ...(args && { args }) });
  else if (args) known.args = args;
}

/** The tools of a name, a list, or `{ name, min, max }`; a pattern and counts are named. */
function listTools(value: Json | undefined, unsaid: Unsaid[]): string[] {
  return ([value ?? []].flat() as Json[]).flatMap((one) => {
    if (typeof one === "string") return [one];
    const { name, tool, pattern, min, max } = asObject(one);
    const named = asText(name) ?? asText(tool);
    if (pattern !== undefined || named === undefined)
      unsaid.push({ what: "a pattern of tool names", detail: String(pattern) });
    if ((min !== undefined && min !== 1) || max !== undefined) unsaid.push({ what: "how often a tool is called" });
    if (max === 0) return [];
    return named === undefined ? [] : [named];
  });
}

/** mcp-evals: `{ model, evals: [{ name, description, prompt, expected_result? }] }`. */
export const mcpEvals: Format = {
  name: "mcp-evals",
  label: "mcp-evals",
  recognises: ({ file, text }) =>
    /\.ya?ml$/.test(file) &&
    /^evals:/m.test(text) &&
    /^\s+prompt:/m.test(text) &&
    /expected_result:|^model:/m.test(text),
  async read(source) {
    const parsed = await parseData(source);
    const config = asObject(parsed.value);
    const cases = listObjects(parsed, ["evals"], '"evals"').map(({ path, entry }) => {
      const [name, prompt, expected] = [asText(entry.name), asText(entry.prompt), asText(entry.expected_result)];
      const unsaid = listOtherKeys(entry, ["name", "description", "prompt", "expected_result"]);
      const common = { name: name ?? prompt ?? "", place: parsed.place(path), unsaid };
      if (prompt === undefined) return leaveOut(common, "it has no prompt");
      if (expected === undefined)
        return leaveOut(common, "it has no expected_result: a judge scores it by nothing in particular");
      return keep(common, { input: prompt, expected_behavior: [expected], maxTurns: 8 });
    });
    return { file: source.file, cases, unsaid: listOtherKeys(config, ["model", "evals"]) };
  },
};
