import { createHash } from "node:crypto";
import { type Answer, isGraded, mostMissing, type Observation, type TrialRecord } from "../../asking/trials/design.ts";
import { sumOf } from "../../base/collections.ts";
import type { Counts } from "../../base/stats/counts.ts";
import { normalCdf, normalQuantile } from "../../base/stats/distributions.ts";
import type { ComparedCheck, NamedCase } from "../../base/types/check.ts";
import { canonicalJson } from "../../base/types/json.ts";
import type { Trial } from "../../base/types/trial.ts";
import { hasSelected } from "../results/calls.ts";
import {
  caseP,
  countDiffering,
  countRate,
  type Grades,
  type Kinds,
  type Rate,
  type RatedP,
  rates,
  suiteP,
} from "./grades.ts";
import { isWithinMargin, type MeanDrop, meanDrop, widen } from "./statistics.ts";

/**
 * Adds a recorded trial to the record of a design. Lines of the journal that are added in their order give the record
 * that the design saw, so a run can be resumed or replayed from its journal. A trial that was cancelled or not paid for
 * is not on the record: it is asked again when the run is resumed.
 */
export function addTrial(record: TrialRecord, trial: Trial): void {
  const { case: id, arm, trial: number } = trial.cell;
  const observation = readObservation(trial);
  const isResent = trial.turns.some(({ resent }) => resent !== undefined);
  if (observation !== undefined) record.add(id, arm, number, observation, hashAnswer(trial), isResent);
}

/**
 * What a trial is to a design. What the model did itself (cut at the token limit, malformed, refused) was graded as a
 * fail. Missing is what kept an answer from being graded: infrastructure, or a judge that did not answer.
 */
export function readObservation({ outcome, verdict, copy }: Trial): Observation | undefined {
  if (outcome.kind === "broken")
    return outcome.stage === "cancelled" || outcome.stage === "budget" ? undefined : "missing";
  if (copy) return "copy";
  if (!verdict || verdict.grade === "not-gradable") return "missing";
  return verdict.grade === "fail" && hasSelected(verdict) ? "selected" : verdict.grade;
}

/** A hash of what the model said and called, with arguments. Two answers are the same if these are. */
export function hashAnswer({ turns }: Trial): string {
  const said = turns.map(({ text, calls }) => [text, calls.map(({ tool, arguments: args = null }) => [tool, args])]);
  return createHash("sha256").update(canonicalJson(said)).digest("base64").slice(0, 16);
}

/** What is recorded of a check beside its verdict. */
export type CheckContext = Pick<ComparedCheck, "grew" | "changes" | "of" | "lost" | "placebo" | "notes">;
type Context = keyof CheckContext | "headline" | "reason" | "next" | "exitCode";

/**
 * The verdict of a check as it is recorded; the reports turn it into sentences.
 * `regressed` by `cases`: each flagged case dropped (exact test); by `suite`: the suite as a whole dropped.
 * `changed`: some answers of a deterministic model flipped. `no-regression`: the mean drop of both rates is below the
 * margin. `inconclusive`: none of these, and why.
 */
export type CheckVerdict = Omit<ComparedCheck, Context | "suite"> & { suite: NonNullable<ComparedCheck["suite"]> };

type Conclusion = "kind" | "by" | "rate" | "because" | "flagged" | "rose" | "flips" | "advice";
/** The figures of every verdict of a check. */
export type Figures = Omit<CheckVerdict, Conclusion>;

/** A verdict with these figures. */
export function conclude<F extends object>(
  figures: F,
  { kind, ...conclusion }: Pick<CheckVerdict, "kind"> & Partial<Pick<CheckVerdict, Conclusion>>,
): F & Pick<CheckVerdict, Conclusion> {
  const none = { by: null, rate: null, because: null, flagged: [], rose: [], flips: [], advice: null };
  return { kind, ...none, ...conclusion, ...figures };
}

export const showsFall = ({ kind }: CheckVerdict): boolean => kind === "regressed" || kind === "changed";

/** The arms of a check: base is the list of the baseline, head the current list. */
export const pairArms = ["base", "head"] as const;
type ByArm<T> = { base: T; head: T };

/**
 * The first pairs of a case, counted in one way: the grades of both arms, the pairs whose grades differ by kind, `down`
 * where base is better, and the trials without an answer.
 */
export type PairCount = ByArm<Grades> & { pairs: number; down: Kinds; up: Kinds; missing: ByArm<number> };

/**
 * What the first pairs of a case came to. `ways`: missing answers as failed, and left out. What was asked again may
 * answer otherwise than what was missing at first would have (a model that times out when it fails passes in the end),
 * so there are three more ways: all of these left out; as if they had spoken for head; and as if against it. Whatever
 * is claimed must hold in every way. Only the first way where nothing was ever missing.
 */
export type PairTally = {
  case: string;
  ways: readonly [PairCount, ...PairCount[]];
  missing: ByArm<number>;
  missingAtFirst: ByArm<number>;
};

/** The answers of one arm of a case, with the trials that were missing when they were first asked. */
export type ArmAnswers = { answers: readonly (Answer | undefined)[]; recovered: ReadonlySet<number> };

/** `isResentCounted`: answers that came after an error count like those that were missing at first. */
export function readArm(record: TrialRecord, id: string, arm: string, isResentCounted = false): ArmAnswers {
  const recovered = record.recovered(id, arm);
  return {
    answers: record.answers(id, arm),
    recovered: isResentCounted ? new Set([...recovered, ...record.resent(id, arm)]) : recovered,
  };
}

/** These trials of an arm (counted from 0), as if there were no others. */
export function pickTrials({ answers, recovered }: ArmAnswers, trials: readonly number[]): ArmAnswers {
  return {
    answers: trials.map((t) => answers[t]),
    recovered: new Set(trials.flatMap((t, at) => (recovered.has(t + 1) ? [at + 1] : []))),
  };
}

type Answers = ArmAnswers["answers"];

/** The answers, with another one in place of those that are missing, or were at first. */
const replaceMissing = ({ answers, recovered }: ArmAnswers, other: Answer) =>
  answers.map((answer, t) => (answer === "missing" || recovered.has(t + 1) ? other : answer));

/** Counts the first `pairs` pairs; without a number of pairs, all trials of two arms that share no orders. */
export function tallyCase(id: string, base: ArmAnswers, head: ArmAnswers, pairs?: number): PairTally {
  const wasMissing = base.recovered.size + head.recovered.size > 0;
  const replace = (inBase: Answer, inHead: Answer) => ({
    base: replaceMissing(base, inBase),
    head: replaceMissing(head, inHead),
  });
  const now = { base: base.answers, head: head.answers };
  const failed = countPairs(now, false, pairs);
  const atFirst = wasMissing ? countPairs(replace("missing", "missing"), true, pairs) : failed;
  const shared = { case: id, missing: failed.missing, missingAtFirst: atFirst.missing };
  if (shared.missingAtFirst.base + shared.missingAtFirst.head === 0) return { ...shared, ways: [failed] };
  const leftOut = countPairs(now, true, pairs);
  if (!wasMissing) return { ...shared, ways: [failed, leftOut] };
  const others = [replace("fail", "pass"), replace("pass", "fail")].map((answers) => countPairs(answers, false, pairs));
  return { ...shared, ways: [failed, leftOut, atFirst, ...others] };
}

const gradeOf = { pass: 2, selected: 1, fail: 0 } as const;
/** The grade of an answer; 0 for a missing one. */
export const readGrade = (answer: Answer | undefined): 0 | 1 | 2 => (isGraded(answer) ? gradeOf[answer] : 0);

/** A trial that is not on the record counts as missing. */
function countPairs({ base, head }: ByArm<Answers>, isLeftOut: boolean, pairs?: number): PairCount {
  const isCounted = (answer: Answer | undefined) => !isLeftOut || isGraded(answer);
  const missing = { base: 0, head: 0 };
  const countArm = (answers: Answers, arm: "base" | "head"): Grades => {
    const grades: [number, number, number] = [0, 0, 0];
    for (let t = 0; t < (pairs ?? answers.length); t++) {
      if (!isGraded(answers[t])) missing[arm]++;
      if (isCounted(answers[t])) grades[readGrade(answers[t])]++;
    }
    return grades;
  };
  const down: [number, number, number] = [0, 0, 0];
  const up: [number, number, number] = [0, 0, 0];
  let counted = 0;
  for (let t = 0; t < (pairs ?? 0); t++) {
    if (!isCounted(base[t]) || !isCounted(head[t])) continue;
    counted++;
    const [then, now] = [readGrade(base[t]), readGrade(head[t])];
    if (then === now) continue;
    const kind = Math.abs(then - now) === 2 ? 0 : Math.min(then, now) === 1 ? 1 : 2;
    (then > now ? down : up)[kind]++;
  }
  return { pairs: counted, base: countArm(base, "base"), head: countArm(head, "head"), down, up, missing };
}

/** The passes of both arms, missing answers left out. */
export function countAnswered({ ways }: PairTally, rate: Rate = "pass"): ByArm<Counts> {
  const { base, head } = ways[1] ?? ways[0];
  return { base: countRate(base, rate), head: countRate(head, rate) };
}

/** Whether a rate of this case can fall: an answer has it in either arm. */
function canFall({ ways: [{ base, head }] }: PairTally, rate: Rate): boolean {
  return countRate(base, rate).passed + countRate(head, rate).passed > 0;
}

const largest = (all: readonly RatedP[]) => all.reduce((worst, one) => (one.p > worst.p ? one : worst));

/** The p of a fall of this case, which must hold in every way of counting, so that the largest one is its p. */
export const fallP = ({ ways }: PairTally): RatedP => largest(ways.map(({ base, head }) => caseP(base, head)));

/** The p of a rise: the fall of the case with its arms exchanged. */
export const riseP = ({ ways }: PairTally): RatedP => largest(ways.map(({ base, head }) => caseP(head, base)));

/** A case in the form of a verdict. */
export function nameCase(tally: PairTally, { p, rate }: RatedP): NamedCase {
  const selected = rate === "selection" && { selected: countAnswered(tally, "selection") };
  return { case: tally.case, ...countAnswered(tally), ...selected, p };
}

/** The cases whose test passes, in the form of a verdict, the least p first. */
export function nameTested(
  tallies: readonly PairTally[],
  test: (tally: PairTally) => RatedP,
  passes: (p: number) => boolean,
): NamedCase[] {
  const named = tallies.map((tally) => nameCase(tally, test(tally)));
  return named.filter(({ p }) => passes(p)).toSorted((a, b) => a.p - b.p);
}

/**
 * The cases with pairs whose grades differ, and the number of these pairs in each direction. `selection`: all of them
 * failed in both arms, and differ in the selected tool.
 */
export function listFlips(tallies: readonly PairTally[]): ComparedCheck["flips"] {
  return tallies.flatMap(({ case: id, ways }) => {
    const { down, up, pairs } = ways[1] ?? ways[0];
    const [fell, rose] = [down, up].map((kinds) => sumOf(kinds, (n) => n));
    if (!fell && !rose) return [];
    const isSelection = countDiffering(down, "pass") + countDiffering(up, "pass") === 0;
    const flip = { case: id, down: fell ?? 0, up: rose ?? 0, pairs };
    return [{ ...flip, ...(isSelection && { selection: true as const }) }];
  });
}

/** The pairs of a count that differ in a rate. */
export const differ =
  (rate: Rate) =>
  ({ down, up, pairs }: PairCount) => ({ down: countDiffering(down, rate), up: countDiffering(up, rate), pairs });

/**
 * What the suite came to at one look. `down`, `up`: pairs that differ in the rate that the test names. `drops`: the
 * mean drop of a rate over the cases that can fall in it, `live` of them; undefined where none can. `isClear`: the drop
 * of every rate is below the margin, in every way of counting.
 */
export type SuiteJudgment = RatedP & {
  down: number;
  up: number;
  drops: Record<Rate, MeanDrop | undefined>;
  live: Record<Rate, number>;
  isClear: boolean;
  lacksAnswers: boolean;
};

/** How a suite is tested, how the drop of a rate is measured, and the design effects of shared tool orders. */
type SuiteMethod = {
  test(cases: readonly PairCount[]): RatedP;
  measure(cases: readonly PairCount[], rate: Rate): MeanDrop | undefined;
  effects: Record<Rate, number>;
};

const sumKinds = (all: readonly PairCount[], way: "down" | "up"): Kinds => {
  const sum: [number, number, number] = [0, 0, 0];
  for (const one of all) for (const kind of [0, 1, 2] as const) sum[kind] += one[way][kind];
  return sum;
};

const byPairs: SuiteMethod = {
  test: (all) => suiteP(sumKinds(all, "down"), sumKinds(all, "up")),
  measure: (all, rate) => meanDrop(all.map(differ(rate))),
  effects: { pass: 1, selection: 1 },
};

/** A mean drop whose variance is so many times as large. */
function inflate(mean: MeanDrop | undefined, effect: number): MeanDrop | undefined {
  return mean && { ...mean, standardError: mean.standardError * Math.sqrt(effect) };
}

/** Judges the suite by the pairs that these tallies hold. */
export function judgeSuite(
  tallies: readonly PairTally[],
  margin: number,
  z: number,
  method: Partial<SuiteMethod> = {},
): SuiteJudgment {
  const { test, measure, effects } = { ...byPairs, ...method };
  const ways = Math.max(...tallies.map((tally) => tally.ways.length));
  const live = Object.fromEntries(rates.map((rate) => [rate, tallies.filter((tally) => canFall(tally, rate))]));
  const judged = Array.from({ length: ways }, (_, way) => {
    const count = (all: readonly PairTally[] = []) => all.map((tally) => tally.ways[way] ?? tally.ways[0]);
    const [pass, selection] = rates.map((rate) => inflate(measure(count(live[rate]), rate), effects[rate]));
    const isClear = rates.every((rate) => {
      const cases = live[rate]?.length ?? 0;
      return cases === 0 || isWithinMargin(rate === "pass" ? pass : selection, margin, widen(z, cases));
    });
    return { ...test(count(tallies)), drops: { pass, selection }, isClear };
  });
  const { p, rate } = largest(judged);
  const effect = Math.max(effects.pass, effects.selection);
  const counts = tallies.map(({ ways: [first] }) => first);
  return {
    p: p < 0.5 && effect > 1 ? normalCdf(normalQuantile(p) / Math.sqrt(effect)) : p,
    rate,
    down: countDiffering(sumKinds(counts, "down"), rate),
    up: countDiffering(sumKinds(counts, "up"), rate),
    drops: judged[0]?.drops ?? { pass: undefined, selection: undefined },
    live: { pass: live.pass?.length ?? 0, selection: live.selection?.length ?? 0 },
    isClear: judged.every((one) => one.isClear),
    lacksAnswers: lacksAnswers(tallies),
  };
}

/** Whether more than 5 % of an arm is missing, or was at first. */
function lacksAnswers(tallies: readonly PairTally[]): boolean {
  return pairArms.some(
    (arm) =>
      sumOf(tallies, ({ missingAtFirst }) => missingAtFirst[arm]) >
      mostMissing * sumOf(tallies, ({ ways: [first] }) => countRate(first[arm], "pass").trials),
  );
}

/** -D -+ z SE: the net change of a rate with its interval, head - base. */
function netChange(mean: MeanDrop | undefined, z: number, cases: number): Figures["net"] {
  if (!mean) return null;
  const { drop, standardError } = mean;
  const half = widen(z, cases) * standardError;
  // Adding 0 turns -0, which prints badly, into 0. A change of a rate is at most 1 in either direction.
  const interval = [Math.max(-1, -drop - half), Math.min(1, -drop + half)] as const;
  return { change: -drop + 0, interval, standardError, z: widen(z, cases), cases };
}

/** What every verdict says of the suite, which was tested at this level. */
export function describeSuite(
  { drops, live, p, rate, down, up }: SuiteJudgment,
  z: number,
  tested: { level: number; hasFallen: boolean },
) {
  return {
    net: netChange(drops.pass, z, live.pass),
    selection: netChange(drops.selection, z, live.selection),
    canFall: live,
    suite: { down, up, p, rate, ...tested },
  };
}

/**
 * What is missing by arm, and what was missing at first. Null when nothing is missing.
 */
export function missingAnswers(tallies: readonly PairTally[]): Figures["missing"] {
  const missing = { base: 0, head: 0, recovered: { base: 0, head: 0 } };
  for (const tally of tallies) {
    for (const arm of pairArms) {
      missing[arm] += tally.missing[arm];
      missing.recovered[arm] += tally.missingAtFirst[arm] - tally.missing[arm];
    }
  }
  const { base, head, recovered } = missing;
  return base + head + recovered.base + recovered.head === 0 ? null : missing;
}

/** What was paid for in both arms. */
export function countCalls(record: TrialRecord, cases: readonly string[]): Figures["calls"] {
  const calls = { base: 0, head: 0, copies: 0, missing: 0 };
  for (const id of cases) {
    for (const arm of pairArms) {
      const paid = record.paid(id, arm);
      calls[arm] += paid.calls;
      calls.copies += paid.copies;
      calls.missing += paid.missing;
    }
  }
  return calls;
}
