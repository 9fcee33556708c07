import { diffWords } from "diff";
import { once, sumOf } from "../base/collections.ts";
import { plain } from "../base/text/display.ts";
import type { TextChange } from "./document.ts";

/** A piece of a changed text, with invisible characters escaped. */
export type Piece = { kind: "same" | "removed" | "added"; text: string };

/** Beyond these limits the whole text is shown as replaced, which bounds time and memory. */
const limits = { edits: 2000, characters: 40_000 } as const;
/** If a smaller share of a text stayed, it is shown as replaced: that reads better than fragments. */
const minKept = 0.3;
/** How many unchanged characters are shown around a change, and how many at each end of a removed or added text. */
const context = { same: 70, changed: 300 } as const;

/** Compares a text word by word, with some context around each change. Cached: several forms render one change. */
export const diffPieces = once(({ before, after }: TextChange): readonly Piece[] => {
  if (!before && !after) return [];
  const [old, now] = [oneLine(before ?? ""), oneLine(after ?? "")];
  if (old === now) return [{ kind: "same", text: "(only white space differs)" }];
  return moveOuterSpace(compareWords(old, now)).map((piece, at, all) => shorten(piece, at, all.length));
});

/** Escapes invisible characters and collapses white space, since a reader would not see the difference. */
const oneLine = (text: string) => plain(text).replace(/ +/g, " ").trim();

/** The pieces of both texts: `before` is all that were not added, `after` all that were not removed. */
function compareWords(before: string, after: string): Piece[] {
  const replaced: Piece[] = [
    { kind: "removed", text: before },
    { kind: "added", text: after },
  ];
  if (before.length + after.length > limits.characters) return replaced;
  // Splits into words in any script, not only Latin.
  const intlSegmenter = new Intl.Segmenter("en", { granularity: "word" });
  const changes = diffWords(before, after, { intlSegmenter, maxEditLength: limits.edits });
  if (!changes) return replaced;
  const pieces = changes.map(({ added, removed, value }): Piece => {
    return { kind: added ? "added" : removed ? "removed" : "same", text: value };
  });
  const kept = sumOf(pieces, ({ kind, text }) => (kind === "same" ? text.trim().length : 0));
  const isWorth = before === "" || after === "" || kept >= minKept * Math.max(before.length, after.length);
  return isWorth ? pieces : replaced;
}

/** Moves outer white space out of changed pieces, so that only words are marked. */
function moveOuterSpace(pieces: readonly Piece[]): Piece[] {
  const moved = pieces.flatMap(({ kind, text }): Piece[] => {
    if (kind === "same" || text.trim() === "") return [{ kind, text }];
    const [lead, trail] = [text.length - text.trimStart().length, text.trimEnd().length];
    return [
      { kind: "same", text: text.slice(0, lead) },
      { kind, text: text.slice(lead, trail) },
      { kind: "same", text: text.slice(trail) },
    ];
  });
  return moved.filter(({ text }) => text !== "");
}

function shorten({ kind, text }: Piece, at: number, count: number): Piece {
  const { same, changed } = context;
  if (kind !== "same") return { kind, text: keepEnds(text, changed, changed) };
  return { kind, text: keepEnds(text, at === 0 ? 0 : same, at === count - 1 ? 0 : same) };
}

/** The beginning and end of a long text, cut between words if possible. */
function keepEnds(text: string, first: number, last: number): string {
  const characters = [...text];
  if (characters.length <= first + last + 20) return text;
  const head = characters.slice(0, first).join("");
  const tail = last === 0 ? "" : characters.slice(-last).join("");
  return `${head.replace(/(?<= )\S*$/, "")}…${tail.replace(/^\S* /, " ")}`;
}
