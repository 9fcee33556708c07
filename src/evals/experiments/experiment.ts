import { resolve } from "node:path";
import { type ExitCode, exitCodes, formatProblem, usageError } from "../errors.ts";
import type { Io } from "../io.ts";
import { findRecord, finishRun } from "../runs/record.ts";
import { type PlannedCase, requestedCells } from "../trials/plan.ts";
import { type Pursued, pursue } from "../trials/pursue.ts";
import { type JsonObject, jsonObjectSchema } from "../types/json.ts";
import type { Model } from "../types/model.ts";
import type { Experiment, RunManifest } from "../types/run.ts";
import type { Toolset } from "../types/tool.ts";
import type { Trial } from "../types/trial.ts";
import { observationOf } from "../verdicts/check.ts";
import type { Design, Evidence, ExperimentFacts, Request } from "../verdicts/design.ts";
import { EvidenceBook } from "../verdicts/evidence.ts";
import { gitState } from "../workspace/git.ts";
import { openJudge, openModels, type RequestOptions } from "../workspace/models.ts";
import { type Prepared, prepare, type Surroundings } from "../workspace/prepare.ts";
import { closeServers, isUnavailable, openServers } from "../workspace/servers.ts";
import { type SuiteOptions, selectSuites } from "../workspace/suites.ts";
import { type AskOptions, startAsking } from "./asking.ts";
import { manifestOf } from "./manifest.ts";
import { resumeRun, startRun } from "./openRun.ts";

type HostName = Surroundings["host"];

/** The flags of a command that puts one question to one suite and one model. */
export type ExperimentFlags = SuiteOptions &
  RequestOptions &
  AskOptions & {
    model: string;
    host: HostName;
    seed?: number | undefined;
    /** Of the suites that are found, the one of this name. */
    suite?: string | undefined;
    /** A record of the same command, to be finished: it was asked with the same flags. */
    resume?: string | undefined;
  };

/** A suite with its server open, and the model to ask. */
export type Bench = {
  prepared: Prepared;
  suite: Prepared["suites"][number];
  model: Model;
  seed: number;
  git: RunManifest["git"];
  /** The record to finish, if it is not a new one. */
  resumed?: { dir: string; manifest: RunManifest };
};

/** Opens what an experiment needs, runs `body` with it, and closes everything again. It takes exactly one suite. */
export async function withBench<R>(
  command: Experiment["command"],
  flags: ExperimentFlags,
  io: Io,
  body: (bench: Bench) => Promise<R>,
): Promise<R> {
  const resumed =
    flags.resume === undefined ? undefined : await findRecord(command, flags.resume, resolve(io.cwd, flags.out));
  const { suites: found, skills, warnings } = await selectSuites(flags, io);
  const suites = found.filter(({ name }) => flags.suite === undefined || name === flags.suite);
  if (suites.length === 0) {
    const names = found.map(({ name }) => name).join(", ");
    throw usageError(`there is no suite ${flags.suite} among ${names}`, "Name its file.");
  }
  const [suite, ...others] = suites;
  if (!suite || others.length > 0) {
    const names = suites.map(({ file }) => file).join(", ");
    throw usageError(`this takes one suite, and there are ${suites.length}: ${names}`, "Name one of them.");
  }
  const opening = openServers([suite], io);
  try {
    const [models, judge, git] = await Promise.all([
      openModels([flags.model], flags, io),
      openJudge(flags, io),
      gitState(io.cwd),
    ]);
    const opened = await opening;
    // A run of several suites goes on without a server that cannot be had; here nothing would be left.
    for (const one of opened) if ("failure" in one && isUnavailable(one.failure)) throw one.failure;
    const prepared = prepare(opened, { host: flags.host, skills, judge });
    for (const problem of [...warnings, ...prepared.warnings]) io.err(`${formatProblem(problem)}\n`);
    const [model] = models;
    if (!model) throw usageError("no model was given", "Give one with --model.");
    const seed = resumed?.manifest.seed ?? flags.seed ?? Math.floor(Math.random() * 2 ** 31);
    return await body({ prepared, suite, model, seed, git, ...(resumed && { resumed }) });
  } finally {
    await closeServers(await opening);
  }
}

/** The list that a case is shown in an arm; undefined: it is not asked there. */
export type ListOf = (planned: PlannedCase) => Toolset | undefined;

/**
 * What is asked, by arm. A function stands for arms that are too many to list: then the record names those that were
 * asked, once the experiment ends.
 */
export type Arms = ReadonlyMap<string, ListOf> | ((arm: string) => ListOf);

export type ExperimentPlan<V> = {
  command: Experiment["command"];
  arms: Arms;
  design: Design<V>;
  setup: JsonObject;
  /** The flags to keep on the record. */
  flags: JsonObject;
  /** Sees every trial once it is recorded. */
  onTrial?: (trial: Trial) => void;
};

/** How an experiment ended, what is known by then, and where its record lies; the manifest holds the totals. */
export type Performed<V> = Pursued<V> & { dir: string; manifest: RunManifest; evidence: Evidence };

/** Where an experiment lies, what it asked and what it took: the beginning of its summary. */
export function factsOf({ suite, model }: Bench, { manifest, dir }: Performed<unknown>): ExperimentFacts {
  return {
    run: manifest.id,
    dir,
    suite: suite.name,
    model: model.id,
    note: model.note ?? null,
    costUsd: manifest.totals?.costUsd ?? "unknown",
  };
}

/** Flags that change nothing in what is asked, and so are not kept on the record. */
const beside = new Set(["json", "out", "concurrency", "budget", "write", "of", "resume"]);

/** The flags to record: those that were given and decide what is asked, each under its one name. */
export function decidingFlags(flags: object): JsonObject {
  const given = Object.entries(flags).filter(
    ([name, value]) => value !== undefined && /^[a-z][a-zA-Z]+$/.test(name) && !beside.has(name),
  );
  return jsonObjectSchema.parse(Object.fromEntries(given));
}

/** What a command exits with when it was stopped before its design decided. */
export function stoppedExitCode(end: Extract<Pursued<unknown>, { kind: "stopped" }>["end"], io: Io): ExitCode {
  return end === "cancelled" ? io.signalExitCode() : exitCodes.incomplete;
}

/** Runs the trials that a design asks for in these arms, on a record of their own, until it decides or is stopped. */
export async function performExperiment<V>(
  bench: Bench,
  plan: ExperimentPlan<V>,
  flags: AskOptions & { out: string; host: string },
  io: Io,
): Promise<Performed<V>> {
  const { prepared, suite, model, seed, git } = bench;
  const served = new Served(prepared.cases, plan.arms);
  const experiment = {
    command: plan.command,
    suite: suite.name,
    model: model.id,
    cases: prepared.cases.map((one) => one.case.id),
    arms: served.arms(),
    setup: plan.setup,
  };
  const manifest = manifestOf({
    ...prepared,
    models: [model],
    seed,
    git,
    experiment,
    otherToolsets: served.toolsets(),
    host: flags.host,
    flags: plan.flags,
  });
  const book = new EvidenceBook();
  const made = { trials: 0, passed: 0, broken: 0 };
  const observe = (trial: Trial) => {
    const observation = observationOf(trial);
    book.add(trial.cell.case, trial.cell.arm, trial.cell.trial, observation);
    made.trials++;
    if (observation === "pass") made.passed++;
    if (trial.outcome.kind === "broken") made.broken++;
    plan.onTrial?.(trial);
  };
  const open = bench.resumed
    ? await resumeRun(bench.resumed, manifest, false, observe)
    : await startRun(resolve(io.cwd, flags.out), manifest);
  const results = {
    add(trial: Trial) {
      open.results.add(trial);
      observe(trial);
    },
  };
  const find = (request: Request) => served.find(request);
  const asking = await startAsking({ ...open, results }, prepared.context, plan.design.cap, flags, io);
  const pursued = await pursue(plan.design, book, (requests) =>
    asking.ask(requestedCells(requests, find, model, seed)),
  ).finally(asking.end);
  const { totals, ...rest } = open.results.summary();
  // No trial is missing that the design did not ask for.
  const summary = { ...rest, totals: { ...totals, ...made, missing: 0 } };
  const known = {
    ...open.manifest,
    experiment: { ...experiment, arms: served.arms() },
    toolsets: { ...open.manifest.toolsets, ...served.toolsets() },
  };
  const end = pursued.kind === "decided" ? new Date() : undefined;
  return {
    ...pursued,
    evidence: book.evidence,
    dir: open.dir,
    manifest: await finishRun(open.dir, known, summary, end),
  };
}

/** Cases in arms: all of them where the arms are listed, else those that were asked for so far. */
class Served {
  readonly #cases: ReadonlyMap<string, PlannedCase>;
  readonly #arms: Arms;
  readonly #made = new Map<string, Map<string, PlannedCase>>();

  constructor(cases: readonly PlannedCase[], arms: Arms) {
    this.#cases = new Map(cases.map((planned) => [planned.case.id, planned]));
    this.#arms = arms;
    if (typeof arms === "function") return;
    for (const arm of arms.keys()) for (const id of this.#cases.keys()) this.#make(id, arm);
  }

  find({ case: id, arm }: Pick<Request, "case" | "arm">): PlannedCase {
    const found = this.#made.get(arm)?.get(id) ?? this.#make(id, arm);
    if (!found) throw new Error(`the design asked for ${id} in ${arm}, which is not planned`);
    return found;
  }

  #make(id: string, arm: string): PlannedCase | undefined {
    const planned = this.#cases.get(id);
    const listOf = typeof this.#arms === "function" ? this.#arms(arm) : this.#arms.get(arm);
    const toolset = planned && listOf?.(planned);
    if (!planned || !toolset) return undefined;
    const made = { ...planned, arm, toolset };
    this.#made.set(arm, (this.#made.get(arm) ?? new Map<string, PlannedCase>()).set(id, made));
    return made;
  }

  arms(): Experiment["arms"] {
    return [...this.#made].map(([name, cases]) => ({
      name,
      toolsets: Object.fromEntries([...cases].map(([id, { toolset }]) => [id, toolset.hash])),
    }));
  }

  toolsets(): RunManifest["toolsets"] {
    const lists = [...this.#made.values()].flatMap((cases) => [...cases.values()].map(({ toolset }) => toolset));
    return Object.fromEntries(lists.map(({ hash, tools }) => [hash, [...tools]]));
  }
}
