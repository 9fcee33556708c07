import type { Place } from "../errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../types/json.ts";
import { type Complaints, entries } from "./complaints.ts";
import type { LocatedJson } from "./json.ts";

/** One query as a file has it. `triggers` when the list says it that it stands in; `only` when nothing else is measured. */
export type RawEntry = { value: Json; place: Place; triggers?: boolean; only: "trigger" | "all" };

/** Keys of a query's text. They make an object without a list one query. */
export const promptKeys = ["input", "prompt", "query"] as const;

const wrappers = ["evals", "cases", "test_cases", "queries"] as const;
const triggerLists = [
  { key: "should_trigger", triggers: true },
  { key: "should_not_trigger", triggers: false },
] as const;
/** What may stand beside the lists: whose evals these are, and notes for a reader. */
const beside = new Set(["skill_name", "skill", "skills", "name", "description", "version", "$schema"]);

/**
 * The queries of an eval file in every known shape: a list; lists under `evals`, `cases`, `test_cases` or `queries`; the
 * lists `should_trigger` and `should_not_trigger`; or one query by itself. `isTriggerSet` is told by the file's name.
 */
export function entriesOf(
  { value, place }: LocatedJson,
  { isTriggerSet, skill }: { isTriggerSet: boolean; skill: string },
  complaints: Complaints,
): RawEntry[] {
  const only = isTriggerSet ? "trigger" : "all";
  const items = (list: readonly Json[], more: Partial<RawEntry> = {}): RawEntry[] =>
    list.map((item, at) => ({ value: item, place: place(list, at), only, ...more }));
  if (Array.isArray(value)) return items(value);
  if (!isJsonObject(value)) {
    complaints.error("an eval file holds an object or a list", hint, place());
    return [];
  }
  checkOwner(value, skill, (key) => place(value, key), complaints);
  const read: string[] = wrappers.filter((key) => Object.hasOwn(value, key));
  const lists = triggerLists.filter(({ key }) => Array.isArray(value[key]));
  if (read.length + lists.length === 0) {
    if (promptKeys.some((key) => Object.hasOwn(value, key))) return [{ value, place: place(), only }];
    complaints.error("it holds no list of queries", hint, place());
    return [];
  }
  const found = read.flatMap((key) => {
    const list = value[key];
    if (Array.isArray(list)) return items(list);
    complaints.error(`\`${key}\` is no list`, "Make it a list of queries: [ ... ].", place(value, key));
    return [];
  });
  const known = new Set([...read, ...lists.map(({ key }) => key)]);
  for (const key of Object.keys(value).filter((one) => !known.has(one) && !beside.has(one)))
    complaints.count(`file ${key}`, place(value, key), () => unread(key));
  return [
    ...found,
    ...lists.flatMap(({ key, triggers }) => items(value[key] as Json[], { triggers, only: "trigger" })),
  ];
}

const hint = 'Write { "evals": [ { "input": "...", "expected_behavior": ["..."] } ] }.';

function unread(key: string): { message: string; hint: string } {
  return {
    message: `\`${key}\` is unknown beside the queries and not read`,
    hint: "Remove it, or move it into a query.",
  };
}

/** Warns when a file or a query says that it is about another skill. */
export function checkOwner(value: JsonObject, skill: string, at: (key: string) => Place, complaints: Complaints): void {
  const owners = ["skill_name", "skill", "skills"].filter((key) => Object.hasOwn(value, key));
  for (const key of owners) {
    const names = [value[key]].flat();
    if (names.includes(skill)) continue;
    complaints.count(`owner ${key}`, at(key), () => ({
      message: `\`${key}\` names ${JSON.stringify(value[key])}, but these are the evals of ${skill}`,
      hint: "They are read as those of the package they lie in. Give both the same name.",
    }));
  }
}

/** Says once for all its entries that a field is not read. */
export function unreadField(field: string, place: Place, complaints: Complaints, advice: string): void {
  complaints.count(`field ${field}`, place, (times) => ({
    message: `\`${field}\` in ${entries(times)} is unknown and not read`,
    hint: advice,
  }));
}
