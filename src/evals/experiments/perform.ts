import { resolve } from "node:path";
import { type ExitCode, exitCodes, formatProblem } from "../errors.ts";
import type { Io } from "../io.ts";
import { planCells } from "../trials/plan.ts";
import type { PlanEnd } from "../trials/runPlan.ts";
import type { AskedModel, Model } from "../types/model.ts";
import type { RunManifest } from "../types/run.ts";
import type { SkillPackage } from "../types/skill.ts";
import { judgesFolder, readJudgeFigure } from "../workspace/judgeFigure.ts";
import { withLiftArms } from "../workspace/lift.ts";
import { type Prepared, prepare } from "../workspace/prepare.ts";
import type { Opened } from "../workspace/servers.ts";
import { startAsking } from "./asking.ts";
import { planChecks, pursueCheck } from "./check.ts";
import { describePlan } from "./dryRun.ts";
import { manifestOf, toolsetsOf } from "./manifest.ts";
import { type OpenRun, resumeRun, startRun } from "./openRun.ts";
import { type Resumed, recordedFlags } from "./resume.ts";
import type { RunOptions } from "./run.ts";

/** What a run is made of once its suites are loaded and its servers and models are open. */
export type RunParts = {
  flags: RunOptions;
  retryBroken: boolean;
  resumed: Resumed | undefined;
  models: readonly Model[];
  /** The skills that each suite offers, by its name. */
  skills: ReadonlyMap<string, readonly SkillPackage[]>;
  judge: AskedModel | undefined;
  opened: readonly Opened[];
  git: RunManifest["git"];
};

/** Checks and plans; then prints the plan (dry run), or runs what is not on the record and reports it. */
export async function perform(
  { flags, retryBroken, resumed, models, skills, judge, opened, git }: RunParts,
  io: Io,
): Promise<ExitCode> {
  const prepared = prepare(opened, { host: flags.host, skills, judge });
  for (const problem of prepared.warnings) io.err(`${formatProblem(problem)}\n`);
  const seed = resumed?.manifest.seed ?? flags.seed ?? Math.floor(Math.random() * 2 ** 31);
  const checks = await planChecks(flags, prepared.suites, models, prepared.cases, io);
  const asked = withLiftArms(prepared.cases);
  if (flags.dryRun) {
    io.out(describePlan(asked, models, seed, checks, judge));
    return exitCodes.passed;
  }
  const manifest = manifestOf({
    ...prepared,
    models,
    judge,
    judgeFigure: judge && (await readJudgeFigure(resolve(io.cwd, judgesFolder), judge.id))?.sentence,
    otherToolsets: toolsetsOf(asked),
    seed,
    git,
    checks,
    host: flags.host,
    flags: recordedFlags(flags),
  });
  const open = resumed
    ? await resumeRun(resumed, manifest, retryBroken)
    : await startRun(resolve(io.cwd, flags.out), manifest);
  const asking = ask(open, prepared, models, flags, io);
  // Reports are loaded while the first answers are awaited.
  const [end, { finish }] = await Promise.all([asking, import("./finish.ts")]);
  return await finish(open, end, flags, io);
}

/** The checks first, for they take the trials of both arms interleaved; then what the gate still wants of head. */
async function ask(
  open: OpenRun,
  prepared: Prepared,
  models: readonly Model[],
  flags: RunOptions,
  io: Io,
): Promise<PlanEnd> {
  const { manifest, results } = open;
  const asking = await startAsking(open, prepared.context, results.summary().totals.trials, flags, io);
  try {
    for (const suite of manifest.suites) {
      for (const plan of suite.checks ?? []) {
        const check = results.check(suite.name, plan.model);
        const model = models.find(({ id }) => id === plan.model);
        if (!check || !model || plan.kind !== "compare") continue;
        const cases = prepared.cases.filter((planned) => planned.suite.name === suite.name);
        const end = await pursueCheck(check, plan, cases, model, manifest, asking);
        if (end !== "complete") return end;
      }
    }
    return await asking.askLast(planCells(withLiftArms(prepared.cases), models, manifest.seed));
  } finally {
    await asking.end();
  }
}
