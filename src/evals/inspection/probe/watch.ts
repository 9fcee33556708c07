import { readdirSync, realpathSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { LiveServer } from "../../servers/spec.ts";

/** Folders with more entries are not watched, because reading them would take longer than the calls. */
const maxEntries = 5_000;
/** Folders whose content is not watched. */
const skipped = new Set(["node_modules", ".git"]);

/**
 * Remembers the state of the folders on the command line of a local server: those that it names, and that of its program or
 * script. Returns a function that lists what is new or changed since: sorted paths, with a new folder but not its content.
 * Remote servers, and folders with more than 5,000 entries, are not watched.
 * @param dir the folder that relative paths start from
 */
export function watchFolders(server: LiveServer, dir: string): () => string[] {
  const before = listFolders(server, dir).flatMap((folder) => {
    const entries = readEntries(folder);
    return entries ? [{ folder, entries }] : [];
  });
  return () => {
    const changed = before.flatMap(({ folder, entries }) => {
      const now = [...(readEntries(folder) ?? [])];
      return now.filter(([path, state]) => entries.get(path) !== state).map(([path]) => path);
    });
    const all = new Set(changed);
    return [...all].filter((path) => !all.has(dirname(path))).sort();
  };
}

function listFolders(server: LiveServer, dir: string): string[] {
  if (!("command" in server)) return [];
  const cwd = resolve(dir, server.cwd ?? ".");
  const words = [...(server.command.includes("/") ? [server.command] : []), ...(server.args ?? [])];
  const named = words.flatMap((word) => {
    try {
      const path = realpathSync(resolve(cwd, word));
      return [statSync(path).isDirectory() ? path : dirname(path)];
    } catch {
      return [];
    }
  });
  return [...new Set(named)];
}

/** The state of every entry by its path; undefined if there are too many. The state of a folder never changes. */
function readEntries(folder: string): Map<string, string> | undefined {
  const found = new Map<string, string>();
  const open = [folder];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const entry of readFolder(at)) {
      const path = join(at, entry.name);
      if (found.size >= maxEntries) return undefined;
      if (entry.isDirectory() && !skipped.has(entry.name)) open.push(path);
      found.set(path, entry.isDirectory() ? "folder" : readState(path));
    }
  }
  return found;
}

function readFolder(path: string) {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch {
    return [];
  }
}

function readState(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found ? `${found.size} ${found.mtimeMs}` : "gone";
}
