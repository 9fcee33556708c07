import { once } from "node:events";
import type { Stats } from "node:fs";
import { basename, relative, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type FSWatcher, watch } from "chokidar";
import { printableLines } from "../../base/text/display.ts";
import { EvalsError, type ExitCode, exitCodes, messageOf, usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import { isWithin } from "../../input/parsing/folders.ts";
import { count, some } from "../../reports/format.ts";
import type { AcceptedRecord } from "../../servers/changes/accepted.ts";
import { createLimits, withWorkspace } from "../workspace/workspace.ts";
import { describePartial } from "./report/status.ts";
import type { RunOptions } from "./runOptions.ts";
import { describeCases, keepCases, readAccepted, selectTouched, toPartialOptions } from "./runPartial.ts";
import { runSuites } from "./runSuites.ts";

/** The options of --watch. `reread`: reads them again, with the project file as it is now. */
export type WatchOptions = RunOptions & { reread?: (() => Promise<RunOptions>) | undefined };

const watchedFile =
  /\.(?:ya?ml|jsonl?|csv|toml|md|txt|[cm]?[jt]sx?|py|go|rs|rb|java|kt|scala|cs|fs|php|swift|exs?|lua|sh)$/i;
const ignoredFolder = /^(?:\.git|\.venv|\.cache|__pycache__|node_modules|target|venv|baselines|judges)$/;
/** An editor or a compiler writes several files in a row. */
const settleMs = 150;

/**
 * `evals run --watch`: asks every case once (with `changed`, those that changed since the baseline), and after each
 * saved file of this folder or of the given paths those that it touches, until a signal or a limit. Prints mistakes in
 * files, and waits for the next change.
 */
export async function watchRuns(given: WatchOptions, io: Io): Promise<ExitCode> {
  const { signal } = io;
  let options = toPartialOptions(given);
  const limits = createLimits(options);
  const asked = new Map<string, AcceptedRecord>();
  let runs = 0;

  /** Asks the touched cases. Returns whether there were none. */
  const runTouched = async () => {
    let isIdle = false;
    await withWorkspace({ ...options, limits }, io, async (workspace) => {
      const accepted = asked.size === 0 && options.changed ? await readAccepted(workspace, options, io) : undefined;
      const findAsked = accepted ?? (({ name }) => asked.get(name));
      const partial = selectTouched(workspace, findAsked, accepted ? "baseline" : "last asked");
      isIdle = partial.asked.length === 0;
      if (asked.size > 0 || partial.leftOut.length > 0) io.err(printableLines(...describePartial(partial)));
      if (!isIdle) await (await runSuites(keepCases(workspace, partial.asked), options, undefined, io, { partial }))();
      if (!isIdle) runs++;
      for (const suite of workspace.suites) {
        const { cases, toolsets } = describeCases(workspace, suite);
        asked.set(suite.name, { cases: cases.map((one) => ({ ...one, trials: 1 })), toolsets });
      }
    });
    return isIdle;
  };

  const changes = await watchFiles([".", ...(given.paths ?? [])], resolve(io.cwd, given.out), io);
  const end = (exitCode: ExitCode, why = "") => {
    const records = runs === 0 ? "" : ` Records: ${options.out}`;
    io.err(`${why}Stopped watching after ${count(runs, "run")}.${records}\n`);
    return exitCode;
  };
  try {
    for (;;) {
      try {
        // What a server writes at its start would start it forever.
        if (await runTouched()) await changes.ignorePending();
      } catch (error) {
        if (!(error instanceof EvalsError)) throw error;
        io.err(`${error.message}\n`);
      }
      if (signal.aborted) return end(io.signalExitCode());
      if (limits.reached !== undefined) return end(exitCodes.incomplete, `${limits.reached}. `);
      io.err("Watching the files of this folder. Press Ctrl-C to stop.\n");
      const changed = await changes.next();
      // Ctrl-C is the normal way to end a watch.
      if (signal.aborted) return end(exitCodes.passed);
      io.err(printableLines(`Changed: ${some(changed.map((path) => relative(io.cwd, path)))}`));
      try {
        if (given.reread) options = toPartialOptions(await given.reread());
      } catch (error) {
        if (!(error instanceof EvalsError)) throw error;
        io.err(`${error.message}\n`);
      }
    }
  } finally {
    await changes.close();
  }
}

/** Collects the changed files under these paths, without packages and records, once all are watched. */
async function watchFiles(paths: readonly string[], out: string, { cwd, signal }: Pick<Io, "cwd" | "signal">) {
  const ignored = (path: string, stats?: Stats) =>
    ignoredFolder.test(basename(path)) || isWithin(out, path) || (stats?.isFile() === true && !watchedFile.test(path));
  const options = { ignored, ignoreInitial: true, followSymlinks: false, ignorePermissionErrors: true };
  const watcher: FSWatcher = watch(
    paths.map((path) => resolve(cwd, path)),
    options,
  );
  const changed = new Set<string>();
  let failure: unknown;
  watcher.on("all", (_, path) => changed.add(path)).on("error", (error) => (failure ??= error));
  await once(watcher, "ready");
  return {
    close: () => watcher.close(),
    async ignorePending() {
      await pause(settleMs);
      changed.clear();
    },
    /** Waits for changes. Empty if `signal` aborts first. Throws a usage error if the system cannot watch more files. */
    async next(): Promise<string[]> {
      const aborted = () => {};
      if (changed.size === 0 && !failure) await once(watcher, "all", { signal }).catch(aborted);
      if (failure)
        throw usageError(
          `The files of this folder cannot be watched: ${messageOf(failure)}.`,
          "Set CHOKIDAR_USEPOLLING=1, or run with --changed.",
        );
      if (!signal.aborted) await pause(settleMs);
      const paths = [...changed].sort();
      changed.clear();
      return paths;
    },
  };
}
