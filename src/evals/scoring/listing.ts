import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { messageOf } from "../errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../types/json.ts";
import type { OfferedTool, Toolset } from "../types/tool.ts";
import { cut, show } from "./match.ts";

/** Says what is wrong with a value that stands at `at`, with the dotted place; undefined when nothing is. */
export type Validate = (value: Json, at: string) => string | undefined;

/**
 * A listed tool. `validate` checks arguments against its inputSchema, and is undefined when that schema cannot be
 * compiled: then `problem` says why, and its arguments are not checked against it (preflight warns of that).
 */
export type Listed = { tool: OfferedTool; validate: Validate | undefined; problem: string | undefined };

/** Looks a called name up among the listed tools. */
export type Find = (name: string) => Listed | undefined;

/** A toolset ready for look-ups: `find` by listed name, `findDotless` by a name whose dots may be underscores. */
export type Listing = { names: readonly string[]; find: Find; findDotless: Find };

const listings = new WeakMap<Toolset, Listing>();

/** The listing of a toolset. Schemas are compiled once per toolset object, each when its tool is first looked up. */
export function listingOf(toolset: Toolset): Listing {
  const known = listings.get(toolset);
  if (known) return known;
  const tools = new Map(toolset.tools.map((tool) => [tool.name, tool]));
  const dotless = new Map(toolset.tools.map(({ name }) => [withoutDots(name), name]));
  const looked = new Map<string, Listed>();
  const find: Find = (name) => {
    const found = looked.get(name);
    const tool = tools.get(name);
    if (found || !tool) return found;
    const listed = { tool, ...compileRoot(tool.inputSchema) };
    looked.set(name, listed);
    return listed;
  };
  const listing: Listing = {
    names: [...tools.keys()],
    find,
    findDotless: (name) => find(tools.has(name) ? name : (dotless.get(withoutDots(name)) ?? name)),
  };
  listings.set(toolset, listing);
  return listing;
}

/** A name as interfaces that allow no dots show it. */
function withoutDots(name: string): string {
  return name.replaceAll(".", "_");
}

function compileRoot(schema: JsonObject): Pick<Listed, "validate" | "problem"> {
  const compiled = compileSchema(schema);
  return typeof compiled === "string"
    ? { validate: undefined, problem: compiled }
    : { validate: compiled, problem: undefined };
}

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
      const got = isJsonObject(error.data) ? "" : `, got ${show(error.data as Json)}`;
      return cut(`${place} ${error.message}${detail === undefined ? "" : `: ${show(detail)}`}${got}`);
    };
  } catch (thrown) {
    return messageOf(thrown);
  }
}
