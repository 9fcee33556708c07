import { groupBy } from "../../base/collections.ts";
import { isJsonObject, type Json, type JsonObject, sameJson } from "../../base/types/json.ts";
import { instructionsEntryName } from "../../base/types/tool.ts";

/** Whether an entry of a tool list is the instructions of a server, not a tool. */
export const isInstructions = (name: string): boolean => name.startsWith(instructionsEntryName(""));

/**
 * Formats the name of a tool, skill (`skill:pdf`), instructions or parameter for an id or message. It is quoted if it
 * could be read as a path.
 */
export function formatName(name: string): string {
  return /^(?:skill:|instructions:)?[\w-]+$/.test(name) ? name : JSON.stringify(name);
}

/** Tools by name. The first of several tools with the same name counts; tools without a name are skipped. */
export type ToolsByName = ReadonlyMap<string, JsonObject>;

export function indexByName(tools: readonly JsonObject[]): ToolsByName {
  const named = tools.filter(({ name }) => typeof name === "string").toReversed();
  return new Map(named.map((tool) => [String(tool.name), tool]));
}

/** The names of the previous and the next version of a tool, by suffix: `search`, `search_v2`, `search_v3`. */
export function listVersions(name: string): { previous: string | undefined; next: string } {
  const [, base = name, suffix = "1"] = /^(.*)_v(\d{1,6})$/s.exec(name) ?? [];
  const version = Number(suffix);
  const previous = version < 2 ? undefined : version === 2 ? base : `${base}_v${version - 1}`;
  return { previous, next: `${base}_v${version + 1}` };
}

/** The newest listed version of a tool after the given one: `search_v3` for `search` and `search_v2`. */
export function findSuccessor(name: string, tools: ToolsByName): string | undefined {
  let found: string | undefined;
  for (let { next } = listVersions(name); tools.has(next); { next } = listVersions(next)) found = next;
  return found;
}

/**
 * Finds the deprecation mark of a tool, with its successor: a description that starts `DEPRECATED: use X_v2` or
 * similar.
 */
export function findDeprecation({ description }: JsonObject): { successor: string | undefined } | undefined {
  if (typeof description !== "string") return undefined;
  const mark = /^\s*(?:DEPRECATED\b|Deprecated(?=[:.!]))(?::?\s*[Uu]se\s+[`"']?([\w.-]*\w))?/;
  const found = mark.exec(description.slice(0, 300));
  return found ? { successor: found[1] } : undefined;
}

/** Finds renamed tools, from old to new name: they differ only in name and title, and are not deprecated. */
export function findRenamedTools(before: ToolsByName, after: ToolsByName): Map<string, string> {
  const body = ({ name: _, title: __, ...rest }: JsonObject) => rest;
  const bodies = (tools: ToolsByName) => {
    const sorted = [...tools].sort(([a], [b]) => (a < b ? -1 : 1));
    return new Map(sorted.map(([name, tool]): [string, Json] => [name, findDeprecation(tool) ? {} : body(tool)]));
  };
  return findRenamed(bodies(before), bodies(after));
}

/** Limits how many values with the same description are compared, so that the time stays linear. */
const maxCompared = 20;

/**
 * Finds values that are in both maps under different names, from old to new name. Values without a description are
 * ignored, because they are too small to be recognized.
 */
export function findRenamed(before: ReadonlyMap<string, Json>, after: ReadonlyMap<string, Json>): Map<string, string> {
  const unknown = [...after].filter(([name]) => !before.has(name));
  const added = groupBy(unknown, ([, value]) => readDescription(value));
  added.delete("");
  const renamed = new Map<string, string>();
  for (const [name, value] of before) {
    const free = after.has(name) ? [] : (added.get(readDescription(value)) ?? []);
    const at = free.slice(0, maxCompared).findIndex(([, other]) => sameJson(value, other));
    for (const [to] of at < 0 ? [] : free.splice(at, 1)) renamed.set(name, to);
  }
  return renamed;
}

function readDescription(value: Json): string {
  return isJsonObject(value) && typeof value.description === "string" ? value.description : "";
}
