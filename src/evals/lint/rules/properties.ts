import { getSingleType, listTypes, nameTypes, type Type, withoutNull } from "../../jsonSchema/values.ts";
import type { SchemaPlace } from "../../jsonSchema/walk.ts";
import { isJsonObject, type JsonObject } from "../../types/json.ts";
import { once } from "../../types/once.ts";
import { quote } from "../../types/quote.ts";
import type { Rule, ToolSubject } from "../rule.ts";
import { inInput, type Violation } from "../rule.ts";
import { wordsOf } from "../text.ts";

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
      if (!listTypes(schema).includes("array") || "items" in schema || "prefixItems" in schema) return;
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

const nothing: readonly Violation[] = [];

/** A check of every property, at any depth, of which something holds. */
function inProperties(holds: (property: Property) => boolean, say: (property: Property) => string, fix: string) {
  return inInput((place): readonly Violation[] => {
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
  const types = [schema, ...branches.filter(isJsonObject)].flatMap(listTypes);
  const values = [...new Set(types)].filter((type) => type !== "null");
  if (types.length > 0 && values.length === 0) return "Null is the only type.";
  const several = values.length > 1 && values.join() !== "integer,number" && values.join() !== "number,integer";
  return several ? `The value may be ${nameTypes(values)}.` : undefined;
}

/** A property as the rules of this family see it: null left aside, the name in words, the description in lower case. */
export type Property = {
  name: string;
  words: readonly string[];
  schema: JsonObject;
  type: Type | undefined;
  about: string;
};

/** The property at a place, read once; undefined for a place of another role. */
export function propertyAt(place: SchemaPlace): Property | undefined {
  return place.role === "property" ? read(place) : undefined;
}

const read = once((place: SchemaPlace): Property => {
  const schema = withoutNull(place.schema);
  const about = typeof schema.description === "string" ? schema.description.slice(0, 2000).toLowerCase() : "";
  return { name: place.name, words: wordsOf(place.name), schema, type: getSingleType(schema), about };
});

/** A string of which nothing says which values are allowed. */
export function isFreeString({ type, schema }: Property): boolean {
  return type === "string" && !["enum", "const", "pattern", "format"].some((key) => Object.hasOwn(schema, key));
}

const measures = setOf(
  "temperature distance length weight mass height width size speed volume area angle pressure time duration energy",
  "power measurement from to source target",
);
/** Units that measure nothing. */
const otherUnits =
  /\b(?:apartment|suite|address|business|organi[sz]ation\w*|department|systemd|service|military|course|lesson|ad|storage) units?\b|\bsystemd\b/;

export function isUnit({ words, about }: Property): boolean {
  const [last, before] = [words.at(-1), words.at(-2)];
  if ((last !== "unit" && last !== "units") || otherUnits.test(about)) return false;
  return before === undefined || (words.length === 2 && measures.has(before));
}

export function isPriority({ words }: Property): boolean {
  return words.at(-1) === "priority";
}

/** What limits, offsets and most of something count, unlike a credit limit or the offset of a time zone. */
const counted = setOf("results items count tokens rows pages entries depth retries");
const listWords = setOf("page result results row rows item items record records query search max");
const pageWords = setOf("size number num index idx");

export function isNamedCount({ words, about }: Property): boolean {
  const [first, second] = words;
  const last = words.at(-1) ?? "";
  if (/\b(?:cursor|token|opaque)\b/.test(about)) return false;
  if (last === "limit" || last === "offset") return words.length === 1 || listWords.has(words.at(-2) ?? "");
  if (last === "count" || (first === "number" && second === "of") || (first === "num" && words.length > 1)) return true;
  return words.length === 2 && ((first === "max" && counted.has(last)) || (first === "page" && pageWords.has(last)));
}

/** Not "the number of the invoice", which names one, nor "number of seconds", which may have a fraction. */
const describedCount =
  /^(?:the |a )?(?:(?:max|maximum|minimum|total|exact) )?number of (?!the\b|an?\b|this\b)(?!(?:\w*seconds|minutes|hours|days|weeks|months|years|units|ms)\b)\w/;

export function isDescribedCount({ about }: Property): boolean {
  return describedCount.test(about.trim());
}

const switches = [
  ["true", "false"],
  ["yes", "no"],
  ["on", "off"],
  ["0", "1"],
].map((values) => new Set(values));

export function isSwitchEnum({ schema }: Property): boolean {
  const values = Array.isArray(schema.enum) ? schema.enum.slice(0, 3) : [];
  const written = values.map((value) => (typeof value === "string" ? value.toLowerCase() : ""));
  return written.length === 2 && switches.some((pair) => written.every((value) => pair.has(value)));
}

export function isSwitch({ words, about }: Property): boolean {
  const last = words.at(-1);
  if (last === "enabled" || last === "disabled") return true;
  if (words.length > 1 && /^(?:is|should)$/.test(words[0] ?? "")) return true;
  // "has text" may ask for the text.
  if (words.length > 1 && words[0] === "has" && /^(?:whether|if)\b/.test(about)) return true;
  return /^\W*(?:set to )?["'`]?true["'`]? (?:or|if|to)\b/.test(about) || /\b(?:true\/false|yes\/no)\b/.test(about);
}

const lists = setOf("tags labels");
const listed = /^(?:tag|label|keyword|id|name|file|path|url|email|item|column|field)s?$/;

export function isList({ words, about }: Property): boolean {
  if (/\bselector\b/.test(about)) return false;
  const [last, before] = [words.at(-1) ?? "", words.at(-2) ?? ""];
  return lists.has(last) || (last === "list" && listed.test(before));
}

/** A text in the format CSV is one. */
export function isSeparated({ about }: Property): boolean {
  if (/\bcsv\b|\bcomma[- ]separated values\b/.test(about)) return false;
  return /\b(?:comma|semicolon|pipe|space)[- ](?:separated|delimited)\b|\bseparated by (?:commas?|semicolons?)\b/.test(
    about,
  );
}

const word = "[\"'`]?[\\w-]{1,40}[\"'`]?";
const quoted = "[\"'`][\\w -]{1,40}[\"'`](?: for [\\w ]{1,30})?";
const joint = "(?:, ?(?:or |and )?| or | ?\\| ?| ?/ ?)";
/** "one of: a, b, c" and the like; without a colon the values must stand in quotes, or it may be a sentence. */
const choice = new RegExp(
  `\\b(?:one of|(?:allowed|valid|possible|supported|accepted) values(?: are)?|options(?: are)?) ?[:(] ?${word}(?:${joint}${word}){1,20}` +
    `|(?:\\b(?:one of|must be|can be|either|values(?: are)?) |\\()${quoted}(?:${joint}${quoted}){1,20}`,
);
/** Examples leave others open, and so does a list that goes on. */
const open = /e\.g\.|for example|such as|\betc\b|\.\.\.|…|examples?\b|\bor (?:any|an?|another|the|your)\b/;

export function isChoice({ about }: Property): boolean {
  return choice.test(about) && !open.test(about);
}

function setOf(...words: readonly string[]): ReadonlySet<string> {
  return new Set(words.flatMap((some) => some.split(" ")));
}
