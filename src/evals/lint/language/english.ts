/** So many characters of a text are read; what stands behind decides nothing for a model that chooses. */
const longestRead = 20_000;

const english = new Set(
  "a an and are as at be by can for from if in into is it its not of on or that the then this to use when with you".split(
    " ",
  ),
);
const foreign = new Set(
  (
    "aus das dem den der die ein eine einen für ist mit nicht oder und wenn zu del el en es la las los para por que se " +
    "sin un una y cuando au aux ce dans de des du est et le les ou pour sur une che di il per quando della com da do não " +
    "os uma het een van voor niet met"
  ).split(" "),
);

/**
 * Whether a text is English, as far as its letters and its smallest words tell; the word lists here know no other
 * language. A text without small words, such as "List all cookies", is taken for English when its letters allow it.
 */
export function isEnglish(text: string): boolean {
  const start = text.slice(0, 500);
  if (!hasLatinLetters(start)) return false;
  const words = start.toLowerCase().match(/\p{L}+/gu) ?? [];
  const count = (of: ReadonlySet<string>) => words.filter((word) => of.has(word)).length;
  return count(foreign) <= count(english);
}

/** Whether nine of ten letters are those of English. */
function hasLatinLetters(text: string): boolean {
  if (/^[\0-\x7f]*$/.test(text)) return /[A-Za-z]/.test(text);
  const letters = text.replace(/\P{L}+/gu, "").length;
  const plain = text.replace(/[^A-Za-z]+/g, "").length;
  return plain > 0 && plain >= 0.9 * letters;
}

const unplain = /[\u2018\u2019\u201c\u201d\r\t\u00a0]| {2}/;

/** The text as the rules read it: cut, with plain quotation marks, single spaces and no space before a line break. */
export function plainText(text: string): string {
  const read = text.slice(0, longestRead);
  if (!unplain.test(read)) return read;
  return read
    .replace(/[\u2018\u2019]/g, "'")
    .replace(/[\u201c\u201d]/g, '"')
    .replace(/\r\n?/g, "\n")
    .replace(/[ \t\u00a0]+/g, " ");
}

/** Without what is quoted: example queries, values and code say nothing about the tool itself. */
export function withoutQuotes(text: string): string {
  return text.replace(/"[^"\n]{0,200}"|`[^`\n]{0,200}`|(?<![\w])'[^'\n]{0,200}'(?!\w)/g, '""');
}

/** Sentences and list items, in order, without their marks. An abbreviation such as "e.g." ends none. */
export function sentencesOf(text: string): readonly string[] {
  return text
    .replace(/\b(e\.g|i\.e|etc|vs|approx)\./gi, (short) => short.replaceAll(".", ""))
    .split(/(?<=[.!?;])\s+|\n+|;\s/)
    .map((sentence) => sentence.replace(/^[\s\-*•#>\d.)]+/, "").trim())
    .filter(Boolean);
}
