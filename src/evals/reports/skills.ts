import { type Block, heading, type Item, makeRows, section, text } from "./document.ts";
import { count } from "./format.ts";

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

/** The skills that a host would load, where they are and what they are tested with; then those it ignores, and why. */
export function skillsDocument({ host, folders, skills, shadowed, skipped }: SkillListing): Block[] {
  const rows = skills.map(({ name, level, file, evals }) => [
    ...[name, level, evalsText(evals)],
    file.replace(/[\\/]SKILL\.md$/, ""),
  ]);
  const columns = [
    { head: "skill", kind: "name" as const },
    { head: "level", kind: "figure" as const },
    ...["queries", "folder"].map((head) => ({ head })),
  ];
  const list = (items: readonly Item[]): Block[] => [
    { kind: "list", items, most: Number.POSITIVE_INFINITY, noun: "skill" },
  ];
  return [
    ...(skills.length > 0
      ? [
          heading(1, `${count(skills.length, "skill")} · host ${host}`),
          { kind: "table" as const, columns, rows: makeRows(rows), most: Number.POSITIVE_INFINITY, noun: "skill" },
        ]
      : [heading(1, "No skill was found"), text("Searched:", ...folders.map((folder) => `  ${folder}`))]),
    ...section(
      `Shadowed (another skill of the same name is loaded): ${shadowed.length}`,
      list(
        shadowed.map(({ name, file, by, reason }) => ({ text: `${name}: ${file}`, items: [`by ${by}: ${reason}`] })),
      ),
    ),
    ...section(
      `Skipped (no host can load them): ${skipped.length}`,
      list(skipped.map(({ file, reason }) => ({ text: file, items: [reason] }))),
    ),
  ];
}

function evalsText(evals: EvalCounts): string {
  if (evals === "unreadable") return "unreadable";
  const { positives, negatives, checks } = evals;
  if (positives + negatives === 0) return "none";
  return `${count(positives, "positive")}, ${count(negatives, "negative")}, ${count(checks, "check")}`;
}
