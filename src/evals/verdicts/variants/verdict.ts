import { comparable } from "../../stats/counts.ts";
import { isSignificant } from "../../stats/hypothesisTests.ts";
import { type Evidence, incumbent } from "../design.ts";
import { countTrials, madeTrials } from "../evidence.ts";
import { type Trialled, wasScored } from "./trial.ts";

/** Where a wording stands over all of its trials: the mean of its cases' rates. Absent when nothing was scored. */
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
  best?: Trialled;
  tests: readonly Trialled[];
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
export function standingOf(
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
export function ruleOn(tests: readonly Trialled[], margin: number): VariantVerdict["kind"] | "go on" {
  if (!tests.some(wasScored)) return "inconclusive";
  const better = tests.filter((one) => isSignificant(one.adjusted, one.alpha));
  if (better.some((one) => !one.harm.harmed && comparable(one.counts).length === one.counts.length)) return "adopt";
  const out = (one: Trialled) => wasScored(one) && (one.ceiling < margin || isSignificant(one.harm.p, one.alpha));
  return tests.every((one) => out(one) || (better.includes(one) && one.harm.harmed)) ? "keep" : "go on";
}

/** Makes the verdict. The best challenger is the one adopted, else the one with the smallest p. */
export function variantVerdict(
  kind: VariantVerdict["kind"],
  tests: readonly Trialled[],
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
    basis: basis ?? basisOf(best),
    ...(kind === "adopt" && best && { winner: best.variant }),
    ...(best && { best }),
    tests: ranked,
    standings: arms.map((arm) => standingOf(evidence, setup.cases, arm)),
    ...(kind === "inconclusive" && best?.furtherTrials !== undefined && { furtherTrials: best.furtherTrials }),
    calls: { made, broken, cap, saved: cap - made },
  };
}

function basisOf(best: Trialled | undefined): VariantBasis {
  if (!best || !wasScored(best) || best.gain.kind === "no cases") return { kind: "nothing scored" };
  const { variant, gain, harm, adjusted: p, alpha } = best;
  return { kind: "tested", variant, change: gain.change, p, alpha, harm: harm.harmed ? harm : null };
}
