import type { CalibrateFlags } from "../commands/calibrate.ts";
import { type ExitCode, exitCodes, usageError } from "../errors.ts";
import type { Io } from "../io.ts";
import { type CalibrationSummary, calibrationReport } from "../reports/calibrate.ts";
import { comparable } from "../stats/counts.ts";
import { canonicalJson } from "../types/json.ts";
import type { Cost, Trial } from "../types/trial.ts";
import { type Calibration, calibrate as calibrateDesign } from "../verdicts/calibrate.ts";
import { regressionArms } from "../verdicts/design.ts";
import { decidingFlags, type ExperimentPlan, performExperiment, stoppedExitCode, withBench } from "./experiment.ts";

/** `evals calibrate`: asks the same list in two interleaved arms, and prints what differs by chance alone. */
export async function calibrate(flags: CalibrateFlags, io: Io): Promise<ExitCode> {
  if (!Number.isSafeInteger(flags.trials) || flags.trials < 2)
    throw usageError("--trials must be a whole number, 2 or more", "One trial cannot differ from itself.");
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
    const totals = performed.manifest.totals;
    const [spent, made] = [totals?.costUsd ?? "unknown", totals?.trials ?? 0];
    const found = performed.kind === "decided" ? figuresOf(performed.verdict, spent, made) : null;
    const exitCode =
      performed.kind === "stopped"
        ? stoppedExitCode(performed.end, io)
        : found
          ? exitCodes.passed
          : exitCodes.incomplete;
    const summary: CalibrationSummary = {
      run: performed.manifest.id,
      dir: performed.dir,
      suite: bench.suite.name,
      model: model.id,
      note: model.note ?? null,
      stopped: performed.kind === "stopped",
      trials: setup.trials,
      made: { trials: made, broken: totals?.broken ?? 0 },
      found,
      costUsd: spent,
      exitCode,
    };
    io.out(flags.json ? `${JSON.stringify(summary)}\n` : calibrationReport(summary, io));
    return exitCode;
  });
}

/** What the model called, with which arguments: two replies are the same when that is. */
function replyOf({ turns }: Trial): string {
  const calls = turns.map((turn) => turn.calls.map(({ tool, arguments: args = null }) => [tool, args]));
  return canonicalJson(calls);
}

/** The figures with the price of what they ask for; null where nothing was scored in both arms. */
function figuresOf(verdict: Calibration, spent: Cost, made: number): CalibrationSummary["found"] {
  if (comparable(verdict.cases).length === 0) return null;
  const each = spent === "unknown" || made === 0 ? "unknown" : spent / made;
  const price = (trials: number): Cost => (each === "unknown" ? each : each * trials * 2 * verdict.cases.length);
  const detect = verdict.detect.map((one) => {
    return { ...one, costUsd: price(one.kind === "reachable" ? one.trials : one.most) };
  });
  return { ...verdict, detect };
}
