import { type Dirent, readdirSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import type { Io } from "../../base/types/io.ts";
import type { Configuration, Suite } from "../../base/types/suite.ts";
import { readHostFile } from "../../input/hostFiles.ts";
import { stampFile } from "../../input/parsing/read.ts";
import { listEnabled } from "../../servers/configuration.ts";
import { type LiveServer, resolveServer } from "../../servers/spec.ts";

/**
 * The absolute paths to watch: single files, folders of skills (every file), folders with suites (files that can be
 * suites or that suites name), and folders with the code of servers (source files).
 */
export type WatchedPaths = {
  files: ReadonlySet<string>;
  skills: ReadonlySet<string>;
  suites: ReadonlySet<string>;
  code: ReadonlySet<string>;
};

const suiteFile = /\.(?:yaml|yml|json|jsonl|csv)$/i;
const sourceFile = /\.(?:[cm]?[jt]sx?|py|go|rs|rb|java|kt|scala|cs|fs|php|swift|ex|exs|lua|sh)$/i;
/** Folders that contain neither suites nor sources of the project. */
const skipped = /^(?:\..*|node_modules|baselines|judges)$/;

/** Finds the entry points of the server commands of suites, and the folders of their sources, inside `cwd`. */
export async function listServerPaths(
  suites: readonly Suite[],
  { cwd, env }: Pick<Io, "cwd" | "env">,
): Promise<Pick<WatchedPaths, "files" | "code">> {
  const [files, code] = [new Set<string>(), new Set<string>()];
  for (const { dir, name, server, distractors, surfaces = [] } of suites)
    for (const spec of [server, ...distractors, ...surfaces.map((surface) => surface.server)]) {
      for (const path of await listArguments(spec, { dir, name, env })) {
        const found = isInside(cwd, path) ? statSync(path, { throwIfNoEntry: false }) : undefined;
        if (found?.isDirectory()) code.add(path);
        if (!found?.isFile()) continue;
        files.add(path);
        if (sourceFile.test(path)) code.add(dirname(path));
      }
    }
  return { files, code };
}

/** The words of a server's command that can be paths, as absolute paths. */
async function listArguments(written: Suite["server"], about: ServerPlace): Promise<string[]> {
  if (!written || "tools" in written) return [];
  // Mistakes in a server are reported when it is opened.
  const servers = await expandConfiguration(written, about).catch(() => []);
  const resolved = servers.map((one) => resolveServer(one, about.name, about.dir, about).catch(() => undefined));
  return (await Promise.all(resolved)).flatMap((one) => {
    if (!one || !("command" in one.spec)) return [];
    const { command, args = [], cwd = "." } = one.spec;
    const isPath = /[\\/]/.test(command);
    const words = [...(isPath ? [command] : []), ...args.filter((word) => word !== "" && !word.startsWith("-"))];
    return words.map((word) => resolve(one.dir, cwd, word));
  });
}

type ServerPlace = { dir: string; name: string; env: Io["env"] };

async function expandConfiguration(written: LiveServer | Configuration, { dir }: ServerPlace): Promise<LiveServer[]> {
  if (!("all" in written)) return [written];
  const { config } = written;
  return listEnabled(await readHostFile(resolve(dir, config))).map((name) => ({ config, name }));
}

function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way) && !way.split(sep).includes("node_modules");
}

/** The folders of the skills whose `SKILL.md` is among these files. */
export function listSkillFolders(files: Iterable<string>): Set<string> {
  return new Set([...files].filter((path) => basename(path) === "SKILL.md").map((path) => dirname(path)));
}

/** The shortest time between two looks, in ms. */
const settleMs = 100;
const mostWaits = 20;
/** Looks at many files are rarer: they take at most a twentieth of the time. */
const restingFactor = 20;

/**
 * Waits for changes of files by comparing their stamps (see `stampFile`). Events of the system are not enough: network
 * drives send none, and they are lost for files and folders that are replaced.
 */
export class FileWatcher {
  readonly #out: string;
  #paths: WatchedPaths = { files: new Set(), skills: new Set(), suites: new Set(), code: new Set() };
  /** The stamps with which changes are compared. A file without one was missing. */
  #seen = new Map<string, string>();

  /** `out`: the folder of records, which is not watched. */
  constructor(out: string) {
    this.#out = out;
  }

  /** Watches these paths, those that are new as they are now. */
  watch(paths: WatchedPaths): void {
    const isNew = (kind: keyof WatchedPaths) =>
      new Set([...paths[kind]].filter((path) => !this.#paths[kind].has(path)));
    const added = this.#look({
      files: isNew("files"),
      skills: isNew("skills"),
      suites: isNew("suites"),
      code: isNew("code"),
    });
    this.#paths = paths;
    this.#seen = new Map([...added, ...this.#seen]);
  }

  /**
   * Waits for changes, and until no more arrive or two seconds have passed. `stamps`: those of files when they were read.
   * Returns the files that changed since then, or since they were last returned; undefined if `signal` aborts first.
   */
  async next(stamps: ReadonlyMap<string, string>, signal: AbortSignal): Promise<string[] | undefined> {
    // A file that could not be read may have been listed before it was removed, which is a change.
    for (const [path, stamp] of stamps) if (stamp !== "") this.#seen.set(path, stamp);
    let changed: string[] = [];
    for (let waits = 0; !signal.aborted; ) {
      const began = performance.now();
      const now = this.#look(this.#paths);
      const before = changed.length;
      const isChanged = (path: string) => (this.#seen.get(path) ?? "") !== (now.get(path) ?? "");
      changed = [...new Set([...this.#seen.keys(), ...now.keys()])].filter(isChanged).sort();
      // An editor or a compiler writes several files in a row.
      if (changed.length > 0 && (changed.length === before || ++waits > mostWaits)) {
        this.#seen = now;
        return changed;
      }
      await rest(Math.max(settleMs, (performance.now() - began) * restingFactor), signal);
    }
    return undefined;
  }

  /** The stamps of all files of these paths. */
  #look({ files, skills, suites, code }: WatchedPaths): Map<string, string> {
    const found = new Map<string, string>();
    const add = (path: string) => {
      const stamp = stampFile(path);
      if (stamp !== "") found.set(path, stamp);
    };
    for (const path of files) add(path);
    for (const folder of skills) for (const path of this.#list(folder, /^node_modules$/)) add(path);
    for (const folder of suites) for (const path of this.#list(folder, skipped)) if (suiteFile.test(path)) add(path);
    for (const folder of code) for (const path of this.#list(folder, skipped)) if (sourceFile.test(path)) add(path);
    return found;
  }

  /** The files in a folder, whatever its depth, or the path itself if it is a file. */
  *#list(path: string, ignored: RegExp): Generator<string> {
    if (isInside(this.#out, path)) return;
    let entries: Dirent[];
    try {
      entries = readdirSync(path, { withFileTypes: true });
    } catch {
      // A file, or it was removed, or may not be read.
      return yield path;
    }
    for (const entry of entries) {
      const own = join(path, entry.name);
      if (ignored.test(entry.name)) continue;
      if (entry.isDirectory()) yield* this.#list(own, ignored);
      else yield own;
    }
  }
}

function rest(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
  });
}
