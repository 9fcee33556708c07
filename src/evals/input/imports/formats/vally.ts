import { dirname, join } from "node:path";
import { isJsonObject, type Json, type JsonObject } from "../../../base/types/json.ts";
import type { CaseFile } from "../../../base/types/suiteFile.ts";
import { type ReadCaseFiles, readCaseFiles } from "../../parsing/caseFiles.ts";
import { realPath } from "../../parsing/folders.ts";
import {
  asList,
  asObject,
  asText,
  type Expectations,
  expectCall,
  type FileCall,
  type Format,
  keepJudged,
  type Loss,
  leaveOut,
  listObjects,
  listOtherKeys,
  oneOrSeveral,
  parseData,
  pickSkill,
  readTexts,
  type SourceFile,
  showValue,
} from "./format.ts";

/** Vally: `{ stimuli: [{ name, prompt, graders: [{ type, config }] }] }`. */
export const vally: Format = {
  name: "vally",
  label: "Vally's evaluations",
  recognizes: ({ file, text }) => /\.ya?ml$/.test(file) && /^stimuli:/m.test(text),
  async read(source, context) {
    const parsed = await parseData(source);
    const shared = asObject(parsed.value);
    const behind = new Map<string, string>();
    const known = ["name", "prompt", "tags", "graders", "prompts"];
    const cases = listObjects(parsed, ["stimuli"], '"stimuli"').map(({ path, entry }) => {
      const [name, prompt] = [asText(entry.name), asText(entry.prompt)];
      const found = readGraders([shared.graders, entry.graders], behind);
      const expect = buildExpectation(found);
      const losses = [...found.losses, ...listOtherKeys(entry, known)];
      const common = { name: name ?? prompt ?? "", location: parsed.location(path), losses };
      if (entry.prompts !== undefined) return leaveOut(common, "several prompts of one session");
      if (prompt === undefined) return leaveOut(common, "it has no prompt");
      const content = { input: prompt, ...(expect && { expect, maxTurns: 8 }) };
      return keepJudged(context, common, content, found.sentences, expectsNothing);
    });
    const settings = ["name", "description", "type", "stimuli", "graders", "tags"];
    const dispatch = Object.fromEntries([...behind.values()].map((name) => [name, { name: "command" }]));
    const losses = listOtherKeys(shared, settings);
    return { file: source.file, cases, losses, ...(behind.size > 0 && { dispatch, behind }) };
  },
};

const expectsNothing = "no grader says which tool or skill is expected";

function buildExpectation(found: Expectations): CaseFile["expect"] {
  const { calls, avoid, skills } = found;
  const avoided = avoid.length > 0 ? { avoid: oneOrSeveral(avoid) } : {};
  const skill = pickSkill(found, calls.length > 0);
  if (calls.length > 0) return { calls, order: "any", extras: true, ...avoided };
  if (skill !== undefined && new Set(skills).size === 1) return { skill, ...avoided };
  return avoid.length > 0 ? avoided : undefined;
}

/** `behind` gets the dispatcher of each tool that is called through one. */
function readGraders(lists: readonly (Json | undefined)[], behind: Map<string, string>): Expectations {
  const found: Expectations = { calls: [], avoid: [], skills: [], sentences: [], losses: [] };
  for (const grader of lists.flatMap((list) => (Array.isArray(list) ? list : []))) {
    const { type, config } = asObject(grader);
    const settings = asObject(config);
    const name = asText(type) ?? "without a type";
    const sentence = name === "prompt" ? (asText(settings.prompt) ?? asText(settings.rubric)) : undefined;
    if (name === "tool-calls") readToolCalls(settings, found, behind);
    else if (name === "skill-invocation") {
      found.skills.push(...readTexts(settings.required, "required", found.losses));
      const disallowed = readTexts(settings.disallowed, "disallowed", found.losses);
      found.avoid.push(...disallowed.map((skill) => `skill:${skill}`));
    } else if (sentence !== undefined) found.sentences.push(sentence);
    else found.losses.push({ what: `the grader "${name}"` });
  }
  return found;
}

/** Converts patterns of arguments to matchers. */
function matchPatterns(patterns: Readonly<Record<string, Json | undefined>>, losses: Loss[]): JsonObject {
  const given = Object.entries(patterns).filter(([, pattern]) => pattern !== undefined);
  for (const [detail] of given.filter(([, pattern]) => typeof pattern !== "string"))
    losses.push({ what: "a pattern of an argument that is not text", detail });
  const texts = given.filter((one): one is [string, string] => typeof one[1] === "string");
  return Object.fromEntries(texts.map(([key, pattern]) => [key, { $matches: pattern }]));
}

function readToolCalls(settings: JsonObject, { calls, avoid, losses }: Expectations, behind: Map<string, string>) {
  for (const entry of asList(settings.required)) {
    const { name, command, args, ...others } = typeof entry === "string" ? { name: entry } : asObject(entry);
    const tools = readNames(asText(name) ?? "", losses);
    for (const key of Object.keys(others)) losses.push({ what: `"${key}" of an expected call` });
    if (!tools) {
      losses.push(explainNoNames(name, entry));
      continue;
    }
    const inner = asText(command);
    const patterns = asObject(args);
    const [tool = ""] = tools;
    if (inner !== undefined && tools.length === 1 && /^[a-z][a-z0-9]*(?:_[a-z0-9-]+)+$/.test(inner)) {
      // A dispatcher that takes the name of a tool: that tool is expected.
      behind.set(inner, tool);
      calls.push(expectCall(inner, matchPatterns(patterns, losses)));
    } else calls.push(expectCall(oneOrSeveral(tools), matchPatterns({ command: inner, ...patterns }, losses)));
  }
  for (const entry of asList(settings.disallowed)) {
    const { name, ...others } = typeof entry === "string" ? { name: entry } : asObject(entry);
    const tools = readNames(asText(name) ?? "", losses);
    if (tools && Object.keys(others).length === 0) avoid.push(...tools);
    else if (asText(name) === undefined) losses.push(explainNoNames(name, entry));
    else losses.push({ what: "a forbidden call with arguments or a pattern of names" });
  }
}

/** Why a call has no names of tools: its name is a pattern, or not text. */
const explainNoNames = (name: Json | undefined, call: Json): Loss =>
  asText(name) === undefined
    ? { what: "a call whose tool name is not text", detail: showValue(call) }
    : { what: "a pattern of tool names", detail: String(name) };

/**
 * The names in a regular expression that is a plain list of names; undefined for any other pattern. `losses` says if
 * the pattern fits other names as well.
 */
function readNames(pattern: string, losses: Loss[], isAnyCase = pattern.startsWith("(?i)")): string[] | undefined {
  const bare = pattern.replace(/^(?:\(\?i\))?\^?|\$$/g, "").replace(/^\((?:\?:)?(.*)\)$/, "$1");
  const names = bare.split("|").map((name) => name.replaceAll("\\.", "."));
  if (!names.every((name) => /^[\w.:/-]+$/.test(name))) return undefined;
  // Without the parentheses, an anchor belongs to the first or the last name alone.
  const isWhole = /^(?:\(\?i\))?\^.*\$$/.test(pattern) && (names.length === 1 || /^(?:\(\?i\))?\^\(/.test(pattern));
  if (!isWhole) losses.push({ what: "a pattern that fits longer names of tools as well", detail: pattern });
  if (isAnyCase) losses.push({ what: "names of tools in any case of letters", detail: pattern });
  return names;
}

/** waza: a task `{ id, name, inputs: { prompt }, graders, expected }`, or an evaluation with such tasks. */
export const waza: Format = {
  name: "waza",
  label: "waza's tasks",
  recognizes: ({ file, text }) =>
    /\.ya?ml$/.test(file) &&
    (/^inputs:\s*^[ \t]+prompt:/m.test(text) ||
      (/^skill:/m.test(text) && /^tasks:/m.test(text) && /^[ \t]+prompt:/m.test(text))),
  async read(source, context) {
    const parsed = await parseData(source);
    const whole = asObject(parsed.value);
    const isTask = isJsonObject(whole.inputs);
    const skill = asText(whole.skill);
    const entries = isTask
      ? [{ path: [], entry: whole }]
      : listObjects(parsed, ["tasks"], '"tasks"').filter(({ entry }) => entry.id !== undefined);
    const texts = ["id", "name", "description", "tags", "prompt"];
    const known = [...texts, "enabled", "inputs", "expected", "graders", "validators"];
    const cases = entries.map(({ path, entry }) => {
      const id = asText(entry.id);
      const inputs = asObject(entry.inputs);
      const prompt = asText(inputs.prompt) ?? asText(entry.prompt);
      const found = readWazaGraders(entry, skill);
      const expect = buildExpectation(found);
      const { files, wrong, binary } = readFixtures(inputs.files, source);
      const losses = [
        ...found.losses,
        ...wrong.map(({ message }) => ({ what: "a file that cannot be read", detail: message })),
        ...binary.map((detail) => ({ what: "a file that is not text", detail })),
        ...listOtherKeys(inputs, ["prompt", "files"]).map(({ what }) => ({ what: `${what} of the inputs` })),
        ...listOtherKeys(entry, known),
      ];
      const common = { name: id ?? prompt ?? "", location: parsed.location(path), losses };
      if (prompt === undefined) return leaveOut(common, "it has no prompt");
      if (entry.enabled === false) return leaveOut(common, "it is not enabled");
      if (wrong.length > 0) return leaveOut(common, "a file of its inputs cannot be read");
      const given = { ...(id !== undefined && { id }), input: prompt, ...(files.length > 0 && { files }) };
      const content = { ...given, ...(expect && { expect, maxTurns: 8 }) };
      return keepJudged(context, common, content, found.sentences, expectsNothing);
    });
    const settings = ["name", "description", "version", "skill", "tasks"];
    return { file: source.file, cases, losses: isTask ? [] : listOtherKeys(whole, settings) };
  },
};

/**
 * Reads the files of a task with their content, because the suite may be written elsewhere. Paths are relative to the
 * folder `fixtures` next to the evaluation; its tasks are in the same folder or in a subfolder.
 */
function readFixtures(given: Json | undefined, { path }: SourceFile): ReadCaseFiles {
  const folders = [dirname(path), dirname(dirname(path))].flatMap((dir) => realPath(join(dir, "fixtures")) ?? []);
  const bases = folders.map((dir) => ({ dir, within: dir }));
  return readCaseFiles(given ?? [], { bases, where: "the folder fixtures", bytesLeft: 1024 * 1024 });
}

/**
 * The expectations of a task. One call may meet several graders, so that a tool is expected as often as the grader
 * wants that wants it most, and calls with arguments count among these.
 */
function readWazaGraders(entry: JsonObject, skill: string | undefined): Expectations {
  const found: Expectations = { calls: [], avoid: [], skills: [], sentences: [], losses: [] };
  const { losses } = found;
  const named: string[][] = [];
  const expected = asObject(entry.expected);
  const readNamed = (value: Json | undefined, what: string) => readTexts(value, what, losses);
  const readBehavior = ({ required_tools, forbidden_tools }: JsonObject) => {
    named.push([...new Set(readNamed(required_tools, "required_tools"))]);
    found.avoid.push(...readNamed(forbidden_tools, "forbidden_tools"));
  };
  const { required_tools: _, forbidden_tools: __, ...limits } = asObject(expected.behavior);
  readBehavior(asObject(expected.behavior));
  if (skill !== undefined && expected.should_trigger === true) found.skills.push(skill);
  if (skill !== undefined && expected.should_trigger === false) found.avoid.push(`skill:${skill}`);
  if (typeof entry.expected === "string") found.sentences.push(entry.expected);
  for (const key of Object.keys(limits)) losses.push({ what: `the limit "${key}"` });
  const said = skill === undefined ? ["behavior"] : ["behavior", "should_trigger"];
  for (const key of Object.keys(expected).filter((one) => !said.includes(one)))
    losses.push({ what: `"${key}" of the expectation` });
  for (const grader of [...asList(entry.graders), ...asList(entry.validators)].map(asObject)) {
    const config = asObject(grader.config);
    const type = asText(grader.type) ?? "without a type";
    if (type === "tool_constraint") {
      const specs = readSpecs(config.expect_tools, losses);
      named.push([...new Set(specs.flatMap(({ tool, args }) => (args || Array.isArray(tool) ? [] : tool)))]);
      found.calls.push(...specs.filter(({ tool, args }) => args || Array.isArray(tool)));
      const rejected = readSpecs(config.reject_tools, losses);
      found.avoid.push(...rejected.flatMap(({ tool, args }) => (args ? [] : tool)));
      if (rejected.some(({ args }) => args)) losses.push({ what: "a forbidden call with arguments" });
    } else if (type === "action_sequence") {
      named.push(readNamed(config.expected_actions, "expected_actions"));
      if (config.matching_mode !== "any_order_match")
        losses.push({ what: "the order of a sequence among other expected calls" });
    } else if (type === "skill_invocation") {
      found.skills.push(...readNamed(config.required_skills, "required_skills"));
      found.avoid.push(...readNamed(config.forbidden_skills, "forbidden_skills").map((name) => `skill:${name}`));
    } else if (type === "prompt") found.sentences.push(...readNamed(grader.rubric ?? config.prompt, "rubric"));
    else if (type === "behavior") readBehavior(config);
    else {
      losses.push({ what: `the grader "${type}"` });
      continue;
    }
    for (const key of Object.keys(config).filter((one) => !wazaSettings.includes(one)))
      losses.push({ what: `"${key}" of the grader "${type}"` });
  }
  addNamed(named, found);
  return found;
}

/** Adds a call of each tool as often as the list wants that names it most often. */
function addNamed(lists: readonly (readonly string[])[], { calls, losses }: Expectations): void {
  const tools = calls.map(({ tool }) => tool);
  const isShared = tools.some((tool, at) => Array.isArray(tool) || tools.indexOf(tool) < at);
  if (isShared && calls.length + lists.flat().length > 1)
    losses.push({ what: "that one call may meet several graders" });
  for (const tool of new Set(lists.flat())) {
    const count = Math.max(...lists.map((list) => list.filter((one) => one === tool).length));
    for (let made = calls.filter((call) => call.tool === tool).length; made < count; made++) calls.push({ tool });
  }
}

const wazaSettings: readonly string[] = [
  ...["expect_tools", "reject_tools", "expected_actions", "matching_mode", "required_skills", "forbidden_skills"],
  ...["prompt", "required_tools", "forbidden_tools"],
];

function readSpecs(value: Json | undefined, losses: Loss[]): FileCall[] {
  return (Array.isArray(value) ? value : []).flatMap((spec): FileCall[] => {
    const { tool, command_pattern: command, path_pattern: path, skill_pattern: skill, ...others } = asObject(spec);
    const name = typeof spec === "string" ? spec : tool;
    const names = readNames(asText(name) ?? "", losses, true);
    if (!names) {
      losses.push(explainNoNames(name, spec));
      return [];
    }
    for (const key of Object.keys(others)) losses.push({ what: `"${key}" of an expected call` });
    return [expectCall(oneOrSeveral(names), matchPatterns({ command, path, skill }, losses))];
  });
}
