import * as z from "zod";
import { type Block, heading, list, makeColumns, section, table, text, unlimited } from "../reports/document.ts";
import { count } from "../reports/format.ts";

const number = z.number().int().min(0);
/** What the eval files of a package contain; `unreadable` if they are invalid. */
const evalCountsSchema = z.union([
  z.object({ positives: number, negatives: number, checks: number }),
  z.literal("unreadable"),
]);
export type EvalCounts = z.infer<typeof evalCountsSchema>;

const listedSkillSchema = z.object({
  name: z.string(),
  declared: z.string().exactOptional().describe("the name in the front matter, if the host uses that of the folder"),
  level: z.string(),
  file: z.string(),
  description: z.string().describe("as shown to the model, before the limit on the whole list"),
  hash: z.string(),
  evals: evalCountsSchema,
});

/** The skills that a host finds. */
export const skillListingSchema = z.object({
  host: z.string(),
  folders: z.array(z.string()).readonly().describe("where it looks"),
  skills: z.array(listedSkillSchema).readonly(),
  hidden: z
    .array(z.object({ name: z.string(), file: z.string(), reason: z.string() }))
    .readonly()
    .describe("loaded, but not shown to the model"),
  shadowed: z.array(z.object({ name: z.string(), file: z.string(), by: z.string(), reason: z.string() })).readonly(),
  skipped: z.array(z.object({ file: z.string(), reason: z.string() })).readonly(),
});
export type SkillListing = z.infer<typeof skillListingSchema>;

/** The report of `evals tools --skills`: the skills that a host shows, with their eval queries, then those it does not show. */
export function skillsDocument({ host, folders, skills, hidden, shadowed, skipped }: SkillListing): Block[] {
  const rows = skills.map(({ name, declared, level, file, evals }) => [
    ...[declared === undefined ? name : `${name} (${declared})`, level, evalsText(evals)],
    file.replace(/[\\/]SKILL\.md$/, ""),
  ]);
  const columns = makeColumns(["name", "skill"], ["figure", "level"], ["text", "queries", "folder"]);
  const listed = (title: string, items: readonly { text: string; reason: string }[]) => {
    const all = items.map((one) => ({ text: one.text, items: [one.reason] }));
    return section(`${title}: ${items.length}`, [list("skill", all, unlimited)]);
  };
  return [
    ...(skills.length > 0
      ? [
          heading(1, `${count(skills.length, "skill")} · host ${host}`),
          text("Next: check one with `evals lint --skills <folder>`, or test it with `evals run --skill <name>`."),
          table("skill", columns, rows, { max: unlimited }),
        ]
      : [
          heading(1, "No skill was found"),
          text(
            "Next: name the folders that hold skills with `--host-dir`.",
            "Searched:",
            ...folders.map((folder) => `  ${folder}`),
          ),
        ]),
    ...listed(
      "Not shown to the model",
      hidden.map(({ name, file, reason }) => ({ text: `${name}: ${file}`, reason })),
    ),
    ...listed(
      "Shadowed (another skill of the same name is loaded)",
      shadowed.map(({ name, file, by, reason }) => ({ text: `${name}: ${file}`, reason: `by ${by}: ${reason}` })),
    ),
    ...listed(
      "Skipped (cannot be loaded)",
      skipped.map(({ file, reason }) => ({ text: file, reason })),
    ),
  ];
}

function evalsText(evals: EvalCounts): string {
  if (evals === "unreadable") return "unreadable";
  const { positives, negatives, checks } = evals;
  if (positives + negatives === 0) return "none";
  return `${count(positives, "positive")}, ${count(negatives, "negative")}, ${count(checks, "check")}`;
}
