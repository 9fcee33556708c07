import { compileSchema, type Validate } from "../../base/jsonSchema/validate.ts";
import { getNumber, getProperty, listTypes } from "../../base/jsonSchema/values.ts";
import { resolvePointer } from "../../base/jsonSchema/walk.ts";
import { showJson } from "../../base/text/text.ts";
import { isJsonObject, type Json, type JsonObject } from "../../base/types/json.ts";
import { type Matcher, matcherSchema, readMatcher } from "../../base/types/matcher.ts";
import { member, noJudge } from "./match.ts";
import { compileMatcher } from "./matchers.ts";

/** The JSON types for which a keyword can hold. Keywords that are not listed can hold for any type, or look inside. */
const typesByKeyword: { readonly [K in keyof Matcher]?: readonly string[] } = {
  matches: ["string"],
  startsWith: ["string"],
  endsWith: ["string"],
  ignoreCase: ["string"],
  contains: ["string", "array"],
  gte: ["number", "integer"],
  lte: ["number", "integer"],
  unordered: ["array"],
};

/**
 * Why no value that `schema` allows can meet `expected`, with the dotted path; undefined if one may, or in doubt, because
 * an unreadable part of a schema might allow the value. `root` is the document of the schema's references.
 */
export function explainUnsatisfiable(
  expected: Json,
  schema: Json | undefined,
  root: JsonObject,
  at: string,
): string | undefined {
  return never(expected, schema, { root, depth: 0 }, at);
}

type Context = { root: JsonObject; depth: number };

function never(expected: Json, schema: Json | undefined, context: Context, at: string): string | undefined {
  // A schema may refer to itself.
  if (!isJsonObject(schema) || context.depth > 30) return undefined;
  const deeper = { ...context, depth: context.depth + 1 };
  const literal = readLiteral(expected);
  if (literal) return literalNever(literal.value, schema, context.root, at);
  if (typeof schema.$ref === "string")
    return never(expected, resolvePointer(schema.$ref, context.root)?.value, deeper, at);
  const branches = Array.isArray(schema.anyOf) ? schema.anyOf : schema.oneOf;
  if (Array.isArray(branches)) {
    const reasons = branches.map((branch) => never(expected, branch, deeper, at));
    if (reasons.every((reason) => reason !== undefined)) return reasons[0];
  }
  return enumNever(expected, schema, at) ?? partsNever(expected, schema, deeper, at);
}

/** The literally expected value: one without matchers, or the operand of a lone `equals`. */
function readLiteral(expected: Json): { value: Json } | undefined {
  const read = readMatcher(expected);
  if (read.kind === "literal") return containsMatcher(expected) ? undefined : { value: expected };
  if (read.kind === "invalid" || Object.keys(read.operands).join() !== "equals") return undefined;
  return { value: read.operands.equals ?? null };
}

function containsMatcher(expected: Json): boolean {
  if (readMatcher(expected).kind !== "literal") return true;
  return typeof expected === "object" && expected !== null && Object.values(expected).some(containsMatcher);
}

function literalNever(literal: Json, schema: JsonObject, root: JsonObject, at: string): string | undefined {
  const validate = validators.get(schema) ?? compileMember(schema, root);
  validators.set(schema, validate);
  if (typeof validate === "string") return undefined;
  const validity = validate(literal, at);
  return validity.kind === "invalid" ? validity.why : undefined;
}

/** Memoized: compiling costs far more than validating, and many cases name the same argument. */
const validators = new WeakMap<JsonObject, Validate | string>();

function compileMember(schema: JsonObject, { $defs, definitions }: JsonObject): Validate | string {
  const defs = { ...($defs !== undefined && { $defs }), ...(definitions !== undefined && { definitions }) };
  return compileSchema({ ...defs, ...schema });
}

function enumNever(expected: Json, schema: JsonObject, at: string): string | undefined {
  const listed = schema.const === undefined ? schema.enum : [schema.const];
  const values = schema.type === "boolean" ? [true, false] : listed;
  if (!Array.isArray(values)) return undefined;
  const test = compileMatcher(expected);
  if (values.some((value) => test(value, at, noJudge).met !== "no")) return undefined;
  return `${at}: ${showJson(expected)} matches none of ${showJson(values)}`;
}

function partsNever(expected: Json, schema: JsonObject, context: Context, at: string): string | undefined {
  const read = readMatcher(expected);
  if (read.kind === "invalid") return undefined;
  if (read.kind === "matcher") {
    const parsed = matcherSchema.safeParse(read.operands);
    return parsed.success ? matcherNever(parsed.data, schema, context, at) : undefined;
  }
  if (Array.isArray(expected)) {
    const mistyped = explainWrongType(["array"], "an array", schema, at);
    return mistyped ?? first(expected, (item, index) => never(item, schema.items, context, `${at}[${index}]`));
  }
  return isJsonObject(expected) ? membersNever(expected, schema, context, at) : undefined;
}

function membersNever(expected: JsonObject, schema: JsonObject, context: Context, at: string): string | undefined {
  const mistyped = explainWrongType(["object"], "an object", schema, at);
  return (
    mistyped ??
    first(Object.entries(expected), ([key, item]) => never(item, getProperty(schema, key), context, member(at, key)))
  );
}

function matcherNever(matcher: Matcher, schema: JsonObject, context: Context, at: string): string | undefined {
  const { optional, anyOf, unordered, contains, gte, lte, type, object } = matcher;
  const reasons = (anyOf ?? []).map((item) => never(item, schema, context, at));
  const [reason] = reasons;
  if (reason !== undefined && reasons.every((other) => other !== undefined)) return reason;
  return (
    (type === undefined ? undefined : explainWrongType([type], `type ${type}`, schema, at)) ??
    first(Object.entries(typesByKeyword), ([keyword, types]) =>
      keyword in matcher ? explainWrongType(types, `\`${keyword}\``, schema, at) : undefined,
    ) ??
    explainBounds(gte, lte, schema, at) ??
    first(unordered ?? [], (item, index) => never(item, schema.items, context, `${at}[${index}]`)) ??
    (contains !== undefined && schema.type === "array"
      ? never(contains, schema.items, context, `${at}[]`)
      : undefined) ??
    (object === undefined ? undefined : membersNever(object, schema, context, at)) ??
    (optional === undefined ? undefined : never(optional, schema, context, at))
  );
}

function explainWrongType(wanted: readonly string[], what: string, schema: JsonObject, at: string): string | undefined {
  const allowed = listTypes(schema);
  if (allowed.length === 0) return undefined;
  const fits = wanted.some((type) => allowed.some((one) => one === type || isNumber(type, one)));
  return fits ? undefined : `${at}: ${what} does not fit the schema's type ${allowed.join(" | ")}`;
}

/** Integers are numbers, and a number may be an integer. */
function isNumber(a: string, b: Json): boolean {
  return (a === "integer" && b === "number") || (a === "number" && b === "integer");
}

function explainBounds(
  gte: number | undefined,
  lte: number | undefined,
  schema: JsonObject,
  at: string,
): string | undefined {
  const [minimum, maximum] = [getNumber(schema, "minimum"), getNumber(schema, "maximum")];
  const [above, below] = [getNumber(schema, "exclusiveMinimum"), getNumber(schema, "exclusiveMaximum")];
  if (gte !== undefined && lte !== undefined && gte > lte) return `${at}: no number is >= ${gte} and <= ${lte}`;
  if (gte !== undefined && maximum !== undefined && gte > maximum)
    return `${at}: gte ${gte} is above maximum ${maximum}`;
  if (gte !== undefined && below !== undefined && gte >= below) return `${at}: gte ${gte} is not below ${below}`;
  if (lte !== undefined && minimum !== undefined && lte < minimum)
    return `${at}: lte ${lte} is below minimum ${minimum}`;
  if (lte !== undefined && above !== undefined && lte <= above) return `${at}: lte ${lte} is not above ${above}`;
  return undefined;
}

function first<T>(items: readonly T[], why: (item: T, index: number) => string | undefined): string | undefined {
  for (const [index, item] of items.entries()) {
    const reason = why(item, index);
    if (reason !== undefined) return reason;
  }
  return undefined;
}
