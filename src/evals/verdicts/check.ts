import { changesByCase } from "../changes/changes.ts";
import { comparable } from "../stats/counts.ts";
import type { CheckPlan, CheckSummary } from "../types/run.ts";
import type { OfferedTool } from "../types/tool.ts";
import type { Score, Trial } from "../types/trial.ts";
import { anytime } from "./anytime.ts";
import { countCases, type Design, EvidenceBook, regressionArms, requestAll, stillMissing } from "./design.ts";
import { toExitCode } from "./exitCode.ts";
import { type LookResult, type RegressionVerdict, regressionDefaults, regressionVerdict } from "./regression.ts";
import { screen } from "./screen.ts";
import { thorough } from "./thorough.ts";

type Compared = Extract<CheckSummary, { kind: "regressed" | "no-regression" | "inconclusive" }>;
type ComparePlan = Extract<CheckPlan, { kind: "compare" }>;
type RecordedChange = Compared["changes"][number];
type Toolsets = Readonly<Record<string, readonly OfferedTool[]>>;

/** The design that a plan names. A deterministic model needs no statistics. */
export function selectDesign(
  { cases, design, margin }: ComparePlan,
  isDeterministic: boolean,
): Design<RegressionVerdict> {
  const ids = cases.map(({ id }) => id);
  if (isDeterministic) return deterministic(ids);
  if (design === "thorough") return thorough(ids, margin);
  if (design === "anytime") return anytime(ids, margin);
  return screen(ids, new Map(cases.map(({ id, bank }) => [id, bank])), margin);
}

/** Gathers the trials of one regression check, and summarises them at any time. */
export class Check {
  readonly book = new EvidenceBook();
  readonly design: Design<RegressionVerdict>;
  readonly #plan: ComparePlan;
  readonly #changes: readonly RecordedChange[];
  readonly #growth = new ConfusionGrowth("base", "head");

  /** `headToolsets`: the hash of each case's list now. */
  constructor(
    plan: ComparePlan,
    isDeterministic: boolean,
    toolsets: Toolsets,
    headToolsets: ReadonlyMap<string, string>,
  ) {
    this.#plan = plan;
    this.design = selectDesign(plan, isDeterministic);
    this.#changes = collectChanges(plan, toolsets, headToolsets);
  }

  add(trial: Trial): void {
    this.book.add(trial.cell.case, trial.cell.arm, trial.cell.trial, readObservation(trial));
    this.#growth.add(trial);
  }

  summary(): CheckSummary {
    const { notes } = this.#plan;
    if (this.#plan.cases.length === 0)
      return { kind: "not-comparable", reasons: [], notes, exitCode: toExitCode({ undecided: true }) };
    const step = this.design.next(this.book.evidence);
    if (step.kind === "ask") return stopped(this.#plan, step.look, this.#changes);
    return comparedSummary(step.verdict, { grew: this.#growth.pairs(), changes: this.#changes, notes });
  }
}

/** A verdict as reports take it, with what was found in addition to it. */
export function comparedSummary(
  verdict: RegressionVerdict,
  { grew, changes, notes }: { grew: Compared["grew"]; changes: readonly RecordedChange[]; notes: readonly string[] },
): Compared {
  const { base, head, broken, saved } = verdict.calls;
  const { bound, unscored, drift, kind } = verdict;
  return {
    kind,
    basis: verdict.basis,
    method: verdict.method,
    margin: verdict.margin,
    net: summariseNet(verdict),
    flagged: verdict.flagged.map((one) => ({ ...one })),
    grew,
    changes: [...changes],
    reach: summariseReach(verdict),
    furtherTrials: verdict.furtherTrials ?? null,
    pairedT: verdict.pairedT.kind === "tested" ? verdict.pairedT.p : null,
    calls: { base, head, broken, saved },
    modelDrift: drift?.drifted ? { direction: drift.direction, p: drift.p } : null,
    notes: [...notes],
    // An open verdict on scored trials is no alarm; one on nothing is never a pass.
    exitCode: toExitCode({
      failed: kind === "regressed",
      undecided: kind === "inconclusive" && (bound.kind === "no cases" || unscored.length > 0),
    }),
  };
}

/** What a trial is to a design: a pass, a fail, or nothing that could be scored. */
export function readObservation({ outcome, verdict }: Trial): "pass" | "fail" | "broken" {
  return outcome.kind === "broken" || !verdict || verdict.grade === "not-gradable" ? "broken" : verdict.grade;
}

/** The summary of a plan under which nothing is asked. */
export function settledCheck(plan: Exclude<CheckPlan, { kind: "compare" }>): CheckSummary {
  return plan.kind === "unchanged"
    ? { kind: "unchanged", notes: plan.notes, exitCode: toExitCode({ undecided: false }) }
    : { kind: "not-comparable", reasons: plan.reasons, notes: [], exitCode: toExitCode({ undecided: true }) };
}

function stopped(
  { design, margin, notes }: ComparePlan,
  look: number,
  changes: readonly RecordedChange[],
): CheckSummary {
  return {
    kind: "inconclusive",
    basis: { kind: "stopped", look },
    method: design,
    margin,
    net: null,
    flagged: [],
    grew: [],
    changes: [...changes],
    reach: null,
    furtherTrials: null,
    pairedT: null,
    calls: { base: 0, head: 0, broken: 0, saved: 0 },
    modelDrift: null,
    notes,
    exitCode: toExitCode({ undecided: true }),
  };
}

function summariseNet({ net, bound }: RegressionVerdict) {
  if (net.kind === "no cases" || bound.kind === "no cases") return null;
  return { change: net.change, interval: [net.lower, net.upper] as const, cases: bound.cases };
}

function summariseReach({ reach, method }: RegressionVerdict): Compared["reach"] {
  if (method === "deterministic" || !reach) return null;
  const { baseTrials, headTrials, smallest } = reach;
  const caught = smallest.kind === "none" ? { headPasses: null, p: null } : smallest;
  return { baseTrials, headTrials, headPasses: caught.headPasses, p: caught.p };
}

/** The changes between the lists of the compared cases, each once, with what each does to those who call the tool. */
function collectChanges(
  { cases }: ComparePlan,
  toolsets: Toolsets,
  headToolsets: ReadonlyMap<string, string>,
): RecordedChange[] {
  const now = cases.map(({ id }) => ({ id, toolset: headToolsets.get(id) ?? "" }));
  const lists = changesByCase({ cases, toolsets }, { cases: now, toolsets });
  const recorded = lists.flatMap(({ changes }) =>
    changes.map((change) => ({
      label: change.label,
      class: change.class,
      ...(change.before !== undefined && { before: change.before }),
      ...(change.after !== undefined && { after: change.after }),
    })),
  );
  return [...new Map(recorded.map((change) => [change.label, change])).values()];
}

type Pair = { expected: string; picked: string };
type Growth = Pair & { base: { passed: number; trials: number }; head: { passed: number; trials: number } };

/** Picks that were not the expected ones. A right pick with wrong arguments is a fault, but no confusion. */
const confusions: ReadonlySet<Score["selection"]> = new Set([
  "wrong-tool",
  "no-call",
  "unknown-tool",
  "several-calls",
  "over-triggered",
  "refused",
  "cut-off",
]);

/** The pair that a trial confused, if it did. */
export function confusedPair({ verdict }: Trial): Pair | undefined {
  if (!verdict || verdict.grade === "not-gradable" || !confusions.has(verdict.selection)) return undefined;
  return { expected: verdict.expected, picked: verdict.picked };
}

/** Counts confusions in two arms, and lists those that got more frequent. */
export class ConfusionGrowth {
  readonly #arms: readonly [string, string];
  /** Graded trials by expectation and arm: what a pair's count is out of. */
  readonly #graded = new Map<string, number>();
  readonly #pairs = new Map<string, { pair: Pair; counts: [number, number] }>();

  constructor(base: string, head: string) {
    this.#arms = [base, head];
  }

  add(trial: Trial): void {
    const arm = this.#arms.indexOf(trial.cell.arm);
    const { verdict, copy } = trial;
    if (arm < 0 || copy || !verdict || verdict.grade === "not-gradable") return;
    const key = JSON.stringify([verdict.expected, arm]);
    this.#graded.set(key, (this.#graded.get(key) ?? 0) + 1);
    const pair = confusedPair(trial);
    if (!pair) return;
    const id = JSON.stringify(pair);
    const known = this.#pairs.get(id) ?? { pair, counts: [0, 0] };
    known.counts[arm as 0 | 1]++;
    this.#pairs.set(id, known);
  }

  /** The pairs whose share of trials is larger in head, largest growth first. */
  pairs(): Growth[] {
    const count = (expected: string, arm: 0 | 1, passed: number) => ({
      passed,
      trials: this.#graded.get(JSON.stringify([expected, arm])) ?? 0,
    });
    const share = ({ passed, trials }: Growth["base"]) => (trials === 0 ? 0 : passed / trials);
    const growth = (one: Growth) => share(one.head) - share(one.base);
    return (
      [...this.#pairs.values()]
        .map(({ pair, counts: [base, head] }) => ({
          ...pair,
          base: count(pair.expected, 0, base),
          head: count(pair.expected, 1, head),
        }))
        // Without trials of the base arm (a screening has none of most cases) no growth can be shown.
        .filter((one) => one.base.trials > 0 && growth(one) > 0)
        .sort((a, b) => growth(b) - growth(a) || (`${a.expected}\n${a.picked}` < `${b.expected}\n${b.picked}` ? -1 : 1))
    );
  }
}

/**
 * The design for a deterministic model: one trial per case and arm, and any difference is real. Any
 * case that passed in base and fails in head has regressed; there is no chance to weigh, hence no test and no margin.
 */
export function deterministic(cases: readonly string[]): Design<RegressionVerdict> {
  const cap = cases.length * 2;
  return {
    cap,
    next(evidence) {
      const requests = stillMissing(evidence, requestAll(cases, regressionArms, { from: 1, to: 1 }));
      if (requests.length > 0) return { kind: "ask", requests, look: 1 };
      const counts = countCases(evidence, cases, regressionArms, { from: 1, to: 1 });
      const margin = regressionDefaults.margin;
      const result: LookResult = {
        method: "deterministic",
        look: 1,
        looks: 1,
        criterion: { kind: "equality" },
        margin,
        z: 0,
        alpha: 0,
        tested: counts,
        bounded: counts,
      };
      const { drift: _, ...verdict } = regressionVerdict("inconclusive", result, { evidence, cap });
      const lost = verdict.cases.filter((one) => comparable([one]).length > 0 && one.head.passed < one.base.passed);
      return { kind: "decided", verdict: settle(verdict, lost) };
    },
  };
}

function settle(verdict: RegressionVerdict, lost: RegressionVerdict["flagged"]): RegressionVerdict {
  const { furtherTrials: _, reach: __, ...rest } = verdict;
  const look = { look: 1, looks: 1 };
  if (lost.length > 0)
    return { ...rest, kind: "regressed", flagged: lost, basis: { kind: "dropped", test: null, ...look } };
  if (rest.bound.kind === "no cases" || rest.unscored.length > 0) return rest;
  return { ...rest, kind: "no-regression", basis: { kind: "drop ruled out", drop: null, ...look } };
}
