import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** The commit that is checked out in `cwd` and whether files differ from it; undefined outside of a repository. */
export async function gitState(cwd: string): Promise<{ commit: string; dirty: boolean } | undefined> {
  const git = (...args: string[]) => promisify(execFile)("git", args, { cwd, timeout: 5000, maxBuffer: 64 << 20 });
  try {
    const [head, status] = await Promise.all([
      git("rev-parse", "HEAD"),
      git("status", "--porcelain", "--untracked-files=no"),
    ]);
    return { commit: head.stdout.trim(), dirty: status.stdout.trim() !== "" };
  } catch {
    return undefined;
  }
}
