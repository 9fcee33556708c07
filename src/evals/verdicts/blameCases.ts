import type { Counts } from "../stats/counts.ts";
import { type BlameBasis, type BlameVerdict, blame, blameArm, type Hypothesis } from "./blame.ts";
import {
  countTrials,
  type Design,
  type Evidence,
  type ExperimentFacts,
  madeTrials,
  requestAll,
  type Step,
  stillMissing,
} from "./design.ts";

/** A case to explain: the ids of what changed, and its trials with the old list and, if there are any, with the new one. */
export type Blamed = { case: string; changed: readonly string[]; old: Counts; new?: Counts };

/**
 * What `evals blame` found on one suite and model. `from`: what the base list and the known rates are of. `known.new` is
 * absent where it had to be measured first. `verdict` is null for a case that was cut short, and `stopped` then says why.
 */
export type BlameReport = Omit<ExperimentFacts, "note"> & {
  from: string;
  note?: string;
  deterministic: boolean;
  cases: readonly {
    case: string;
    input: string;
    known: { old: Counts; new?: Counts };
    changes: readonly { id: string; label: string; before?: string; after?: string }[];
    verdict: BlameVerdict | null;
  }[];
  stopped: string | null;
};

/** Blames each case by itself, all at the same time; decides when all have. A verdict a case, in the order given. */
export function blameCases(cases: readonly Blamed[], isDeterministic: boolean): Design<readonly BlameVerdict[]> {
  const designs = cases.map((one) => {
    if (isDeterministic) return blameDeterministic(one.case, one.changed);
    return one.new ? blame({ ...one, known: { old: one.old, new: one.new } }) : measured(one);
  });
  return {
    cap: designs.reduce((sum, { cap }) => sum + cap, 0),
    next(evidence): Step<readonly BlameVerdict[]> {
      const steps = designs.map((design) => design.next(evidence));
      const verdicts = steps.flatMap((step) => (step.kind === "decided" ? [step.verdict] : []));
      if (verdicts.length === steps.length) return { kind: "decided", verdict: verdicts };
      const asking = steps.flatMap((step) => (step.kind === "ask" ? [step] : []));
      const look = Math.min(...asking.map((step) => step.look));
      return { kind: "ask", look, requests: asking.flatMap(({ requests }) => requests) };
    },
  };
}

/** Trials that tell how often a case passes now, when there are none from before. */
const measuring = 10;

/** Blame that first finds out how the case does with everything new. */
function measured({ case: id, changed, old }: Blamed): Design<BlameVerdict> {
  const arm = `measure:${"1".repeat(changed.length)}`;
  const design = (evidence: Evidence) =>
    blame({ case: id, changed, known: { old, new: countTrials(evidence, id, arm) } });
  return {
    cap: measuring + design(new Map()).cap,
    next(evidence): Step<BlameVerdict> {
      const missing = changed.length === 0 ? [] : requestAll([id], [arm], { from: 1, to: measuring });
      const requests = stillMissing(evidence, missing);
      if (requests.length > 0) return { kind: "ask", look: 1, requests };
      const step = design(evidence).next(evidence);
      if (step.kind === "ask") return step;
      const { calls, ...verdict } = step.verdict;
      const search = calls.search + madeTrials(evidence, [id], arm).made;
      return { kind: "decided", verdict: { ...verdict, calls: { ...calls, search } } };
    },
  };
}

/**
 * Asks whether the case passes with just these changes (by index) in their new wording; answered from the record. A
 * search written so needs no state: it is run again from its start whenever the record has grown.
 */
type Search<R> = Generator<ReadonlySet<number>, R, boolean>;

/** Indices of changes: reverting all of `reverted` fixes the case, and all of `breaking` alone break it. */
type SearchResult = { kind: "found"; reverted: number[]; breaking: number[] } | { kind: "none"; basis: BlameBasis };

/**
 * Blame for a deterministic model: one trial a list, and an answer is certain. Finds a smallest set of changes
 * whose reverting fixes the case, and a smallest one that breaks the old list by itself; both were seen to do so. Takes
 * about k log2(D/k) lists for k culprits of D changes, where reverting each by itself takes D, and misses pairs.
 */
export function blameDeterministic(id: string, changed: readonly string[]): Design<BlameVerdict> {
  // Three searches, of which each asks for at most two lists a change, and a few lists between them.
  const cap = 6 * changed.length + 5;
  return {
    cap,
    next(evidence): Step<BlameVerdict> {
      const search = culprits(changed.length);
      for (let turn = search.next(); ; ) {
        if (turn.done) return { kind: "decided", verdict: makeVerdict(turn.value, id, changed, evidence) };
        const asked = turn.value;
        const arm = blameArm(
          "search",
          changed.map((_, i) => asked.has(i)),
        );
        const [seen] = evidence.get(id)?.get(arm) ?? [];
        if (seen === undefined) return { kind: "ask", look: 1, requests: [{ case: id, arm, from: 1, trials: 1 }] };
        if (seen === "broken") {
          const found = { kind: "none", basis: { kind: "a trial broke" } } as const;
          return { kind: "decided", verdict: makeVerdict(found, id, changed, evidence) };
        }
        turn = search.next(seen === "pass");
      }
    },
  };
}

function* culprits(changed: number): Search<SearchResult> {
  const all = Array.from({ length: changed }, (_, i) => i);
  const without = (reverted: Iterable<number>) => {
    const left = new Set(all);
    for (const i of reverted) left.delete(i);
    return left;
  };
  if (changed === 0) return { kind: "none", basis: { kind: "nothing changed" } };
  if (yield new Set(all)) return { kind: "none", basis: { kind: "passes with all new" } };
  if (!(yield new Set<number>())) return { kind: "none", basis: { kind: "fails with all old" } };
  const reverted = yield* smallest(all, function* (reverted) {
    return yield without(reverted);
  });
  const breaks = function* (applied: readonly number[]): Search<boolean> {
    return !(yield new Set(applied));
  };
  // Whatever breaks the case holds one of those that mend it, so the second search starts there.
  let enough: readonly number[] = reverted;
  if (!(yield* breaks(reverted))) {
    const others = all.filter((i) => !reverted.includes(i));
    enough = [...reverted, ...(yield* smallest(others, (more) => breaks([...reverted, ...more])))];
  }
  const breaking = enough.length > 1 ? yield* smallest(enough, breaks) : [...enough];
  return { kind: "found", reverted, breaking };
}

/**
 * A subset of `from` that holds, given that all of `from` does. None of its members can be spared if adding to a set that
 * holds never undoes it; that the subset itself holds was seen in any case.
 * Source: Junker, QuickXplain, AAAI 2004.
 */
function* smallest(from: readonly number[], holds: (subset: readonly number[]) => Search<boolean>): Search<number[]> {
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

function makeVerdict(found: SearchResult, id: string, changed: readonly string[], evidence: Evidence): BlameVerdict {
  const names = (indices: readonly number[]) => indices.map((i) => changed[i] ?? "");
  const arms = [...(evidence.get(id)?.keys() ?? [])];
  const search = arms.reduce((sum, arm) => sum + madeTrials(evidence, [id], arm).made, 0);
  const calls = { search, confirmation: 0, oneAtATime: changed.length };
  if (found.kind === "none") {
    const nobody = { culprits: [], relation: "single", chance: 0, ranking: [] } as const;
    return { kind: "inconclusive", basis: found.basis, ...nobody, calls };
  }
  const { reverted, breaking } = found;
  const blamed = names([...new Set([...reverted, ...breaking])].sort((a, b) => a - b));
  const relation: Hypothesis["kind"] = breaking.length > 1 ? "both" : reverted.length > 1 ? "either" : "single";
  return {
    kind: "blamed",
    basis: { kind: "seen to break", reverted: names(reverted), breaking: names(breaking) },
    culprits: blamed,
    relation,
    chance: 1,
    ranking: [{ kind: relation, changes: blamed, chance: 1 }],
    calls,
  };
}
