import { isJsonObject, type Json, type JsonObject } from "../../types/json.ts";
import type { CaseFile, DispatchRules } from "../../types/suite.ts";
import { asObject, asText, asTexts, listObjects, listOtherKeys, parseData } from "./data.ts";
import { addSentences, type Format, keep, leaveOut, oneOrSeveral, type Unsaid } from "./imported.ts";

type FileCall = { tool: string | string[]; args?: JsonObject };
type Found = { calls: FileCall[]; avoid: string[]; skills: string[]; sentences: string[]; unsaid: Unsaid[] };

/** Vally: `{ stimuli: [{ name, prompt, graders: [{ type, config }] }] }`. */
export const vally: Format = {
  name: "vally",
  label: "Vally's evaluations",
  recognises: ({ file, text }) => /\.ya?ml$/.test(file) && /^stimuli:/m.test(text),
  async read(source, context) {
    const parsed = await parseData(source);
    const shared = asObject(parsed.value);
    const common = readGraders(shared.graders);
    const dispatch: DispatchRules = {};
    const known = ["name", "prompt", "environment", "tags", "graders", "constraints", "prompts"];
    const cases = listObjects(parsed, ["stimuli"], '"stimuli"').map(({ path, entry }) => {
      const [name, prompt] = [asText(entry.name), asText(entry.prompt)];
      const own = readGraders(entry.graders, dispatch);
      const found: Found = {
        calls: [...common.calls, ...own.calls],
        avoid: [...common.avoid, ...own.avoid],
        skills: [...common.skills, ...own.skills],
        sentences: [...common.sentences, ...own.sentences],
        unsaid: [...common.unsaid, ...own.unsaid, ...listOtherKeys(entry, known)],
      };
      const at = { name: name ?? prompt ?? "", place: parsed.place(path) };
      const left = (reason: string) => leaveOut({ ...at, unsaid: found.unsaid }, reason);
      if (entry.prompts !== undefined) return left("several prompts of one session");
      if (prompt === undefined) return left("it has no prompt");
      const expect = buildExpectation(found);
      const base: CaseFile = { input: prompt, ...(expect && { expect, maxTurns: 8 }) };
      const { content, unsaid } = addSentences(context, base, found.sentences);
      if (!content.expect && !content.expected_behavior) return left("no grader says which tool or skill is expected");
      return keep({ ...at, unsaid: [...found.unsaid, ...unsaid] }, content);
    });
    const settings = listOtherKeys(shared, [
      "name",
      "description",
      "type",
      "stimuli",
      "graders",
      "environment",
      "tags",
    ]);
    return { file: source.file, cases, unsaid: settings, ...(Object.keys(dispatch).length > 0 && { dispatch }) };
  },
};

function buildExpectation({ calls, avoid, skills }: Found): CaseFile["expect"] {
  const avoided = avoid.length > 0 ? { avoid: oneOrSeveral(avoid) } : {};
  if (calls.length > 0) return { calls, order: "any", extras: true, ...avoided };
  const [skill, ...others] = new Set(skills);
  if (skill !== undefined && others.length === 0) return { skill, ...avoided };
  return avoid.length > 0 ? avoided : undefined;
}

function readGraders(value: Json | undefined, dispatch: DispatchRules = {}): Found {
  const found: Found = { calls: [], avoid: [], skills: [], sentences: [], unsaid: [] };
  for (const grader of Array.isArray(value) ? value : []) {
    const { type, config } = asObject(grader);
    const settings = asObject(config);
    const name = asText(type) ?? "without a type";
    if (name === "tool-calls") readToolCalls(settings, found, dispatch);
    else if (name === "skill-invocation") readSkills(settings, found);
    else if (name === "prompt" && asText(settings.prompt) !== undefined)
      found.sentences.push(asText(settings.prompt) ?? "");
    else if (name === "prompt" && asText(settings.rubric) !== undefined)
      found.sentences.push(asText(settings.rubric) ?? "");
    else found.unsaid.push({ what: `the grader "${name}"` });
  }
  return found;
}

function readSkills(settings: JsonObject, { skills, avoid, unsaid }: Found): void {
  const required = asTexts(settings.required);
  skills.push(...required);
  avoid.push(...asTexts(settings.disallowed).map((skill) => `skill:${skill}`));
  if (required.length > 1) unsaid.push({ what: "several skills that must all be loaded" });
}

function readToolCalls(settings: JsonObject, { calls, avoid, unsaid }: Found, dispatch: DispatchRules): void {
  for (const entry of [settings.required ?? []].flat() as Json[]) {
    const { name, command, args, ...others } = typeof entry === "string" ? { name: entry } : asObject(entry);
    const tools = readNames(asText(name) ?? "");
    for (const key of Object.keys(others)) unsaid.push({ what: `"${key}" of an expected call` });
    if (!tools) {
      unsaid.push({ what: "a pattern of tool names", detail: asText(name) ?? "" });
      continue;
    }
    const inner = asText(command);
    const patterns = Object.entries(asObject(args)).flatMap(([key, pattern]): [string, Json][] =>
      typeof pattern === "string" ? [[key, { $regex: pattern }]] : [],
    );
    const [tool = ""] = tools;
    if (inner !== undefined && tools.length === 1 && /^[a-z][a-z0-9]*(?:_[a-z0-9-]+)+$/.test(inner)) {
      // A namespace tool that takes the name of the tool: what it calls is expected.
      dispatch[tool] = { name: "command" };
      calls.push({ tool: inner, ...(patterns.length > 0 && { args: Object.fromEntries(patterns) }) });
      continue;
    }
    const given = [...(inner === undefined ? [] : [["command", { $regex: inner }] as [string, Json]]), ...patterns];
    calls.push({ tool: oneOrSeveral(tools), ...(given.length > 0 && { args: Object.fromEntries(given) }) });
  }
  for (const entry of [settings.disallowed ?? []].flat() as Json[]) {
    const tools = readNames(typeof entry === "string" ? entry : (asText(asObject(entry).name) ?? ""));
    const isWhole = typeof entry === "string" || Object.keys(asObject(entry)).length === 1;
    if (tools && isWhole) avoid.push(...tools);
    else unsaid.push({ what: "a forbidden call with arguments or a pattern of names" });
  }
}

/** The names that a regular expression means, where it is a plain list of names. */
function readNames(pattern: string): string[] | undefined {
  const bare = pattern
    .replace(/^\(\?i\)/, "")
    .replace(/^\^/, "")
    .replace(/\$$/, "")
    .replace(/^\((?:\?:)?(.*)\)$/, "$1");
  const names = bare.split("|").map((name) => name.replaceAll("\\.", "."));
  return names.every((name) => /^[\w.:/-]+$/.test(name)) ? names : undefined;
}

/** waza: a task `{ id, name, inputs: { prompt }, graders, expected }`, or an evaluation with such tasks. */
export const waza: Format = {
  name: "waza",
  label: "waza's tasks",
  recognises: ({ file, text }) =>
    /\.ya?ml$/.test(file) &&
    (/^inputs:\s*\n\s+prompt:/m.test(text) ||
      (/^skill:/m.test(text) && /^tasks:/m.test(text) && /^\s+prompt:/m.test(text))),
  async read(source, context) {
    const parsed = await parseData(source);
    const whole = asObject(parsed.value);
    const isTask = isJsonObject(whole.inputs);
    const skill = asText(whole.skill);
    const entries = isTask
      ? [{ path: [], entry: whole }]
      : listObjects(parsed, ["tasks"], '"tasks"').filter(({ entry }) => entry.id !== undefined);
    const cases = entries.map(({ path, entry }) => {
      const id = asText(entry.id);
      const inputs = asObject(entry.inputs);
      const prompt = asText(inputs.prompt) ?? asText(entry.prompt);
      const found = readWazaGraders(entry, skill);
      const unsaid = [
        ...found.unsaid,
        ...listOtherKeys(inputs, ["prompt"]).map(({ what }) => ({ what: `${what} of the inputs` })),
        ...listOtherKeys(entry, [
          "id",
          "name",
          "description",
          "tags",
          "enabled",
          "inputs",
          "prompt",
          "expected",
          "graders",
          "validators",
        ]),
      ];
      const common = { name: id ?? prompt ?? "", place: parsed.place(path) };
      if (prompt === undefined) return leaveOut({ ...common, unsaid }, "it has no prompt");
      if (entry.enabled === false) return leaveOut({ ...common, unsaid }, "it is not enabled");
      const expect = buildExpectation(found);
      const base: CaseFile = { ...(id !== undefined && { id }), input: prompt, ...(expect && { expect, maxTurns: 8 }) };
      const added = addSentences(context, base, found.sentences);
      if (!added.content.expect && !added.content.expected_behavior)
        return leaveOut({ ...common, unsaid }, "no grader says which tool or skill is expected");
      return keep({ ...common, unsaid: [...unsaid, ...added.unsaid] }, added.content);
    });
    return { file: source.file, cases, unsaid: [] };
  },
};

function readWazaGraders(entry: JsonObject, skill: string | undefined): Found {
  const found: Found = { calls: [], avoid: [], skills: [], sentences: [], unsaid: [] };
  const expected = asObject(entry.expected);
  const { required_tools, forbidden_tools, ...limits } = asObject(expected.behavior);
  found.calls.push(...asTexts(required_tools).map((tool) => ({ tool })));
  found.avoid.push(...asTexts(forbidden_tools));
  if (skill !== undefined && expected.should_trigger === true) found.skills.push(skill);
  if (skill !== undefined && expected.should_trigger === false) found.avoid.push(`skill:${skill}`);
  if (typeof entry.expected === "string") found.sentences.push(entry.expected);
  for (const key of Object.keys(limits)) found.unsaid.push({ what: `the limit "${key}"` });
  for (const key of ["outcomes", "tool_calls", "output_contains", "output_not_contains"])
    if (expected[key] !== undefined) found.unsaid.push({ what: `"${key}" of the expectation` });
  for (const grader of ([entry.graders ?? [], entry.validators ?? []].flat() as Json[]).map(asObject)) {
    const config = asObject(grader.config);
    const type = asText(grader.type) ?? "without a type";
    if (type === "tool_constraint") {
      found.calls.push(...readSpecs(config.expect_tools, found));
      found.avoid.push(
        ...readSpecs(config.reject_tools, found).flatMap(({ tool, args }) => (args ? [] : [tool].flat())),
      );
    } else if (type === "action_sequence") {
      found.calls.push(...asTexts(config.expected_actions).map((tool) => ({ tool })));
      if (config.matching_mode !== "any_order_match")
        found.unsaid.push({ what: "the order of a sequence among other expected calls" });
    } else if (type === "skill_invocation") {
      const required = asTexts(config.required_skills);
      found.skills.push(...required.slice(0, 1));
      if (required.length > 1) found.unsaid.push({ what: "several skills that must all be loaded" });
    } else if (type === "prompt") found.sentences.push(...asTexts(grader.rubric ?? config.prompt));
    else if (type === "behavior") {
      found.calls.push(...asTexts(config.required_tools).map((tool) => ({ tool })));
      found.avoid.push(...asTexts(config.forbidden_tools));
    } else found.unsaid.push({ what: `the grader "${type}"` });
  }
  return found;
}

function readSpecs(value: Json | undefined, { unsaid }: Found): FileCall[] {
  return (Array.isArray(value) ? value : []).flatMap((spec): FileCall[] => {
    const { tool, command_pattern: command, path_pattern: path, skill_pattern: skill } = asObject(spec);
    const names = readNames(asText(tool) ?? (typeof spec === "string" ? spec : ""));
    if (!names) {
      unsaid.push({ what: "a pattern of tool names", detail: asText(tool) ?? "" });
      return [];
    }
    const args = Object.entries({ command, path, skill }).flatMap(([key, pattern]): [string, Json][] =>
      typeof pattern === "string" ? [[key, { $regex: pattern }]] : [],
    );
    return [{ tool: oneOrSeveral(names), ...(args.length > 0 && { args: Object.fromEntries(args) }) }];
  });
}
