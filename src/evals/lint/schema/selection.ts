import type { JsonObject } from "../../types/json.ts";
import { once } from "../once.ts";
import { wordsOf } from "./text.ts";
import { type Type, typeOf, withoutNull } from "./values.ts";
import type { Place } from "./walk.ts";

/** A property as the rules of this family see it: null left aside, the name in words, the description in lower case. */
export type Property = {
  name: string;
  words: readonly string[];
  schema: JsonObject;
  type: Type | undefined;
  about: string;
};

/** The property at a place, read once; undefined for a place of another role. */
export function propertyAt(place: Place): Property | undefined {
  return place.role === "property" ? read(place) : undefined;
}

const read = once((place: Place): Property => {
  const schema = withoutNull(place.schema);
  const about = typeof schema.description === "string" ? schema.description.slice(0, 2000).toLowerCase() : "";
  return { name: place.name, words: wordsOf(place.name), schema, type: typeOf(schema), about };
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
