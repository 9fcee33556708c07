import * as z from "zod";
import { askAll, countPasses, type Design, simulate, type TrialRecord } from "../../asking/trials/design.ts";
import { groupBy } from "../../base/groupBy.ts";
import { type CaseCounts, type Counts, comparable, meanChange, rate } from "../../base/stats/counts.ts";
import { globalTest, isSignificant } from "../../base/stats/hypothesisTests.ts";
import { deriveSeed, type Random, seededRandom } from "../../base/stats/random.ts";
import { normalQuantile } from "../../base/stats/stdlib.ts";
import { sumOf } from "../../base/sum.ts";
import { countsSchema, intervalSchema } from "../../base/types/check.ts";
import type { ExitCode } from "../../base/types/errors.ts";
import { type Cost, costSchema } from "../../base/types/trial.ts";
import { check } from "../check/design.ts";
import { pairArms } from "../design/tally.ts";
import { type ExperimentFacts, experimentFacts } from "../results/design.ts";
import { toExitCode } from "../results/exitCode.ts";

/** The answer of a simulated model to a trial. */
type Sampled = (id: string, arm: string, trial: number) => "pass" | "fail";

/** A model whose trials are independent: each passes with the rate of its case and arm. */
export function independent(getRate: (id: string, arm: string) => number, random: Random): Sampled {
  return (id, arm) => (random.next() < getRate(id, arm) ? "pass" : "fail");
}

/**
 * A model whose trials of one case and arm are correlated: the beta-binomial with mean p and this intraclass correlation
 * (0 < correlation < 1), drawn one by one: P(pass | x passes of k so far) = (w p + x) / (w + k), w = 1/correlation - 1.
 * Source: Polya's urn; Johnson, Kemp and Kotz, Univariate Discrete Distributions, 6.2.2.
 */
export function correlated(getRate: (id: string, arm: string) => number, correlation: number, random: Random): Sampled {
  const seen = new Map<string, { passed: number; trials: number }>();
  const weight = 1 / correlation - 1;
  return (id, arm) => {
    const key = JSON.stringify([id, arm]);
    const urn = seen.get(key) ?? { passed: 0, trials: 0 };
    const pass = random.next() * (weight + urn.trials) < getRate(id, arm) * weight + urn.passed;
    seen.set(key, { passed: urn.passed + Number(pass), trials: urn.trials + 1 });
    return pass ? "pass" : "fail";
  };
}

/** For each case, one text per trial of both arms that identifies its reply, such as a hash. */
export type Replies = ReadonlyMap<string, readonly string[]>;

/**
 * How much the trials of one case and arm are correlated. `designEffect`: the variance of an arm's rate over what it were
 * with independent trials. `icc`: the correlation of two trials, (designEffect - 1) / (k - 1) with k trials per arm.
 * Undefined if no case varied, because nothing can be estimated then.
 */
const correlationSchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("estimated"),
    designEffect: z.number(),
    designEffectInterval: intervalSchema,
    icc: z.number(),
    iccInterval: intervalSchema,
    cases: z.int(),
  }),
  z.object({ kind: z.literal("undefined"), why: z.string() }),
]);
export type Correlation = z.infer<typeof correlationSchema>;

/** Trials per case and arm with which the exact test shows a drop of all cases by `drop` with 80 % power, if `most` do. */
const power = { drop: z.number(), power: z.number() };
const reachable = { ...power, kind: z.literal("reachable"), trials: z.int() };
const beyond = { ...power, kind: z.literal("beyond"), most: z.int() };
const detectableSchema = z.discriminatedUnion("kind", [z.object(reachable), z.object(beyond)]);
type Detectable = z.infer<typeof detectableSchema>;
const price = { costUsd: costSchema };

/**
 * The noise and the power of a suite on a model. `noise.difference` is what the two equal arms differed by, and in 95
 * of 100 repeats they differ by at most `noise.floor` (as a mean over cases), by chance alone. `level` is how often a
 * check would call an unchanged suite regressed with the estimated correlation, and with none.
 */
const calibrationSchema = z.object({
  trials: z.int(),
  cases: z.array(z.object({ case: z.string(), base: countsSchema, head: countsSchema })).readonly(),
  noise: z.object({ difference: z.number(), floor: z.number() }),
  correlation: correlationSchema,
  level: z.object({ independent: z.number(), correlated: z.number() }),
  duplicates: z.object({ share: z.number(), oneTrialSuffices: z.boolean() }),
  detect: z.array(detectableSchema).readonly(),
});
export type Calibration = z.infer<typeof calibrationSchema>;

/**
 * The result of `evals calibrate`: the object that `--json` prints and the report is made from. `trials`: per case and arm,
 * as asked for. `found`: null when it was stopped, or nothing was scored in both arms; `costUsd`: of that many trials of all
 * cases, twice.
 */
export const calibrationSummarySchema = z.object({
  ...experimentFacts,
  stopped: z.boolean(),
  trials: z.int(),
  deterministic: z.boolean().describe("the model is known to be, by its kind or as its file says").optional(),
  made: z.object({ trials: z.int(), broken: z.int() }),
  found: calibrationSchema
    .extend({
      detect: z
        .array(z.discriminatedUnion("kind", [z.object({ ...reachable, ...price }), z.object({ ...beyond, ...price })]))
        .readonly(),
    })
    .nullable(),
  exitCode: z.int(),
});
export type CalibrationSummary = z.infer<typeof calibrationSummarySchema>;

/** The summary of a calibration, finished or stopped with an exit code. */
export function summariseCalibration(
  facts: ExperimentFacts,
  result: Calibration | { stopped: ExitCode },
  { trials, deterministic, made }: Pick<CalibrationSummary, "trials" | "deterministic" | "made">,
): CalibrationSummary {
  const stopped = "stopped" in result;
  const found = stopped ? null : withPrices(result, facts.costUsd, made.trials);
  const exitCode = toExitCode({ undecided: !found, stopped: stopped ? result.stopped : undefined });
  return { ...facts, stopped, trials, deterministic, made, found, exitCode };
}

/** The figures, with the price of the recommended trials; null if nothing was scored in both arms. */
function withPrices(result: Calibration, spent: Cost, made: number): CalibrationSummary["found"] {
  if (comparable(result.cases).length === 0) return null;
  const each = spent === "unknown" || made === 0 ? "unknown" : spent / made;
  const price = (trials: number): Cost => (each === "unknown" ? each : each * trials * 2 * result.cases.length);
  const detect = result.detect.map((one) => {
    return { ...one, costUsd: price(one.kind === "reachable" ? one.trials : one.most) };
  });
  return { ...result, detect };
}

export type CalibrationSetup = { cases: readonly string[]; trials: number; seed: number; repetitions?: number };

/** The A/A design: the same list in both arms, interleaved, `trials` each. `getReplies` is read once all are made. */
export function calibrate(setup: CalibrationSetup, getReplies: () => Replies): Design<Calibration> {
  const cases = setup.cases.map((id) => ({ id, trials: setup.trials }));
  return askAll(cases, pairArms, setup.seed, (record) => calibration(record, setup, getReplies()));
}

function calibration(
  record: TrialRecord,
  { cases, trials, seed, repetitions = 400 }: CalibrationSetup,
  replies: Replies,
): Calibration {
  const counts = cases.map((id) => ({
    case: id,
    base: countPasses(record, id, "base", 1, trials),
    head: countPasses(record, id, "head", 1, trials),
  }));
  const rates = comparable(counts).map(({ base, head }) => observedRate(base, head));
  const correlation = estimateCorrelation(counts);
  const purpose = (name: string) => seededRandom(deriveSeed(seed, "calibrate", name));
  const icc = correlation.kind === "estimated" ? correlation.icc : 0;
  return {
    trials,
    cases: counts,
    noise: {
      difference: meanChange(counts) ?? 0,
      floor: noiseFloor(rates, trials, repetitions, purpose("noise")),
    },
    correlation,
    level: {
      independent: simulateLevel(rates, 0, repetitions, purpose("level")),
      correlated: simulateLevel(rates, icc, repetitions, purpose("level")),
    },
    duplicates: duplicatesIn(replies),
    detect: [0.1, 0.2].map((drop) => detectable(rates, drop, repetitions, purpose(`detect ${drop}`))),
  };
}

/** A rate that is shrunk a little, so that a case that always passed here is not assumed to be unable to fail. */
function observedRate(a: Counts, b: Counts): number {
  return (a.passed + b.passed + 0.5) / (a.trials + b.trials + 1);
}

function draw(rate: number, trials: number, random: Random): Counts {
  let passed = 0;
  for (let t = 0; t < trials; t++) if (random.next() < rate) passed++;
  return { passed, trials };
}

function noiseFloor(rates: readonly number[], trials: number, repetitions: number, random: Random): number {
  const differences = Array.from({ length: repetitions }, () => {
    const drawn = rates.map((rate) => ({ base: draw(rate, trials, random), head: draw(rate, trials, random) }));
    return Math.abs(meanChange(drawn) ?? 0);
  });
  return differences.sort((a, b) => a - b)[Math.ceil(0.95 * repetitions) - 1] ?? 0;
}

function simulateLevel(rates: readonly number[], icc: number, repetitions: number, random: Random): number {
  const ids = rates.map((_, i) => String(i));
  const getRate = (id: string) => rates[Number(id)] ?? 0;
  const model = (): Sampled =>
    icc > 0 ? correlated(getRate, Math.min(icc, 0.99), random) : independent(getRate, random);
  return measureShare(repetitions, (seed) => {
    return simulate(check({ cases: ids, seed, withReach: false }), model()).verdict.kind === "regressed";
  });
}

function measureShare(repetitions: number, happens: (repetition: number) => boolean): number {
  return Array.from({ length: repetitions }, (_, r) => happens(r)).filter(Boolean).length / repetitions;
}

/** Counts pairs of trials of one case with the same reply. A model that always repeats its reply needs one trial. */
function duplicatesIn(replies: Replies): Calibration["duplicates"] {
  let [same, pairs] = [0, 0];
  for (const list of replies.values()) {
    pairs += (list.length * (list.length - 1)) / 2;
    for (const { length: n } of groupBy(list, (reply) => reply).values()) same += (n * (n - 1)) / 2;
  }
  return { share: pairs === 0 ? 0 : same / pairs, oneTrialSuffices: pairs > 0 && same === pairs };
}

const trialCounts = [3, 5, 8, 10, 12, 15, 20, 25, 30, 40, 50];

/** The smallest of `trialCounts` with 80 % power, by bisection, because power grows with trials. */
function detectable(rates: readonly number[], drop: number, repetitions: number, random: Random): Detectable {
  const powers = new Map<number, number>();
  const enough = (index: number) => {
    const power = simulatePower(rates, drop, trialCounts[index] ?? 0, repetitions, random);
    powers.set(index, power);
    return power >= 0.8;
  };
  const last = trialCounts.length - 1;
  const most = trialCounts[last] ?? 0;
  if (!enough(last)) return { drop, kind: "beyond", most, power: powers.get(last) ?? 0 };
  let [low, high] = [-1, last];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (enough(middle)) high = middle;
    else low = middle;
  }
  return { drop, kind: "reachable", trials: trialCounts[high] ?? most, power: powers.get(high) ?? 0 };
}

function simulatePower(
  rates: readonly number[],
  drop: number,
  trials: number,
  repetitions: number,
  random: Random,
): number {
  return measureShare(repetitions, () => {
    const drawn = rates.map((rate) => ({
      base: draw(rate, trials, random),
      head: draw(Math.max(0, rate - drop), trials, random),
    }));
    return isSignificant(globalTest(drawn).p, 0.05);
  });
}

/**
 * Estimates the correlation from two arms that were the same list (A/A). For a case with rates a, b and pooled rate p,
 * (a - b)^2 is p(1-p)(1/k_a + 1/k_b) on average if trials are independent, and designEffect times that if not. With m
 * cases that varied, m designEffect_hat / designEffect is about chi-squared with m degrees of freedom, hence the 95 % interval.
 * It is wide: with ten cases it spans a factor of six. Source: Donner and Klar, Cluster Randomization Trials (2000), 1.4.
 */
export function estimateCorrelation(cases: readonly CaseCounts[]): Correlation {
  const varied = comparable(cases).filter(({ base, head }) => {
    const passed = base.passed + head.passed;
    return passed > 0 && passed < base.trials + head.trials && base.trials > 1 && head.trials > 1;
  });
  const m = varied.length;
  if (m === 0) return { kind: "undefined", why: "every case always passed or always failed, so nothing varied" };
  const designEffect = sumOf(varied, (one) => measureVariance(one)) / m;
  const designEffectInterval = [
    (m * designEffect) / chiSquaredQuantile(0.975, m),
    (m * designEffect) / chiSquaredQuantile(0.025, m),
  ] as const;
  const k = sumOf(varied, ({ base, head }) => (base.trials + head.trials) / 2) / m;
  const icc = (effect: number) => Math.min(1, Math.max(0, (effect - 1) / (k - 1)));
  const iccInterval = [icc(designEffectInterval[0]), icc(designEffectInterval[1])] as const;
  return { kind: "estimated", designEffect, designEffectInterval, icc: icc(designEffect), iccInterval, cases: m };
}

/** (a - b)^2 over its mean under independence; p(1-p) is estimated without bias by p_hat(1 - p_hat) N/(N - 1). */
function measureVariance({ base, head }: CaseCounts): number {
  const total = base.trials + head.trials;
  const p = (base.passed + head.passed) / total;
  const variance = ((p * (1 - p) * total) / (total - 1)) * (1 / base.trials + 1 / head.trials);
  return (rate(base) - rate(head)) ** 2 / variance;
}

/** Wilson and Hilferty, PNAS 17 (1931): the cube root of chi-squared / m is nearly normal. Within 2 % for m >= 3. */
function chiSquaredQuantile(p: number, m: number): number {
  const c = 2 / (9 * m);
  // At one degree of freedom the lower quantiles come out near 0 or below; the exact ones are positive.
  return m * Math.max(0.01, 1 - c + normalQuantile(p) * Math.sqrt(c)) ** 3;
}
