import { explainMisfit, listTypes, nameTypes, type Type } from "../../jsonSchema/values.ts";
import { type SchemaPlace, walkToolSchema } from "../../jsonSchema/walk.ts";
import { isJsonObject, type JsonObject } from "../../types/json.ts";
import { quote, showValue, showValues } from "../../types/quote.ts";
import type { Rule, ToolSubject } from "../rule.ts";
import { inInput, inSchemas } from "../rule.ts";
import { hostRules } from "./hostRules.ts";
import { contradictions, malformed } from "./schemaValidity.ts";

const protocol = "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool";
const jsonSchema = "https://json-schema.org/understanding-json-schema/reference";
const docs = "https://json-schema.org/understanding-json-schema/reference/object#required";
/** From so many on a model often lacks one, and invents it. */
const manyRequired = 6;
/** What stands behind so many is not looked at. */
const mostNames = 10_000;

/** What `required` lists. */
export const requiredRules: readonly Rule<ToolSubject>[] = [
  {
    id: "required-shape",
    severity: "error",
    why: "A required that is no list of names makes the schema invalid: the tool is listed, but its calls fail.",
    docs,
    clauses: ["required is a list", "of texts", "each named once"],
    check: inSchemas(function* ({ schema: { required }, at }) {
      if (required === undefined) return;
      const fix = "Make required a list of the names of properties, each once.";
      if (!Array.isArray(required)) {
        yield { at: [...at, "required"], message: `required is ${showValue(required)}, not a list of names.`, fix };
        return;
      }
      const names = required.slice(0, mostNames);
      const strange = names.find((name) => typeof name !== "string");
      if (strange !== undefined) {
        yield { at: [...at, "required"], message: `required lists ${showValue(strange)}, which is not a name.`, fix };
      } else if (new Set(names).size < names.length) {
        yield { at: [...at, "required"], message: "required lists a name twice.", fix };
      }
    }),
  },
  {
    id: "required-unknown",
    severity: "error",
    why: "A model cannot give a property that is described nowhere, so every call is refused.",
    docs,
    clauses: ["required names properties of the schema"],
    check: inSchemas(function* (place) {
      const unknown = isWhole(place) ? namesIn(place.schema).filter((name) => !describes(place.schema, name)) : [];
      if (unknown.length === 0) return;
      const message = `Required, but not among the properties: ${showValues(unknown)}.`;
      const fix = "Describe it under properties, or leave it out of required.";
      yield { at: [...place.at, "required"], message, fix };
    }),
  },
  {
    id: "required-with-default",
    severity: "error",
    why: "What has a default can be left out; listed as required, a model must make up a value for it.",
    docs,
    clauses: ["a parameter with a default is not required"],
    check: inInput(function* ({ schema, at }) {
      for (const name of namesIn(schema)) {
        const property = propertyOf(schema, name);
        if (!isJsonObject(property) || property.default === undefined) continue;
        const message = `${quote(name)} has the default ${showValue(property.default)} and is required all the same.`;
        yield { at: [...at, "properties", name], message, fix: "Leave it out of required, or take its default away." };
      }
    }),
  },
  {
    id: "required-many",
    severity: "info",
    why: "Each required parameter is one more that the user may not have said, and that a model then makes up.",
    docs: "https://www.anthropic.com/engineering/writing-tools-for-agents",
    clauses: ["few parameters are required"],
    *check({ tool }) {
      const [root] = walkToolSchema(tool, "inputSchema").places;
      const names = root ? namesIn(root.schema) : [];
      if (names.length < manyRequired) return;
      const message = `${names.length} parameters are required: ${showValues(names)}.`;
      const fix = "Give a default to those that the tool can run without, and leave them out of required.";
      yield { at: ["inputSchema", "required"], message, fix };
    },
  },
];

function namesIn({ required }: JsonObject): readonly string[] {
  return Array.isArray(required)
    ? [...new Set(required.slice(0, mostNames).filter((name) => typeof name === "string"))]
    : [];
}

function propertyOf({ properties }: JsonObject, name: string) {
  return isJsonObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
}

/** Whether all that is said of a place is said in it: branches and references may bring the properties from elsewhere. */
function isWhole({ role, schema }: SchemaPlace): boolean {
  return role !== "branch" && !["$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if"].some((key) => key in schema);
}

function describes(schema: JsonObject, name: string): boolean {
  return propertyOf(schema, name) !== undefined || isJsonObject(schema.patternProperties);
}

/** Whether a schema is one, whether hosts take it, and whether any value can fit it. */
export const schemaRules: readonly Rule<ToolSubject>[] = [
  {
    id: "input-schema-missing",
    severity: "error",
    why: "The protocol asks for an inputSchema; clients refuse the whole list for one tool without it.",
    docs: protocol,
    clauses: ["there is an inputSchema", "the inputSchema is an object"],
    *check({ tool: { inputSchema } }) {
      if (isJsonObject(inputSchema)) return;
      const message =
        inputSchema === undefined ? "The tool has no inputSchema." : `inputSchema is ${showValue(inputSchema)}.`;
      const fix = 'Give it one; without parameters it is { "type": "object", "properties": {} }.';
      yield { at: ["inputSchema"], message, fix };
    },
  },
  {
    id: "input-schema-type",
    severity: "error",
    why: "Arguments are always an object; clients refuse a list in which an inputSchema says anything else.",
    docs: protocol,
    clauses: ['the type of the inputSchema is "object"'],
    *check({ tool: { inputSchema } }) {
      if (!isJsonObject(inputSchema) || inputSchema.type === "object") return;
      const message =
        inputSchema.type === undefined ? "The inputSchema has no type." : `Its type is ${showValue(inputSchema.type)}.`;
      yield { at: ["inputSchema", "type"], message, fix: 'Set the type of the inputSchema to "object".' };
    },
  },
  {
    id: "output-schema-type",
    severity: "error",
    why: "SDKs drop an outputSchema that is a union, and clients refuse a list in which its type is not object.",
    docs: "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#output-schema",
    clauses: ["the outputSchema is an object", 'its type is "object"', "its root is no union"],
    *check({ tool: { outputSchema } }) {
      if (outputSchema === undefined) return;
      const at = ["outputSchema"];
      if (!isJsonObject(outputSchema)) {
        yield { at, message: `outputSchema is ${showValue(outputSchema)}.`, fix: "Make it a schema, or leave it out." };
        return;
      }
      if (outputSchema.type !== "object") {
        const message = `The type of the outputSchema is ${showValue(outputSchema.type ?? null)}.`;
        yield { at, message, fix: 'Set its type to "object", and put the result into a property of it.' };
      }
      for (const keyword of ["oneOf", "anyOf"].filter((key) => Object.hasOwn(outputSchema, key))) {
        const message = `The outputSchema is a union (${keyword}).`;
        yield {
          at: [...at, keyword],
          message,
          fix: "Make it one flat object, in which only some properties are required.",
        };
      }
    },
  },
  {
    id: "root-combinator",
    severity: "error",
    why: "One provider refuses the whole request, with all of its tools, for oneOf, anyOf or allOf at the root.",
    docs: "https://github.com/anthropics/claude-code/issues/56174",
    clauses: ["no oneOf at the root", "no anyOf at the root", "no allOf at the root"],
    *check({ tool: { inputSchema } }) {
      if (!isJsonObject(inputSchema)) return;
      for (const keyword of ["oneOf", "anyOf", "allOf"].filter((key) => Object.hasOwn(inputSchema, key))) {
        const message = `The inputSchema has ${keyword} at its root.`;
        const fix =
          "List all properties in one object and say in the description which belong together, or make two tools.";
        yield { at: ["inputSchema", keyword], message, fix };
      }
    },
  },
  {
    id: "empty-schema",
    severity: "warning",
    why: "A schema that says nothing lets a model send anything, and some providers refuse it.",
    docs: `${jsonSchema}/object#properties`,
    clauses: [
      "the inputSchema names its properties",
      "no parameter has an empty schema",
      "an object says what it holds",
    ],
    check: inInput(function* ({ schema, at, role }) {
      if (role === "root" && !saysWhatItHolds(schema) && !isJsonObject(schema.properties)) {
        const fix = "Add properties, an empty object when there are no parameters.";
        yield { at, message: "The inputSchema does not say which properties there are.", fix };
      } else if ((role === "property" || role === "items") && at.at(-1) !== "additionalProperties") {
        if (Object.keys(schema).length === 0) {
          yield { at, message: "The schema is empty.", fix: "Say at least its type, and what it is." };
        } else if (listTypes(schema).join() === "object" && !saysWhatItHolds(schema) && !hasProperties(schema)) {
          const fix = "List its properties, or allow any on purpose with additionalProperties.";
          yield { at, message: "The object does not say what it holds.", fix };
        }
      }
    }),
  },
  ...requiredRules,
  {
    id: "schema-not-valid",
    severity: "error",
    why: "A validator refuses the whole schema for one malformed keyword: the tool is listed, but its calls fail.",
    docs: jsonSchema,
    clauses: [
      "types are those of JSON Schema",
      "properties, items and branches hold schemas",
      "bounds are numbers and lengths whole numbers",
      "an enum is a list",
      "a pattern is a regular expression",
      "texts are texts",
    ],
    check: inSchemas(function* ({ schema, at }) {
      for (const { keyword, message, fix } of malformed(schema)) yield { at: [...at, keyword], message, fix };
    }),
  },
  {
    id: "schema-unsatisfiable",
    severity: "error",
    why: "No value can fit such a schema, so every call that gives one is refused.",
    docs: jsonSchema,
    clauses: [
      "a minimum is not above its maximum",
      "a shortest is not above its longest",
      "a fewest is not above its most",
      "an enum allows a value",
      "the values of an enum are of the type",
      "a const agrees with the type and the enum",
      "what is required can be given",
      "the branches of allOf agree",
      "there are as many different items as are asked for",
    ],
    check: inSchemas(function* ({ schema, at }) {
      for (const { keyword, message, fix } of contradictions(schema)) yield { at: [...at, keyword], message, fix };
    }),
  },
  {
    id: "default-violates-schema",
    severity: "warning",
    why: "A model copies the default it sees, and a call with it is refused.",
    docs: `${jsonSchema}/annotations`,
    clauses: ["a default is of the type", "a default is an allowed value", "a default is within the bounds"],
    check: inInput(function* ({ schema, at }) {
      const why = schema.default === undefined ? undefined : explainMisfit(schema.default, schema);
      if (why === undefined) return;
      const message = `The default ${showValue(schema.default ?? null)} ${why}.`;
      yield { at: [...at, "default"], message, fix: "Give a default that the schema allows, or mend the schema." };
    }),
  },
  {
    id: "keyword-of-other-type",
    severity: "warning",
    why: "A keyword for another type has no effect: the bound that was meant is neither shown nor checked.",
    docs: `${jsonSchema}/type`,
    clauses: [
      "bounds are for numbers",
      "lengths and patterns are for strings",
      "items are for arrays",
      "properties are for objects",
    ],
    check: inInput(function* ({ schema, at }) {
      const types = listTypes(schema);
      for (const [type, keywords] of types.length === 0 ? [] : keywordsOf) {
        if (types.includes(type) || (type === "number" && types.includes("integer"))) continue;
        const stray = keywords.filter((keyword) => Object.hasOwn(schema, keyword));
        if (stray.length === 0) continue;
        const message = `${stray.join(", ")} has no effect on ${nameTypes(types)}.`;
        yield { at, message, fix: `Make the type ${type === "number" ? "integer or number" : type}, or remove it.` };
      }
    }),
  },
  ...hostRules,
];

const keywordsOf: readonly (readonly [Type, readonly string[]])[] = [
  ["number", ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]],
  ["string", ["minLength", "maxLength", "pattern"]],
  ["array", ["items", "prefixItems", "minItems", "maxItems", "uniqueItems"]],
  ["object", ["properties", "additionalProperties", "minProperties", "maxProperties"]],
];

function saysWhatItHolds(schema: JsonObject): boolean {
  return ["$ref", "allOf", "anyOf", "oneOf", "additionalProperties", "patternProperties", "enum", "const"].some((key) =>
    Object.hasOwn(schema, key),
  );
}

function hasProperties({ properties }: JsonObject): boolean {
  return isJsonObject(properties) && Object.keys(properties).length > 0;
}
