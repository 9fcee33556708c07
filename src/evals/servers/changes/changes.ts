import { getOrAdd, once } from "../../base/collections.ts";
import {
  leastConfusable,
  measureSimilarity,
  toToolText,
  type Weights,
  weighWords,
} from "../../base/search/similarity.ts";
import type { Baseline } from "../../base/types/check.ts";
import type { ChangeClass } from "../../base/types/finding.ts";
import type { JsonObject } from "../../base/types/json.ts";
import type { Touch } from "../../base/types/run.ts";
import { skillEntryName } from "../../base/types/skill.ts";
import { type Case, listCaseCalls } from "../../base/types/suite.ts";
import { isCallable, isOwnTool, type Tool } from "../../base/types/tool.ts";
import { findEdits, type ToolEdit } from "./edits.ts";
import { formatName, isInstructions } from "./names.ts";
import { type ChangeEffect, classifyEffects } from "./parameters.ts";
import { listEffects } from "./tools.ts";

/** One difference between two tool lists (see `ToolEdit`), and its effects on callers. */
export type ToolChange = ToolEdit & { class: ChangeClass; effects: readonly ChangeEffect[] };

/**
 * Lists what changed from `base` to `head`, sorted by tool, new tools last. Empty if and only if both contain the same
 * tools; the order of tools and of JSON keys does not matter.
 */
export function listChanges(base: readonly Tool[], head: readonly Tool[]): ToolChange[] {
  const edits = findEdits(base, head);
  if (edits.length === 0) return [];
  const effects = new Map<ToolEdit, ChangeEffect[]>();
  const byId = new Map(edits.map((edit) => [edit.id, edit]));
  for (const effect of listEffects(base as readonly JsonObject[], head as readonly JsonObject[])) {
    const edit = byId.get(effect.id) ?? findCause(effect, edits);
    if (edit) getOrAdd(effects, edit, () => []).push(effect);
  }
  return edits.map((edit) => {
    const own = effects.get(edit) ?? [];
    // A parameter that became a branch, or was one, has no effect of its own.
    const isWhole = edit.kind === "parameter" && (edit.what === "added" || edit.what === "removed");
    const around = isWhole && own.length === 0 ? findAround(edit, edits) : undefined;
    return { ...edit, class: classifyEffects((around && effects.get(around)) ?? own), effects: own };
  });
}

/** The edit of the nearest schema around an effect or edit, such as a parameter whose branches changed. */
function findAround({ id, tool }: Pick<ToolEdit, "id" | "tool">, edits: readonly ToolEdit[]): ToolEdit | undefined {
  const isAround = (place: string) => id.startsWith(place) && /^(?:$|[.[:])/.test(id.slice(place.length));
  const schemas = edits.filter((edit) => edit.tool === tool && edit.id.endsWith(":schema"));
  const around = schemas.filter((edit) => isAround(edit.id.slice(0, -":schema".length)));
  return around.sort((a, b) => b.id.length - a.id.length)[0];
}

/**
 * Finds the edit that causes an effect elsewhere: an edited definition affects the parameters that refer to it, and a
 * renamed tool affects tools that name it as their successor.
 */
function findCause(effect: ChangeEffect, edits: readonly ToolEdit[]): ToolEdit | undefined {
  const { id, tool } = effect;
  const own = findAround(effect, edits) ?? edits.find((edit) => edit.tool === tool);
  return own ?? edits.find((edit) => id.startsWith(`${formatName(edit.tool)}:`));
}

/** A change as reports and records show it: its label and texts. */
export function pickTexts({ label, before, after }: { label: string; before?: string; after?: string }) {
  return { label, ...(before !== undefined && { before }), ...(after !== undefined && { after }) };
}

/** The tool lists that the cases of a suite or a baseline are shown, by hash. */
export type CaseToolsets = {
  cases: readonly { id: string; toolset: string }[];
  toolsets: Readonly<Record<string, readonly Tool[]>>;
};

/** The changes between two tool lists, with their hashes and the cases that were shown them. */
export type ToolsetChange = { base: string; head: string; cases: string[]; changes: ToolChange[] };

/** Lists what changed in the tool lists of the cases that are in both, once for each pair of lists. */
export function listChangesByCase(before: CaseToolsets, after: CaseToolsets): ToolsetChange[] {
  const current = new Map(after.cases.map(({ id, toolset }) => [id, toolset]));
  const pairs = new Map<string, { base: string; head: string; cases: string[] }>();
  for (const { id, toolset: base } of before.cases) {
    const head = current.get(id);
    if (head === undefined || head === base) continue;
    getOrAdd(pairs, `${base} ${head}`, () => ({ base, head, cases: [] })).cases.push(id);
  }
  const lists = [...pairs.values()].map((pair) => {
    return { ...pair, changes: listChanges(before.toolsets[pair.base] ?? [], after.toolsets[pair.head] ?? []) };
  });
  return lists.filter(({ changes }) => changes.length > 0);
}

/** The own tools of a baseline, each name of a server once; without skills, instructions and distractors. */
export function listBaselineTools({ toolsets }: Baseline): JsonObject[] {
  const tools = new Map<string, JsonObject>();
  for (const tool of Object.values(toolsets).flat()) {
    if (!isOwnTool(tool) || !isCallable(tool)) continue;
    const { server, origin: _, ...rest } = tool;
    const key = JSON.stringify([server, tool.name]);
    if (!tools.has(key)) tools.set(key, JSON.parse(JSON.stringify(rest)) as JsonObject);
  }
  return [...tools.values()];
}

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
