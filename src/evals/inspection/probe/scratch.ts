import { existsSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import type { LiveServer } from "../../servers/spec.ts";

/** An empty folder in which a server runs while it is probed, so that its calls leave no files in a project. */
export type Scratch = {
  server: LiveServer;
  /** The files in it, sorted, at most `most`. */
  listFiles(most: number): string[];
  remove(): void;
};

/** Programs that use the working directory to look up what to run. */
const boundToFolder = /^(?:npx|npm|pnpm|yarn|bunx?|uvx?|poetry|cargo|go|make|docker)$/;

/**
 * A scratch folder for a server that is started from a command line; paths of existing files in its arguments are made
 * absolute. Undefined for a server that is registered or reached by a URL, that has a folder of its own, or whose
 * program depends on the folder.
 */
export function makeScratch(server: LiveServer, dir: string): Scratch | undefined {
  if (!("command" in server) || server.cwd !== undefined || boundToFolder.test(server.command)) return undefined;
  const settle = (word: string) => {
    const isPath = !isAbsolute(word) && !word.startsWith("-") && existsSync(resolve(dir, word));
    return isPath ? resolve(dir, word) : word;
  };
  const command = server.command.includes("/") ? settle(server.command) : server.command;
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), "evals-probe-")));
  return {
    server: { ...server, command, ...(server.args && { args: server.args.map(settle) }), cwd },
    listFiles: (most) =>
      readdirSync(cwd, { recursive: true, withFileTypes: true })
        .filter((entry) => !entry.isDirectory())
        .map((entry) => join(entry.parentPath, entry.name).slice(cwd.length + 1))
        .sort()
        .slice(0, most),
    remove: () => rmSync(cwd, { recursive: true, force: true }),
  };
}
