import type { SkillLine } from "../types/skill.ts";

/**
 * A piece of markdown. Headings have level 1 to 6, and 7 where a line stands in bold by itself; items of a list have their
 * number when it is a numbered one; `nested` is what stands inside of an item. Lines are without marks of the block.
 */
export type Block = { lines: SkillLine[]; nested: boolean } & (
  | { kind: "heading"; level: number }
  | { kind: "item"; number?: number }
  | { kind: "paragraph" }
);

/** The text of a block on one line. */
export const textOf = ({ lines }: Block): string => lines.map(({ text }) => text.trim()).join(" ");

type State = {
  blocks: Block[];
  /** The block that a line of text continues; none after a blank line. */
  open: Block | undefined;
  inList: boolean;
  /** True for the line that ends what is passed over: code between fences, a comment. */
  closes: ((line: string) => boolean) | undefined;
};

/**
 * The blocks of a markdown text, in order, without code blocks, comments and rules; `firstLine` is the number of its
 * first line. The part of CommonMark that tells headings, lists and paragraphs apart, in one pass over the lines.
 */
export function blocksOf(markdown: string, firstLine: number): Block[] {
  const state: State = { blocks: [], open: undefined, inList: false, closes: undefined };
  for (const [at, text] of markdown.split("\n").entries()) take(state, { text, line: firstLine + at });
  return state.blocks;
}

const fence = /^\s*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}(?!.*`)|~{3,})/;
const rule = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/;
const underline = /^ {0,3}(?:(=+)|-+)[ \t]*$/;
const hashes = /^ {0,3}(#{1,6})(?=[ \t]|$)/;
const bold = /^ {0,3}(?:\*\*|__)([^*_]+)(?:\*\*|__)[ \t]*:?[ \t]*$/;
const item = /^[ \t]*(?:[-*+]|(\d{1,9})[.)])(?:[ \t]+(.*))?$/;

function take(state: State, line: SkillLine): void {
  const { text } = line;
  if (state.closes) {
    if (state.closes(text)) state.closes = undefined;
    return;
  }
  state.closes = opening(text);
  if (state.closes || /^\s*(?:$|<!--)/.test(text)) {
    state.open = undefined;
    return;
  }
  if (isUnderlined(state, text) || rule.test(text)) {
    state.open = undefined;
    return;
  }
  const heading = headingOf(line);
  if (heading) {
    Object.assign(state, { open: undefined, inList: false });
    state.blocks.push(heading);
    return;
  }
  takeText(state, line);
}

/** What ends the fence or the comment that this line opens. */
function opening(text: string): State["closes"] {
  const [, marks] = fence.exec(text) ?? [];
  if (marks !== undefined) {
    const [mark = ""] = marks;
    return (line) => line.trim().length >= marks.length && line.trim() === mark.repeat(line.trim().length);
  }
  return /^\s*<!--/.test(text) && !text.includes("-->") ? (line) => line.includes("-->") : undefined;
}

/** Whether this line makes the paragraph before it a heading; then it has been made one. */
function isUnderlined({ blocks, open }: State, text: string): boolean {
  const found = underline.exec(text);
  if (!found || open?.kind !== "paragraph" || open.nested) return false;
  blocks[blocks.length - 1] = { kind: "heading", level: found[1] ? 1 : 2, lines: open.lines, nested: false };
  return true;
}

function headingOf({ text, line }: SkillLine): Block | undefined {
  const [marked, marks] = hashes.exec(text) ?? [];
  if (marked !== undefined && marks !== undefined) {
    const title = text
      .slice(marked.length)
      .trim()
      .replace(/(?:^|[ \t])#+$/, "");
    return { kind: "heading", level: marks.length, lines: [{ text: title.trim(), line }], nested: false };
  }
  const [, title] = bold.exec(text) ?? [];
  if (title === undefined) return undefined;
  return { kind: "heading", level: 7, lines: [{ text: title.trim().replace(/:$/, ""), line }], nested: false };
}

function takeText(state: State, { text, line }: SkillLine): void {
  const indent = (/^[ \t]*/.exec(text)?.[0] ?? "").replaceAll("\t", "    ").length;
  const found = item.exec(text);
  const number = found?.[1] === undefined ? undefined : Number(found[1]);
  const nested = state.inList && indent >= 2;
  // A line of a paragraph may happen to begin with a number: only 1 starts a list there.
  const interrupts = state.open?.kind !== "paragraph" || number === undefined || number === 1;
  if (found && interrupts && (nested || indent < 4)) {
    state.open = {
      kind: "item",
      lines: [{ text: found[2] ?? "", line }],
      nested,
      ...(number !== undefined && { number }),
    };
    state.blocks.push(state.open);
    state.inList = true;
  } else if (state.open) {
    state.open.lines.push({ text, line });
  } else if (nested || indent < 4) {
    state.open = { kind: "paragraph", lines: [{ text, line }], nested };
    state.blocks.push(state.open);
    state.inList = nested;
  }
}
