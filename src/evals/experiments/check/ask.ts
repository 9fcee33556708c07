import { resolve } from "node:path";
import { preflight } from "../../asking/scoring/preflight.ts";
import { countOrders, getExposure, type PlannedCase } from "../../asking/trials/plan.ts";
import type { PlanEnd } from "../../asking/trials/runPlan.ts";
import { defined } from "../../base/collections.ts";
import { noTrials } from "../../base/stats/counts.ts";
import { type Baseline, type CheckPlan, type ComparePlan, toComparedRun } from "../../base/types/check.ts";
import type { DriftPlan } from "../../base/types/drift.ts";
import { isLocalModel } from "../../base/types/endpoint.ts";
import { printProblem, usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import { canonicalJson, jsonSchema } from "../../base/types/json.ts";
import { isSameModel, type Model } from "../../base/types/model.ts";
import type { RunManifest, RunSummary } from "../../base/types/run.ts";
import { asksModel, type Suite } from "../../base/types/suite.ts";
import type { OfferedTool } from "../../base/types/tool.ts";
import { baselineFile, readBaseline, readSuiteBaselines, withPlacebo, writeBaseline } from "../../records/baseline.ts";
import { comparability, describeRun } from "../design/comparable.ts";
import { defaultTrials, mostTrials } from "../design/statistics.ts";
import type { PlannedChecks } from "../pipeline/manifest.ts";
import { ArmCases, type Ask, type GetToolset, runDesign } from "../pipeline/pipeline.ts";
import { placeboTrials, summarizePlacebo, toPlacebo } from "./placebo.ts";
import { explainLost, isPlacebo } from "./sentences.ts";
import type { Check } from "./verdict.ts";

export type CheckOptions = {
  check?: "on" | "always" | "placebo" | "off" | undefined;
  /** The cap of a check, the trials of a night, and the trials of cases that are not checked. */
  trials?: number | undefined;
  margin: number;
  nightly?: boolean | undefined;
  baselines: string;
  host: string;
  batch?: boolean | undefined;
};

/** Plans a night of a suite whose tools are those of its baseline. `same`: the cases that have not changed since. */
type PlanNight = (
  accepted: { baseline: Baseline; file: string; suite: string; same: readonly string[] },
  cases: readonly PlannedCase[],
  model: Model,
  margin: number,
) => Promise<DriftPlan>;

/** Reads the baselines and plans one check for each suite and model that has one. */
export async function planChecks(
  options: CheckOptions & { planNight: PlanNight },
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
  const withEdits = options.check === "placebo";
  const cap = options.trials ?? (withEdits ? placeboTrials : defaultTrials);
  const dir = resolve(io.cwd, options.baselines);
  const names = suites.map(({ name }) => name);
  const warn = (message: string, hint: string) => printProblem(io)({ severity: "warning", message, hint });
  for (const suite of suites) {
    // Lift is measured within each run, against the same queries without the skill.
    if (suite.lift !== undefined) continue;
    for (const model of models.filter((one) => asksModel(suite, one))) {
      const { file, found, others } = await findBaseline(dir, suite, model, names);
      if (!found) {
        if (options.check === undefined && !options.nightly) {
          const known = others.map(({ baseline }) => baseline.model.id).join(", ");
          if (known !== "")
            warn(
              `The suite "${suite.name}" has no baseline on ${model.id}, so nothing is checked; it has one on ${known}.`,
              "Run one of those models with -m, or accept this run with `evals baseline accept`.",
            );
          continue;
        }
        throw usageError(
          `There is no baseline of "${suite.name}" on ${model.id} to check against.`,
          `Accept one with \`evals baseline accept\` after a run, or omit --${options.nightly ? "nightly" : "check"}. The expected file is ${file}.`,
        );
      }
      const own = cases.filter((planned) => planned.suite === suite);
      const margin = suite.margin ?? options.margin;
      const baseline = withEdits ? toPlacebo(found.baseline, own) : found.baseline;
      const plan = await planCheck(baseline, found.file, own, model, { ...options, cap, margin });
      if (plan.kind === "not comparable")
        warn(
          `The suite "${suite.name}" cannot be compared with its baseline on ${model.id}, so nothing is checked.`,
          plan.reasons.join("\n"),
        );
      plans.set(suite.name, [...(plans.get(suite.name) ?? []), plan]);
      Object.assign(toolsets, baseline.toolsets);
    }
  }
  const compared = [...plans.values()].flat().filter((plan) => plan.kind === "compare");
  if (compared.length > 0 && cap > mostTrials)
    throw usageError(
      `-n ${cap} is more than a check can use: it takes at most ${mostTrials} trials per case and tool list.`,
      `Use -n ${mostTrials} or less, or --check off.`,
    );
  // A plan without cases has no test that could err.
  const tested = compared.filter((plan) => plan.cases.length > 0);
  for (const plan of compared) plan.families = Math.max(1, tested.length);
  const watched = [...plans.values()].flat().flatMap((plan) => (plan.kind === "unchanged" && plan.drift) || []);
  for (const drift of watched) drift.families = watched.length;
  if (options.nightly && watched.length === 0)
    warn(
      "--nightly: no night is added, because the tools are no longer those of the baseline, or no model can drift.",
      "See the report. Later nights are compared with a new baseline.",
    );
  return { plans, toolsets };
}

/** Whether a suite has a baseline on one of these models. `suites`: all suites of the run. */
export async function isAccepted(
  { baselines }: Pick<CheckOptions, "baselines">,
  suite: Suite,
  models: readonly Model[],
  suites: readonly Suite[],
  { cwd }: Pick<Io, "cwd">,
): Promise<boolean> {
  const names = suites.map(({ name }) => name);
  const asked = models.filter((one) => asksModel(suite, one));
  const all = await Promise.all(asked.map((model) => findBaseline(resolve(cwd, baselines), suite, model, names)));
  return all.some(({ found }) => found !== undefined);
}

/**
 * Finds the baseline of a suite on a model, even under an alias of the model or a former name of the suite. `names`:
 * all suites of the run. Returns the expected file, and in `others` the baselines of the suite on any model.
 */
export async function findBaseline(dir: string, suite: Suite, model: Model, names: readonly string[]) {
  const file = baselineFile(dir, suite.name, model.id);
  const others = await readSuiteBaselines(dir, suite.name);
  const find = async () => {
    const baseline = await readBaseline(file);
    if (baseline) return { file, baseline };
    const alias = others.find((one) => isSameModel(one.baseline.model, model));
    return alias ?? (others.length === 0 ? await findRenamed(dir, suite, model, names) : undefined);
  };
  return { file, found: await find(), others };
}

/** Finds the only baseline on this model that shares most cases and whose suite is not in the run: it was renamed. */
async function findRenamed(dir: string, { cases }: Suite, model: Model, names: readonly string[]) {
  const hashes = new Map(cases.map(({ id, hash }) => [id, hash]));
  const alike = (await readSuiteBaselines(dir)).filter(({ baseline }) => {
    const kept = baseline.cases.filter(({ id, hash }) => hashes.get(id) === hash).length;
    const isMost = 2 * kept > Math.max(baseline.cases.length, cases.length);
    return isMost && isSameModel(baseline.model, model) && !names.includes(baseline.suite);
  });
  return alike.length === 1 ? alike[0] : undefined;
}

async function planCheck(
  baseline: Baseline,
  file: string,
  cases: readonly PlannedCase[],
  model: Model,
  options: CheckOptions & { planNight: PlanNight; cap: number },
): Promise<CheckPlan> {
  const now = describeRun(cases, model, options);
  // A baseline under another suite name was found by its cases, so compare as if the name were the same.
  const then = { ...toComparedRun(baseline), suite: now.suite };
  const compared = comparability(then, now, { withChanged: true });
  if (compared.kind === "not comparable") return { kind: "not comparable", model: model.id, reasons: compared.reasons };
  const { notes } = compared;
  if (baseline.suite !== now.suite)
    notes.unshift(
      `The suite is called "${baseline.suite}" in the baseline, and is taken for the same: most cases are the same`,
    );
  const same = new Set(compared.cases);
  const findToolset = createToolsetFinder(baseline, cases);
  const all = cases.map((planned) => {
    const hash = findToolset(planned);
    const accepted = baseline.cases.find(({ id }) => same.has(id) && id === planned.case.id);
    return { planned, hash, tools: baseline.toolsets[hash ?? ""] ?? [], accepted };
  });
  const lost = all.flatMap(({ planned: { case: one, unavailable } }) =>
    unavailable ? [{ case: one.id, reason: unavailable.message.replace(`Case "${one.id}": `, "") }] : [],
  );
  if (lost.length > 0 && lost.length === all.length)
    return { kind: "not comparable", model: model.id, reasons: explainLost(lost) };
  const asked = all.filter(({ planned }) => !planned.unavailable);
  const isSameList = asked.every(({ planned, hash }) => planned.toolset.hash === hash);
  const isSameRequest = asked.every(
    ({ planned, tools }) => describeShown(planned.toolset.tools, model) === describeShown(tools, model),
  );
  if (!isSameList && isSameRequest)
    notes.unshift(
      "The tools changed only in what no request shows to this model (annotations, outputSchema, title, _meta)",
    );
  if (options.check !== "always" && (isSameList || isSameRequest))
    return {
      kind: "unchanged",
      model: model.id,
      notes,
      ...(!model.deterministic &&
        isSameList &&
        compared.cases.length > 0 && {
          drift: await options.planNight(
            { baseline, file, suite: now.suite, same: compared.cases },
            cases,
            model,
            options.margin,
          ),
        }),
    };
  // A case that could not be graded for the baseline will not be now: its trials would be asked three times for
  // nothing.
  const graded = asked.filter(({ accepted }) => accepted?.trials !== 0);
  if (asked.length > 0 && graded.length === 0)
    return { kind: "not comparable", model: model.id, reasons: ["No case has a graded trial in the baseline."] };
  const comparable = graded.filter(({ planned: { case: one, suite }, hash, tools, accepted }) => {
    if (accepted || hash === undefined) return accepted !== undefined;
    return preflight(one, { hash, tools }, suite.execute).every(({ severity }) => severity !== "error");
  });
  const named = {
    "Added or reworded since the baseline, and asked on both lists": comparable.filter(({ accepted }) => !accepted),
    "Without a graded trial in the baseline (not compared)": asked.filter((one) => !graded.includes(one)),
    "Not possible with the tools of the baseline (not compared)": graded.filter((one) => !comparable.includes(one)),
  };
  for (const [what, some] of Object.entries(named))
    if (some.length > 0) notes.push(`${what}: ${some.map(({ planned }) => planned.case.id).join(", ")}`);
  return {
    kind: "compare",
    model: model.id,
    cap: options.cap,
    families: 1,
    margin: options.margin,
    ...(!areKept(comparable, model, options) && { ownOrders: true }),
    baseline: {
      file,
      run: baseline.run,
      acceptedAt: baseline.acceptedAt,
      ...defined({ commit: baseline.git?.commit }),
    },
    cases: comparable.map(({ planned: { case: one, toolset }, hash = "", tools, accepted }) => {
      const wordings = one.paraphrases?.length ?? 1;
      // A host sets the order of tools itself.
      const hasOneOrder = model.deterministic || "converse" in model;
      const requests = wordings * (hasOneOrder ? 1 : Math.min(countOrders(tools), countOrders(toolset.tools)));
      const { passed, trials } = accepted ?? noTrials;
      const several = { ...(Number.isFinite(requests) && { requests }), ...(wordings > 1 && { wordings }) };
      return { id: one.id, bank: { passed, trials }, toolset: hash, ...several };
    }),
    ...(comparable.length < cases.length && { of: cases.length }),
    ...(lost.length > 0 && { lost }),
    ...(options.check === "placebo" && { isPlacebo: true as const }),
    ...(options.check !== "placebo" && baseline.placebo && { placebo: baseline.placebo }),
    notes,
  };
}

/**
 * The list of a case in the base arm: its own in the baseline; for an added one, that of a case with its list today.
 */
function createToolsetFinder({ cases: accepted, toolsets }: Baseline, cases: readonly PlannedCase[]) {
  const before = new Map(accepted.map(({ id, toolset }) => [id, toolset]));
  const byToday = new Map(cases.map(({ case: { id }, toolset: { hash } }) => [hash, before.get(id)]));
  for (const { case: one, toolset } of cases) if (before.has(one.id)) byToday.set(toolset.hash, before.get(one.id));
  const [only, ...others] = Object.keys(toolsets);
  return ({ case: { id }, toolset: { hash } }: PlannedCase): string | undefined =>
    before.get(id) ?? byToday.get(hash) ?? (others.length === 0 ? only : undefined);
}

/** What the requests to a model show of a tool list. Hosts and tool searches may use all of it. */
function describeShown(tools: readonly OfferedTool[], model: Model): string {
  const isAsked = "ask" in model && getExposure(model).kind === "all";
  const shown = tools.map((tool) => {
    const { annotations, outputSchema, title, _meta, ...request } = tool;
    return canonicalJson(jsonSchema.parse(isAsked ? request : tool));
  });
  return shown.toSorted().join("\n");
}

/** Providers keep no prompts that are shorter than this. */
const leastKeptTokens = 1024;
const charactersPerToken = 4;

/** Whether a prompt cache can serve the lists of a check, so that pairs should share tool orders. */
function areKept(
  cases: readonly { planned: PlannedCase; tools: readonly OfferedTool[] }[],
  model: Model,
  { batch }: Pick<CheckOptions, "batch">,
): boolean {
  if (batch || model.deterministic || !("ask" in model) || getExposure(model).kind !== "all") return false;
  const lists = new Set(cases.flatMap(({ planned, tools }) => [planned.toolset.tools, tools]));
  const shortest = Math.min(...[...lists].map((tools) => JSON.stringify(tools).length));
  return isLocalModel(model) || shortest >= charactersPerToken * leastKeptTokens;
}

/** Keeps what the placebos of a finished run came to with their baselines, for the reports of later checks. */
export async function recordPlacebos({ suites }: RunSummary, manifest: RunManifest): Promise<void> {
  for (const { name, model, verdict } of suites) {
    if (!verdict || !isPlacebo(verdict) || verdict.kind === "inconclusive") continue;
    const plan = manifest.suites.find((suite) => suite.name === name)?.checks?.find((check) => check.model === model);
    if (plan?.kind !== "compare") continue;
    const { file } = plan.baseline;
    const baseline = await readBaseline(file);
    const found = { run: manifest.id, ...summarizePlacebo(verdict) };
    if (baseline) await writeBaseline(file, withPlacebo(baseline, found));
  }
}

/** Runs the trials that a check requests. */
export async function runCheck(
  { design, record }: Check,
  plan: ComparePlan,
  cases: readonly PlannedCase[],
  model: Model,
  { toolsets, seed }: RunManifest,
  ask: Ask,
): Promise<PlanEnd> {
  if (!design) return "complete";
  const base = new Map(plan.cases.map(({ id, toolset: hash }) => [id, { hash, tools: toolsets[hash] ?? [] }]));
  const arms = new Map<string, GetToolset>([
    ["head", ({ toolset }) => toolset],
    ["base", (planned) => base.get(planned.case.id)],
  ]);
  const armCases = new ArmCases(cases, arms, seed);
  return (await runDesign(design, record, { cases: armCases, model }, ask)).end;
}
