import { parseWords, sumOf } from "../../../base/collections.ts";
import {
  explainTypeMisfit,
  findMalformed,
  getNumber,
  getProperty,
  type KeywordViolation,
  listRequired,
  listTypes,
  nameTypes,
} from "../../../base/jsonSchema/keywords.ts";
import { compileSchema } from "../../../base/jsonSchema/validate.ts";
import { findRecursiveRef, followRef, maxPlaces, walkToolSchema } from "../../../base/jsonSchema/walk.ts";
import { isText, quote, showValue, showValues } from "../../../base/text/text.ts";
import { isJsonObject, type Json, type JsonObject, type Path } from "../../../base/types/json.ts";
import { collectTexts, maxSearched } from "../language.ts";
import { defineRules, inInput, inSchemas, type ToolSubject, type Violation } from "../rule.ts";
import { hints } from "./annotations.ts";

const guide = "https://json-schema.org/understanding-json-schema";
const reference = `${guide}/reference`;
const strictMode = "https://platform.openai.com/docs/guides/structured-outputs#supported-schemas";
/** Limits of OpenAI's strict mode. Schemas that a model fills well are far smaller. */
const limits = { levels: 10, properties: 5000, enumValues: 1000 } as const;
/** Keywords of JSON Schema that the Schema of Gemini's function declarations lacks. */
const unknownToGemini = [
  ...["const", "oneOf", "allOf", "not", "if", "then", "else", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  ...["uniqueItems", "contains", "prefixItems", "propertyNames", "patternProperties", "dependentRequired"],
  ...["dependentSchemas", "unevaluatedProperties", "unevaluatedItems", "contentEncoding", "contentMediaType", "$ref"],
];
/** With this many required parameters, a model often lacks a value and makes it up. */
const manyRequired = 6;

export const schemaRules = defineRules<ToolSubject>(reference, [
  {
    id: "tool-shape",
    severity: "error",
    docs: "https://modelcontextprotocol.io/specification/2025-11-25/schema#tool",
    why: "Clients check each tool by the schema of the protocol, and reject the whole list for one that does not fit.",
    *check({ tool }) {
      for (const { at, must, accepts, fix } of fields) {
        const [field = "", key] = at;
        const parent = key === undefined ? tool : tool[field];
        const value = isJsonObject(parent) ? parent[key ?? field] : undefined;
        if (!isJsonObject(parent) || (value === undefined ? fix === undefined : accepts(value))) continue;
        const path = at.join(".");
        if (value === undefined) yield { at, message: `The tool has no ${path}.`, fix: fix ?? "" };
        else yield { at, message: `${path} is ${showValue(value)}, not ${must}.`, fix: `Make it ${must}.` };
      }
    },
  },
  {
    id: "root-combinator",
    severity: "error",
    docs: "https://github.com/anthropics/claude-code/issues/56174",
    why: "Anthropic's API rejects the whole request, with all of its tools, for oneOf, anyOf or allOf at the root; OpenAI's also for not, enum and const.",
    fix: "List all properties in one object and describe which belong together, or make two tools.",
    *check({ tool: { inputSchema } }) {
      for (const keyword of ["oneOf", "anyOf", "allOf", "not", "enum", "const"])
        if (isJsonObject(inputSchema) && Object.hasOwn(inputSchema, keyword))
          yield { at: ["inputSchema", keyword], message: `The inputSchema has ${keyword} at its root.` };
    },
  },
  {
    id: "root-properties-missing",
    severity: "info",
    docs: "https://github.com/langchain-ai/langchain-mcp-adapters/issues/137",
    why: "OpenAI's API rejects the whole request for an object without properties at the root, and some clients do not add them.",
    at: ["inputSchema"],
    fix: 'Add "properties": {}.',
    find: ({ tool: { inputSchema: root } }) =>
      isJsonObject(root) && root.type === "object" && !("properties" in root) && "The inputSchema has no properties.",
  },
  {
    id: "keyword-unknown-to-gemini",
    severity: "info",
    docs: "https://ai.google.dev/api/caching#Schema",
    why: "Gemini's schemas have no such field: most clients drop it, and the whole request of one that does not is refused.",
    fix: "Say in the description what it asks for, too.",
    *check({ tool }) {
      const locations = walkToolSchema(tool, "inputSchema").flatMap(({ schema, at }) => [
        ...unknownToGemini.filter((key) => Object.hasOwn(schema, key)).map((key) => ({ key, at: [...at, key] })),
        ...(hasOtherValues(schema.enum) ? [{ key: "enum of anything but texts", at: [...at, "enum"] }] : []),
        ...(Array.isArray(schema.items) ? [{ key: "items as a list", at: [...at, "items"] }] : []),
        ...(Array.isArray(schema.type) ? [{ key: "type as a list", at: [...at, "type"] }] : []),
      ]);
      const [first] = locations;
      if (!first) return;
      const message = `Gemini's schemas have no ${[...new Set(locations.map(({ key }) => key))].join(", ")}.`;
      yield { at: first.at, message };
    },
  },
  {
    id: "required-unknown",
    severity: "error",
    docs: `${reference}/object#required`,
    why: "Gemini's API rejects a request with such a tool (property is not defined); nothing says how to give the property.",
    fix: "Describe it under properties, or remove it from required.",
    check: inSchemas(function* ({ schema, at, role }) {
      // Branches and references can describe further properties.
      if (role === "branch" || openKeywords.some((key) => key in schema) || isJsonObject(schema.patternProperties))
        return;
      const unknown = listRequired(schema).filter((name) => getProperty(schema, name) === undefined);
      const message = `Required but not among the properties: ${showValues(unknown)}.`;
      if (unknown.length > 0) yield { at: [...at, "required"], message };
    }),
  },
  {
    id: "required-with-default",
    docs: `${reference}/object#required`,
    why: "A parameter with a default is optional; listed as required, a model must make up a value for it.",
    fix: "Remove it from required, or remove its default.",
    check: inInput(function* ({ schema, at }) {
      for (const name of listRequired(schema)) {
        const property = getProperty(schema, name);
        if (!isJsonObject(property) || property.default === undefined) continue;
        const message = `${quote(name)} is required although it has the default ${showValue(property.default)}.`;
        yield { at: [...at, "properties", name], message };
      }
    }),
  },
  {
    id: "required-many",
    severity: "info",
    profile: "spec",
    docs: "https://www.anthropic.com/engineering/writing-tools-for-agents",
    why: "Each required parameter that the user did not mention is one that a model makes up.",
    at: ["inputSchema", "required"],
    fix: "Give a default to those that the tool can run without, and remove them from required.",
    find({ tool: { inputSchema } }) {
      const names = isJsonObject(inputSchema) ? listRequired(inputSchema) : [];
      return names.length >= manyRequired && `${names.length} parameters are required: ${showValues(names)}.`;
    },
  },
  {
    id: "schema-not-valid",
    severity: "error",
    why: "A validator rejects the whole schema for one malformed keyword: the tool is listed, but its calls fail.",
    check: inSchemas(({ schema, at }) => locate(findMalformed(schema), at)),
  },
  {
    id: "schema-unsatisfiable",
    severity: "error",
    why: "No value fits, so a call that gives one is rejected; the validator ajv does not even compile an empty enum.",
    check: inSchemas(({ schema, at }) => locate(findContradictions(schema), at)),
  },
  {
    id: "default-violates-schema",
    docs: `${reference}/annotations`,
    why: "A model copies the default it sees, and a call with it is rejected.",
    fix: "Give a default that the schema allows, or correct the schema.",
    check: inInput(({ schema, at }) => {
      const message = schema.default === undefined ? undefined : explainMisfit(schema.default, schema);
      return message === undefined ? [] : [{ at: [...at, "default"], message }];
    }),
  },
  {
    id: "ref-unresolved",
    severity: "error",
    docs: `${guide}/structuring#dollarref`,
    why: "A reference to nothing makes the schema invalid, and hosts fetch no other document: calls of the tool fail.",
    fix: "Write the schema out where it is used, or put it under $defs.",
    *check({ tool }) {
      for (const field of ["inputSchema", "outputSchema"] as const) {
        const walk = walkToolSchema(tool, field);
        for (const { schema, at } of walk) {
          const { $ref } = schema;
          const kind = typeof $ref === "string" ? followRef($ref, walk).kind : "local";
          if (kind === "local") continue;
          const leads = kind === "remote" ? "leads to another document" : "leads nowhere in the schema";
          yield { at: [...at, "$ref"], message: `The reference ${showValue($ref ?? null)} ${leads}.` };
        }
      }
    },
  },
  {
    id: "schema-too-large",
    docs: strictMode,
    why: "The schema is sent with every request; OpenAI's strict mode rejects more than 10 levels, 5,000 properties or 1,000 values of enums.",
    at: ["inputSchema"],
    fix: "Remove what a model need not choose. Nothing beyond the limit was checked.",
    *check({ tool }) {
      const format = (number: number) => number.toLocaleString("en-US");
      const locations = walkToolSchema(tool, "inputSchema");
      const deep = locations.find(({ level }) => level > limits.levels)?.at;
      if (deep) {
        const message = `The schema is nested more than ${limits.levels} levels deep.`;
        const fix = "Flatten it into top-level parameters, or split the tool.";
        yield { at: deep.slice(0, 3 * limits.levels), message, fix };
      }
      const isOver = locations.filter(({ role }) => role === "property").length > limits.properties;
      const most = isOver ? `${format(limits.properties)} properties` : `${format(maxPlaces)} schemas`;
      if (isOver || locations.length === maxPlaces) yield { message: `The inputSchema has more than ${most}.` };
      const values = sumOf(locations, ({ schema }) => (Array.isArray(schema.enum) ? schema.enum.length : 0));
      if (values > limits.enumValues) {
        const message = `The enums of the inputSchema have ${format(values)} values, more than ${format(limits.enumValues)}.`;
        yield { message, fix: "Let a model search for the values with another tool." };
      }
      if (!collectTexts(tool).whole)
        yield { at: [], message: `The tool has more than ${format(maxSearched)} characters.` };
    },
  },
  {
    id: "ref-recursive",
    docs: `${guide}/structuring#recursion`,
    why: "Some hosts expand references, and reject or cut a schema that contains itself.",
    fix: "Write out the levels that are needed, or use a flat list with parent ids.",
    *check({ tool }) {
      const location = findRecursiveRef(walkToolSchema(tool, "inputSchema"));
      if (!location) return;
      const ref = showValue(location.schema.$ref ?? null);
      yield { at: [...location.at, "$ref"], message: `The reference ${ref} leads back to a schema it is part of.` };
    },
  },
]);

/** Whether an enum has values that Gemini refuses: it takes texts alone, and none that is empty. */
const hasOtherValues = (values: Json | undefined) => Array.isArray(values) && !values.every(isText);

/** A field of a tool that the protocol restricts. `fix`: what to do where it is missing, if it is required. */
type Field = { at: readonly string[]; must: string; accepts(value: Json): boolean; fix?: string };

const isString = (value: Json) => typeof value === "string";
const ofObjects = { must: '"object"', accepts: (value: Json) => value === "object", fix: 'Set it to "object".' };

const fields: readonly Field[] = [
  {
    at: ["name"],
    must: "a string of one character or more",
    accepts: (value) => isString(value) && value !== "",
    fix: "Name the tool with a verb and what it acts on, such as get_weather.",
  },
  { at: ["title"], must: "a string", accepts: isString },
  { at: ["description"], must: "a string", accepts: isString },
  {
    at: ["inputSchema"],
    must: "an object",
    accepts: isJsonObject,
    fix: 'Add one; without parameters it is { "type": "object", "properties": {} }.',
  },
  { at: ["inputSchema", "type"], ...ofObjects },
  { at: ["outputSchema"], must: "an object", accepts: isJsonObject },
  { at: ["outputSchema", "type"], ...ofObjects },
  { at: ["annotations"], must: "an object", accepts: isJsonObject },
  { at: ["annotations", "title"], must: "a string", accepts: isString },
  ...hints.map((hint): Field => {
    return { at: ["annotations", hint], must: "true or false", accepts: (value) => typeof value === "boolean" };
  }),
];

/** Keywords that allow every value, or are checked without a validator. */
const harmless = parseWords("type default title description examples format deprecated readOnly writeOnly");

/** Undefined also for references, which need the schemas around them, and patterns, which take time. */
function explainMisfit(value: Json, schema: JsonObject): string | undefined {
  const mistyped = explainTypeMisfit(value, schema);
  if (mistyped) return `The default ${showValue(value)} ${mistyped}.`;
  // Compiling takes a millisecond. What is malformed has a finding of its own.
  if (Object.keys(schema).every((keyword) => harmless.has(keyword)) || [...findMalformed(schema)].length > 0) return;
  if (/"(?:\$\w*[rR]ef|pattern|patternProperties)":/.test(JSON.stringify(schema))) return;
  const validate = compileSchema(schema);
  const validity = typeof validate === "string" ? undefined : validate(value, "The default");
  return validity?.kind === "invalid" ? `${validity.why}.` : undefined;
}

const bounds = [
  ["minimum", "maximum"],
  ["minLength", "maxLength"],
  ["minItems", "maxItems"],
  ["minProperties", "maxProperties"],
] as const;

/** Why no value, or none that an enum or a const gives, can match a schema. */
function* findContradictions(schema: JsonObject): Iterable<KeywordViolation> {
  for (const [low, high] of bounds) {
    const [least, most] = [getNumber(schema, low), getNumber(schema, high)];
    const message = `${low} ${least} is above ${high} ${most}.`;
    if (least !== undefined && most !== undefined && least > most)
      yield { keyword: low, message, fix: "Swap or correct the two bounds." };
  }
  const { enum: values, const: only } = schema;
  if (Array.isArray(values) && values.length === 0)
    yield { keyword: "enum", message: "The enum allows no value.", fix: "List the allowed values, or remove it." };
  const mistyped = (Array.isArray(values) ? values : []).filter((value) => explainTypeMisfit(value, schema));
  if (mistyped.length > 0) {
    const message = `The enum lists ${showValues(mistyped)}, but the type requires ${nameTypes(listTypes(schema))}.`;
    yield { keyword: "enum", message, fix: "Give every value of the enum the type that the schema names." };
  }
  const misfit = only === undefined ? undefined : explainTypeMisfit(only, schema);
  if (misfit)
    yield { keyword: "const", message: `The const ${misfit}.`, fix: "Give the const the type that the schema names." };
}

const openKeywords = ["$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if"];

function* locate(found: ReturnType<typeof findMalformed>, at: Path): Iterable<Violation> {
  for (const { keyword, message, fix } of found) yield { at: [...at, keyword], message, fix };
}
