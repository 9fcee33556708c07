import { resolve } from "node:path";
import { formatProblem, usageError } from "../../errors.ts";
import { type PlannedCase, requestedCells } from "../../trials/plan.ts";
import { type Pursued, pursue } from "../../trials/pursue.ts";
import type { JsonObject } from "../../types/json.ts";
import type { Model } from "../../types/model.ts";
import type { Experiment, RunManifest } from "../../types/run.ts";
import type { Toolset } from "../../types/tool.ts";
import type { Trial } from "../../types/trial.ts";
import { observationOf } from "../../verdicts/check.ts";
import type { Design, Request } from "../../verdicts/design.ts";
import { EvidenceBook } from "../../verdicts/evidence.ts";
import type { Io } from "../io.ts";
import { type AskOptions, startAsking } from "./asking.ts";
import { gitState } from "./git.ts";
import { manifestOf } from "./manifest.ts";
import { type ModelFlags, openModels } from "./models.ts";
import { startRun } from "./openRun.ts";
import { type Prepared, prepare } from "./prepare.ts";
import { type SuiteFlags, selectSuites } from "./select.ts";
import { closeServers, openServers } from "./servers.ts";

type HostName = Parameters<typeof prepare>[1];

/** The flags of a command that puts one question to one suite and one model. */
export type ExperimentFlags = SuiteFlags &
  ModelFlags &
  AskOptions & { model: string; host: HostName; seed?: number | undefined };

/** A suite with its server open, and the model to ask. */
export type Bench = {
  prepared: Prepared;
  suite: Prepared["suites"][number];
  model: Model;
  seed: number;
  git: RunManifest["git"];
};

/** Opens what an experiment needs, runs `body` with it, and closes everything again. It takes exactly one suite. */
export async function withBench<R>(flags: ExperimentFlags, io: Io, body: (bench: Bench) => Promise<R>): Promise<R> {
  const { suites, warnings } = await selectSuites(flags, io);
  const [suite, ...others] = suites;
  if (!suite || others.length > 0) {
    const names = suites.map(({ file }) => file).join(", ");
    throw usageError(`this takes one suite, and there are ${suites.length}: ${names}`, "Name one of them.");
  }
  const opening = openServers([suite], io);
  try {
    const [models, git] = await Promise.all([openModels([flags.model], flags, io), gitState(io.cwd)]);
    const prepared = prepare(await opening, flags.host);
    for (const problem of [...warnings, ...prepared.warnings]) io.err(`${formatProblem(problem)}\n`);
    const [model] = models;
    if (!model) throw usageError("no model was given", "Give one with --model.");
    return await body({ prepared, suite, model, seed: flags.seed ?? Math.floor(Math.random() * 2 ** 31), git });
  } finally {
    await closeServers(await opening);
  }
}

/** What is asked: by arm, the list that each case is shown (undefined: the case is not asked in that arm). */
export type Arms = ReadonlyMap<string, (planned: PlannedCase) => Toolset | undefined>;

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

/** How an experiment ended and where its record lies. */
export type Performed<V> = Pursued<V> & { dir: string; manifest: RunManifest };

/** Runs the trials that a design asks for in these arms, on a record of their own, until it decides or is stopped. */
export async function performExperiment<V>(
  bench: Bench,
  plan: ExperimentPlan<V>,
  flags: AskOptions & { out: string; host: string },
  io: Io,
): Promise<Performed<V>> {
  const { prepared, suite, model, seed, git } = bench;
  const planned = new Map([...plan.arms].map(([arm, listOf]) => [arm, armCases(prepared.cases, arm, listOf)]));
  const arms = [...planned].map(([name, cases]) => ({
    name,
    toolsets: Object.fromEntries([...cases].map(([id, one]) => [id, one.toolset.hash])),
  }));
  const experiment = {
    command: plan.command,
    suite: suite.name,
    model: model.id,
    cases: prepared.cases.map((one) => one.case.id),
    arms,
    setup: plan.setup,
  };
  const otherToolsets = Object.fromEntries(
    [...planned.values()].flatMap((cases) =>
      [...cases.values()].map(({ toolset }) => [toolset.hash, [...toolset.tools]]),
    ),
  );
  const manifest = manifestOf({
    ...prepared,
    models: [model],
    seed,
    git,
    experiment,
    otherToolsets,
    host: flags.host,
    flags: plan.flags,
  });
  const open = await startRun(resolve(io.cwd, flags.out), manifest);
  const book = new EvidenceBook();
  const results = {
    add(trial: Trial) {
      book.add(trial.cell.case, trial.cell.arm, trial.cell.trial, observationOf(trial));
      plan.onTrial?.(trial);
    },
  };
  const find = ({ case: id, arm }: Request): PlannedCase => {
    const found = planned.get(arm)?.get(id);
    if (!found) throw new Error(`the design asked for ${id} in ${arm}, which is not planned`);
    return found;
  };
  const asking = await startAsking({ ...open, results }, prepared.context, plan.design.cap, flags, io);
  try {
    const pursued = await pursue(plan.design, book, (requests) =>
      asking.ask(requestedCells(requests, find, model, seed)),
    );
    return { ...pursued, dir: open.dir, manifest };
  } finally {
    await asking.end();
  }
}

function armCases(
  cases: readonly PlannedCase[],
  arm: string,
  listOf: (planned: PlannedCase) => Toolset | undefined,
): Map<string, PlannedCase> {
  return new Map(
    cases.flatMap((planned) => {
      const toolset = listOf(planned);
      return toolset ? [[planned.case.id, { ...planned, arm, toolset }] as const] : [];
    }),
  );
}
