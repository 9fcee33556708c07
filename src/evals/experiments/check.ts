import { resolve } from "node:path";
import { countOrders } from "../decisions/orders.ts";
import { defaultTrials, mostTrials } from "../decisions/statistics.ts";
import { baselineFile, readBaseline, readSuiteBaselines } from "../runs/baseline.ts";
import { getExposure, type PlannedCase } from "../trials/plan.ts";
import type { PlanEnd } from "../trials/runPlan.ts";
import { type Baseline, toComparedRun } from "../types/baseline.ts";
import type { CheckPlan, ComparePlan } from "../types/check.ts";
import { formatProblem, usageError } from "../types/errors.ts";
import { nameExposure } from "../types/exposure.ts";
import type { Io } from "../types/io.ts";
import { canonicalJson } from "../types/json.ts";
import { isSameModel, type Model } from "../types/model.ts";
import type { RunManifest } from "../types/run.ts";
import { asksModel, type Suite } from "../types/suite.ts";
import type { OfferedTool } from "../types/tool.ts";
import type { Check } from "../verdicts/check.ts";
import { type ComparedRun, comparability } from "../verdicts/comparable.ts";
import { version } from "../workspace/version.ts";
import { type DriftRunOptions, planDrift } from "./drift.ts";
import { ArmCases, type Ask, type ListOf, pursueDesign } from "./pipeline.ts";

export type CheckOptions = DriftRunOptions & {
  /** `on`: a baseline is required. The others but `off` are caps by the names of earlier designs. */
  check?: "on" | "screen" | "thorough" | "anytime" | "off" | undefined;
  /** The cap of a check, the trials of a night, and those of cases that are not checked. */
  trials?: number | undefined;
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
  if (options.check === "off") {
    if (!options.nightly) return { plans, toolsets };
    throw usageError("--nightly has no effect with --check off.", "Omit one of them.");
  }
  const cap = chooseCap(options, io);
  const dir = resolve(io.cwd, options.baselines);
  for (const suite of suites) {
    // A lift is measured against the same queries without the skill, in every run.
    if (suite.lift !== undefined) continue;
    for (const model of models.filter((one) => asksModel(suite, one))) {
      const file = baselineFile(dir, suite.name, model.id);
      const formerFiles = (model.formerIds ?? []).map((id) => baselineFile(dir, suite.name, id));
      const others = await readSuiteBaselines(dir, suite.name);
      const found =
        (await findBaseline([file, ...formerFiles])) ?? others.find((one) => isSameModel(one.baseline.model, model));
      if (!found) {
        if (options.check === undefined && !options.nightly) {
          if (others.length > 0) warnUnchecked(suite.name, model.id, others, io);
          continue;
        }
        throw usageError(
          `There is no baseline of "${suite.name}" on ${model.id} to check against.`,
          `Accept one with \`evals baseline accept\` after a run, or omit --${options.nightly ? "nightly" : "check"}. The expected file is ${file}.`,
        );
      }
      const own = cases.filter((planned) => planned.suite === suite);
      plans.set(suite.name, [
        ...(plans.get(suite.name) ?? []),
        await planCheck(found.baseline, found.file, own, model, { ...options, cap }),
      ]);
      Object.assign(toolsets, found.baseline.toolsets);
    }
  }
  const compared = [...plans.values()].flat().filter((plan) => plan.kind === "compare");
  if (compared.length > 0 && cap > mostTrials)
    throw usageError(
      `-n ${cap} is more than a check can use: it takes at most ${mostTrials} trials per case and tool list.`,
      `Use -n ${mostTrials} or less, or --check off.`,
    );
  for (const plan of compared) plan.families = compared.length;
  const watched = [...plans.values()].flat().flatMap((plan) => (plan.kind === "unchanged" && plan.drift) || []);
  for (const drift of watched) drift.families = watched.length;
  if (options.nightly && watched.length === 0) warnAboutNightly(compared.length > 0, io);
  return { plans, toolsets };
}

/** A model is not checked when its suite has baselines on other models only. */
function warnUnchecked(
  suite: string,
  model: string,
  others: readonly { baseline: Baseline }[],
  io: Pick<Io, "err">,
): void {
  const models = others.map(({ baseline }) => baseline.model.id).join(", ");
  const message = `The suite "${suite}" has no baseline on ${model}, so nothing is checked; it has one on ${models}.`;
  const hint = "Run one of those models with -m, or accept this run with `evals baseline accept`.";
  io.err(`${formatProblem({ severity: "warning", message, hint })}\n`);
}

/** The first of these files that exists. */
async function findBaseline(files: readonly string[]): Promise<{ file: string; baseline: Baseline } | undefined> {
  for (const file of files) {
    const baseline = await readBaseline(file);
    if (baseline) return { file, baseline };
  }
  return undefined;
}

/** The most trials per case and arm that the designs of earlier versions stand for. */
const capOfDesign = { screen: 12, thorough: 25, anytime: 100 } as const;

function chooseCap({ check, trials }: CheckOptions, io: Io): number {
  if (check === undefined || check === "on" || check === "off") return trials ?? defaultTrials;
  const cap = trials ?? capOfDesign[check];
  const message = `--check ${check} is a name of an earlier version, and now means -n ${capOfDesign[check]}.`;
  const hint = `Use --check on${trials === undefined ? ` -n ${cap}` : ""}.`;
  io.err(`${formatProblem({ severity: "warning", message, hint })}\n`);
  return cap;
}

function warnAboutNightly(isChanged: boolean, io: Io): void {
  const message = isChanged
    ? "--nightly: the tools are no longer those of the baseline, so they are checked, and no night is added."
    : "--nightly: there is nothing to watch, because no model can drift or no run can be compared.";
  const hint = isChanged ? "Accept a new baseline to go on with nights." : "See the report.";
  io.err(`${formatProblem({ severity: "warning", message, hint })}\n`);
}

async function planCheck(
  baseline: Baseline,
  file: string,
  cases: readonly PlannedCase[],
  model: Model,
  options: CheckOptions & { cap: number },
): Promise<CheckPlan> {
  const compared = comparability(toComparedRun(baseline), describeRun(cases, model, options.host));
  if (compared.kind === "not comparable") return { kind: "not comparable", model: model.id, reasons: compared.reasons };
  const before = new Map(baseline.cases.map((one) => [one.id, one]));
  const now = new Map(cases.map((planned) => [planned.case.id, planned]));
  const lost = compared.cases.filter((id) => now.get(id)?.unavailable);
  if (lost.length > 0 && lost.length === compared.cases.length) {
    const reason = `The tools are not available: ${now.get(lost[0] ?? "")?.unavailable?.message ?? "no reason given"}.`;
    return { kind: "not comparable", model: model.id, reasons: [reason] };
  }
  const comparable = compared.cases.filter((id) => !lost.includes(id)).flatMap((id) => before.get(id) ?? []);
  const isSame = ({ id, toolset }: Baseline["cases"][number]) => now.get(id)?.toolset.hash === toolset;
  if (comparable.length > 0 && comparable.every(isSame))
    return {
      kind: "unchanged",
      model: model.id,
      notes: compared.notes,
      ...(!model.deterministic && {
        drift: await planDrift({ baseline, file, same: compared.cases }, cases, model, options),
      }),
    };
  // What could not be graded then will not be now: each trial would be asked three times for nothing.
  const graded = comparable.filter(({ trials }) => trials > 0);
  if (comparable.length > 0 && graded.length === 0)
    return { kind: "not comparable", model: model.id, reasons: ["No case has a graded trial in the baseline."] };
  const ungraded = comparable.filter(({ trials }) => trials === 0).map(({ id }) => id);
  const notes = [
    ...(lost.length > 0 ? [`Without their tools (not compared): ${lost.join(", ")}`] : []),
    ...(ungraded.length > 0 ? [`Without a graded trial in the baseline (not compared): ${ungraded.join(", ")}`] : []),
  ];
  return {
    kind: "compare",
    model: model.id,
    design: "pairs",
    cap: options.cap,
    margin: options.margin,
    baseline: {
      file,
      run: baseline.run,
      acceptedAt: baseline.acceptedAt,
      ...(baseline.git && { commit: baseline.git.commit }),
      ...(baseline.model.repliedBy !== undefined && { repliedBy: baseline.model.repliedBy }),
    },
    cases: graded.map(({ id, passed, trials, toolset }) => {
      const planned = now.get(id);
      const lists = [baseline.toolsets[toolset] ?? [], planned?.toolset.tools ?? []];
      const requests = countRequests(lists, model) * (planned?.case.paraphrases?.length ?? 1);
      return { id, bank: { passed, trials }, toolset, ...(Number.isFinite(requests) && { requests }) };
    }),
    notes: [...compared.notes, ...notes],
  };
}

/** Different requests of a case: its tool orders, but one where a host sets the order or the order makes no difference. */
function countRequests(lists: readonly (readonly OfferedTool[])[], model: Model): number {
  return model.deterministic || "converse" in model ? 1 : Math.min(...lists.map(countOrders));
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

/**
 * Runs the trials that a check asks for until it decides. The base arm is shown the tools that the plan recorded. Throws a
 * usage error for a check that an earlier version planned.
 */
export async function pursueCheck(
  { design, record }: Check,
  plan: ComparePlan,
  cases: readonly PlannedCase[],
  model: Model,
  { toolsets, seed }: RunManifest,
  ask: Ask,
): Promise<PlanEnd> {
  if (!design) {
    if (plan.cases.length === 0) return "complete";
    throw usageError(
      `The run cannot be resumed: an earlier version of tool-evals planned its check by the ${plan.design} design.`,
      "Start a new run; `evals report` still reads its record.",
    );
  }
  const base = new Map(plan.cases.map(({ id, toolset: hash }) => [id, { hash, tools: toolsets[hash] ?? [] }]));
  const arms = new Map<string, ListOf>([
    ["head", ({ toolset }) => toolset],
    ["base", (planned) => base.get(planned.case.id)],
  ]);
  const armCases = new ArmCases(cases, arms, seed);
  return (await pursueDesign(design, record, { cases: armCases, model }, ask)).end;
}
