import { countPasses, type Design, nextStep, TrialRecord } from "../../asking/trials/design.ts";
import { pool, swapArms } from "../../base/stats/counts.ts";
import { cochranMantelHaenszel, isSignificant } from "../../base/stats/hypothesisTests.ts";
import type { CheckPlan, CheckSummary, ComparedCheck, ComparePlan, Gate } from "../../base/types/check.ts";
import type { OfferedTool } from "../../base/types/tool.ts";
import type { Trial } from "../../base/types/trial.ts";
import { listChangesByCase, pickTexts } from "../../servers/changes/changes.ts";
import { compareRecords } from "../design/compare.ts";
import type { CheckVerdict } from "../design/observe.ts";
import { addTrial, countCalls, pairArms } from "../design/observe.ts";
import { ConfusionGrowth, type CountedTrial } from "../results/confusions.ts";
import { toExitCode } from "../results/exitCode.ts";
import { type CheckSetup, check } from "./design.ts";

/** The inputs of a check. `headToolsets`: the hash of the current tool list of each case. */
export type CheckFacts = {
  seed: number;
  /** The model always gives the same reply to the same request. */
  isDeterministic: boolean;
  failOn: readonly Gate[];
  toolsets: Readonly<Record<string, readonly OfferedTool[]>>;
  headToolsets: ReadonlyMap<string, string>;
};

/** The setup of the design that a plan names. */
export function setUpCheck(plan: ComparePlan, { seed, isDeterministic }: Pick<CheckFacts, "seed" | "isDeterministic">) {
  const many = isDeterministic ? 1 : Number.POSITIVE_INFINITY;
  const requests = new Map(plan.cases.map(({ id, requests: n }) => [id, n ?? many]));
  return {
    cases: plan.cases.map(({ id }) => id),
    seed,
    margin: plan.margin,
    families: plan.families ?? 1,
    requests: (id) => requests.get(id) ?? many,
    alwaysAlike: isDeterministic,
    ...(plan.cap !== undefined && { trials: plan.cap }),
  } satisfies CheckSetup;
}

/** Collects the trials of one regression check. Can summarise them at any time. */
export class Check {
  readonly record = new TrialRecord();
  /** Undefined for a check that an earlier version planned, whose trials are compared as they are. */
  readonly design: Design<CheckVerdict> | undefined;
  readonly #plan: ComparePlan;
  readonly #facts: CheckFacts;
  readonly #growth = new ConfusionGrowth("base", "head");
  /** Trials of base that may be requests repeated to see whether the model is deterministic. */
  readonly #repeatable: CountedTrial[] = [];
  readonly #requests: ReadonlyMap<string, number | undefined>;
  readonly #compared: ReadonlySet<string>;
  readonly #repliedBy = new Set<string>();

  constructor(plan: ComparePlan, facts: CheckFacts) {
    this.#plan = plan;
    this.#facts = facts;
    this.#compared = new Set(plan.cases.map(({ id }) => id));
    this.#requests = new Map(plan.cases.map(({ id, requests }) => [id, requests]));
    if (plan.design === "pairs" && plan.cases.length > 0) this.design = check(setUpCheck(plan, facts));
  }

  add(trial: Trial): void {
    const { cell, verdict, copy } = trial;
    if (!this.#compared.has(cell.case)) return;
    addTrial(this.record, trial);
    this.#growth.add(trial);
    const requests = this.#requests.get(cell.case) ?? Number.POSITIVE_INFINITY;
    if (cell.arm === "base" && cell.trial > requests && cell.trial <= 2 * requests)
      this.#repeatable.push({ cell, ...(verdict && { verdict }), ...(copy && { copy }) });
    for (const { model } of trial.turns) if (model !== undefined) this.#repliedBy.add(model);
  }

  covers(id: string): boolean {
    return this.#compared.has(id);
  }

  summary(): CheckSummary {
    const { cases, margin } = this.#plan;
    const notes = [...this.#plan.notes, ...this.#describeAlias()];
    const { failOn, seed } = this.#facts;
    if (cases.length === 0) return notComparable([], notes);
    const step = this.design && nextStep(this.design, this.record);
    const repeated = step?.kind === "decided" ? (step.verdict.repeated ?? []) : [];
    const counted = new Map(repeated.map((one) => [one.case, one.after]));
    const isRepeated = ({ cell }: CountedTrial) => cell.trial > (counted.get(cell.case) ?? Number.POSITIVE_INFINITY);
    const found = {
      grew: this.#growth.pairsWithout(this.#repeatable.filter(isRepeated)),
      changes: collectChanges(this.#plan, this.#facts),
      modelDrift: compareWithBank(this.#plan, this.record, counted),
      ...(this.#plan.lost && { lost: this.#plan.lost }),
      notes,
      failOn,
    };
    if (step?.kind === "decided") return summariseCheck(step.verdict, found);
    if (step) return summariseStopped(this.#plan, step.look, this.record, found);
    this.record.giveUp();
    const asked = cases.flatMap(({ id }) => {
      const isAsked = pairArms.every((arm) => this.record.answers(id, arm).length > 0);
      return isAsked ? [id] : [];
    });
    const earlier = `Planned by the ${this.#plan.design} design of an earlier version: compared as two finished records.`;
    if (asked.length === 0)
      return notComparable(["An earlier version planned this check, and no case was asked with both lists."], notes);
    const verdict = compareRecords({ cases: asked, record: this.record, samePairs: true, seed, margin });
    return summariseCheck(verdict, { ...found, notes: [earlier, ...notes] });
  }

  /** Set if the alias stands for another model than at the baseline. The verdict holds, because both lists are tested now. */
  #describeAlias(): string[] {
    const { repliedBy: before } = this.#plan.baseline;
    const now = [...this.#repliedBy].sort().join(", ");
    if (before === undefined || now === "" || now === before) return [];
    return [
      `The model behind ${this.#plan.model} is another one: ${before} replied for the baseline, ${now} replies now`,
    ];
  }
}

function notComparable(reasons: string[], notes: string[]): CheckSummary {
  return { kind: "not-comparable", reasons, notes, exitCode: toExitCode({ undecided: true }) };
}

/** What a report shows in addition to the verdict. */
export type Found = Pick<ComparedCheck, "grew" | "changes" | "lost" | "notes" | "modelDrift"> & {
  failOn: readonly Gate[];
};

/** A verdict in the form of reports. */
export function summariseCheck(verdict: CheckVerdict, { failOn, ...found }: Found): ComparedCheck {
  const { kind, method, repeats, look, looks, trials, cap, margin, families, cases, net, suite, suspects } = verdict;
  const facts = {
    kind,
    by: "by" in verdict ? verdict.by : null,
    because: "because" in verdict ? verdict.because : null,
  };
  return {
    ...facts,
    ...{ method, ...(repeats !== undefined && { repeats }) },
    ...{ look, looks, trials, cap, margin, families, cases, net, suite },
    flagged: "fell" in verdict ? verdict.fell : [],
    rose: "rose" in verdict ? verdict.rose : [],
    suspects,
    flips: "flips" in verdict ? verdict.flips : [],
    missing: verdict.missing,
    ...(verdict.repeated && { repeated: verdict.repeated }),
    reach: verdict.reach,
    advice: "advice" in verdict ? verdict.advice : null,
    calls: verdict.calls,
    ...found,
    exitCode: toExitCode({ happened: readEvents(facts), failOn, undecided: facts.because === "missing" }),
  };
}

function summariseStopped(
  plan: ComparePlan,
  look: number,
  record: TrialRecord,
  { failOn, ...found }: Found,
): ComparedCheck {
  const ids = plan.cases.map(({ id }) => id);
  return {
    ...{ kind: "inconclusive", by: null, because: "stopped", method: "pairs", look, looks: look, trials: 0 },
    ...{ cap: plan.cap ?? 0, margin: plan.margin, families: plan.families ?? 1, cases: plan.cases.length },
    ...{ net: null, suite: null, flagged: [], rose: [], suspects: [], flips: [], missing: null, reach: null },
    ...{ advice: null, calls: countCalls(record, ids), ...found },
    exitCode: toExitCode({ undecided: true }),
  };
}

/** The event of `--fail-on` that a verdict stands for. */
export function readEvents({ kind, by }: Pick<ComparedCheck, "kind" | "by">): Exclude<Gate, "any">[] {
  switch (kind) {
    case "regressed":
      return by === "suite" ? ["regressed", "suite"] : ["regressed"];
    case "changed":
    case "inconclusive":
      return [kind];
    case "no-regression":
      return [];
  }
}

/** The summary of a plan without trials. */
export function settledCheck(plan: Exclude<CheckPlan, ComparePlan>): CheckSummary {
  return plan.kind === "unchanged"
    ? { kind: "unchanged", notes: plan.notes, exitCode: toExitCode({ undecided: false }) }
    : notComparable(plan.reasons, []);
}

const driftLevel = 0.005;

/**
 * The baseline's own list, when it was accepted and now: what differs is the model, not the wording. The exact
 * Cochran-Mantel-Haenszel test over cases, at .005 in each direction: only the cases that a check asked longest have many
 * trials, and those looked worse. Information alone: no verdict and no exit code depends on it.
 * `counted`: the trials that count, of cases with repeated requests after them.
 */
function compareWithBank(
  { cases }: ComparePlan,
  record: TrialRecord,
  counted: ReadonlyMap<string, number>,
): ComparedCheck["modelDrift"] {
  const both = cases.flatMap(({ id, bank }) => {
    const now = countPasses(record, id, "base", 1, counted.get(id));
    return bank.trials > 0 && now.trials > 0 ? [{ base: bank, head: now }] : [];
  });
  if (both.length === 0) return null;
  const total = (arm: "base" | "head") => pool(both.map((one) => one[arm]));
  const [down, up] = [cochranMantelHaenszel(both), cochranMantelHaenszel(both.map(swapArms))];
  const direction = isSignificant(down, driftLevel) ? "down" : isSignificant(up, driftLevel) ? "up" : null;
  return { accepted: total("base"), now: total("head"), direction, p: Math.min(1, 2 * Math.min(down, up)) };
}

/** The changes between the lists of the compared cases, each once, with what each does to those who call the tool. */
function collectChanges({ cases }: ComparePlan, { toolsets, headToolsets }: CheckFacts): ComparedCheck["changes"] {
  const now = cases.map(({ id }) => ({ id, toolset: headToolsets.get(id) ?? "" }));
  const lists = listChangesByCase({ cases, toolsets }, { cases: now, toolsets });
  const recorded = lists.flatMap(({ changes }) =>
    changes.map((change) => {
      const { label, ...texts } = pickTexts(change);
      return { label, class: change.class, ...texts };
    }),
  );
  return [...new Map(recorded.map((change) => [change.label, change])).values()];
}
