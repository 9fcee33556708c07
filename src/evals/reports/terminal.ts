import CliTable from "cli-table3";
import {
  cut,
  cutNames,
  displayWidth,
  glue,
  inert,
  joinCommands,
  nameCommands,
  narrowColumns,
  plain,
  wrap,
  wrapName,
} from "../base/text/display.ts";
import {
  type Block,
  type Blocks,
  type Column,
  hasContent,
  type Inline,
  type Item,
  isItem,
  isName,
  limitList,
  limitRows,
  type Mark,
  type Span,
  spans,
  type Table,
  type TableCell,
  type TableRow,
  type TextChange,
  type Tone,
} from "./document.ts";
import { plainAscii } from "./escape.ts";
import { capital } from "./format.ts";
import { diffPieces, type Piece } from "./wordDiff.ts";

/** `width` is in columns; without `unicode`, text is ASCII. `program`: how the user starts it, if not as `evals`. */
export type Display = { color: boolean; width: number; unicode: boolean; program?: string };

/** For output whose screen is unknown, such as a pipe or a log. */
export const pipe: Display = { color: false, width: 100, unicode: true };

const codes = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39] } as const;
type Paint = keyof typeof codes;
const tonePaint: Readonly<Record<Tone, Paint>> = { good: "green", bad: "red", warn: "yellow" };
const marks: Readonly<Record<Mark, string>> = { good: "✓", bad: "✗", warn: "!", open: "?" };

/** A piece of a line, already escaped. */
type Segment = { text: string; paint?: Paint | undefined };

/**
 * Renders a document for a terminal or a log, wrapped to the width of the display or 40 columns, whichever is wider.
 * Commands to copy are not wrapped. Escape sequences are written only if the display has color.
 */
export function renderTerminal(blocks: Blocks, display: Display): string {
  const screen = new Screen(display);
  const lines: string[] = [];
  let previous: Block | undefined;
  for (const block of blocks.flatMap(unfolded).filter(hasContent)) {
    const isUnderHeading = previous?.kind === "heading" && previous.level !== 2;
    const rendered = screen.block(block, isUnderHeading ? 2 : 0);
    if (rendered.length === 0) continue;
    const isDeeper = block.kind === "heading" && previous?.kind === "heading" && block.level > previous.level;
    if (previous && (!isUnderHeading || isDeeper)) lines.push("");
    lines.push(...rendered);
    previous = block;
  }
  return inert(`${lines.join("\n")}\n`).replaceAll(glue, " ");
}

function unfolded(block: Block): Block[] {
  if (block.kind !== "details") return [block];
  if (!hasContent(block)) return [];
  if (block.brief) return [{ kind: "text", lines: [block.title] }];
  return [{ kind: "heading", level: 3, text: block.title }, ...block.blocks.flatMap(unfolded)];
}

class Screen {
  readonly #display: Display;
  readonly #width: number;
  readonly #safe: (text: string) => string;
  readonly #ellipsis: string;

  constructor(display: Display) {
    this.#display = display;
    this.#width = Math.max(40, display.width);
    this.#safe = display.unicode ? plain : plainAscii;
    this.#ellipsis = this.#safe("…");
  }

  /** The lines of a block. `indent` applies to text and facts only. */
  block(block: Block, indent: number): string[] {
    switch (block.kind) {
      case "heading":
        return this.#heading(block);
      case "text":
        return block.lines.flatMap((line) => this.#lines(line, indent));
      case "facts":
        return block.facts.flatMap(([label, value]) => this.#lines([`${capital(label)}: `, ...spans(value)], indent));
      case "table":
        return this.#table(block);
      case "list":
        return this.#list(block);
      case "diff": {
        const { shown, more } = limitList(block.changes, block.max ?? 12, "change");
        return [...shown.flatMap((change) => this.#change(change)), ...this.#more(more, 2)];
      }
      case "verbatim":
        return block.text.split("\n").map((line) => `    ${this.#safe(line)}`);
      default:
        return [];
    }
  }

  #heading({ text, tone }: Extract<Block, { kind: "heading" }>): string[] {
    const segments = this.#segments(text);
    const paint = tone ? tonePaint[tone] : "bold";
    const painted = segments.some((one) => one.paint) ? segments : segments.map((one) => ({ ...one, paint }));
    return this.#wrapped(painted, 0, 2);
  }

  #list({ items, max = 12, noun }: Extract<Block, { kind: "list" }>): string[] {
    const { shown, more } = limitList(items, max, noun);
    const listed = shown.flatMap((item) => (isItem(item) ? this.#item(item) : this.#lines(item, 2)));
    return [...listed, ...this.#more(more, 2)];
  }

  #item({ text, items = [], max = 12, noun = "line", command }: Item): string[] {
    const { shown, more } = limitList(items, max, noun);
    return [
      ...this.#lines(text, 2),
      ...shown.flatMap((item) => this.#lines(item, 4)),
      ...this.#more(more, 4),
      ...(command === undefined ? [] : [`    ${this.#safe(`$ ${command}`)}`]),
    ];
  }

  #more(text: string | undefined, indent: number): string[] {
    return text === undefined ? [] : this.#lines(text, indent);
  }

  /** Shows removed words as `[-...-]` in red and added ones as `{+...+}` in green, like `git diff --word-diff`. */
  #change(change: TextChange): string[] {
    const pieces = diffPieces(change);
    const segments = pieces.map((piece) => this.#piece(piece));
    const label = [{ text: this.#safe(change.label), paint: "bold" as const }];
    return [...this.#wrapped(label, 2, 4), ...(segments.length > 0 ? this.#wrapped(segments, 4, 4) : [])];
  }

  #piece({ kind, text }: Piece): Segment {
    const safe = this.#safe(text);
    if (kind === "same") return { text: safe };
    return kind === "removed" ? { text: `[-${safe}-]`, paint: "red" } : { text: `{+${safe}+}`, paint: "green" };
  }

  #lines(inline: Inline, indent: number): string[] {
    return this.#wrapped(this.#segments(inline), indent, indent + 2);
  }

  #segments(inline: Inline): Segment[] {
    return spans(inline).map((span) => this.#segment(span));
  }

  #segment(span: Span): Segment {
    if (typeof span === "string") return { text: joinCommands(nameCommands(this.#safe(span), this.#display.program)) };
    if ("strong" in span) return { text: this.#safe(span.strong), paint: span.tone ? tonePaint[span.tone] : "bold" };
    if ("mark" in span)
      return { text: this.#safe(marks[span.mark]), paint: tonePaint[span.mark === "open" ? "bad" : span.mark] };
    if ("bar" in span) return { text: "" };
    const { code, max = 100, dim } = span;
    return { text: cut(this.#safe(code), max, this.#ellipsis), ...(dim && { paint: "dim" as const }) };
  }

  /** Wraps to the screen: the first line is indented by `indent`, the others by `hang`, which must not be smaller. */
  #wrapped(segments: readonly Segment[], indent: number, hang: number): string[] {
    const lines = wrap(segments.map(({ text }) => text).join(""), this.#width - hang);
    const painted = this.#display.color && segments.some(({ paint }) => paint) ? this.#repaint(lines, segments) : lines;
    return painted.map((line, at) => " ".repeat(at === 0 ? indent : hang) + line);
  }

  /** Adds the colors to lines that were wrapped without them. Each line break replaced one space. */
  #repaint(lines: readonly string[], segments: readonly Segment[]): string[] {
    let [at, taken] = [0, 0];
    const skipEmpty = () => {
      for (; segments[at] && taken >= (segments[at]?.text.length ?? 0); at++) taken = 0;
    };
    return lines.map((line) => {
      let done = "";
      let left = line.length;
      skipEmpty();
      for (let segment = segments[at]; left > 0 && segment; segment = segments[at]) {
        const part = segment.text.slice(taken, taken + left);
        done += this.#paint(segment.paint, part);
        left -= part.length;
        taken += part.length;
        skipEmpty();
      }
      if (segments[at]?.text[taken] === " ") taken++;
      return done;
    });
  }

  #paint(name: Paint | undefined, text: string): string {
    if (!this.#display.color || name === undefined || text === "") return text;
    return `\x1b[${codes[name][0]}m${text}\x1b[${codes[name][1]}m`;
  }

  #table(block: Table): string[] {
    const { shown, more } = limitRows(block, block.max ?? 12);
    const table = shown.length > 0 ? this.#grid(block.columns, shown) : [];
    return [...table, ...this.#more(more, 0)];
  }

  /** The lines of a borderless table: the head, a rule, the rows. Figure columns are never cut. */
  #grid(head: readonly Column[], rows: readonly TableRow[]): string[] {
    const cells = rows.map(({ cells: row }) => row.map((cell) => this.#cell(cell)));
    const widths = columnWidths(head, cells, this.#width - gap * (head.length - 1));
    const isOut = (at: number) => head[at]?.kind === "aside" && isCrowded(widths[at] ?? 0, at, cells);
    if (head.some((_, at) => isOut(at))) {
      const kept = <T>(all: readonly T[]) => all.filter((_, at) => !isOut(at));
      const narrower = rows.map((row) => ({ ...row, cells: kept(row.cells) }));
      return this.#grid(kept(head), narrower);
    }
    const table = new CliTable({
      head: head.map((column, at) => this.#paint("dim", cut(column.head, widths[at] ?? 0, this.#ellipsis))),
      colWidths: widths.map((width) => width + gap),
      style: { head: [], border: [], compact: true, "padding-left": 0, "padding-right": gap },
      chars: noFrame,
      truncate: this.#ellipsis,
    });
    const columns = head.map(({ kind }, at) => {
      const room = widths[at] ?? 0;
      const column = cells.map((row) => {
        const lines = fitLines(row[at]?.lines ?? [], room);
        return kind === "prose" ? lines.flatMap((line) => wrap(line, room)) : lines;
      });
      const most = kind === "id" ? maxIdLines * room : room;
      const names = isName(kind) ? cutNames(column.flat(), most, this.#ellipsis) : undefined;
      const shorten = (line: string) => names?.get(line) ?? cut(line, room, this.#ellipsis);
      return column.map((lines, row) =>
        lines
          .flatMap((line) => wrapName(shorten(line), room))
          .map((line) => this.#paint(cells[row]?.[at]?.paint, line))
          .join("\n"),
      );
    });
    for (const at of cells.keys()) table.push(columns.map((column) => column[at] ?? ""));
    const [header = "", ...body] = table.toString().split("\n");
    const rule = this.#safe("─").repeat(widths.reduce((sum, width) => sum + width + gap, -gap));
    return [header.trimEnd(), this.#paint("dim", rule), ...body.map((line) => line.trimEnd())];
  }

  #cell(cell: TableCell): { lines: string[]; paint: Paint | undefined } {
    if (typeof cell === "object" && "lines" in cell) return { lines: cell.lines.map(this.#safe), paint: undefined };
    const segments = this.#segments(cell);
    const text = segments.map((segment) => segment.text).join("");
    return { lines: [text.trimEnd()], paint: segments.find(({ paint }) => paint)?.paint };
  }
}

function isCrowded(width: number, at: number, cells: readonly { lines: string[] }[][]): boolean {
  return width < 16 && cells.some((row) => displayWidth(row[at]?.lines.join(", ") ?? "") > width);
}

const gap = 2;
/** A longer id loses its middle. */
const maxIdLines = 4;
const sides = ["top", "bottom"].flatMap((side) => [side, `${side}-mid`, `${side}-left`, `${side}-right`]);
const lines = ["left", "left-mid", "mid", "mid-mid", "right", "right-mid", "middle"];
const noFrame = Object.fromEntries([...sides, ...lines].map((name) => [name, ""]));

function fitLines(lines: readonly string[], room: number): readonly string[] {
  const whole = lines.join(", ");
  return displayWidth(whole) <= room ? [whole] : lines;
}

function columnWidths(head: readonly Column[], cells: readonly { lines: string[] }[][], total: number): number[] {
  const natural = head.map((column, at) =>
    Math.max(displayWidth(column.head), ...cells.map((row) => displayWidth(row[at]?.lines.join(", ") ?? ""))),
  );
  const isFixed = (at: number) => head[at]?.kind === "figure";
  const fixed = natural.reduce((sum, width, at) => sum + (isFixed(at) ? width : 0), 0);
  const flexible = natural.filter((_, at) => !isFixed(at));
  const fitted = narrowColumns(flexible, total - fixed, 6);
  return natural.map((width, at) => (isFixed(at) ? width : (fitted.shift() ?? width)));
}
