import { sumOf } from "../../base/sum.ts";
import { type RunManifest, type RunSummary, withoutArm } from "../../base/types/run.ts";
import type { Cell, Trial, Turn } from "../../base/types/trial.ts";
import { count } from "../../reports/format.ts";
import { judgeText, liftSentence } from "../arms/skillEffectReport.ts";
import { promptTokens } from "../results/tally.ts";

// The files of skill-creator (anthropics/skills), as defined by its references/schemas.md, aggregate_benchmark.py and
// eval viewer. These know only passed and failed, and read a missing value as 0%. So an ungraded expectation is left
// out and noted, and a run without graded expectations gets no grading.json and does not enter any statistic.

const configurations = ["with_skill", "without_skill"] as const;
type Configuration = (typeof configurations)[number];

/** One benchmark: a skill on one model, with its effect measured. `folder` is relative to that of the run. */
export type SkillCreatorWorkspace = ReturnType<typeof listWorkspaces>[number];
type Eval = SkillCreatorWorkspace["evals"][number];
type ResultFolder = ReturnType<typeof placeAt>;

/** The workspaces of a run, in the order of its suites and models; none if it measures no effect of a skill. */
export function listWorkspaces({ suites, models }: RunManifest) {
  const taken = new Set<string>();
  return suites.flatMap(({ name, lift, file, cases }) =>
    (lift === undefined ? [] : models).map(({ id, deterministic }) => {
      // Eval files that number their queries keep the numbers.
      const numbered = cases.every((one) => /^(0|[1-9]\d{0,8})$/.test(one.id));
      const evals = cases.map((one, index) => ({
        id: numbered ? Number(one.id) : index + 1,
        name: one.id,
        prompt: one.input,
        runs: deterministic ? 1 : one.trials,
      }));
      let folder = `skill-creator/${fileName(lift ?? "")}/${fileName(id)}`;
      while (taken.has(folder.toLowerCase())) folder += "_";
      taken.add(folder.toLowerCase());
      const skillPath = file.replace(/[/\\]evals[/\\][^/\\]*$/, "");
      return { suite: name, skill: lift ?? "", skillPath, model: id, folder, evals };
    }),
  );
}

/** A name that is valid on every file system and cannot leave its folder. */
function fileName(name: string): string {
  return name.replace(/[^\p{L}\p{N}_-]+/gu, "-").slice(0, 64) || "-";
}

/** All planned runs of a workspace, in display order. */
export function listPlaces({ evals }: SkillCreatorWorkspace): ResultFolder[] {
  return evals.flatMap((one) =>
    configurations.flatMap((configuration) =>
      Array.from({ length: one.runs }, (_, index) => placeAt(one, configuration, index + 1)),
    ),
  );
}

/** The place of a trial if it belongs to this workspace. */
export function findPlace({ suite, model, evals }: SkillCreatorWorkspace, cell: Cell): ResultFolder | undefined {
  if (cell.suite !== suite || cell.model !== model) return undefined;
  const one = evals.find(({ name }) => name === cell.case);
  return one && placeAt(one, cell.arm === withoutArm ? "without_skill" : "with_skill", cell.trial);
}

/** The place of one run. `folder` is relative to that of the workspace. */
function placeAt(one: Eval, configuration: Configuration, run: number) {
  return { eval: one, configuration, run, folder: `eval-${one.id}/${configuration}/run-${run}` };
}

/** `eval_metadata.json`. The viewer looks for it beside the runs, the aggregation beside the configurations. */
export function evalMetadata({ id, name, prompt }: Eval) {
  return { eval_id: id, eval_name: name, prompt };
}

/** The files of one trial. `grading` is absent if nothing was graded; `output` is a readable transcript. */
export function runFiles(trial: Trial) {
  const grading = makeGrading(trial);
  return { ...(grading && { grading }), timing: makeTiming(trial), output: makeTranscript(trial) };
}

type Grading = NonNullable<ReturnType<typeof makeGrading>>;
type Timing = ReturnType<typeof makeTiming>;

/** `grading.json`. It has no `timing`, because with it the aggregation would not read tokens from timing.json. */
function makeGrading({ verdict, turns }: Trial) {
  const checks = verdict?.checks ?? [];
  const expectations = checks.flatMap(({ what, met, why, evidence }) => {
    if (met === "unknown") return [];
    const quoted = evidence === undefined ? [] : [JSON.stringify(evidence)];
    return [{ text: sentence(what), passed: met === "yes", evidence: [...(why ? [why] : []), ...quoted].join(" ") }];
  });
  const total = expectations.length;
  if (total === 0) return undefined;
  const passed = expectations.filter((one) => one.passed).length;
  const open = checks.filter(({ met }) => met === "unknown");
  return {
    expectations,
    summary: { passed, failed: total - passed, total, pass_rate: rounded(passed / total) },
    execution_metrics: makeMetrics(turns),
    user_notes_summary: {
      uncertainties: [] as string[],
      needs_review: open.map(({ what, why }) => `not graded: ${sentence(what)}${why ? ` (${why})` : ""}`),
      workarounds: [] as string[],
    },
  };
}

const sentence = (what: string) => what.replace(/^behaviour: /, "");

function makeMetrics(turns: readonly Turn[]) {
  const calls = turns.flatMap((turn) => turn.calls);
  const tools = new Map<string, number>();
  for (const { tool } of calls) tools.set(tool, (tools.get(tool) ?? 0) + 1);
  const failed = calls.filter(({ execution }) => execution?.status === "executed" && execution.result.isError);
  return {
    tool_calls: Object.fromEntries(tools),
    total_tool_calls: calls.length,
    total_steps: turns.length,
    errors_encountered: failed.length,
  };
}

/** `timing.json`. Time is spent waiting for the model; tokens are input plus output. */
function makeTiming({ turns, startedAt, judging }: Trial) {
  const ms = sumOf(turns, (turn) => turn.ms);
  const tokens = sumOf(turns, ({ usage }) => promptTokens(usage) + usage.outputTokens);
  return {
    total_tokens: tokens,
    duration_ms: Math.round(ms),
    total_duration_seconds: rounded(ms / 1000),
    executor_start: startedAt,
    executor_duration_seconds: rounded(ms / 1000),
    ...(judging && { grader_duration_seconds: rounded(judging.ms / 1000) }),
  };
}

function makeTranscript({ turns, outcome }: Trial): string {
  const lines = turns.flatMap(({ text, calls }) => [
    ...(text.trim() === "" ? [] : [text]),
    ...calls.map(({ tool, arguments: args, argumentsText = "" }) =>
      `-> ${tool} ${args === undefined ? argumentsText : JSON.stringify(args)}`.trimEnd(),
    ),
  ]);
  const broken = outcome.kind === "broken" ? [`(broken, ${outcome.stage}: ${outcome.message})`] : [];
  return `${[...lines, ...broken].join("\n\n") || "(no output)"}\n`;
}

/** Rounds to four digits, like the aggregation. */
const rounded = (value: number) => Math.round(value * 1e4) / 1e4;

/** A run in `benchmark.json`. */
export function benchmarkRun({ eval: one, configuration, run }: ResultFolder, grading: Grading, timing: Timing) {
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
type BenchmarkRun = ReturnType<typeof benchmarkRun>;

/** `benchmark.json`: the graded runs of a workspace and their statistics. */
export function makeBenchmark(
  workspace: SkillCreatorWorkspace,
  manifest: RunManifest,
  summary: RunSummary,
  runs: readonly BenchmarkRun[],
) {
  return {
    metadata: makeMetadata(workspace, manifest),
    runs,
    run_summary: summariseRuns(runs),
    notes: makeNotes(workspace, summary, runs),
  };
}

/** Omits a configuration without graded runs, and then also the difference: it would read as 0%. */
function summariseRuns(runs: readonly BenchmarkRun[]) {
  const [one, other] = configurations.map((configuration) => {
    const own = runs.filter((run) => run.configuration === configuration).map(({ result }) => result);
    return own.length === 0
      ? undefined
      : {
          pass_rate: statistics(own.map(({ pass_rate }) => pass_rate)),
          time_seconds: statistics(own.map(({ time_seconds }) => time_seconds)),
          tokens: statistics(own.map(({ tokens }) => tokens)),
        };
  });
  if (!one || !other) return { ...(one && { with_skill: one }), ...(other && { without_skill: other }) };
  const subtract = (measure: keyof typeof one, digits: number) => {
    const change = one[measure].mean - other[measure].mean;
    return `${change < 0 ? "-" : "+"}${Math.abs(change).toFixed(digits)}`;
  };
  const delta = {
    pass_rate: subtract("pass_rate", 2),
    time_seconds: subtract("time_seconds", 1),
    tokens: subtract("tokens", 0),
  };
  return { with_skill: one, without_skill: other, delta };
}

/** What the statistics leave out, and the verdict that they cannot express. */
function makeNotes(
  { suite, model, evals }: SkillCreatorWorkspace,
  summary: RunSummary,
  runs: readonly BenchmarkRun[],
): string[] {
  const planned = sumOf(evals, (one) => configurations.length * one.runs);
  const open = sumOf(runs, ({ notes }) => notes.length);
  const { lift } = summary.suites.find((one) => one.name === suite && one.model === model) ?? {};
  const notes = [
    lift && liftSentence(lift),
    lift?.net && "The lift counts runs that meet all of their expectations; the pass rates are shares of expectations.",
    open > 0 && `Left out of the rates: ${count(open, "expectation")} that could not be graded.`,
    planned > runs.length &&
      `Left out of all figures: ${count(planned - runs.length, "run")} of ${planned}, not graded, broken or missing.`,
    judgeText(summary),
  ];
  return notes.filter((note) => typeof note === "string");
}

/** Computed like in the aggregation: the sample standard deviation, or 0 for a single value. */
function statistics(values: readonly number[]) {
  const mean = sumOf(values, (value) => value) / values.length;
  const squares = sumOf(values, (value) => (value - mean) ** 2);
  const all = values.length > 1 ? Math.sqrt(squares / (values.length - 1)) : 0;
  return {
    mean: rounded(mean),
    stddev: rounded(all),
    min: rounded(values.reduce((least, value) => Math.min(least, value))),
    max: rounded(values.reduce((most, value) => Math.max(most, value))),
  };
}

function makeMetadata({ skill, skillPath, model, evals }: SkillCreatorWorkspace, { startedAt, judge }: RunManifest) {
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
