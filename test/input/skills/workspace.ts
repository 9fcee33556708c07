import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { EvalsError, formatProblem } from "../../../src/evals/base/types/errors.ts";
import type { SkillPackage } from "../../../src/evals/base/types/skill.ts";
import { discoverSkills } from "../../../src/evals/input/skills/discover.ts";
import { readSkillEvals } from "../../../src/evals/input/skills/evals.ts";
import { makeFolder } from "../../fakes/folder.ts";

/** Contents by path; a link as what it leads to. */
export type Files = Record<string, string | Uint8Array | { link: string }>;

/** The text of a SKILL.md without fault. */
export const skillText = (name: string, description = `Does ${name}.`) =>
  `---\nname: ${name}\ndescription: ${description}\n---\n# ${name}\n`;

/** A folder of the test's own that holds these files (its real path); gone when the test is over. */
export function workspace(files: Files): string {
  const folder = makeFolder();
  write(folder, files);
  return folder;
}

export function write(folder: string, files: Files): void {
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    if (typeof content === "object" && "link" in content) symlinkSync(content.link, path);
    else writeFileSync(path, content);
  }
}

/** The one package in `folder/skills`. */
export async function onlySkill(folder: string): Promise<SkillPackage> {
  const { skills } = await discoverSkills([{ dir: "skills", level: "named" }], { cwd: folder });
  const [skill] = skills;
  if (!skill || skills.length > 1) throw new Error(`${skills.length} skills`);
  return skill;
}

/** What reading the eval files of `folder/skills/demo` comes to, errors as the user sees them. */
export async function readEvals(folder: string) {
  try {
    return await readSkillEvals(await onlySkill(folder), { repository: folder, cwd: folder });
  } catch (error) {
    if (error instanceof EvalsError) return error.problems.map(formatProblem).join("\n");
    throw error;
  }
}

/** The same, of one eval file. */
export async function readEvalText(text: string, files: Files = {}, name = "evals.json") {
  const demo = { "skills/demo/SKILL.md": skillText("demo"), [`skills/demo/evals/${name}`]: text };
  return await readEvals(workspace({ ...demo, ...files }));
}
