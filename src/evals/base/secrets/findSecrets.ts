import { addFound, createFinder, type Finder, type Found, fewest } from "./findTexts.ts";
import { foldEscapes } from "./foldEscapes.ts";

/** Shorter forms in base64 are those of other texts, too. */
const shortestForm = 6;

/** What a cut can leave of an escape after its mark. */
const restOfEscape = /^[\\\w%;{}\udc00-\udfff]{0,8}/;

/**
 * Returns a function that finds these values in a text, in order: plain, in base64, in hexadecimal, in any combination of the
 * escapes of `foldEscapes`; their start before the mark of a cut, their end after it, and what a line break parts. `at` is the
 * number of the value. Takes time in proportion to the text, however many values there are.
 */
export function createSecretFinder(values: readonly string[]): (text: string) => Found[] {
  const spaces = values.some((value) => /\s/.test(value));
  const forms = values.flatMap((value, at) => {
    const folded = listForms(value).map((form) => foldEscapes(form, { spaces }).text);
    return [...new Set([value, ...folded])].filter((text) => text.length >= fewest).map((text) => ({ text, at }));
  });
  const reach = Math.max(...forms.map(({ text }) => text.length));
  const finder = createFinder(forms);
  let reversed: Finder | undefined;
  const findEnds = (text: string) => {
    reversed ??= createFinder(forms.map(({ text: form, at }) => ({ text: reverse(form), at })));
    return findAfterMarks(text, reversed, reach);
  };
  /** White space inside of a value that has none is a line break, and never a space between words. */
  const isWhole = (text: string, { from, to, at }: Found) =>
    !spaces || /\s/.test(values[at] ?? "") || !/[^\S\n]/.test(text.slice(from, to).replace(/\s*\n[\s│|]*/g, ""));
  return (text) => {
    const folded = foldEscapes(text, { spaces });
    const inside = mergeFound([...finder(folded.text, isMark), ...findEnds(folded.text)]);
    const ranges = folded.findSource(inside);
    const found = ranges.map((range, index) => ({ ...range, at: inside[index]?.at ?? 0 }));
    // What is before a value can look like an escape of its first characters.
    const plain = folded.text === text ? [] : finder(text);
    return mergeFound([...found, ...plain].filter((one) => isWhole(text, one)).map((one) => withEscape(text, one)));
  };
}

/** The part with the backslash that escapes its first character, without which JSON would not stay JSON. */
function withEscape(text: string, found: Found): Found {
  let from = found.from;
  while (text[from - 1] === "\\") from--;
  return { ...found, from: found.from - ((found.from - from) % 2) };
}

function mergeFound(all: Found[]): Found[] {
  const merged: Found[] = [];
  for (const one of all.sort((a, b) => a.to - b.to)) addFound(merged, one);
  return merged;
}

/** The forms of a value that are no escapes: as bytes are written, and as names are made of a text. */
function listForms(value: string): string[] {
  // Buffer replaces lone surrogates, which cannot be encoded.
  const bytes = Buffer.from(value);
  const hex = bytes.toString("hex");
  const slug = value.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-");
  return [value, slug, hex, hex.toUpperCase(), ...listBase64(bytes)];
}

/** Base64 and base64url at the three alignments that a value can have in a longer text, without the signs at its edges. */
function listBase64(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes])
      .toString("base64")
      .replace(/=+$/, "");
    const skipped = [0, 2, 3][before] ?? 0;
    const last = (before + bytes.length) % 3 === 0 ? 0 : 1;
    const form = encoded.slice(skipped, encoded.length - last);
    return form.length < shortestForm ? [] : [form, form.replaceAll("+", "-").replaceAll("/", "_")];
  });
}

const isMark = (text: string, at: number) => text[at] === "…" || text.startsWith("...", at);

const reverse = (text: string) => text.split("").reverse().join("");

/** What is left of a value after the mark of a cut, behind the rest of an escape. `reversed` looks for the values backwards. */
function findAfterMarks(text: string, reversed: Finder, reach: number): Found[] {
  const marks = [...text.matchAll(/…|\.{3,}/g)];
  return marks.flatMap(({ index, 0: mark }, number) => {
    const from = index + mark.length;
    const to = Math.min(from + reach, marks[number + 1]?.index ?? text.length);
    const [rest = ""] = restOfEscape.exec(text.slice(from, from + 8)) ?? [];
    // The text stops behind the mark, as one that is read backwards does before it.
    const backwards = `${reverse(text.slice(from, to))}\0`;
    const begun = reversed(backwards, (_, at) => at >= backwards.length - 1 - rest.length).at(-1);
    return begun ? [{ from: to - begun.to, to: to - begun.from, at: begun.at }] : [];
  });
}
