import { statSync } from "node:fs";
import { basename, dirname, isAbsolute, relative, resolve, sep } from "node:path";
import { type FSWatcher, watch } from "chokidar";
import type { Io } from "../../base/types/io.ts";
import type { Configuration, Suite } from "../../base/types/suite.ts";
import { stampFile } from "../../input/parsing/read.ts";
import { listEnabled } from "../../servers/configuration.ts";
import { type LiveServer, readHostFile, resolveServer } from "../../servers/spec.ts";

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
const skipped = new Set(["node_modules", "baselines", "judges"]);

/** Finds the entry points of the server commands of suites, and the folders of their sources, inside `cwd`. */
export async function listServerPaths(
  suites: readonly Suite[],
  { cwd, env }: Pick<Io, "cwd" | "env">,
): Promise<Pick<WatchedPaths, "files" | "code">> {
  const files = new Set<string>();
  const code = new Set<string>();
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
  const resolved = servers.map((one) => resolveServer(one, about.name, about.dir, about.env).catch(() => undefined));
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

/** Waits for changes of files. Uses chokidar, which follows replaced files and skips folders on every system. */
export class FileWatcher {
  readonly #out: string;
  readonly #changed = new Set<string>();
  #paths: WatchedPaths = { files: new Set(), skills: new Set(), suites: new Set(), code: new Set() };
  #watcher: FSWatcher | undefined;
  #added = new Set<string>();
  /** Whether a watched folder was removed: chokidar does not notice when it is created again. */
  #isLost = false;
  #wake = () => {};

  /** `out`: the folder of records, which is not watched. */
  constructor(out: string) {
    this.#out = out;
  }

  async watch(paths: WatchedPaths): Promise<void> {
    this.#paths = paths;
    const given = [...listFolders(paths), ...paths.files];
    const before = this.#watcher;
    if (before && !this.#isLost) {
      // A second watcher would miss the events that the first one still holds back.
      before.add(given.filter((path) => !this.#added.has(path)));
      for (const path of given) this.#added.add(path);
      return;
    }
    const watcher = watch(given, {
      // Everything in a folder that was removed and created again is new.
      ignoreInitial: !this.#isLost,
      ignored: (path, found) => this.#isIgnored(path, found?.isFile()),
    });
    this.#watcher = watcher;
    this.#added = new Set(given);
    this.#isLost = false;
    watcher.on("all", (event, path) => {
      if (event === "addDir" || this.#isIgnored(path, event !== "unlinkDir")) return;
      if (event === "unlinkDir") {
        if (!listFolders(this.#paths).includes(path)) return;
        this.#isLost = true;
      }
      this.#changed.add(path);
      this.#wake();
    });
    // Ignore unreadable folders and too many files: everything else is still watched.
    watcher.on("error", () => {});
    await new Promise<void>((done) => watcher.once("ready", done));
    await before?.close();
  }

  forget(paths: Iterable<string>): void {
    for (const path of paths) this.#changed.delete(path);
  }

  /**
   * Waits for changes, and until no more arrive or two seconds have passed. Returns the files that changed since they
   * had these stamps (see `stampFile`), and the files without one that changed since the last call; undefined if
   * `signal` aborts first.
   */
  async next(stamps: ReadonlyMap<string, string>, signal: AbortSignal): Promise<string[] | undefined> {
    this.#compare(stamps);
    while (this.#changed.size === 0 && !signal.aborted) {
      await this.#waitForEvent(signal);
      this.#compare(stamps);
    }
    // An editor or a compiler writes several files in a row.
    for (let waits = 0; waits < mostWaits && !signal.aborted; waits++) {
      const before = this.#changed.size;
      await new Promise((done) => setTimeout(done, settleMs));
      this.#compare(stamps);
      if (this.#changed.size === before) break;
    }
    if (signal.aborted) return undefined;
    const changed = [...this.#changed].sort();
    this.#changed.clear();
    return changed;
  }

  async close(): Promise<void> {
    await this.#watcher?.close();
  }

  /**
   * Adds the files whose stamp has changed, and drops those whose stamp has not. Events are not enough: network drives
   * send none, and chokidar loses a file for good if its path was a folder for a moment. A file that is still missing is
   * not dropped, because it may have been listed before it was removed.
   */
  #compare(stamps: ReadonlyMap<string, string>): void {
    for (const [path, stamp] of stamps) {
      if (stampFile(path) !== stamp) this.#changed.add(path);
      else if (stamp !== "") this.#changed.delete(path);
    }
  }

  #waitForEvent(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#wake(), compareMs);
      const done = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", done);
        this.#wake = () => {};
        resolve();
      };
      this.#wake = done;
      signal.addEventListener("abort", done);
    });
  }

  #isIgnored(path: string, isFile: boolean | undefined): boolean {
    const { files, skills, suites, code } = this.#paths;
    if (isInside(this.#out, path)) return true;
    if ([files, skills, suites, code].some((given) => given.has(path))) return false;
    const inAny = (folders: ReadonlySet<string>) => [...folders].some((folder) => isInside(folder, path));
    if (inAny(skills)) return false;
    const name = basename(path);
    if (name.startsWith(".") || skipped.has(name)) return true;
    // The type of a path is unknown at first. Do not ignore it then.
    if (!isFile) return false;
    return !(inAny(suites) && suiteFile.test(path)) && !(inAny(code) && sourceFile.test(path));
  }
}

/** How long a change without an event can go unnoticed. */
const compareMs = 1_000;
const settleMs = 100;
const mostWaits = 20;

const listFolders = ({ skills, suites, code }: WatchedPaths) => [...skills, ...suites, ...code];

/** The folders of the skills whose `SKILL.md` is among these files. */
export function listSkillFolders(files: Iterable<string>): Set<string> {
  return new Set([...files].filter((path) => basename(path) === "SKILL.md").map((path) => dirname(path)));
}
