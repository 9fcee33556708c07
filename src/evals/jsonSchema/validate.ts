import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { messageOf } from "../types/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../types/json.ts";
import { cut, showJson } from "../types/text.ts";

/** Returns what is wrong with a value, with its dotted path from `at`; undefined when it is valid. */
export type Validate = (value: Json, at: string) => string | undefined;

/**
 * A validator for a JSON Schema, or why it cannot be compiled. The dialect is the one that `$schema` names; without one
 * it is 2020-12, the protocol's default, and draft 7 when only that can read it. Unknown keywords and formats are allowed.
 */
export function compileSchema(schema: JsonObject): Validate | string {
  // The root's identity gives way to one of our own, which `$ref: "#"` needs: two tools may carry the same one, and a
  // draft's own URL would be looked up.
  const { $schema: dialect, $id: _id, ...rest } = schema;
  const old = typeof dialect === "string" && /draft-0[3-7]/.test(dialect);
  const first = compileWith(old ? "draft-07" : "2020-12", rest);
  if (typeof first !== "string" || dialect !== undefined) return first;
  const second = compileWith("draft-07", rest);
  return typeof second === "string" ? first : second;
}

const options = { strict: false, logger: false, addUsedSchema: false, ownProperties: true, verbose: true } as const;
const dialects = { "2020-12": () => new Ajv2020(options), "draft-07": () => new Ajv(options) };
const compilers = new Map<keyof typeof dialects, Ajv | Ajv2020>();

/** One compiler for each dialect, made when first needed: making one costs more than all that it compiles. */
function compilerFor(dialect: keyof typeof dialects): Ajv | Ajv2020 {
  const made = compilers.get(dialect);
  if (made) return made;
  const compiler = dialects[dialect]();
  formats.default(compiler);
  compilers.set(dialect, compiler);
  return compiler;
}

function compileWith(dialect: keyof typeof dialects, schema: JsonObject): Validate | string {
  try {
    const validate = compilerFor(dialect).compile({ ...schema, $id: "inputSchema" });
    return (value, at) => {
      if (validate(value)) return undefined;
      const [error] = validate.errors ?? [];
      if (!error) return `${at} violates the schema`;
      const detail = error.params.additionalProperty ?? error.params.allowedValues;
      const place = `${at}${error.instancePath.replaceAll("/", ".")}`;
      const got = isJsonObject(error.data) ? "" : `, got ${showJson(error.data as Json)}`;
      return cut(`${place} ${error.message}${detail === undefined ? "" : `: ${showJson(detail)}`}${got}`);
    };
  } catch (thrown) {
    return messageOf(thrown);
  }
}
