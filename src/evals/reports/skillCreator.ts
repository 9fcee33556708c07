import * as z from "zod";
import { type RunManifest, withoutArm } from "../types/run.ts";
import type { Cell, Trial, Turn } from "../types/trial.ts";

// The files of anthropics/skills' skill-creator, as its references/schemas.md, aggregate_benchmark.py and eval viewer
// have them. They know passed and failed only, and take what is absent for 0 %: so an expectation that was not graded is
// left out and told as a note, and a run without any graded one has no grading.json and is in no figure.

/** `grading.json`. Without `timing`, for with it the aggregation takes no tokens from timing.json. */
export const gradingSchema = z.object({
  expectations: z.array(z.object({ text: z.string(), passed: z.boolean(), evidence: z.string() })),
  summary: z.object({ passed: z.number(), failed: z.number(), total: z.number(), pass_rate: z.number() }),
  execution_metrics: z.object({
    tool_calls: z.record(z.string(), z.number()),
    total_tool_calls: z.number(),
    total_steps: z.number(),
    errors_encountered: z.number(),
  }),
  user_notes_summary: z.object({
    uncertainties: z.array(z.string()),
    needs_review: z.array(z.string()).describe("what was not graded, and why"),
    workarounds: z.array(z.string()),
  }),
});
export type Grading = z.infer<typeof gradingSchema>;

/** `timing.json`: time is that of waiting for the model, tokens are input and output. */
export const timingSchema = z.object({
  total_tokens: z.number(),
  duration_ms: z.number(),
  total_duration_seconds: z.number(),
  executor_start: z.string(),
  executor_duration_seconds: z.number(),
  grader_duration_seconds: z.number().optional(),
});
export type Timing = z.infer<typeof timingSchema>;

export const configurations = ["with_skill", "without_skill"] as const;
export type Configuration = (typeof configurations)[number];

type Eval = { id: number; name: string; prompt: string; runs: number };

/** What is shown as one benchmark: a skill whose worth is measured, on one model. `folder` is inside of the run's. */
export type Workspace = {
  suite: string;
  skill: string;
  skillPath: string;
  model: string;
  folder: string;
  evals: Eval[];
};

/** Where one run stands in its workspace; `folder` is inside of the workspace's. */
export type Place = { eval: Eval; configuration: Configuration; run: number; folder: string };

/** The workspaces of a run, in the order of its suites and models; none when no skill's worth was measured. */
export function workspacesOf({ suites, models }: RunManifest): Workspace[] {
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

/** A name that every file system takes, and that leads nowhere else. */
function fileName(name: string): string {
  return name.replace(/[^\p{L}\p{N}_-]+/gu, "-").slice(0, 64) || "-";
}

/** All runs of a workspace as planned, in the order in which they are shown. */
export function placesOf({ evals }: Workspace): Place[] {
  return evals.flatMap((one) =>
    configurations.flatMap((configuration) =>
      Array.from({ length: one.runs }, (_, index) => placeAt(one, configuration, index + 1)),
    ),
  );
}

/** The place of a trial, if it is of this workspace. */
export function placeOf({ suite, model, evals }: Workspace, cell: Cell): Place | undefined {
  if (cell.suite !== suite || cell.model !== model) return undefined;
  const one = evals.find(({ name }) => name === cell.case);
  return one && placeAt(one, cell.arm === withoutArm ? "without_skill" : "with_skill", cell.trial);
}

function placeAt(one: Eval, configuration: Configuration, run: number): Place {
  return { eval: one, configuration, run, folder: `eval-${one.id}/${configuration}/run-${run}` };
}

/** `eval_metadata.json`; the viewer looks for it beside the runs, the aggregation beside the configurations. */
export function evalMetadata({ id, name, prompt }: Eval) {
  return { eval_id: id, eval_name: name, prompt };
}

/** What is written of one trial: `grading` is absent when nothing of it was graded; `output` is for a reader. */
export function runFiles(trial: Trial): { grading?: Grading; timing: Timing; output: string } {
  const grading = gradingOf(trial);
  return { ...(grading && { grading }), timing: timingOf(trial), output: outputOf(trial) };
}

function gradingOf({ verdict, turns }: Trial): Grading | undefined {
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
    execution_metrics: metricsOf(turns),
    user_notes_summary: {
      uncertainties: [],
      needs_review: open.map(({ what, why }) => `not graded: ${sentence(what)}${why ? ` (${why})` : ""}`),
      workarounds: [],
    },
  };
}

const sentence = (what: string) => what.replace(/^behaviour: /, "");

function metricsOf(turns: readonly Turn[]): Grading["execution_metrics"] {
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

function timingOf({ turns, startedAt, judging }: Trial): Timing {
  const ms = turns.reduce((sum, turn) => sum + turn.ms, 0);
  const tokens = turns.reduce(
    (sum, { usage }) => sum + usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens + usage.outputTokens,
    0,
  );
  return {
    total_tokens: tokens,
    duration_ms: Math.round(ms),
    total_duration_seconds: rounded(ms / 1000),
    executor_start: startedAt,
    executor_duration_seconds: rounded(ms / 1000),
    ...(judging && { grader_duration_seconds: rounded(judging.ms / 1000) }),
  };
}

function outputOf({ turns, outcome }: Trial): string {
  const said = turns.flatMap(({ text, calls }) => [
    ...(text.trim() === "" ? [] : [text]),
    ...calls.map(({ tool, arguments: args, argumentsText = "" }) =>
      `→ ${tool} ${args === undefined ? argumentsText : JSON.stringify(args)}`.trimEnd(),
    ),
  ]);
  const broken = outcome.kind === "broken" ? [`(broken, ${outcome.stage}: ${outcome.message})`] : [];
  return `${[...said, ...broken].join("\n\n") || "(nothing was said)"}\n`;
}

/** To four digits, as the aggregation rounds. */
export const rounded = (value: number) => Math.round(value * 1e4) / 1e4;
