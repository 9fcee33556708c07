import { copyFile, lstat, mkdir, mkdtemp, readdir, realpath, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { stringify } from "yaml";
import type { HostedTrial } from "../../types/model.ts";
import { type EvalFile, leftInPackages, type SkillPackage } from "../../types/skill.ts";

/** The folder of one trial, the only place the host may write to, with the environment and arguments that select it. */
export type TrialFolder = { project: string; env: { HOME: string; TMPDIR: string }; args: readonly string[] };

/** Creates the folder; the caller removes it. */
export function makeFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), "evals-claude-"));
}

/** A skill under test must not run commands on this machine, neither by hooks nor while its body is read. */
const settings = JSON.stringify({ disableAllHooks: true, disableSkillShellExecution: true });

/**
 * Fills a folder with what the host reads: an empty home, the project, and the URLs of the tool servers by name.
 *
 * With skills or files, the host may read within the project. Without them, its own tools would only compete with those
 * under test. Its other tools are never offered, because they act on this machine.
 */
export async function fillFolder(
  dir: string,
  { skills, files, maxTurns }: Pick<HostedTrial, "skills" | "files" | "maxTurns">,
  servers: ReadonlyMap<string, string>,
  system: string,
): Promise<TrialFolder> {
  const [home, tmp, project, config, prompt] = ["home", "tmp", "project", "mcp.json", "system.md"].map((name) =>
    join(dir, name),
  ) as [string, string, string, string, string];
  await Promise.all([home, tmp, project].map((path) => mkdir(path)));
  await writeProject(project, skills, files);
  const mcpServers = Object.fromEntries([...servers].map(([name, url]) => [name, { type: "http", url }]));
  await writeFile(config, JSON.stringify({ mcpServers }), { mode: 0o600 });
  if (system !== "") await writeFile(prompt, system);
  const skill = skills.length > 0 ? ["Skill"] : [];
  const reading = skills.length + files.length > 0 ? ["Read", "Glob", "Grep"] : [];
  const allowed = [...skill, ...[...servers.keys()].map((name) => `mcp__${name}`)];
  const args = [
    ...["--setting-sources", "project", "--settings", settings, "--mcp-config", config, "--strict-mcp-config"],
    ...["--tools", [...skill, ...reading].join(","), "--permission-mode", "dontAsk", "--max-turns", String(maxTurns)],
    ...(allowed.length > 0 ? ["--allowedTools", allowed.join(",")] : []),
    ...(system === "" ? [] : ["--append-system-prompt-file", prompt]),
  ];
  return { project, env: { HOME: home, TMPDIR: tmp }, args };
}

/** Front matter fields with which a skill grants itself tools, or makes the host run commands. */
const privilegedFields = ["allowed-tools", "hooks"];

/**
 * Writes the skills and the files of a case into a project folder, where Claude Code finds them. Throws when a path
 * leads out of the folder, or a file would configure the host itself.
 */
export async function writeProject(
  project: string,
  skills: readonly SkillPackage[],
  files: readonly EvalFile[],
): Promise<void> {
  const home = join(project, ".claude", "skills");
  await mkdir(home, { recursive: true });
  await Promise.all(skills.map((skill) => writeSkill(skill, inside(home, skill.name))));
  for (const { path, content } of files) {
    const target = inside(project, path);
    if (/^\.claude$/i.test(relative(project, target).split(sep)[0] ?? "")) {
      throw new Error(`the case's file "${path}" would configure Claude Code itself`);
    }
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, content);
  }
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

/** The wording under test may differ from the file's, and no skill may grant itself anything here. */
function needsRewriting({ description, document: { frontMatter } }: SkillPackage): boolean {
  return frontMatter.description !== description || privilegedFields.some((key) => key in frontMatter);
}

/**
 * Copies a package except SKILL.md, whose path it returns; undefined when the package no longer exists. Skips its tests,
 * which a model must not see, and links that lead out of it.
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
  const inner = relative(folder, target);
  if (inner === "" || !isInner(inner)) throw new Error(`"${path}" is not a path inside the project`);
  return target;
}

/** Whether a relative path stays inside its folder. */
function isInner(path: string): boolean {
  return path !== ".." && !path.startsWith(`..${sep}`) && !isAbsolute(path);
}
