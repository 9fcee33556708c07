import { atMost, count } from "./format.ts";
import { cut, wrap } from "./layout.ts";
import type { Display } from "./report.ts";
import { type Cell, type Column, tableLines } from "./table.ts";
import { plain, plainAscii } from "./untrusted.ts";
import type { Tone } from "./view.ts";

const codes = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39] } as const;
export type Paint = keyof typeof codes;
export const tonePaint: Readonly<Record<Tone, Paint>> = { good: "green", bad: "red", warn: "yellow" };

/** What a report prints with: every text goes through `text` before it is measured, and through `paint` after. */
export type Screen = {
  readonly width: number;
  /** Untrusted or own text, made safe for this screen; one line. */
  text(raw: string): string;
  /** As `text`, shortened to so many columns. */
  short(raw: string, width: number): string;
  paint(paint: Paint | undefined, text: string): string;
  /** As `text`, in lines no wider than the screen: the first indented by `indent`, the others by `hang`, not less. */
  lines(raw: string, indent?: number, hang?: number): string[];
  table(head: readonly Column[], rows: readonly (readonly Cell[])[]): string[];
};

/** A screen of at least 40 columns. Escape sequences are written only where `colour` is true. */
export function screenFor({ colour, width: asked, unicode }: Display): Screen {
  const width = Math.max(40, asked);
  const text = unicode ? plain : plainAscii;
  const ellipsis = text("…");
  const short = (raw: string, max: number) => cut(text(raw), max, ellipsis);
  const paint = (name: Paint | undefined, painted: string) =>
    colour && name !== undefined && painted !== ""
      ? `\x1b[${codes[name][0]}m${painted}\x1b[${codes[name][1]}m`
      : painted;

  return {
    width,
    text,
    short,
    paint,
    lines: (raw, indent = 0, hang = indent + 2) =>
      wrap(text(raw), width - hang).map((line, at) => " ".repeat(at === 0 ? indent : hang) + line),
    table: (head, rows) => tableLines(head, rows, { width, ellipsis, rule: text("─"), text, paint }),
  };
}

export function title(screen: Screen, text: string, paint: Paint = "bold"): string[] {
  return screen.lines(text).map((line) => screen.paint(paint, line));
}

/** `Label: name value · name value` */
export function labelled(screen: Screen, label: string, facts: readonly [string, string][]): string[] {
  return screen.lines(`${label}: ${facts.map((fact) => fact.join(" ")).join(" · ")}`);
}

/** The first of a list, printed, and how many more there are. */
export function bounded<T>(
  list: readonly T[],
  max: number,
  one: string,
  indent: number,
  screen: Screen,
  print: (item: T) => string[],
): string[] {
  const { shown, left } = atMost(list, max);
  const more = left === 0 ? [] : screen.lines(`… and ${count(left, `more ${one}`)}`, indent);
  return [...shown.flatMap(print), ...more];
}
