import { plain } from "../base/text/display.ts";
import {
  type Block,
  type Blocks,
  hasContent,
  type Inline,
  type Item,
  isItem,
  isName,
  limitList,
  limitRows,
  type Mark,
  maxRows,
  type Span,
  spans,
  type Table,
  type TableCell,
  type TextChange,
} from "./document.ts";
import { capital } from "./format.ts";
import { diffPieces } from "./wordDiff.ts";

/** A pull request comment holds 65,536 characters; this leaves room for text that a workflow adds. */
const maxBytes = 60_000;

/** Renders for a summary or comment, below 60,000 bytes: lists are shortened, and say how much they leave out. */
export function renderMarkdown(blocks: Blocks): string {
  let texts: string[] = [];
  for (const max of [maxRows, 150, 50, 15, 5, 2]) {
    const part = renderWithin(blocks, max);
    texts = part.texts;
    if (part.isWhole) return `${texts.join("\n\n")}\n`;
  }
  return [...texts, "… and more: the whole report is too long for Markdown.\n"].join("\n\n");
}

function renderWithin(blocks: Blocks, max: number): { texts: string[]; isWhole: boolean } {
  const texts: string[] = [];
  let left = maxBytes - 100;
  for (const text of renderAll(blocks, max)) {
    left -= Buffer.byteLength(text) + 2;
    if (left < 0) return { texts, isWhole: false };
    texts.push(text);
  }
  return { texts, isWhole: true };
}

const emoji: Readonly<Record<Mark, string>> = { good: "✅", bad: "❌", warn: "⚠️", open: "❔" };

function renderAll(blocks: Blocks, max: number): string[] {
  return blocks
    .filter(hasContent)
    .map((block) => renderBlock(block, max))
    .filter((text) => text !== "");
}

function renderBlock(block: Block, max: number): string {
  switch (block.kind) {
    case "heading": {
      const text = `${block.tone ? `${emoji[block.tone]} ` : ""}${line(block.text)}`;
      return block.level === 3 ? `**${text.replaceAll("**", "")}**` : `${block.level === 1 ? "###" : "####"} ${text}`;
    }
    case "text":
      return block.lines.map(line).join("\n\n");
    case "facts":
      return block.facts.map(([label, value]) => `- ${capital(label)}: ${line(value)}`).join("\n");
    case "table":
      return tableText(block, max);
    case "list": {
      const { shown, more } = limitList(block.items, max, block.noun);
      return [...shown.map((item) => listItem(item, max)), ...(more ? [`- ${more}`] : [])].join("\n");
    }
    case "diff": {
      const { shown, more } = limitList(block.changes, max, "change");
      return [...shown.map((change) => `- ${changedText(change)}`), ...(more ? [`- ${more}`] : [])].join("\n");
    }
    case "verbatim":
      return block.text
        .split("\n")
        .map((one) => code(one, 1000))
        .join("  \n");
    case "details":
      return `<details><summary>${line(block.title)}</summary>\n\n${renderAll(block.blocks, max).join("\n\n")}\n\n</details>`;
    case "scale":
    case "figure":
      return "";
  }
}

function tableText(block: Table, max: number): string {
  const { columns } = block;
  const { shown, more } = limitRows(block, max);
  const row = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [
    row(columns.map(({ head }) => head)),
    `|${columns.map(({ kind }) => (kind === "figure" ? "--:" : ":--")).join("|")}|`,
    ...shown.map(({ cells }) => row(cells.map((one, at) => cell(one, columns[at]?.kind)))),
    ...(more ? ["", more] : []),
  ].join("\n");
}

function cell(one: TableCell, kind: string | undefined): string {
  if (typeof one === "object" && "lines" in one) return prose(one.lines.join(", "));
  return typeof one === "string" && isName(kind) ? code(one) : line(one);
}

function listItem(item: Inline | Item, max: number): string {
  if (!isItem(item)) return `- ${line(item)}`;
  const { shown, more } = limitList(item.items ?? [], Math.min(max, 5), item.noun ?? "line");
  const command = item.command ? [code(`$ ${item.command}`, 1000)] : [];
  const below = [...shown.map(line), ...(more ? [more] : []), ...command];
  return [`- ${line(item.text)}`, ...below.map((one) => `  - ${one}`)].join("\n");
}

/** A change as code, so that nothing in it becomes a link, a mention or a tag. Also valid HTML. */
export function changedText(change: TextChange): string {
  const tags = { same: ["", ""], removed: ["<del>", "</del>"], added: ["<ins>", "</ins>"] } as const;
  const html = diffPieces(change).map(({ kind, text }) => tags[kind][0] + entities(text) + tags[kind][1]);
  const label = `<code>${entities(plain(change.label))}</code>`;
  return html.length > 0 ? `${label}: <code>${html.join("")}</code>` : label;
}

function line(inline: Inline): string {
  return spans(inline).map(inlineSpan).join("");
}

function inlineSpan(span: Span): string {
  if (typeof span === "string") return prose(span);
  if ("strong" in span) return prose(span.strong);
  if ("mark" in span) return emoji[span.mark];
  if ("bar" in span) return "";
  return code(span.code, span.max);
}

/**
 * Untrusted text as code, cut after `max` characters, so that nothing in it becomes a link, a mention or a tag. If the
 * text could end the code span or table cell, it becomes a `<code>` element with all punctuation as entities.
 */
export function code(raw: string, max = 100): string {
  const text = shortened(plain(raw), max);
  if (text.trim() === "") return "_empty_";
  return /[`|\\<]/.test(text) ? `<code>${entities(text)}</code>` : `\`${text}\``;
}

const entities = (text: string) => text.replace(/[!-/:-@[-`{-~]/g, (sign) => `&#${sign.charCodeAt(0)};`);

/**
 * A text that may contain code in backticks, in full. What Markdown or GitHub could interpret in the rest is escaped:
 * signs, mentions, references, addresses, formulas and the beginning of a list. Also valid in HTML.
 */
function prose(raw: string): string {
  const parts = plain(raw).split(/`([^`]+)`/);
  return parts.map((part, at) => (at % 2 === 1 ? code(part, part.length) : escapeProse(part))).join("");
}

function escapeProse(text: string): string {
  const dollar = /\$.*\$/.test(text) ? "$" : "";
  const signs = new RegExp(`[\\\\*[\\]<~|&\`${dollar}]|[@#](?=\\w)|${beginsSyntax.source}`, "gi");
  // GitHub finds mentions and references in the text that is shown, so a space without width keeps them apart.
  return text.replace(signs, (sign) => (/[@#]/.test(sign) ? `${entities(sign)}&#8203;` : entities(sign)));
}

/** Emphasis (not within a word), an address, an emoji, a quote, and the items of a list. */
const beginsSyntax = /(?<![a-z\d])_|_(?![a-z\d])|:(?=\/\/|[a-z_]+:)|(?<=\bwww)\.|^>|^[-+](?= )|(?<=^\d+)[.)](?= )/;

function shortened(text: string, max: number): string {
  const characters = [...text];
  return characters.length <= max ? text : `${characters.slice(0, max - 1).join("")}…`;
}
