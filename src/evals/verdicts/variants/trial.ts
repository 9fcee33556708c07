import { type Counts, comparable } from "../../stats/counts.ts";
import { normalQuantile } from "../../stats/distributions.ts";
import { cochranMantelHaenszel, globalTest, isSignificant, stepDown } from "../../stats/hypothesisTests.ts";
import { type NetChange, netChange, noRegressionBound, trialsToSettle } from "../../stats/meanDrop.ts";
import { type Evidence, incumbent } from "../design.ts";
import { countTrials, type NamedCounts, type Span } from "../evidence.ts";

/** A case that one wording passes more often than not and the other does not. `adjusted` corrects for all cases. */
type Flip = NamedCounts & { direction: "mended" | "broken"; p: number; adjusted: number };

/**
 * One challenger against the incumbent at one look. In all counts base is the incumbent and head the challenger.
 * `p`: exact CMH that the challenger passes more; `adjusted`: for the challengers tested together. `harm`: the global
 * test that some case passes less. `gain` = challenger - incumbent, and `ceiling` its upper bound at this look's level.
 */
export type Trialled = {
  variant: string;
  counts: readonly NamedCounts[];
  p: number;
  adjusted: number;
  alpha: number;
  harm: { p: number; harmed: boolean; cases: readonly string[] };
  gain: NetChange;
  ceiling: number;
  flipped: readonly Flip[];
  furtherTrials?: number;
};

/** At this level the global test holds an adoption back: a wording that helps on the whole may still break a case. */
const harmLevel = 0.05;

/** Tests one challenger on the trials of the span. `adjusted` is still p; `holmOver` corrects it. */
export function trial(
  evidence: Evidence,
  cases: readonly string[],
  variant: string,
  span: Span,
  at: { alpha: number; margin: number },
): Trialled {
  const counts = cases.map((id) => ({
    case: id,
    base: countTrials(evidence, id, incumbent, span),
    head: countTrials(evidence, id, variant, span),
  }));
  const swapped = counts.map((one) => ({ ...one, base: one.head, head: one.base }));
  const { p } = cochranMantelHaenszel(swapped);
  const bound = noRegressionBound(swapped, normalQuantile(1 - at.alpha));
  const further = furtherTrials(swapped, at.margin);
  return {
    variant,
    counts,
    p,
    adjusted: p,
    alpha: at.alpha,
    harm: harmOf(counts),
    gain: netChange(counts),
    ceiling: bound.kind === "bounded" ? bound.upper : 1,
    flipped: flipsOf(counts, swapped),
    ...(further !== undefined && { furtherTrials: further }),
  };
}

function harmOf(counts: readonly NamedCounts[]): Trialled["harm"] {
  const p = globalTest(counts).p;
  const ps = stepDown(counts);
  const cases = counts.filter((_, i) => isSignificant(ps[i]?.adjusted ?? 1, harmLevel)).map((one) => one.case);
  return { p, harmed: isSignificant(p, harmLevel), cases };
}

function flipsOf(counts: readonly NamedCounts[], swapped: readonly NamedCounts[]): Flip[] {
  const [worse, better] = [stepDown(counts), stepDown(swapped)];
  return counts.flatMap((one, i) => {
    if (comparable([one]).length === 0 || mostly(one.base) === mostly(one.head)) return [];
    const mended = mostly(one.head);
    const ps = (mended ? better : worse)[i] ?? { p: 1, adjusted: 1 };
    return [{ ...one, direction: mended ? ("mended" as const) : ("broken" as const), ...ps }];
  });
}

function mostly({ passed, trials }: Counts): boolean {
  return 2 * passed > trials;
}

function furtherTrials(swapped: readonly NamedCounts[], margin: number): number | undefined {
  const needed = trialsToSettle(swapped, margin);
  if (needed === undefined) return undefined;
  return Math.max(
    1,
    needed - Math.min(...comparable(swapped).map(({ base, head }) => Math.min(base.trials, head.trials))),
  );
}

/** Whether any case has scored trials of both wordings. */
export function wasScored({ counts }: Trialled): boolean {
  return comparable(counts).length > 0;
}
