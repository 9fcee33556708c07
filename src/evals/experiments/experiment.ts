import { type Design, TrialRecord } from "../decisions/design.ts";
import { addTrial } from "../decisions/observe.ts";
import type { PlannedCase } from "../trials/plan.ts";
import type { PlanEnd } from "../trials/runPlan.ts";
import { type ExitCode, exitCodes } from "../types/errors.ts";
import type { Io } from "../types/io.ts";
import type { JsonObject } from "../types/json.ts";
import type { Model } from "../types/model.ts";
import type { Experiment } from "../types/run.ts";
import type { Trial } from "../types/trial.ts";
import type { ExperimentFacts } from "../verdicts/design.ts";
import { type ExposureOptions, verifySearches } from "../workspace/exposures.ts";
import type { RequestOptions } from "../workspace/models.ts";
import type { SuiteOptions } from "../workspace/suites.ts";
import { type Workspace, withWorkspace } from "../workspace/workspace.ts";
import { createManifest } from "./manifest.ts";
import {
  ArmCases,
  type Arms,
  type AskOptions,
  type Conducted,
  conduct,
  type Pursued,
  pursueDesign,
} from "./pipeline.ts";
import { pickRecorded, type Recalled, type Resumed } from "./recordedOptions.ts";

/** The options of a command that puts one question to one suite and one model. */
export type ExperimentOptions = SuiteOptions &
  RequestOptions &
  ExposureOptions &
  AskOptions & {
    model: string;
    host: Workspace["host"];
    seed?: number | undefined;
    /** The suite of this name, where several are found. */
    suite?: string | undefined;
    /** The one suite file; the same as one of `paths`. */
    path?: string | undefined;
    resume?: string | undefined;
  };

/** The workspace of an experiment: one suite, one model, and the record to finish, if it is not a new one. */
export type Bench = Workspace & {
  command: Experiment["command"];
  suite: Workspace["suites"][number];
  model: Model;
  seed: number;
  options: ExperimentOptions;
  resumed: Resumed | undefined;
};

/** Opens what an experiment needs, calls `use`, and closes everything again. */
export async function withBench<O extends ExperimentOptions, R>(
  { command, options, resumed }: Recalled<Experiment["command"], O>,
  io: Io,
  use: (bench: Bench & { options: O }) => Promise<R>,
): Promise<R> {
  const paths = options.path === undefined ? options.paths : [options.path];
  return await withWorkspace({ ...options, paths, only: { suite: options.suite } }, io, async (workspace) => {
    const [suite, model] = [workspace.suites[0], workspace.models[0]];
    if (!suite || !model) throw new Error("an experiment has one suite and one model");
    const seed = resumed?.manifest.seed ?? options.seed ?? randomSeed();
    return await use({ ...workspace, command, suite, model, seed, options, resumed });
  });
}

export const randomSeed = () => Math.floor(Math.random() * 2 ** 31);

/** The number of the design of variants and blame, in the setup of their records: another one asks other trials. */
export const designNumber = 2;

/** What an experiment asks: cases in arms, by a design. `setup` is what else its result is derived from. */
export type ExperimentSpec<V> = {
  cases: readonly PlannedCase[];
  arms: Arms;
  design: Design<V>;
  setup: JsonObject;
  onTrial?(trial: Trial): void;
};

/** How an experiment ended, and what is known by then. */
export type Performed<V> = Conducted<Pursued<V>> & { record: TrialRecord };

/** Runs the trials that a design asks for in these arms, until it decides or is stopped. */
export async function performExperiment<V>(bench: Bench, question: ExperimentSpec<V>, io: Io): Promise<Performed<V>> {
  const { command, suite, model, seed, options, resumed, context } = bench;
  await verifySearches([model], io.signal);
  const { cases, design, setup } = question;
  const armCases = new ArmCases(cases, question.arms, seed);
  const experiment = {
    command,
    suite: suite.name,
    model: model.id,
    cases: cases.map((one) => one.case.id),
    arms: armCases.arms(),
    setup,
  };
  const record = new TrialRecord();
  const conducted = await conduct(
    {
      manifest: createManifest({
        ...bench,
        cases,
        models: [model],
        experiment,
        otherToolsets: armCases.toolsets(),
        flags: pickRecorded(options),
      }),
      resumed,
      cap: () => design.cap,
      pursue: (ask) => pursueDesign(design, record, { cases: armCases, model }, ask),
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
  return { ...conducted, record };
}

/** Where the record of an experiment is, what was asked and what it cost: the first fields of its summary. */
export function describeExperiment({ suite, model }: Bench, { manifest, dir }: Performed<unknown>): ExperimentFacts {
  return {
    run: manifest.id,
    dir,
    suite: suite.name,
    model: model.id,
    note: model.note ?? null,
    costUsd: manifest.totals?.costUsd ?? "unknown",
  };
}

/** The exit code of a command that was stopped before its design decided. */
export function stoppedExitCode(end: PlanEnd, io: Io): ExitCode {
  return end === "cancelled" ? io.signalExitCode() : exitCodes.incomplete;
}
