import type { ExitCode } from "../errors.ts";
import { type CaseCounts, type Counts, comparable } from "../stats/counts.ts";
import { globalTest, isSignificant } from "../stats/hypothesisTests.ts";
import { deriveSeed, type Random, seededRandom } from "../stats/random.ts";
import type { Cost } from "../types/trial.ts";
import { type Correlation, correlationOf } from "./correlation.ts";
import { type Design, type Evidence, type ExperimentFacts, regressionArms, type Step } from "./design.ts";
import { countCases, type NamedCounts, requestAll, stillMissing } from "./evidence.ts";
import { exitCodeOf } from "./exitCode.ts";
import { thorough } from "./regression/thorough.ts";
import { regressionDefaults } from "./regression/verdict.ts";
import { type Answer, correlated, independent, simulate } from "./simulate.ts";

/** Of a case, one text per trial that names its reply (a hash will do), whichever arm it was in. */
export type Replies = ReadonlyMap<string, readonly string[]>;

/**
 * What a suite on a model can tell. `noise.difference` is what the two equal arms differed by, and in 95 of 100 repeats
 * they differ by at most `noise.floor` (as a mean over cases), by chance alone. `level.thorough` is how often `thorough`
 * would call an unchanged suite regressed with the estimated correlation, and with none.
 */
export type Calibration = {
  trials: number;
  cases: readonly NamedCounts[];
  noise: { difference: number; floor: number };
  correlation: Correlation;
  level: { independent: number; correlated: number };
  duplicates: { share: number; oneTrialSuffices: boolean };
  detect: readonly Detectable[];
};

/** Trials per case and arm with which the exact test shows a drop of all cases by `drop` with 80 % power, if `most` do. */
type Detectable = { drop: number; power: number } & (
  | { kind: "reachable"; trials: number }
  | { kind: "beyond"; most: number }
);

/** What `evals calibrate` came to: the object that `--json` prints and the report is made from. */
export type CalibrationSummary = ExperimentFacts & {
  stopped: boolean;
  /** Per case and arm, as asked for. */
  trials: number;
  made: { trials: number; broken: number };
  /** Null when it was stopped, or nothing was scored in both arms. `costUsd`: of that many trials of all cases, twice. */
  found: (Omit<Calibration, "detect"> & { detect: readonly (Detectable & { costUsd: Cost })[] }) | null;
  exitCode: number;
};

/** The summary of a calibration, decided or stopped with an exit code. */
export function summariseCalibration(
  facts: ExperimentFacts,
  result: Calibration | { stopped: ExitCode },
  { trials, made }: Pick<CalibrationSummary, "trials" | "made">,
): CalibrationSummary {
  const stopped = "stopped" in result;
  const found = stopped ? null : withPrices(result, facts.costUsd, made.trials);
  const exitCode = exitCodeOf({ undecided: !found, stopped: stopped ? result.stopped : undefined });
  return { ...facts, stopped, trials, made, found, exitCode };
}

/** The figures with the price of what they ask for; null where nothing was scored in both arms. */
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

/** The A/A design: the same list in both arms, interleaved, `trials` each. `repliesOf` is read once all are made. */
export function calibrate(setup: CalibrationSetup, repliesOf: () => Replies): Design<Calibration> {
  const { cases, trials } = setup;
  return {
    cap: cases.length * 2 * trials,
    next(evidence): Step<Calibration> {
      const requests = stillMissing(evidence, requestAll(cases, regressionArms, { from: 1, to: trials }));
      if (requests.length > 0) return { kind: "ask", requests, look: 1 };
      return { kind: "decided", verdict: calibration(evidence, setup, repliesOf()) };
    },
  };
}

/** Reads the figures off the two equal arms; everything simulated is decided by the seed. */
function calibration(
  evidence: Evidence,
  { cases, trials, seed, repetitions = 400 }: CalibrationSetup,
  replies: Replies,
): Calibration {
  const counts = countCases(evidence, cases, regressionArms, { from: 1, to: trials });
  const rates = comparable(counts).map(({ base, head }) => observedRate(base, head));
  const correlation = correlationOf(counts);
  const purpose = (name: string) => seededRandom(deriveSeed(seed, "calibrate", name));
  const icc = correlation.kind === "estimated" ? correlation.icc : 0;
  return {
    trials,
    cases: counts,
    noise: {
      difference: meanDifference(comparable(counts)),
      floor: noiseFloor(rates, trials, repetitions, purpose("noise")),
    },
    correlation,
    level: {
      independent: levelOf(rates, 0, repetitions, purpose("level")),
      correlated: levelOf(rates, icc, repetitions, purpose("level")),
    },
    duplicates: duplicatesIn(replies),
    detect: [0.1, 0.2].map((drop) => detectable(rates, drop, repetitions, purpose(`detect ${drop}`))),
  };
}

/** Shrunk a little, so that a case that always passed here is not taken for one that cannot fail. */
function observedRate(a: Counts, b: Counts): number {
  return (a.passed + b.passed + 0.5) / (a.trials + b.trials + 1);
}

function meanDifference(cases: readonly CaseCounts[]): number {
  const sum = cases.reduce((total, { base, head }) => total + head.passed / head.trials - base.passed / base.trials, 0);
  return cases.length === 0 ? 0 : sum / cases.length;
}

function draw(rate: number, trials: number, random: Random): Counts {
  let passed = 0;
  for (let t = 0; t < trials; t++) if (random.next() < rate) passed++;
  return { passed, trials };
}

function noiseFloor(rates: readonly number[], trials: number, repetitions: number, random: Random): number {
  const differences = Array.from({ length: repetitions }, () => {
    const drawn = rates.map((rate) => ({ base: draw(rate, trials, random), head: draw(rate, trials, random) }));
    return Math.abs(meanDifference(drawn));
  });
  return differences.sort((a, b) => a - b)[Math.ceil(0.95 * repetitions) - 1] ?? 0;
}

function levelOf(rates: readonly number[], icc: number, repetitions: number, random: Random): number {
  const ids = rates.map((_, i) => String(i));
  const rateOf = (id: string) => rates[Number(id)] ?? 0;
  const model = (): Answer => (icc > 0 ? correlated(rateOf, Math.min(icc, 0.99), random) : independent(rateOf, random));
  let alarms = 0;
  for (let r = 0; r < repetitions; r++) if (simulate(thorough(ids), model()).verdict.kind === "regressed") alarms++;
  return alarms / repetitions;
}

/** Pairs of trials of one case that got the same reply. A model that repeats itself to the letter needs one trial. */
function duplicatesIn(replies: Replies): Calibration["duplicates"] {
  let [same, pairs] = [0, 0];
  for (const list of replies.values()) {
    pairs += (list.length * (list.length - 1)) / 2;
    const times = new Map<string, number>();
    for (const reply of list) times.set(reply, (times.get(reply) ?? 0) + 1);
    for (const n of times.values()) same += (n * (n - 1)) / 2;
  }
  return { share: pairs === 0 ? 0 : same / pairs, oneTrialSuffices: pairs > 0 && same === pairs };
}

const trialCounts = [3, 5, 8, 10, 12, 15, 20, 25, 30, 40, 50];

/** The least of `trialCounts` with 80 % power, by bisection: power grows with trials. */
function detectable(rates: readonly number[], drop: number, repetitions: number, random: Random): Detectable {
  const powers = new Map<number, number>();
  const enough = (index: number) => {
    const power = powerOf(rates, drop, trialCounts[index] ?? 0, repetitions, random);
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

function powerOf(rates: readonly number[], drop: number, trials: number, repetitions: number, random: Random): number {
  let found = 0;
  for (let r = 0; r < repetitions; r++) {
    const drawn = rates.map((rate) => ({
      base: draw(rate, trials, random),
      head: draw(Math.max(0, rate - drop), trials, random),
    }));
    if (isSignificant(globalTest(drawn).p, regressionDefaults.alpha)) found++;
  }
  return found / repetitions;
}
