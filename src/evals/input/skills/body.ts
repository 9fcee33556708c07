import type { SkillDocument, SkillLine } from "../../base/types/skill.ts";

type Structure = Pick<SkillDocument, "title" | "situation" | "steps" | "never" | "references">;

const sections = {
  never:
    /^(?:do not|don['’]?t|never|avoid|limit(?:s|ations?)?\b|restrictions|out of scope|anti-?patterns?|non-?goals|forbidden|prohibited|(?:common )?(?:mistakes|pitfalls))|\b(?:do|does|must|should|when|things|what|to) (?:not|never)\b|\bnot (?:to|for|use)\b/i,
  situation: /^(?:when\b|situation|use (?:it|this|when|cases?)|trigger|context\b|purpose\b)/i,
  references:
    /^(?:references?|(?:\w+ )?resources?|see also|further reading|links?|related (?:files|documents)|(?:bundled )?files)\b/i,
} as const;

type Section = { kind: keyof typeof sections | "other" | "preamble"; level: number };

/** Finds the specified parts of a `SKILL.md`. Steps are the numbered items outside of the sections of other parts. */
export function parseBody(body: string, bodyLine: number): Structure {
  const blocks = assignSections(parseBlocks(body, bodyLine));
  const title = blocks.find(({ block }) => isHeading(block));
  const situation =
    blocks.find(({ block, section }) => section.kind === "situation" && block.kind !== "heading") ??
    blocks.find(({ block, section }) => section.kind === "preamble" && block.kind === "paragraph" && !block.nested);
  const items = blocks.filter(({ block }) => block.kind === "item" && !block.nested);
  return {
    ...(title && { title: toLine(title.block) }),
    ...(situation && { situation: toLine(situation.block) }),
    steps: items.flatMap(({ block, section: { kind } }) => {
      const isStep = block.kind === "item" && (kind === "other" || kind === "preamble");
      return isStep && block.number !== undefined ? [{ ...toLine(block), number: block.number }] : [];
    }),
    never: items.flatMap(({ block, section }) => (section.kind === "never" ? [toLine(block)] : [])),
    references: blocks.flatMap(({ block, section }) => findReferences(block, section.kind === "references")),
  };
}

/** Whether a block is a real heading: a line in bold can start a section, but is not a title. */
const isHeading = (block: Block) => block.kind === "heading" && block.level <= 6;

const toLine = (block: Block): SkillLine => ({ text: joinLines(block), line: block.lines[0]?.line ?? 1 });

/** Adds its section to each block. A heading of a lower level than that of the section stays in the section. */
function assignSections(blocks: readonly Block[]): { block: Block; section: Section }[] {
  let section: Section = { kind: "preamble", level: 0 };
  let titled = false;
  return blocks.map((block) => {
    if (block.kind === "heading") {
      const kind = classifyHeading(joinLines(block));
      const isTitle = !titled && isHeading(block) && (block.level === 1 || kind === "other");
      if (!isTitle && (kind !== "other" || block.level <= section.level || section.kind === "preamble"))
        section = { kind, level: block.level };
      titled ||= isHeading(block);
    }
    return { block, section };
  });
}

function classifyHeading(heading: string): Section["kind"] {
  // Skip symbols and numbers before the words, as in "3. Do not".
  const words = heading.replace(/^[^\p{L}]+/u, "");
  for (const kind of ["never", "situation", "references"] as const) if (sections[kind].test(words)) return kind;
  return "other";
}

// Each match stops at the next bracket, so that a line of brackets takes linear time.
const links = /\[([^[\]]*)\]\(\s*(?:<([^<>]+)>|([^()\s<>]+(?: [^()\s<>"']+)*))/g;
const bare =
  /`([^`\s]+)`|<([^<>\s]+)>|(https?:\/\/[^\s<>()]*[^\s<>(),.;:])|((?:[\w.-]+\/)*[\w-]+\.[A-Za-z]\w{0,7})(?![\w/])/;
const scheme = /^(?:#|[A-Za-z][A-Za-z0-9+.-]*:|\/\/)/;

/** The links of a block to files; in a section of references also other links, and items with a bare target. */
function findReferences(block: Block, listed: boolean): Structure["references"] {
  const found = block.lines.flatMap(({ text, line }) => {
    // A link inside of code is only an example.
    const shown = text.includes("](") ? text.replace(/`[^`]*`/g, (code) => (code.includes("](") ? "" : code)) : "";
    return [...shown.matchAll(links)].flatMap(([, label = "", quoted, target = quoted ?? ""]) =>
      (listed && !target.startsWith("#")) || !scheme.test(target) ? [{ text: label, line, target }] : [],
    );
  });
  if (found.length > 0 || !listed || block.kind !== "item") return found;
  const { text, line } = toLine(block);
  const [, ...groups] = bare.exec(text.slice(0, 1000)) ?? [];
  const target = groups.find((group) => group !== undefined);
  return target === undefined ? [] : [{ text, line, target }];
}

/** A block of Markdown without its markers. Level 7 is a line in bold. `nested` blocks are inside of an item. */
type Block = { lines: SkillLine[]; nested: boolean } & (
  | { kind: "heading"; level: number }
  | { kind: "item"; number?: number }
  | { kind: "paragraph" }
);

const joinLines = ({ lines }: Block): string => lines.map(({ text }) => text.trim()).join(" ");

type ParserState = {
  blocks: Block[];
  /** The block that a line of text continues; undefined after a blank line. */
  open: Block | undefined;
  inList: boolean;
  /** Whether a line ends the current fenced code or comment; undefined outside of them. */
  closes: ((line: string) => boolean) | undefined;
};

/** Parses headings, list items and paragraphs in one pass. Skips code blocks, comments and rules. */
function parseBlocks(markdown: string, firstLine: number): Block[] {
  const state: ParserState = { blocks: [], open: undefined, inList: false, closes: undefined };
  for (const [at, text] of markdown.split("\n").entries()) takeLine(state, { text, line: firstLine + at });
  return state.blocks;
}

const fence = /^\s*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}(?=[^`]*$)|~{3,})/;
const rule = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/;
const underline = /^ {0,3}(?:(=+)|-+)[ \t]*$/;
const hashes = /^ {0,3}(#{1,6})(?=[ \t]|$)/;
const bold = /^ {0,3}(?:\*\*|__)([^*_]+)(?:\*\*|__)[ \t]*(?::[ \t]*)?$/;
const item = /^[ \t]*(?:[-*+]|(\d{1,9})[.)])(?:[ \t]+(?![ \t])(.*))?$/;

function takeLine(state: ParserState, line: SkillLine): void {
  const { text } = line;
  if (state.closes) {
    if (state.closes(text)) state.closes = undefined;
    return;
  }
  state.closes = findClosing(text);
  const isSkipped = state.closes || /^\s*(?:$|<!--)/.test(text) || makeUnderlinedHeading(state, text);
  const heading = isSkipped || rule.test(text) ? undefined : parseHeading(line);
  if (isSkipped || rule.test(text)) state.open = undefined;
  else if (heading) {
    Object.assign(state, { open: undefined, inList: false });
    state.blocks.push(heading);
  } else takeText(state, line);
}

/** A test for the end of the fence or comment that this line opens; undefined if it opens none. */
function findClosing(text: string): ParserState["closes"] {
  const [, marks] = fence.exec(text) ?? [];
  if (marks !== undefined) {
    const [mark = ""] = marks;
    return (line) => line.trim().length >= marks.length && line.trim() === mark.repeat(line.trim().length);
  }
  return /^\s*<!--/.test(text) && !text.includes("-->") ? (line) => line.includes("-->") : undefined;
}

/** Turns the paragraph before this line into a heading if the line underlines it. Returns whether it did. */
function makeUnderlinedHeading({ blocks, open }: ParserState, text: string): boolean {
  const found = underline.exec(text);
  if (!found || open?.kind !== "paragraph" || open.nested) return false;
  blocks[blocks.length - 1] = { kind: "heading", level: found[1] ? 1 : 2, lines: open.lines, nested: false };
  return true;
}

function parseHeading({ text, line }: SkillLine): Block | undefined {
  const create = (level: number, title: string): Block => {
    return { kind: "heading", level, lines: [{ text: title, line }], nested: false };
  };
  const [marked, marks] = hashes.exec(text) ?? [];
  if (marked !== undefined && marks !== undefined) {
    const title = text.slice(marked.length).trim();
    return create(marks.length, title.replace(/(?:^|[ \t])#+$/, "").trim());
  }
  const [, title] = bold.exec(text) ?? [];
  return title === undefined ? undefined : create(7, title.trim().replace(/:$/, ""));
}

function takeText(state: ParserState, { text, line }: SkillLine): void {
  const indent = (/^[ \t]*/.exec(text)?.[0] ?? "").replaceAll("\t", "    ").length;
  const found = item.exec(text);
  const number = found?.[1] === undefined ? undefined : Number(found[1]);
  const nested = state.inList && indent >= 2;
  // A line of a paragraph can begin with a number by chance, so only 1 starts a list there.
  const interrupts = state.open?.kind !== "paragraph" || number === undefined || number === 1;
  if (found && interrupts && (nested || indent < 4)) {
    const lines = [{ text: found[2] ?? "", line }];
    state.open = { kind: "item", lines, nested, ...(number !== undefined && { number }) };
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
