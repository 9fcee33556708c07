import type { Baseline } from "../types/baseline.ts";
import type { JsonObject } from "../types/json.ts";
import { annotationChanges } from "./annotations.ts";
import { type Change, type ChangeClass, segment, worst } from "./change.ts";
import { outputChanges } from "./output.ts";
import { parameterChanges } from "./parameters.ts";
import { sameJson } from "./same.ts";
import { deprecationOf, type Listed, successorOf, toolChanges } from "./tools.ts";

export type { Change, ChangeClass } from "./change.ts";

/**
 * What changed from one list of tools to a newer one, and what it does to those who call them; sorted by tool, the
 * gravest change of a tool first. Empty for the same tools: the order of tools and of keys does not count. Takes lists
 * unchecked and does not throw; what cannot be decided is `unknown`, never `compatible`.
 */
export function changesBetween(before: readonly JsonObject[], after: readonly JsonObject[]): Change[] {
  const [then, now] = [listed(before), listed(after)];
  const changes = [...toolChanges(then, now)];
  for (const [name, old] of then) {
    const current = now.get(name);
    if (current && !sameJson(old, current)) changes.push(...changesOfTool(name, old, current, now));
  }
  return changes.sort(
    (a, b) => order(a.tool, b.tool) || rank(a) - rank(b) || order(a.id, b.id) || order(a.what, b.what),
  );
}

const classes: readonly ChangeClass[] = ["breaking", "unknown", "compatible", "description only"];
const rank = (change: Change) => classes.indexOf(change.class);
const order = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

function listed(tools: readonly JsonObject[]): Listed {
  const named = tools.flatMap((tool): [string, JsonObject][] =>
    typeof tool.name === "string" ? [[tool.name, tool]] : [],
  );
  return new Map(named.reverse());
}

function changesOfTool(name: string, before: JsonObject, after: JsonObject, now: Listed): Change[] {
  const changes = [
    ...parameterChanges({ name, before, after, successor: successorOf(name, now) }),
    ...outputChanges({ name, before, after }),
    ...annotationChanges(name, before, after),
    ...wordingChanges(name, before, after),
  ];
  const written = ["inputSchema", "outputSchema", "annotations"].find(
    (field) => !sameJson(before[field], after[field]),
  );
  if (changes.length > 0 || written === undefined) return changes;
  const what = `The ${written} of ${segment(name)} is written differently and says the same.`;
  return [{ id: `${segment(name)}:${written}`, tool: name, path: [name, written], ...reworded, what }];
}

const reworded = { kind: "wording", class: "description only" } as const;

function* wordingChanges(name: string, before: JsonObject, after: JsonObject): Iterable<Change> {
  for (const field of ["description", "title"] as const) {
    // A mark of deprecation is a change of its own.
    const isMarked = field === "description" && deprecationOf(after) && !deprecationOf(before);
    if (isMarked || sameJson(before[field], after[field])) continue;
    const id = `${segment(name)}${field === "title" ? ":title" : ""}`;
    const path = Object.hasOwn(after, field) ? [name, field] : [name];
    yield { id, tool: name, path, ...reworded, what: `The ${field} of ${segment(name)} was reworded.` };
  }
}

/**
 * The class of each change of wording that `verdicts/changes.ts` lists between the same two lists, by its id and tool: the
 * worst of what happened at that place. A schema that only refers elsewhere is classed as the worst of its tool.
 */
export function classesOf(changes: readonly Change[]): (change: { id: string; tool: string }) => ChangeClass {
  const [byId, byTool] = [grouped(changes, "id"), grouped(changes, "tool")];
  return ({ id, tool }) => {
    const found = byId.get(id) ?? (/[:](?:schema|outputSchema)$/.test(id) ? byTool.get(tool) : undefined);
    return worst(found ?? []) ?? "description only";
  };
}

function grouped(changes: readonly Change[], key: "id" | "tool"): Map<string, ChangeClass[]> {
  const groups = new Map<string, ChangeClass[]>();
  for (const change of changes) groups.set(change[key], [...(groups.get(change[key]) ?? []), change.class]);
  return groups;
}

/**
 * The tools that a baseline was accepted with, each name of a server once: skills of a catalogue and tools of other
 * servers that stood beside are left out.
 */
export function toolsOfBaseline({ toolsets }: Baseline): JsonObject[] {
  const tools = new Map<string, JsonObject>();
  for (const tool of Object.values(toolsets).flat()) {
    if (tool.origin === "skill" || tool.origin === "distractor") continue;
    const { server, origin: _, ...rest } = tool;
    const key = JSON.stringify([server, tool.name]);
    if (!tools.has(key)) tools.set(key, JSON.parse(JSON.stringify(rest)) as JsonObject);
  }
  return [...tools.values()];
}
