import { once } from "../../base/collections.ts";
import {
  leastConfusable,
  measureSimilarity,
  toToolText,
  type Weights,
  weighWords,
} from "../../base/search/similarity.ts";
import type { Touch } from "../../base/types/run.ts";
import { skillEntryName } from "../../base/types/skill.ts";
import { type Case, listCaseCalls } from "../../base/types/suite.ts";
import type { Tool } from "../../base/types/tool.ts";
import { type CaseToolsets, listChangesByCase, type ToolsetChange } from "./changes.ts";
import { isInstructions } from "./names.ts";

/**
 * Whether an accepted record covers a case as it is now. `stale`: a tool or skill that it names changed, or any tool if
 * it names none. `edited`: its query or expectation changed. `new`: the record does not have it. `not graded`: none of
 * its trials was graded when the record was accepted.
 */
type CaseState = "accepted" | "stale" | "edited" | "new" | "not graded";

/** `tools`: the changed tools that make the case stale. */
type CaseStatus = { id: string; state: CaseState; tools: string[] };

/** The cases of a record, such as a baseline, with the tool lists that they were shown. */
export type AcceptedRecord = Pick<CaseToolsets, "toolsets"> & {
  cases: readonly { id: string; hash: string; trials: number; toolset: string }[];
};

/** The cases of a suite, with the tool lists that they are shown now. */
export type CurrentCases = Pick<CaseToolsets, "toolsets"> & {
  cases: readonly (Pick<Case, "id" | "hash" | "expect" | "turns"> & { toolset: string })[];
};

/** `lists`: the changed tool lists. `removed`: the ids of cases that only the record has. */
export type Acceptance = { lists: ToolsetChange[]; cases: CaseStatus[]; removed: string[] };

/** Compares an accepted record with the current cases and tools, in the order of the cases. */
export function compareAccepted(record: AcceptedRecord, now: CurrentCases): Acceptance {
  const lists = listChangesByCase(record, now);
  const changed = new Map(lists.flatMap(({ cases, changes }) => cases.map((id) => [id, listChangedTools(changes)])));
  const accepted = new Map(record.cases.map((one) => [one.id, one]));
  const cases = now.cases.map((one): CaseStatus => {
    const { id, hash } = one;
    const before = accepted.get(id);
    if (!before) return { id, state: "new", tools: [] };
    if (before.hash !== hash) return { id, state: "edited", tools: [] };
    const changedHere = changed.get(id);
    const tools = changedHere ? findOwn(changedHere, one) : [];
    if (tools.length > 0) return { id, state: "stale", tools };
    return { id, state: before.trials > 0 ? "accepted" : "not graded", tools };
  });
  const current = new Set(now.cases.map(({ id }) => id));
  return { lists, cases, removed: record.cases.map(({ id }) => id).filter((id) => !current.has(id)) };
}

/** The names of changed entries of a list, each once; for a renamed entry, the old and the new name. */
function listChangedTools(changes: ToolsetChange["changes"]): string[] {
  const tools = changes.flatMap((change) => (change.kind === "renamed" ? [change.tool, change.to] : [change.tool]));
  return [...new Set(tools)];
}

/** The changed entries that affect a case: those that its expectation names (or else all), and instructions. */
function findOwn(changed: readonly string[], one: Pick<Case, "expect" | "turns">): string[] {
  const named = listNamed(one);
  return changed.filter((tool) => named.length === 0 || named.includes(tool) || isInstructions(tool));
}

/** The tools and skills that the expectations of a case name as expected, acceptable or to be avoided. */
function listNamed(one: Pick<Case, "expect" | "turns">): string[] {
  const expectations = [...(one.turns ?? []).map((turn) => turn.expect), one.expect].flatMap((given) => given ?? []);
  return [
    ...listCaseCalls(one).flatMap(({ tools, acceptable = [] }) => [...tools, ...acceptable]),
    ...expectations.flatMap(({ avoid }) => avoid),
    ...expectations.flatMap((given) => {
      return given.kind === "skill" && given.skill !== "none" ? [skillEntryName(given.skill)] : [];
    }),
  ];
}

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
  const neighbors = new Map(
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
    const near = neighbors.get(id) ?? [];
    return near.length > 0 ? [{ id, why: "neighbor", tools: near }] : [];
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
