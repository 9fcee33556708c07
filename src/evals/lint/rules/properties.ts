import { isJsonObject, type JsonObject } from "../../types/json.ts";
import type { Found, Rule, ToolSubject } from "../rule.ts";
import {
  isChoice,
  isDescribedCount,
  isFreeString,
  isList,
  isNamedCount,
  isPriority,
  isSeparated,
  isSwitch,
  isSwitchEnum,
  isUnit,
  type Property,
  propertyAt,
} from "../schema/selection.ts";
import { quote } from "../schema/text.ts";
import { aType, typesOf } from "../schema/values.ts";
import { inInput } from "../schema/walk.ts";

const enums = "https://json-schema.org/understanding-json-schema/reference/enum";
const typed = "https://json-schema.org/understanding-json-schema/reference/type";

/** The narrowest type that fits: the type-selection rules of the specification. */
export const propertyRules: readonly Rule<ToolSubject>[] = [
  {
    id: "property-type",
    severity: "warning",
    why: "A model is surest of the form of a value that can have only one type.",
    docs: typed,
    clauses: ["a property has a type", "it has one type, or that type and null", "null is not its only type"],
    check: inInput(function* ({ schema, at, role }) {
      if (role !== "property" && role !== "items") return;
      const problem = typeProblem(schema);
      if (problem)
        yield { at, message: problem, fix: "Name one type: string, integer, number, boolean, array or object." };
    }),
  },
  {
    id: "array-items-missing",
    severity: "error",
    why: "Several providers and hosts refuse a request, with all of its tools, for an array without items.",
    docs: "https://json-schema.org/understanding-json-schema/reference/array#items",
    clauses: ["an array says what its items are"],
    check: inInput(function* ({ schema, at }) {
      if (!typesOf(schema).includes("array") || "items" in schema || "prefixItems" in schema) return;
      yield {
        at,
        message: "The array does not say what its items are.",
        fix: 'Add items, such as { "type": "string" }.',
      };
    }),
  },
  {
    id: "unit-without-enum",
    severity: "warning",
    why: "A model writes a free unit in any spelling (C, celsius, degrees), and the tool knows only some.",
    docs: enums,
    clauses: ["a unit is an enum of the allowed units"],
    check: inProperties(
      (property) => isFreeString(property) && isUnit(property),
      ({ name }) => `The unit ${quote(name)} is a free string.`,
      "List the allowed units in an enum.",
    ),
  },
  {
    id: "priority-without-enum",
    severity: "warning",
    why: "A model writes a free priority in any words (urgent, P1, 1), and the tool knows only some.",
    docs: enums,
    clauses: ["a priority is an enum of low, medium and high"],
    check: inProperties(
      (property) => isFreeString(property) && isPriority(property),
      ({ name }) => `The priority ${quote(name)} is a free string.`,
      "List the allowed values in an enum: low, medium, high.",
    ),
  },
  {
    id: "count-as-string",
    severity: "warning",
    why: 'A count as text comes as "10", "ten" or "about 10".',
    docs: typed,
    clauses: ["a count is an integer, not a string"],
    check: inProperties(
      (property) => property.type === "string" && (isNamedCount(property) || isDescribedCount(property)),
      ({ name }) => `The count ${quote(name)} is a string.`,
      "Make its type integer.",
    ),
  },
  {
    id: "count-as-number",
    severity: "warning",
    why: "A count that may have a fraction is one that the tool has to round or to refuse.",
    docs: typed,
    clauses: ["a count is an integer, not any number"],
    check: inProperties(
      (property) => property.type === "number" && (isNamedCount(property) || isDescribedCount(property)),
      ({ name }) => `The count ${quote(name)} may be any number, with a fraction too.`,
      "Make its type integer.",
    ),
  },
  {
    id: "enabled-as-string",
    severity: "warning",
    why: "A switch as text comes as true, yes, on or 1, and the tool knows only some.",
    docs: "https://json-schema.org/understanding-json-schema/reference/boolean",
    clauses: ["what is on or off by its name is a boolean", "an enum of true and false is a boolean"],
    check: inProperties(
      (property) =>
        property.type === "string" && (isSwitchEnum(property) || (isFreeString(property) && isSwitch(property))),
      ({ name }) => `${quote(name)} is on or off, but a string.`,
      "Make its type boolean.",
    ),
  },
  {
    id: "tags-as-string",
    severity: "warning",
    why: "A list in one string is split by a separator that a model can get wrong or that a value can hold.",
    docs: "https://json-schema.org/understanding-json-schema/reference/array",
    clauses: ["tags are an array of strings", "what is described as separated by commas is an array"],
    check: inProperties(
      (property) => isFreeString(property) && (isList(property) || isSeparated(property)),
      ({ name }) => `The list ${quote(name)} is one string.`,
      "Make its type array, with items of type string.",
    ),
  },
  {
    id: "enum-in-description",
    severity: "warning",
    why: "A model is held to an enum; values that stand only in the description it can miss or vary.",
    docs: enums,
    clauses: ["allowed values that the description lists are an enum"],
    check: inProperties(
      (property) => isFreeString(property) && isChoice(property) && !isUnit(property) && !isPriority(property),
      ({ name }) => `The allowed values of ${quote(name)} stand only in its description.`,
      "List them in an enum.",
    ),
  },
];

const nothing: readonly Found[] = [];

/** A check of every property, at any depth, of which something holds. */
function inProperties(holds: (property: Property) => boolean, say: (property: Property) => string, fix: string) {
  return inInput((place): readonly Found[] => {
    const property = propertyAt(place);
    return property && holds(property) ? [{ at: place.at, message: say(property), fix }] : nothing;
  });
}

const saysType = ["type", "enum", "const", "$ref", "$dynamicRef", "anyOf", "oneOf", "allOf", "not", "if"];

/** An empty schema is the business of another rule. */
function typeProblem(schema: JsonObject): string | undefined {
  if (Object.keys(schema).length > 0 && !saysType.some((key) => Object.hasOwn(schema, key)))
    return "The schema names no type.";
  const branches = [schema.anyOf, schema.oneOf].flatMap((list) => (Array.isArray(list) ? list.slice(0, 100) : []));
  const types = [schema, ...branches.filter(isJsonObject)].flatMap(typesOf);
  const values = [...new Set(types)].filter((type) => type !== "null");
  if (types.length > 0 && values.length === 0) return "Null is the only type.";
  const several = values.length > 1 && values.join() !== "integer,number" && values.join() !== "number,integer";
  return several ? `The value may be ${values.map(aType).join(" or ")}.` : undefined;
}
