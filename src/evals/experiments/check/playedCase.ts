import { isGraded, type TrialRecord } from "../../asking/trials/design.ts";
import { getOrAdd, sumOf } from "../../base/collections.ts";
import { tailOfSum } from "../../base/stats/distributions.ts";
import { isSignificant } from "../../base/stats/hypothesisTests.ts";
import type { NamedCase } from "../../base/types/check.ts";
import type { AlikeAnswers, Rate, RatedP } from "../design/grades.ts";
import {
  type ArmAnswers,
  countAnswered,
  differ,
  fallP,
  nameCase,
  type PairTally,
  pairArms,
  pickTrials,
  readArm,
  readGrade,
  tallyCase,
} from "../design/observe.ts";
import type { OrderedPairs, OrderSchedule } from "../design/schedule.ts";

/** One case during a check: its answers, how many pairs were asked for, and its test at the latest rung. */
export class PlayedCase {
  rung = -1;
  test: RatedP = { p: 1, rate: "pass" };
  hasFallen = false;
  /** Pairs that were asked for. The record of a run that is read again may have more. */
  asked = 0;
  base: ArmAnswers;
  head: ArmAnswers;

  constructor(
    readonly id: string,
    readonly record: TrialRecord,
    readonly schedule: OrderSchedule,
    readonly requests: number,
  ) {
    this.base = readArm(record, id, "base");
    this.head = readArm(record, id, "head");
  }

  /** How many wordings its query has: trial t asks wording t % wordings, counted from 0. */
  get wordings(): number {
    return this.schedule.countWordings(this.id);
  }

  /** Whether answers that came after an error count both ways, like those that were missing at first. */
  countResentBothWays(isCounted: boolean): void {
    this.base = readArm(this.record, this.id, "base", isCounted);
    this.head = readArm(this.record, this.id, "head", isCounted);
  }

  /** How many of the trials that were asked for were answered after an error. */
  countResent(arm: "base" | "head"): number {
    return [...this.record.resent(this.id, arm)].filter((trial) => trial <= this.asked).length;
  }

  /** The first pairs; all that were asked for by default. */
  tally(pairs = this.asked): PairTally {
    return tallyCase(this.id, this.base, this.head, Math.min(pairs, this.asked));
  }

  /** The first pairs of each wording. */
  byWording(pairs = this.asked): PairTally[] {
    return Array.from({ length: this.wordings }, (_, wording) => this.tallyWordings(new Set([wording]), pairs));
  }

  /** Those of the first pairs that asked these wordings. */
  tallyWordings(wordings: ReadonlySet<number>, pairs: number): PairTally {
    const trials = Array.from({ length: Math.min(pairs, this.asked) }, (_, t) => t);
    const picked = trials.filter((t) => wordings.has(t % this.wordings));
    return tallyCase(this.id, pickTrials(this.base, picked), pickTrials(this.head, picked), picked.length);
  }

  /** The case in the form of a verdict. */
  describe(test: RatedP): NamedCase {
    const named = nameCase(this.tally(), test);
    if (this.wordings === 1) return named;
    return { ...named, wordings: this.byWording().map((tally) => countAnswered(tally, test.rate)) };
  }

  /** The grades of an arm in order of asking. */
  grades(arm: "base" | "head", pairs = this.asked): number[] {
    const asked = this.schedule.askedTrials(this.id).filter((trial) => trial <= pairs);
    return asked.map((trial) => readGrade(this[arm].answers[trial - 1]));
  }

  /** The tool orders of the first pairs, and by how much base is better in each. */
  ordered(rate: Rate, pairs: number): OrderedPairs {
    const least = rate === "pass" ? 2 : 1;
    const has = (arm: "base" | "head", t: number) => Number(readGrade(this[arm].answers[t]) >= least);
    const trials = Array.from({ length: Math.min(pairs, this.asked) }, (_, t) => t);
    return {
      orders: trials.map((t) => this.schedule.orderOf(this.id, t + 1) ?? 0),
      differences: trials.map((t) => has("base", t) - has("head", t)),
    };
  }

  /** The answers of an arm by request; undefined if two answers to the same request differ. */
  agreement(arm: "base" | "head"): AlikeAnswers[] | undefined {
    const byRequest = new Map<number, AlikeAnswers & { outcome: string | undefined }>();
    for (let t = 0; t < this.asked; t++) {
      const answer = this[arm].answers[t];
      if (!isGraded(answer)) continue;
      const outcome = this.record.outcome(this.id, arm, t + 1);
      const known = getOrAdd(byRequest, t % this.requests, () => ({ grade: readGrade(answer), trials: 0, outcome }));
      if (known.outcome !== outcome) return undefined;
      known.trials++;
    }
    return [...byRequest.values()];
  }

  varies(): boolean {
    return pairArms.some((arm) => new Set(this[arm].answers.slice(0, this.asked)).size > 1);
  }

  /** Whether every repeated request came back as a copy. */
  hasOnlyCopies(): boolean {
    const copied = pairArms.map((arm) => this.record.copied(this.id, arm));
    for (let trial = this.requests + 1; trial <= this.asked; trial++)
      if (copied.some((trials) => !trials.has(trial))) return false;
    return true;
  }
}

// The wordings of a query take turns from trial to trial. Where an edit moves some of them only, the fall is about
// these wordings and not about the query, however many trials show it.

/** A fall is that of the query if the half of its wordings that fell least shows it at this level. */
const sharedAt = 0.1;

/** How many more pairs are better in base than in head. */
function netDrop({ ways: [first] }: PairTally, rate: Rate): number {
  const { down, up } = differ(rate)(first);
  return down - up;
}

/** Whether the query of a case fell in its first pairs, and not some wordings of it. A single wording cannot tell. */
export function hasQueryFallen(one: PlayedCase, pairs: number): boolean {
  if (one.wordings === 1) return true;
  const drops = one.byWording(pairs).map((tally, wording) => ({ wording, drop: netDrop(tally, one.test.rate) }));
  const least = drops.toSorted((a, b) => a.drop - b.drop).slice(0, Math.floor(one.wordings / 2));
  const tally = one.tallyWordings(new Set(least.map(({ wording }) => wording)), pairs);
  return isSignificant(fallP(tally).p, sharedAt);
}

/**
 * The sign test of the suite where an edit moves whole wordings: P(the sum of +-d over wordings is at least what it
 * is), d the pairs by which a wording fell; a pair of a case with one wording counts by itself. 0 without several
 * wordings, where the pairs have decided already. Source: the sign-flip (randomization) test, exact under symmetry.
 */
export function wordingsP(cases: readonly PlayedCase[], pairs: number, rate: Rate): number {
  if (cases.every(({ wordings }) => wordings === 1)) return 0;
  const drops = cases.flatMap((one) => {
    if (one.wordings > 1) return one.byWording(pairs).map((tally) => netDrop(tally, rate));
    const { down, up } = differ(rate)(one.tally(pairs).ways[0]);
    return [...Array<number>(down).fill(1), ...Array<number>(up).fill(-1)];
  });
  const half = Float64Array.of(0.5, 0.5);
  const flips = drops.filter((drop) => drop !== 0).map((drop) => ({ scores: [0, Math.abs(drop)], masses: half }));
  const fallen = sumOf(drops, (drop) => Math.max(0, drop));
  return tailOfSum(flips, fallen);
}
