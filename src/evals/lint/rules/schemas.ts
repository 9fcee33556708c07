import { isJsonObject, type JsonObject } from "../../types/json.ts";
import type { Rule, ToolSubject } from "../rule.ts";
import { hostRules } from "../schema/hostRules.ts";
import { malformed } from "../schema/keywords.ts";
import { requiredRules } from "../schema/requiredRules.ts";
import { contradictions } from "../schema/satisfiable.ts";
import { show } from "../schema/text.ts";
import { aType, misfit, type Type, typesOf } from "../schema/values.ts";
import { inInput, inSchemas } from "../schema/walk.ts";

const protocol = "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool";
const jsonSchema = "https://json-schema.org/understanding-json-schema/reference";
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
        inputSchema === undefined ? "The tool has no inputSchema." : `inputSchema is ${show(inputSchema)}.`;
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
        inputSchema.type === undefined ? "The inputSchema has no type." : `Its type is ${show(inputSchema.type)}.`;
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
        yield { at, message: `outputSchema is ${show(outputSchema)}.`, fix: "Make it a schema, or leave it out." };
        return;
      }
      if (outputSchema.type !== "object") {
        const message = `The type of the outputSchema is ${show(outputSchema.type ?? null)}.`;
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
        } else if (typesOf(schema).join() === "object" && !saysWhatItHolds(schema) && !hasProperties(schema)) {
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
      const why = schema.default === undefined ? undefined : misfit(schema.default, schema);
      if (why === undefined) return;
      const message = `The default ${show(schema.default ?? null)} ${why}.`;
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
      const types = typesOf(schema);
      for (const [type, keywords] of types.length === 0 ? [] : keywordsOf) {
        if (types.includes(type) || (type === "number" && types.includes("integer"))) continue;
        const stray = keywords.filter((keyword) => Object.hasOwn(schema, keyword));
        if (stray.length === 0) continue;
        const message = `${stray.join(", ")} has no effect on ${types.map(aType).join(" or ")}.`;
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
