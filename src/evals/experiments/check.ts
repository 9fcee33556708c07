import { resolve } from "node:path";
import { usageError } from "../errors.ts";
import type { Io } from "../io.ts";
import { baselineFile, readBaseline } from "../runs/baseline.ts";
import { type PlannedCase, requestedCells } from "../trials/plan.ts";
import { pursue } from "../trials/pursue.ts";
import type { PlanEnd } from "../trials/runPlan.ts";
import { type Baseline, comparedOf } from "../types/baseline.ts";
import { canonicalJson } from "../types/json.ts";
import type { Model } from "../types/model.ts";
import type { CheckPlan, RunManifest } from "../types/run.ts";
import type { Suite } from "../types/suite.ts";
import type { Check } from "../verdicts/check.ts";
import { type ComparedRun, comparability } from "../verdicts/comparable.ts";
import type { Request } from "../verdicts/design.ts";
import { version } from "../version.ts";
import type { Asking } from "./asking.ts";
import type { RunOptions } from "./run.ts";

/** What is to be compared with baselines: the plans by suite, and the lists of the base arms by hash. */
export type PlannedChecks = { plans: ReadonlyMap<string, readonly CheckPlan[]>; toolsets: RunManifest["toolsets"] };

/** Reads the baselines and plans one check for each suite and model that has one. */
export async function planChecks(
  flags: RunOptions,
  suites: readonly Suite[],
  models: readonly Model[],
  cases: readonly PlannedCase[],
  io: Io,
): Promise<PlannedChecks> {
  const plans = new Map<string, CheckPlan[]>();
  const toolsets: RunManifest["toolsets"] = {};
  if (flags.check === "off") return { plans, toolsets };
  const dir = resolve(io.cwd, flags.baselines);
  for (const suite of suites) {
    // What a skill is worth is measured against the same queries without it, in every run.
    if (suite.lift !== undefined) continue;
    for (const model of models) {
      const file = baselineFile(dir, suite.name, model.id);
      const baseline = await readBaseline(file);
      if (!baseline) {
        if (flags.check === undefined) continue;
        throw usageError(
          `there is no baseline of ${suite.name} on ${model.id} to check against`,
          `Accept one with \`evals baseline accept\` after a run, or leave --check out. It would be ${file}.`,
        );
      }
      const own = cases.filter((planned) => planned.suite === suite);
      plans.set(suite.name, [...(plans.get(suite.name) ?? []), planOf(baseline, file, own, model, flags)]);
      Object.assign(toolsets, baseline.toolsets);
    }
  }
  return { plans, toolsets };
}

function planOf(
  baseline: Baseline,
  file: string,
  cases: readonly PlannedCase[],
  model: Model,
  flags: RunOptions,
): CheckPlan {
  const compared = comparability(comparedOf(baseline), runIdentity(cases, model, flags.host));
  if (compared.kind === "not comparable") return { kind: "not comparable", model: model.id, reasons: compared.reasons };
  const before = new Map(baseline.cases.map((one) => [one.id, one]));
  const comparable = compared.cases.flatMap((id) => before.get(id) ?? []);
  const now = new Map(cases.map((planned) => [planned.case.id, planned.toolset.hash]));
  if (comparable.length > 0 && comparable.every(({ id, toolset }) => now.get(id) === toolset))
    return { kind: "unchanged", model: model.id, notes: compared.notes };
  return {
    kind: "compare",
    model: model.id,
    design: flags.check === "thorough" || flags.check === "anytime" ? flags.check : "screen",
    margin: flags.margin,
    baseline: {
      file,
      run: baseline.run,
      acceptedAt: baseline.acceptedAt,
      ...(baseline.git && { commit: baseline.git.commit }),
    },
    cases: comparable.map(({ id, passed, trials, toolset }) => ({ id, bank: { passed, trials }, toolset })),
    notes: compared.notes,
  };
}

function runIdentity(cases: readonly PlannedCase[], model: Model, host: string): ComparedRun {
  return {
    suite: cases[0]?.suite.name ?? "",
    model: model.id,
    settings: canonicalJson(model.settings),
    host,
    harness: version,
    cases: cases.map(({ case: { id, hash } }) => ({ id, hash })),
  };
}

/**
 * Runs the trials that a check asks for until it decides. The base arm is served from the list that the plan recorded;
 * its calls go to the live server like those of the head arm.
 */
export async function pursueCheck(
  check: Check,
  plan: Extract<CheckPlan, { kind: "compare" }>,
  cases: readonly PlannedCase[],
  model: Model,
  manifest: RunManifest,
  asking: Asking,
): Promise<PlanEnd> {
  const head = new Map(cases.map((planned) => [planned.case.id, planned]));
  const base = new Map(
    plan.cases.flatMap(({ id, toolset }) => {
      const planned = head.get(id);
      return planned
        ? [
            [
              id,
              { ...planned, arm: "base", toolset: { hash: toolset, tools: manifest.toolsets[toolset] ?? [] } },
            ] as const,
          ]
        : [];
    }),
  );
  const find = ({ case: id, arm }: Request): PlannedCase => {
    const planned = (arm === "base" ? base : head).get(id);
    if (!planned) throw new Error(`the design asked for ${id} in ${arm}, which is not planned`);
    return planned;
  };
  const pursued = await pursue(check.design, check.book, (requests) =>
    asking.ask(requestedCells(requests, find, model, manifest.seed)),
  );
  return pursued.kind === "stopped" ? pursued.end : "complete";
}
