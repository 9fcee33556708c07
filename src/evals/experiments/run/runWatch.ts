import { relative, resolve } from "node:path";
import type { SpendingLimits } from "../../asking/trials/limits.ts";
import { printableLines } from "../../base/secrets/visible.ts";
import { EvalsError, type ExitCode, exitCodes } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import type { PartialRun, RunSummary } from "../../base/types/run.ts";
import type { Suite } from "../../base/types/suite.ts";
import { addCost, type Cost } from "../../base/types/trial.ts";
import { stampFile, trackReads } from "../../input/parsing/read.ts";
import { count, money, some } from "../../reports/format.ts";
import { createLimits, type Workspace, withWorkspace } from "../workspace/workspace.ts";
import { describePartial } from "./report/status.ts";
import type { RunOptions } from "./runOptions.ts";
import {
  describeCases,
  type FindRecord,
  keepCases,
  readAccepted,
  selectTouched,
  toPartialOptions,
} from "./runPartial.ts";
import { runSuites } from "./runSuites.ts";
import { FileWatcher, listServerPaths, listSkillFolders, type WatchedPaths } from "./watchedFiles.ts";

/** The options of --watch. `project`: the project files that options come from, and how to read them again. */
export type WatchOptions = RunOptions & {
  project?: { files: readonly string[]; reread(): Promise<RunOptions> } | undefined;
};

/**
 * `evals run --watch`: asks every case once (with `changed`, those that changed since the baseline). Then, after each
 * change of a file, asks the cases that it touches, until a signal or a limit stops it. Prints mistakes in files, and
 * waits for the next change.
 */
export async function watchRuns(given: WatchOptions, io: Io): Promise<ExitCode> {
  return await new WatchSession(given, io).run();
}

class WatchSession {
  readonly #io: Io;
  readonly #limits: SpendingLimits;
  readonly #watcher: FileWatcher;
  readonly #asked = new AskedCases();
  #given: WatchOptions;
  #options: RunOptions;
  #paths: WatchedPaths = { files: new Set(), skills: new Set(), suites: new Set(), code: new Set() };
  #rounds = 0;
  #trials = 0;
  #spent: Cost = 0;

  constructor(given: WatchOptions, io: Io) {
    this.#given = given;
    this.#options = toPartialOptions(given);
    this.#io = io;
    this.#limits = createLimits(this.#options);
    this.#watcher = new FileWatcher(resolve(io.cwd, given.out));
  }

  async run(): Promise<ExitCode> {
    const { signal } = this.#io;
    let changed: string[] = [];
    /** The files whose last change led to no asked case. */
    let idle: readonly string[] = [];
    for (;;) {
      const { reads, isEmpty } = await this.#round();
      if (signal.aborted) return this.#end(this.#io.signalExitCode());
      if (this.#limits.reached !== undefined) return this.#end(exitCodes.incomplete, `${this.#limits.reached}. `);
      // A file that a server writes whenever it starts would restart it forever. So ignore a second change without
      // effect.
      for (const path of isEmpty ? changed : []) if (idle.includes(path)) reads.set(path, stampFile(path));
      idle = isEmpty ? changed : [];
      const next = await this.#wait(reads);
      // Ctrl-C is the normal way to end a watch.
      if (!next) return this.#end(exitCodes.passed);
      changed = next;
      this.#io.err(printableLines(`Changed: ${some(changed.map((path) => relative(this.#io.cwd, path)))}`));
      await this.#reread(changed);
    }
  }

  /** Reloads everything, and asks the touched cases. `isEmpty`: there were none. */
  async #round(): Promise<{ reads: Map<string, string>; isEmpty: boolean }> {
    const reads = new Map<string, string>();
    let isEmpty = true;
    const use = async (workspace: Workspace) => {
      await this.#watch(reads, workspace.suites);
      const { listed, partial } = await this.#select(workspace);
      isEmpty = partial.asked.length === 0;
      if (isEmpty || this.#rounds > 0 || partial.leftOut.length > 0)
        this.#io.err(printableLines(...describePartial(partial)));
      if (isEmpty) return;
      this.#rounds++;
      const asked = keepCases(listed, partial.asked);
      const onSummary = (summary: RunSummary) => {
        this.#asked.add(listed, summary);
        this.#trials += summary.totals.trials - summary.totals.missing;
        this.#spent = addCost(this.#spent, summary.totals.costUsd);
      };
      const report = await runSuites(asked, this.#options, undefined, this.#io, { partial, onSummary });
      await report();
    };
    try {
      const options = { ...this.#options, limits: this.#limits };
      await trackReads(reads, () => withWorkspace(options, this.#io, use));
    } catch (error) {
      if (!(error instanceof EvalsError)) throw error;
      this.#io.err(`${error.message}\n`);
      await this.#watch(reads, []);
    }
    return { reads, isEmpty };
  }

  /** Selects the cases to ask, among those whose server can be listed. */
  async #select(workspace: Workspace): Promise<{ listed: Workspace; partial: PartialRun }> {
    const isListed = (one: Workspace["cases"][number]) => one.unavailable?.stage !== "server";
    const lost = workspace.suites.filter(
      (suite) => !workspace.cases.some((one) => one.suite === suite && isListed(one)),
    );
    const suites = workspace.suites.filter((suite) => !lost.includes(suite));
    const listed = { ...workspace, suites, cases: workspace.cases.filter(isListed) };
    const isFirst = this.#asked.isEmpty;
    const { changed } = this.#options;
    if (isFirst && changed) {
      const accepted = await readAccepted(listed, this.#options, this.#io);
      this.#asked.start(listed, accepted);
    }
    const partial = selectTouched(listed, this.#asked.find, isFirst && changed ? "baseline" : "last asked");
    const leftOut = lost.map(({ name, cases }) => ({ suite: name, why: "not listed" as const, cases: cases.length }));
    return { listed, partial: { ...partial, leftOut: [...partial.leftOut, ...leftOut] } };
  }

  /** Watches the files that were read or that suites start. After a failed load, keeps the previous ones too. */
  async #watch(reads: ReadonlyMap<string, string>, suites: readonly Suite[]): Promise<void> {
    const { cwd } = this.#io;
    const { paths = [], project } = this.#given;
    const server = await listServerPaths(suites, this.#io);
    const before = suites.length === 0 ? this.#paths : undefined;
    this.#paths = {
      files: new Set([...reads.keys(), ...server.files, ...(project?.files ?? []), ...(before?.files ?? [])]),
      skills: new Set([...listSkillFolders(reads.keys()), ...(before?.skills ?? [])]),
      suites: new Set((paths.length > 0 ? paths : ["evals"]).map((path) => resolve(cwd, path))),
      code: new Set([...server.code, ...(before?.code ?? [])]),
    };
    this.#watcher.watch(this.#paths);
  }

  /** Waits for changes; undefined if the user ends the watch. Shows a line meanwhile, and removes it on a terminal. */
  async #wait(reads: ReadonlyMap<string, string>): Promise<string[] | undefined> {
    const { err, errIsTerminal, signal } = this.#io;
    const files = count(this.#paths.files.size, "file");
    err(
      `Watching ${files} (${count(this.#trials, "trial")} so far${this.#describeSpent()}). Press Ctrl-C to stop.${errIsTerminal ? "" : "\n"}`,
    );
    const changed = await this.#watcher.next(reads, signal);
    if (errIsTerminal) err("\r\x1b[K");
    return changed;
  }

  async #reread(changed: readonly string[]): Promise<void> {
    const { project } = this.#given;
    if (!project?.files.some((file) => changed.includes(file))) return;
    try {
      this.#given = { ...(await project.reread()), project };
      this.#options = toPartialOptions(this.#given);
    } catch (error) {
      if (!(error instanceof EvalsError)) throw error;
      this.#io.err(`${error.message}\n`);
    }
  }

  #describeSpent(): string {
    if (this.#spent === "unknown") return ", cost unknown";
    return this.#spent === 0 ? "" : `, ${money(this.#spent)}`;
  }

  #end(exitCode: ExitCode, why = ""): ExitCode {
    const records = this.#rounds === 0 ? "" : ` Records: ${this.#options.out}`;
    this.#io.err(
      `${why}Stopped watching after ${count(this.#rounds, "run")} (${count(this.#trials, "trial")}${this.#describeSpent()}).${records}\n`,
    );
    return exitCode;
  }
}

/** Remembers what each case was last asked with, by suite and model. */
class AskedCases {
  readonly #records = new Map<string, NonNullable<ReturnType<FindRecord>>>();

  get isEmpty(): boolean {
    return this.#records.size === 0;
  }

  readonly find: FindRecord = (suite, model) => this.#records.get(this.#key(suite.name, model.id));

  start({ suites, models }: Workspace, find: FindRecord): void {
    for (const suite of suites)
      for (const model of models) {
        const record = find(suite, model);
        if (record) this.#records.set(this.#key(suite.name, model.id), record);
      }
  }

  add(workspace: Workspace, summary: RunSummary): void {
    for (const { name, model, cases: asked } of summary.suites) {
      const suite = workspace.suites.find((one) => one.name === name);
      if (!suite) continue;
      const now = describeCases(workspace, suite);
      const key = this.#key(name, model);
      const before = this.#records.get(key) ?? { cases: [], toolsets: {} };
      const kept = new Map(before.cases.map((one) => [one.id, one]));
      const answered = new Map(asked.map((one) => [one.id, one.trials + one.notGradable]));
      for (const { id, hash, toolset } of now.cases) {
        const trials = answered.get(id);
        if (trials !== undefined) kept.set(id, { id, hash, toolset, trials });
      }
      const cases = [...kept.values()];
      const lists = { ...before.toolsets, ...now.toolsets };
      const used = new Set(cases.map(({ toolset }) => toolset));
      const toolsets = Object.fromEntries(Object.entries(lists).filter(([hash]) => used.has(hash)));
      this.#records.set(key, { cases, toolsets });
    }
  }

  #key(suite: string, model: string): string {
    return JSON.stringify([suite, model]);
  }
}
