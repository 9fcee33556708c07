import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/**
 * Writes the workspaces that the viewer and the aggregation of skill-creator (anthropics/skills) read, into
 * `skill-creator/<skill>/<model>/` of the run's folder, for a run that measures what skills contribute (`--judge`).
 *
 * skill-creator knows only passed and failed, and reads a missing value as 0%. So an expectation that was not graded is
 * left out and noted, and a trial without graded expectations gets no grading.json and does not enter any statistic.
 *
 * @type {import("tool-evals").Reporter}
 */
export default async ({ manifest, dir }) => {
  const trials = await readTrials(dir);
  const skills = manifest.suites.filter(({ lift }) => lift !== undefined);
  for (const { name, lift, file, cases } of skills)
    for (const { id: model } of manifest.models) {
      const folder = join(dir, "skill-creator", fileName(lift), fileName(model));
      // Eval files that number their queries keep the numbers.
      const isNumbered = cases.every(({ id }) => /^\d{1,9}$/.test(id));
      const evals = cases.map(({ id, input }, at) => ({
        eval_id: isNumbered ? Number(id) : at + 1,
        eval_name: id,
        prompt: input,
      }));
      const runs = [];
      for (const one of evals) {
        const own = trials.filter(
          ({ cell }) => cell.suite === name && cell.model === model && cell.case === one.eval_name,
        );
        for (const trial of own) {
          const run = describeRun(one, trial);
          await writeRun(join(folder, `eval-${one.eval_id}`), one, run, trial);
          if (run.grading) runs.push(run);
        }
      }
      const metadata = {
        skill_name: lift,
        skill_path: file.replace(/[/\\]evals[/\\][^/\\]*$/, ""),
        executor_model: model,
        timestamp: manifest.startedAt,
        evals_run: evals.map(({ eval_id }) => eval_id),
      };
      await writeJson(join(folder, "benchmark.json"), {
        metadata,
        runs: runs.map(toBenchmark),
        run_summary: summarize(runs),
      });
    }
};

/** The last attempt of each trial. */
async function readTrials(dir) {
  const text = await readFile(join(dir, "trials.jsonl"), "utf8");
  const trials = text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  const byCell = new Map(trials.map((trial) => [JSON.stringify({ ...trial.cell, attempt: 1 }), trial]));
  return [...byCell.values()];
}

const fileName = (name) => name.replace(/[^\p{L}\p{N}_-]+/gu, "-").slice(0, 64) || "-";

const writeJson = async (file, value) => {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `${JSON.stringify(value, null, 2)}\n`);
};

function describeRun(one, { cell, turns, startedAt, verdict }) {
  const ms = turns.reduce((sum, turn) => sum + turn.ms, 0);
  const tokens = turns.reduce((sum, { usage }) => sum + Object.values(usage).reduce((all, n) => all + n, 0), 0);
  return {
    one,
    configuration: cell.arm === "without" ? "without_skill" : "with_skill",
    number: cell.trial,
    grading: grade(verdict?.checks ?? []),
    timing: {
      total_tokens: tokens,
      duration_ms: Math.round(ms),
      total_duration_seconds: ms / 1000,
      executor_start: startedAt,
    },
  };
}

/** `grading.json`; undefined if no expectation was graded. */
function grade(checks) {
  const withoutPrefix = (what) => what.replace(/^behavior: /, "");
  const expectations = checks
    .filter(({ met }) => met !== "unknown")
    .map(({ what, met, why, evidence }) => ({
      text: withoutPrefix(what),
      passed: met === "yes",
      evidence: [why, evidence && JSON.stringify(evidence)].filter(Boolean).join(" "),
    }));
  const total = expectations.length;
  if (total === 0) return undefined;
  const passed = expectations.filter((expectation) => expectation.passed).length;
  const open = checks.filter(({ met }) => met === "unknown").map(({ what }) => `not graded: ${withoutPrefix(what)}`);
  return {
    expectations,
    summary: { passed, failed: total - passed, total, pass_rate: passed / total },
    user_notes_summary: { uncertainties: [], needs_review: open, workarounds: [] },
  };
}

/** The files of a run. The viewer looks for the metadata beside the runs, the aggregation beside the configurations. */
async function writeRun(folder, one, { configuration, number, grading, timing }, { turns, outcome }) {
  const run = join(folder, configuration, `run-${number}`);
  const texts = turns.flatMap(({ text, calls }) => [
    ...(text.trim() === "" ? [] : [text]),
    ...calls.map(({ tool, arguments: args }) => `-> ${tool} ${JSON.stringify(args ?? {})}`),
  ]);
  const broken = outcome.kind === "broken" ? [`(broken, ${outcome.stage}: ${outcome.message})`] : [];
  await writeJson(join(folder, "eval_metadata.json"), one);
  await writeJson(join(folder, configuration, "eval_metadata.json"), one);
  if (grading) await writeJson(join(run, "grading.json"), grading);
  await writeJson(join(run, "timing.json"), timing);
  await mkdir(join(run, "outputs"), { recursive: true });
  await writeFile(join(run, "outputs/answer.md"), `${[...texts, ...broken].join("\n\n") || "(no output)"}\n`);
}

function toBenchmark({ one: { eval_id, eval_name }, configuration, number, grading, timing }) {
  const { total_duration_seconds: time_seconds, total_tokens: tokens } = timing;
  const result = { ...grading.summary, time_seconds, tokens };
  const { expectations, user_notes_summary } = grading;
  return {
    eval_id,
    eval_name,
    configuration,
    run_number: number,
    result,
    expectations,
    notes: user_notes_summary.needs_review,
  };
}

/** Leaves out a configuration without graded runs, and then also the difference: it would read as 0%. */
function summarize(runs) {
  const describe = (configuration) => {
    const own = runs.filter((run) => run.configuration === configuration).map((run) => toBenchmark(run).result);
    const measures = ["pass_rate", "time_seconds", "tokens"];
    return own.length === 0
      ? undefined
      : Object.fromEntries(measures.map((measure) => [measure, statistics(own.map((result) => result[measure]))]));
  };
  const [with_skill, without_skill] = [describe("with_skill"), describe("without_skill")];
  if (!with_skill || !without_skill)
    return { ...(with_skill && { with_skill }), ...(without_skill && { without_skill }) };
  const change = with_skill.pass_rate.mean - without_skill.pass_rate.mean;
  return { with_skill, without_skill, delta: { pass_rate: `${change < 0 ? "-" : "+"}${Math.abs(change).toFixed(2)}` } };
}

/** The sample standard deviation, or 0 for a single value, as in the aggregation. */
function statistics(values) {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  const stddev = values.length > 1 ? Math.sqrt(squares / (values.length - 1)) : 0;
  return { mean, stddev, min: Math.min(...values), max: Math.max(...values) };
}
