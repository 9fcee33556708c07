import { type Design, TrialRecord } from "../../asking/trials/design.ts";
import type { PlannedCase } from "../../asking/trials/plan.ts";
import { type ExitCode, exitCodes } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import type { JsonObject } from "../../base/types/json.ts";
import type { Model } from "../../base/types/model.ts";
import type { Experiment } from "../../base/types/run.ts";
import type { Trial } from "../../base/types/trial.ts";
import { addTrial } from "../design/observe.ts";
import type { ExperimentFacts } from "../results/outcome.ts";
import { readingNote } from "../results/text.ts";
import { type ExposureOptions, verifySearches, warnOfSmallWindows } from "../workspace/exposures.ts";
import { chooseSeed, type RequestOptions } from "../workspace/models.ts";
import type { SuiteOptions } from "../workspace/suites.ts";
import { type Workspace, withWorkspace } from "../workspace/workspace.ts";
import { createManifest } from "./manifest.ts";
import {
  ArmCases,
  type Arms,
  type AskOptions,
  type DesignResult,
  type RecordedRun,
  runDesign,
  runOnRecord,
} from "./pipeline.ts";
import { pickRecorded, type Recalled, type Resumed } from "./recordedOptions.ts";

/** The options of a command that runs an experiment on one suite and one model. */
export type ExperimentOptions = SuiteOptions &
  RequestOptions &
  ExposureOptions &
  AskOptions & {
    model: string;
    host: Workspace["host"];
    seed?: number | undefined;
    /** The name of the suite, if several are found. */
    suite?: string | undefined;
    /** The suite file, as an alternative to `paths`. */
    path?: string | undefined;
    resume?: string | undefined;
  };

/** The workspace of an experiment: one suite, one model, and with --resume the record to finish. */
export type ExperimentWorkspace = Workspace & {
  command: Experiment["command"];
  suite: Workspace["suites"][number];
  model: Model;
  seed: number;
  options: ExperimentOptions;
  resumed: Resumed | undefined;
};

/** Opens the workspace of an experiment, calls `use`, and closes it. */
export async function withExperiment<O extends ExperimentOptions, R>(
  { command, options, resumed }: Recalled<Experiment["command"], O>,
  io: Io,
  use: (workspace: ExperimentWorkspace & { options: O }) => Promise<R>,
): Promise<R> {
  const paths = options.path === undefined ? options.paths : [options.path];
  return await withWorkspace({ ...options, paths, only: { suite: options.suite } }, io, async (workspace) => {
    const [suite, model] = [workspace.suites[0], workspace.models[0]];
    if (!suite || !model) throw new Error("an experiment has one suite and one model");
    const seed = resumed?.manifest.seed ?? chooseSeed([model], options);
    return await use({ ...workspace, command, suite, model, seed, options, resumed });
  });
}

/** Plays a design on the record of an experiment. */
export type PlayDesign = <W>(design: Design<W>) => Promise<DesignResult<W>>;

/** Several designs one after the other on one record, with other work between them. `dir`: the folder of the record. */
type Stages<V> = { cap: number; run(play: PlayDesign, dir: string): Promise<DesignResult<V>> };

/** Cases in arms, and the design that requests their trials. `setup`: everything else that its result depends on. */
export type ExperimentSpec<V> = {
  cases: readonly PlannedCase[];
  arms: Arms;
  design: Design<V> | Stages<V>;
  setup: JsonObject;
  onTrial?(trial: Trial): void;
};

/** A finished or stopped experiment, with its trials so far. `stopCode`: the exit code of one that was stopped. */
export type ExperimentRun<V> = RecordedRun<DesignResult<V>> & {
  record: TrialRecord;
  facts: ExperimentFacts;
  stopCode: ExitCode;
};

/** Runs the trials that a design requests, until it decides or is stopped. */
export async function runExperiment<V>(
  workspace: ExperimentWorkspace,
  question: ExperimentSpec<V>,
  io: Io,
): Promise<ExperimentRun<V>> {
  const { command, suite, model, seed, options, resumed, context } = workspace;
  const { cases, design, setup } = question;
  await verifySearches([model], io.signal);
  await warnOfSmallWindows([model], cases, io);
  const armCases = new ArmCases(cases, question.arms, seed);
  const about = { suite: suite.name, model: model.id };
  const ids = cases.map((one) => one.case.id);
  const experiment = { command, ...about, cases: ids, arms: armCases.arms(), setup };
  const asked = {
    cases,
    models: [model],
    experiment,
    otherToolsets: armCases.toolsets(),
    flags: pickRecorded(options),
  };
  const record = new TrialRecord();
  const recorded = await runOnRecord(
    {
      manifest: createManifest({ ...workspace, ...asked }),
      resumed,
      cap: () => design.cap,
      run: (ask, { dir }) => {
        const play: PlayDesign = (one) => runDesign(one, record, { cases: armCases, model }, ask);
        return "play" in design ? play(design) : design.run(play, dir);
      },
      onTrial: (trial) => {
        addTrial(record, trial);
        question.onTrial?.(trial);
      },
      complete: (manifest) => ({
        ...manifest,
        experiment: { ...experiment, arms: armCases.arms() },
        toolsets: { ...manifest.toolsets, ...armCases.toolsets() },
      }),
    },
    context,
    options,
    io,
  );
  const { manifest, dir } = recorded;
  const [note = null] = manifest.suites.map((one) => readingNote(model.note, one));
  const facts = { run: manifest.id, dir, ...about, note, costUsd: manifest.totals?.costUsd ?? "unknown" };
  const stopCode = recorded.end === "cancelled" ? io.signalExitCode() : exitCodes.incomplete;
  return { ...recorded, record, facts, stopCode };
}
