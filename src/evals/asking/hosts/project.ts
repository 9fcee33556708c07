import { copyFile, lstat, mkdir, mkdtemp, readdir, readFile, realpath, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { stringify } from "yaml";
import { type EvalFile, leftInPackages, type SkillPackage } from "../../base/types/skill.ts";
import type { Host, TrialFolder } from "./host.ts";

/** Creates the folder of a trial, with an empty home. The caller removes it. */
export async function makeFolder(): Promise<TrialFolder> {
  // The real path, because hosts compare paths and would not recognize a temporary folder behind a link.
  const dir = await realpath(await mkdtemp(join(tmpdir(), "evals-host-")));
  const [home, tmp, project] = ["home", "tmp", "project"].map((name) => join(dir, name)) as [string, string, string];
  await Promise.all([home, tmp, project].map((path) => mkdir(path)));
  return { dir, home, tmp, project };
}

/** Front matter fields with which a skill grants itself tools, or makes the host run commands. */
const privilegedFields = ["allowed-tools", "hooks"];

/** Writes skills and files into a project. Throws if a path leads out of it, or a file would configure the host. */
export async function writeProject(
  project: string,
  { name, skillFolder, configFolders }: Pick<Host, "name" | "skillFolder" | "configFolders">,
  skills: readonly SkillPackage[],
  files: readonly EvalFile[],
): Promise<void> {
  const home = join(project, skillFolder);
  if (skills.length > 0) await mkdir(home, { recursive: true });
  await Promise.all(skills.map((skill) => writeSkill(skill, inside(home, skill.name))));
  for (const { path, content } of files) {
    const target = inside(project, path);
    if (configFolders.test(relative(project, target).split(sep)[0] ?? "")) {
      throw new Error(`the case's file "${path}" would configure ${name} itself`);
    }
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, content);
  }
}

/** Limits of what is read from a project: number of files, and characters per file. */
const limits = { files: 2_000, characters: 1024 * 1024 };

/** The files of a project after a trial, sorted by path, without those of host and skills, links and long files. */
export async function readProject(
  project: string,
  { configFolders }: Pick<Host, "configFolders">,
): Promise<EvalFile[]> {
  const found: EvalFile[] = [];
  const read = async (folder: string): Promise<void> => {
    for (const entry of await readdir(join(project, folder), { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (folder === "" && configFolders.test(entry.name)) continue;
      if (found.length >= limits.files || leftInPackages.has(entry.name)) continue;
      if (entry.isDirectory()) await read(path);
      if (!entry.isFile() || (await lstat(join(project, path))).size > limits.characters) continue;
      found.push({ path: path.split(sep).join("/"), content: await readFile(join(project, path), "utf8") });
    }
  };
  await read("");
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

async function writeSkill(skill: SkillPackage, target: string): Promise<void> {
  await mkdir(target);
  const head = skill.dir === "" ? undefined : await copyPackage(skill.dir, target);
  if (head !== undefined && !needsRewriting(skill)) return copyFile(head, join(target, "SKILL.md"));
  const { frontMatter, body } = skill.document;
  const kept = Object.entries(frontMatter).filter(([key]) => !privilegedFields.includes(key));
  const fields = { name: skill.name, ...Object.fromEntries(kept), description: skill.description };
  await writeFile(join(target, "SKILL.md"), `---\n${stringify(fields)}---\n${body}`);
}

/** The wording under test may differ from the file's, and a skill must not grant itself permissions here. */
function needsRewriting({ description, document: { frontMatter } }: SkillPackage): boolean {
  return frontMatter.description !== description || privilegedFields.some((key) => key in frontMatter);
}

/** Copies a package without its SKILL.md, whose path it returns, its tests, and links that lead out of it. */
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
  const inner = relative(folder, target);
  if (inner === "" || !isInner(inner)) throw new Error(`"${path}" is not a path inside the project`);
  return target;
}

/** Whether a relative path stays inside its folder. */
function isInner(path: string): boolean {
  return path !== ".." && !path.startsWith(`..${sep}`) && !isAbsolute(path);
}
