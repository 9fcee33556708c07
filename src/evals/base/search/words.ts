/** Words that carry no information about which tool is meant. */
const stopWords = new Set(
  `a about all am an and any are as at be been but by can could did do does for from get give had has have help here hey
  hi how i if in into is it its just let like make may me might my need no not now of off on or our out over please shall
  she should show so some tell than thank that the their them then there these they this those to up us use using want
  was we were what when where which who why will with would you your`.split(/\s+/),
);

/** Longer words are data and are not stemmed: the stemmer takes quadratic time. */
const longestWord = 40;

/** A lower-cased word of a text, with the stem by which it is searched. */
type Word = { text: string; stem: string };

/** Splits a text into lower-cased words, also inside camelCase, without stop words and single letters. */
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

/** Whether a word of a text is a stop word. Punctuation after it is ignored. */
export function isStopWord(word: string): boolean {
  return stopWords.has(word.toLowerCase().replace(/(?<![^\p{L}\p{N}])[^\p{L}\p{N}]+$/u, ""));
}

/**
 * A light stemmer for English inflections only: plurals, -ing, -ed, doubled consonants, a silent -e and -y. So
 * "creates", "created", "creating" and "create" have the same stem, and so have "query" and "queries". It does not
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
