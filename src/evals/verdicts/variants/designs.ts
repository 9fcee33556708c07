import { comparable } from "../../stats/counts.ts";
import { holm } from "../../stats/hypothesisTests.ts";
import {
  type Design,
  type Evidence,
  incumbent,
  type Look,
  requestAll,
  type Step,
  stillMissing,
  type TrialRange,
} from "../design.ts";
import { regressionDefaults } from "../regression.ts";
import {
  measureStanding,
  ruleOn,
  testVariant,
  type VariantBasis,
  type VariantSetup,
  type VariantTest,
  type VariantVerdict,
  variantVerdict,
} from "./verdict.ts";

/** From this many challengers on, trying all of them equally costs more than first finding the most promising. */
const many = 4;

/** The design that decides which wording to use. Arms: `incumbent`, and the challengers' names. */
export function variants(setup: VariantSetup): Design<VariantVerdict> {
  return setup.challengers.length < many ? uniform(setup) : halving(setup);
}

/** The looks of uniform variants, in trials per case and wording; their shares add up to 5 %. */
const uniformLooks: readonly Look[] = [
  { trials: 5, alpha: 0.01 },
  { trials: 10, alpha: 0.015 },
  { trials: 20, alpha: 0.025 },
];

/**
 * The design for up to three challengers: all wordings interleaved, as many trials each; at every look the exact CMH
 * test of each challenger against the incumbent, with Holm's correction, and the global test as no-harm guard.
 */
function uniform(setup: VariantSetup): Design<VariantVerdict> {
  const { cases, challengers, margin = regressionDefaults.margin } = setup;
  const arms = [incumbent, ...challengers];
  const looks = uniformLooks.length;
  const cap = cases.length * arms.length * Math.max(...uniformLooks.map((look) => look.trials));
  return {
    cap,
    next(evidence): Step<VariantVerdict> {
      let tests: VariantTest[] = [];
      for (const [j, { trials, alpha }] of uniformLooks.entries()) {
        const span = { from: 1, to: trials };
        const requests = stillMissing(evidence, requestAll(cases, arms, span));
        if (requests.length > 0) return { kind: "ask", requests, look: j + 1 };
        tests = testAll(evidence, setup, span, { alpha, margin });
        const kind = ruleOn(tests, margin);
        if (kind === "go on" && j + 1 < looks) continue;
        const frame = { method: "uniform", rounds: [], look: j + 1, looks, margin, cap } as const;
        return {
          kind: "decided",
          verdict: variantVerdict(kind === "go on" ? "inconclusive" : kind, tests, setup, frame, evidence),
        };
      }
      throw new RangeError("a design without looks");
    },
  };
}

/** Each challenger's test on these trials, with Holm's correction over them. */
function testAll(
  evidence: Evidence,
  { cases, challengers }: VariantSetup,
  span: TrialRange,
  at: { alpha: number; margin: number },
): VariantTest[] {
  const tests = challengers.map((variant) => testVariant(evidence, cases, variant, span, at));
  const adjusted = holm(tests.map((one) => one.p));
  return tests.map((one, i) => ({ ...one, adjusted: adjusted[i] ?? 1 }));
}

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
function halving(setup: VariantSetup): Design<VariantVerdict> {
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
  const standings = left.map((variant) => measureStanding(evidence, cases, variant, most));
  const scored = standings.filter((one) => one.rate !== undefined);
  return scored.toSorted((a, b) => (b.rate ?? 0) - (a.rate ?? 0)).map((one) => one.variant);
}

type FreshFrame = Pick<VariantVerdict, "rounds" | "looks" | "margin"> & { method: "halving"; cap: number };

function freshTest(evidence: Evidence, setup: VariantSetup, frame: FreshFrame, used: number): Step<VariantVerdict> {
  const winner = frame.rounds.at(-1)?.[0] ?? setup.challengers[0];
  const before = frame.rounds.length;
  let tests: VariantTest[] = [];
  let look = before + 1;
  if (winner !== undefined) {
    for (const [j, { trials, alpha }] of freshLooks.entries()) {
      look = before + j + 1;
      const span = { from: used + 1, to: used + trials };
      const requests = stillMissing(evidence, requestAll(setup.cases, [incumbent, winner], span));
      if (requests.length > 0) return { kind: "ask", requests, look };
      tests = [testVariant(evidence, setup.cases, winner, span, { alpha, margin: frame.margin })];
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

/** The verdict for a deterministic model. The figures of chance in `tests` mean nothing here. */
export type DeterministicVerdict = Omit<VariantVerdict, "method"> & { method: "deterministic" };

/**
 * The design for a deterministic model: one trial per case and wording, and any difference is real.
 * Adopts the challenger that passes most, of those that pass more cases than the incumbent and break none that it
 * passes; of equals the first. What breaks a case is not adopted, however much it gains.
 */
export function deterministicVariants(setup: VariantSetup): Design<DeterministicVerdict> {
  const { cases, challengers, margin = regressionDefaults.margin } = setup;
  const arms = [incumbent, ...challengers];
  const cap = cases.length * arms.length;
  const span = { from: 1, to: 1 };
  return {
    cap,
    next(evidence): Step<DeterministicVerdict> {
      const requests = stillMissing(evidence, requestAll(cases, arms, span));
      if (requests.length > 0) return { kind: "ask", requests, look: 1 };
      const tests = challengers.map((name) => testVariant(evidence, cases, name, span, { alpha: 0, margin }));
      const ranked = tests.toSorted((a, b) => countGain(b) - countGain(a));
      const better = ranked.filter((one) => countGain(one) > 0);
      const chosen = better.find((one) => listBroken(one).length === 0 && isWhole(one));
      const best = chosen ?? ranked[0];
      const kind = chosen ? "adopt" : tests.every(isWhole) ? "keep" : "inconclusive";
      const frame = { method: "uniform", rounds: [], look: 1, looks: 1, margin, cap } as const;
      const made = variantVerdict(kind, best ? [best] : [], setup, frame, evidence, findBasis(kind, best));
      const { furtherTrials: _, ...verdict } = made;
      return { kind: "decided", verdict: { ...verdict, method: "deterministic", tests: ranked } };
    },
  };
}

/** Cases that pass now less cases that passed before, of those scored in both. */
function countGain({ counts }: VariantTest): number {
  return comparable(counts).reduce((sum, { base, head }) => sum + head.passed - base.passed, 0);
}

function listBroken({ counts }: VariantTest): string[] {
  const broken = counts.filter((one) => comparable([one]).length > 0 && one.head.passed < one.base.passed);
  return broken.map((one) => one.case);
}

function isWhole({ counts }: VariantTest): boolean {
  return comparable(counts).length === counts.length;
}

function findBasis(kind: VariantVerdict["kind"], best: VariantTest | undefined): VariantBasis {
  if (!best || comparable(best.counts).length === 0) return { kind: "nothing scored" };
  if (kind === "inconclusive") return { kind: "cases not scored" };
  return { kind: "counted", variant: best.variant, gain: countGain(best), breaks: listBroken(best) };
}
