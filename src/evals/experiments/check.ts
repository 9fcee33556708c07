import { resolve } from "node:path";
import { baselineFile, readBaseline } from "../runs/baseline.ts";
import { getExposure, type PlannedCase } from "../trials/plan.ts";
import type { PlanEnd } from "../trials/runPlan.ts";
import { type Baseline, toComparedRun } from "../types/baseline.ts";
import { usageError } from "../types/errors.ts";
import { nameExposure } from "../types/exposure.ts";
import type { Io } from "../types/io.ts";
import { canonicalJson } from "../types/json.ts";
import type { Model } from "../types/model.ts";
import type { CheckPlan, RunManifest } from "../types/run.ts";
import type { Suite } from "../types/suite.ts";
import type { Check } from "../verdicts/check.ts";
import { type ComparedRun, comparability } from "../verdicts/comparable.ts";
import { version } from "../workspace/version.ts";
import { ArmCases, type Ask, type ListOf, pursueBook } from "./pipeline.ts";

export type CheckOptions = {
  check?: "screen" | "thorough" | "anytime" | "off" | undefined;
  margin: number;
  baselines: string;
  host: string;
};

/** What is compared with baselines: the plans by suite, and the tool lists of the base arms by hash. */
export type PlannedChecks = { plans: ReadonlyMap<string, readonly CheckPlan[]>; toolsets: RunManifest["toolsets"] };

/** Reads the baselines and plans one check for each suite and model that has one. */
export async function planChecks(
  options: CheckOptions,
  suites: readonly Suite[],
  models: readonly Model[],
  cases: readonly PlannedCase[],
  io: Io,
): Promise<PlannedChecks> {
  const plans = new Map<string, CheckPlan[]>();
  const toolsets: RunManifest["toolsets"] = {};
  if (options.check === "off") return { plans, toolsets };
  const dir = resolve(io.cwd, options.baselines);
  for (const suite of suites) {
    // A lift is measured against the same queries without the skill, in every run.
    if (suite.lift !== undefined) continue;
    for (const model of models) {
      const file = baselineFile(dir, suite.name, model.id);
      const formerFiles = (model.formerIds ?? []).map((id) => baselineFile(dir, suite.name, id));
      const found = await findBaseline([file, ...formerFiles]);
      if (!found) {
        if (options.check === undefined) continue;
        throw usageError(
          `There is no baseline of "${suite.name}" on ${model.id} to check against.`,
          `Accept one with \`evals baseline accept\` after a run, or omit --check. The expected file is ${file}.`,
        );
      }
      const own = cases.filter((planned) => planned.suite === suite);
      plans.set(suite.name, [
        ...(plans.get(suite.name) ?? []),
        planCheck(found.baseline, found.file, own, model, options),
      ]);
      Object.assign(toolsets, found.baseline.toolsets);
    }
  }
  return { plans, toolsets };
}

/** The first of these files that exists. */
async function findBaseline(files: readonly string[]): Promise<{ file: string; baseline: Baseline } | undefined> {
  for (const file of files) {
    const baseline = await readBaseline(file);
    if (baseline) return { file, baseline };
  }
  return undefined;
}

function planCheck(
  baseline: Baseline,
  file: string,
  cases: readonly PlannedCase[],
  model: Model,
  options: CheckOptions,
): CheckPlan {
  const compared = comparability(toComparedRun(baseline), describeRun(cases, model, options.host));
  if (compared.kind === "not comparable") return { kind: "not comparable", model: model.id, reasons: compared.reasons };
  const before = new Map(baseline.cases.map((one) => [one.id, one]));
  const comparable = compared.cases.flatMap((id) => before.get(id) ?? []);
  const now = new Map(cases.map((planned) => [planned.case.id, planned.toolset.hash]));
  if (comparable.length > 0 && comparable.every(({ id, toolset }) => now.get(id) === toolset))
    return { kind: "unchanged", model: model.id, notes: compared.notes };
  return {
    kind: "compare",
    model: model.id,
    design: options.check === "thorough" || options.check === "anytime" ? options.check : "screen",
    margin: options.margin,
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

/** What decides whether these cases on this model can be compared with a baseline. */
export function describeRun(cases: readonly PlannedCase[], model: Model, host: string): ComparedRun {
  return {
    suite: cases[0]?.suite.name ?? "",
    model: model.id,
    settings: canonicalJson(model.settings),
    host,
    exposure: nameExposure(getExposure(model)),
    harness: version,
    cases: cases.map(({ case: { id, hash } }) => ({ id, hash })),
  };
}

/** Runs the trials that a check asks for until it decides. The base arm is shown the tools that the plan recorded. */
export async function pursueCheck(
  { design, book }: Check,
  plan: Extract<CheckPlan, { kind: "compare" }>,
  cases: readonly PlannedCase[],
  model: Model,
  { toolsets, seed }: RunManifest,
  ask: Ask,
): Promise<PlanEnd> {
  const base = new Map(plan.cases.map(({ id, toolset: hash }) => [id, { hash, tools: toolsets[hash] ?? [] }]));
  const arms = new Map<string, ListOf>([
    ["head", ({ toolset }) => toolset],
    ["base", (planned) => base.get(planned.case.id)],
  ]);
  const { find } = new ArmCases(cases, arms, seed);
  return (await pursueBook(design, book, { find, model, seed }, ask)).end;
}
