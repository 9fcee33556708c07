import { RE2JS } from "re2js";
import { messageOf } from "../types/errors.ts";
import { isJsonObject, type Json, type JsonObject, type Path } from "../types/json.ts";
import { nearest } from "../types/nearest.ts";
import { type CaseFile, matcherSchema, type ResultMatcher } from "../types/suite.ts";
import { explain, type PathProblem } from "./explain.ts";

export type ExpectFile = NonNullable<CaseFile["expect"]>;
type Kind = "tool" | "none" | "any" | "calls" | "skill" | "avoid";
type Key = keyof ExpectFile;

/** How messages name an expectation, and the keys that apply to it. */
const kinds: Record<Kind, { name: string; keys: readonly Key[] }> = {
  tool: { name: '"tool"', keys: ["tool", "avoid", "args", "argsMode", "argsMatch", "result", "extras"] },
  none: { name: '"tool: none"', keys: ["tool", "avoid"] },
  any: { name: '"tool: any"', keys: ["tool", "avoid", "result"] },
  calls: { name: '"calls"', keys: ["calls", "avoid", "order", "extras", "argsMode", "argsMatch"] },
  skill: { name: '"skill"', keys: ["skill", "avoid"] },
  avoid: { name: '"avoid" alone', keys: ["avoid"] },
};

/** The names under `tool` and similar keys, which take one name or a list of names. */
export function toNames(value: string | readonly string[] | undefined): readonly string[] {
  return typeof value === "string" ? [value] : (value ?? []);
}

/** What an `expect` is about; undefined when it names nothing that can be checked. */
export function getKind(expect: ExpectFile): Kind | undefined {
  if (expect.calls) return "calls";
  if (expect.skill !== undefined) return "skill";
  const names = toNames(expect.tool);
  const [name] = names;
  if (names.length === 1 && (name === "none" || name === "any")) return name;
  if (names.length > 0) return "tool";
  return expect.avoid ? "avoid" : undefined;
}

/** What is wrong with an `expect` that its schema cannot express: exclusive keys, names, matchers. */
export function checkExpectation(expect: ExpectFile, path: Path): PathProblem[] {
  const present = (Object.keys(expect) as Key[]).filter((key) => expect[key] !== undefined);
  const [main, second] = present.filter((key) => key === "tool" || key === "calls" || key === "skill");
  if (main && second) {
    const message = `"${main}" and "${second}" exclude each other in one "expect".`;
    return [{ path: [...path, second], part: "key", message, hint: "Keep one of them, or write two cases." }];
  }
  const kind = getKind(expect);
  if (!kind) {
    const message = '"expect" names no tool or skill, so nothing would be checked.';
    return [{ path, message, hint: 'Add "tool", "calls", "skill" or "avoid".' }];
  }
  return [
    ...present.filter((key) => !kinds[kind].keys.includes(key)).map((key) => misplacedKey(key, kind, path)),
    ...checkNames(expect, path),
    ...checkCall(expect, path, expect.argsMatch),
    ...(expect.calls ?? []).flatMap((call, i) => checkCall(call, [...path, "calls", i], expect.argsMatch)),
  ];
}

function misplacedKey(key: Key, kind: Kind, path: Path): PathProblem {
  const isOfCall = kind === "calls" && (key === "args" || key === "result");
  const hint = isOfCall ? `Write "${key}" next to "tool" in the entries of "calls".` : "Remove it.";
  return { path: [...path, key], part: "key", message: `"${key}" has no effect with ${kinds[kind].name}.`, hint };
}

function checkNames(expect: ExpectFile, path: Path): PathProblem[] {
  const lists = [
    { at: [...path, "tool"], names: toNames(expect.tool), isAlone: toNames(expect.tool).length === 1 },
    ...(expect.calls ?? []).map(({ tool }, i) => ({
      at: [...path, "calls", i, "tool"],
      names: toNames(tool),
      isAlone: false,
    })),
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
      const hint = 'Name the tools; "none" and "any" are only valid as "tool: none" and "tool: any".';
      return [{ path: [...at, i], message, hint }];
    }),
  );
}

type CallPart = { args?: JsonObject | undefined; result?: ResultMatcher | undefined };

/** Checks the expected arguments and result of one call. */
function checkCall({ args, result }: CallPart, path: Path, argsMatch: ExpectFile["argsMatch"]): PathProblem[] {
  const argsProblems = Object.entries(args ?? {}).flatMap(([name, value]): PathProblem[] => {
    const at = [...path, "args", name];
    if (argsMatch !== "bfcl") return checkMatcher(value, at);
    if (Array.isArray(value)) return [];
    const message = `"${name}" must be a list of accepted values with "argsMatch: bfcl".`;
    return [{ path: at, message, hint: "Write the accepted values as a list." }];
  });
  const at = [...path, "result"];
  return [
    ...argsProblems,
    ...checkPattern(result?.matches, [...at, "matches"]),
    ...(result?.json === undefined ? [] : checkMatcher(result.json, [...at, "json"])),
  ];
}

const keywords: ReadonlySet<string> = new Set(Object.keys(matcherSchema.shape));
const literalHint = "Wrap the object in { equals: ... } if it is meant literally.";

/** Checks a value of `args`: a literal, a matcher, or a literal with matchers inside. */
function checkMatcher(value: Json, path: Path): PathProblem[] {
  if (Array.isArray(value)) return value.flatMap((item, i) => checkMatcher(item, [...path, i]));
  if (!isJsonObject(value)) return [];
  const keys = Object.keys(value);
  const known = keys.find((key) => keywords.has(key));
  if (known === undefined) return checkLiteral(value, path);
  const unknown = keys.find((key) => !keywords.has(key));
  if (unknown === undefined) return checkKeywords(value, path);
  const message = `"${known}" is a matcher keyword and "${unknown}" is not; one object cannot have both.`;
  return [{ path: [...path, unknown], part: "key", message, hint: literalHint }];
}

function checkLiteral(value: JsonObject, path: Path): PathProblem[] {
  const members = Object.entries(value);
  const inside = members.flatMap(([key, member]) => checkMatcher(member, [...path, key]));
  const [only] = members.length === 1 ? Object.keys(value) : [];
  const near = only === undefined ? undefined : nearest(only, keywords);
  if (only === undefined || near === undefined) return inside;
  const message = `"${only}" is not a matcher keyword, so this object is compared literally.`;
  const hint = `Did you mean "${near}"? If not, wrap the object in { equals: ... }.`;
  return [{ path: [...path, only], part: "key", severity: "warning", message, hint }, ...inside];
}

function checkKeywords(value: JsonObject, path: Path): PathProblem[] {
  const problems = explain(matcherSchema, value, path).map((one) => ({ ...one, hint: one.hint ?? literalHint }));
  // The value of `equals` is always literal; the others may hold matchers.
  const inside = ["anyOf", "unordered", "optional", "contains"].flatMap((key) =>
    value[key] === undefined ? [] : checkMatcher(value[key], [...path, key]),
  );
  return [...problems, ...checkPattern(value.matches, [...path, "matches"]), ...inside];
}

function checkPattern(pattern: Json | undefined, path: Path): PathProblem[] {
  if (typeof pattern !== "string") return [];
  try {
    RE2JS.compile(pattern);
    return [];
  } catch (error) {
    const hint = "Use RE2 syntax, without look-around and back-references; in YAML put it in single quotes.";
    return [{ path, message: `"matches" is not a regular expression: ${messageOf(error)}.`, hint }];
  }
}
