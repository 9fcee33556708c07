import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { messageOf, usageError } from "../../errors.ts";

const run = promisify(execFile);

/**
 * The program as it is to be started, and its version. A path is taken as it stands; a bare name is looked up on the PATH
 * of `env`. Throws a usage error when it cannot be started, or is not Claude Code.
 */
export async function installed(
  path: string,
  env: Record<string, string>,
): Promise<{ command: string; version: string }> {
  const command = /[/\\]/.test(path) ? resolve(path) : path;
  const { stdout } = await run(command, ["--version"], { env, timeout: 30_000 }).catch((error) => {
    throw usageError(`Claude Code cannot be started as "${command}": ${messageOf(error)}`, hint);
  });
  const version = /^(\d+\.\d+\.\d+\S*) \(Claude Code\)/.exec(stdout)?.[1];
  if (version !== undefined) return { command, version };
  throw usageError(`"${command}" is not Claude Code: it says its version is "${stdout.trim().slice(0, 80)}"`, hint);
}

const hint =
  "Install it (npm install -g @anthropic-ai/claude-code), or set CLAUDE_CODE_PATH to the path of the program.";
