import { EventEmitter, once } from "node:events";
import type { Stats } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { printableLines } from "../../base/text/display.ts";
import { toComparedRun } from "../../base/types/check.ts";
import { EvalsError, type ExitCode, exitCodes, messageOf, printProblem, usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import type { Model } from "../../base/types/model.ts";
import type { PartialRun, RunManifest, RunSummary } from "../../base/types/run.ts";
import { asksModel, type Suite } from "../../base/types/suite.ts";
import { isWithin } from "../../input/parsing/folders.ts";
import { partialFolder } from "../../records/find.ts";
import { count, some } from "../../reports/format.ts";
import { printJson } from "../../reports/result.ts";
import { type AcceptedRecord, type CurrentCases, findTouched } from "../../servers/changes/changes.ts";
import { findBaseline } from "../check/ask.ts";
import { comparability, describeRun } from "../design/comparable.ts";
import { toFlag } from "../pipeline/recordedOptions.ts";
import { createLimits, type Workspace, withWorkspace } from "../workspace/workspace.ts";
import { describePartial } from "./report/status.ts";
import type { RunOptions } from "./runOptions.ts";
import { addTotals } from "./summary.ts";

// A partial run asks the cases that a change touches once. It is a quick look that decides nothing for the suite.

/**
 * The options of a partial run: one trial per case by default, nothing checked, and a record where `latest` does not
 * find it. Throws a usage error for an option that needs a whole run.
 */
export function toPartialOptions(options: RunOptions): RunOptions {
  const flag = options.watch ? "--watch" : "--changed";
  const isGiven = (name: keyof RunOptions) =>
    options.given?.has(name) && options[name] !== false && options[name] !== "off";
  const whole = (["accept", "blame", "check", "nightly", "shard", "resume"] as const).find(isGiven);
  if (whole)
    throw usageError(`${flag} asks a part of the cases, and ${toFlag(whole)} needs a whole run.`, "Omit one of them.");
  const once = options.watch ? (["json", "dryRun", "batch"] as const).find(isGiven) : undefined;
  if (once) throw usageError(`--watch and ${toFlag(once)} exclude each other.`, "Omit --watch, or use --changed.");
  const trials = options.given?.has("trials") ? options.trials : 1;
  const given = new Set([...(options.given ?? []), "trials"]);
  const { out } = options;
  return { ...options, trials, given, check: "off", blame: false, out: partialFolder(out), cacheIn: out };
}

/** Finds what the cases of a suite on a model were last asked with; undefined if unknown. */
type FindRecord = (suite: Suite, model: Model) => AcceptedRecord | undefined;

/** Reads the accepted baselines as records. Ignores one that a run cannot be compared with, with a warning. */
async function readAccepted(
  { suites, models, cases }: Workspace,
  { baselines, host }: Pick<RunOptions, "baselines" | "host">,
  io: Pick<Io, "cwd" | "err">,
): Promise<FindRecord> {
  const found: { suite: Suite; model: Model; record: AcceptedRecord }[] = [];
  const names = suites.map(({ name }) => name);
  for (const suite of suites) {
    const own = cases.filter((planned) => planned.suite === suite);
    // Lift is measured within each run, so such a suite has no baseline.
    for (const model of suite.lift === undefined ? models.filter((one) => asksModel(suite, one)) : []) {
      const { found: accepted } = await findBaseline(resolve(io.cwd, baselines), suite, model, names);
      if (!accepted) continue;
      const compared = comparability(
        { ...toComparedRun(accepted.baseline), suite: suite.name },
        describeRun(own, model, { host }),
      );
      if (compared.kind === "comparable") found.push({ suite, model, record: accepted.baseline });
      else {
        const message = `Every case of "${suite.name}" is asked: its baseline cannot be compared. ${compared.reasons.join(" ")}`;
        printProblem(io)({ severity: "warning", message });
      }
    }
  }
  return (suite, model) => found.find((one) => one.suite === suite && one.model === model)?.record;
}

/** Selects the cases that changes since their records touch, on any of their models; all cases without a record. */
function selectTouched(
  { suites, models, cases }: Workspace,
  findRecord: FindRecord,
  since: PartialRun["since"],
): PartialRun {
  const perSuite = suites.map((suite) => {
    const now = describeCases({ cases }, suite);
    const asked = new Map<string, PartialRun["asked"][number]>();
    for (const model of models.filter((one) => asksModel(suite, one))) {
      const record = findRecord(suite, model);
      const touched = record
        ? findTouched(record, now)
        : now.cases.map(({ id }) => ({ id, why: "no record" as const, tools: [] }));
      for (const { id, why, tools } of touched)
        if (!asked.has(id)) asked.set(id, { suite: suite.name, case: id, why, tools });
    }
    return { suite, asked: now.cases.flatMap(({ id }) => asked.get(id) ?? []), total: now.cases.length };
  });
  return {
    since,
    asked: perSuite.flatMap(({ asked }) => asked),
    leftOut: perSuite.flatMap(({ suite, asked, total }) =>
      total > asked.length ? [{ suite: suite.name, why: "unchanged" as const, cases: total - asked.length }] : [],
    ),
  };
}

/** The cases of a suite with the tools that they are shown now. */
export function describeCases({ cases }: Pick<Workspace, "cases">, suite: Suite): CurrentCases {
  const own = cases.filter((planned) => planned.suite === suite);
  return {
    cases: own.map((planned) => ({ ...planned.case, toolset: planned.toolset.hash })),
    toolsets: Object.fromEntries(own.map(({ toolset }) => [toolset.hash, toolset.tools])),
  };
}

/** Reduces a workspace to these cases, each of which is asked in all its wordings. */
function keepCases(workspace: Workspace, asked: readonly { suite: string; case: string }[]): Workspace {
  const wanted = new Set(asked.map((one) => JSON.stringify([one.suite, one.case])));
  const keep = (planned: Workspace["cases"][number]) =>
    wanted.has(JSON.stringify([planned.suite.name, planned.case.id]));
  const askAll = (planned: Workspace["cases"][number]) => {
    const { trials, paraphrases = [] } = planned.case;
    return { ...planned, case: { ...planned.case, trials: Math.max(trials, paraphrases.length) } };
  };
  const cases = workspace.cases.filter(keep).map(askAll);
  const suites = workspace.suites.filter((suite) => cases.some((planned) => planned.suite === suite));
  return { ...workspace, suites, cases, armCases: workspace.armCases.filter(keep).map(askAll) };
}

/** Reports a partial run without cases. It makes no record. */
export function reportNothing({ json }: RunOptions, partial: PartialRun, io: Io): ExitCode {
  const summary: RunSummary = {
    run: "",
    dir: "",
    suites: [],
    totals: addTotals([]),
    partial,
    ok: true,
    exitCode: exitCodes.passed,
  };
  if (json) printJson(summary, [], io);
  else io.out(printableLines(...describePartial(partial)));
  return exitCodes.passed;
}

/** Selects the cases of a run: those of the partial record that it finishes, those that changed, or all. */
export async function selectCases(
  workspace: Workspace,
  options: RunOptions,
  resumed: { manifest: RunManifest } | undefined,
  io: Io,
): Promise<{ workspace: Workspace; partial?: PartialRun }> {
  const recorded = resumed?.manifest.partial;
  if (recorded) return { workspace: keepCases(workspace, recorded.asked), partial: recorded };
  if (!options.changed || resumed) return { workspace };
  const partial = selectTouched(workspace, await readAccepted(workspace, options, io), "baseline");
  if (partial.asked.length > 0) io.err(printableLines(...describePartial(partial)));
  return { workspace: keepCases(workspace, partial.asked), partial };
}

/** The options of --watch. `reread`: reads them again, with the project file as it is now. */
export type WatchOptions = RunOptions & { reread?: (() => Promise<RunOptions>) | undefined };

const watchedFile =
  /\.(?:ya?ml|jsonl?|csv|toml|md|txt|[cm]?[jt]sx?|py|go|rs|rb|java|kt|scala|cs|fs|php|swift|exs?|lua|sh)$/i;
const ignoredFolder = /^(?:\.git|\.venv|\.cache|__pycache__|node_modules|target|venv|baselines|judges)$/;
/** An editor or a compiler writes several files in a row. */
const settleMs = 150;

/**
 * `evals run --watch`: asks every case once (with `changed`, those changed since the baseline), and after each saved
 * file of these paths those that it touches, until a signal or a limit. Survives mistakes in files.
 */
export async function watchRuns(given: WatchOptions, io: Io): Promise<ExitCode> {
  const { signal } = io;
  const { runSuites } = await import("./runSuites.ts");
  let options = toPartialOptions(given);
  const limits = createLimits(options);
  const asked = new Map<string, AcceptedRecord>();
  /** No server writes these. */
  let suiteFiles: readonly string[] = [];
  let runs = 0;

  /** Asks the touched cases. Returns whether there were none. */
  const runTouched = async () => {
    let isIdle = false;
    await withWorkspace({ ...options, limits }, io, async (workspace) => {
      suiteFiles = workspace.suites.map(({ file }) => resolve(io.cwd, file));
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

  const printMistakes = (error: unknown) => {
    if (!(error instanceof EvalsError)) throw error;
    io.err(`${error.message}\n`);
  };
  const changes = await watchFiles([".", ...(given.paths ?? [])], resolve(io.cwd, given.out), io);
  const end = (exitCode: ExitCode, why = "") => {
    const records = runs === 0 ? "" : ` Records: ${options.out}`;
    io.err(`${why}Stopped watching after ${count(runs, "run")}.${records}\n`);
    return exitCode;
  };
  try {
    for (;;) {
      // What a server writes at its start would start it forever.
      if (await runTouched().catch(printMistakes)) await changes.ignorePending((path) => suiteFiles.includes(path));
      if (signal.aborted) return end(io.signalExitCode());
      if (limits.reached !== undefined) return end(exitCodes.incomplete, `${limits.reached}. `);
      io.err("Watching the files of this folder. Press Ctrl-C to stop.\n");
      const changed = await changes.next();
      // Ctrl-C is the normal way to end a watch.
      if (signal.aborted) return end(exitCodes.passed);
      io.err(printableLines(`Changed: ${some(changed.map((path) => relative(io.cwd, path)))}`));
      const reread = await given.reread?.().then(toPartialOptions).catch(printMistakes);
      if (reread) options = reread;
    }
  } finally {
    await changes.close();
  }
}

/**
 * Collects the changed files under these paths, without packages and records, once all are watched. chokidar takes what
 * replaces an entry of another kind (a file in place of a link) for the old entry, and reports nothing of it from then
 * on. So what the system tells of a folder counts as well; where chokidar left it out, the folders are watched anew.
 */
async function watchFiles(paths: readonly string[], out: string, { cwd, signal }: Pick<Io, "cwd" | "signal">) {
  const ignored = (path: string, stats?: Stats) =>
    ignoredFolder.test(basename(path)) || isWithin(out, path) || (stats?.isFile() === true && !watchedFile.test(path));
  const options = { ignored, ignoreInitial: true, followSymlinks: false, ignorePermissionErrors: true };
  const { watch } = await import("chokidar");
  const all = paths.map((path) => resolve(cwd, path));
  const changed = new Set<string>();
  const reported = new Set<string>();
  const woken = new EventEmitter();
  let failure: unknown;
  const note = (path: string) => {
    changed.add(path);
    woken.emit("change");
  };
  const open = async () => {
    const watcher = watch(all, options);
    watcher.on("all", (_, path) => {
      reported.add(path);
      note(path);
    });
    watcher.on("raw", (_, name, details) => {
      const { watchedPath } = details as { watchedPath?: string };
      const isOfFolder = name && watchedPath && name !== basename(watchedPath);
      if (isOfFolder && watchedFile.test(name) && !ignored(join(watchedPath, name))) note(join(watchedPath, name));
    });
    watcher.on("error", (error) => {
      failure ??= error;
      woken.emit("change");
    });
    await once(watcher, "ready");
    return watcher;
  };
  let watcher = await open();
  return {
    close: () => watcher.close(),
    /** Forgets the changes up to now, except of files for which `keep` is true. */
    async ignorePending(keep: (path: string) => boolean) {
      await pause(settleMs);
      for (const path of changed) if (!keep(path)) changed.delete(path);
    },
    /** Waits for changes. Empty if `signal` aborts first. Throws a usage error if files cannot be watched. */
    async next(): Promise<string[]> {
      const aborted = () => {};
      if (changed.size === 0 && !failure) await once(woken, "change", { signal }).catch(aborted);
      if (!signal.aborted) await pause(settleMs);
      if (failure)
        throw usageError(
          `The files of this folder cannot be watched: ${messageOf(failure)}.`,
          "Set CHOKIDAR_USEPOLLING=1, or run with --changed.",
        );
      if ([...changed].some((path) => !reported.has(path))) {
        await watcher.close();
        watcher = await open();
      }
      const paths = [...changed].sort();
      changed.clear();
      reported.clear();
      return paths;
    },
  };
}
