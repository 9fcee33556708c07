import { count, integer } from "./format.ts";

// A report is a list of blocks. Each form (terminal, Markdown, HTML) renders every kind of block, so a new report is one
// function that builds blocks, and a new form is one function that renders them. Renderers make all text safe for their
// medium; what is marked as `code` comes from outside and is also shown verbatim, as code.

/** What a word means for the reader. */
export type Tone = "good" | "bad" | "warn";
export type Mark = Tone | "open";

/** A rate with its interval and the rate that it needs, all 0 to 1. A drawing: text next to it has the same figures. */
export type Bar = { rate: number; interval?: readonly [number, number]; needed?: number };

/** A piece of a line. `max`: how many characters of a verbatim text are shown where room is scarce. */
export type Span =
  | string
  | { code: string; max?: number; dim?: true }
  | { strong: string; tone?: Tone }
  | { mark: Mark }
  | { bar: Bar };
export type Inline = Span | readonly Span[];

/** `name` and `text` columns give way where room is scarce, `figure` columns never. A name is shown as code. */
export type Column = { head: string; kind: "name" | "text" | "figure" };
/** Several `lines` stand on one line where there is room. */
export type TableCell = Inline | { lines: readonly string[] };
export type TableRow = { cells: readonly TableCell[]; tone?: Tone };

/** An item of a list, with what belongs to it. `command` is there to be copied: it is never broken into lines. */
export type Item = {
  text: Inline;
  items?: readonly Inline[];
  max?: number;
  noun?: string;
  command?: string;
};

/** A text that changed. Without `before` it is new, without `after` it is gone. `beside`: what changed along with it. */
export type TextChange = {
  label: string;
  before?: string | undefined;
  after?: string | undefined;
  beside?: readonly string[];
};

/** A rate (0 to 1) with its 95% interval. */
export type Estimate = { rate: number; interval: readonly [number, number] | null };

/** What a cell of a grid shows: its shade (0 to 1) only repeats its text. */
export type GridCell = { text: string; shade: number; tone: Tone };

/**
 * A drawing. `intervals`: the estimates of each row side by side, one for each name. `curve`: rates over a number or over
 * time (milliseconds since 1970), where `mark` says what changed at a point. `grid`: what is in a cell of cases and models,
 * or of expected and picked tools.
 */
export type Figure =
  | {
      type: "intervals";
      names: readonly string[];
      rows: readonly { label: string; estimates: readonly (Estimate | undefined)[]; text: string }[];
    }
  | {
      type: "curve";
      x: "number" | "time";
      label: string;
      series: readonly {
        name: string;
        points: readonly (Estimate & { x: number; text: string; mark?: string })[];
      }[];
    }
  | {
      type: "grid";
      of: "cases" | "confusions";
      rows: readonly string[];
      columns: readonly string[];
      cells: readonly (readonly (GridCell | undefined)[])[];
      /** What is left out of it, if anything. */
      remark?: string;
    };

/** `unlisted`: further rows that no form shows, and how many of them are red. */
export type Table = {
  kind: "table";
  columns: readonly Column[];
  rows: readonly TableRow[];
  unlisted?: { rows: number; red: number };
  max?: number;
  noun: string;
};

/** A labelled value; undefined where it is not known. */
export type Fact = readonly [label: string, value: Inline | undefined];

/** `most` of a table, list or diff: how many are shown at a terminal; `noun` names one of those left out. */
export type Block =
  | { kind: "heading"; level: 1 | 2 | 3; text: Inline; tone?: Tone }
  | { kind: "text"; lines: readonly Inline[] }
  | { kind: "facts"; facts: readonly (readonly [string, Inline])[] }
  | Table
  | { kind: "list"; items: readonly (Inline | Item)[]; max?: number; noun: string }
  | { kind: "diff"; changes: readonly TextChange[]; max?: number }
  /** The change of a mean on a scale around 0, with its interval and the margin. A drawing, as a bar is. */
  | { kind: "scale"; change: number; interval: readonly [number, number]; margin: number; tone: Tone }
  /** For forms that can draw: the figures in it are in a table or text as well. */
  | { kind: "figure"; title: string; figure: Figure }
  | { kind: "verbatim"; text: string }
  /** Folded where a form can fold. `brief`: a terminal shows the title alone. */
  | { kind: "details"; title: Inline; blocks: readonly Block[]; brief?: true };

export type Blocks = readonly Block[];

export function heading(level: 1 | 2 | 3, text: Inline, tone?: Tone): Block {
  return { kind: "heading", level, text, ...(tone && { tone }) };
}

/** Lines of text; those that are undefined or empty are left out. */
export function text(...lines: readonly (Inline | undefined)[]): Block {
  return { kind: "text", lines: lines.flatMap((line) => (line === undefined || line === "" ? [] : [line])) };
}

/** Blocks under a heading; nothing where none of them has content. */
export function section(title: Inline, blocks: Blocks, tone?: Tone): Block[] {
  const full = blocks.filter(hasContent);
  return full.length === 0 ? [] : [heading(3, title, tone), ...full];
}

/** Columns of one kind, by their heads. */
export function makeColumns(kind: Column["kind"], ...heads: readonly string[]): Column[] {
  return heads.map((head) => ({ head, kind }));
}

/** A table whose rows are cells, or cells with a tone. `noun` names one row. */
export function table(
  noun: string,
  columns: readonly Column[],
  rows: readonly (TableRow | readonly TableCell[])[],
  limits: Pick<Table, "max" | "unlisted"> = {},
): Table {
  const isRow = (row: TableRow | readonly TableCell[]): row is TableRow => "cells" in row;
  return { kind: "table", columns, rows: rows.map((row) => (isRow(row) ? row : { cells: row })), noun, ...limits };
}

/** A list. `noun` names one item. */
export function list(noun: string, items: readonly (Inline | Item)[], max?: number): Block {
  return { kind: "list", items, noun, ...(max !== undefined && { max }) };
}

export function diff(changes: readonly TextChange[], max?: number): Block {
  return { kind: "diff", changes, ...(max !== undefined && { max }) };
}

/** Facts by their labels; those that are undefined are left out. */
export function facts(...all: readonly Fact[]): Block {
  const known = all.flatMap(([label, value]): [string, Inline][] => (value === undefined ? [] : [[label, value]]));
  return { kind: "facts", facts: known };
}

export function details(title: Inline, ...blocks: readonly Block[]): Block {
  return { kind: "details", title, blocks };
}

/** Whether there is anything in a block. */
export function hasContent(block: Block): boolean {
  switch (block.kind) {
    case "text":
      return block.lines.length > 0;
    case "facts":
      return block.facts.length > 0;
    case "table":
      return block.rows.length > 0;
    case "list":
      return block.items.length > 0;
    case "diff":
      return block.changes.length > 0;
    case "details":
      return block.blocks.some(hasContent);
    default:
      return true;
  }
}

export const spans = (inline: Inline): readonly Span[] =>
  typeof inline === "object" && Symbol.iterator in inline ? inline : [inline];

/** The text of a line, without marks and drawings. */
export function plainText(inline: Inline): string {
  return spans(inline)
    .map((span) => (typeof span === "string" ? span : "strong" in span ? span.strong : "code" in span ? span.code : ""))
    .join("");
}

export function isItem(item: Inline | Item): item is Item {
  return typeof item === "object" && "text" in item;
}

/** No form shows more rows of a table. */
export const maxRows = 500;
/** For lists and tables that every form shows whole. */
export const unlimited = Number.POSITIVE_INFINITY;

/** The first of a list, and the line that says how much is left out; none where all is shown. */
export function limited<T>(list: readonly T[], max: number, noun: string) {
  return { shown: list.slice(0, max), more: describeRest(list.length - max, noun, 0) };
}

/** The same for the rows of a table, with the number of red ones among those that are left out. */
export function limitRows({ rows, unlisted, noun }: Table, max: number) {
  const [shown, left] = [rows.slice(0, max), rows.slice(max)];
  const red = left.filter(({ tone }) => tone === "bad").length;
  const more = describeRest(left.length + (unlisted?.rows ?? 0), noun, red + (unlisted?.red ?? 0));
  return { shown, more };
}

function describeRest(left: number, noun: string, red: number): string | undefined {
  const remark = red > 0 ? `, ${integer(red)} of them red` : "";
  return left > 0 ? `… and ${count(left, `more ${noun}`)}${remark}` : undefined;
}
