import { mostMissing } from "../../asking/trials/design.ts";
import { getOrAdd, sumOf } from "../../base/collections.ts";
import { type Counts, comparable, meanChange, noTrials, pool, swapArms } from "../../base/stats/counts.ts";
import { upperDrop } from "../../base/stats/intervals.ts";
import type { Alarm, DriftVerdict } from "../../base/types/drift.ts";
import {
  addWhole,
  type CaseHistory,
  caseScore,
  type NightCounts,
  returnScore,
  type Score,
  type Split,
  suiteScore,
  sumNight,
} from "./scores.ts";

/** `correlation`: within a night, at least .02. `families`: monitors of one job. `trials`: of a case a night. */
export type DriftOptions = { correlation?: number; margin?: number; families?: number; trials?: number };

export const nightlyTrials = 3;
const leastCorrelation = 0.02;
/** M reaches 20 in fewer than 1 of 20 unchanged histories, however long. */
const alarmThreshold = 20;
export const mostTrialsOfNight = 10;
/** A score that has grown this much since last night is followed up. */
const followUpGrowth = 1.5;
/**
 * The nights that are pooled to bound the mean change, and the share of a case's variance that wobble may have. Earlier
 * nights join the baseline, as many at a time, until their mean differs from it by this share of the margin or more.
 * Nights that lost the margin are so seldom taken for quiet ones that NO DRIFT is wrong in at most 5 % still (measured,
 * 168 nights).
 */
const pooled = { nights: 28, wobble: 0.2, z: 1.6448536269514722, quiet: 1 / 8 };

type Total = { score: number; scores: readonly Score[]; suite: ReturnType<typeof suiteScore> };
const newCase = (id: string, bank: readonly Counts[] = []) => ({
  id,
  bank,
  nights: [] as (NightCounts | undefined)[],
  /** The cached score of this night, until trials are added. */
  score: undefined as Score | undefined,
  lastScore: 1,
  splits: [] as Split[],
});
type MonitoredCase = ReturnType<typeof newCase>;

/**
 * The drift monitor: add night after night, read the verdict of each. False alarms: fewer than 5 % of unchanged
 * histories raise one, in all nights together (M is a martingale for rates drawn from Beta(1/2, 1/2); for fixed rates
 * measured: <= 3.5 % in 108 nulls over 90 nights, with follow-ups, at any number of trials).
 */
export class DriftMonitor {
  readonly #cases = new Map<string, MonitoredCase>();
  readonly #bankNights: number;
  readonly #options: Required<DriftOptions>;
  readonly #threshold: number;
  /** The ids of the nights that count. */
  #nights: string[] = [];
  readonly #alarms: Alarm[] = [];
  /** The alarm that was not withdrawn, as numbers of nights. */
  #open: { alarm: Alarm; since: number; night: number } | undefined;
  #back: Alarm | undefined;

  /** `bank`: by case, the passes of each night that the baseline was recorded on. */
  constructor(bank: ReadonlyMap<string, readonly Counts[]>, options: DriftOptions = {}) {
    const { correlation = 0, margin = 0.1, families = 1, trials = nightlyTrials } = options;
    this.#options = { correlation: Math.max(leastCorrelation, correlation), margin, families, trials };
    this.#threshold = alarmThreshold * families;
    for (const [id, nights] of bank) this.#cases.set(id, newCase(id, nights));
    this.#bankNights = Math.max(1, ...[...bank.values()].map((nights) => nights.length));
  }

  /** `missing`: the share of unanswered trials; above 5 % the night is set aside, and the answer is false. */
  startNight(night: string, passes: ReadonlyMap<string, Counts>, missing = 0): boolean {
    this.#back = undefined;
    if (missing > mostMissing) return false;
    this.#nights.push(night);
    for (const one of this.#cases.values()) one.score = undefined;
    for (const [id, { passed, trials }] of passes) {
      const one = getOrAdd(this.#cases, id, () => newCase(id));
      one.nights[this.#nights.length - 1] = { passed, trials };
    }
    return true;
  }

  /**
   * Cases to ask once more tonight: fewer than ten trials, and a score that has grown by half since last night. Allowed
   * by construction: the score holds under any stopping. This is what makes one to three trials a night enough.
   */
  followUps(): string[] {
    const tonight = this.#nights.length - 1;
    return [...this.#cases.values()].flatMap((one) => {
      const night = one.nights[tonight];
      if (!night || night.trials === 0 || sumNight(night).trials >= mostTrialsOfNight) return [];
      return this.#score(one).value >= followUpGrowth * one.lastScore ? [one.id] : [];
    });
  }

  addFollowUp(id: string, counts: Counts): void {
    const one = this.#cases.get(id);
    const night = one?.nights[this.#nights.length - 1];
    if (!one || !night) throw new RangeError(`no trial of "${id}" tonight`);
    night.followUps = pool([night.followUps ?? noTrials, counts]);
    one.score = undefined;
  }

  /** Ends the night: keeps the scores for the next one, and raises an alarm or judges the open one. */
  endNight(): void {
    const total = this.#total();
    for (const [i, one] of [...this.#cases.values()].entries()) one.lastScore = total.scores[i]?.value ?? 1;
    if (!this.#open) {
      if (total.score >= this.#threshold) this.#raiseAlarm(total);
      return;
    }
    this.#judgeOpenAlarm(this.#open);
    if (this.#open) return;
    const without = this.#total();
    if (without.score >= this.#threshold) this.#raiseAlarm(without);
  }

  openAlarm(): Alarm | undefined {
    return this.#open?.alarm;
  }

  verdict(): DriftVerdict {
    const { score, scores } = this.#total();
    const net = this.#net();
    const { margin } = this.#options;
    const shared = {
      nights: this.#nights.length,
      score,
      threshold: this.#threshold,
      margin,
      net,
      alarms: this.#alarms.map((alarm) => ({ ...alarm })),
    };
    if (this.#open) return { kind: "drifted", alarm: { ...this.#open.alarm }, ...shared };
    if (this.#back) return { kind: "back", alarm: { ...this.#back }, ...shared };
    const suspicious = Math.max(5, this.#cases.size / 2);
    const suspects = [...this.#cases.values()].flatMap((one, i) => {
      const { value = 1, likeliest = 1 } = scores[i] ?? {};
      return value >= suspicious ? [{ case: one.id, ...this.#split(one, likeliest), score: value }] : [];
    });
    if (suspects.length > 0) return { kind: "inconclusive", because: "suspects", suspects, ...shared };
    if (isWithin(net, margin)) return { kind: "no-drift", ...shared };
    const wanted = this.#nights.length >= pooled.nights ? { wanted: this.#findBank() } : {};
    return { kind: "inconclusive", because: "few-nights", ...wanted, ...shared };
  }

  #score(one: MonitoredCase): Score {
    one.score ??= caseScore(one, this.#nights.length, this.#options.correlation, one.splits);
    return one.score;
  }

  /** M: the mean of the cases' scores and the suite's score, half each. Removed cases keep their last score in it. */
  #total(): Total {
    const cases = [...this.#cases.values()];
    const scores = cases.map((one) => this.#score(one));
    const { correlation: rho, trials } = this.#options;
    const suite = suiteScore(cases, this.#nights.length, { rho, trials, bankNights: this.#bankNights });
    const mean = sumOf(scores, ({ value }) => value) / Math.max(1, cases.length);
    return { score: (mean + suite.value) / 2, scores, suite };
  }

  #raiseAlarm({ scores, suite }: Total): void {
    const cases = [...this.#cases.values()];
    const low = scores.filter(({ value }) => value < this.#threshold);
    const rest = sumOf(low, ({ value }) => value);
    // A case is named when it is enough for an alarm by itself, among all that are not.
    const named = cases.flatMap((one, i) => {
      const { value, likeliest } = scores[i] ?? { value: 1, likeliest: 1 };
      if (value < this.#threshold || (value + rest) / (1 + low.length) < this.#threshold) return [];
      return [{ one, value, likeliest }];
    });
    named.sort((a, b) => b.value - a.value);
    const since = named[0]?.likeliest ?? suite.likeliest;
    const drifted = named.map(({ one, value, likeliest }) => {
      const { before, after } = this.#split(one, likeliest);
      const isUp = after.passed * before.trials > before.passed * after.trials;
      const way = isUp ? ("up" as const) : ("down" as const);
      return { case: one.id, since: this.#nights[likeliest - 1] ?? "", direction: way, before, after, score: value };
    });
    const alarm: Alarm = {
      night: this.#nights.at(-1) ?? "",
      since: this.#nights[since - 1] ?? "",
      direction: drifted[0]?.direction ?? suite.direction,
      cases: drifted,
      change: this.#changeSince(since),
      fate: "open",
      nightsAfter: 0,
    };
    this.#alarms.push(alarm);
    this.#open = { alarm, since, night: this.#nights.length };
  }

  /** Whether the alarm lasts or was a blip, by the nights after it; the nights of a blip are set aside. */
  #judgeOpenAlarm({ alarm, since, night }: { alarm: Alarm; since: number; night: number }): void {
    if (alarm.fate === "lasting") return;
    const named = new Set(alarm.cases.map((one) => one.case));
    const judged = [...this.#cases.values()].filter(({ id }) => named.size === 0 || named.has(id));
    const score = returnScore(judged, since, night, this.#nights.length, this.#options.correlation);
    alarm.nightsAfter = this.#nights.length - night;
    if (score <= -Math.log(alarmThreshold)) alarm.fate = "lasting";
    if (score < Math.log(alarmThreshold)) return;
    alarm.fate = "blip";
    this.#open = undefined;
    this.#back = alarm;
    const isKept = (_: unknown, i: number) => i + 1 < since || i + 1 > night;
    this.#nights = this.#nights.filter(isKept);
    for (const one of this.#cases.values()) {
      // Holes must stay holes at the right place, so the list is filled up first.
      one.nights = Array.from({ length: Math.max(one.nights.length, night) }, (_, i) => one.nights[i]).filter(isKept);
      one.splits = [];
      one.score = undefined;
      one.lastScore = this.#score(one).value;
    }
  }

  /** The passes of a case before a night and since, bank and follow-ups included. */
  #split({ bank, nights }: CaseHistory, since: number): { before: Counts; after: Counts } {
    const [before, after] = [pool(bank), { ...noTrials }];
    for (let v = 1; v <= this.#nights.length; v++) addWhole(v < since ? before : after, nights[v - 1]);
    return { before, after };
  }

  #changeSince(since: number): number {
    const splits = [...this.#cases.values()].map((one) => this.#split(one, since));
    return meanChange(splits.map(({ before, after }) => ({ base: before, head: after }))) ?? 0;
  }

  /** The trials a case of a baseline with these rates, against which the last nights would decide; 0 if none. */
  #findBank(): number {
    const trials = Math.max(1, ...[...this.#cases.values()].map(({ bank }) => pool(bank).trials));
    const decides = (bank: number) => isWithin(this.#net(bank / trials), this.#options.margin);
    return [40, 60, 100, 200].find((bank) => bank > trials && decides(bank)) ?? 0;
  }

  /**
   * The mean change between the baseline and the last nights pooled, follow-ups left out, with its one-sided bounds.
   * The baseline is the bank and the quiet nights that have joined it; alarms do not use these. `times`: as if the bank
   * had so many times its trials.
   */
  #net(times = 1) {
    const { nights: length, wobble, z, quiet } = pooled;
    const from = Math.max(0, this.#nights.length - length);
    const cases = [...this.#cases.values()];
    const bank = cases.map((one) => {
      const { passed, trials } = pool(one.bank);
      return { passed: Math.round(passed * times), trials: Math.round(trials * times) };
    });
    const against = (base: readonly Counts[], first: number) =>
      comparable(cases.map(({ nights }, i) => ({ base: base[i] ?? noTrials, head: poolNights(nights, first) })));
    let [base, joined] = [bank, 0];
    for (let first = 0; first + length <= from; first += length) {
      const change = meanChange(against(base, first));
      if (change === undefined || Math.abs(change) >= quiet * this.#options.margin) break;
      base = base.map((one, i) => (one.trials > 0 ? pool([one, poolNights(cases[i]?.nights ?? [], first)]) : one));
      joined += length;
    }
    const both = against(base, from);
    const change = meanChange(both);
    if (change === undefined) return null;
    const spread = sumOf(both, ({ base, head }) => {
      const p = (base.passed + head.passed + 0.5) / (base.trials + head.trials + 1);
      return p * (1 - p);
    });
    const nights = this.#nights.length - from;
    const ofBank = sumOf(bank, ({ trials }) => trials) / sumOf(base, ({ trials }) => trials);
    const ofNights = joined === 0 ? 0 : (1 - ofBank) ** 2 / joined;
    const extra = ((wobble * spread) / both.length) ** 2 * (ofBank ** 2 + ofNights + 1 / nights);
    return {
      change,
      lower: -(upperDrop(both, z, extra) ?? 1),
      upper: upperDrop(both.map(swapArms), z, extra) ?? 1,
      nights,
      joined,
      trials: sumOf(both, ({ head }) => head.trials),
    };
  }
}

const isWithin = (net: DriftVerdict["net"], margin: number): boolean =>
  net !== null && net.lower > -margin && net.upper < margin;

function poolNights(nights: readonly (NightCounts | undefined)[], first: number): Counts {
  return pool(nights.slice(first, first + pooled.nights).filter((night) => night !== undefined));
}
