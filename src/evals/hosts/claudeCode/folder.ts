import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { HostedTrial } from "../../types/model.ts";
import { layProject } from "./project.ts";

/** The folder of one trial, all that the host may write to, and what leads it there. */
export type Folder = { project: string; env: { HOME: string; TMPDIR: string }; args: readonly string[] };

/** Makes the folder itself; whoever made it removes it. */
export function makeFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), "evals-claude-"));
}

/** A skill under test must not run commands on this machine, neither by hooks nor while its body is read. */
const settings = JSON.stringify({ disableAllHooks: true, disableSkillShellExecution: true });

/**
 * Fills a folder with what the host reads: an empty home, the project, and the addresses of the tool servers (name -> URL).
 *
 * Where there are skills or files it may read, within the project. Without them its own tools would only stand in the way
 * of those under test. None of the others is offered, since they act on this machine.
 */
export async function fillFolder(
  dir: string,
  { skills, files, maxTurns }: Pick<HostedTrial, "skills" | "files" | "maxTurns">,
  servers: ReadonlyMap<string, string>,
  system: string,
): Promise<Folder> {
  const [home, tmp, project, config, prompt] = ["home", "tmp", "project", "mcp.json", "system.md"].map((name) =>
    join(dir, name),
  ) as [string, string, string, string, string];
  await Promise.all([home, tmp, project].map((path) => mkdir(path)));
  await layProject(project, skills, files);
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
