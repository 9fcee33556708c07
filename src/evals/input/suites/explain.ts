import * as z from "zod";
import { didYouMean } from "../../base/text/nearest.ts";
import { type Problem, typeNames } from "../../base/types/errors.ts";
import { getAtPath, isJsonObject, isMarked, type Json, type Path, writeExactJson } from "../../base/types/json.ts";
import type { ParsedFile } from "../parsing/json.ts";

/** A problem with the value (or the key) at a path, before its place in the file is known. */
export type PathProblem = {
  path: Path;
  part?: "key" | "value";
  severity?: "error" | "warning";
  message: string;
  hint?: string | undefined;
  /** Problems with the same value here are reported once per file, with the number of the others. */
  sharedAs?: string;
};

/** Adds the place in the file to a problem. */
export function locateProblem(
  { path, part, severity = "error", message, hint }: PathProblem,
  file: ParsedFile,
): Problem {
  return { severity, message, ...(hint && { hint }), location: file.location(path, part) };
}

/** How messages name a path: its last key (`"input"`), or the list and index of an item (`"cases[2]"`). */
function quotePath(path: Path): string {
  const last = path.at(-1);
  if (last === undefined) return "The file";
  if (typeof last === "string") return `"${last}"`;
  const list = path.findLast((step) => typeof step === "string");
  const indices = path.slice(path.lastIndexOf(list ?? "") + 1);
  return `"${list ?? ""}${indices.map((index) => `[${index}]`).join("")}"`;
}

/** How messages show a value of the wrong type. */
function describeValue(value: Json | undefined): string {
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  const text = writeExactJson(value);
  return text.length > 60 ? `${text.slice(0, 60)}..."` : text;
}

/** So many of one object are explained: more are rather a file of another kind than mistakes. */
const maxUnknownKeys = 100;

type Schema = z.core.$ZodType;
type Issue = z.core.$ZodIssue;

/** Explains to the author of a file why `value` does not match `schema`; empty if it does. */
export function explain(schema: z.ZodType, value: Json, path: Path = []): PathProblem[] {
  const result = schema.safeParse(value);
  return result.success ? [] : explainIssues(schema, value, path, result.error.issues);
}

function explainIssues(schema: Schema, value: Json, path: Path, issues: readonly Issue[]): PathProblem[] {
  const unions = new Set<string>();
  return issues.flatMap((issue) => {
    const steps = issue.path.map((step) => (typeof step === "symbol" ? String(step) : step));
    const union = findFirstUnion(schema, steps);
    if (!union) return explainIssue(issue, schema, value, steps, path);
    // Everything wrong inside a union is explained at once, by the schema of the option that was meant.
    const key = JSON.stringify(union.path);
    if (unions.has(key)) return [];
    unions.add(key);
    return explainUnion(union.schema, getAtPath(value, union.path), [...path, ...union.path]);
  });
}

/** Explains one issue outside of unions. `path` leads to the checked value, and `steps` from there to the issue. */
function explainIssue(issue: Issue, schema: Schema, root: Json, steps: Path, path: Path): PathProblem[] {
  const at = [...path, ...steps];
  const value = getAtPath(root, steps);
  if (value === undefined && steps.length > 0) return [reportMissing(at)];
  const problem = (message: string, hint?: string): PathProblem[] => [{ path: at, message, hint }];
  const mustBe = (what: string, hint?: string) => reportType(at, what, value, hint);
  if (issue.code === "custom" && isMarked(value)) return mustBe("text");
  switch (issue.code) {
    case "invalid_type": {
      const isListOfCases = at.length === 0 && Array.isArray(value) && listKnownKeys(schema).includes("cases");
      const wrap = isListOfCases ? 'Indent the list below "cases:", and add "server:".' : hintToWrap(at, value);
      return mustBe(typeNames[issue.expected] ?? issue.expected, wrap);
    }
    case "invalid_value": {
      const values = issue.values.map(String);
      const hint = values.length > 1 && typeof value === "string" ? didYouMean(value, values, undefined) : undefined;
      return mustBe(values.join(" | "), hint);
    }
    case "too_small":
      if (issue.origin === "string" || issue.origin === "array")
        return problem(`${quotePath(at)} is empty.`, hintToWrap(at, value) ?? "Fill it in, or leave it out.");
      return mustBe(`at least ${issue.minimum}`);
    case "too_big":
      return mustBe(`at most ${issue.maximum}`);
    case "unrecognized_keys": {
      const known = listKnownKeys(findSchema(schema, steps));
      const [most, next] = [issue.keys.slice(0, maxUnknownKeys), issue.keys[maxUnknownKeys]];
      const problems = most.map((key): PathProblem => {
        const hint = suggestKey(key, known) ?? `Known keys here: ${known.join(", ")}.`;
        return { path: [...at, key], part: "key", message: `Unknown key "${key}".`, hint };
      });
      if (next === undefined) return problems;
      const message = `Unknown key "${next}", and ${issue.keys.length - maxUnknownKeys - 1} more here.`;
      return [...problems, { path: [...at, next], part: "key", message }];
    }
    default:
      return problem(`${quotePath(at)}: ${issue.message}.`);
  }
}

/** The problem that a value has another type. A text without its quotes gets a hint, if there is no other. */
export function reportType(path: Path, what: string, value: Json | undefined, hint?: string): PathProblem[] {
  const isLiteral = ["number", "boolean"].includes(typeof value) || isMarked(value);
  const quoted = isLiteral && what.startsWith("text") ? "Put it in quotes." : undefined;
  const message = `${quotePath(path)} must be ${what}, got ${describeValue(value)}.`;
  return [{ path, message, hint: hint ?? quoted }];
}

function reportMissing(path: Path): PathProblem {
  const isConfigServer = path.at(-2) === "server" && path.at(-1) === "name";
  const hint = isConfigServer ? "Name a server of the file, or write `all: true` for all of them." : undefined;
  return { path, message: `${quotePath(path)} is missing.`, ...(hint !== undefined && { hint }) };
}

/** Keys that authors know from other tools, with the key to use here, and how to write it if that differs. */
const synonyms: readonly (readonly [written: RegExp, key: string, form?: string])[] = [
  [/^(tool|(expected|expect)_?tools?)$/i, "expect", "expect: { tool: ... }"],
  [/^(prompt|query|question|user|message|text|vars)$/i, "input"],
  [/^(expected|assert|want|should)$/i, "expect"],
  [/^(arguments|params|parameters|input)$/i, "args"],
  [/^(function|name|tools|tool_?name|expected|expected_?tools?)$/i, "tool"],
  [/^(tests|test_?cases|examples|scenarios)$/i, "cases"],
  [/^(mcp|mcp_?servers?|servers)$/i, "server"],
  [/^(repeat|repeats|runs|n|iterations|samples)$/i, "trials"],
  [/^(threshold|pass_?threshold|min_?pass_?rate)$/i, "passRate"],
  [/^(not|forbid|forbidden|never)$/i, "avoid"],
  [/^(name|title)$/i, "id"],
  [/^(cmd|exec|program)$/i, "command"],
  [/^(uri|endpoint|href)$/i, "url"],
  [/^(input_?schema|parameters)$/i, "inputSchema"],
];

/** The hint for an unknown key: the known one that was probably meant. */
export function suggestKey(key: string, known: readonly string[]): string | undefined {
  const [, meant, form = meant] = synonyms.find(([written, own]) => written.test(key) && known.includes(own)) ?? [];
  return form === undefined ? didYouMean(key, known, undefined) : `Did you mean "${form}"?`;
}

/** How to write the object for which something else was given: an expected tool, or none, or a server. */
function hintToWrap(path: Path, value: Json | undefined): string | undefined {
  const [parent, key] = [path.at(-2), path.at(-1)];
  const isNothing = value === null || value === false || (Array.isArray(value) && value.length === 0);
  if (isNothing && (key === "expect" || (key === "tool" && parent === "expect")))
    return "Write { tool: none } if no tool is right.";
  if (key === "expect" && Array.isArray(value) && value.every((name) => typeof name === "string")) {
    if (value.length === 1) return `Write: { tool: ${value[0]} }.`;
    const calls = value.map((name) => `{ tool: ${name} }`).join(", ");
    return `Write { tool: [${value.join(", ")}] } if one of them is enough, or { calls: [${calls}] } if each must be called.`;
  }
  if (typeof value !== "string" || value.trim() === "") return undefined;
  if (key === "expect") return `Write: { tool: ${value} }.`;
  if (key !== "server") return undefined;
  if (/^https?:/i.test(value)) return `Write: { url: ${value} }.`;
  if (/\.json$/.test(value)) return `Write: { config: ${value}, name: <server> } or { tools: ${value} }.`;
  const words = value.trim().split(/\s+/);
  const [command, ...args] = words.map((word) => (/^[A-Za-z./_-][\w./@=-]*$/.test(word) ? word : JSON.stringify(word)));
  return `Write: { command: ${command}${args.length > 0 ? `, args: [${args.join(", ")}]` : ""} }.`;
}

/** Explains a value by the option that was meant: by its type or, among objects, by a required key. */
function explainUnion(union: z.core.$ZodUnion, value: Json | undefined, path: Path): PathProblem[] {
  if (value === undefined) return [reportMissing(path)];
  const options = union._zod.def.options;
  const objects = options.filter((option) => option instanceof z.ZodObject);
  const mustBe = (what: string, hint?: string) => reportType(path, what, value, hint);
  if (objects.length < options.length) {
    const option = options.find((candidate) => matchesType(candidate, value));
    if (option instanceof z.ZodType) return explain(option, value, path);
    if (objects.length > 0) return mustBe("an object or a list of objects");
    return mustBe("text or a list of text", hintToWrap(path, value));
  }
  if (!isJsonObject(value)) return mustBe("an object", hintToWrap(path, value));
  const deciding = [...new Set(objects.map(findRequiredKey))].map((key) => {
    // Among options that require the same key, choose the one that knows most of the other keys.
    const same = objects.filter((option) => findRequiredKey(option) === key);
    const countKeys = (option: z.ZodObject) => Object.keys(value).filter((one) => one in option.shape).length;
    const [option = objects[0] as z.ZodObject] = same.sort((a, b) => countKeys(b) - countKeys(a));
    return { option, key };
  });
  const [meant, other] = deciding.filter(({ key }) => key in value);
  const names = deciding.map(({ key }) => key);
  const keys = names.map((key) => `"${key}"`).join(", ");
  if (!meant) {
    const suggestions = Object.keys(value).map((key) => suggestKey(key, names));
    const hint = suggestions.find((suggestion) => suggestion !== undefined);
    return [{ path, message: `${quotePath(path)} needs one of ${keys}.`, hint }];
  }
  if (other) {
    const message = `${quotePath(path)} has both "${meant.key}" and "${other.key}".`;
    return [{ path: [...path, other.key], part: "key", message, hint: `Give only one of ${keys}.` }];
  }
  return explain(meant.option, value, path);
}

function matchesType(option: Schema, value: Json): boolean {
  if (option instanceof z.ZodObject) return isJsonObject(value);
  return option instanceof z.ZodString || option instanceof z.ZodEnum
    ? typeof value === "string"
    : option instanceof z.ZodArray && Array.isArray(value);
}

function findRequiredKey(option: z.ZodObject): string {
  return Object.keys(option.shape).find((key) => !(option.shape[key] instanceof z.ZodOptional)) ?? "";
}

const listKnownKeys = (schema: Schema | undefined) => (schema instanceof z.ZodObject ? Object.keys(schema.shape) : []);

function findFirstUnion(schema: Schema, path: Path): { schema: z.core.$ZodUnion; path: Path } | undefined {
  for (let length = 0; length <= path.length; length++) {
    const found = findSchema(schema, path.slice(0, length));
    if (found instanceof z.ZodUnion) return { schema: found, path: path.slice(0, length) };
  }
  return undefined;
}

/** The schema of the value at `path`; undefined if that depends on the value. */
function findSchema(schema: Schema, path: Path): Schema | undefined {
  const bare = schema instanceof z.ZodOptional ? schema.unwrap() : schema;
  const [step, ...rest] = path;
  if (step === undefined) return bare;
  if (bare instanceof z.ZodObject) {
    const member = bare.shape[String(step)];
    return member && findSchema(member, rest);
  }
  if (bare instanceof z.ZodArray) return findSchema(bare.element, rest);
  return bare instanceof z.ZodRecord ? findSchema(bare.valueType, rest) : undefined;
}
