import type { RunManifest, RunSummary } from "../types/run.ts";
import { count } from "./format.ts";
import {
  type Configuration,
  configurations,
  type Grading,
  type Place,
  rounded,
  type Timing,
  type Workspace,
} from "./skillCreator.ts";
import { judgeText, liftView } from "./skillView.ts";

// `benchmark.json` of skill-creator: the runs of a workspace, and what they come to.

/** One run in `benchmark.json`. */
export function benchmarkRun({ eval: one, configuration, run }: Place, grading: Grading, timing: Timing) {
  const { expectations, summary, execution_metrics: metrics, user_notes_summary: notes } = grading;
  return {
    eval_id: one.id,
    eval_name: one.name,
    configuration,
    run_number: run,
    result: {
      ...summary,
      time_seconds: timing.total_duration_seconds,
      tokens: timing.total_tokens,
      tool_calls: metrics.total_tool_calls,
      errors: metrics.errors_encountered,
    },
    expectations,
    notes: notes.needs_review,
  };
}
export type BenchmarkRun = ReturnType<typeof benchmarkRun>;

const measures = ["pass_rate", "time_seconds", "tokens"] as const;
type Measure = (typeof measures)[number];

/** What the runs of a workspace come to, fed with each graded one. Keeps three numbers a run. */
export class BenchmarkFigures {
  readonly #values = new Map<Configuration, Record<Measure, number[]>>();
  #open = 0;

  add({ configuration, result, notes }: BenchmarkRun): void {
    const known = this.#values.get(configuration) ?? { pass_rate: [], time_seconds: [], tokens: [] };
    this.#values.set(configuration, known);
    for (const measure of measures) known[measure].push(result[measure]);
    this.#open += notes.length;
  }

  /** A configuration without a graded run is absent, and so is the difference then: it would read as 0 %. */
  runSummary() {
    const [one, other] = configurations.map((configuration) => this.#statistics(configuration));
    const delta = (measure: Measure, digits: number) => {
      const change = (one?.[measure].mean ?? 0) - (other?.[measure].mean ?? 0);
      return `${change < 0 ? "-" : "+"}${Math.abs(change).toFixed(digits)}`;
    };
    return {
      ...(one && { with_skill: one }),
      ...(other && { without_skill: other }),
      ...(one &&
        other && {
          delta: {
            pass_rate: delta("pass_rate", 2),
            time_seconds: delta("time_seconds", 1),
            tokens: delta("tokens", 0),
          },
        }),
    };
  }

  /** What the figures leave out, and the verdict that they cannot give. */
  notes({ suite, model, evals }: Workspace, run: RunSummary): string[] {
    const planned = evals.reduce((sum, { runs }) => sum + configurations.length * runs, 0);
    const graded = [...this.#values.values()].reduce((sum, { pass_rate }) => sum + pass_rate.length, 0);
    const summary = run.suites.find((one) => one.name === suite && one.model === model);
    const judge = judgeText(run);
    return [
      ...((summary && liftView(summary)?.sentences) ?? []),
      ...(summary?.lift?.net
        ? ["The lift counts runs that meet all of their expectations; the pass rates are shares of expectations."]
        : []),
      ...(this.#open > 0
        ? [`Left out of the rates: ${count(this.#open, "expectation")} that could not be graded.`]
        : []),
      ...(planned > graded
        ? [`Left out of all figures: ${count(planned - graded, "run")} of ${planned}, not graded, broken or missing.`]
        : []),
      ...(judge === undefined ? [] : [judge]),
    ];
  }

  #statistics(configuration: Configuration) {
    const values = this.#values.get(configuration);
    if (!values) return undefined;
    const { pass_rate, time_seconds, tokens } = values;
    return { pass_rate: statistics(pass_rate), time_seconds: statistics(time_seconds), tokens: statistics(tokens) };
  }
}

/** As the aggregation has them: the deviation is that of a sample, and 0 for one value. */
function statistics(values: readonly number[]) {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  const all = values.length > 1 ? Math.sqrt(squares / (values.length - 1)) : 0;
  return {
    mean: rounded(mean),
    stddev: rounded(all),
    min: rounded(values.reduce((least, value) => Math.min(least, value))),
    max: rounded(values.reduce((most, value) => Math.max(most, value))),
  };
}

/** The head of `benchmark.json`. */
export function benchmarkMetadata({ skill, skillPath, model, evals }: Workspace, { startedAt, judge }: RunManifest) {
  return {
    skill_name: skill,
    skill_path: skillPath,
    executor_model: model,
    ...(judge && { analyzer_model: judge.model }),
    timestamp: startedAt,
    evals_run: evals.map(({ id }) => id),
    runs_per_configuration: Math.max(0, ...evals.map(({ runs }) => runs)),
  };
}
