import { getOrAdd } from "../../base/collections.ts";
import type { Baseline } from "../../base/types/check.ts";
import type { ChangeClass } from "../../base/types/finding.ts";
import type { JsonObject } from "../../base/types/json.ts";
import { isCallable, isOwnTool, type Tool } from "../../base/types/tool.ts";
import { findEdits, type ToolEdit } from "./edits.ts";
import { formatName } from "./names.ts";
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
    if (edit) effects.set(edit, [...(effects.get(edit) ?? []), effect]);
  }
  return edits.map((edit) => {
    const own = effects.get(edit) ?? [];
    return { ...edit, class: classifyEffects(own), effects: own };
  });
}

/**
 * Finds the edit that causes an effect elsewhere: an edited definition affects the parameters that refer to it, and a
 * renamed tool affects tools that name it as their successor.
 */
function findCause({ id, tool }: ChangeEffect, edits: readonly ToolEdit[]): ToolEdit | undefined {
  const own = edits.filter((edit) => edit.tool === tool);
  const field = id.endsWith(":outputSchema") ? ":outputSchema" : ":schema";
  const schema = own.find((edit) => edit.id === `${formatName(tool)}${field}`);
  return schema ?? own[0] ?? edits.find((edit) => id.startsWith(`${formatName(edit.tool)}:`));
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
  return [...pairs.values()]
    .map((pair) => ({
      ...pair,
      changes: listChanges(before.toolsets[pair.base] ?? [], after.toolsets[pair.head] ?? []),
    }))
    .filter(({ changes }) => changes.length > 0);
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
