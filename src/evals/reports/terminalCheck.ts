import type { CheckView, FigureTable } from "./check.ts";
import { capital, count } from "./format.ts";
import type { Display } from "./report.ts";
import { bounded, type Screen, title, tonePaint } from "./screen.ts";
import { wordingLines } from "./wording.ts";

const most = { rows: 12, wordings: 6, notes: 6 } as const;

/** A regression check as blocks of lines: the verdict first, then what it rests on. `screen` is the one of `display`. */
export function checkBlocks(check: CheckView | undefined, screen: Screen, display: Display): string[][] {
  if (!check) return [];
  const { headline, tone, sentences, tables, involved, others, facts, notes } = check;
  const changes = [
    ...bounded(involved, most.wordings, "change", 2, screen, (wording) => wordingLines(wording, display, 2)),
    ...(others.length > 0 ? screen.lines(`… and ${count(others.length, "change")} of tools not involved`, 2) : []),
  ];
  return [
    [...title(screen, headline, tonePaint[tone]), ...sentences.flatMap((sentence) => screen.lines(sentence, 2))],
    ...tables.map((table) => tableBlock(table, screen)),
    changes.length > 0 ? [...title(screen, "What changed in the list"), ...changes] : [],
    facts.flatMap((fact) => screen.lines(capital(fact.join(": ")))),
    bounded(notes, most.notes, "note", 0, screen, (note) => screen.lines(note)),
  ];
}

/** A table of figures, its first columns names. */
export function tableBlock({ title: text, heads, names, rows }: FigureTable, screen: Screen): string[] {
  const columns = heads.map((head, at) => ({ head, fixed: at >= names }));
  const table = screen.table(
    columns,
    rows.slice(0, most.rows).map((row) => row.map((cell) => ({ text: cell }))),
  );
  return [...title(screen, text), ...table, ...bounded(rows.slice(most.rows), 0, "row", 0, screen, () => [])];
}
