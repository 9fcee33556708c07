import type { Scorer, SearchDocument } from "./document.ts";

/** What a word of the search text adds to the score: as a whole part of the name, inside a part, in the hint, in the description. */
const weights = { namePart: 6, insideName: 3, hint: 2, description: 1 } as const;

/** The lower-cased parts of a document that a word is compared with. */
type Entry = { name: string; parts: readonly string[]; hint: string; description: string };

/**
 * Literal keywords, in the shape of Claude Code's ToolSearch. The text is split at white space, and each word is looked up
 * as it is written, without regard to case: no inflections, no stop words. A name is compared by its parts (split at `_`;
 * the prefix `mcp__` is none), hint and description by their whole words. Parameters are not searched.
 *
 * Three other forms: `select:a,b` finds the tools of these names, a text that is a name finds that tool, and of a text with
 * `+word` only tools that contain each such word are found.
 */
export function buildKeywordScorer(documents: readonly SearchDocument[]): Scorer {
  const entries = documents.map(toEntry);
  return (text) => {
    const lower = text.toLowerCase().trim();
    const named = lower.startsWith("select:") ? lower.slice("select:".length).split(",") : [lower];
    const wanted = new Set(named.map((name) => name.trim()));
    const exact = entries.map(({ name }) => (wanted.has(name) ? 1 : 0));
    if (lower.startsWith("select:") || exact.includes(1)) return exact;
    const words = lower.split(/\s+/).filter((word) => word !== "" && word !== "+");
    const required = words.filter((word) => word.startsWith("+")).map((word) => word.slice(1));
    const all = [...required, ...words.filter((word) => !word.startsWith("+"))];
    return entries.map((entry) => {
      if (!required.every((word) => scoreWord(entry, word) > 0)) return 0;
      return all.reduce((sum, word) => sum + scoreWord(entry, word), 0);
    });
  };
}

function toEntry({ name, description, hint = "" }: SearchDocument): Entry {
  const lower = name.toLowerCase();
  const parts = lower.replace(/^mcp__/, "").split(/_+/);
  return { name: lower, parts, hint: hint.toLowerCase(), description: description.toLowerCase() };
}

function scoreWord({ parts, hint, description }: Entry, word: string): number {
  const inName = parts.includes(word)
    ? weights.namePart
    : parts.some((part) => part.includes(word))
      ? weights.insideName
      : 0;
  return inName + (hasWord(hint, word) ? weights.hint : 0) + (hasWord(description, word) ? weights.description : 0);
}

/** Whether a text contains a word with no letter, digit or `_` next to it. */
function hasWord(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    if (!isWordCharacter(text[at - 1]) && !isWordCharacter(text[at + word.length])) return true;
  }
  return false;
}

function isWordCharacter(character: string | undefined): boolean {
  return character !== undefined && /[\p{L}\p{N}_]/u.test(character);
}
