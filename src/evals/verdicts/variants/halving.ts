import { type Design, type Evidence, incumbent, type Look, type Step } from "../design.ts";
import { requestAll, stillMissing } from "../evidence.ts";
import { regressionDefaults } from "../regression/verdict.ts";
import { type Trialled, trial } from "./trial.ts";
import { ruleOn, standingOf, type VariantSetup, type VariantVerdict, variantVerdict } from "./verdict.ts";

/** Trials per case and wording in each round; rounds beyond the last take as many as the last. */
const roundTrials = [4, 6, 10];

/** The looks of the fresh test, in trials per case and wording beyond the rounds; their shares add up to 5 %. */
const freshLooks: readonly Look[] = [
  { trials: 8, alpha: 0.02 },
  { trials: 16, alpha: 0.03 },
];

/** `most`: the number of the last trial of a round, so a wording that is in gets trials up to it. */
type Round = { most: number; keep: number };

/** Halves the field until one is left: 8, 4, 2, 1. */
function roundsFor(challengers: number): Round[] {
  const rounds: Round[] = [];
  for (let left = challengers, most = 0; left > 1; left = Math.ceil(left / 2)) {
    most += roundTrials[Math.min(rounds.length, roundTrials.length - 1)] ?? 0;
    rounds.push({ most, keep: Math.ceil(left / 2) });
  }
  return rounds;
}

/**
 * The design for many challengers: sequential halving finds the most promising one, and a fresh test decides about it.
 * A round ranks by the mean of the cases' rates over all trials so far and keeps the better half. The winner then meets
 * the incumbent on trials that played no part in choosing it (numbered after the last round, in both arms), by the exact
 * CMH test with the global test as no-harm guard; so however many challengers, a false "adopt" has chance 5 %.
 * Source: Karnin, Koren and Somekh, Almost optimal exploration in multi-armed bandits, ICML 2013.
 */
export function halving(setup: VariantSetup): Design<VariantVerdict> {
  const { cases, challengers, margin = regressionDefaults.margin } = setup;
  const rounds = roundsFor(challengers.length);
  const looks = rounds.length + freshLooks.length;
  const cap = cases.length * capPerCase(challengers.length, rounds);
  return {
    cap,
    next(evidence): Step<VariantVerdict> {
      let left = challengers;
      const survivors: string[][] = [];
      for (const [r, { most, keep }] of rounds.entries()) {
        const requests = stillMissing(evidence, requestAll(cases, left, { from: 1, to: most }));
        if (requests.length > 0) return { kind: "ask", requests, look: r + 1 };
        const ranked = rank(evidence, cases, left, most);
        if (ranked.length === 0) {
          const frame = { method: "halving", rounds: survivors, look: r + 1, looks, margin, cap } as const;
          return { kind: "decided", verdict: variantVerdict("inconclusive", [], setup, frame, evidence) };
        }
        left = ranked.slice(0, keep);
        survivors.push([...left]);
      }
      return freshTest(
        evidence,
        setup,
        { method: "halving", rounds: survivors, looks, margin, cap },
        rounds.at(-1)?.most ?? 0,
      );
    },
  };
}

/** Best first; equal ones stay in the order given. A wording of which nothing was scored is out. */
function rank(evidence: Evidence, cases: readonly string[], left: readonly string[], most: number): string[] {
  const standings = left.map((variant) => standingOf(evidence, cases, variant, most));
  const scored = standings.filter((one) => one.rate !== undefined);
  return scored.toSorted((a, b) => (b.rate ?? 0) - (a.rate ?? 0)).map((one) => one.variant);
}

type FreshFrame = Pick<VariantVerdict, "rounds" | "looks" | "margin"> & { method: "halving"; cap: number };

function freshTest(evidence: Evidence, setup: VariantSetup, frame: FreshFrame, used: number): Step<VariantVerdict> {
  const winner = frame.rounds.at(-1)?.[0] ?? setup.challengers[0];
  const before = frame.rounds.length;
  let tests: Trialled[] = [];
  let look = before + 1;
  if (winner !== undefined) {
    for (const [j, { trials, alpha }] of freshLooks.entries()) {
      look = before + j + 1;
      const span = { from: used + 1, to: used + trials };
      const requests = stillMissing(evidence, requestAll(setup.cases, [incumbent, winner], span));
      if (requests.length > 0) return { kind: "ask", requests, look };
      tests = [trial(evidence, setup.cases, winner, span, { alpha, margin: frame.margin })];
      const kind = ruleOn(tests, frame.margin);
      if (kind !== "go on")
        return { kind: "decided", verdict: variantVerdict(kind, tests, setup, { ...frame, look }, evidence) };
    }
  }
  return { kind: "decided", verdict: variantVerdict("inconclusive", tests, setup, { ...frame, look }, evidence) };
}

function capPerCase(challengers: number, rounds: readonly Round[]): number {
  let [left, before, sum] = [challengers, 0, 0];
  for (const { most, keep } of rounds) {
    sum += left * (most - before);
    [left, before] = [keep, most];
  }
  return sum + 2 * Math.max(...freshLooks.map((look) => look.trials));
}
