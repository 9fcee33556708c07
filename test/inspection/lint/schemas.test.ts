import { expect, test } from "vitest";
import { schemaRules } from "../../../src/evals/inspection/lint/rules/schemas.ts";
import { schemaCases } from "./cases/schemas.ts";
import { describeViolations } from "./violations.ts";

test("says what is wrong with schemas, where, and what to do", () => {
  expect(describeViolations(schemaRules, schemaCases)).toMatchInlineSnapshot(`
    {
      "default-violates-schema": [
        "$.inputSchema.properties.city.default: The default "5" is a string, not an integer. -> Give a default that the schema allows, or correct the schema.",
        "$.inputSchema.properties.city.default: The default "all" is not one of the allowed values ("a", "b"). -> Give a default that the schema allows, or correct the schema.",
        "$.inputSchema.properties.city.default: The default 0 is below the minimum of 1. -> Give a default that the schema allows, or correct the schema.",
      ],
      "empty-schema": [
        "$.inputSchema.properties.city: The schema is empty. -> Declare at least its type, and describe it.",
        "$.inputSchema.properties.city: The object does not declare its content. -> List its properties, or allow any explicitly with additionalProperties.",
      ],
      "input-schema-missing": [
        "$.inputSchema: The tool has no inputSchema. -> Add one; without parameters it is { "type": "object", "properties": {} }.",
        "$.inputSchema: inputSchema is null, not an object. -> Add one; without parameters it is { "type": "object", "properties": {} }.",
      ],
      "input-schema-type": [
        "$.inputSchema.type: The inputSchema has no type. -> Set the type of the inputSchema to "object".",
      ],
      "keyword-of-other-type": [
        "$.inputSchema.properties.city: minimum has no effect on a string. -> Make the type integer or number, or remove it.",
        "$.inputSchema.properties.city: maxLength has no effect on an integer. -> Make the type string, or remove it.",
        "$.inputSchema.properties.city: items has no effect on a string. -> Make the type array, or remove it.",
        "$.inputSchema.properties.city: properties has no effect on an array. -> Make the type object, or remove it.",
      ],
      "output-schema-type": [
        "$.outputSchema: outputSchema is "object", not an object. -> Make it a schema, or remove it.",
        "$.outputSchema: The type of the outputSchema is "array". -> Set its type to "object", and put the result in one of its properties.",
      ],
      "ref-recursive": [
        "$.inputSchema.properties.city["$ref"]: The reference "#" leads back to a schema it is part of. -> Write out the levels that are needed, or use a flat list with parent ids.",
      ],
      "ref-remote": [
        "$.inputSchema.properties.city["$ref"]: The reference "https://example.com/city.json" leads to another document. -> Write the schema out where it is used, or put it under $defs.",
      ],
      "ref-unresolved": [
        "$.inputSchema.properties.city["$ref"]: The reference "#/$defs/City" leads nowhere in the schema. -> Correct the path, or write the schema out where it is used.",
      ],
      "required-many": [
        "$.inputSchema.required: 6 parameters are required: "part_0", "part_1", "part_2", "part_3", "part_4" and 1 more. -> Give a default to those that the tool can run without, and remove them from required.",
      ],
      "required-shape": [
        "$.inputSchema.required: required is "city", not a list of names. -> Make required a list of property names, each once.",
        "$.inputSchema.required: required contains 1, which is not a name. -> Make required a list of property names, each once.",
        "$.inputSchema.required: required lists a name twice. -> Make required a list of property names, each once.",
      ],
      "required-unknown": [
        "$.inputSchema.required: Required but not among the properties: "town". -> Describe it under properties, or remove it from required.",
      ],
      "required-with-default": [
        "$.inputSchema.properties.city: "city" is required although it has the default "Oslo". -> Remove it from required, or remove its default.",
      ],
      "root-combinator": [
        "$.inputSchema.oneOf: The inputSchema has oneOf at its root. -> List all properties in one object and describe which belong together, or make two tools.",
        "$.inputSchema.anyOf: The inputSchema has anyOf at its root. -> List all properties in one object and describe which belong together, or make two tools.",
        "$.inputSchema.allOf: The inputSchema has allOf at its root. -> List all properties in one object and describe which belong together, or make two tools.",
      ],
      "schema-not-valid": [
        "$.inputSchema.properties.city.type: "int" is not a type of JSON Schema. -> Write "integer".",
        "$.inputSchema.properties: properties is an array; it must be an object that gives each name a schema. -> Make properties an object that gives each name a schema, or remove it.",
        "$.inputSchema.properties.city.minimum: minimum is "1"; it must be a number. -> Make minimum a number, or remove it.",
        "$.inputSchema.properties.city.enum: enum is "a|b"; it must be a list of values. -> Make enum a list of values, or remove it.",
        "$.inputSchema.properties.city.pattern: The pattern "(" is not a regular expression of JSON Schema (ECMA-262, Unicode). -> Write it so that new RegExp(pattern, 'u') accepts it.",
        "$.inputSchema.properties.city.description: description is an array; it must be a string. -> Make description a string, or remove it.",
      ],
      "schema-too-deep": [
        "$.inputSchema.properties.inner.properties.inner.properties.inner.properties.inner.properties.inner.properties.inner.properties.inner.properties.inner.properties.inner.properties.inner.properties.inner: The schema is nested more than 10 levels deep. -> Flatten it into top-level parameters, or split the tool.",
      ],
      "schema-too-large": [
        "$.inputSchema: The inputSchema has more than 5,000 properties. -> Remove what a model need not choose. Nothing beyond the limit was checked.",
        "$: The tool has more than 100,000 characters. -> Remove what a model need not choose. Nothing beyond the limit was checked.",
        "$: The tool has more than 100,000 characters. -> Remove what a model need not choose. Nothing beyond the limit was checked.",
      ],
      "schema-unsatisfiable": [
        "$.inputSchema.properties.city.minimum: No integer satisfies minimum 2 and maximum 1. -> Correct the bounds, so that a value fits.",
        "$.inputSchema.properties.city.minLength: minLength 5 is above maxLength 4. -> Swap or correct the two bounds.",
        "$.inputSchema.properties.city.minItems: minItems 2 is above maxItems 1. -> Swap or correct the two bounds.",
        "$.inputSchema.properties.city.enum: The enum allows no value. -> List the allowed values, or remove it.",
        "$.inputSchema.properties.city.enum: The enum lists "1", "2", but the type requires an integer. -> Give every value of the enum the type that the schema names.",
        "$.inputSchema.properties.city.const: The const is a number, not a string. -> Give the const the type that the schema names.",
        "$.inputSchema.required: "city" is required, but its schema allows no value. -> Remove it from required, or give it a schema.",
        "$.inputSchema.properties.city.allOf: A value would have to be a string and an integer at once. -> Use anyOf, or give the branches one type.",
        "$.inputSchema.properties.city.minItems: minItems requires 3 different items, but there are only 2 to choose from. -> Lower minItems, or allow duplicate items.",
      ],
    }
  `);
});
