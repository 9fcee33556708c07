import type { ExitCode } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import { summariseAnswer } from "../design/observe.ts";
import { pairArms } from "../design/tally.ts";
import { type ExperimentOptions, type ExperimentSpec, runExperiment, withExperiment } from "../pipeline/experiment.ts";
import { recallOptions } from "../pipeline/recordedOptions.ts";
import { printReport } from "../reporting/report.ts";
import { recordExperiment } from "../reporting/reportFiles.ts";
import { type Calibration, calibrate as calibrateDesign, summariseCalibration } from "./verdict.ts";

export type CalibrateOptions = ExperimentOptions & { trials: number; json: boolean };

/** `evals calibrate`: shows the same tools in two interleaved arms, and prints the noise floor. */
export async function calibrate(given: CalibrateOptions, io: Io): Promise<ExitCode> {
  return await withExperiment(await recallOptions("calibrate", given, io.cwd), io, async (workspace) => {
    const { model, seed, options } = workspace;
    const cases = workspace.cases.map((planned) => planned.case.id);
    // A deterministic model needs one trial, and no simulation.
    const setup = {
      cases,
      seed,
      ...(model.deterministic ? { trials: 1, repetitions: 1 } : { trials: options.trials }),
    };
    const replies = new Map<string, string[]>();
    const question: ExperimentSpec<Calibration> = {
      cases: workspace.cases,
      arms: new Map(pairArms.map((arm) => [arm, ({ toolset }) => toolset])),
      design: calibrateDesign(setup, () => replies),
      setup,
      onTrial: (trial) => {
        const id = trial.cell.case;
        if (trial.outcome.kind === "answered" && !trial.copy)
          replies.set(id, [...(replies.get(id) ?? []), summariseAnswer(trial)]);
      },
    };
    const finished = await runExperiment(workspace, question, io);
    const { trials = 0, broken = 0 } = finished.manifest.totals ?? {};
    const summary = summariseCalibration(
      finished.facts,
      finished.kind === "decided" ? finished.verdict : { stopped: finished.stopCode },
      { trials: setup.trials, deterministic: model.deterministic, made: { trials, broken } },
    );
    printReport(options.json ? "json" : "terminal", await recordExperiment(finished, summary, io), io);
    return summary.exitCode as ExitCode;
  });
}
