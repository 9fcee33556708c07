import {
  type Design,
  type Play,
  playTogether,
  simulate,
  type TrialRecord,
  type TrialRequest,
} from "../../asking/trials/design.ts";
import { type Counts, noTrials } from "../../base/stats/counts.ts";
import { isSignificant } from "../../base/stats/hypothesisTests.ts";
import { deriveSeed, drawBeta, seededRandom } from "../../base/stats/random.ts";
import type { NamedCase } from "../../base/types/check.ts";
import { adviseOpen, simulateReach, suspicionAt } from "../design/advice.ts";
import { decideExhausted, exhaustedLevel } from "../design/compare.ts";
import {
  type ArmAnswers,
  type CheckVerdict,
  conclude,
  countCalls,
  type Figures,
  fallP,
  judgeSuite,
  listFlips,
  listRepeated,
  missingAnswers,
  nameCase,
  netChange,
  type PairTally,
  pairArms,
  readArm,
  riseP,
  type SuiteJudgement,
  tallyCase,
} from "../design/observe.ts";
import { defaultMargin, defaultTrials, type LookPlan, planLooks } from "../design/statistics.ts";
import { probeRepeats } from "./probe.ts";

/**
 * `seed`: the run's; it decides which arm of a pair is asked first, and the reach. `trials`: the cap per case and arm.
 * `margin`: the largest mean drop that counts as no regression. `depth`: the least trials before NO REGRESSION.
 * `families`: suite-model pairs of the run. `requests`: how many different requests a case has, its tool orders (m!).
 * `alwaysAlike`: the model is known to answer a repeated request alike; otherwise a probe finds out when it matters.
 */
export type CheckSetup = {
  cases: readonly string[];
  seed: number;
  trials?: number;
  margin?: number;
  depth?: number;
  families?: number;
  requests?: (id: string) => number;
  alwaysAlike?: boolean;
  /** Whether to simulate the reach: some milliseconds, which a simulation of many checks may save. */
  withReach?: boolean;
};

/** A case whose p of a rise is at most this looks better, and is asked further when others fell. It only affects which trials are requested. */
const hopeAt = (trials: number) => (trials <= 5 ? 0.25 : 0.1);
/** With at least this many suspects, and more than this share of the cases, the suite itself dropped, and no case runs ahead. */
const crowd = { least: 3, share: 0.4 };
/** REGRESSED stands, even if cases rose, if the suite's p is at most this, or a named case lost at least this much. */
const standing = { suiteP: 0.05, lost: 0.6 };

/** One case during a check: its answers, the rung at which it was last tested, and its p there. */
class PlayedCase {
  rung = -1;
  p = 1;
  /** Pairs that are settled from the first one on. */
  ready = 0;
  /** Requests beyond these are repeats without information. */
  limit = Number.POSITIVE_INFINITY;

  readonly base: ArmAnswers;
  readonly head: ArmAnswers;

  constructor(
    readonly id: string,
    record: TrialRecord,
    readonly requests: number,
  ) {
    this.base = readArm(record, id, "base");
    this.head = readArm(record, id, "head");
  }

  has(arm: "base" | "head", trial: number): boolean {
    return this[arm].answers[trial - 1] !== undefined;
  }

  tally(pairs: number): PairTally {
    return tallyCase(this.base, this.head, Math.min(pairs, this.limit));
  }
}

/**
 * The check of base against head, on pairs: trial t of a case is asked in both arms with the same tool order. At each
 * look, for the first K pairs of every case:
 * 1. a case whose exact p is at most the case level, at any rung it was asked for: REGRESSED (cases), or CHANGED;
 * 2. the sign test of the suite at most a K/T: REGRESSED (suite);
 * 3. cases that look worse run ahead to their next rungs until they are named or look worse no more, unless there are so
 *    many of them that the suite must have dropped;
 * 4. the mean drop below the margin at z standard errors: NO REGRESSION, or INCONCLUSIVE when answers are missing.
 *
 * A false REGRESSED has chance .01 by cases (Bonferroni over cases and rungs, exact under any adaptive allocation) and .04
 * by the suite (look K uses the first K pairs of every case, whoever ran ahead); NO REGRESSION at a true drop of the
 * margin <= .05. Throws RangeError for a cap outside 1..140, or no cases.
 */
export function check(setup: CheckSetup): Design<CheckVerdict> {
  const requests = setup.requests ?? (() => Number.POSITIVE_INFINITY);
  const most = setup.alwaysAlike ? Math.max(...setup.cases.map(requests)) : Number.POSITIVE_INFINITY;
  const plan = planLooks(setup.cases.length, setup.trials ?? defaultTrials, {
    families: setup.families ?? 1,
    requests: most,
  });
  const cap = setup.cases.length * pairArms.length * Math.max(...plan.rungs);
  return {
    cap,
    play: (record) => new PlayedCheck({ ...setup, requests }, plan, record).play(),
  };
}

type Look = { look: number; trials: number; suite: SuiteJudgement; tallies: readonly PairTally[] };

class PlayedCheck {
  readonly #setup: CheckSetup;
  readonly #plan: LookPlan;
  readonly #record: TrialRecord;
  readonly #cases: readonly PlayedCase[];
  readonly #margin: number;
  readonly #hits = new Set<PlayedCase>();
  #isProbed: boolean;
  /** Repeated requests that were all answered alike, so that the model is assumed to be deterministic. */
  #repeats = 0;
  /** Pairs that every case had at the last look. The probe uses only these, even if the record has more by now. */
  #settled = 0;

  constructor(setup: CheckSetup & Required<Pick<CheckSetup, "requests">>, plan: LookPlan, record: TrialRecord) {
    this.#setup = setup;
    this.#plan = plan;
    this.#record = record;
    this.#margin = setup.margin ?? defaultMargin;
    this.#isProbed = setup.alwaysAlike ?? false;
    this.#cases = setup.cases.map((id) => {
      const played = new PlayedCase(id, record, setup.requests(id));
      if (setup.alwaysAlike) played.limit = played.requests;
      return played;
    });
  }

  *play(): Play<CheckVerdict> {
    const { looks, least } = this.#plan;
    for (const [j, trials] of looks.entries()) {
      yield* this.#bring(this.#cases, trials, j + 1);
      this.#settled = trials;
      if (this.#cases.every(({ limit }) => limit <= trials)) return this.#exhausted(j + 1);
      for (const one of this.#cases) while (one.rung < j) this.#test(one, one.rung + 1);
      const now = this.#judge(j + 1, trials);
      if (this.#hits.size > 0) return yield* this.#fell(now);
      if (trials >= least && isSignificant(now.suite.p, this.#levelAt(trials)))
        return conclude(this.#figures(now), { kind: "regressed", by: "suite" });
      const isCrowd = yield* this.#runAhead(now);
      if (this.#hits.size > 0) return yield* this.#fell(now);
      const isDeep = trials >= Math.max(least, this.#setup.depth ?? 0) && !this.#hasExhaustedSuspect();
      if (now.suite.isClear && !isCrowd && isDeep) {
        const figures = this.#figures(now);
        if (now.suite.lacksAnswers) return conclude(figures, { kind: "inconclusive", because: "missing" });
        return conclude(figures, { kind: "no-regression" });
      }
      if (j === looks.length - 1) return this.#open(now);
    }
    throw new RangeError("the last look of a check decides");
  }

  /** Requests what these cases lack of their first `trials` pairs, in order of trials. */
  *#bring(cases: readonly PlayedCase[], trials: number, look: number): Play<void> {
    if (!this.#isProbed && cases.some(({ requests }) => trials > requests)) {
      this.#isProbed = true;
      const first = Math.max(this.#settled, this.#plan.looks[0] ?? 1);
      this.#repeats = yield* probeRepeats(this.#record, this.#cases, first, look);
      if (this.#repeats > 0) for (const one of this.#cases) one.limit = one.requests;
    }
    for (;;) {
      const requests: TrialRequest[] = [];
      for (const one of cases) while (pairArms.every((arm) => one.has(arm, one.ready + 1))) one.ready++;
      const first = Math.min(...cases.map(({ ready }) => ready));
      for (let trial = first + 1; trial <= trials; trial++)
        for (const one of cases) if (trial > one.ready && trial <= one.limit) requests.push(...this.#pair(one, trial));
      if (requests.length === 0) return;
      yield { requests, look };
    }
  }

  /** What a pair lacks, its arms in random order. Random, else "every second call is throttled" would hit one arm. */
  #pair(one: PlayedCase, trial: number): TrialRequest[] {
    const isHeadFirst = deriveSeed(this.#setup.seed, "pair", one.id, trial) % 2 === 1;
    const arms = (isHeadFirst ? pairArms.toReversed() : pairArms).filter((arm) => !one.has(arm, trial));
    return arms.length === 0 ? [] : [{ case: one.id, trial, arms }];
  }

  #test(one: PlayedCase, rung: number): void {
    one.rung = rung;
    const trials = this.#plan.rungs[rung] ?? 0;
    one.p = fallP(one.tally(trials));
    if (trials >= this.#plan.least && isSignificant(one.p, this.#plan.caseLevel)) this.#hits.add(one);
  }

  #judge(look: number, trials: number): Look {
    const tallies = this.#cases.map((one) => one.tally(trials));
    return { look, trials, tallies, suite: judgeSuite(tallies, this.#margin, this.#plan.z) };
  }

  /** The level of the suite's test at a look: a K/T, which spends little on the early looks. */
  #levelAt(trials: number): number {
    return (this.#plan.suiteLevel * trials) / (this.#plan.looks.at(-1) ?? trials);
  }

  /** Whether a case's p justifies a further rung, and that rung has new requests. */
  #isWorth(one: PlayedCase, p: number, levelAt: (trials: number) => number): boolean {
    return this.#hasFurther(one) && isSignificant(p, levelAt(this.#trialsAt(one)));
  }

  #trialsAt(one: PlayedCase): number {
    return this.#plan.rungs[one.rung] ?? 0;
  }

  #hasFurther({ rung, limit }: PlayedCase): boolean {
    const [now, next] = [this.#plan.rungs[rung] ?? 0, this.#plan.rungs[rung + 1]];
    return next !== undefined && now < limit;
  }

  /** Whether a case that looks worse has no new request left: then the last look, at all requests, decides. */
  #hasExhaustedSuspect(): boolean {
    return this.#cases.some((one) => {
      const trials = this.#trialsAt(one);
      return one.limit <= trials && isSignificant(one.p, suspicionAt(trials));
    });
  }

  /** Takes suspects to their next rungs, round by round. Returns true, without requests, if there are too many of them. */
  *#runAhead({ look }: Look): Play<boolean> {
    for (;;) {
      const suspects = this.#cases.filter((one) => this.#isWorth(one, one.p, suspicionAt));
      const isLast = look === this.#plan.looks.length;
      if (!isLast && suspects.length >= crowd.least && suspects.length > crowd.share * this.#cases.length) return true;
      if (suspects.length === 0) return false;
      yield* this.#bringEach(suspects, look);
      for (const one of suspects) this.#test(one, one.rung + 1);
      if (this.#hits.size > 0) return false;
    }
  }

  *#bringEach(cases: readonly PlayedCase[], look: number): Play<void> {
    const rungs = [...new Set(cases.map(({ rung }) => rung + 1))];
    const plays = rungs.map((rung) => {
      const group = cases.filter((one) => one.rung + 1 === rung);
      return this.#bring(group, this.#plan.rungs[rung] ?? 0, look);
    });
    yield* playTogether(plays);
  }

  /**
   * REGRESSED by the cases that fell, unless others rose: when the suite has not dropped and no case is nearly dead, cases
   * that look better are asked further too, and one that rose beyond doubt makes it CHANGED.
   */
  *#fell(now: Look): Play<CheckVerdict> {
    const lost = (one: PlayedCase) => {
      const { base, head, pairs } = one.tally(this.#trialsAt(one));
      return (base.passed - head.passed) / pairs;
    };
    const isPlain = now.suite.p <= standing.suiteP || [...this.#hits].some((one) => lost(one) >= standing.lost);
    if (!isPlain && (yield* this.#hasRisen(now.look))) {
      const rose = this.#cases.filter((one) => this.#rises(one)).map((one) => this.#name(one, this.#riseP(one)));
      const answered = this.#cases.map((one) => one.tally(this.#trialsAt(one)).answered);
      const flips = listFlips(this.#setup.cases, answered);
      return conclude(this.#figures(now), { kind: "changed", flagged: this.#named(), rose, flips });
    }
    return conclude(this.#figures(now), { kind: "regressed", by: "cases", flagged: this.#named() });
  }

  *#hasRisen(look: number): Play<boolean> {
    if (this.#cases.some((one) => this.#rises(one))) return true;
    for (let isOver = false; !isOver; ) {
      isOver = true;
      for (const one of this.#cases) {
        if (!this.#isWorth(one, this.#riseP(one), hopeAt)) continue;
        isOver = false;
        yield* this.#bring([one], this.#plan.rungs[one.rung + 1] ?? 0, look);
        one.rung++;
        if (this.#rises(one)) return true;
      }
    }
    return false;
  }

  #riseP(one: PlayedCase): number {
    return riseP(one.tally(this.#trialsAt(one)));
  }

  #rises(one: PlayedCase): boolean {
    return this.#trialsAt(one) >= this.#plan.least && isSignificant(this.#riseP(one), this.#plan.riseLevel);
  }

  #named(): NamedCase[] {
    const fallen = [...this.#hits].map((one) => this.#name(one, fallP(one.tally(this.#trialsAt(one)))));
    return fallen.toSorted((a, b) => a.p - b.p);
  }

  #name(one: PlayedCase, p: number): NamedCase {
    return nameCase(one.id, one.tally(this.#trialsAt(one)), p);
  }

  /** The verdict at the cap. More pairs are not recommended if missing answers rule out NO REGRESSION anyway. */
  #open(now: Look): CheckVerdict {
    const { mean, lacksAnswers } = now.suite;
    if (lacksAnswers) return conclude(this.#figures(now), { kind: "inconclusive", because: "missing" });
    const advice = mean ? adviseOpen(mean, now.trials, this.#margin, this.#plan.z) : null;
    return conclude(this.#figures(now), { kind: "inconclusive", because: "cap", advice });
  }

  /** The only look at a deterministic model, after all different requests. */
  #exhausted(look: number): CheckVerdict {
    const now = this.#judge(look, Math.max(...this.#cases.map(({ limit }) => limit)));
    const level = exhaustedLevel / (this.#setup.families ?? 1);
    const figures: Figures = {
      ...this.#figures(now, level),
      ...{ method: "exhausted", reach: null, suspects: [] },
      ...(this.#repeats > 0 && { repeats: this.#repeats }),
    };
    return decideExhausted(this.#setup.cases, now.tallies, level, figures);
  }

  #figures(now: Look, level = this.#levelAt(now.trials)): Figures {
    const { look, trials, suite, tallies } = now;
    const { looks, z } = this.#plan;
    const counted = this.#cases.map((one) => Math.min(one.limit, Math.max(trials, this.#trialsAt(one))));
    const repeated = this.#isProbed ? listRepeated(this.#record, this.#setup.cases, counted) : [];
    const suspects = this.#cases
      .filter((one) => !this.#hits.has(one) && one.rung >= 0)
      .filter((one) => isSignificant(one.p, suspicionAt(this.#trialsAt(one))));
    return {
      method: "pairs",
      look,
      looks: looks.length,
      trials,
      cap: looks.at(-1) ?? trials,
      margin: this.#margin,
      families: this.#setup.families ?? 1,
      cases: this.#cases.length,
      net: netChange(suite.mean, z, this.#cases.length),
      suite: { down: suite.down, up: suite.up, p: suite.p, level },
      suspects: suspects.map((one) => this.#name(one, one.p)).toSorted((a, b) => a.p - b.p),
      missing: missingAnswers(tallies),
      reach: this.#setup.withReach === false ? null : simulateReach(tallies, this.#plan, look, this.#setup.seed),
      calls: countCalls(
        this.#record,
        this.#setup.cases,
        tallies.map(({ pairs }) => pairs),
        counted,
      ),
      ...(repeated.length > 0 && { repeated }),
    };
  }
}

/** Requests of both arms: the median and 90th percentile if nothing changed, and the maximum. */
export type Forecast = { typical: number; high: number; most: number };

/** Total trials to simulate: large suites need fewer simulations, because their requests vary less. */
const simulatedTrials = 15_000;

/**
 * What a check will cost if nothing changed, by simulation from what is known of the cases (`bank`: passes by case; a case
 * that is not in it may have any rate). Seeded by the setup's seed.
 */
export function forecastCalls(setup: CheckSetup, bank: ReadonlyMap<string, Counts>): Forecast {
  const design = check({ ...setup, withReach: false });
  const enough = Math.max(3, Math.min(50, Math.floor(simulatedTrials / (setup.cases.length * 20))));
  const plays = setup.alwaysAlike ? 1 : enough;
  const calls = Array.from({ length: plays }, (_, play) => {
    const random = seededRandom(deriveSeed(setup.seed, "forecast", play));
    const rates = new Map(
      setup.cases.map((id) => {
        const { passed, trials } = bank.get(id) ?? noTrials;
        return [id, drawBeta(passed + 0.5, trials - passed + 0.5, random)];
      }),
    );
    return simulate(design, (id) => (random.next() < (rates.get(id) ?? 0) ? "pass" : "fail")).calls;
  }).toSorted((a, b) => a - b);
  const at = (share: number) => calls[Math.min(plays - 1, Math.floor(share * plays))] ?? 0;
  return { typical: at(0.5), high: at(0.9), most: design.cap };
}
