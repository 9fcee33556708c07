import * as z from "zod";
import { isJsonObject, type JsonObject } from "../../base/types/json.ts";
import { argsSchema, matcherSchema, writtenKeywords } from "../../base/types/matcher.ts";
import { suiteFileSchema } from "../../base/types/suiteFile.ts";

/** The JSON Schema (draft 2020-12) of suite files, for editors. The loader also checks what a schema cannot express. */
export function createSuiteSchema(): JsonObject {
  const listed = z.string().min(1).describe("A .csv or .jsonl file with the cases, relative to the suite");
  const written = suiteFileSchema.extend({ cases: z.union([listed, suiteFileSchema.shape.cases]) });
  const generated: unknown = z.toJSONSchema(written, {
    target: "draft-2020-12",
    io: "input",
    override: ({ zodSchema, jsonSchema: made }) => {
      if (isArgs(zodSchema)) Object.assign(made, { additionalProperties: reference("value") });
    },
  });
  const { $schema, $defs = {}, ...rest } = isJsonObject(generated) ? generated : {};
  return {
    $schema: $schema ?? "https://json-schema.org/draft/2020-12/schema",
    $id: "urn:tool-evals:schema:suite",
    title: "tool-evals suite file",
    ...rest,
    $defs: { ...(isJsonObject($defs) && $defs), value: describeValue(), matcher: describeMatcher() },
  };
}

/** Adding a description copies a schema, so the schemas of the members are compared. */
const isArgs = (schema: unknown) =>
  schema instanceof z.ZodRecord && argsSchema instanceof z.ZodRecord && schema.valueType === argsSchema.valueType;

const reference = (name: string) => ({ $ref: `#/$defs/${name}` });

/** A literal or a matcher: an object with any `$` key must be one. */
function describeValue(): JsonObject {
  const hasMarkedKey = { type: "object", not: { propertyNames: { not: { type: "string", pattern: "^\\$" } } } };
  return {
    description: "A literal, which may contain matchers, or a matcher",
    anyOf: [
      ...["string", "number", "boolean", "null"].map((type) => ({ type })),
      { type: "array", items: reference("value") },
      { type: "object", not: hasMarkedKey, additionalProperties: reference("value") },
      reference("matcher"),
    ],
  };
}

/** The operands that may themselves contain matchers. */
const nested: Readonly<Record<string, JsonObject>> = {
  anyOf: { type: "array", minItems: 1, items: reference("value") },
  unordered: { type: "array", items: reference("value") },
  contains: reference("value"),
  optional: reference("value"),
  not: reference("value"),
  object: { type: "object", additionalProperties: reference("value") },
};

function describeMatcher(): JsonObject {
  const generated: unknown = z.toJSONSchema(matcherSchema, { target: "draft-2020-12", io: "input" });
  const made = isJsonObject(generated) && isJsonObject(generated.properties) ? generated.properties : {};
  const operands = writtenKeywords.map((written) => {
    const keyword = written.slice(1);
    const operand = made[keyword];
    const { description } = isJsonObject(operand) ? operand : {};
    const described = description === undefined ? {} : { description };
    if (keyword === "equals") return [written, described];
    return [written, nested[keyword] ? { ...nested[keyword], ...described } : (operand ?? true)];
  });
  return { type: "object", minProperties: 1, additionalProperties: false, properties: Object.fromEntries(operands) };
}
