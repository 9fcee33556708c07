import { getOrAdd, sumOf } from "../../base/collections.ts";
import { noTrials } from "../../base/stats/counts.ts";
import { wilson } from "../../base/stats/intervals.ts";
import type { CheckPlan, CheckSummary, Gate } from "../../base/types/check.ts";
import { exitCodes } from "../../base/types/errors.ts";
import type {
  CaseSummary,
  ManifestCase,
  ManifestSuite,
  RunManifest,
  RunSummary,
  SuiteSummary,
} from "../../base/types/run.ts";
import { skillEntryName } from "../../base/types/skill.ts";
import { plannedTrials } from "../../base/types/suite.ts";
import { isOwnTool } from "../../base/types/tool.ts";
import { addCost, type Trial } from "../../base/types/trial.ts";
import { ServersTally } from "../arms/servers.ts";
import { SkillTally } from "../arms/skills.ts";
import { ArmsTally, listComparedArms } from "../arms/tally.ts";
import { Check, readEvents, settledCheck } from "../check/verdict.ts";
import { DriftWatch, parsePasses, readDriftEvents } from "../drift/verdict.ts";
import { confusedPair, DenialTally, DiscoveryTally, MissTally, MockTally, type Pair } from "../results/calls.ts";
import { listFailed, toExitCode } from "../results/outcome.ts";
import { CaseTally, Counter, Ranking, Spending } from "../results/tally.ts";
import { readingNote } from "../results/text.ts";

type Totals = RunSummary["totals"];

/**
 * Makes the summary of a run from the trials of its record. A case is ok if it was graded, no trial was left ungraded,
 * and its rate is at least its pass rate; broken trials do not count in rates. A case that lacks trials is below its
 * pass rate only if they cannot lift it any more. A suite exits with 1 if an event occurred that `failOn` names: by
 * default a regression if there is a check, nothing for a retrieval baseline, otherwise a case below its pass rate.
 * Otherwise it exits with 3 if the check, or a case that it does not cover, is incomplete, and else with 0. The run
 * exits with 1 if any suite does, otherwise with 3 if any does, and else with 0.
 */
export function summarizer(manifest: RunManifest, dir: string) {
  const tallies = new Map(
    manifest.suites.map((suite) => {
      const models = manifest.models.filter(({ id }) => suite.models?.includes(id) ?? true);
      return [suite.name, new Map(models.map((model) => [model.id, new SuiteTally(manifest, suite, model)]))];
    }),
  );
  const skills = skillTallies(manifest);
  return {
    add(trial: Trial): void {
      tallies.get(trial.cell.suite)?.get(trial.cell.model)?.add(trial);
      if (!trial.copy) skills.add(trial);
    },
    check: (suite: string, model: string) => tallies.get(suite)?.get(model)?.check,
    drift: (suite: string, model: string) => tallies.get(suite)?.get(model)?.drift,
    summary(): RunSummary {
      const suites = [...tallies.values()].flatMap((models) => [...models.values()].map((tally) => tally.summary()));
      const ok = suites.length > 0 && suites.every((suite) => suite.ok);
      const failed = suites.some((suite) => (suite.failed ?? []).length > 0);
      const exitCode = toExitCode({ failed, undecided: !ok });
      const totals = addTotals(suites.map((suite) => suite.totals));
      const triggered = skills.summary();
      const { judge } = manifest;
      return {
        run: manifest.id,
        dir,
        suites,
        totals,
        ...(triggered.length > 0 && { skills: triggered }),
        ...(judge && { judge: { model: judge.model, ...(judge.figure !== undefined && { figure: judge.figure }) } }),
        ...(manifest.partial && { partial: manifest.partial }),
        ...(manifest.cache && { cache: manifest.cache }),
        ok,
        exitCode,
      };
    },
  };
}

/** One tally of triggering per model over all suites, because a skill's false positives come from others' cases. */
function skillTallies(manifest: RunManifest) {
  const tallies = new Map(manifest.models.map(({ id }) => [id, new SkillTally()]));
  const prefix = skillEntryName("");
  const listOffered = (hash: string) =>
    (manifest.toolsets[hash] ?? []).flatMap(({ name, origin }) =>
      origin === "skill" ? [name.slice(prefix.length)] : [],
    );
  const lists = new Map<string, readonly string[]>();
  const suites = new Map(
    manifest.suites.map(({ name, cases }) => {
      const known = cases.flatMap(({ id, skills, toolset }) => {
        if (!skills) return [];
        return [[id, { about: skills, offered: getOrAdd(lists, toolset, () => listOffered(toolset)) }] as const];
      });
      return [name, new Map(known)];
    }),
  );
  return {
    add(trial: Trial) {
      const one = trial.cell.arm === "head" ? suites.get(trial.cell.suite)?.get(trial.cell.case) : undefined;
      if (one) tallies.get(trial.cell.model)?.add(trial, one.about, one.offered);
    },
    summary: () => [...tallies].flatMap(([model, tally]) => tally.summary(model) ?? []),
  };
}

const alwaysTold = [
  ...(["trials", "passed", "broken", "missing", "calls", "executed", "toolErrors"] as const),
  ...(["inputTokens", "outputTokens"] as const),
];

/** The totals of several suites together. */
export function addTotals(all: readonly Totals[]): Totals {
  const sum = (key: Exclude<keyof Totals, "costUsd">) => sumOf(all, (one) => one[key] ?? 0);
  const [cached, cacheReadTokens] = [sum("cached"), sum("cacheReadTokens")];
  const sums = Object.fromEntries(alwaysTold.map((key) => [key, sum(key)]));
  return {
    ...(sums as Record<(typeof alwaysTold)[number], number>),
    costUsd: all.map((one) => one.costUsd).reduce(addCost, 0),
    ...(cached > 0 && { cached }),
    ...(cacheReadTokens > 0 && { cacheReadTokens }),
  };
}

type ManifestModel = RunManifest["models"][number];

/** Passes and graded trials of each case in the baseline that has not changed since. */
function readBank(plan: CheckPlan | undefined): ReadonlyMap<string, CaseSummary["before"]> {
  if (plan?.kind === "compare") return new Map(plan.cases.map(({ id, bank }) => [id, bank]));
  const bank = plan?.kind === "unchanged" ? plan.drift?.bank : undefined;
  const counted = Object.entries(bank ?? {}).map(([id, text]) => [id, parsePasses(text)] as const);
  return new Map(counted.map(([id, { passed, trials }]) => [id, { passed, trials }]));
}

/** Where there is a baseline, pass rates of single cases are no gate. A keyword search is too weak to fail a build. */
function defaultGates(plan: CheckPlan | undefined, { kind }: ManifestModel): Gate[] {
  if (plan?.kind === "compare" || plan?.kind === "unchanged") return ["regressed"];
  return kind === "retrieval baseline" ? [] : ["rate"];
}

/** The trials of one suite on one model. Rates are of the arm `head`; cost and tokens are of all arms. */
class SuiteTally {
  readonly #manifest: RunManifest;
  readonly #suite: ManifestSuite;
  readonly #model: ManifestModel;
  readonly #cases = new Map<string, CaseTally>();
  readonly #confusion = new Ranking<Pair>();
  readonly #misses = new MissTally();
  readonly #denials = new DenialTally();
  readonly #spending = new Spending();
  readonly #repliedBy = new Set<string>();
  readonly #unchecked = new Counter();
  readonly #settled: CheckSummary | undefined;
  readonly #bank: ReturnType<typeof readBank>;
  readonly #failOn: readonly Gate[];
  readonly #mocks: MockTally | undefined;
  readonly #servers: ServersTally | undefined;
  readonly #discovery = new DiscoveryTally();
  readonly #arms: readonly ArmsTally[];
  readonly check: Check | undefined;
  readonly drift: DriftWatch | undefined;

  constructor(manifest: RunManifest, suite: ManifestSuite, model: ManifestModel) {
    this.#manifest = manifest;
    this.#suite = suite;
    this.#model = model;
    for (const one of suite.cases) this.#cases.set(one.id, new CaseTally(one.paraphrases?.length));
    this.#mocks = suite.mocks && new MockTally(suite.mocks);
    // Where servers are left out, what they take is what the arms compare.
    const isWhole = suite.arms?.axis !== "distractors";
    if (suite.servers && isWhole) this.#servers = new ServersTally(suite, suite.servers, manifest.toolsets);
    this.#arms = listComparedArms(suite, model).map((one) => new ArmsTally(one, manifest, suite, model.deterministic));
    const plan = suite.checks?.find((check) => check.model === model.id);
    this.#bank = readBank(plan);
    this.#failOn = manifest.cache ? [] : (suite.failOn ?? manifest.failOn ?? defaultGates(plan, model));
    if (plan?.kind === "compare")
      this.check = new Check(plan, {
        seed: manifest.seed,
        isDeterministic: model.deterministic,
        failOn: this.#failOn,
        toolsets: manifest.toolsets,
        headToolsets: new Map(suite.cases.map(({ id, toolset }) => [id, toolset])),
      });
    else if (plan) this.#settled = settledCheck(plan);
    if (plan?.kind === "unchanged" && plan.drift) {
      const ids = suite.cases.map(({ id }) => id);
      this.drift = new DriftWatch(plan.drift, manifest.id, ids);
    }
  }

  add(trial: Trial): void {
    this.#spending.add(trial);
    this.check?.add(trial);
    this.drift?.add(trial);
    this.#mocks?.add(trial);
    for (const arms of this.#arms) arms.add(trial);
    if (trial.cell.arm !== "head" || trial.copy) return;
    for (const { model } of trial.turns) if (model !== undefined) this.#repliedBy.add(model);
    this.#cases.get(trial.cell.case)?.add(trial);
    this.#discovery.add(trial);
    this.#servers?.add(trial);
    for (const what of trial.verdict?.unchecked ?? []) this.#unchecked.add(what);
    this.#confusion.add(confusedPair(trial));
    this.#misses.add(trial, this.#manifest.toolsets[trial.toolset] ?? []);
    this.#denials.add(trial);
  }

  summary(): SuiteSummary {
    const cases = this.#suite.cases.map((one) => this.#caseSummary(one));
    const sum = (count: (one: CaseSummary) => number) => sumOf(cases, count);
    const planned = sum((one) => one.planned);
    const broken = sum((one) => one.broken);
    const others = this.#countOtherArms(planned);
    const missing = planned - sum((one) => one.trials) - broken - sum((one) => one.notGradable) + others.missing;
    const verdict = this.check?.summary() ?? this.#settled;
    const drift = this.drift?.summary(cases);
    const discovery = this.#discovery.summary();
    const misses = this.#misses.summary();
    const denials = this.#denials.summary();
    const { denial } = this.#suite;
    const unreviewed = this.#suite.cases.filter(({ id }) => this.#suite.unreviewed?.includes(id)).length;
    const note = readingNote(this.#model.note, this.#suite);
    const unchecked = this.#unchecked.ranked().map(([text, n]) => ({ text, n }));
    const { latencies, batched, cached, cacheReadTokens, ...spent } = this.#spending;
    // The trials that a stopped run lacks could still lift a case.
    const isCaseBelow = ({ trials, planned, passed, passRate, ...one }: CaseSummary) => {
      const open = planned - trials - one.broken - one.notGradable;
      return trials > 0 && (passed + open) / (trials + open) < passRate;
    };
    const isBelow = cases.some(isCaseBelow);
    // What a check cannot compare is gated by its own pass rate.
    const isGatedBelow = this.check !== undefined && cases.some((one) => !one.compared && isCaseBelow(one));
    const failOn: readonly Gate[] =
      isGatedBelow && this.#failOn.includes("regressed") ? [...this.#failOn, "rate"] : this.#failOn;
    const happened = [
      ...(verdict && "method" in verdict ? readEvents(verdict) : []),
      ...(drift ? readDriftEvents(drift) : []),
      ...(isBelow ? ["rate" as const] : []),
    ];
    const failed = listFailed(happened, failOn);
    // Whether missing answers matter in the cases of a check depends on its verdict.
    const isAnswered = (one: CaseSummary) => one.rate !== null && one.notGradable + one.broken === 0;
    const isComplete =
      cases.length > 0 &&
      cases.every((one) => one.compared || isAnswered(one)) &&
      others.broken === 0 &&
      missing === 0 &&
      verdict?.exitCode !== exitCodes.incomplete &&
      !(drift?.nightly && drift.uncounted);
    // An experiment requests the trials that its design needs, so none can be missing.
    const passed = sum((one) => one.passed);
    const ofRun = { trials: planned + others.planned, passed, broken: broken + others.broken, missing };
    const counted = this.#manifest.experiment ? { missing: 0 } : ofRun;
    return {
      name: this.#suite.name,
      model: this.#model.id,
      kind: this.#model.kind,
      ...(note !== undefined && { note }),
      cases,
      ...(unreviewed > 0 && { unreviewed }),
      confusion: this.#confusion.ranked(),
      ...(misses && { misses }),
      ...(denials && { denials: { ...denials, ...(denial !== undefined && { text: denial }) } }),
      ...(this.#mocks && { mocks: this.#mocks.summary() }),
      ...(unchecked.length > 0 && { unchecked }),
      ...(this.#servers && { servers: this.#servers.summary() }),
      coverage: measureCoverage(this.#manifest, this.#suite),
      ...(discovery && { discovery }),
      ...(this.#arms.length > 0 && { arms: this.#arms.map((arms) => arms.summary()) }),
      ...(drift && { drift }),
      ...(verdict && { verdict }),
      failOn: [...this.#failOn],
      failed,
      ...(this.#repliedBy.size > 0 && { repliedBy: [...this.#repliedBy].sort() }),
      latencyMs: percentiles(latencies),
      ...(batched > 0 && { batched }),
      totals: { ...spent, ...counted, ...(cached > 0 && { cached }), ...(cacheReadTokens > 0 && { cacheReadTokens }) },
      ok: failed.length === 0 && isComplete,
    };
  }

  /** The trials in the arms other than `head`. A broken or missing one leaves the run incomplete. */
  #countOtherArms(each: number): { planned: number; broken: number; missing: number } {
    const { lift, arms } = this.#suite;
    const whole = (lift === undefined ? 0 : 1) + (this.#model.exposures ?? []).slice(1).length;
    const trials = new Map(this.#suite.cases.map((one) => [one.id, plannedTrials(one, this.#model)]));
    const inOthers = sumOf(arms?.others.flatMap(({ cases }) => cases) ?? [], (id) => trials.get(id) ?? 0);
    const planned = each * whole + inOthers;
    const others = this.#arms.map((one) => one.countOthers());
    const recorded = sumOf(others, (one) => one.recorded);
    return { planned, broken: sumOf(others, (one) => one.broken), missing: planned - recorded };
  }

  #caseSummary(one: ManifestCase): CaseSummary {
    const tally = this.#cases.get(one.id) ?? new CaseTally();
    const graded = tally.passed + tally.failed;
    const rate = graded > 0 ? tally.passed / graded : null;
    const made = graded + tally.broken + tally.notGradable;
    const before = this.#bank.get(one.id);
    const isCompared = (this.check?.covers(one.id) ?? false) || this.drift?.design !== undefined;
    return {
      id: one.id,
      input: one.input,
      expected: one.expected,
      trials: graded,
      // A check and a nightly run request as many trials as they need.
      planned: isCompared ? made : Math.max(plannedTrials(one, this.#model), made),
      passed: tally.passed,
      broken: tally.broken,
      notGradable: tally.notGradable,
      rate,
      interval: wilson({ passed: tally.passed, trials: graded }) ?? null,
      passRate: one.passRate,
      ...(one.paraphrases && {
        paraphrases: one.paraphrases.map((input, i) => ({ input, ...(tally.paraphrases[i] ?? noTrials) })),
      }),
      ...(before && { before }),
      ...(isCompared && { compared: true as const }),
      ms: tally.ms,
      outcomes: tally.outcomes.toObject(),
      missed: tally.missed.ranked().map(([key, n]) => {
        const [outcome = "", ...picked] = key.split("\n");
        return { outcome, picked: picked.join("\n"), n };
      }),
      brokenStages: tally.stages.toObject(),
      reasons: tally.reasons.ranked().map(([text, n]) => ({ text, n })),
      ok: rate !== null && rate >= one.passRate && tally.notGradable === 0,
      file: one.file,
      line: one.line,
    };
  }
}

/** Which tools of the suite's own servers an expectation names. Distractors need no coverage. */
function measureCoverage(manifest: RunManifest, suite: ManifestSuite): SuiteSummary["coverage"] {
  const own = new Set<string>();
  for (const hash of new Set(suite.cases.map((one) => one.toolset)))
    for (const tool of manifest.toolsets[hash] ?? []) if (isOwnTool(tool)) own.add(tool.name);
  for (const name of suite.dispatchers ?? []) own.delete(name);
  const expected = new Set(suite.cases.flatMap((one) => one.expectedTools));
  const missing = [...own].filter((name) => !expected.has(name)).sort();
  return { tools: own.size, expected: own.size - missing.length, missing };
}

/** Nearest-rank percentiles. */
function percentiles(values: readonly number[]): { p50: number; p95: number } | null {
  if (values.length === 0) return null;
  const sorted = Float64Array.from(values).sort();
  const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  return { p50: at(0.5), p95: at(0.95) };
}
