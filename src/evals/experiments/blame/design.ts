import { bringRequests, type Design, type Play, playTogether, type TrialRecord } from "../../asking/trials/design.ts";
import { groupBy, sumOf } from "../../base/collections.ts";
import { OrderSchedule, type ScheduleSetup } from "../design/schedule.ts";
import type { Known } from "./hypotheses.ts";
import { type BlameSetup, blame, blameArm, countCalls } from "./sampled.ts";
import { type BlamedCase, type BlameVerdict, blameNothing } from "./verdict.ts";

/** A case to explain: what changed in its list, by id, and its trials with the old list and the new one. */
export type CaseToBlame = { case: string; changed: readonly string[]; known: Known };

/**
 * Blames the cases of one run. Cases whose lists changed in the same way are searched together; the level of the tests
 * is shared between the searches, since they may blame the same description. Cases that did not drop are not searched.
 */
export function blameCases(
  cases: readonly CaseToBlame[],
  options: OrderOptions & { deterministic: boolean },
): Design<BlameVerdict> {
  const groups = [...groupBy(cases, ({ changed }) => JSON.stringify(changed)).values()];
  const cap = sumOf(cases, (one) => capOf(one, options));
  return {
    cap,
    *play(record) {
      const plays = groups.map((group) => blameGroup(record, group, { ...options, families: groups.length }));
      const verdicts = yield* playTogether(plays);
      const found = new Map(verdicts.flatMap((one) => one.cases.map((blamed) => [blamed.case, blamed] as const)));
      return {
        cases: cases.flatMap(({ case: id }) => found.get(id) ?? []),
        tests: verdicts.flatMap(({ tests }) => tests),
        calls: { ...countCalls(record, [...found.keys()]), most: cap },
      };
    },
  };
}

function capOf(
  { changed, ...one }: CaseToBlame,
  { deterministic, seed }: Pick<GroupOptions, "deterministic" | "seed">,
): number {
  if (changed.length < 2) return 0;
  return deterministic ? certainCap(changed.length) : blame({ changed, cases: [one], seed }).cap;
}

type OrderOptions = Pick<ScheduleSetup, "seed" | "requests" | "wordings">;
type GroupOptions = OrderOptions & { deterministic: boolean; families: number };

function* blameGroup(
  record: TrialRecord,
  group: readonly CaseToBlame[],
  { deterministic, families, ...orders }: GroupOptions,
): Play<Pick<BlameVerdict, "cases" | "tests">> {
  const changed = group[0]?.changed ?? [];
  if (changed.length === 0)
    return { cases: group.map((one) => blameNothing(one.case, "nothing", "unchanged")), tests: [] };
  if (deterministic && changed.length > 1)
    return { cases: yield* playTogether(group.map((one) => blameCertain(record, one.case, changed))), tests: [] };
  const settled = new Map(group.flatMap((one) => settle(one, changed)).map((one) => [one.case, one]));
  const open = group.filter((one) => !settled.has(one.case));
  const schedule = new OrderSchedule({ cases: group.map((one) => one.case), ...orders });
  const searched = yield* blame({ changed, cases: open, seed: orders.seed, families, schedule }).play(record);
  return { cases: [...searched.cases, ...settled.values()], tests: searched.tests };
}

function settle(
  { case: id, known: { old, new: now } }: BlameSetup["cases"][number],
  changed: readonly string[],
): BlamedCase[] {
  if (now.trials === 0) return [blameNothing(id, "undecided", "missing")];
  const isLower = old.trials === 0 || now.passed * old.trials < old.passed * now.trials;
  if (!isLower) return [blameNothing(id, "nothing", "no-drop")];
  if (changed.length > 1) return [];
  const only = { descriptions: [...changed], relation: "single" as const };
  return [{ ...blameNothing(id, "blamed", "only-change"), ...only, sets: [{ ...only, chance: 1 }] }];
}

/** Asks whether the case passes with just these changes (by index) in their new wording. */
type Search<R> = Generator<ReadonlySet<number>, R, boolean>;

/** Indices of changes: reverting all of `reverted` repairs the case, and all of `breaking` alone break it. */
type Found = { kind: "found"; reverted: number[]; breaking: number[] } | { kind: "passes-new" | "fails-old" };

/** Maximum trials for the search of one case: three searches with two lists per change, and a few in between. */
const certainCap = (changed: number) => 6 * changed + 5;

/**
 * Blame for a deterministic model: one trial a list, and an answer is certain. Finds a smallest set of changes whose
 * reverting repairs the case, and a smallest one that breaks the old list by itself; both were seen to do so. Takes
 * about k log2(D/k) lists for k culprits of D changes, where reverting each by itself takes D, and misses pairs.
 */
function* blameCertain(record: TrialRecord, id: string, changed: readonly string[]): Play<BlamedCase> {
  const search = findCulprits(changed.length);
  for (let turn = search.next(); ; ) {
    if (turn.done) return makeVerdict(turn.value, id, changed);
    const served = turn.value;
    const mask = changed.map((_, i) => served.has(i));
    const arm = blameArm("search", mask);
    yield* bringRequests(record, [{ case: id, trial: 1, arms: [arm], order: 0 }], 1);
    const [answer] = record.answers(id, arm);
    if (answer === "missing") return blameNothing(id, "undecided", "missing");
    turn = search.next(answer === "pass");
  }
}

function* findCulprits(changed: number): Search<Found> {
  const all = Array.from({ length: changed }, (_, i) => i);
  const without = (reverted: Iterable<number>) => {
    const left = new Set(all);
    for (const i of reverted) left.delete(i);
    return left;
  };
  if (yield new Set(all)) return { kind: "passes-new" };
  if (!(yield new Set<number>())) return { kind: "fails-old" };
  const reverted = yield* findSmallest(all, function* (some) {
    return yield without(some);
  });
  const breaks = function* (applied: readonly number[]): Search<boolean> {
    return !(yield new Set(applied));
  };
  // Any breaking set contains one of the repairing changes, so the second search starts there.
  let enough: readonly number[] = reverted;
  if (!(yield* breaks(reverted))) {
    const others = all.filter((i) => !reverted.includes(i));
    enough = [...reverted, ...(yield* findSmallest(others, (more) => breaks([...reverted, ...more])))];
  }
  const breaking = enough.length > 1 ? yield* findSmallest(enough, breaks) : [...enough];
  return { kind: "found", reverted, breaking };
}

/**
 * A subset of `from` that holds, given that all of `from` does. None of its members can be spared if adding to a set
 * that holds never undoes it; that the subset itself holds was seen in any case. Source: Junker, QuickXplain, AAAI
 * 2004.
 */
function* findSmallest(
  from: readonly number[],
  holds: (subset: readonly number[]) => Search<boolean>,
): Search<number[]> {
  function* explain(base: readonly number[], grown: boolean, rest: readonly number[]): Search<number[]> {
    if (grown && (yield* holds(base))) return [];
    if (rest.length <= 1) return [...rest];
    const half = Math.ceil(rest.length / 2);
    const [first, second] = [rest.slice(0, half), rest.slice(half)];
    const fromSecond = yield* explain([...base, ...first], true, second);
    const fromFirst = yield* explain([...base, ...fromSecond], fromSecond.length > 0, first);
    return [...fromFirst, ...fromSecond];
  }
  return (yield* explain([], false, from)).sort((a, b) => a - b);
}

function makeVerdict(found: Found, id: string, changed: readonly string[]): BlamedCase {
  if (found.kind !== "found") return blameNothing(id, "nothing", found.kind);
  const name = (indices: readonly number[]) => indices.map((i) => changed[i] ?? "");
  const { reverted, breaking } = found;
  const descriptions = name([...new Set([...reverted, ...breaking])].sort((a, b) => a - b));
  const relation = breaking.length > 1 ? "and" : reverted.length > 1 ? "or" : "single";
  return {
    case: id,
    kind: "blamed",
    because: null,
    descriptions,
    relation,
    sets: [{ descriptions, relation, chance: 1 }],
    seen: { reverted: name(reverted), breaking: name(breaking) },
  };
}
