import { changesByCase } from "../changes/changes.ts";
import { exitCodes } from "../errors.ts";
import type { CheckPlan, CheckSummary } from "../types/run.ts";
import type { OfferedTool } from "../types/tool.ts";
import type { Trial } from "../types/trial.ts";
import { ConfusionGrowth } from "./confusion.ts";
import type { Design } from "./design.ts";
import { EvidenceBook } from "./evidence.ts";
import { anytime } from "./regression/anytime.ts";
import { deterministic } from "./regression/deterministic.ts";
import { screen } from "./regression/screen.ts";
import { thorough } from "./regression/thorough.ts";
import type { RegressionVerdict } from "./regression/verdict.ts";
import { passes, plural, points, probability } from "./words.ts";

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
    if (this.#plan.cases.length === 0) {
      const headline = "INCONCLUSIVE: no case is the same as in the baseline, so nothing was compared";
      return { kind: "not-comparable", headline, notes, exitCode: exitCodes.incomplete };
    }
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
  return {
    kind: verdict.kind,
    headline: headlineOf(verdict),
    reason: verdict.reason,
    method: verdict.method,
    margin: verdict.margin,
    net: netOf(verdict),
    flagged: verdict.flagged.map((one) => ({ ...one })),
    grew,
    changes: [...changes],
    smallestBreak: reachOf(verdict),
    furtherTrials: verdict.furtherTrials ?? null,
    pairedT: verdict.pairedT.kind === "tested" ? verdict.pairedT.p : null,
    calls: { base, head, broken, saved },
    drift: driftOf(verdict),
    notes: [...notes],
    exitCode: exitCodeOf(verdict),
  };
}

/** What a trial is to a design: a pass, a fail, or nothing that could be scored. */
export function observationOf({ outcome, verdict }: Trial): "pass" | "fail" | "broken" {
  return outcome.kind === "broken" || !verdict || verdict.grade === "not-gradable" ? "broken" : verdict.grade;
}

/** The summary of a plan under which nothing is asked. */
export function settledCheck(plan: Exclude<CheckPlan, { kind: "compare" }>): CheckSummary {
  if (plan.kind === "unchanged") {
    const headline = "UNCHANGED: the list is the same to the byte as in the baseline, so there is nothing to compare";
    return { kind: "unchanged", headline, notes: plan.notes, exitCode: exitCodes.passed };
  }
  return {
    kind: "not-comparable",
    headline: `NOT COMPARABLE with the baseline: ${plan.reasons[0] ?? ""}`,
    notes: plan.reasons.slice(1),
    exitCode: exitCodes.incomplete,
  };
}

/** One line: the verdict, and for an open one what it would take. */
function headlineOf({
  kind,
  margin,
  furtherTrials,
  unscored,
}: Pick<RegressionVerdict, "kind" | "margin" | "furtherTrials" | "unscored">): string {
  if (kind === "regressed") return "REGRESSED";
  if (kind === "no-regression") return `NO REGRESSION within ${points(margin).replace("+", "")}`;
  if (furtherTrials === undefined || unscored.length > 0) return "INCONCLUSIVE";
  return `INCONCLUSIVE: ${plural(furtherTrials, "more trial")} per case and arm would settle it`;
}

/** An open verdict on scored trials is no alarm; one on nothing is never a pass. */
function exitCodeOf({ kind, bound, unscored }: RegressionVerdict): number {
  if (kind === "regressed") return exitCodes.failed;
  const blind = bound.kind === "no cases" || unscored.length > 0;
  return kind === "inconclusive" && blind ? exitCodes.incomplete : exitCodes.passed;
}

function stopped(
  { design, margin, notes }: ComparePlan,
  look: number,
  changes: readonly RecordedChange[],
): CheckSummary {
  return {
    kind: "inconclusive",
    headline: `INCONCLUSIVE: the run was stopped at look ${look}`,
    reason: "resume the run to finish the look",
    method: design,
    margin,
    net: null,
    flagged: [],
    grew: [],
    changes: [...changes],
    smallestBreak: null,
    furtherTrials: null,
    pairedT: null,
    calls: { base: 0, head: 0, broken: 0, saved: 0 },
    drift: null,
    notes,
    exitCode: exitCodes.incomplete,
  };
}

function netOf({ net, bound }: RegressionVerdict) {
  if (net.kind === "no cases" || bound.kind === "no cases") return null;
  return { change: net.change, interval: [net.lower, net.upper] as const, cases: bound.cases };
}

function reachOf({ reach, method }: RegressionVerdict): string | null {
  if (method === "deterministic" || !reach) return null;
  const { baseTrials, headTrials, smallest } = reach;
  if (smallest.kind === "none")
    return `none: with ${baseTrials} base and ${headTrials} head trials not even a total break of one case could be told`;
  const base = passes({ passed: baseTrials, trials: baseTrials });
  return `${base} -> ${passes({ passed: smallest.headPasses, trials: headTrials })} (p = ${probability(smallest.p)})`;
}

function driftOf({ drift }: RegressionVerdict): string | null {
  if (!drift?.drifted) return null;
  const way = drift.direction === "down" ? "less" : "more";
  return `the model passes ${way} often with the baseline's own list than it did then (p = ${probability(drift.p)}): it has changed, not the wording`;
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
