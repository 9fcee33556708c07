import { type Counts, comparable } from "../../stats/counts.ts";
import { cochranMantelHaenszel, globalTest, isSignificant, stepDown } from "../../stats/hypothesisTests.ts";
import { type NetChange, netChange, noRegressionBound, trialsToSettle } from "../../stats/meanDrop.ts";
import { normalQuantile } from "../../stats/stdlib.ts";
import { countTrials, type Evidence, incumbent, madeTrials, type NamedCounts, type TrialRange } from "../design.ts";

/** How a wording did over all of its trials: the mean of its cases' rates. Absent when nothing was scored. */
export type Standing = { variant: string; passed: number; trials: number; rate?: number };

/** Why a verdict: what the best challenger, if any was scored, was shown to do. `counted`: by a deterministic model. */
export type VariantBasis =
  | { kind: "stopped" }
  | { kind: "nothing scored" }
  | { kind: "cases not scored" }
  | {
      kind: "tested";
      variant: string;
      change: number;
      p: number;
      alpha: number;
      harm: { p: number; cases: readonly string[] } | null;
    }
  | { kind: "counted"; variant: string; gain: number; breaks: readonly string[] };

/**
 * `adopt`: `winner` passes more than the incumbent, and breaks no case that could be shown. `keep`: no challenger is
 * better by the margin or more, or the one that is better breaks cases. `inconclusive`: neither is shown.
 * `tests` are the challengers tested against the incumbent at the deciding look, `best` first.
 */
export type VariantVerdict = {
  kind: "adopt" | "keep" | "inconclusive";
  method: "uniform" | "halving";
  basis: VariantBasis;
  winner?: string;
  best?: VariantTest;
  tests: readonly VariantTest[];
  standings: readonly Standing[];
  /** Halving only: the wordings that were still in after each round. */
  rounds: readonly (readonly string[])[];
  look: number;
  looks: number;
  margin: number;
  furtherTrials?: number;
  calls: { made: number; broken: number; cap: number; saved: number };
};

export type VariantSetup = { cases: readonly string[]; challengers: readonly string[]; margin?: number };

/** The frame of a verdict: what does not depend on the tests. */
export type Frame = Pick<VariantVerdict, "method" | "rounds" | "look" | "looks" | "margin"> & { cap: number };

/** How a wording did over these cases; only over the first `upTo` trials, when given. */
export function measureStanding(
  evidence: Evidence,
  cases: readonly string[],
  variant: string,
  upTo = Number.POSITIVE_INFINITY,
): Standing {
  const counts = cases.map((id) => countTrials(evidence, id, variant, { from: 1, to: upTo }));
  const scored = counts.filter(({ trials }) => trials > 0);
  const sum = (of: (one: { passed: number; trials: number }) => number) =>
    scored.reduce((total, one) => total + of(one), 0);
  const mean = sum(({ passed, trials }) => passed / trials) / scored.length;
  return {
    variant,
    passed: sum((one) => one.passed),
    trials: sum((one) => one.trials),
    ...(scored.length > 0 && { rate: mean }),
  };
}

/** The rule of one look. `go on` at the last look is inconclusive. A case that was never scored holds an adoption back. */
export function ruleOn(tests: readonly VariantTest[], margin: number): VariantVerdict["kind"] | "go on" {
  if (!tests.some(wasScored)) return "inconclusive";
  const better = tests.filter((one) => isSignificant(one.adjusted, one.alpha));
  if (better.some((one) => !one.harm.harmed && comparable(one.counts).length === one.counts.length)) return "adopt";
  const out = (one: VariantTest) => wasScored(one) && (one.ceiling < margin || isSignificant(one.harm.p, one.alpha));
  return tests.every((one) => out(one) || (better.includes(one) && one.harm.harmed)) ? "keep" : "go on";
}

/** Makes the verdict. The best challenger is the one adopted, else the one with the smallest p. */
export function variantVerdict(
  kind: VariantVerdict["kind"],
  tests: readonly VariantTest[],
  setup: VariantSetup,
  frame: Frame,
  evidence: Evidence,
  basis?: VariantBasis,
): VariantVerdict {
  const { cap, ...rest } = frame;
  const ranked = tests.toSorted((a, b) => Number(a.harm.harmed) - Number(b.harm.harmed) || a.p - b.p);
  const best = ranked[0];
  const arms = [incumbent, ...setup.challengers];
  const spent = arms.map((arm) => madeTrials(evidence, setup.cases, arm));
  const made = spent.reduce((sum, one) => sum + one.made, 0);
  const broken = spent.reduce((sum, one) => sum + one.broken, 0);
  return {
    kind,
    ...rest,
    basis: basis ?? findBasis(best),
    ...(kind === "adopt" && best && { winner: best.variant }),
    ...(best && { best }),
    tests: ranked,
    standings: arms.map((arm) => measureStanding(evidence, setup.cases, arm)),
    ...(kind === "inconclusive" && best?.furtherTrials !== undefined && { furtherTrials: best.furtherTrials }),
    calls: { made, broken, cap, saved: cap - made },
  };
}

function findBasis(best: VariantTest | undefined): VariantBasis {
  if (!best || !wasScored(best) || best.gain.kind === "no cases") return { kind: "nothing scored" };
  const { variant, gain, harm, adjusted: p, alpha } = best;
  return { kind: "tested", variant, change: gain.change, p, alpha, harm: harm.harmed ? harm : null };
}

/** A case that one wording passes more often than not and the other does not. `adjusted` corrects for all cases. */
type Flip = NamedCounts & { direction: "mended" | "broken"; p: number; adjusted: number };

/**
 * One challenger against the incumbent at one look. In all counts base is the incumbent and head the challenger.
 * `p`: exact CMH that the challenger passes more; `adjusted`: for the challengers tested together. `harm`: the global
 * test that some case passes less. `gain` = challenger - incumbent, and `ceiling` its upper bound at this look's level.
 */
export type VariantTest = {
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
export function testVariant(
  evidence: Evidence,
  cases: readonly string[],
  variant: string,
  span: TrialRange,
  at: { alpha: number; margin: number },
): VariantTest {
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
    harm: testHarm(counts),
    gain: netChange(counts),
    ceiling: bound.kind === "bounded" ? bound.upper : 1,
    flipped: findFlips(counts, swapped),
    ...(further !== undefined && { furtherTrials: further }),
  };
}

function testHarm(counts: readonly NamedCounts[]): VariantTest["harm"] {
  const p = globalTest(counts).p;
  const ps = stepDown(counts);
  const cases = counts.filter((_, i) => isSignificant(ps[i]?.adjusted ?? 1, harmLevel)).map((one) => one.case);
  return { p, harmed: isSignificant(p, harmLevel), cases };
}

function findFlips(counts: readonly NamedCounts[], swapped: readonly NamedCounts[]): Flip[] {
  const [worse, better] = [stepDown(counts), stepDown(swapped)];
  return counts.flatMap((one, i) => {
    if (comparable([one]).length === 0 || mostly(one.base) === mostly(one.head)) return [];
    const isFixed = mostly(one.head);
    const ps = (isFixed ? better : worse)[i] ?? { p: 1, adjusted: 1 };
    return [{ ...one, direction: isFixed ? ("mended" as const) : ("broken" as const), ...ps }];
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
function wasScored({ counts }: VariantTest): boolean {
  return comparable(counts).length > 0;
}
