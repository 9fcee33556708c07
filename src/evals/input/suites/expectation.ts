import { RE2JS } from "re2js";
import { nearest } from "../../base/text/nearest.ts";
import { messageOf } from "../../base/types/errors.ts";
import { isJsonObject, type Json, type JsonObject, type Path } from "../../base/types/json.ts";
import { matcherSchema, readMatcher, writtenKeywords } from "../../base/types/matcher.ts";
import { toInnerPath } from "../../base/types/skill.ts";
import type { CaseFile } from "../../base/types/suiteFile.ts";
import { explain, type PathProblem } from "./explain.ts";

export type ExpectFile = NonNullable<CaseFile["expect"]>;
type Kind = "tool" | "none" | "any" | "calls" | "skill" | "avoid";
type Key = keyof ExpectFile;

/** How messages name each kind of expectation, and the keys that apply to it. */
const kinds: Record<Kind, { name: string; keys: readonly Key[] }> = {
  tool: { name: '"tool"', keys: ["tool", "acceptable", "avoid", "args", "argsMode", "result", "extras"] },
  none: { name: '"tool: none"', keys: ["tool", "avoid"] },
  any: { name: '"tool: any"', keys: ["tool", "avoid", "result"] },
  calls: { name: '"calls"', keys: ["calls", "avoid", "order", "extras", "argsMode"] },
  skill: { name: '"skill"', keys: ["skill", "avoid"] },
  avoid: { name: '"avoid" alone', keys: ["avoid"] },
};

/** The names under `tool` and similar keys, which take one name or a list. */
export function toNames(value: string | readonly string[] | undefined): readonly string[] {
  return typeof value === "string" ? [value] : (value ?? noNames);
}

/** The names of tools. `"none"` and `"any"`, with the quotes, stand for tools that have these reserved names. */
export function toToolNames(value: string | readonly string[] | undefined): readonly string[] {
  const names = toNames(value);
  return names.some((name) => quotedName.test(name)) ? names.map((name) => name.replace(quotedName, "$1")) : names;
}

const quotedName = /^"(none|any)"$/;

/** Shared by all cases, because a suite may have very many. */
const noNames: readonly string[] = [];

/** The kind of an `expect`; undefined if it names no tool or skill. */
export function getKind(expect: ExpectFile): Kind | undefined {
  if (expect.calls) return "calls";
  if (expect.skill !== undefined) return "skill";
  const names = toNames(expect.tool);
  const [name] = names;
  if (names.length === 1 && (name === "none" || name === "any")) return name;
  if (names.length > 0) return "tool";
  return expect.avoid ? "avoid" : undefined;
}

/** The code files of a case, each once: those of its assertions and its custom matchers. */
export function listCodeFiles({ expect, turns = [] }: CaseFile): readonly string[] {
  const expected = [expect, ...turns.map((turn) => turn.expect)];
  return [...new Set([...toNames(expect?.assert), ...listCustom(expected as Json)])];
}

/** The code files of the custom matchers in an expected value. */
function listCustom(value: Json): string[] {
  if (Array.isArray(value)) return value.flatMap(listCustom);
  if (!isJsonObject(value)) return [];
  const read = readMatcher(value);
  if (read.kind !== "matcher") return Object.values(value).flatMap(listCustom);
  const { equals: _, custom, ...others } = read.operands;
  const file = isJsonObject(custom ?? null) ? (custom as JsonObject).file : custom;
  return [...(typeof file === "string" ? [file] : []), ...Object.values(others).flatMap(listCustom)];
}

/** Checks an `expect` for what its schema cannot express: exclusive keys, names and matchers. */
export function checkExpectation(expect: ExpectFile, path: Path): PathProblem[] {
  const present = (Object.keys(expect) as Key[]).filter((key) => expect[key] !== undefined);
  const [main, second] = present.filter((key) => key === "tool" || key === "calls" || key === "skill");
  if (main && second) {
    const message = `"${main}" and "${second}" exclude each other in one "expect".`;
    return [{ path: [...path, second], part: "key", message, hint: "Keep one of them, or write two cases." }];
  }
  const kind = getKind(expect);
  if (!kind && expect.assert === undefined && expect.files === undefined) {
    const message = '"expect" names no tool or skill, so nothing would be checked.';
    return [{ path, message, hint: 'Add "tool", "calls", "skill", "avoid", "files" or "assert".' }];
  }
  const applicable = ["assert", "files", ...(kind ? kinds[kind].keys : [])];
  const misplaced = present.filter((key) => !applicable.includes(key));
  const calls = [{ call: expect as CallPart, at: path }];
  for (const [i, call] of (expect.calls ?? []).entries()) calls.push({ call, at: [...path, "calls", i] });
  return [
    ...misplaced.map((key) => reportMisplacedKey(key, expect, path)),
    ...checkFiles(expect, path),
    ...checkNames(expect, path),
    ...checkHasRequiredCall(expect, path),
    ...calls.flatMap(({ call, at }) => checkAcceptable(call, at)),
    ...calls.flatMap(({ call, at }) => checkCall(call, at)),
  ];
}

/** What an expectation and each of its calls can have. */
type CallPart = Pick<ExpectFile, "tool" | "acceptable" | "args" | "result">;

/** Expected files are named by their paths in the workspace. */
function checkFiles({ files = {} }: ExpectFile, path: Path): PathProblem[] {
  return Object.entries(files).flatMap(([name, value]): PathProblem[] => {
    const at = [...path, "files", name];
    const inner = toInnerPath(name);
    if (inner !== undefined && inner !== ".") return checkMatcher(value as Json, at);
    const message = `"${name}" is not a path in the workspace.`;
    return [{ path: at, part: "key", message, hint: "Give the path of a file, relative to the workspace." }];
  });
}

function reportMisplacedKey(key: Key, expect: ExpectFile, path: Path): PathProblem {
  const kind = getKind(expect);
  const isOfCall = kind === "calls" && (key === "args" || key === "result" || key === "acceptable");
  const hint = isOfCall ? `Write "${key}" next to "tool" in the entries of "calls".` : "Remove it.";
  const alone = expect.assert === undefined ? '"files" alone' : '"assert" alone';
  const message = `"${key}" has no effect with ${kind ? kinds[kind].name : alone}.`;
  return { path: [...path, key], part: "key", message, hint };
}

function checkNames(expect: ExpectFile, path: Path): PathProblem[] {
  const calls = expect.calls ?? [];
  const lists = [
    { at: [...path, "tool"], names: toNames(expect.tool), isAlone: toNames(expect.tool).length === 1 },
    { at: [...path, "acceptable"], names: toNames(expect.acceptable), isAlone: false },
    ...calls.flatMap(({ tool, acceptable }, i) => [
      { at: [...path, "calls", i, "tool"], names: toNames(tool), isAlone: false },
      { at: [...path, "calls", i, "acceptable"], names: toNames(acceptable), isAlone: false },
    ]),
  ];
  const avoided = new Set(toNames(expect.avoid));
  return lists.flatMap(({ at, names, isAlone }) =>
    names.flatMap((name, i): PathProblem[] => {
      if (avoided.has(name)) {
        const message = `"${name}" is both expected and avoided, so no trial can pass.`;
        return [{ path: [...at, i], message, hint: "Remove it from one of the two." }];
      }
      if (isAlone || (name !== "none" && name !== "any")) return [];
      const message = `"${name}" cannot be used ${expect.calls ? 'in "calls"' : "in a list of tools"}.`;
      const hint = `Name the tools; a tool that is called ${name} is written '"${name}"', with both quotes.`;
      return [{ path: [...at, i], message, hint }];
    }),
  );
}

/** If every call is optional and others are allowed, any conversation would pass. */
function checkHasRequiredCall({ calls = [], extras }: ExpectFile, path: Path): PathProblem[] {
  if (calls.length === 0 || !extras || calls.some(({ optional }) => !optional)) return [];
  const message = 'All calls are optional and "extras" allows others, so nothing would be checked.';
  return [{ path: [...path, "calls"], part: "key", message, hint: "Require a call, or drop extras." }];
}

function checkAcceptable({ tool, acceptable }: CallPart, path: Path): PathProblem[] {
  const twice = toNames(acceptable).find((name) => toNames(tool).includes(name));
  if (twice === undefined) return [];
  const message = `"${twice}" is both expected and acceptable.`;
  return [{ path: [...path, "acceptable"], message, hint: "Remove it from one of the two." }];
}

function checkCall({ args = {}, result }: CallPart, path: Path): PathProblem[] {
  const at = [...path, "result"];
  return [
    ...Object.entries(args).flatMap(([name, value]) => checkMatcher(value, [...path, "args", name])),
    ...checkPattern(result?.matches, [...at, "matches"]),
    ...(result?.json === undefined ? [] : checkMatcher(result.json, [...at, "json"])),
  ];
}

const literalHint = "Wrap the object in { $equals: ... } if it is meant literally.";

/** Checks a value of `args`: a literal, a matcher, or a literal with matchers inside. */
export function checkMatcher(value: Json, path: Path): PathProblem[] {
  if (Array.isArray(value)) return value.flatMap((item, i) => checkMatcher(item, [...path, i]));
  if (!isJsonObject(value)) return [];
  const read = readMatcher(value);
  if (read.kind === "matcher") return checkKeywords(read.operands, path);
  if (read.kind === "literal") return [...findMisspelled(value, path), ...checkMembers(value, path)];
  return [{ path: [...path, read.key], part: "key", message: `${read.message}.`, hint: read.hint }];
}

function checkMembers(value: JsonObject, path: Path): PathProblem[] {
  return Object.entries(value).flatMap(([key, member]) => checkMatcher(member, [...path, key]));
}

/** Warns once about objects that look like a matcher without its `$`, or with a misspelled keyword. */
function findMisspelled(value: JsonObject, path: Path): PathProblem[] {
  const [key = "", ...others] = Object.keys(value);
  const isMatcher = matcherSchema.safeParse(value).success;
  // `{ type: search }` has the name of a keyword, and cannot be meant as one.
  const isMisspelled = others.length === 0 && !Object.hasOwn(matcherSchema.shape, key);
  const near = isMatcher || isMisspelled ? nearest(`$${key}`, writtenKeywords) : undefined;
  if (near === undefined) return [];
  const message = `"${key}" is not a matcher keyword, so this object is compared literally.`;
  const hint = `Did you mean "${near}"? If not, wrap the object in { $equals: ... }.`;
  return [{ path: [...path, key], part: "key", severity: "warning", message, hint, sharedAs: "misspelled" }];
}

function checkKeywords(operands: JsonObject, path: Path): PathProblem[] {
  const at = (keyword: string) => [...path, `$${keyword}`];
  const problems = explain(matcherSchema, operands).map(({ path: [keyword = "", ...rest], message, ...problem }) => {
    const key = String(keyword);
    const named = message.replace(`"${key}"`, `"$${key}"`);
    return { ...problem, path: [...at(key), ...rest], message: named, hint: problem.hint ?? literalHint };
  });
  // The value of `equals` is always literal; the others may contain matchers.
  const inside = ["anyOf", "unordered", "optional", "contains", "not"].flatMap((keyword) =>
    operands[keyword] === undefined ? [] : checkMatcher(operands[keyword], at(keyword)),
  );
  const members = isJsonObject(operands.object) ? checkMembers(operands.object, at("object")) : [];
  return [...problems, ...checkPattern(operands.matches, at("matches")), ...inside, ...members];
}

/** Checks a regular expression at `path`. */
function checkPattern(pattern: Json | undefined, path: Path): PathProblem[] {
  if (typeof pattern !== "string") return [];
  try {
    RE2JS.compile(pattern);
    if (!/^\/\^.*\/[a-z]*$/s.test(pattern)) return [];
    const message = `"${String(path.at(-1))}" is between slashes, which count as part of it, so that nothing matches.`;
    return [{ path, message, hint: "Leave them out; for the flag i, begin with (?i)." }];
  } catch (error) {
    const hint = "Use RE2 syntax, without look-around and back-references; in YAML put it in single quotes.";
    const message = `"${String(path.at(-1))}" is not a regular expression: ${messageOf(error)}.`;
    return [{ path, message, hint }];
  }
}
