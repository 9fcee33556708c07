import { changesByCase } from "../changes/changes.ts";
import type { CheckPlan, CheckSummary } from "../types/run.ts";
import type { OfferedTool } from "../types/tool.ts";
import type { Trial } from "../types/trial.ts";
import { ConfusionGrowth } from "./confusion.ts";
import type { Design } from "./design.ts";
import { EvidenceBook } from "./evidence.ts";
import { exitCodeOf } from "./exitCode.ts";
import { anytime } from "./regression/anytime.ts";
import { deterministic } from "./regression/deterministic.ts";
import { screen } from "./regression/screen.ts";
import { thorough } from "./regression/thorough.ts";
import type { RegressionVerdict } from "./regression/verdict.ts";

type Compared = Extract<CheckSummary, { kind: "regressed" | "no-regression" | "inconclusive" }>;
type ComparePlan = Extract<CheckPlan, { kind: "compare" }>;
type RecordedChange = Compared["changes"][number];
type Toolsets = Readonly<Record<string, readonly OfferedTool[]>>;

/** The design that a plan names. A model that always answers alike needs no statistics. */
export function designOf({ cases, design, margin }: ComparePlan, isDeterministic: boolean): Design<RegressionVerdict> {
  const ids = cases.map(({ id }) => id);
  if (isDeterministic) return deterministic(ids);
  if (design === "thorough") return thorough(ids, margin);
  if (design === "anytime") return anytime(ids, margin);
  return screen(ids, new Map(cases.map(({ id, bank }) => [id, bank])), margin);
}

/** Gathers the trials of one regression check, and says what they come to at any time. */
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
    this.design = designOf(plan, isDeterministic);
    this.#changes = changesOf(plan, toolsets, headToolsets);
  }

  add(trial: Trial): void {
    this.book.add(trial.cell.case, trial.cell.arm, trial.cell.trial, observationOf(trial));
    this.#growth.add(trial);
  }

  summary(): CheckSummary {
    const { notes } = this.#plan;
    if (this.#plan.cases.length === 0)
      return { kind: "not-comparable", reasons: [], notes, exitCode: exitCodeOf({ undecided: true }) };
    const step = this.design.next(this.book.evidence);
    if (step.kind === "ask") return stopped(this.#plan, step.look, this.#changes);
    return comparedSummary(step.verdict, { grew: this.#growth.pairs(), changes: this.#changes, notes });
  }
}

/** A verdict as the reports take it, with what was found beside it. */
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
    net: netOf(verdict),
    flagged: verdict.flagged.map((one) => ({ ...one })),
    grew,
    changes: [...changes],
    reach: reachOf(verdict),
    furtherTrials: verdict.furtherTrials ?? null,
    pairedT: verdict.pairedT.kind === "tested" ? verdict.pairedT.p : null,
    calls: { base, head, broken, saved },
    modelDrift: drift?.drifted ? { direction: drift.direction, p: drift.p } : null,
    notes: [...notes],
    // An open verdict on scored trials is no alarm; one on nothing is never a pass.
    exitCode: exitCodeOf({
      failed: kind === "regressed",
      undecided: kind === "inconclusive" && (bound.kind === "no cases" || unscored.length > 0),
    }),
  };
}

/** What a trial is to a design: a pass, a fail, or nothing that could be scored. */
export function observationOf({ outcome, verdict }: Trial): "pass" | "fail" | "broken" {
  return outcome.kind === "broken" || !verdict || verdict.grade === "not-gradable" ? "broken" : verdict.grade;
}

/** The summary of a plan under which nothing is asked. */
export function settledCheck(plan: Exclude<CheckPlan, { kind: "compare" }>): CheckSummary {
  return plan.kind === "unchanged"
    ? { kind: "unchanged", notes: plan.notes, exitCode: exitCodeOf({ undecided: false }) }
    : { kind: "not-comparable", reasons: plan.reasons, notes: [], exitCode: exitCodeOf({ undecided: true }) };
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
    exitCode: exitCodeOf({ undecided: true }),
  };
}

function netOf({ net, bound }: RegressionVerdict) {
  if (net.kind === "no cases" || bound.kind === "no cases") return null;
  return { change: net.change, interval: [net.lower, net.upper] as const, cases: bound.cases };
}

function reachOf({ reach, method }: RegressionVerdict): Compared["reach"] {
  if (method === "deterministic" || !reach) return null;
  const { baseTrials, headTrials, smallest } = reach;
  const caught = smallest.kind === "none" ? { headPasses: null, p: null } : smallest;
  return { baseTrials, headTrials, headPasses: caught.headPasses, p: caught.p };
}

/** The changes between the lists of the compared cases, each once, with what each does to those who call the tool. */
function changesOf(
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
