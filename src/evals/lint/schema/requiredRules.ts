import { isJsonObject, type JsonObject } from "../../types/json.ts";
import type { Rule, ToolSubject } from "../rule.ts";
import { list, quote, show } from "./text.ts";
import { inInput, inSchemas, type Place, walkOf } from "./walk.ts";

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
        yield { at: [...at, "required"], message: `required is ${show(required)}, not a list of names.`, fix };
        return;
      }
      const names = required.slice(0, mostNames);
      const strange = names.find((name) => typeof name !== "string");
      if (strange !== undefined) {
        yield { at: [...at, "required"], message: `required lists ${show(strange)}, which is not a name.`, fix };
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
      const message = `Required, but not among the properties: ${list(unknown)}.`;
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
        const message = `${quote(name)} has the default ${show(property.default)} and is required all the same.`;
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
      const [root] = walkOf(tool, "inputSchema").places;
      const names = root ? namesIn(root.schema) : [];
      if (names.length < manyRequired) return;
      const message = `${names.length} parameters are required: ${list(names)}.`;
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
function isWhole({ role, schema }: Place): boolean {
  return role !== "branch" && !["$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if"].some((key) => key in schema);
}

function describes(schema: JsonObject, name: string): boolean {
  return propertyOf(schema, name) !== undefined || isJsonObject(schema.patternProperties);
}
