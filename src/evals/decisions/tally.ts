import type { CaseCounts } from "../stats/counts.ts";
import type { Answer, TrialRecord } from "./design.ts";
import { caseP, type Differences, isWithinMargin, type MeanDrop, meanDrop, suiteP } from "./statistics.ts";
import type { Figures, Flips, NamedCase, NetChange } from "./verdict.ts";

/** The arms of a check: base is the list of the baseline, head the current list. */
export const pairArms = ["base", "head"] as const;

/** If more than this share of an arm is missing, the verdict is never NO REGRESSION. */
const mostMissing = 0.05;

/**
 * What the first pairs of a case came to. `base`, `head`: passes by arm, of `baseTrials` and `headTrials` (as many as pairs,
 * except where two records share no orders). `down`, `up`: pairs that passed in base only and
 * in head only, a missing answer counted as not passed; `answered`: the same over the pairs with both answers.
 */
export type PairTally = {
  pairs: number;
  baseTrials: number;
  headTrials: number;
  base: number;
  head: number;
  down: number;
  up: number;
  missingBase: number;
  missingHead: number;
  answered: Differences;
  /** The same as if nothing had been asked again; only where an answer was missing at first. */
  first?: PairTally;
};

/** The answers of one arm of a case, with the trials that were missing when they were first asked. */
export type ArmAnswers = { answers: readonly (Answer | undefined)[]; recovered: ReadonlySet<number> };

export function readArms(record: TrialRecord, id: string): { base: ArmAnswers; head: ArmAnswers } {
  const [base, head] = pairArms.map((arm) => ({
    answers: record.answers(id, arm),
    recovered: record.recovered(id, arm),
  }));
  if (!base || !head) throw new RangeError("a check has two arms");
  return { base, head };
}

/** The answers without repeated requests. */
const atFirst = ({ answers, recovered }: ArmAnswers) =>
  answers.map((answer, t) => (recovered.has(t + 1) ? ("missing" as const) : answer));

/**
 * Counts the first `pairs` pairs. An answer that was missing at first counts both ways too: what is asked again may answer
 * otherwise (a model that times out when it fails passes in the end), so whatever is claimed must also hold as if
 * nothing had been asked again.
 */
export function tallyPairs(base: ArmAnswers, head: ArmAnswers, pairs: number): PairTally {
  const tally = countPairs(base.answers, head.answers, pairs);
  if (base.recovered.size + head.recovered.size === 0) return tally;
  return { ...tally, first: countPairs(atFirst(base), atFirst(head), pairs) };
}

/** A trial that is not on the record counts as missing. */
function countPairs(
  base: readonly (Answer | undefined)[],
  head: readonly (Answer | undefined)[],
  pairs: number,
): PairTally {
  const tally = {
    pairs,
    baseTrials: pairs,
    headTrials: pairs,
    base: 0,
    head: 0,
    down: 0,
    up: 0,
    missingBase: 0,
    missingHead: 0,
  };
  const answered = { down: 0, up: 0, pairs: 0 };
  for (let t = 0; t < pairs; t++) {
    const inBase = base[t] === "pass";
    const inHead = head[t] === "pass";
    const lacksBase = base[t] !== "pass" && base[t] !== "fail";
    const lacksHead = head[t] !== "pass" && head[t] !== "fail";
    if (inBase) tally.base++;
    if (inHead) tally.head++;
    if (lacksBase) tally.missingBase++;
    if (lacksHead) tally.missingHead++;
    if (inBase && !inHead) tally.down++;
    if (inHead && !inBase) tally.up++;
    if (lacksBase || lacksHead) continue;
    answered.pairs++;
    if (inBase && !inHead) answered.down++;
    if (inHead && !inBase) answered.up++;
  }
  return { ...tally, answered };
}

/** Counts all trials of both arms, which share no orders: there are no pairs. */
export function tallyArms(base: ArmAnswers, head: ArmAnswers): PairTally {
  const tally = countArms(base.answers, head.answers);
  if (base.recovered.size + head.recovered.size === 0) return tally;
  return { ...tally, first: countArms(atFirst(base), atFirst(head)) };
}

function countArms(base: readonly (Answer | undefined)[], head: readonly (Answer | undefined)[]): PairTally {
  const count = (answers: readonly (Answer | undefined)[], wanted: Answer) =>
    answers.filter((answer) => (answer ?? "missing") === wanted).length;
  return {
    pairs: 0,
    baseTrials: base.length,
    headTrials: head.length,
    base: count(base, "pass"),
    head: count(head, "pass"),
    down: 0,
    up: 0,
    missingBase: count(base, "missing"),
    missingHead: count(head, "missing"),
    answered: { down: 0, up: 0, pairs: 0 },
  };
}

/** The passes of both arms, missing answers counted as not passed. */
export function countAll({ base, baseTrials, head, headTrials }: PairTally): CaseCounts {
  return { base: { passed: base, trials: baseTrials }, head: { passed: head, trials: headTrials } };
}

/** The passes of both arms, missing answers left out. */
export function countAnswered(tally: PairTally): CaseCounts {
  const { base, head } = countAll(tally);
  return {
    base: { ...base, trials: base.trials - tally.missingBase },
    head: { ...head, trials: head.trials - tally.missingHead },
  };
}

/**
 * The p of a fall of this case, with missing answers counted both ways: as not passed, and left out. A fall must hold
 * both ways, so the larger one is its p.
 */
export function fallP(tally: PairTally): number {
  const { base, head } = countAll(tally);
  const p = Math.max(caseP(base, head), tally.first ? fallP(tally.first) : 0);
  if (tally.missingBase + tally.missingHead === 0) return p;
  const answered = countAnswered(tally);
  return Math.max(p, caseP(answered.base, answered.head));
}

/** The p of a rise: the fall of the case with its arms exchanged. */
export function riseP(tally: PairTally): number {
  return fallP(exchangeArms(tally));
}

function exchangeArms(tally: PairTally): PairTally {
  const { base, head, baseTrials, headTrials, missingBase, missingHead, first } = tally;
  return {
    ...tally,
    base: head,
    head: base,
    baseTrials: headTrials,
    headTrials: baseTrials,
    missingBase: missingHead,
    missingHead: missingBase,
    ...(first && { first: exchangeArms(first) }),
  };
}

/** A case in the form of a verdict. */
export function nameCase(id: string, tally: PairTally, p: number): NamedCase {
  return { case: id, ...countAnswered(tally), p };
}

/** The cases with pairs that differ, and the number of these pairs in each direction. */
export function listFlips(cases: readonly string[], tallies: readonly Differences[]): Flips[] {
  return tallies.flatMap(({ down, up, pairs }, i) =>
    down + up > 0 ? [{ case: cases[i] ?? "", down, up, pairs }] : [],
  );
}

/** What the suite came to at one look. `isClear`: the mean drop is below the margin, missing answers counted both ways. */
export type SuiteJudgement = {
  down: number;
  up: number;
  p: number;
  mean: MeanDrop | undefined;
  isClear: boolean;
  lacksAnswers: boolean;
};

/** Judges the suite by the pairs that these tallies hold; both claims must hold whichever way missing answers count. */
export function judgeSuite(tallies: readonly PairTally[], margin: number, z: number): SuiteJudgement {
  return joinJudgements(tallies, (counted) => judgePairs(counted, margin, z));
}

/** The judgement of the answers as they are, which must hold as if nothing had been asked again, too. */
export function joinJudgements(
  tallies: readonly PairTally[],
  judge: (tallies: readonly PairTally[]) => SuiteJudgement,
): SuiteJudgement {
  const now = judge(tallies);
  if (tallies.every(({ first }) => first === undefined)) return now;
  const atFirst = judge(tallies.map((tally) => tally.first ?? tally));
  return {
    ...now,
    p: Math.max(now.p, atFirst.p),
    isClear: now.isClear && atFirst.isClear,
    lacksAnswers: now.lacksAnswers || atFirst.lacksAnswers,
  };
}

function judgePairs(tallies: readonly PairTally[], margin: number, z: number): SuiteJudgement {
  const total = { down: 0, up: 0, answeredDown: 0, answeredUp: 0 };
  for (const { down, up, answered } of tallies) {
    total.down += down;
    total.up += up;
    total.answeredDown += answered.down;
    total.answeredUp += answered.up;
  }
  const isWhole = tallies.every(({ missingBase, missingHead }) => missingBase + missingHead === 0);
  const mean = meanDrop(tallies);
  const isBelow = isWithinMargin(mean, margin, z);
  const p = suiteP(total.down, total.up);
  return {
    down: total.down,
    up: total.up,
    p: isWhole ? p : Math.max(p, suiteP(total.answeredDown, total.answeredUp)),
    mean,
    isClear: isBelow && (isWhole || isWithinMargin(meanDrop(tallies.map(({ answered }) => answered)), margin, z)),
    lacksAnswers: !isWhole && lacksAnswers(tallies),
  };
}

/** Whether more than 5 % of an arm is missing. */
export function lacksAnswers(tallies: readonly PairTally[]): boolean {
  const sum = (of: (tally: PairTally) => number) => tallies.reduce((total, tally) => total + of(tally), 0);
  return (
    sum(({ missingBase }) => missingBase) > mostMissing * sum(({ baseTrials }) => baseTrials) ||
    sum(({ missingHead }) => missingHead) > mostMissing * sum(({ headTrials }) => headTrials)
  );
}

/** -D -+ z SE: the net change with its interval, head - base. */
export function netChange(mean: MeanDrop | undefined, z: number, cases: number): NetChange | null {
  if (!mean) return null;
  const { drop, standardError } = mean;
  // Adding 0 turns -0, which prints badly, into 0.
  const [lower, upper] = [-drop - z * standardError, -drop + z * standardError];
  return { change: -drop + 0, lower, upper, standardError, z, cases };
}

/**
 * What is missing by arm, what was missing at first, and the net change if it had gone against head (what base lacks
 * passed, what head lacks failed) and for head. Null when nothing is missing.
 */
export function missingAnswers(tallies: readonly PairTally[]): Figures["missing"] {
  const missing = { base: 0, head: 0, recovered: { base: 0, head: 0 }, worst: 0, best: 0 };
  for (const { base, head, baseTrials, headTrials, missingBase, missingHead, first } of tallies) {
    missing.base += missingBase;
    missing.head += missingHead;
    missing.recovered.base += (first?.missingBase ?? missingBase) - missingBase;
    missing.recovered.head += (first?.missingHead ?? missingHead) - missingHead;
    if (baseTrials === 0 || headTrials === 0) continue;
    missing.worst += (head / headTrials - (base + missingBase) / baseTrials) / tallies.length;
    missing.best += ((head + missingHead) / headTrials - base / baseTrials) / tallies.length;
  }
  const { base, head, recovered } = missing;
  return base + head + recovered.base + recovered.head === 0 ? null : missing;
}

/**
 * What was paid for in both arms. `deciding`: the trials by case and arm that decided, what exceeds them ran ahead; all did
 * when not given.
 */
export function countCalls(
  record: TrialRecord,
  cases: readonly string[],
  deciding?: readonly number[],
): Figures["calls"] {
  const calls = { base: 0, head: 0, ahead: 0, copies: 0, missing: 0 };
  for (const [i, id] of cases.entries()) {
    for (const arm of pairArms) {
      const paid = record.paid(id, arm);
      calls[arm] += paid.calls;
      calls.copies += paid.copies;
      calls.missing += paid.missing;
      const answers = record.answers(id, arm);
      const from = deciding?.[i] ?? answers.length;
      for (let t = from; t < answers.length; t++) if (answers[t] !== undefined) calls.ahead++;
    }
  }
  return calls;
}
