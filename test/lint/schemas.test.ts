import { expect, test } from "vitest";
import { schemaRules } from "../../src/evals/lint/rules/schemas.ts";
import { schemaCases } from "./cases/schemas.ts";
import { said } from "./said.ts";

test("says what is wrong with schemas, where, and what to do", () => {
  expect(said(schemaRules, schemaCases)).toMatchInlineSnapshot(`
    {
      "default-violates-schema": [
        "$.inputSchema.properties.city.default: The default "5" is a string, not an integer. -> Give a default that the schema allows, or mend the schema.",
        "$.inputSchema.properties.city.default: The default "all" is not one of the allowed values ("a", "b"). -> Give a default that the schema allows, or mend the schema.",
        "$.inputSchema.properties.city.default: The default 0 is below the minimum of 1. -> Give a default that the schema allows, or mend the schema.",
      ],
      "empty-schema": [
        "$.inputSchema: The inputSchema does not say which properties there are. -> Add properties, an empty object when there are no parameters.",
        "$.inputSchema.properties.city: The schema is empty. -> Say at least its type, and what it is.",
        "$.inputSchema.properties.city: The object does not say what it holds. -> List its properties, or allow any on purpose with additionalProperties.",
      ],
      "input-schema-missing": [
        "$.inputSchema: The tool has no inputSchema. -> Give it one; without parameters it is { "type": "object", "properties": {} }.",
        "$.inputSchema: inputSchema is null. -> Give it one; without parameters it is { "type": "object", "properties": {} }.",
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
        "$.outputSchema: outputSchema is "object". -> Make it a schema, or leave it out.",
        "$.outputSchema: The type of the outputSchema is "array". -> Set its type to "object", and put the result into a property of it.",
        "$.outputSchema.oneOf: The outputSchema is a union (oneOf). -> Make it one flat object, in which only some properties are required.",
      ],
      "ref-recursive": [
        "$.inputSchema.properties.city["$ref"]: The reference "#" leads back to a schema it is part of. -> Write out the levels that are needed, or take a flat list with parent ids.",
      ],
      "ref-remote": [
        "$.inputSchema.properties.city["$ref"]: The reference "https://example.com/city.json" leads to another document. -> Write the schema out where it is used, or put it under $defs.",
      ],
      "ref-unresolved": [
        "$.inputSchema.properties.city["$ref"]: The reference "#/$defs/City" leads nowhere in the schema. -> Mend the path, or write the schema out where it is used.",
      ],
      "required-many": [
        "$.inputSchema.required: 6 parameters are required: "part_0", "part_1", "part_2", "part_3", "part_4" and 1 more. -> Give a default to those that the tool can run without, and leave them out of required.",
      ],
      "required-shape": [
        "$.inputSchema.required: required is "city", not a list of names. -> Make required a list of the names of properties, each once.",
        "$.inputSchema.required: required lists 1, which is not a name. -> Make required a list of the names of properties, each once.",
        "$.inputSchema.required: required lists a name twice. -> Make required a list of the names of properties, each once.",
      ],
      "required-unknown": [
        "$.inputSchema.required: Required, but not among the properties: "town". -> Describe it under properties, or leave it out of required.",
      ],
      "required-with-default": [
        "$.inputSchema.properties.city: "city" has the default "Oslo" and is required all the same. -> Leave it out of required, or take its default away.",
      ],
      "root-combinator": [
        "$.inputSchema.oneOf: The inputSchema has oneOf at its root. -> List all properties in one object and say in the description which belong together, or make two tools.",
        "$.inputSchema.anyOf: The inputSchema has anyOf at its root. -> List all properties in one object and say in the description which belong together, or make two tools.",
        "$.inputSchema.allOf: The inputSchema has allOf at its root. -> List all properties in one object and say in the description which belong together, or make two tools.",
      ],
      "schema-not-valid": [
        "$.inputSchema.properties.city.type: "int" is not a type of JSON Schema. -> Write "integer".",
        "$.inputSchema.properties: properties is an array; it must be an object that gives each name a schema. -> Make properties an object that gives each name a schema, or leave it out.",
        "$.inputSchema.properties.city.minimum: minimum is "1"; it must be a number. -> Make minimum a number, or leave it out.",
        "$.inputSchema.properties.city.enum: enum is "a|b"; it must be a list of values. -> Make enum a list of values, or leave it out.",
        "$.inputSchema.properties.city.pattern: The pattern "(" is not a regular expression of JSON Schema (ECMA-262, Unicode). -> Write it so that new RegExp(pattern, 'u') accepts it.",
        "$.inputSchema.properties.city.description: description is an array; it must be a text. -> Make description a text, or leave it out.",
      ],
      "schema-too-deep": [
        "$.inputSchema.properties.inner.properties.inner.properties.inner.properties.inner.properties.inner.properties.inner.properties.inner.properties.inner.properties.inner.properties.inner.properties.inner: The schema is nested more than 10 levels deep. -> Flatten it: parameters of their own, or a second tool.",
      ],
      "schema-too-large": [
        "$.inputSchema: The inputSchema has more than 5,000 properties. -> Leave out what a model need not choose. What is beyond the limit was not checked.",
        "$: The tool has more than 100,000 characters. -> Leave out what a model need not choose. What is beyond the limit was not checked.",
        "$: The tool has more than 100,000 characters. -> Leave out what a model need not choose. What is beyond the limit was not checked.",
      ],
      "schema-unsatisfiable": [
        "$.inputSchema.properties.city.minimum: No integer has minimum 2 and maximum 1. -> Mend the bounds, so that a value fits.",
        "$.inputSchema.properties.city.minLength: minLength 5 is above maxLength 4. -> Swap or mend the two bounds.",
        "$.inputSchema.properties.city.minItems: minItems 2 is above maxItems 1. -> Swap or mend the two bounds.",
        "$.inputSchema.properties.city.enum: The enum allows no value. -> List the allowed values, or leave it out.",
        "$.inputSchema.properties.city.enum: The enum lists "1", "2", but the type asks for an integer. -> Give every value of the enum the type that the schema names.",
        "$.inputSchema.properties.city.const: The const is a number, not a string. -> Give the const the type that the schema names.",
        "$.inputSchema.required: "city" is required, but its schema allows no value. -> Leave it out of required, or give it a schema.",
        "$.inputSchema.properties.city.allOf: A value would have to be a string and an integer at once. -> Use anyOf, or give the branches one type.",
        "$.inputSchema.properties.city.minItems: minItems asks for 3 different items, but there are only 2 to choose from. -> Lower minItems, or allow an item twice.",
      ],
    }
  `);
});
