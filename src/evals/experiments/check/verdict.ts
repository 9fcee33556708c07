import { type Design, nextStep, type Step, TrialRecord } from "../../asking/trials/design.ts";
import { defined } from "../../base/collections.ts";
import type { CheckPlan, CheckSummary, ComparedCheck, ComparePlan, Gate } from "../../base/types/check.ts";
import type { OfferedTool } from "../../base/types/tool.ts";
import type { Trial } from "../../base/types/trial.ts";
import { listChangesByCase, pickTexts } from "../../servers/changes/changes.ts";
import { addTrial, type CheckContext, type CheckVerdict, conclude, countCalls } from "../design/observe.ts";
import { ConfusionGrowth } from "../results/calls.ts";
import { toExitCode } from "../results/outcome.ts";
import { type CheckSetup, check } from "./design.ts";
import { placebo } from "./placebo.ts";

/** The inputs of a check. `headToolsets`: the hash of the current tool list of each case. */
export type CheckFacts = {
  seed: number;
  /** The model always gives the same reply to the same request. */
  isDeterministic: boolean;
  failOn: readonly Gate[];
  toolsets: Readonly<Record<string, readonly OfferedTool[]>>;
  headToolsets: ReadonlyMap<string, string>;
};

/** The setup of the design of a plan. */
export function setUpCheck(
  plan: ComparePlan,
  { seed, isDeterministic, failOn = [] }: Pick<CheckFacts, "seed" | "isDeterministic"> & Partial<CheckFacts>,
) {
  const many = isDeterministic ? 1 : Number.POSITIVE_INFINITY;
  const cases = new Map(plan.cases.map((one) => [one.id, one]));
  return {
    cases: plan.cases.map(({ id }) => id),
    seed,
    trials: plan.cap,
    margin: plan.margin,
    families: plan.families,
    requests: (id) => cases.get(id)?.requests ?? many,
    wordings: (id) => cases.get(id)?.wordings ?? 1,
    pairsPerOrder: plan.ownOrders && 1,
    alwaysAlike: isDeterministic,
    ...(plan.isPlacebo && { isPlacebo: true }),
    onlySuite: failOn.includes("suite") && !failOn.includes("regressed") && !failOn.includes("any"),
  } satisfies CheckSetup;
}

export const createDesign = (setup: CheckSetup): Design<CheckVerdict> =>
  setup.isPlacebo ? placebo(setup) : check(setup);

/** Collects the trials of one regression check. Can summarize them at any time. */
export class Check {
  readonly record = new TrialRecord();
  /** Undefined where no case can be compared. */
  readonly design: Design<CheckVerdict> | undefined;
  readonly #plan: ComparePlan;
  readonly #facts: CheckFacts;
  readonly #growth = new ConfusionGrowth("base", "head");
  readonly #covered: ReadonlySet<string>;
  /** What the design says of the trials so far, once it was asked. */
  #step: Step<CheckVerdict> | undefined;

  constructor(plan: ComparePlan, facts: CheckFacts) {
    this.#plan = plan;
    this.#facts = facts;
    this.#covered = new Set(plan.cases.map(({ id }) => id));
    if (plan.cases.length > 0) this.design = createDesign({ ...setUpCheck(plan, facts), withReach: false });
  }

  add(trial: Trial): void {
    if (!this.covers(trial.cell.case)) return;
    this.#step = undefined;
    addTrial(this.record, trial);
    this.#growth.add(trial);
  }

  covers(id: string): boolean {
    return this.#covered.has(id);
  }

  summary(): CheckSummary {
    const { notes } = this.#plan;
    if (this.#plan.cases.length === 0) return notComparable([], notes);
    this.#step ??= nextStep(createDesign(setUpCheck(this.#plan, this.#facts)), this.record);
    const step = this.#step;
    const verdict = step.kind === "decided" ? step.verdict : describeStopped(this.#plan, step.look, this.record);
    const { of, lost, placebo } = this.#plan;
    return summarizeCheck(verdict, {
      grew: this.#growth.pairs(),
      changes: collectChanges(this.#plan, this.#facts),
      ...defined({ of, lost, placebo }),
      notes,
      failOn: this.#facts.failOn,
    });
  }
}

function notComparable(reasons: string[], notes: string[]): CheckSummary {
  return { kind: "not-comparable", reasons, notes, exitCode: toExitCode({ undecided: true }) };
}

/** A verdict in the form of reports. Nothing is cleared by fewer than half of its cases. */
export function summarizeCheck(
  given: Omit<CheckVerdict, "suite"> & Pick<ComparedCheck, "suite">,
  { failOn, ...context }: CheckContext & { failOn: readonly Gate[] },
): ComparedCheck {
  const isFew = given.kind === "no-regression" && 2 * given.cases < (context.of ?? 0);
  const verdict = isFew ? { ...given, kind: "inconclusive" as const, because: "few-compared" as const } : given;
  const { because } = verdict;
  const exitCode = toExitCode({
    happened: because === "stopped" ? [] : readEvents(verdict),
    failOn,
    undecided: because !== null && because !== "cap",
  });
  return { ...verdict, ...context, exitCode };
}

function describeStopped({ cases, cap, margin, families }: ComparePlan, look: number, record: TrialRecord) {
  const ids = cases.map(({ id }) => id);
  const figures = {
    ...({ method: "pairs", look, looks: look, trials: 0, tested: 0 } as const),
    ...{ cap, margin, families, cases: cases.length },
    net: null,
    selection: null,
    canFall: { pass: ids.length, selection: ids.length },
    suite: null,
    suspects: [],
    missing: null,
    reach: null,
    calls: countCalls(record, ids),
  };
  return conclude(figures, { kind: "inconclusive", because: "stopped" });
}

/** The events of `--fail-on` that a verdict stands for. A suite that dropped is one whichever test ended the check. */
export function readEvents(check: Pick<ComparedCheck, "kind" | "suite" | "method">): Exclude<Gate, "any">[] {
  const { kind, suite, method } = check;
  if (method === "placebo") return [];
  switch (kind) {
    case "regressed":
      return suite?.hasFallen ? ["regressed", "suite"] : ["regressed"];
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
