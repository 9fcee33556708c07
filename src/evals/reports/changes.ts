import { capital, count } from "./format.ts";
import type { Display } from "./report.ts";
import { bounded, type Paint, screenFor, title } from "./screen.ts";

/** As `lint/changes.ts` finds them. */
type Change = { class: keyof typeof paints; what: string; fix?: string };

const paints = {
  breaking: "red",
  unknown: "yellow",
  "description only": "bold",
  compatible: "green",
} as const satisfies Record<string, Paint>;
const classes = Object.keys(paints) as (keyof typeof paints)[];
const most = 100;

/** What changed between two lists of tools, the gravest first, each with its remedy where it needs one. */
export function changesText(changes: readonly Change[], display: Display): string {
  const screen = screenFor(display);
  if (changes.length === 0) return `${screen.lines("The tools are the same.").join("\n")}\n`;
  const groups = classes
    .map((name) => ({ name, list: changes.filter((change) => change.class === name) }))
    .filter(({ list }) => list.length > 0);
  const counts = groups.map(({ name, list }) => `${list.length} ${name}`).join(", ");
  const blocks = groups.map(({ name, list }) => [
    ...title(screen, capital(name), paints[name]),
    ...bounded(list, most, "change", 2, screen, ({ what, fix }) => [
      ...screen.lines(what, 2),
      ...(fix === undefined ? [] : screen.lines(`→ ${fix}`, 4, 6)),
    ]),
  ]);
  return `${[title(screen, `${count(changes.length, "change")}: ${counts}`), ...blocks].map((block) => block.join("\n")).join("\n\n")}\n`;
}
