import { type Counts, comparable } from "../stats/counts.ts";
import {
  type CaseP,
  isSignificant,
  type PairedT,
  pairedT,
  type SmallestBreak,
  smallestBreak,
  stepDown,
} from "../stats/hypothesisTests.ts";
import { type DropBound, type NetChange, netChange, noRegressionBound, trialsToSettle } from "../stats/meanDrop.ts";
import type { CheckBasis } from "../types/run.ts";
import { type Evidence, madeTrials, type NamedCounts, regressionArms } from "./design.ts";

export type RegressionKind = "regressed" | "no-regression" | "inconclusive";
type RegressionMethod = "thorough" | "screen" | "anytime" | "records" | "deterministic";

/**
 * One case with the p-value of its own drop, and the same corrected for all cases that were looked at. (`anytime`: the
 * inverse of its e-value, which is a p-value that may be looked at at any time.)
 */
export type CaseChange = NamedCounts & CaseP;

/** What the verdict rests on: an exact p-value, an e-value or plain equality. */
type Criterion =
  | { kind: "p-value"; p: number; alpha: number }
  | { kind: "e-value"; e: number; threshold: number }
  | { kind: "equality" };

/** A case of this many trials per arm that passed all of base is caught when at most `headPasses` of head pass. */
type Reach = { baseTrials: number; headTrials: number; alpha: number; smallest: SmallestBreak };

/**
 * The bank of base trials (here `base`) against fresh trials of the same list (here `head`): what has changed is the
 * model, not the wording. `p` is two-sided. It is reported separately, and never fails a build. The cases that are compared were
 * picked because head looked worse than the bank, which favours banks that were lucky: hence the strict level.
 */
export type Drift = { drifted: boolean; p: number; direction: "down" | "up"; cases: readonly NamedCounts[] };

/** Everything that a report shows of a regression check. Rates are 0 to 1, and `net` is head - base (negative: worse). */
export type RegressionVerdict = {
  kind: RegressionKind;
  method: RegressionMethod;
  basis: CheckBasis;
  /** The look that decided, from 1; the screening stage of `screen` is 1. `looks` is how many there could have been. */
  look: number;
  looks: number;
  criterion: Criterion;
  /** The verdict is "no regression" when `bound.upper` is below this. */
  margin: number;
  net: NetChange;
  bound: DropBound;
  /** Every case as it was tested at the deciding look, in the order given. */
  cases: readonly CaseChange[];
  /** The cases that are named as dropped; may be empty although the suite regressed. Worst first. */
  flagged: readonly CaseChange[];
  /** Comparable cases without a scored trial in one of the arms: they are in no figure. */
  unscored: readonly string[];
  reach?: Reach;
  /** For `inconclusive`: further trials per case and arm that would settle it, if anything was scored. */
  furtherTrials?: number;
  /** A second opinion that does not assume independent trials within a case. */
  pairedT: PairedT;
  /** Trials made (broken ones included) per arm, and how many the design could have asked for. */
  calls: { base: number; head: number; broken: number; cap: number; saved: number };
  /** Only with a bank and fresh base trials. Never a reason to fail. */
  drift?: Drift;
};

/** What the decision at a look is made of. */
export type LookResult = {
  method: RegressionMethod;
  look: number;
  looks: number;
  criterion: Criterion;
  margin: number;
  /** z of the bound: the one-sided normal quantile. */
  z: number;
  /** The level at which cases are named and at which the smallest detectable break is given. */
  alpha: number;
  /** The counts that the test saw, and those that the bound and the net change are taken from. */
  tested: readonly NamedCounts[];
  bounded: readonly NamedCounts[];
  /** The p-values by which cases are named, where they are not those of the exact step-down. */
  named?: readonly CaseP[];
  drift?: Drift;
};

/** The defaults of every regression design. */
export const regressionDefaults = { alpha: 0.05, margin: 0.1 } as const;

/** The bound of a look shows "no regression": it is below the margin, and every case was scored in both arms. */
export function withinMargin({ bounded, z, margin }: Pick<LookResult, "bounded" | "z" | "margin">): boolean {
  const bound = noRegressionBound(bounded, z);
  return bound.kind === "bounded" && bound.upper < margin && comparable(bounded).length === bounded.length;
}

/** Makes the verdict from the result of a look and a decision. `basis` replaces the usual one. */
export function regressionVerdict(
  kind: RegressionKind,
  result: LookResult,
  spent: { evidence: Evidence; cap: number },
  basis?: CheckBasis,
): RegressionVerdict {
  const { tested, bounded, z, margin, alpha } = result;
  const ps = result.named ?? stepDown(tested);
  const cases = tested.map((one, i) => ({ ...one, ...(ps[i] ?? { p: 1, adjusted: 1 }) }));
  const named = cases.filter(({ adjusted }) => isSignificant(adjusted, alpha)).toSorted((a, b) => a.p - b.p);
  const flagged = kind === "regressed" ? named : [];
  const bound = noRegressionBound(bounded, z);
  const unscored = bounded.filter((one) => comparable([one]).length === 0).map((one) => one.case);
  const reach = findReach(tested, alpha);
  const further = kind === "inconclusive" ? furtherTrials(bounded, margin) : undefined;
  const verdict = {
    kind,
    method: result.method,
    look: result.look,
    looks: result.looks,
    criterion: result.criterion,
    margin,
    net: netChange(bounded),
    bound,
    cases,
    flagged,
    unscored,
    ...(reach && { reach }),
    ...(further !== undefined && { furtherTrials: further }),
    pairedT: pairedT(bounded),
    calls: countCalls(spent, bounded),
    ...(result.drift && { drift: result.drift }),
  };
  return { ...verdict, basis: basis ?? findBasis(verdict) };
}

function countCalls(
  { evidence, cap }: { evidence: Evidence; cap: number },
  cases: readonly NamedCounts[],
): RegressionVerdict["calls"] {
  const [base, head] = regressionArms.map((arm) =>
    madeTrials(
      evidence,
      cases.map((one) => one.case),
      arm,
    ),
  );
  const made = (base?.made ?? 0) + (head?.made ?? 0);
  const broken = (base?.broken ?? 0) + (head?.broken ?? 0);
  return { base: base?.made ?? 0, head: head?.made ?? 0, broken, cap, saved: Math.max(0, cap - made) };
}

/** Told for the case with the fewest trials, so that it holds for all of them. */
function findReach(tested: readonly NamedCounts[], alpha: number): Reach | undefined {
  const scored = comparable(tested);
  if (scored.length === 0) return undefined;
  const least = (of: (one: { base: Counts; head: Counts }) => number) => Math.min(...scored.map(of));
  const [baseTrials, headTrials] = [least(({ base }) => base.trials), least(({ head }) => head.trials)];
  return { baseTrials, headTrials, alpha, smallest: smallestBreak(baseTrials, headTrials, alpha) };
}

function furtherTrials(cases: readonly NamedCounts[], margin: number): number | undefined {
  const needed = trialsToSettle(cases, margin);
  if (needed === undefined) return undefined;
  const made = Math.min(...comparable(cases).map(({ base, head }) => Math.min(base.trials, head.trials)));
  return Math.max(1, needed - made);
}

function findBasis(verdict: Omit<RegressionVerdict, "basis">): CheckBasis {
  const { kind, bound, unscored, criterion, look, looks } = verdict;
  if (bound.kind === "no cases") return { kind: "nothing scored" };
  const test = criterion.kind === "equality" ? null : criterion;
  if (kind === "regressed") return { kind: "dropped", test, look, looks };
  if (kind === "no-regression") return { kind: "drop ruled out", drop: test && bound.upper, look, looks };
  if (unscored.length > 0 || !test) return { kind: "cases not scored", cases: [...unscored] };
  return { kind: "neither shown", test, drop: bound.upper };
}
