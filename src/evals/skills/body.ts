import type { SkillDocument, SkillLine } from "../types/skill.ts";
import { type Block, blocksOf, textOf } from "./markdown.ts";

type Structure = Pick<SkillDocument, "title" | "situation" | "steps" | "never" | "references">;

const sections = {
  never:
    /^(?:do not|don['’]?t|never|avoid|limit(?:s|ations?)?\b|restrictions|out of scope|anti-?patterns?|non-?goals|forbidden|prohibited|(?:common )?(?:mistakes|pitfalls))|\b(?:do|does|must|should|when|things|what|to) (?:not|never)\b|\bnot (?:to|for|use)\b/i,
  situation: /^(?:when\b|situation|use (?:it|this|when|cases?)|trigger|context\b|purpose\b)/i,
  references:
    /^(?:references?|(?:\w+ )?resources?|see also|further reading|links?|related (?:files|documents)|(?:bundled )?files)\b/i,
} as const;

type Section = { kind: keyof typeof sections | "other" | "preamble"; level: number };
type Placed = { block: Block; section: Section };

/**
 * The parts that the specification wants in the body of a `SKILL.md`, as far as they are there. Numbered steps are the
 * items of numbered lists, wherever they stand but for the sections of the other parts.
 */
export function structureOf(body: string, bodyLine: number): Structure {
  const placed = placedBlocks(blocksOf(body, bodyLine));
  const title = placed.find(({ block }) => isHeading(block));
  const situation =
    placed.find(({ block, section }) => section.kind === "situation" && block.kind !== "heading") ??
    placed.find(({ block, section }) => section.kind === "preamble" && block.kind === "paragraph" && !block.nested);
  const items = placed.filter(({ block }) => block.kind === "item" && !block.nested);
  return {
    ...(title && { title: lineOf(title.block) }),
    ...(situation && { situation: lineOf(situation.block) }),
    steps: items.flatMap(({ block, section: { kind } }) =>
      block.kind === "item" && block.number !== undefined && (kind === "other" || kind === "preamble")
        ? [{ ...lineOf(block), number: block.number }]
        : [],
    ),
    never: items.flatMap(({ block, section }) => (section.kind === "never" ? [lineOf(block)] : [])),
    references: placed.flatMap(({ block, section }) => referencesIn(block, section.kind === "references")),
  };
}

/** A line in bold may head a section, and is no title. */
function isHeading(block: Block): boolean {
  return block.kind === "heading" && block.level <= 6;
}

function lineOf(block: Block): SkillLine {
  return { text: textOf(block), line: block.lines[0]?.line ?? 1 };
}

/** Each block with the section that it stands in. A heading below that of a section stays inside of it. */
function placedBlocks(blocks: readonly Block[]): Placed[] {
  let section: Section = { kind: "preamble", level: 0 };
  let titled = false;
  return blocks.map((block) => {
    if (block.kind === "heading") {
      const kind = kindOf(textOf(block));
      const isTitle = !titled && isHeading(block) && (block.level === 1 || kind === "other");
      if (!isTitle && (kind !== "other" || block.level <= section.level || section.kind === "preamble"))
        section = { kind, level: block.level };
      titled ||= isHeading(block);
    }
    return { block, section };
  });
}

function kindOf(heading: string): Section["kind"] {
  // Signs and numbers before the words: "3. Do not", and the like.
  const words = heading.replace(/^[^\p{L}]+/u, "");
  for (const kind of ["never", "situation", "references"] as const) if (sections[kind].test(words)) return kind;
  return "other";
}

// Each stops at the next bracket, so that a line of brackets only takes linear time.
const links = /\[([^[\]]*)\]\(\s*<?([^()\s<>]+)/g;
const bare =
  /`([^`\s]+)`|<([^<>\s]+)>|(https?:\/\/[^\s<>()]*[^\s<>(),.;:])|((?:[\w.-]+\/)*[\w-]+\.[A-Za-z]\w{0,7})(?![\w/])/;
const scheme = /^(?:#|[A-Za-z][A-Za-z0-9+.-]*:|\/\/)/;

/** The links of a block to files; in a section of references also those to elsewhere, and items that name a bare target. */
function referencesIn(block: Block, listed: boolean): Structure["references"] {
  const found = block.lines.flatMap(({ text, line }) => {
    // Code that shows how a link is written is no link.
    const shown = text.includes("](") ? text.replace(/`[^`]*`/g, (code) => (code.includes("](") ? "" : code)) : "";
    return [...shown.matchAll(links)].flatMap(([, label = "", target = ""]) =>
      (listed && !target.startsWith("#")) || !scheme.test(target) ? [{ text: label, line, target }] : [],
    );
  });
  if (found.length > 0 || !listed || block.kind !== "item") return found;
  const { text, line } = lineOf(block);
  const target = bare
    .exec(text.slice(0, 1000))
    ?.slice(1)
    .find((group) => group !== undefined);
  return target === undefined ? [] : [{ text, line, target }];
}
