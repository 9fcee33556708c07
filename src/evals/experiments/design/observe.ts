import {
  type Answer,
  countPasses,
  mostMissing,
  type Observation,
  type TrialRecord,
} from "../../asking/trials/design.ts";
import { type CaseCounts, type Counts, rate } from "../../base/stats/counts.ts";
import { sumOf } from "../../base/sum.ts";
import type { ComparedCheck, NamedCase } from "../../base/types/check.ts";
import { canonicalJson } from "../../base/types/json.ts";
import type { Trial } from "../../base/types/trial.ts";
import { caseP, type Differences, isWithinMargin, type MeanDrop, meanDrop, suiteP } from "./statistics.ts";

/**
 * Adds a recorded trial to the record of a design. Lines of the journal that are added in their order give the record that
 * the design saw, so a run can be resumed or replayed from its journal. A trial that was cancelled or not paid for is not
 * on the record: it is asked again when the run is resumed.
 */
export function addTrial(record: TrialRecord, trial: Trial): void {
  const { case: id, arm, trial: number } = trial.cell;
  const observation = readObservation(trial);
  if (observation !== undefined) record.add(id, arm, number, observation, summariseAnswer(trial));
}

/**
 * What a trial is to a design. What the model did itself (cut at the token limit, malformed, refused) was graded as a fail.
 * Missing is what kept an answer from being graded: infrastructure, or a judge that did not answer.
 */
export function readObservation({ outcome, verdict, copy }: Trial): Observation | undefined {
  if (outcome.kind === "broken")
    return outcome.stage === "cancelled" || outcome.stage === "budget" ? undefined : "missing";
  if (copy) return "copy";
  return !verdict || verdict.grade === "not-gradable" ? "missing" : verdict.grade;
}

/** The calls of the model with their arguments. Two answers are the same if these are. */
export function summariseAnswer({ turns }: Trial): string {
  return canonicalJson(turns.map(({ calls }) => calls.map(({ tool, arguments: args = null }) => [tool, args])));
}

/** What is recorded of a check beside its verdict. */
type Context = "headline" | "reason" | "next" | "grew" | "changes" | "modelDrift" | "lost" | "notes" | "exitCode";

/**
 * The verdict of a check as it is recorded; the reports turn it into sentences.
 * `regressed` by `cases`: each flagged case dropped (exact test); by `suite`: the suite as a whole dropped.
 * `changed`: some cases fell and some rose, the suite did not; or, for a deterministic model, some flipped.
 * `no-regression`: the mean drop is below the margin. `inconclusive`: neither, because the cap was reached or because
 * more than 5 % of an arm is missing.
 */
export type CheckVerdict = Omit<ComparedCheck, Context | "suite"> & { suite: NonNullable<ComparedCheck["suite"]> };

type Conclusion = "kind" | "by" | "because" | "flagged" | "rose" | "flips" | "advice";
/** The figures of every verdict of a check. */
export type Figures = Omit<CheckVerdict, Conclusion>;

/** A verdict with these figures. */
export function conclude<F extends object>(
  figures: F,
  { kind, ...conclusion }: Pick<CheckVerdict, "kind"> & Partial<Pick<CheckVerdict, Conclusion>>,
): F & Pick<CheckVerdict, Conclusion> {
  const none = { by: null, because: null, flagged: [], rose: [], flips: [], advice: null };
  return { kind, ...none, ...conclusion, ...figures };
}

export const showsFall = ({ kind }: CheckVerdict): boolean => kind === "regressed" || kind === "changed";

/** The arms of a check: base is the list of the baseline, head the current list. */
export const pairArms = ["base", "head"] as const;

/** The passes among the trials of one arm, a missing answer counted as not passed. */
type ArmTally = Counts & { missing: number };

/**
 * What the first pairs of a case came to. `base` and `head` have as many trials as there are pairs, except where two
 * records share no orders. `down`, `up`: pairs that passed in base only and in head only, a missing answer counted as not
 * passed; `answered`: the same over the pairs with both answers.
 */
export type PairTally = {
  pairs: number;
  base: ArmTally;
  head: ArmTally;
  down: number;
  up: number;
  answered: Differences;
  /** The same as if nothing had been asked again; only where an answer was missing at first. */
  first?: PairTally;
};

/** The answers of one arm of a case, with the trials that were missing when they were first asked. */
export type ArmAnswers = { answers: readonly (Answer | undefined)[]; recovered: ReadonlySet<number> };

export function readArm(record: TrialRecord, id: string, arm: string): ArmAnswers {
  return { answers: record.answers(id, arm), recovered: record.recovered(id, arm) };
}

/** The answers without repeated requests. */
const atFirst = ({ answers, recovered }: ArmAnswers) =>
  answers.map((answer, t) => (recovered.has(t + 1) ? ("missing" as const) : answer));

/**
 * Counts the first `pairs` pairs; without a number of pairs, all trials of two arms that share no orders. An answer that
 * was missing at first counts both ways too: what is asked again may answer otherwise (a model that times out when it
 * fails passes in the end), so whatever is claimed must also hold as if nothing had been asked again.
 */
export function tallyCase(base: ArmAnswers, head: ArmAnswers, pairs?: number): PairTally {
  const tally = countTrials(base.answers, head.answers, pairs);
  if (base.recovered.size + head.recovered.size === 0) return tally;
  return { ...tally, first: countTrials(atFirst(base), atFirst(head), pairs) };
}

type Answers = ArmAnswers["answers"];

function countTrials(base: Answers, head: Answers, pairs?: number): PairTally {
  const tally: PairTally = {
    pairs: pairs ?? 0,
    base: countArm(base, pairs ?? base.length),
    head: countArm(head, pairs ?? head.length),
    down: 0,
    up: 0,
    answered: { down: 0, up: 0, pairs: 0 },
  };
  for (let t = 0; t < tally.pairs; t++) {
    const isAnswered = (base[t] ?? "missing") !== "missing" && (head[t] ?? "missing") !== "missing";
    if (isAnswered) tally.answered.pairs++;
    if ((base[t] === "pass") === (head[t] === "pass")) continue;
    const way = base[t] === "pass" ? "down" : "up";
    tally[way]++;
    if (isAnswered) tally.answered[way]++;
  }
  return tally;
}

/** A trial that is not on the record counts as missing. */
function countArm(answers: Answers, trials: number): ArmTally {
  const tally = { passed: 0, trials, missing: 0 };
  for (let t = 0; t < trials; t++) {
    if (answers[t] === "pass") tally.passed++;
    else if (answers[t] !== "fail") tally.missing++;
  }
  return tally;
}

/** The passes of both arms, missing answers left out. */
export function countAnswered({ base, head }: PairTally): CaseCounts {
  const count = ({ passed, trials, missing }: ArmTally) => ({ passed, trials: trials - missing });
  return { base: count(base), head: count(head) };
}

/**
 * The p of a fall of this case, with missing answers counted both ways: as not passed, and left out. A fall must hold
 * both ways, so the larger one is its p.
 */
export function fallP(tally: PairTally): number {
  const { base, head, first } = tally;
  const p = Math.max(caseP(base, head), first ? fallP(first) : 0);
  if (base.missing + head.missing === 0) return p;
  const answered = countAnswered(tally);
  return Math.max(p, caseP(answered.base, answered.head));
}

/** The p of a rise: the fall of the case with its arms exchanged. */
export function riseP(tally: PairTally): number {
  return fallP(exchangeArms(tally));
}

function exchangeArms(tally: PairTally): PairTally {
  const { base, head, first } = tally;
  return { ...tally, base: head, head: base, ...(first && { first: exchangeArms(first) }) };
}

/** A case in the form of a verdict. */
export function nameCase(id: string, tally: PairTally, p: number): NamedCase {
  return { case: id, ...countAnswered(tally), p };
}

/** Tested cases in the form of a verdict, the least p first. */
export function nameCases(tested: readonly { id: string; tally: PairTally; p: number }[]): NamedCase[] {
  return tested.map(({ id, tally, p }) => nameCase(id, tally, p)).toSorted((a, b) => a.p - b.p);
}

/** The cases with pairs that differ, and the number of these pairs in each direction. */
export function listFlips(cases: readonly string[], tallies: readonly Differences[]): ComparedCheck["flips"] {
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
  const judge = (all: readonly Differences[]) => {
    const [down, up] = [sumOf(all, (one) => one.down), sumOf(all, (one) => one.up)];
    const mean = meanDrop(all);
    return { down, up, p: suiteP(down, up), mean, isClear: isWithinMargin(mean, margin, z), lacksAnswers: false };
  };
  const all = judge(tallies);
  if (tallies.every(({ base, head }) => base.missing + head.missing === 0)) return all;
  const answered = judge(tallies.map((tally) => tally.answered));
  return {
    ...all,
    p: Math.max(all.p, answered.p),
    isClear: all.isClear && answered.isClear,
    lacksAnswers: lacksAnswers(tallies),
  };
}

/** Whether more than 5 % of an arm is missing. */
export function lacksAnswers(tallies: readonly PairTally[]): boolean {
  return pairArms.some(
    (arm) => sumOf(tallies, (tally) => tally[arm].missing) > mostMissing * sumOf(tallies, (tally) => tally[arm].trials),
  );
}

/** -D -+ z SE: the net change with its interval, head - base. */
export function netChange(mean: MeanDrop | undefined, z: number, cases: number): Figures["net"] {
  if (!mean) return null;
  const { drop, standardError } = mean;
  // Adding 0 turns -0, which prints badly, into 0. A change of a rate is at most 1 in either direction.
  const interval = [Math.max(-1, -drop - z * standardError), Math.min(1, -drop + z * standardError)] as const;
  return { change: -drop + 0, interval, standardError, z, cases };
}

/**
 * What is missing by arm, what was missing at first, and the net change if it had gone against head (what base lacks
 * passed, what head lacks failed) and for head. Null when nothing is missing.
 */
export function missingAnswers(tallies: readonly PairTally[]): Figures["missing"] {
  const missing = { base: 0, head: 0, recovered: { base: 0, head: 0 }, worst: 0, best: 0 };
  for (const tally of tallies) {
    for (const arm of pairArms) {
      missing[arm] += tally[arm].missing;
      missing.recovered[arm] += (tally.first ?? tally)[arm].missing - tally[arm].missing;
    }
    const { base, head } = tally;
    if (base.trials === 0 || head.trials === 0) continue;
    missing.worst += (rate(head) - (base.passed + base.missing) / base.trials) / tallies.length;
    missing.best += ((head.passed + head.missing) / head.trials - rate(base)) / tallies.length;
  }
  const { base, head, recovered } = missing;
  return base + head + recovered.base + recovered.head === 0 ? null : missing;
}

/** The answers of base beyond the pairs of a case that count: repeated requests. `counted`: these pairs by case. */
export function listRepeated(
  record: TrialRecord,
  cases: readonly string[],
  counted: readonly number[],
): NonNullable<Figures["repeated"]> {
  return cases.flatMap((id, i) => {
    const after = counted[i] ?? 0;
    const passes = countPasses(record, id, "base", after + 1);
    return passes.trials > 0 ? [{ case: id, after, ...passes }] : [];
  });
}

/**
 * What was paid for in both arms. `deciding`: the pairs by case that decided; what exceeds them, up to the `counted` pairs,
 * ran ahead. None did when not given.
 */
export function countCalls(
  record: TrialRecord,
  cases: readonly string[],
  deciding?: readonly number[],
  counted?: readonly number[],
): Figures["calls"] {
  const calls = { base: 0, head: 0, ahead: 0, copies: 0, missing: 0 };
  for (const [i, id] of cases.entries()) {
    for (const arm of pairArms) {
      const paid = record.paid(id, arm);
      calls[arm] += paid.calls;
      calls.copies += paid.copies;
      calls.missing += paid.missing;
      const answers = record.answers(id, arm);
      const to = Math.min(answers.length, counted?.[i] ?? answers.length);
      for (let t = deciding?.[i] ?? to; t < to; t++) if (answers[t] !== undefined) calls.ahead++;
    }
  }
  return calls;
}
