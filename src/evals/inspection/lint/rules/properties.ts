import { once, parseWords } from "../../../base/collections.ts";
import { getSingleType, listTypes, withoutNull } from "../../../base/jsonSchema/keywords.ts";
import type { SchemaLocation } from "../../../base/jsonSchema/walk.ts";
import { splitName } from "../../../base/text/nearest.ts";
import { quote } from "../../../base/text/text.ts";
import { readText } from "../language.ts";
import { defineRules, inInput, parameterDepth, type RuleHead, type ToolSubject } from "../rule.ts";

const reference = "https://json-schema.org/understanding-json-schema/reference";

/** A rule that is violated by every property, at any depth, for which `matches` returns true. */
type PropertyRule = RuleHead & { fix: string; matches(property: Property): boolean; message(name: string): string };

/** Rules about whether properties have the narrowest suitable type. */
const table: readonly PropertyRule[] = [
  {
    id: "unit-without-enum",
    severity: "info",
    docs: `${reference}/enum`,
    why: "A model writes a free unit in any spelling (C, celsius, degrees), and the tool knows only some.",
    matches: (property) => isFreeString(property) && isUnit(property) && !isOpen(property),
    message: (name) => `The unit ${name} is a free string.`,
    fix: "List the allowed units in an enum.",
  },
  {
    id: "priority-without-enum",
    severity: "info",
    docs: `${reference}/enum`,
    why: "A model writes a free priority in any words (urgent, P1, 1), and the tool knows only some.",
    matches: (property) => isFreeString(property) && isPriority(property) && !isOpen(property),
    message: (name) => `The priority ${name} is a free string.`,
    fix: "List the allowed values in an enum, such as low, medium, high.",
  },
  {
    id: "count-as-string",
    why: 'A count as a string arrives as "10", "ten" or "about 10".',
    matches: (property) => isFreeString(property) && isNamedCount(property),
    message: (name) => `The count ${name} is a string.`,
    fix: "Make its type integer.",
  },
  {
    id: "count-as-number",
    severity: "info",
    profile: "spec",
    why: "A count, a page or an id with a fraction is one that the tool has to round or to reject.",
    matches: (property) => property.type === "number" && isWhole(property),
    message: (name) => `${name} can be any number, including fractions.`,
    fix: "Make its type integer.",
  },
  {
    id: "enabled-as-string",
    docs: `${reference}/boolean`,
    why: "A switch as a string arrives as true, yes, on or 1, and the tool knows only some.",
    matches: (property) => isFreeString(property) && isSwitch(property),
    message: (name) => `${name} is a switch, but its type is string.`,
    fix: "Make its type boolean.",
  },
  {
    id: "tags-as-string",
    docs: `${reference}/array`,
    why: "A list in one string is split by a separator that a model can get wrong or that a value can contain.",
    matches: (property) => isFreeString(property) && isList(property) && !saysSeparator(property),
    message: (name) => `The list ${name} is one string, and nothing says how its values are separated.`,
    fix: "Make its type array, with items of type string.",
  },
  {
    id: "enum-in-description",
    docs: `${reference}/enum`,
    why: "An enum binds a model; values that are only in the description it can miss or vary.",
    matches: (property) => isFreeString(property) && isChoice(property) && !isUnit(property) && !isPriority(property),
    message: (name) => `The allowed values of ${name} are only in its description.`,
    fix: "List them in an enum.",
  },
];

export const propertyRules = defineRules<ToolSubject>(`${reference}/type`, [
  {
    id: "property-type",
    severity: "info",
    why: "Without a type, a model guesses whether to send text, a number, a list or an object.",
    fix: "Declare one type: string, integer, number, boolean, array or object.",
    check: inInput(({ schema, at, role }) => {
      const isOwn = (role === "property" || role === "items") && at.at(-1) !== "additionalProperties";
      const isTyped = !isOwn || typeKeywords.some((key) => Object.hasOwn(schema, key));
      return isTyped ? [] : [{ at, message: "The schema declares no type." }];
    }),
  },
  {
    id: "array-items-missing",
    severity: "error",
    docs: `${reference}/array#items`,
    why: "OpenAI's API rejects the request, with all of its tools (array schema missing items), newer models of Anthropic that with items as a list, which JSON Schema 2020-12 has not; VS Code rejects the tool.",
    fix: 'Add items, such as { "type": "string" }; a list of schemas is prefixItems.',
    check: inInput(({ schema, at }) => {
      if (Array.isArray(schema.items)) return [{ at, message: "The items are a list." }];
      const isMissing = listTypes(schema).includes("array") && !("items" in schema) && !("prefixItems" in schema);
      return isMissing ? [{ at, message: "The array does not declare its items." }] : [];
    }),
  },
  ...table.map(({ matches, message, ...head }) => ({
    ...head,
    check: inInput((location) => {
      const isViolated = location.role === "property" && matches(readProperty(location));
      return isViolated ? [{ at: location.at, message: message(quote(location.name)) }] : [];
    }),
  })),
]);

const typeKeywords = ["type", "enum", "const", "$ref", "$dynamicRef", "anyOf", "oneOf", "allOf", "not", "if"];

type Property = ReturnType<typeof readProperty>;

/** `schema` and `type` exclude null; `about` is the description in lower case, `depth` the path length. */
const readProperty = once((location: SchemaLocation) => {
  const schema = withoutNull(location.schema);
  const about = readText(schema.description).slice(0, 2000).toLowerCase();
  return { depth: location.at.length, words: splitName(location.name), schema, type: getSingleType(schema), about };
});

function isFreeString({ type, schema }: Property): boolean {
  return type === "string" && !["enum", "const", "pattern", "format"].some((key) => Object.hasOwn(schema, key));
}

const measures = parseWords(
  "temperature distance length weight mass height width size speed volume area angle pressure time duration energy",
  "power measurement from to source target",
);
/** Units that measure nothing. */
const otherUnits =
  /\b(?:apartment|suite|address|business|organi[sz]ation\w*|department|systemd|service|military|course|lesson|ad|storage) units?\b|\bsystemd\b/;

const priorities = parseWords("priority severity urgency importance");

function isUnit({ words, about }: Property): boolean {
  const [last, before] = [words.at(-1), words.at(-2)];
  if ((last !== "unit" && last !== "units") || otherUnits.test(about)) return false;
  return before === undefined || (words.length === 2 && measures.has(before));
}

function isPriority({ words, about }: Property): boolean {
  return priorities.has(words.at(-1) ?? "") && !/\b(?:order|sort)/.test(about);
}

/** What a maximum counts. */
const counted = parseWords("results items count tokens rows pages entries depth retries");
const listWords = parseWords("page result results row rows item items record records query search max");
const pageWords = parseWords("size number num index idx");
/** Excludes "the number of the invoice", which is an id, and "number of seconds", which may be a fraction. */
const describedCount =
  /^(?:the |a )?(?:(?:max|maximum|minimum|total|exact) )?number of (?!the\b|an?\b|this\b)(?!(?:\w*seconds|minutes|hours|days|weeks|months|years|units|ms)\b)\w/;

function isWhole(property: Property): boolean {
  const { words, about } = property;
  const isNumbered = words.at(-1) === "id" || words.at(-1) === "page";
  return isNumbered || isNamedCount(property) || describedCount.test(about.trim());
}

function isNamedCount({ words, about }: Property): boolean {
  const [first, second] = words;
  const last = words.at(-1) ?? "";
  if (/\b(?:cursor|token|opaque|for pagination|next page)\b/.test(about)) return false;
  if (last === "limit" || last === "offset") return words.length === 1 || listWords.has(words.at(-2) ?? "");
  if (last === "count" || (first === "number" && second === "of") || (first === "num" && /\ws$/.test(last)))
    return true;
  return words.length === 2 && ((first === "max" && counted.has(last)) || (first === "page" && pageWords.has(last)));
}

function isSwitch({ words, about }: Property): boolean {
  const last = words.at(-1);
  if (last === "enabled" || last === "disabled") return true;
  if (words.length > 1 && /^(?:is|should)$/.test(words[0] ?? "")) return true;
  // "has text" may ask for the text.
  if (words.length > 1 && words[0] === "has" && /^(?:whether|if)\b/.test(about)) return true;
  return /^\W*(?:set to )?["'`]?true["'`]? (?:or|if|to)\b/.test(about) || /\b(?:true\/false|yes\/no)\b/.test(about);
}

const listed = /^(?:tag|label|keyword|id|name|file|path|url|email|item|column|field)s?$/;

function isList({ words, about }: Property): boolean {
  // The color, mode or text of labels is not a list.
  if (words.length > 2 || /\b(?:selector|colou?r|style|mode|text|font)\b/.test(about)) return false;
  const [last, before] = [words.at(-1) ?? "", words.at(-2) ?? ""];
  return last === "tags" || last === "labels" || (last === "list" && listed.test(before));
}

const separator =
  /\b(?:separated|delimited|separator|delimiter|csv|json|commas?)\b|\w[,;|]\w|["'`][^"'`\n]{1,60}[,;|][^"'`\n]{1,60}["'`]/;
/** Whether a description says, or shows in an example, how the values of a list are separated. */
const saysSeparator = ({ about }: Property) => separator.test(about);

const word = "[\"'`]?[\\w-]{1,40}[\"'`]?";
const quoted = "[\"'`][\\w -]{1,40}[\"'`](?: for [\\w ]{1,30})?";
const joint = "(?:, ?(?:or |and )?| or | ?\\| ?| ?/ ?)";
/** "one of: a, b, c" and the like. Without a colon the values must be quoted, because it may be a sentence. */
const choice = new RegExp(
  `\\b(?:one of|(?:allowed|valid|possible|supported|accepted|available) (?:values|options|types|formats)(?: are)?|options(?: are)?|accepts) ?[:(] ?${word}(?:${joint}${word}){1,20}` +
    `|(?:\\b(?:one of|must be|can be|either|values(?: are)?) |\\()${quoted}(?:${joint}${quoted}){1,20}`,
);
/** The depth of a property directly inside a parameter. Deeper ones usually follow the format of a service. */
const choiceDepth = parameterDepth + 2;
/** Descriptions that allow other values: examples, and lists that continue. */
const open = /e\.g\.|for example|such as|\betc\b|\.\.\.|…|examples?\b|\bor (?:any|an?|another|the|your)\b/;

/** Several values at once, or values that come from elsewhere: "Coin id ('bitcoin', 'ethereum')". */
const notChosen = /\b(?:combin\w*|comma[- ]separated|json|array|ids?|exact)\b|[{[]/;

/** The formats of a file are no values of its path. */
const fileFormats = /\b(?:types|formats)(?: are)? ?[:(]/;

function isChoice({ depth, about, words }: Property): boolean {
  if (depth > choiceDepth) return false;
  if (fileFormats.test(about) && /^(?:path|file|filename|url|uri|archive|image)$/.test(words.at(-1) ?? ""))
    return false;
  return choice.test(about) && !open.test(about) && !notChosen.test(about);
}

/** Whether a description gives examples, or says that the values are names of something. */
const isOpen = ({ about }: Property) => open.test(about) || /\b(?:names?|ids?)\b/.test(about);
