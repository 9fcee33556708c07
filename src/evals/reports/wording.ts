import { diffWords } from "diff";
import { wrap } from "./layout.ts";
import type { Display } from "./report.ts";
import { type Paint, type Screen, screenFor } from "./screen.ts";
import { plain } from "./untrusted.ts";

/** A text that changed, as `verdicts/changes.ts` lists it. Without `before` it is new, without `after` it is gone. */
export type Wording = { label: string; before?: string | undefined; after?: string | undefined };

type Piece = { kind: "same" | "removed" | "added"; text: string };

/** Beyond this, in single edits and in signs, the whole text is shown as replaced: it bounds time and memory. */
const most = { edits: 2000, signs: 40_000 } as const;
/** A text of which less than this share stayed reads better as replaced than as confetti. */
const leastKept = 0.3;
/** How many signs are shown on each side of a change, and of a removed or added text at each of its ends. */
const around = { same: 70, changed: 300 } as const;

/**
 * What changed, word by word, as lines for a screen: the label, and the changed neighbourhood of the text below it.
 * Removed words are red and added ones green; without colour they stand in `[-...-]` and `{+...+}`, as git prints them.
 */
export function wordingLines(wording: Wording, display: Display, indent = 0): string[] {
  const screen = screenFor(display);
  const pieces = piecesOf(wording);
  const marked = pieces.flatMap((piece, at) => {
    // Without marks around them, an old word and the new one would read as one.
    const touching = display.colour && piece.kind === "added" && pieces[at - 1]?.kind === "removed";
    return [...(touching ? [{ text: " ", paint: undefined }] : []), painted(piece, screen, display.colour)];
  });
  const inner = indent + 2;
  const lines = marked.length > 0 ? wrap(marked.map(({ text }) => text).join(""), screen.width - inner) : [];
  return [
    ...screen.lines(wording.label, indent).map((line) => screen.paint("bold", line)),
    ...repainted(lines, marked, screen).map((line) => " ".repeat(inner) + line),
  ];
}

/** The same as one item of a Markdown list: code, so that nothing in it is a link, a mention or a tag. */
export function wordingMarkdown(wording: Wording): string {
  const tags = { same: ["", ""], removed: ["<del>", "</del>"], added: ["<ins>", "</ins>"] } as const;
  const escaped = (text: string) => text.replace(/[!-/:-@[-`{-~]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  const html = piecesOf(wording).map(({ kind, text }) => tags[kind][0] + escaped(text) + tags[kind][1]);
  const label = `- <code>${escaped(plain(wording.label))}</code>`;
  return html.length > 0 ? `${label}: <code>${html.join("")}</code>` : label;
}

/** The pieces to be shown, in order; none where there is no text at all. */
function piecesOf({ before, after }: Wording): Piece[] {
  const [old, now] = [oneLine(before ?? ""), oneLine(after ?? "")];
  if (!before && !after) return [];
  if (old === now) return [{ kind: "same", text: "(only white space differs)" }];
  return outerSpace(compared(old, now)).map((piece, at, all) => shortened(piece, at, all.length));
}

/** Visible, and without what a person cannot see the difference of. */
const oneLine = (text: string) => plain(text).replace(/ +/g, " ").trim();

/** The pieces of which those that are not added make `before`, and those that are not removed make `after`. */
function compared(before: string, after: string): Piece[] {
  const replaced: Piece[] = [
    { kind: "removed", text: before },
    { kind: "added", text: after },
  ];
  if (before.length + after.length > most.signs) return replaced;
  // By the rules of Unicode: words of any script, not only of Latin ones.
  const intlSegmenter = new Intl.Segmenter("en", { granularity: "word" });
  const changes = diffWords(before, after, { intlSegmenter, maxEditLength: most.edits });
  if (!changes) return replaced;
  const pieces = changes.map(({ added, removed, value }): Piece => {
    return { kind: added ? "added" : removed ? "removed" : "same", text: value };
  });
  const kept = pieces.reduce((sum, { kind, text }) => sum + (kind === "same" ? text.trim().length : 0), 0);
  const worth = before === "" || after === "" || kept >= leastKept * Math.max(before.length, after.length);
  return worth ? pieces : replaced;
}

/** White space at the ends of a changed piece is moved out of it, so that the marks stand at words. */
function outerSpace(pieces: readonly Piece[]): Piece[] {
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

function shortened({ kind, text }: Piece, at: number, count: number): Piece {
  const { same, changed } = around;
  if (kind !== "same") return { kind, text: middleOut(text, changed, changed) };
  return { kind, text: middleOut(text, at === 0 ? 0 : same, at === count - 1 ? 0 : same) };
}

/** The beginning and the end of a long text, cut between words where there are any. */
function middleOut(text: string, first: number, last: number): string {
  const signs = [...text];
  if (signs.length <= first + last + 20) return text;
  const head = signs.slice(0, first).join("");
  const tail = last === 0 ? "" : signs.slice(-last).join("");
  return `${head.replace(/(?<= )\S*$/, "")}…${tail.replace(/^\S* /, " ")}`;
}

type Marked = { text: string; paint: Paint | undefined };

function painted({ kind, text }: Piece, screen: Screen, colour: boolean): Marked {
  const safe = screen.text(text);
  if (kind === "same") return { text: safe, paint: undefined };
  if (colour) return { text: safe, paint: kind === "removed" ? "red" : "green" };
  return { text: kind === "removed" ? `[-${safe}-]` : `{+${safe}+}`, paint: undefined };
}

/** Lines were broken without colours, which have no width; this puts them back. Each break took one space away. */
function repainted(lines: readonly string[], marked: readonly Marked[], screen: Screen): string[] {
  let [piece, taken] = [0, 0];
  return lines.map((line) => {
    let done = "";
    let left = line.length;
    for (let current = marked[piece]; left > 0 && current; current = marked[piece]) {
      const part = current.text.slice(taken, taken + left);
      done += screen.paint(current.paint, part);
      left -= part.length;
      taken += part.length;
      if (taken === current.text.length) [piece, taken] = [piece + 1, 0];
    }
    if (marked[piece]?.text[taken] === " ") taken++;
    if (taken === marked[piece]?.text.length) [piece, taken] = [piece + 1, 0];
    return done;
  });
}
