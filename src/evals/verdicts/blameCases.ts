import type { Counts } from "../stats/counts.ts";
import { type BlameVerdict, blame } from "./blame.ts";
import { blameDeterministic } from "./blameDeterministic.ts";
import type { Design, Evidence, ExperimentFacts, Step } from "./design.ts";
import { countTrials, madeTrials, requestAll, stillMissing } from "./evidence.ts";

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
