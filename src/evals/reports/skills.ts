import { count } from "./format.ts";
import type { Display } from "./report.ts";
import { type Screen, screenFor } from "./screen.ts";

/** What the eval files of a package hold, in numbers; `unreadable` when they are wrong. */
export type EvalCounts = { positives: number; negatives: number; checks: number } | "unreadable";

/** What a host finds of skills. `folders`: where it was looked, `host`: what decides which of equal names is loaded. */
export type SkillListing = {
  host: string;
  folders: readonly string[];
  skills: readonly {
    name: string;
    level: string;
    file: string;
    description: string;
    hash: string;
    evals: EvalCounts;
  }[];
  shadowed: readonly { name: string; file: string; by: string; reason: string }[];
  skipped: readonly { file: string; reason: string }[];
};

/** The skills that a host would load, where they lie and what they are tested with; then those it passes over, and why. */
export function skillsText({ host, folders, skills, shadowed, skipped }: SkillListing, display: Display): string {
  const screen = screenFor(display);
  const rows = skills.map(({ name, level, file, evals }) => [
    { text: name },
    { text: level },
    { text: evalsText(evals) },
    { text: file.replace(/[\\/]SKILL\.md$/, "") },
  ]);
  const head = [{ head: "skill" }, { head: "level", fixed: true }, { head: "queries" }, { head: "where" }];
  const lines = [
    ...(skills.length > 0
      ? [
          screen.paint("bold", screen.text(`${count(skills.length, "skill")} · host ${host}`)),
          ...screen.table(head, rows),
        ]
      : ["No skill was found. Looked in:", ...folders.flatMap((folder) => screen.lines(folder, 2))]),
    ...passedOver(screen, "Shadowed (another skill of the name is loaded)", shadowed, ({ name, file, by, reason }) => [
      `${name}: ${file}`,
      `by ${by}: ${reason}`,
    ]),
    ...passedOver(screen, "Skipped (no host can load them)", skipped, ({ file, reason }) => [file, reason]),
  ];
  return `${lines.join("\n")}\n`;
}

function evalsText(evals: EvalCounts): string {
  if (evals === "unreadable") return "unreadable";
  const { positives, negatives, checks } = evals;
  if (positives + negatives === 0) return "none";
  return `${count(positives, "positive")}, ${count(negatives, "negative")}, ${count(checks, "check")}`;
}

function passedOver<T>(
  screen: Screen,
  title: string,
  list: readonly T[],
  print: (one: T) => [string, string],
): string[] {
  if (list.length === 0) return [];
  const items = list.map(print).flatMap(([first, second]) => [...screen.lines(first, 2), ...screen.lines(second, 4)]);
  return ["", screen.paint("bold", screen.text(`${title}: ${list.length}`)), ...items];
}
