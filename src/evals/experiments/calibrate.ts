import type { ExitCode } from "../errors.ts";
import type { Io } from "../io.ts";
import { calibrationReport } from "../reports/calibrate.ts";
import { canonicalJson } from "../types/json.ts";
import type { Trial } from "../types/trial.ts";
import { type Calibration, calibrate as calibrateDesign, summariseCalibration } from "../verdicts/calibrate.ts";
import { regressionArms } from "../verdicts/design.ts";
import {
  decidingFlags,
  type ExperimentFlags,
  type ExperimentPlan,
  factsOf,
  performExperiment,
  stoppedExitCode,
  withBench,
} from "./experiment.ts";

export type CalibrateOptions = ExperimentFlags & { path?: string | undefined; trials: number; json: boolean };

/** `evals calibrate`: asks the same list in two interleaved arms, and prints what differs by chance alone. */
export async function calibrate(flags: CalibrateOptions, io: Io): Promise<ExitCode> {
  const paths = flags.path === undefined ? [] : [flags.path];
  return await withBench("calibrate", { ...flags, paths }, io, async (bench) => {
    const { model, prepared, seed } = bench;
    const cases = prepared.cases.map((planned) => planned.case.id);
    // A second trial of a model that always answers alike tells nothing new, and there is no chance to simulate.
    const setup = { cases, seed, ...(model.deterministic ? { trials: 1, repetitions: 1 } : { trials: flags.trials }) };
    const replies = new Map<string, string[]>();
    const plan: ExperimentPlan<Calibration> = {
      command: "calibrate",
      arms: new Map(regressionArms.map((arm) => [arm, ({ toolset }) => toolset])),
      design: calibrateDesign(setup, () => replies),
      setup,
      flags: decidingFlags(flags),
      onTrial: (trial) => {
        const id = trial.cell.case;
        if (trial.outcome.kind === "answered") replies.set(id, [...(replies.get(id) ?? []), replyOf(trial)]);
      },
    };
    const performed = await performExperiment(bench, plan, flags, io);
    const { trials = 0, broken = 0 } = performed.manifest.totals ?? {};
    const summary = summariseCalibration(
      factsOf(bench, performed),
      performed.kind === "decided" ? performed.verdict : { stopped: stoppedExitCode(performed.end, io) },
      { trials: setup.trials, made: { trials, broken } },
    );
    io.out(flags.json ? `${JSON.stringify(summary)}\n` : calibrationReport(summary, io));
    return summary.exitCode as ExitCode;
  });
}

/** What the model called, with which arguments: two replies are the same when that is. */
function replyOf({ turns }: Trial): string {
  const calls = turns.map((turn) => turn.calls.map(({ tool, arguments: args = null }) => [tool, args]));
  return canonicalJson(calls);
}
