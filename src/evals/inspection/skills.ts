import { resolve } from "node:path";
import * as z from "zod";
import { sumOf } from "../base/collections.ts";
import { EvalsError, type ExitCode, exitCodes, formatProblem, type Problem } from "../base/types/errors.ts";
import type { Io } from "../base/types/io.ts";
import type { SkillPackage, SkillRoot } from "../base/types/skill.ts";
import { discoverSkills } from "../input/skills/discover.ts";
import { readSkillEvals } from "../input/skills/evals.ts";
import { findHostSkills } from "../input/skills/hosts.ts";
import { type Block, heading, list, makeColumns, section, table, text, unlimited } from "../reports/document.ts";
import { count } from "../reports/format.ts";
import { printResult } from "../reports/result.ts";
import { requireFolder } from "./targets.ts";

/** The options of `evals tools --skills`. `hostDir` are folders such as `.claude`, `dir` folders of packages. */
export type SkillsOptions = {
  host: string;
  hostDir?: string[] | undefined;
  dir?: string[] | undefined;
  json: boolean;
};

/** `evals tools --skills`: which skills a host shows to its model. Exits with 2 if an eval file is invalid. */
export async function listSkills(options: SkillsOptions, io: Io): Promise<ExitCode> {
  const { host, hostDir, dir = [], json } = options;
  for (const folder of dir) await requireFolder(folder, io);
  const home = io.env.HOME ?? io.env.USERPROFILE;
  const ofHost = findHostSkills(host, { home: home || undefined, cwd: io.cwd, env: io.env, withUser: true }, hostDir);
  const { rules } = ofHost;
  const roots: SkillRoot[] = [
    ...dir.map((folder) => ({ dir: resolve(io.cwd, folder), level: "named" as const })),
    ...ofHost.roots,
  ];
  const found = await discoverSkills(roots, { cwd: io.cwd, rules });
  const read = await Promise.all(found.skills.map((skill) => countEvals(skill, io)));
  const listing: SkillListing = {
    host,
    folders: roots.map(({ dir }) => dir),
    skills: found.skills.flatMap((skill, at) => {
      const shown = rules.show(skill);
      if ("hidden" in shown) return [];
      const { name, level, file, hash } = skill;
      const declared = rules.namedBy === "folder" ? readDeclaredName(skill) : undefined;
      return {
        ...{ name, ...(declared !== undefined && declared !== name && { declared }), level, file },
        ...{ description: shown.description, hash, evals: read[at]?.counts ?? "unreadable" },
      };
    }),
    hidden: found.skills.flatMap((skill) => {
      const shown = rules.show(skill);
      return "hidden" in shown ? [{ name: skill.name, file: skill.file, reason: shown.hidden }] : [];
    }),
    shadowed: found.shadowed,
    skipped: found.skipped,
  };
  printResult(listing, skillsDocument(listing), json, io);
  const problems = [...found.warnings, ...read.flatMap((one) => one.problems)];
  for (const problem of problems) io.err(`${formatProblem(problem)}\n`);
  return problems.some(({ severity }) => severity === "error") ? exitCodes.usage : exitCodes.passed;
}

/** The name in the front matter, with that of the plugin as in the skill's name. */
function readDeclaredName({ name, level, document: { frontMatter } }: SkillPackage): string | undefined {
  const plugin = level === "plugin" ? name.slice(0, name.indexOf(":") + 1) : "";
  return frontMatter.name ? `${plugin}${frontMatter.name}` : undefined;
}

async function countEvals(skill: SkillPackage, io: Io): Promise<{ counts: EvalCounts; problems: readonly Problem[] }> {
  try {
    const { evals, warnings } = await readSkillEvals(skill, { repository: io.cwd, cwd: io.cwd });
    const positives = evals.filter(({ triggers }) => triggers).length;
    const checks = sumOf(evals, ({ expectedBehavior }) => expectedBehavior.length);
    return { counts: { positives, negatives: evals.length - positives, checks }, problems: warnings };
  } catch (error) {
    if (!(error instanceof EvalsError)) throw error;
    return { counts: "unreadable", problems: error.problems };
  }
}

const number = z.number().int().min(0);
/** What the eval files of a package contain; `unreadable` if they are invalid. */
const evalCountsSchema = z.union([
  z.object({ positives: number, negatives: number, checks: number }),
  z.literal("unreadable"),
]);
type EvalCounts = z.infer<typeof evalCountsSchema>;

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
