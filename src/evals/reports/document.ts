import { count, integer } from "./format.ts";

// A report is a list of blocks. Each form (terminal, Markdown, HTML) renders every kind of block, so a new report is
// one function that builds blocks, and a new form is one function that renders them. Renderers escape all text for
// their medium. Text marked as `code` comes from outside and is shown verbatim.

export type Tone = "good" | "bad" | "warn";
export type Mark = Tone | "open";

/** A rate, its interval and the required rate, all from 0 to 1. Drawn beside text that gives the same figures. */
export type Bar = { rate: number; interval?: readonly [number, number]; needed?: number };

/** A piece of a line. `max`: characters of a verbatim text to show where space is limited. */
export type Span =
  | string
  | { code: string; max?: number; dim?: true }
  | { strong: string; tone?: Tone }
  | { mark: Mark }
  | { bar: Bar };
export type Inline = Span | readonly Span[];

/**
 * Where a table is too wide for a terminal, names lose their middle, texts their end, and prose is wrapped; figures
 * never shrink. An aside is a text that is left out if little room is left for it. An id is wrapped, because commands
 * take it as it is. Names and ids are shown as code.
 */
export type Column = { head: string; kind: "id" | "name" | "text" | "prose" | "aside" | "figure" };
export const isName = (kind: string | undefined): boolean => kind === "id" || kind === "name";

/** `lines` are joined into one line if they fit. */
export type TableCell = Inline | { lines: readonly string[] };
export type TableRow = { cells: readonly TableCell[]; tone?: Tone };

/** A list item with nested lines. `command` is meant to be copied, so it is never wrapped. */
export type Item = {
  text: Inline;
  items?: readonly Inline[];
  max?: number;
  noun?: string;
  command?: string;
};

/** A changed text: added without `before`, removed without `after`. `beside`: cases that changed with it. */
export type TextChange = {
  label: string;
  before?: string | undefined;
  after?: string | undefined;
  beside?: readonly string[];
};

/** A rate (0 to 1) with its 95% interval. */
export type Estimate = { rate: number; interval: readonly [number, number] | null };

/** A cell of a grid. `shade` (0 to 1) only repeats what the text says. */
export type GridCell = { text: string; shade: number; tone: Tone };

/**
 * A chart. `intervals`: rows of estimates, one per name. `curve`: rates over a number or over time (milliseconds since
 * the epoch); `mark` labels a change at a point. `grid`: cases by model, or expected by picked tools.
 */
export type Figure =
  | {
      type: "intervals";
      /** What the rates are, such as "Pass rate". */
      axis: string;
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
      /** How many rows or columns are not drawn. */
      remark?: string;
    };

/** `unlisted`: rows that are counted but not listed, and how many of them are red. */
export type Table = {
  kind: "table";
  columns: readonly Column[];
  rows: readonly TableRow[];
  unlisted?: { rows: number; red: number };
  max?: number;
  noun: string;
};

/** A labeled value; undefined if unknown. */
export type Fact = readonly [label: string, value: Inline | undefined];

/** `max` of a table, list or diff: the entries that a terminal shows. `noun`: the singular for "… and 3 more cases". */
export type Block =
  | { kind: "heading"; level: 1 | 2 | 3; text: Inline; tone?: Tone }
  | { kind: "text"; lines: readonly Inline[] }
  | { kind: "facts"; facts: readonly (readonly [string, Inline])[] }
  | Table
  | { kind: "list"; items: readonly (Inline | Item)[]; max?: number; noun: string }
  | { kind: "diff"; changes: readonly TextChange[]; max?: number }
  /** The change of a mean on a scale around 0, with its interval and margin. Drawn like a bar, beside its figures. */
  | { kind: "scale"; change: number; interval: readonly [number, number]; margin: number; tone: Tone }
  /** Only drawn by the page; its numbers are also in a table or text. */
  | { kind: "figure"; title: string; figure: Figure }
  | { kind: "verbatim"; text: string }
  /** Collapsed in forms that can collapse. `brief`: a terminal shows only the title. */
  | { kind: "details"; title: Inline; blocks: readonly Block[]; brief?: true };

export type Blocks = readonly Block[];

/** A page: the title of its window, and the JSON in parts that its script draws. */
export type Page = { title: string; json: Iterable<string> };

export function heading(level: 1 | 2 | 3, text: Inline, tone?: Tone): Block {
  return { kind: "heading", level, text, ...(tone && { tone }) };
}

/** Lines of text, without undefined and empty ones. */
export function text(...lines: readonly (Inline | undefined)[]): Block {
  return { kind: "text", lines: lines.flatMap((line) => (line === undefined || line === "" ? [] : [line])) };
}

/** Blocks under a heading, or no blocks if all of them are empty. */
export function section(title: Inline, blocks: Blocks): Block[] {
  const full = blocks.filter(hasContent);
  return full.length === 0 ? [] : [heading(3, title), ...full];
}

/** The columns of a table, in groups of one kind. */
export function makeColumns(...groups: readonly (readonly [Column["kind"], ...heads: readonly string[]])[]): Column[] {
  return groups.flatMap(([kind, ...heads]) => heads.map((head) => ({ head, kind })));
}

/** A table of rows, or of plain cells for rows without a tone. `noun` names one row. */
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

/** Labeled values, without undefined ones. */
export function facts(...all: readonly Fact[]): Block {
  return { kind: "facts", facts: knownFacts(all) };
}

export function knownFacts<V>(all: readonly (readonly [label: string, value: V | undefined])[]): [string, V][] {
  return all.flatMap(([label, value]): [string, V][] => (value === undefined ? [] : [[label, value]]));
}

export function details(title: Inline, ...blocks: readonly Block[]): Block {
  return { kind: "details", title, blocks };
}

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

/** The text of a line without marks and bars. */
export function plainText(inline: Inline): string {
  return spans(inline)
    .map((span) => (typeof span === "string" ? span : "strong" in span ? span.strong : "code" in span ? span.code : ""))
    .join("");
}

export function isItem(item: Inline | Item): item is Item {
  return typeof item === "object" && "text" in item;
}

/** The most rows of a table that any form shows. */
export const maxRows = 500;
/** For lists and tables that a terminal shows in full. */
export const unlimited = Number.POSITIVE_INFINITY;

/** The first `max` entries, and a line such as `… and 3 more cases` if any are left out. */
export function limitList<T>(list: readonly T[], max: number, noun: string) {
  return { shown: list.slice(0, max), more: describeRest(list.length - max, noun, 0) };
}

/** The same for the rows of a table; the line also counts the red rows that are left out. */
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
