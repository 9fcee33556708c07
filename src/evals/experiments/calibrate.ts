import { summariseAnswer } from "../decisions/observe.ts";
import { pairArms } from "../decisions/tally.ts";
import type { ExitCode } from "../types/errors.ts";
import type { Io } from "../types/io.ts";
import { type Calibration, calibrate as calibrateDesign, summariseCalibration } from "../verdicts/calibrate.ts";
import {
  describeExperiment,
  type ExperimentOptions,
  type ExperimentSpec,
  performExperiment,
  stoppedExitCode,
  withBench,
} from "./experiment.ts";
import { recallOptions } from "./recordedOptions.ts";
import { printReport, recordExperiment } from "./report.ts";

export type CalibrateOptions = ExperimentOptions & { trials: number; json: boolean };

/** `evals calibrate`: shows the same tools in two interleaved arms, and prints what differs by chance alone. */
export async function calibrate(given: CalibrateOptions, io: Io): Promise<ExitCode> {
  return await withBench(await recallOptions("calibrate", given, io.cwd), io, async (bench) => {
    const { model, seed, options } = bench;
    const cases = bench.cases.map((planned) => planned.case.id);
    // A second trial of a deterministic model adds nothing, and there is no chance to simulate.
    const setup = {
      cases,
      seed,
      ...(model.deterministic ? { trials: 1, repetitions: 1 } : { trials: options.trials }),
    };
    const replies = new Map<string, string[]>();
    const question: ExperimentSpec<Calibration> = {
      cases: bench.cases,
      arms: new Map(pairArms.map((arm) => [arm, ({ toolset }) => toolset])),
      design: calibrateDesign(setup, () => replies),
      setup,
      onTrial: (trial) => {
        const id = trial.cell.case;
        if (trial.outcome.kind === "answered" && !trial.copy)
          replies.set(id, [...(replies.get(id) ?? []), summariseAnswer(trial)]);
      },
    };
    const performed = await performExperiment(bench, question, io);
    const { trials = 0, broken = 0 } = performed.manifest.totals ?? {};
    const summary = summariseCalibration(
      describeExperiment(bench, performed),
      performed.kind === "decided" ? performed.verdict : { stopped: stoppedExitCode(performed.end, io) },
      { trials: setup.trials, made: { trials, broken } },
    );
    printReport(options.json ? "json" : "terminal", await recordExperiment(performed, summary, io), io);
    return summary.exitCode as ExitCode;
  });
}
