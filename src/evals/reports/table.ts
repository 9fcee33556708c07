import CliTable from "cli-table3";
import { columns, cut, narrowed } from "./layout.ts";
import type { Paint } from "./screen.ts";

/** A table column. A `fixed` one is never shortened. The texts of a cell stand on one line if it `joins` and they fit. */
export type Column = { head: string; fixed?: boolean; joins?: boolean };
/** A table cell; several texts are several lines, each cut to its column. */
export type Cell = { text: string | readonly string[]; paint?: Paint };

type Given = {
  width: number;
  ellipsis: string;
  rule: string;
  text(raw: string): string;
  paint(paint: Paint | undefined, text: string): string;
};

const gap = 2;
const noLines = {
  ...{ top: "", "top-mid": "", "top-left": "", "top-right": "" },
  ...{ bottom: "", "bottom-mid": "", "bottom-left": "", "bottom-right": "" },
  ...{ left: "", "left-mid": "", mid: "", "mid-mid": "", right: "", "right-mid": "", middle: "" },
};

/** The lines of a table without frames: the head, a rule, the rows. No wider than `width`, unless fixed columns are. */
export function tableLines(head: readonly Column[], rows: readonly (readonly Cell[])[], given: Given): string[] {
  const { width, ellipsis, rule, text, paint } = given;
  const cells = rows.map((row) => row.map((cell) => [cell.text].flat().map(text)));
  const natural = head.map(({ head: title, joins }, at) =>
    Math.max(columns(title), ...cells.flatMap((row) => (joins ? [joined(row[at])] : (row[at] ?? [])).map(columns))),
  );
  const widths = columnWidths(head, natural, width - gap * (head.length - 1));
  const table = new CliTable({
    head: head.map((column) => paint("dim", column.head)),
    colWidths: widths.map((columnWidth) => columnWidth + gap),
    style: { head: [], border: [], compact: true, "padding-left": 0, "padding-right": gap },
    chars: noLines,
    truncate: ellipsis,
  });
  for (const [at, row] of cells.entries()) {
    const fitted = row.map((texts, column) => {
      const room = widths[column] ?? 0;
      const whole = joined(texts);
      const lines = head[column]?.joins && columns(whole) <= room ? [whole] : texts;
      return lines.map((line) => paint(rows[at]?.[column]?.paint, cut(line, room, ellipsis))).join("\n");
    });
    table.push(fitted);
  }
  const [header = "", ...body] = table.toString().split("\n");
  const ruleWidth = widths.reduce((sum, columnWidth) => sum + columnWidth + gap, -gap);
  return [header.trimEnd(), paint("dim", rule.repeat(ruleWidth)), ...body.map((line) => line.trimEnd())];
}

function joined(texts: readonly string[] = []): string {
  return texts.join(", ");
}

function columnWidths(head: readonly Column[], natural: readonly number[], total: number): number[] {
  const flexible = natural.filter((_, at) => !head[at]?.fixed);
  const fixed = natural.reduce((sum, width, at) => sum + (head[at]?.fixed ? width : 0), 0);
  const fitted = narrowed(flexible, total - fixed, 6);
  return natural.map((width, at) => (head[at]?.fixed ? width : (fitted.shift() ?? width)));
}
