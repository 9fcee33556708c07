import { groupBy } from "../../base/groupBy.ts";
import { deriveSeed, orderBySeed } from "../../base/stats/random.ts";
import type { Split } from "../../base/types/suite.ts";

/** A case, what it expects (the label of its expectation), and its split as recorded in its file. */
export type SplitCase = { id: string; label: string; split?: Split | undefined };

/**
 * Splits cases in halves, for each expectation by itself: a tool with one case is either searched on or proved on. What a
 * file records stays. The others follow from the name of the suite and their ids alone, so that a proof can be repeated.
 */
export function splitCases(suite: string, cases: readonly SplitCase[]): Map<string, Split> {
  const seed = deriveSeed(0, "split", suite);
  const strata = orderBySeed([...groupBy(cases, ({ label }) => label)], seed, ([label]) => label);
  const splits = new Map<string, Split>();
  const count = (split: Split) => [...splits.values()].filter((one) => one === split).length;
  for (const { id, split } of cases) if (split) splits.set(id, split);
  for (const [, own] of strata) {
    const open = orderBySeed(
      own.filter(({ split }) => !split),
      seed,
      ({ id }) => id,
    );
    // An odd one goes to where fewer cases are.
    const ofStratum = (split: Split) => own.filter(({ id }) => splits.get(id) === split).length;
    for (const { id } of open) {
      const surplus = ofStratum("held-out") - ofStratum("train") || count("held-out") - count("train");
      splits.set(id, surplus > 0 ? "train" : "held-out");
    }
  }
  return splits;
}

/** Fewer held-out cases prove little: a gain on one of them would have to be large. */
export const minHeldOut = 5;

/** The expectations without a held-out case, of a suite that has too few of these; those with the fewest cases first. */
export function listUnproved(cases: readonly SplitCase[], splits: ReadonlyMap<string, Split>): string[] {
  return [...groupBy(cases, ({ label }) => label)]
    .filter(([, own]) => !own.some(({ id }) => splits.get(id) === "held-out"))
    .sort(([, a], [, b]) => a.length - b.length)
    .map(([label]) => label);
}
