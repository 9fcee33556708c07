import { type Design, mostMissing, type Play, type TrialRecord } from "../../asking/trials/design.ts";
import { sumOf } from "../../base/collections.ts";
import type { Counts } from "../../base/stats/counts.ts";
import { fisherP, isSignificant } from "../../base/stats/hypothesisTests.ts";
import { adviseOpen, decideExhausted, exhaustedLevel, simulateReach } from "../design/compare.ts";
import {
  blockP,
  chooseBlock,
  type Dependence,
  isDependent,
  isDoubtful,
  lnAgreement,
  measureDependence,
  type RatedP,
  rates,
} from "../design/grades.ts";
import {
  type CheckVerdict,
  conclude,
  countCalls,
  describeSuite,
  type Figures,
  fallP,
  judgeSuite,
  missingAnswers,
  type PairTally,
  pairArms,
  riseP,
  type SuiteJudgment,
} from "../design/observe.ts";
import { designEffect, enoughOrders, OrderSchedule, type ScheduleSetup } from "../design/schedule.ts";
import { defaultMargin, defaultTrials, type LookPlan, planLooks, suspicionAt } from "../design/statistics.ts";
import { hasQueryFallen, PlayedCase, wordingsP } from "./playedCase.ts";

/**
 * `seed`: the run's; it decides which arm of a pair is asked first, and the reach. `trials`: the cap per case and arm.
 * `margin`: the largest mean drop that counts as no regression. `families`: suite-model pairs of the run. `requests`:
 * how many different requests a case has, its tool orders (m!) times its `wordings`; trial t and trial t + requests ask
 * the same. `pairsPerOrder`: see `OrderSchedule`. `alwaysAlike`: the model is known to answer a repeated request alike.
 * `onlySuite`: a case that fell does not end the run, because only a drop of the suite matters.
 */
export type CheckSetup = Pick<ScheduleSetup, "cases" | "seed" | "requests" | "wordings" | "pairsPerOrder"> & {
  trials?: number;
  margin?: number;
  families?: number;
  alwaysAlike?: boolean;
  onlySuite?: boolean;
  /** It is not a check but a placebo. */
  isPlacebo?: boolean;
  /** Whether to simulate the reach: some milliseconds, which a simulation of many checks may save. */
  withReach?: boolean;
};

/** With so many suspects, and more than this share of the cases, the suite itself dropped, and no case runs ahead. */
const broadFall = { least: 3, share: 0.3 };
/** After a drop of the suite, with more than this share of suspects (at least three) no case is named. */
const nameless = 0.4;
/** After red, every case is asked up to this look, to name all that fell. */
const namingLook = 5;
/** A case whose p of a rise is at most this may have risen, and is asked further after red. */
const hopeAt = (trials: number) => (trials <= 5 ? 0.25 : 0.1);
/** NO REGRESSION, or that nothing can fall, is not told earlier where no case ever passed. */
const leastOfDead = 8;
/** Equal requests that agree are a chance of at most this if the model samples: then it is deterministic. */
const deterministicAt = Math.log(0.002);
/** Before red, cases whose answers vary are asked up to this many trials to see whether the model samples. */
const settledAt = 12;
/** The level of a case when consecutive answers count as one. */
const blockLevel = 0.005;
/** Doubts about dependence are settled by further trials of fallen cases, up to two rungs and this many trials. */
const doubt = { rungs: 2, trials: 35 };
/** In larger suites, only the pairs that all cases have show whether consecutive answers are independent. */
const mostAskedFurther = 50;
/** Wordings that mostly pass mostly fall where an edit moves them, so there the suite must be surer by this factor. */
const wordingsShare = 0.5;
/** Cases that look worse in a report. */
const shownAt = 0.2;

/** The suite at one look, on the first `trials` pairs of every case. */
type Look = {
  look: number;
  trials: number;
  tallies: readonly PairTally[];
  suite: SuiteJudgment;
  /** Tool orders in use, and those that exist. */
  orders: { count: number; exist: number };
  level: number;
  hasFallen: boolean;
};
type Decision = Pick<CheckVerdict, "kind"> & Partial<Pick<CheckVerdict, "by" | "because">> & { now: Look };

/**
 * The check of base against head, on pairs: trial t of a case is asked in both arms with the same tool order. Answers
 * have grades (see grades.ts), and every claim is about two rates: passes, and selections of the right tool. At each
 * look, for the first K pairs of every case:
 * 1. a case whose exact p is at most the case level, at any rung it was asked for: REGRESSED (cases);
 * 2. the sign test of the suite at most a K/T: REGRESSED (suite);
 * 3. cases that look worse run ahead to their next rungs until they are named or look worse no more, unless there are
 *   so many of them that the suite must have dropped;
 * 4. the mean drop of both rates below the margin at z standard errors: NO REGRESSION, or INCONCLUSIVE when answers are
 *   missing or no case can fall. After red, the other cases are asked on so that all that fell, or rose, are named. A
 *   model samples until the chance that its equal requests agreed so often is below .002: then its different requests
 *   decide, and repeats count no more. When consecutive answers are not independent, cases must be shown by blocks of
 *   answers, else the check is INCONCLUSIVE.
 *
 * A false REGRESSED has chance .01 by cases (Bonferroni over cases and rungs, exact under any adaptive allocation) and
 * .04 by the suite (look K uses the first K pairs of every case, whoever ran ahead); NO REGRESSION at a true drop of
 * the margin <= .05. Throws RangeError for a cap outside 1..140, or no cases.
 */
export function check(given: CheckSetup): Design<CheckVerdict> {
  const setup = withDefaults(given);
  const plan = planLooks(setup.cases.length, setup.trials, setup.families);
  const most = (id: string) =>
    setup.alwaysAlike ? Math.min(setup.requests(id), setup.trials) : (plan.rungs.at(-1) ?? 1);
  return {
    cap: pairArms.length * sumOf(setup.cases, most),
    play: (record) => new PlayedCheck(setup, plan, record).play(),
  };
}

const withDefaults = (setup: CheckSetup) => ({
  trials: defaultTrials as number,
  margin: defaultMargin,
  families: 1,
  requests: (_id: string) => Number.POSITIVE_INFINITY,
  ...setup,
});

class PlayedCheck {
  readonly #setup: ReturnType<typeof withDefaults>;
  readonly #plan: LookPlan;
  readonly #record: TrialRecord;
  readonly #schedule: OrderSchedule;
  readonly #cases: readonly PlayedCase[];
  #nature: "unknown" | "samples" | "deterministic";
  /** All repeated requests come back as copies, so that there are no more trials than requests. */
  #isCached = false;

  /** Answers that came after an error count both ways. */
  #isResentCounted = false;

  constructor(setup: ReturnType<typeof withDefaults>, plan: LookPlan, record: TrialRecord) {
    this.#setup = setup;
    this.#plan = plan;
    this.#record = record;
    const schedule = new OrderSchedule({ ...setup, cap: setup.trials });
    this.#schedule = schedule;
    this.#cases = setup.cases.map((id) => new PlayedCase(id, record, schedule, setup.requests(id)));
    const mostTrials = plan.rungs.at(-1) ?? 0;
    const canRepeat = this.#cases.some(({ requests }) => requests < mostTrials);
    this.#nature = setup.alwaysAlike ? "deterministic" : canRepeat ? "unknown" : "samples";
  }

  *play(): Play<CheckVerdict> {
    const decision = this.#isDeterministic ? undefined : yield* this.#decide();
    if (!decision) return yield* this.#exhaust();
    if (decision.kind === "regressed") yield* this.#nameOthers(decision);
    const dependence = this.#measureDependence();
    const judged = isDependent(dependence) ? yield* this.#judgeBlocks(decision, dependence) : decision;
    return this.#conclude(judged, dependence);
  }

  get #isDeterministic(): boolean {
    return this.#nature === "deterministic";
  }

  get #hits(): readonly PlayedCase[] {
    return this.#cases.filter((one) => one.hasFallen);
  }

  /** Whether a case that fell ends the run. */
  get #isStopped(): boolean {
    return !this.#setup.onlySuite && this.#hits.length > 0;
  }

  /** Looks until there is a decision; undefined if the model turns out to be deterministic. */
  *#decide(): Play<Decision | undefined> {
    const { looks, least } = this.#plan;
    let hasWaited = false;
    for (const [j, trials] of looks.entries()) {
      const isLast = j === looks.length - 1;
      yield* this.#bring(this.#cases, () => trials, j + 1, false);
      for (const one of this.#cases) while (one.rung < j) this.#test(one);
      this.#readNature();
      if (this.#isDeterministic) return undefined;
      const now = this.#judge(j + 1, trials);
      if (this.#isStopped) return yield* this.#fall("cases", now);
      if (now.hasFallen) {
        if (isLast || hasWaited || !isDoubtful(this.#measureDependence())) return yield* this.#fall("suite", now);
        hasWaited = true;
      }
      const isDead = now.suite.live.pass === 0;
      const hasOrders = !this.#schedule.isShared || now.orders.count >= Math.min(enoughOrders, now.orders.exist);
      const isClear =
        now.suite.isClear &&
        hasOrders &&
        trials >= Math.max(least, isDead ? Math.min(leastOfDead, this.#setup.trials) : 0);
      const isBroad = yield* this.#runAhead(now, isLast);
      if (this.#isDeterministic) return undefined;
      if (this.#isStopped) return yield* this.#fall("cases", now);
      const { lacksAnswers } = now.suite;
      if (isClear && !isBroad && this.#hits.length === 0) {
        if (!isDead && !lacksAnswers) return { kind: "no-regression", now };
        return { kind: "inconclusive", because: lacksAnswers ? "missing" : "nothing-can-fall", now };
      }
      if (isLast && this.#hits.length > 0) return { kind: "regressed", by: "cases", now };
      if (isLast) {
        const open = lacksAnswers ? "missing" : isDead ? "nothing-can-fall" : "cap";
        return { kind: "inconclusive", because: this.#isCached ? "copies" : open, now };
      }
    }
    throw new RangeError("the last look of a check decides");
  }

  /** Requests further pairs of these cases, ahead of the stage of a look or as that stage. */
  *#bring(cases: readonly PlayedCase[], goal: (one: PlayedCase) => number, look: number, isAhead = true): Play<void> {
    const isBounded = this.#isCached || this.#isDeterministic;
    const spans = cases.map((one) => {
      const [from, to] = [one.asked + 1, isBounded ? Math.min(goal(one), one.requests) : goal(one)];
      one.asked = Math.max(one.asked, to);
      return { case: one.id, arms: pairArms, from, to };
    });
    yield* this.#schedule.bring(this.#record, spans, look, isAhead);
    const repeated = this.#cases.filter((one) => one.asked > one.requests);
    this.#isCached ||= repeated.length > 0 && repeated.every((one) => one.hasOnlyCopies());
    if (this.#isCached) for (const one of this.#cases) one.asked = Math.min(one.asked, one.requests);
    const isCounted = this.#countResent()?.isCounted ?? false;
    // What is counted changes with every request.
    if (isCounted || this.#isResentCounted) for (const one of this.#cases) one.countResentBothWays(isCounted);
    this.#isResentCounted = isCounted;
  }

  /**
   * Answers that came after an error. A request that is sent again is a second draw, so they count both ways where they
   * are more than 5 % of an arm, or more of one arm than of the other. Undefined if there are none.
   */
  #countResent() {
    const [base, head] = pairArms.map((arm) => ({
      passed: sumOf(this.#cases, (one) => one.countResent(arm)),
      trials: sumOf(this.#cases, ({ asked }) => asked),
    })) as [Counts, Counts];
    if (base.passed + head.passed === 0) return undefined;
    const isMany = [base, head].some(({ passed, trials }) => passed > mostMissing * trials);
    const areDifferent = isSignificant(Math.min(fisherP(base, head), fisherP(head, base)), 0.025);
    return { base: base.passed, head: head.passed, isCounted: isMany || areDifferent };
  }

  /** Tests a case at its next rung. */
  #test(one: PlayedCase): void {
    one.rung++;
    const trials = this.#trialsAt(one);
    one.test = fallP(one.tally(trials));
    if (trials >= this.#plan.least && this.#isShown(one) && hasQueryFallen(one, trials)) one.hasFallen = true;
  }

  #isShown(one: PlayedCase): boolean {
    return isSignificant(one.test.p, this.#plan.caseLevel);
  }

  #trialsAt(one: PlayedCase): number {
    return this.#plan.rungs[one.rung] ?? 0;
  }

  #nextRung(one: PlayedCase): number | undefined {
    return this.#plan.rungs[one.rung + 1];
  }

  /** Takes these cases to their next rungs. */
  *#advance(cases: readonly PlayedCase[], look: number): Play<void> {
    if (cases.length === 0) return;
    yield* this.#bring(cases, (one) => this.#nextRung(one) ?? 0, look);
    for (const one of cases) this.#test(one);
  }

  #isSuspect(one: PlayedCase): boolean {
    if (one.hasFallen || this.#nextRung(one) === undefined) return false;
    return isSignificant(one.test.p, suspicionAt(this.#trialsAt(one)));
  }

  #judge(look: number, trials: number): Look {
    const tallies = this.#cases.map((one) => one.tally(trials));
    const exist = Math.max(...this.#cases.map(({ id }) => this.#schedule.countOrders(id)));
    const [pass, selection] = rates.map((rate) => {
      const ordered = this.#cases.map((one) => one.ordered(rate, trials));
      return designEffect(ordered, exist);
    });
    const effects = { pass: pass?.effect ?? 1, selection: selection?.effect ?? 1 };
    const suite = judgeSuite(tallies, this.#setup.margin, this.#plan.z, { effects });
    const orders = { count: pass?.orders ?? 0, exist };
    // The level a K/T spends little on the early looks.
    const level = (this.#plan.suiteLevel * trials) / this.#setup.trials;
    const isShown = trials >= this.#plan.least && isSignificant(suite.p, level);
    const hasFallen = isShown && isSignificant(wordingsP(this.#cases, trials, suite.rate), level * wordingsShare);
    return { look, trials, tallies, suite, orders, level, hasFallen };
  }

  /** Takes suspects to their next rungs, round by round. Returns true, without requests, if there are too many. */
  *#runAhead({ look }: Look, isLast: boolean): Play<boolean> {
    for (;;) {
      const suspects = this.#cases.filter((one) => this.#isSuspect(one));
      if (!isLast && suspects.length >= broadFall.least && suspects.length > broadFall.share * this.#cases.length)
        return true;
      yield* this.#advance(suspects, look);
      this.#readNature();
      if (this.#isDeterministic || suspects.length === 0 || this.#isStopped) return false;
    }
  }

  /** Finds out whether the model samples or is deterministic, from the answers to equal requests so far. */
  #readNature(): void {
    if (this.#nature !== "unknown" || this.#cases.every(({ asked, requests }) => asked <= requests)) return;
    let chance = 0;
    for (const one of this.#cases)
      for (const arm of pairArms) {
        const alike = one.agreement(arm);
        if (!alike) {
          this.#nature = "samples";
          return;
        }
        chance += lnAgreement(alike);
      }
    if (chance <= deterministicAt) this.#nature = "deterministic";
  }

  /**
   * Before red: cases whose answers vary are asked a little further while it is unknown whether the model samples. Then
   * doubts about dependence get further trials. Undefined if the model is deterministic.
   */
  *#fall(by: "cases" | "suite", now: Look): Play<Decision | undefined> {
    while (this.#nature === "unknown") {
      const open = this.#cases.filter(
        (one) => one.asked < settledAt && one.requests < settledAt && this.#nextRung(one) !== undefined && one.varies(),
      );
      if (open.length === 0) break;
      yield* this.#advance(open, now.look);
      this.#readNature();
    }
    if (this.#isDeterministic) return undefined;
    const rungAfter = ({ asked }: PlayedCase) => this.#plan.rungs.find((rung) => rung > asked) ?? asked;
    for (let i = 0; by === "cases" && i < doubt.rungs && isDoubtful(this.#measureDependence()); i++) {
      const open = this.#hits.filter((one) => one.asked < doubt.trials);
      if (open.length > 0) yield* this.#bring(open, rungAfter, now.look);
    }
    return { kind: "regressed", by, now };
  }

  /**
   * Cases are asked further because of their answers, which makes consecutive ones agree a little. Over hundreds of
   * cases that adds up, so there the pairs that all cases have decide.
   */
  #measureDependence(): Dependence {
    const common = Math.min(...this.#cases.map(({ asked }) => asked));
    const pairs = this.#cases.length > mostAskedFurther ? common : undefined;
    return measureDependence(
      this.#cases.map((one) => ({ base: one.grades("base", pairs), head: one.grades("head", pairs) })),
    );
  }

  /**
   * After red: names the other cases that fell, and those that rose, at most for as many requests as the verdict took.
   * Not after a drop of the suite with many suspects, which are then too many to name.
   */
  *#nameOthers({ by, now }: Decision): Play<void> {
    const { looks, rungs } = this.#plan;
    const suspects = this.#cases.filter((one) => this.#isSuspect(one)).length;
    const isBroad = by === "suite" && suspects >= broadFall.least && suspects > nameless * this.#cases.length;
    if (this.#setup.onlySuite || isBroad) return;
    const most = 2 * sumOf(this.#cases, ({ asked }) => asked);
    const isOpen = (one: PlayedCase) => this.#isSuspect(one) || this.#mayHaveRisen(one);
    for (const trials of [now.trials, ...looks.filter((look) => look > now.trials && look <= namingLook)]) {
      yield* this.#bring(this.#cases, () => trials, now.look, false);
      for (const one of this.#cases) while ((this.#nextRung(one) ?? trials + 1) <= trials) this.#test(one);
      for (;;) {
        let total = sumOf(this.#cases, ({ asked }) => asked);
        const open = this.#cases.filter((one) => {
          if (total >= most || !isOpen(one)) return false;
          total += Math.max(0, (rungs[one.rung + 1] ?? 0) - one.asked);
          return true;
        });
        if (open.length === 0) break;
        yield* this.#advance(open, now.look);
      }
    }
  }

  #hasRisen(one: PlayedCase): boolean {
    return one.asked >= this.#plan.least && isSignificant(riseP(one.tally()).p, this.#plan.riseLevel);
  }

  #mayHaveRisen(one: PlayedCase): boolean {
    if (one.hasFallen || this.#nextRung(one) === undefined || this.#hasRisen(one)) return false;
    return isSignificant(riseP(one.tally()).p, hopeAt(this.#trialsAt(one)));
  }

  /** Consecutive answers depend on each other: only cases that are shown by blocks of answers are red. */
  *#judgeBlocks(decision: Decision, { correlation }: Dependence): Play<Decision> {
    const block = chooseBlock(correlation);
    const { now } = decision;
    yield* this.#bring(this.#hits, () => this.#plan.rungs.at(-1) ?? 0, now.look);
    const level = blockLevel / this.#cases.length / this.#setup.families;
    for (const one of this.#hits) {
      const [{ base, head }] = one.tally().ways;
      one.hasFallen = isSignificant(blockP(base, head, block), level);
    }
    if (this.#hits.length > 0) return { kind: "regressed", by: "cases", now };
    return { kind: "inconclusive", because: "answers-repeat", now };
  }

  #conclude({ now, ...decision }: Decision, dependence: Dependence): CheckVerdict {
    const figures = { ...this.#figures(now), ...(isDependent(dependence) && { dependence }) };
    const name = (cases: readonly PlayedCase[], test: (tally: PairTally) => RatedP) =>
      cases.map((one) => one.describe(test(one.tally()))).toSorted((a, b) => a.p - b.p);
    if (decision.kind === "regressed") {
      const flagged = name(this.#hits, fallP);
      const risen = this.#cases.filter((one) => this.#hasRisen(one));
      const isSelection =
        decision.by === "suite" ? now.suite.rate === "selection" : flagged.every((one) => one.selected);
      return conclude(figures, {
        ...decision,
        rate: isSelection ? "selection" : "pass",
        flagged,
        rose: name(risen, riseP),
      });
    }
    const { pass } = now.suite.drops;
    // More pairs are not recommended if something else rules out NO REGRESSION anyway.
    const isOpen = decision.because === "cap" && pass;
    return conclude(figures, {
      ...decision,
      advice: isOpen ? adviseOpen(pass, now.trials, this.#setup.margin, this.#plan.z) : null,
    });
  }

  /** The only look at a deterministic model, at all its different requests. What is asked beyond them is a repeat. */
  *#exhaust(): Play<CheckVerdict> {
    const countDifferent = ({ requests }: PlayedCase) => Math.min(requests, this.#setup.trials);
    const repeats = sumOf(this.#cases, (one) => 2 * Math.max(0, one.asked - countDifferent(one)));
    yield* this.#bring(this.#cases, countDifferent, 1, false);
    const tallies = this.#cases.map((one) => one.tally(countDifferent(one)));
    const trials = Math.max(...tallies.map(({ ways }) => ways[0].pairs));
    const suite = judgeSuite(tallies, this.#setup.margin, this.#plan.z);
    const level = exhaustedLevel / this.#setup.families;
    const orders = { count: trials, exist: trials };
    const now = { look: 1, trials, tallies, suite, orders, level, hasFallen: isSignificant(suite.p, level) };
    const calls = countCalls(this.#record, this.#setup.cases);
    const figures: Figures = {
      ...this.#figures(now),
      method: "exhausted",
      looks: 1,
      reach: null,
      suspects: [],
      calls,
      ...(!this.#setup.alwaysAlike && { repeats }),
    };
    return decideExhausted(tallies, level, figures);
  }

  #figures({ look, trials, tallies, suite, level, hasFallen }: Look): Figures {
    const { looks, z } = this.#plan;
    const { cases, margin, families, trials: cap } = this.#setup;
    const suspects = this.#cases.filter((one) => !one.hasFallen && isSignificant(one.test.p, shownAt));
    const resent = this.#countResent();
    return {
      method: "pairs",
      look,
      looks: looks.length,
      trials,
      tested: Math.min(...this.#cases.map((one) => one.asked)),
      cap,
      margin,
      families,
      cases: cases.length,
      ...describeSuite(suite, z, { level, hasFallen }),
      suspects: suspects
        .map((one) => ({ ...one.describe(one.test), ...(this.#isShown(one) && { inSome: true as const }) }))
        .toSorted((a, b) => a.p - b.p),
      missing: missingAnswers(tallies),
      ...(resent && { resent }),
      reach: this.#setup.withReach === false ? null : simulateReach(tallies, this.#plan, look, this.#setup.seed),
      calls: countCalls(this.#record, cases),
    };
  }
}
