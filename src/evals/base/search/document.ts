import { listProperties } from "../jsonSchema/keywords.ts";
import { isJsonObject } from "../types/json.ts";

/** What a tool search reads of a tool or of a skill. */
export type SearchDocument = {
  /** As the model is shown it, with the prefix of its host. */
  name: string;
  description: string;
  /** Words that are searched but not shown (`_meta["anthropic/searchHint"]`). */
  hint?: string;
  parameterNames: readonly string[];
};

/** Scores every document of a list, by index; 0 for no match. A string is the reason why the text is refused. */
export type Scorer = (text: string) => ArrayLike<number> | string;

/** The parts of a tool or skill that a search reads, unvalidated: a part of the wrong type counts as empty. */
export type SearchableTool = { name?: unknown; description?: unknown; inputSchema?: unknown };

/** How much of a document is read: far more than hosts show, and little enough to limit the time for huge texts. */
const limits = { name: 1000, description: 10_000, hint: 10_000, parameters: 500, parameter: 200 } as const;

/** The document of a tool: its name, its description, and the names of its top-level parameters. */
export function toSearchDocument({ name, description, inputSchema }: SearchableTool, hint?: string): SearchDocument {
  return {
    name: typeof name === "string" ? name : "",
    description: typeof description === "string" ? description : "",
    ...(hint !== undefined && { hint }),
    parameterNames: listProperties(isJsonObject(inputSchema) ? inputSchema : {}).map(([key]) => key),
  };
}

/** Truncates every part of a document to the length that a search reads. */
export function shortenDocument({ name, description, hint, parameterNames }: SearchDocument): SearchDocument {
  return {
    name: name.slice(0, limits.name),
    description: description.slice(0, limits.description),
    ...(hint !== undefined && { hint: hint.slice(0, limits.hint) }),
    parameterNames: parameterNames.slice(0, limits.parameters).map((parameter) => parameter.slice(0, limits.parameter)),
  };
}

const stopWords = new Set(
  `a about all am an and any are as at be been but by can could did do does for from get give had has have help here hey
  hi how i if in into is it its just let like make may me might my need no not now of off on or our out over please shall
  she should show so some tell than thank that the their them then there these they this those to up us use using want
  was we were what when where which who why will with would you your`.split(/\s+/),
);

/** Longer words are data and are not stemmed: the stemmer takes quadratic time. */
const longestWord = 40;

/** The lower-cased words of a text, also inside camelCase, with their stems, without stop words and single letters. */
export function splitWords(text: string): { text: string; stem: string }[] {
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

/**
 * A light stemmer for English inflections only: plurals, -ing, -ed, doubled consonants, a silent -e and -y. It does not
 * change derivations (creation), or endings whose stem would be shorter than three letters or without a vowel (sing,
 * string).
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
