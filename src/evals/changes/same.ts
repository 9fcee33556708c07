import { isJsonObject, type Json } from "../types/json.ts";

/** Whether two values are the same JSON; the order of keys does not count. No recursion: what is compared may be deep. */
export function sameJson(one: Json | undefined, other: Json | undefined): boolean {
  const waiting: [Json | undefined, Json | undefined][] = [[one, other]];
  for (let pair = waiting.pop(); pair; pair = waiting.pop()) {
    const [a, b] = pair;
    if (a === b) continue;
    if (Array.isArray(a) && Array.isArray(b)) {
      if (a.length !== b.length) return false;
      for (const [at, item] of a.entries()) waiting.push([item, b[at]]);
    } else if (isJsonObject(a) && isJsonObject(b)) {
      const [mine, theirs] = [Object.keys(a), Object.keys(b)];
      if (mine.length !== theirs.length || !mine.every((key) => Object.hasOwn(b, key))) return false;
      for (const key of mine) waiting.push([a[key], b[key]]);
    } else return false;
  }
  return true;
}

/** Of many with one description only the first are tried, so that the time stays linear. */
const mostTried = 20;

/**
 * By old name: what is gone from one map and came to another the same in all but the name. What has no description is too
 * little to be known again.
 */
export function renamings(before: ReadonlyMap<string, Json>, after: ReadonlyMap<string, Json>): Map<string, string> {
  const came = new Map<string, Set<string>>();
  for (const [name, value] of after) {
    const key = before.has(name) ? "" : descriptionOf(value);
    if (key !== "") came.set(key, (came.get(key) ?? new Set()).add(name));
  }
  const found = new Map<string, string>();
  for (const [name, value] of before) {
    const free = after.has(name) ? undefined : came.get(descriptionOf(value));
    let tried = 0;
    for (const to of free ?? []) {
      if (tried++ === mostTried) break;
      if (!sameJson(value, after.get(to))) continue;
      free?.delete(to);
      found.set(name, to);
      break;
    }
  }
  return found;
}

function descriptionOf(value: Json): string {
  return isJsonObject(value) && typeof value.description === "string" ? value.description : "";
}
