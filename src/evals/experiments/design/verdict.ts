import type { ComparedCheck } from "../../base/types/check.ts";

// The verdict of a check as a design reaches it. Its figures are recorded as they are: see `comparedSchema`.

/** A case that a verdict names: its passes in both arms over as many trials as it was tested with, and its p. */
export type NamedCase = ComparedCheck["flagged"][number];
/** A case with pairs that differ: how many passed in base only (`down`) and in head only (`up`), of `pairs`. */
export type Flips = ComparedCheck["flips"][number];
/** Pairs per case after which a verdict is as likely as not, and 8 times in 10. `atLeast`: even that is not enough. */
export type Advice = NonNullable<ComparedCheck["advice"]>;

type SharedFigure =
  | "method"
  | "repeats"
  | "look"
  | "looks"
  | "trials"
  | "cap"
  | "margin"
  | "families"
  | "cases"
  | "net";

/** The figures of every verdict of a check. `suite`: the test at the deciding look; no `down` and `up` without pairs. */
export type Figures = Pick<ComparedCheck, SharedFigure | "suspects" | "missing" | "repeated" | "reach" | "calls"> & {
  suite: NonNullable<ComparedCheck["suite"]>;
};

/**
 * The verdict of a check, as data; the reports turn it into sentences.
 * `regressed` by `cases`: each named case dropped (exact test); by `suite`: the suite as a whole dropped.
 * `changed`: some cases fell and some rose, the suite did not; or, for a deterministic model, some flipped.
 * `no-regression`: the mean drop is below the margin. `inconclusive`: neither, because the cap was reached or because
 * more than 5 % of an arm is missing.
 */
export type CheckVerdict = Figures &
  (
    | { kind: "regressed"; by: "cases"; fell: NamedCase[] }
    | { kind: "regressed"; by: "suite" }
    | { kind: "changed"; fell: NamedCase[]; rose: NamedCase[]; flips: Flips[] }
    | { kind: "no-regression" }
    | { kind: "inconclusive"; because: "cap"; advice: Advice | null }
    | { kind: "inconclusive"; because: "missing" }
  );

export const showsFall = ({ kind }: CheckVerdict): boolean => kind === "regressed" || kind === "changed";
