import { copyFile, lstat, mkdir, readdir, realpath, symlink, writeFile } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { stringify } from "yaml";
import { type EvalFile, leftInPackages, type SkillPackage } from "../../types/skill.ts";

/** Fields by which a skill would grant itself tools, or have the host run commands. */
const powers = ["allowed-tools", "hooks"];

/**
 * Writes the skills and the files of a case into a project folder, where Claude Code finds them. Throws when a path
 * would lie outside of the folder, or a file would configure the host itself.
 */
export async function layProject(
  project: string,
  skills: readonly SkillPackage[],
  files: readonly EvalFile[],
): Promise<void> {
  const home = join(project, ".claude", "skills");
  await mkdir(home, { recursive: true });
  await Promise.all(skills.map((skill) => laySkill(skill, inside(home, skill.name))));
  for (const { path, content } of files) {
    const target = inside(project, path);
    if (/^\.claude$/i.test(relative(project, target).split(sep)[0] ?? "")) {
      throw new Error(`the file ${path} of the case would configure Claude Code itself`);
    }
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, content);
  }
}

async function laySkill(skill: SkillPackage, target: string): Promise<void> {
  await mkdir(target);
  const head = skill.dir === "" ? undefined : await copyPackage(skill.dir, target);
  if (head !== undefined && !needsRewriting(skill)) return copyFile(head, join(target, "SKILL.md"));
  const { frontMatter, body } = skill.document;
  const kept = Object.entries(frontMatter).filter(([key]) => !powers.includes(key));
  const fields = { name: skill.name, ...Object.fromEntries(kept), description: skill.description };
  await writeFile(join(target, "SKILL.md"), `---\n${stringify(fields)}---\n${body}`);
}

/** The wording under test may be another than the file's; and no skill grants itself anything here. */
function needsRewriting({ description, document: { frontMatter } }: SkillPackage): boolean {
  return frontMatter.description !== description || powers.some((key) => key in frontMatter);
}

/**
 * Copies all but SKILL.md, whose path it returns; undefined when the package is gone. Left out are its tests, which a
 * model must not see, and links that lead out of it.
 */
async function copyPackage(dir: string, target: string): Promise<string | undefined> {
  const root = await realpath(dir).catch(() => undefined);
  if (root === undefined) return undefined;
  let head: string | undefined;
  const copy = async (path: string): Promise<void> => {
    const from = join(root, path);
    const to = join(target, path);
    const found = await lstat(from);
    const real = relative(root, await realpath(from).catch(() => ".."));
    if (!isInner(real)) return;
    if (path === "SKILL.md") head = join(root, real);
    else if (found.isDirectory()) {
      await mkdir(to, { recursive: true });
      const names = (await readdir(from)).filter((name) => !leftInPackages.has(name) && join(path, name) !== "evals");
      await Promise.all(names.map((name) => copy(join(path, name))));
    } else if (found.isFile()) await copyFile(from, to);
    else if (found.isSymbolicLink()) await symlink(relative(dirname(path), real) || ".", to);
  };
  await copy("");
  return head;
}

function inside(folder: string, path: string): string {
  const target = resolve(folder, path);
  const way = relative(folder, target);
  if (way === "" || !isInner(way)) throw new Error(`"${path}" is no path inside of a project`);
  return target;
}

function isInner(way: string): boolean {
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
