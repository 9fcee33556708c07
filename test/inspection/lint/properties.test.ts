import { expect, test } from "vitest";
import { propertyRules } from "../../../src/evals/inspection/lint/rules/properties.ts";
import { propertyCases } from "./cases/properties.ts";
import { describeViolations } from "./violations.ts";

test("says what is wrong with properties, where, and what to do", () => {
  expect(describeViolations(propertyRules, propertyCases)).toMatchInlineSnapshot(`
    {
      "array-items-missing": [
        "$.inputSchema.properties.cities: The array does not declare its items. -> Add items, such as { "type": "string" }.",
      ],
      "count-as-number": [
        "$.inputSchema.properties.limit: The count "limit" can be any number, including fractions. -> Make its type integer.",
      ],
      "count-as-string": [
        "$.inputSchema.properties.count: The count "count" is a string. -> Make its type integer.",
      ],
      "enabled-as-string": [
        "$.inputSchema.properties.enabled: "enabled" is a switch, but its type is string. -> Make its type boolean.",
      ],
      "enum-in-description": [
        "$.inputSchema.properties.order: The allowed values of "order" are only in its description. -> List them in an enum.",
      ],
      "enum-single": [
        "$.inputSchema.properties.format.enum: The parameter "format" allows one value only: "json". -> Remove the parameter, or list the other values.",
      ],
      "id-as-number": [
        "$.inputSchema.properties.user_id: "user_id" can be any number, including fractions. -> Make its type integer.",
        "$.inputSchema.properties.page: "page" can be any number, including fractions. -> Make its type integer.",
      ],
      "priority-without-enum": [
        "$.inputSchema.properties.priority: The priority "priority" is a free string. -> List the allowed values in an enum, such as low, medium, high.",
      ],
      "property-type": [
        "$.inputSchema.properties.city: The schema declares no type. -> Declare one type: string, integer, number, boolean, array or object.",
        "$.inputSchema.properties.city: The value can be a string or an integer. -> Declare one type: string, integer, number, boolean, array or object.",
        "$.inputSchema.properties.city: Null is the only type. -> Declare one type: string, integer, number, boolean, array or object.",
      ],
      "tags-as-string": [
        "$.inputSchema.properties.tags: The list "tags" is one string, and nothing says how its values are separated. -> Make its type array, with items of type string.",
      ],
      "unit-without-enum": [
        "$.inputSchema.properties.unit: The unit "unit" is a free string. -> List the allowed units in an enum.",
      ],
    }
  `);
});
