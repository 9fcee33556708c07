import { once } from "../../base/once.ts";
import {
  leastConfusable,
  measureSimilarity,
  toToolText,
  type Weights,
  weighWords,
} from "../../base/search/similarity.ts";
import type { Touch } from "../../base/types/run.ts";
import type { Tool } from "../../base/types/tool.ts";
import { type AcceptedRecord, type CurrentCases, compareAccepted, listChangedTools, listNamed } from "./accepted.ts";

/** A case whose answers may differ because of a change since the record. */
type TouchedCase = { id: string; why: Exclude<Touch, "no record">; tools: string[] };

/**
 * Finds the cases whose answers may differ from the record, in the order of the cases: those that `compareAccepted`
 * finds, and those that name a tool so similar to a changed one, before or after the change, that a model can confuse
 * them.
 */
export function findTouched(record: AcceptedRecord, now: CurrentCases): TouchedCase[] {
  const { lists, cases } = compareAccepted(record, now);
  const current = new Map(now.cases.map((one) => [one.id, one]));
  const neighbours = new Map(
    lists.flatMap(({ base, head, cases: ids, changes }) => {
      const changed = listChangedTools(changes);
      const both = [record.toolsets[base] ?? [], now.toolsets[head] ?? []];
      return ids.map((id) => {
        const named = listNamed(current.get(id) ?? {});
        return [id, changed.filter((tool) => named.some((own) => both.some(isConfusable(tool, own))))] as const;
      });
    }),
  );
  return cases.flatMap(({ id, state, tools }): TouchedCase[] => {
    if (state !== "accepted") return [{ id, why: state, tools }];
    const near = neighbours.get(id) ?? [];
    return near.length > 0 ? [{ id, why: "neighbour", tools: near }] : [];
  });
}

/** Whether a list contains both tools, and they are so similar that a model can confuse them. */
const isConfusable = (one: string, other: string) => (list: readonly Tool[]) => {
  const weights = weighTools(list);
  const [a, b] = [weights.get(one), weights.get(other)];
  return a !== undefined && b !== undefined && measureSimilarity(a, b) >= leastConfusable;
};

const weighTools = once((tools: readonly Tool[]): ReadonlyMap<string, Weights> => {
  const weights = weighWords(tools.map(toToolText));
  return new Map(tools.flatMap(({ name }, at) => (weights[at] ? [[name, weights[at]]] : [])));
});
