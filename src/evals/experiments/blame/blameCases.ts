import {
  bringSpans,
  countPasses,
  type Design,
  type Play,
  playTogether,
  type TrialRecord,
} from "../../asking/trials/design.ts";
import { groupBy } from "../../base/groupBy.ts";
import { type Counts, noTrials } from "../../base/stats/counts.ts";
import { sumOf } from "../../base/sum.ts";
import { blameCertain, certainCap } from "./blameCertain.ts";
import { type BlamedCase, type BlameVerdict, blameNothing } from "./blameVerdict.ts";
import { blame, blameArm } from "./design.ts";

/**
 * A case to explain: the ids of what changed in its list, and its trials with the old list and, where there are any, with
 * the new one.
 */
export type CaseToBlame = { case: string; changed: readonly string[]; old: Counts; new?: Counts | undefined };

/** Trials with everything new, if none are known. */
const measuring = 10;

/**
 * Blames the cases of one run. Cases whose lists changed in the same way are searched together; the level of the tests is
 * shared between the searches, since they may blame the same description. Cases that did not drop are not searched.
 */
export function blameCases(
  cases: readonly CaseToBlame[],
  { seed, deterministic }: { seed: number; deterministic: boolean },
): Design<BlameVerdict> {
  const groups = [...groupBy(cases, ({ changed }) => JSON.stringify(changed)).values()];
  const cap = sumOf(cases, (one) => capOf(one, deterministic, seed));
  return {
    cap,
    *play(record) {
      const plays = groups.map((group) => blameGroup(record, group, { seed, deterministic, families: groups.length }));
      const verdicts = yield* playTogether(plays);
      const found = new Map(verdicts.flatMap((one) => one.cases.map((blamed) => [blamed.case, blamed] as const)));
      return {
        cases: cases.flatMap(({ case: id }) => found.get(id) ?? []),
        tests: verdicts.flatMap(({ tests }) => tests),
        calls: {
          search: sumOf(verdicts, ({ calls }) => calls.search),
          confirmation: sumOf(verdicts, ({ calls }) => calls.confirmation),
          most: cap,
        },
      };
    },
  };
}

function capOf({ case: id, changed, old, new: now }: CaseToBlame, deterministic: boolean, seed: number): number {
  if (changed.length === 0) return 0;
  if (deterministic) return certainCap(changed.length);
  const { cap } = blame({ changed, cases: [{ case: id, known: { old, new: noTrials } }], seed });
  return cap + (now ? 0 : measuring);
}

type GroupOptions = { seed: number; deterministic: boolean; families: number };

/** Cases with the same changes. */
function* blameGroup(
  record: TrialRecord,
  group: readonly CaseToBlame[],
  { seed, deterministic, families }: GroupOptions,
): Play<BlameVerdict> {
  const changed = group[0]?.changed ?? [];
  if (changed.length === 0)
    return { cases: group.map((one) => blameNothing(one.case, "nothing", "unchanged")), tests: [], calls: noCalls };
  if (deterministic) {
    const cases = yield* playTogether(group.map((one) => blameCertain(record, one.case, changed)));
    return { cases, tests: [], calls: { ...noCalls, search: countCalls(record, group) } };
  }
  const arm = blameArm(
    "measure",
    changed.map(() => true),
  );
  const unknown = group.filter((one) => !one.new);
  const spans = unknown.map((one) => ({ case: one.case, arms: [arm], from: 1, to: measuring }));
  if (spans.length > 0) yield* bringSpans(record, spans, 1, seed);
  const measured = group.map((one) => ({ ...one, new: one.new ?? countPasses(record, one.case, arm) }));
  const settled = new Map(measured.flatMap((one) => settle(one)).map((one) => [one.case, one]));
  const open = measured.filter((one) => !settled.has(one.case));
  const known = open.map((one) => ({ case: one.case, known: { old: one.old, new: one.new } }));
  const asked = unknown.length > 0 ? measuring : 0;
  const searched = yield* blame({ changed, cases: known, seed, families, asked }).play(record);
  const paid = sumOf(unknown, (one) => record.paid(one.case, arm).calls);
  return {
    cases: [...searched.cases, ...settled.values()],
    tests: searched.tests,
    calls: { ...searched.calls, search: searched.calls.search + paid },
  };
}

const noCalls = { search: 0, confirmation: 0, most: 0 };

function countCalls(record: TrialRecord, cases: readonly CaseToBlame[]): number {
  return sumOf(cases, ({ case: id }) => sumOf(record.arms(id), (arm) => record.paid(id, arm).calls));
}

/** The verdict of a case that needs no search. */
function settle({ case: id, old, new: now }: CaseToBlame & { new: Counts }): BlamedCase[] {
  if (now.trials === 0) return [blameNothing(id, "undecided", "missing")];
  const isLower = old.trials === 0 || now.passed * old.trials < old.passed * now.trials;
  return isLower ? [] : [blameNothing(id, "nothing", "no-drop")];
}
