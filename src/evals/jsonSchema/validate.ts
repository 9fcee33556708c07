import { Ajv, type ErrorObject } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { messageOf } from "../types/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../types/json.ts";
import { cut, showJson } from "../types/text.ts";
import { estimateCost } from "./bounds.ts";
import { findMalformed } from "./malformed.ts";
import { foreignPatterns, PatternError } from "./patterns.ts";
import { formatJsonPath, walkSchema } from "./walk.ts";
import { limitTime, TimeLimitError } from "./watchdog.ts";

/**
 * Whether a value matches a schema. `invalid`: what is wrong, with its dotted path. `unchecked`: why it could not be
 * checked, for example because a pattern takes too long; such a value is neither valid nor invalid.
 */
export type Validity =
  | { kind: "valid" }
  | { kind: "invalid"; why: string; fault?: MemberFault }
  | { kind: "unchecked"; why: string };

/** The member that makes an object invalid, and what is wrong with it. */
type MemberFault = { member: string; kind: "missing" | "wrong-type" | "wrong-value" | "invented" };

/** Validates a value, which messages call `at`. Does not throw, and ends in bounded time. */
export type Validate = (value: Json, at: string) => Validity;

const valid: Validity = { kind: "valid" };

/** Time limits for compiling one schema and validating one value, far above what real ones take. */
const compileMs = 2_000;
const validateMs = 1_000;

/**
 * Compiles a JSON Schema to a validator, or says why it cannot be compiled. The dialect is the one that `$schema`
 * names; without it, 2020-12, the protocol's default, or draft 7 if only that can read the schema. Unknown keywords and
 * formats are allowed. The schema may be hostile: its size is limited, and so is the time of slow patterns and slow
 * validation.
 */
export function compileSchema(schema: JsonObject): Validate | string {
  const { fault, isCostly } = estimateCost(schema);
  if (fault !== undefined) return fault;
  const malformed = explainMalformed(schema);
  if (malformed !== undefined) return malformed;
  // `$ref: "#"` needs an `$id`. It is replaced by our own, because two tools may have the same one, and ajv would look
  // up the URL of a draft.
  const { $schema: dialect, $id: _id, ...rest } = schema;
  const old = typeof dialect === "string" && /draft-0[3-7]/.test(dialect);
  const first = compileWith(old ? "draft-07" : "2020-12", rest, isCostly);
  if (typeof first !== "string" || dialect !== undefined) return first;
  const second = compileWith("draft-07", rest, isCostly);
  return typeof second === "string" ? first : second;
}

function explainMalformed(root: JsonObject): string | undefined {
  for (const { schema, at } of walkSchema(root).places) {
    const [first] = findMalformed(schema);
    if (first) return `${formatJsonPath(at)}: ${first.message.slice(0, -1)}`;
  }
  return undefined;
}

const options = {
  strict: false,
  // Compiling the metaschema takes longer than all schemas of most runs; `findMalformed` checks its rules.
  validateSchema: false,
  logger: false,
  addUsedSchema: false,
  ownProperties: true,
  verbose: true,
  code: { regExp: foreignPatterns },
} as const;
const dialects = { "2020-12": () => new Ajv2020(options), "draft-07": () => new Ajv(options) };
const compilers = new Map<keyof typeof dialects, Ajv | Ajv2020>();

/** The compiler of a dialect, created on first use: creating one takes longer than all its work. */
function getCompiler(dialect: keyof typeof dialects): Ajv | Ajv2020 {
  const made = compilers.get(dialect);
  if (made) return made;
  const compiler = dialects[dialect]();
  formats.default(compiler);
  compilers.set(dialect, compiler);
  return compiler;
}

function compileWith(dialect: keyof typeof dialects, schema: JsonObject, isCostly: boolean): Validate | string {
  let validate: ReturnType<Ajv["compile"]>;
  try {
    validate = limitTime(compileMs, () => getCompiler(dialect).compile({ ...schema, $id: "inputSchema" }));
  } catch (thrown) {
    return messageOf(thrown);
  }
  return (value, at) => {
    try {
      const isValid = isCostly ? limitTime(validateMs, () => validate(value)) : validate(value);
      if (isValid) return valid;
      const [error] = validate.errors ?? [];
      const fault = error && findFault(error);
      return { kind: "invalid", why: describeError(error, at), ...(fault && { fault }) };
    } catch (thrown) {
      const why = thrown instanceof PatternError ? thrown.message : `validating ${explainFailure(thrown)}`;
      return { kind: "unchecked", why };
    }
  };
}

function explainFailure(thrown: unknown): string {
  if (thrown instanceof TimeLimitError) return `takes more than ${validateMs} ms`;
  return thrown instanceof RangeError ? "does not end" : `failed: ${messageOf(thrown)}`;
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
  const detail = error.params.additionalProperty ?? error.params.allowedValues;
  const place = `${at}${error.instancePath.replaceAll("/", ".")}`;
  const got = isJsonObject(error.data) ? "" : `, got ${showJson(error.data as Json)}`;
  return cut(`${place} ${error.message}${detail === undefined ? "" : `: ${showJson(detail)}`}${got}`);
}
