import { Ajv, type ErrorObject, type FuncKeywordDefinition, str, type ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { getOrAdd } from "../collections.ts";
import { limitTime, TimeLimitError } from "../limitTime.ts";
import { cut, showJson } from "../text/text.ts";
import { messageOf } from "../types/errors.ts";
import { isJsonObject, isNestedDeeper, type Json, type JsonObject, maxDepth, toNumbers } from "../types/json.ts";
import { findMalformed } from "./keywords.ts";
import { followRef, formatJsonPath, walkSchema } from "./walk.ts";

/**
 * Whether a value matches a schema. `invalid`: what is wrong, with its dotted path, and the members of an object that
 * are refused, that of `why` first. `unchecked`: why it could not be checked, for example because a pattern takes too
 * long; such a value is neither valid nor invalid.
 */
export type Validity =
  | { kind: "valid" }
  | { kind: "invalid"; why: string; faults?: readonly MemberFault[] }
  | { kind: "unchecked"; why: string };

type MemberFault = { member: string; kind: "missing" | "wrong-type" | "wrong-value" | "invented" };

/**
 * Validates a value, which messages call `at`. Does not throw, and ends in bounded time. `leftOut`: the keywords of the
 * schema that cannot be evaluated, as a sentence without its full stop; all others are checked.
 */
export type Validate = ((value: Json, at: string) => Validity) & { leftOut?: string };

const valid: Validity = { kind: "valid" };

/** Time limits for compiling one schema and validating one value, far above what real ones take. */
const compileMs = 2_000;
const validateMs = 1_000;
/** Limits for finding all refused members, each of which may have many errors: beyond them, only the first is found. */
const allFaultsMs = 250;
const maxFaults = 20;

/**
 * Compiles a JSON Schema to a validator, or says why it cannot be compiled. The dialect is the one that `$schema`
 * names; without it, 2020-12, the protocol's default; and draft 7 if only that can read the schema. Unknown keywords
 * are allowed, formats are annotations, and a keyword that cannot be evaluated leaves out itself alone. The schema may
 * be hostile: the time of compiling it and of each validation is limited.
 */
export function compileSchema(schema: JsonObject): Validate | string {
  if (isNestedDeeper(schema)) return `it is nested more than ${maxDepth} levels deep`;
  const first = compileEvaluable(schema, false);
  const validate = typeof first === "string" ? compileEvaluable(schema, true) : first;
  return typeof validate === "string" ? first : validate;
}

function compileEvaluable(schema: JsonObject, withoutDeadRefs: boolean): Validate | string {
  const isOld = typeof schema.$schema === "string" && /draft-0[3-7]/.test(schema.$schema);
  const { evaluable, leftOut } = makeEvaluable(schema, withoutDeadRefs);
  // `$ref: "#"` needs an `$id`. It is replaced by our own, because two tools may have the same one, and ajv would look
  // up the URL of a draft.
  const { $schema: _dialect, $id: _id, ...rest } = evaluable;
  const first = compileWith(isOld ? "draft-07" : "2020-12", rest);
  // Lists under `items` are of drafts before 2020-12, whatever draft the schema names.
  const validate = typeof first === "string" && !isOld ? compileWith("draft-07", rest) : first;
  if (typeof validate === "string") return first;
  return leftOut === undefined ? validate : Object.assign(validate, { leftOut });
}

/**
 * Copies a schema without the keywords that JSON Schema does not allow, and says what they are; in a second attempt,
 * also without references that lead nowhere or to another document. Keywords of draft 4 and OpenAPI are rewritten.
 * `$dynamicRef` and `$recursiveRef` become `$ref`, which means the same within one document: ajv takes one that leads
 * nowhere, or to a definition that it has not compiled yet, for a reference to the schema around it.
 */
function makeEvaluable(root: JsonObject, withoutDeadRefs: boolean): { evaluable: JsonObject; leftOut?: string } {
  const evaluable = structuredClone(root);
  const messages: string[] = [];
  // ajv knows the anchors of all schemas but the outermost.
  const outermost = `#${evaluable.$dynamicAnchor}`;
  const walk = walkSchema(evaluable);
  for (const { schema, at } of walk) {
    rewriteBounds(schema);
    for (const keyword of withoutDeadRefs ? ["$ref", "$dynamicRef", "$recursiveRef"] : []) {
      const { [keyword]: ref } = schema;
      if (typeof ref !== "string" || followRef(ref, walk).kind === "local") continue;
      messages.push(`${formatJsonPath(at)}: ${keyword} leads to no schema of the same document`);
      delete schema[keyword];
    }
    for (const { keyword, name, message } of [...findMalformed(schema)]) {
      messages.push(`${formatJsonPath(at)}: ${message.slice(0, -1)}`);
      const entries = schema[keyword];
      if (name !== undefined && isJsonObject(entries)) delete entries[name];
      else delete schema[keyword];
      // Names that only such a pattern allows must not be refused as additional ones.
      if (keyword === "patternProperties") schema.additionalProperties = true;
    }
    rewriteNullable(schema);
    for (const keyword of ["$dynamicRef", "$recursiveRef"]) {
      const { [keyword]: $ref, allOf } = schema;
      if (typeof $ref !== "string") continue;
      delete schema[keyword];
      schema.allOf = [...(Array.isArray(allOf) ? allOf : []), { $ref: $ref === outermost ? "#" : $ref }];
    }
  }
  const [first, ...others] = messages;
  if (first === undefined) return { evaluable };
  return { evaluable, leftOut: others.length > 0 ? `${first} (and ${others.length} more)` : first };
}

/** Rewrites the bounds of draft 4, and leaves out its `id`, which ajv refuses. */
function rewriteBounds(schema: JsonObject): void {
  if (typeof schema.id === "string") delete schema.id;
  for (const [exclusive, bound] of [
    ["exclusiveMinimum", "minimum"],
    ["exclusiveMaximum", "maximum"],
  ] as const) {
    const isExclusive = schema[exclusive];
    if (typeof isExclusive !== "boolean") continue;
    delete schema[exclusive];
    if (!isExclusive || schema[bound] === undefined) continue;
    schema[exclusive] = schema[bound];
    delete schema[bound];
  }
}

/** Rewrites `nullable` of OpenAPI: ajv does not apply it to `enum`, and refuses it without `type`. */
function rewriteNullable(schema: JsonObject): void {
  const { nullable, type, enum: values } = schema;
  if (nullable !== true) delete schema.nullable;
  else if (Array.isArray(values)) schema.enum = [...values, null];
  // ajv adds null to types.
  if (nullable !== true || type !== undefined) return;
  const { nullable: _nullable, $defs, definitions, ...rest } = schema;
  for (const key of Object.keys(rest)) delete schema[key];
  delete schema.nullable;
  schema.anyOf = [rest, { type: "null" }];
}

const options = {
  strict: false,
  // Compiling the metaschema takes longer than all schemas of most runs; `findMalformed` checks its rules.
  validateSchema: false,
  logger: false,
  addUsedSchema: false,
  ownProperties: true,
  verbose: true,
  // Its time grows with the square of the number of properties.
  code: { optimize: false },
} as const;
/** By the decimal digits of both numbers, as servers do: 19.99 is a multiple of 0.01. */
const multipleOf: FuncKeywordDefinition = {
  keyword: "multipleOf",
  type: "number",
  schemaType: "number",
  validate: isMultiple,
  error: { message: ({ schemaCode }) => str`must be multiple of ${schemaCode}` },
};

function isMultiple(factor: number, value: number): boolean {
  const [divisor, dividend] = [readDecimal(factor), readDecimal(value)];
  const least = Math.min(divisor.exponent, dividend.exponent);
  const scale = ({ digits, exponent }: typeof divisor) => digits * 10n ** BigInt(exponent - least);
  return scale(dividend) % scale(divisor) === 0n;
}

function readDecimal(value: number) {
  const [, whole = "", fraction = "", exponent = "0"] = /^(-?\d+)(?:\.(\d+))?(?:e(.+))?$/.exec(`${value}`) ?? [];
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}

const dropPattern = (key: string, value: Json) => (key === "pattern" && typeof value === "string" ? undefined : value);

const dialects = { "2020-12": Ajv2020, "draft-07": Ajv };
type Dialect = keyof typeof dialects;
const compilers = new Map<string, Ajv | Ajv2020>();

/** Ends at the first error, or with `allErrors` lists all. Creating a compiler takes longer than all its work. */
function compileIn(dialect: Dialect, schema: JsonObject, { allErrors }: { allErrors: boolean }): ValidateFunction {
  const compiler = getOrAdd(compilers, `${dialect} ${allErrors}`, () => {
    const made = new dialects[dialect]({ ...options, allErrors });
    return made.removeKeyword("multipleOf").addKeyword(multipleOf);
  });
  return compiler.compile({ ...schema, $id: "inputSchema" });
}

/** Keywords with which validation can take long; without them it takes less time than a limit costs. */
const slowKeywords = /"(?:pattern|patternProperties|uniqueItems|allOf|anyOf|oneOf|not|if|dependentSchemas|\$ref)":/;

function compileWith(dialect: Dialect, schema: JsonObject): Validate | string {
  const text = JSON.stringify(schema);
  const isCostly = slowKeywords.test(text);
  let validate: ValidateFunction;
  let validateAll: ValidateFunction | undefined;
  try {
    // Code that ends at the first error is nested: for thousands of properties, deeper than the stack.
    validate = limitTime(compileMs, () => compileIn(dialect, schema, { allErrors: text.length > 32_768 }));
  } catch (thrown) {
    return thrown instanceof RangeError ? "it refers to itself without end" : messageOf(thrown);
  }
  const listErrors = (value: Json): ErrorObject[] => {
    try {
      validateAll ??= limitTime(compileMs, () => compileIn(dialect, schema, { allErrors: true }));
      const validateWhole = validateAll;
      limitTime(allFaultsMs, () => validateWhole(value));
      return validateWhole.errors ?? [];
    } catch {
      return [];
    }
  };
  return (given, at) => {
    try {
      const value = toNumbers(given);
      const isValid = isCostly ? limitTime(validateMs, () => validate(value)) : validate(value);
      if (isValid) return valid;
      const [error] = validate.errors ?? [];
      const faults = error ? findFaults(error, () => listErrors(value)) : [];
      return { kind: "invalid", why: describeError(error, at), ...(faults.length > 0 && { faults }) };
    } catch (thrown) {
      // A slow pattern must not hide what else is wrong.
      const isSlow = thrown instanceof TimeLimitError && text.includes('"pattern":"');
      const rest = isSlow ? compileWith(dialect, JSON.parse(text, dropPattern) as JsonObject) : "";
      const validity = typeof rest === "string" ? undefined : rest(given, at);
      if (validity?.kind === "invalid") return validity;
      const failure = thrown instanceof RangeError ? "does not end" : `failed: ${messageOf(thrown)}`;
      const why = thrown instanceof TimeLimitError ? `takes more than ${validateMs} ms` : failure;
      return { kind: "unchecked", why: `validating ${why}` };
    }
  };
}

/**
 * The refused members, each once: that of the first error, and those of the others. Errors of alternatives of the whole
 * value are left out, because not all of them must hold, and so is what `unevaluatedProperties` says beside other
 * errors.
 */
function findFaults(first: ErrorObject, listErrors: () => readonly ErrorObject[]): MemberFault[] {
  const fault = findFault(first);
  if (!fault) return [];
  const faults = new Map([[fault.member, fault]]);
  const all = listErrors();
  if (all.some(({ keyword, instancePath }) => instancePath === "" && /^(any|one)Of$/.test(keyword))) return [fault];
  for (const error of all) {
    const one = error.keyword === "unevaluatedProperties" ? undefined : findFault(error);
    if (one && !faults.has(one.member)) faults.set(one.member, one);
    if (faults.size === maxFaults) break;
  }
  return [...faults.values()];
}

/** The member that an error is about. An error inside a member makes the member's value wrong. */
function findFault({ instancePath, keyword, params }: ErrorObject): MemberFault | undefined {
  const [, member, ...inside] = instancePath.split("/").map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  if (member !== undefined)
    return { member, kind: keyword === "type" && inside.length === 0 ? "wrong-type" : "wrong-value" };
  if (keyword === "required") return { member: String(params.missingProperty), kind: "missing" };
  const extra = params.additionalProperty ?? params.unevaluatedProperty;
  return extra === undefined ? undefined : { member: String(extra), kind: "invented" };
}

function describeError(error: ErrorObject | undefined, at: string): string {
  if (!error) return `${at} violates the schema`;
  const { additionalProperty, unevaluatedProperty, allowedValues } = error.params;
  const detail = additionalProperty ?? unevaluatedProperty ?? allowedValues;
  const location = `${at}${error.instancePath.replaceAll("/", ".")}`;
  const actual = isJsonObject(error.data) ? "" : `, got ${showJson(error.data as Json)}`;
  return cut(`${location} ${error.message}${detail === undefined ? "" : `: ${showJson(detail)}`}${actual}`);
}
