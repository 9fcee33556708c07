import MiniSearch from "minisearch";
import { isJsonObject } from "../types/json.ts";

/** Stop words: words that carry no information about which tool is meant. */
const stopWords = new Set(
  `a about all am an and any are as at be been but by can could did do does for from get give had has have help here hey
  hi how i if in into is it its just let like make may me might my need no not now of off on or our out over please shall
  she should show so some tell than thank that the their them then there these they this those to up us use using want
  was we were what when where which who why will with would you your`.split(/\s+/),
);

/** Longer words are data, and the stemmer's time is quadratic in their length. */
const longestWord = 40;

/** A word of a text, lower-cased, and the stem that a search goes by. */
type Word = { text: string; stem: string };

/**
 * The words of a text that a search goes by: split at everything that is not a letter or a digit and inside camelCase,
 * lower-cased, without stop words and single letters, each with its stem.
 */
export function splitWords(text: string): Word[] {
  return text
    .replace(/(\p{Ll}|\d)(\p{Lu})/gu, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word.length > 1 && !stopWords.has(word))
    .map((word) => ({ text: word, stem: word.length > longestWord ? word : stem(word) }));
}

/** The stems of a text's words. */
export function stemWords(text: string): string[] {
  return splitWords(text).map((word) => word.stem);
}

/** Whether `stemWords` leaves out this word of a text. */
export function isStopWord(word: string): boolean {
  return stopWords.has(word.toLowerCase().replace(/[^\p{L}\p{N}]+$/u, ""));
}

/**
 * A light stemmer for English inflections only: plurals, -ing, -ed, doubled consonants, a silent -e and -y, so that
 * "creates", "created", "creating" and "create" are one, and so are "query" and "queries". It leaves derivations
 * (creation) alone, and endings whose stem would be shorter than three letters or without a vowel (sing, string).
 */
function stem(word: string): string {
  return word
    .replace(/(?<=..)ies$/, "i")
    .replace(/(?<=ss|sh|ch|x|z)es$/, "")
    .replace(/(?<=..[^siu])s$/, "")
    .replace(/^(.*[aeiouy].*)(?:ing|ed)$/, (whole, kept: string) => (kept.length >= 3 ? kept : whole))
    .replace(/([^aeiouylsz])\1$/, "$1")
    .replace(/(?<=...)e$/, "")
    .replace(/(?<=.[^aeiou])y$/, "i");
}

/** The indexed parts of a tool, unchecked: a value of the wrong type counts as empty. */
export type IndexedTool = { name?: unknown; title?: unknown; description?: unknown; inputSchema?: unknown };

/** The text a tool is found by. An absent field is left out of the index's mean lengths. */
export type ToolText = { id: string; name?: string; description?: string; parameters?: string };

export type ToolIndex = MiniSearch<ToolText>;

/** How much of a tool is indexed: far more than hosts show, and it bounds the time for descriptions of megabytes. */
const limits = { characters: 10_000, parameters: 500 } as const;

/**
 * The keyword index (BM25) over names, descriptions and parameters that the lexical model searches and that similar
 * tools are found by. Its scores add up mean lengths in the order of `texts`: sort them where a result must not depend
 * on the order. Ids must be unique. A query is words as `stemWords` makes them, with spaces between.
 */
export function buildToolIndex(texts: readonly ToolText[]): ToolIndex {
  const index = new MiniSearch<ToolText>({
    fields: ["name", "description", "parameters"],
    tokenize: stemWords,
    processTerm: (term) => term,
    // A name describes what the tool does; parameters describe its input, which other tools share.
    searchOptions: { boost: { name: 3, description: 1, parameters: 0.5 }, tokenize: (text) => text.split(" ") },
  });
  index.addAll(texts);
  return index;
}

/** The text that a tool is indexed by. */
export function toToolText(id: string, { name, title, description, inputSchema }: IndexedTool): ToolText {
  const properties = isJsonObject(inputSchema) && isJsonObject(inputSchema.properties) ? inputSchema.properties : {};
  const parameters = Object.entries(properties)
    .slice(0, limits.parameters)
    .map(([key, property]) => `${key} ${isJsonObject(property) ? textOf(property.description) : ""}`);
  return {
    id,
    name: textOf(name),
    description: textOf(`${textOf(title)} ${textOf(description)}`),
    parameters: textOf(parameters.join(" ")),
  };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value.slice(0, limits.characters) : "";
}
