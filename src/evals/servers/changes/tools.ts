import { isJsonObject, type JsonObject, sameJson } from "../../base/types/json.ts";
import {
  findDeprecation,
  findRenamedTools,
  findSuccessor,
  formatName,
  indexByName,
  isInstructions,
  listVersions,
  type ToolsByName,
} from "./names.ts";
import { type ChangeEffect, type Impact, listSchemaEffects, sortEffects } from "./parameters.ts";

/**
 * Lists the effects of all changes between two tool lists, sorted by tool, then by class. Empty for equal lists; the
 * order of tools and keys does not matter. Accepts unvalidated lists and does not throw; what cannot be decided is
 * `unknown`.
 */
export function listEffects(before: readonly JsonObject[], after: readonly JsonObject[]): ChangeEffect[] {
  const [older, newer] = [indexByName(before), indexByName(after)];
  const effects = [...listToolEffects(older, newer)];
  for (const [name, old] of older) {
    const current = newer.get(name);
    if (current && !sameJson(old, current)) effects.push(...listEffectsInTool(name, old, current, newer));
  }
  return sortEffects(effects);
}

/** What other names of a tool and of its parameters break for callers. `after`: the same tool under these names. */
export function listRenamingEffects(before: JsonObject, after: JsonObject): ChangeEffect[] {
  const name = String(before.name);
  const to = String(after.name);
  const renamed = name === to ? [] : [{ ...locate(name, ":renamed"), ...classifyRename(name, to) }];
  const ofParameters = [...listSchemaEffects({ name, before, after, successor: undefined })];
  return [...renamed, ...ofParameters.filter((effect) => effect.class === "breaking")];
}

function listEffectsInTool(name: string, before: JsonObject, after: JsonObject, newer: ToolsByName): ChangeEffect[] {
  const effects = [
    ...listSchemaEffects({ name, before, after, successor: findSuccessor(name, newer) }),
    ...listAnnotationEffects(name, before, after),
    ...listWordingEffects(name, before, after),
  ];
  const isRewritten = (field: string) => !sameJson(before[field], after[field]);
  const rewritten = ["inputSchema", "outputSchema", "annotations"].find(isRewritten);
  if (effects.length > 0 || rewritten === undefined) return effects;
  const what = `The ${rewritten} of ${formatName(name)} is written differently and means the same.`;
  return [{ ...locate(name, `:${rewritten}`, rewritten), ...reworded, what }];
}

/** The tool change that an effect belongs to, and its place. */
const locate = (name: string, aspect = "", ...path: string[]) => {
  return { id: `${formatName(name)}${aspect}`, tool: name, path: [name, ...path] };
};

const reworded = { kind: "wording", class: "description only" } as const;

/** Lists changes of description and title, and of the `_meta` keys that decide how a host shows a tool. */
function* listWordingEffects(name: string, before: JsonObject, after: JsonObject): Iterable<ChangeEffect> {
  for (const field of ["description", "title"] as const) {
    // A deprecation mark is an effect of its own kind.
    const isMarked = field === "description" && findDeprecation(after) && !findDeprecation(before);
    if (isMarked || sameJson(before[field], after[field])) continue;
    const location = locate(name, field === "title" ? ":title" : "", ...(Object.hasOwn(after, field) ? [field] : []));
    yield { ...location, ...reworded, what: `The ${field} of ${formatName(name)} was reworded.` };
  }
  const read = ({ _meta }: JsonObject, key: string) => (isJsonObject(_meta) ? _meta[key] : undefined);
  for (const kind of ["alwaysLoad", "searchHint"] as const) {
    const key = `anthropic/${kind}`;
    const [was, is] = [read(before, key), read(after, key)];
    if (sameJson(was, is)) continue;
    const verb = was === undefined ? "added" : is === undefined ? "removed" : "changed";
    const what = `The ${kind} of ${formatName(name)} was ${verb}.`;
    yield { ...locate(name, `:${kind}`, "_meta", key), ...reworded, what };
  }
}

/** What a host assumes without the hint: the value with which it asks the user more often. */
const hints = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true };

function* listAnnotationEffects(name: string, before: JsonObject, after: JsonObject): Iterable<ChangeEffect> {
  for (const [hint, riskier] of Object.entries(hints)) {
    const [was, is] = [before, after].map(({ annotations }) => {
      const value = isJsonObject(annotations) ? annotations[hint] : undefined;
      return typeof value === "boolean" ? value : riskier;
    });
    if (was === is) continue;
    const location = locate(name, ":annotations", "annotations", hint);
    const what = `${hint} of ${formatName(name)} changed from ${was} to ${is}.`;
    const fix = "Restore the hint if the tool still does the same; offer new behavior as a new tool.";
    if (is === riskier) yield { ...location, kind: "annotation", class: "unknown", what, fix };
    else yield { ...location, kind: "annotation-safer", class: "compatible", what };
  }
}

/** Lists the effects of tools that are only in one of the lists, and of deprecations. */
function* listToolEffects(before: ToolsByName, after: ToolsByName): Iterable<ChangeEffect> {
  const renamed = findRenamedTools(before, after);
  for (const [name, tool] of before) {
    const now = after.get(name);
    const to = renamed.get(name);
    const shown = formatName(name);
    if (now) yield* listDeprecationEffects(name, tool, now, before, after);
    else if (isInstructions(name))
      yield { ...locate(name, ":removed"), ...reworded, what: `The ${shown} were removed.` };
    else if (to !== undefined) yield { ...locate(name, ":renamed"), ...classifyRename(name, to) };
    else yield { ...locate(name, ":removed"), ...classifyRemoval(name, tool, before, after) };
  }
  const successors = new Set(renamed.values());
  for (const name of after.keys()) {
    if (before.has(name) || successors.has(name)) continue;
    const { previous } = listVersions(name);
    const next = previous !== undefined && before.has(previous) && after.has(previous);
    const what = `${formatName(name)} is new${next ? `, next to ${formatName(previous)}` : ""}.`;
    if (!isInstructions(name)) yield { ...locate(name, ":added"), kind: "tool-added", class: "compatible", what };
    else yield { ...locate(name, ":added"), ...reworded, what: `The ${formatName(name)} are new.` };
  }
}

function classifyRename(name: string, to: string): Impact {
  const shown = formatName(name);
  const what = `${shown} was renamed to ${formatName(to)}: calls of the old name fail.`;
  const fix = `List ${shown} too for a while, with a description that starts "DEPRECATED: use ${to}".`;
  return { kind: "tool-renamed", class: "breaking", what, fix };
}

function classifyRemoval(name: string, tool: JsonObject, before: ToolsByName, after: ToolsByName): Impact {
  const shown = formatName(name);
  const early = { kind: "deprecated-early", class: "breaking" } as const;
  const deprecation = findDeprecation(tool);
  if (!deprecation) {
    const newer = findSuccessor(name, after);
    if (newer === undefined) {
      const fix = "List it again, or mark it deprecated for a while before you remove it.";
      return { kind: "tool-removed", class: "breaking", what: `${shown} was removed.`, fix };
    }
    const what = `${shown} was removed without having been marked deprecated in favor of ${formatName(newer)}.`;
    const fix = `List it again for a while, with a description that starts "DEPRECATED: use ${newer}".`;
    return { ...early, what, fix };
  }
  const { successor } = deprecation;
  if (successor === undefined) {
    const what = `${shown} was removed after it was marked deprecated without a successor.`;
    return { kind: "tool-retired", class: "unknown", what };
  }
  const newer = formatName(successor);
  if (!after.has(successor)) {
    const what = `${shown} was removed, and ${newer}, the successor it names, is not listed.`;
    return { ...early, what, fix: `List ${newer}, or keep ${shown} until it is listed.` };
  }
  if (!before.has(successor)) {
    const what = `${shown} was removed when ${newer} was added: the two were never listed together.`;
    return { ...early, what, fix: `List both until callers have had time to move to ${newer}.` };
  }
  const what = `${shown} was removed after it was listed as deprecated together with ${newer}.`;
  return { kind: "tool-retired", class: "compatible", what };
}

/** Lists a new deprecation, or a successor that is newly missing, which its removal causes. */
function* listDeprecationEffects(
  name: string,
  tool: JsonObject,
  now: JsonObject,
  before: ToolsByName,
  after: ToolsByName,
): Iterable<ChangeEffect> {
  const [old, deprecation] = [findDeprecation(tool), findDeprecation(now)];
  if (!deprecation || isInstructions(name)) return;
  const { successor } = deprecation;
  const [shown, newer] = [formatName(name), formatName(successor ?? "")];
  const location = locate(name, "", "description");
  const isOld = old !== undefined && old.successor === successor;
  if (successor !== undefined && !after.has(successor)) {
    if (isOld && !before.has(successor)) return;
    const what = `${shown} refers its callers to ${newer}, which is not listed.`;
    const fix = `List ${newer}, or name the tool that replaces it.`;
    const id = isOld ? `${newer}:removed` : location.id;
    yield { ...location, id, kind: "successor-missing", class: "unknown", what, fix };
  } else if (!isOld) {
    const favor = successor === undefined ? "" : ` in favor of ${newer}`;
    yield { ...location, kind: "deprecated", class: "compatible", what: `${shown} is now marked deprecated${favor}.` };
  }
}
