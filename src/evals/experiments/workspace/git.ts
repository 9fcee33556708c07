import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Io } from "../../base/types/io.ts";
import type { RunManifest } from "../../base/types/run.ts";
import { findGitRoot } from "../../input/parsing/folders.ts";

/** Settings that keep git from running programs or reaching the network on behalf of a repository's configuration. */
const safeSettings = [
  "core.fsmonitor=false",
  "core.hooksPath=/dev/null",
  ...["allow", "ext.allow", "file.allow", "git.allow", "http.allow", "https.allow", "ssh.allow"].map(
    (name) => `protocol.${name}=never`,
  ),
];

/** The commit of `cwd`, and whether tracked files differ, without running programs that the repository configures. */
export async function readGitState({ cwd, env }: Pick<Io, "cwd" | "env">): Promise<RunManifest["git"]> {
  if (findGitRoot(cwd) === undefined) return undefined;
  const git = openGit({ cwd, env });
  try {
    const filters = listFilters(await git([], "config", "--list", "--includes", "--show-scope", "--name-only", "-z"));
    const [head, status] = await Promise.all([
      git([], "rev-parse", "HEAD"),
      git(filters, "status", "--porcelain", "--untracked-files=no", "--ignore-submodules=dirty"),
    ]);
    return { commit: head.trim(), dirty: status.trim() !== "" };
  } catch {
    return undefined;
  }
}

/** The tracked files under `cwd`, relative to it; none outside of a repository. */
export async function listTrackedFiles(io: Pick<Io, "cwd" | "env">): Promise<string[]> {
  const listed = await openGit(io)([], "ls-files", "-z").catch(() => "");
  return listed.split("\0").filter((path) => path !== "");
}

/** Runs git, with these settings of the repository set to nothing. */
function openGit({ cwd, env }: Pick<Io, "cwd" | "env">) {
  const run = promisify(execFile);
  return async (names: readonly string[], ...args: string[]) => {
    const words = [...safeSettings.flatMap((one) => ["-c", one]), "--no-optional-locks", ...args];
    const options = { cwd, timeout: 5000, maxBuffer: 64 << 20, env: { ...env, ...emptySettings(names) } };
    return (await run("git", words, options)).stdout;
  };
}

/** The settings of a repository that convert files with programs. Those of the user are kept. */
function listFilters(listed: string): string[] {
  const words = listed.split("\0");
  return words.flatMap((name, at) => {
    const [, filter] = /^(filter\..*)\.(?:clean|process|smudge)$/s.exec(name) ?? [];
    const isOfUser = ["global", "system"].includes(words[at - 1] ?? "");
    return filter === undefined || isOfUser ? [] : ["clean", "process", "required"].map((key) => `${filter}.${key}`);
  });
}

/** An environment that sets these settings to nothing, whatever characters their names contain. */
function emptySettings(names: readonly string[]): Record<string, string> {
  const entries = names.flatMap((name, at) => [
    [`GIT_CONFIG_KEY_${at}`, name],
    [`GIT_CONFIG_VALUE_${at}`, ""],
  ]);
  return { GIT_CONFIG_COUNT: `${names.length}`, ...Object.fromEntries(entries) };
}
