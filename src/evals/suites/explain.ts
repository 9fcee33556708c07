import * as z from "zod";
import type { Path } from "../parsing/tree.ts";
import { isJsonObject, type Json } from "../types/json.ts";
import { nearest } from "../types/nearest.ts";
import { type Fault, label, shown, valueAt } from "./fault.ts";

type Schema = z.core.$ZodType;
type Issue = z.core.$ZodIssue;

/** What `value` lacks to be what `schema` describes, said for the author of the file; empty when it is right. */
export function explain(schema: z.ZodType, value: Json, path: Path = []): Fault[] {
  const result = schema.safeParse(value);
  return result.success ? [] : explainIssues(schema, value, path, result.error.issues);
}

function explainIssues(schema: Schema, value: Json, path: Path, issues: readonly Issue[]): Fault[] {
  const unions = new Set<string>();
  return issues.flatMap((issue) => {
    const steps = issue.path.map((step) => (typeof step === "symbol" ? String(step) : step));
    const union = firstUnion(schema, steps);
    if (!union) return explainIssue(issue, schema, value, steps, path);
    // All that is wrong inside a union is explained at once, by the option that was meant.
    const key = JSON.stringify(union.path);
    if (unions.has(key)) return [];
    unions.add(key);
    return explainUnion(union.schema, valueAt(value, union.path), [...path, ...union.path]);
  });
}

/** One issue of zod outside of unions. `steps` leads from the checked value, `path` to it. */
function explainIssue(issue: Issue, schema: Schema, root: Json, steps: Path, path: Path): Fault[] {
  const at = [...path, ...steps];
  const value = valueAt(root, steps);
  if (value === undefined && steps.length > 0) return [missing(at)];
  const fault = (message: string, hint?: string): Fault[] => [{ path: at, message, hint }];
  switch (issue.code) {
    case "invalid_type":
      return fault(
        `${label(at)} must be ${kindNames[issue.expected] ?? issue.expected}, got ${shown(value)}`,
        quoteHint(issue, value),
      );
    case "invalid_value": {
      const values = issue.values.map(String);
      const hint = values.length > 1 && typeof value === "string" ? didYouMean(value, values) : undefined;
      return fault(`${label(at)} must be ${values.join(" | ")}, got ${shown(value)}`, hint);
    }
    case "too_small":
      if (issue.origin === "string" || issue.origin === "array")
        return fault(`${label(at)} is empty`, "fill it, or leave it out");
      return fault(`${label(at)} must be at least ${issue.minimum}, got ${shown(value)}`);
    case "too_big":
      return fault(`${label(at)} must be at most ${issue.maximum}, got ${shown(value)}`);
    case "unrecognized_keys": {
      const known = knownKeys(schemaAt(schema, steps));
      return issue.keys.map((key) => unknownKey(key, known, at));
    }
    default:
      return fault(`${label(at)}: ${issue.message}`);
  }
}

const kindNames: Partial<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};

function missing(path: Path): Fault {
  return { path, message: `${label(path)} is missing` };
}

function unknownKey(key: string, known: readonly string[], path: Path): Fault {
  const hint = didYouMean(key, known) ?? `known keys here: ${known.join(", ")}`;
  return { path: [...path, key], part: "key", message: `unknown key \`${key}\``, hint };
}

function didYouMean(name: string, candidates: readonly string[]): string | undefined {
  const near = nearest(name, candidates);
  return near === undefined ? undefined : `did you mean "${near}"?`;
}

function quoteHint(issue: { expected: string }, value: Json | undefined): string | undefined {
  const literal = typeof value === "number" || typeof value === "boolean";
  return issue.expected === "string" && literal ? `put it in quotes: "${value}"` : undefined;
}

/** The unions of the format are told apart by the kind of the value, or, for objects, by the key that one option needs. */
function explainUnion(union: z.core.$ZodUnion, value: Json | undefined, path: Path): Fault[] {
  if (value === undefined) return [missing(path)];
  const options = union._zod.def.options;
  const objects = options.filter((option) => option instanceof z.ZodObject);
  if (objects.length < options.length) {
    const option = options.find((candidate) => fits(candidate, value));
    if (option instanceof z.ZodType) return explain(option, value, path);
    const hint = quoteHint({ expected: "string" }, value);
    return [{ path, message: `${label(path)} must be text or a list of text, got ${shown(value)}`, hint }];
  }
  if (!isJsonObject(value)) return [{ path, message: `${label(path)} must be an object, got ${shown(value)}` }];
  const deciding = objects.map((option) => ({ option, key: decidingKey(option) }));
  const [meant, other] = deciding.filter(({ key }) => key in value);
  const keys = deciding.map(({ key }) => `\`${key}\``).join(", ");
  if (!meant) {
    const strange = Object.keys(value).map((key) =>
      didYouMean(
        key,
        deciding.map((one) => one.key),
      ),
    );
    return [{ path, message: `${label(path)} needs one of ${keys}`, hint: strange.find((hint) => hint !== undefined) }];
  }
  if (other) {
    const message = `${label(path)} has both \`${meant.key}\` and \`${other.key}\``;
    return [{ path: [...path, other.key], part: "key", message, hint: `give just one of ${keys}` }];
  }
  return explain(meant.option, value, path);
}

function fits(option: Schema, value: Json): boolean {
  return option instanceof z.ZodString
    ? typeof value === "string"
    : option instanceof z.ZodArray && Array.isArray(value);
}

/** The first key that an option cannot do without. */
function decidingKey(option: z.ZodObject): string {
  return Object.keys(option.shape).find((key) => !(option.shape[key] instanceof z.ZodOptional)) ?? "";
}

function knownKeys(schema: Schema | undefined): string[] {
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

function firstUnion(schema: Schema, path: Path): { schema: z.core.$ZodUnion; path: Path } | undefined {
  for (let length = 0; length <= path.length; length++) {
    const found = schemaAt(schema, path.slice(0, length));
    if (found instanceof z.ZodUnion) return { schema: found, path: path.slice(0, length) };
  }
  return undefined;
}

/** The schema that holds for the value at `path`; undefined where it cannot be told without the value. */
function schemaAt(schema: Schema, path: Path): Schema | undefined {
  const bare = schema instanceof z.ZodOptional ? schema.unwrap() : schema;
  const [step, ...rest] = path;
  if (step === undefined) return bare;
  if (bare instanceof z.ZodObject) {
    const member = bare.shape[String(step)];
    return member && schemaAt(member, rest);
  }
  if (bare instanceof z.ZodArray) return schemaAt(bare.element, rest);
  return bare instanceof z.ZodRecord ? schemaAt(bare.valueType, rest) : undefined;
}
