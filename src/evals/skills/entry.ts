import type { Place } from "../errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../types/json.ts";
import { nearest } from "../types/nearest.ts";
import type { EvalFile, SkillEval } from "../types/skill.ts";
import { type CaseFiles, readFiles } from "./caseFiles.ts";
import { checkKeys, checksOf } from "./checks.ts";
import { type Complaints, entries } from "./complaints.ts";
import type { LocatedJson } from "./json.ts";
import { checkOwner, promptKeys, type RawEntry, unreadField } from "./shapes.ts";

const known = new Set<string>([
  ...promptKeys,
  ...checkKeys,
  ...["id", "expected_output", "files", "category", "type", "should_trigger", "should_not_trigger"],
  ...["skill", "skills", "skill_name"],
]);

/** Categories of queries that the skill must not load for, in the spellings met. */
const negative =
  /^(?:(?:hard|trigger)-)?negatives?\b|^near-?miss|^should-not-trigger|^(?:no|non|not|anti)-?trigger|^out-of-scope/;

/** What every entry of a file is read with. */
export type EntryContext = { skill: string; located: LocatedJson; files: CaseFiles; complaints: Complaints };

/** One query; undefined when it is wrong, and then the complaints say how. */
export function evalOf(entry: RawEntry, context: EntryContext): SkillEval | undefined {
  const { value, place } = entry;
  const { complaints, located } = context;
  if (typeof value === "string" && value.trim() !== "") {
    if (entry.only === "all") withoutCheck(place, complaints);
    return { input: value, triggers: entry.triggers ?? true, expectedBehavior: [], files: [], place };
  }
  if (!isJsonObject(value)) {
    complaints.error("a query is an object, or a text", 'Write { "input": "..." }.', place);
    return undefined;
  }
  const at = (key: string) => located.place(value, key);
  checkOwner(value, context.skill, at, complaints);
  unknownFields(value, at, complaints);
  const input = inputOf(value, entry, at, complaints);
  const id = idOf(value, at, complaints);
  const triggers = entry.triggers ?? triggersOf(value, at, complaints);
  const expectedBehavior = checksOf(value, located, complaints);
  const files: readonly EvalFile[] = readFiles(value.files ?? [], context.files, at("files"), complaints);
  const onlyTrigger = entry.only === "trigger" || Object.hasOwn(value, "should_trigger") || !triggers;
  if (expectedBehavior.length === 0 && !onlyTrigger) withoutCheck(place, complaints);
  return input === undefined ? undefined : { ...(id && { id }), input, triggers, expectedBehavior, files, place };
}

type At = (key: string) => Place;

function withoutCheck(place: Place, complaints: Complaints): void {
  complaints.count("no check", place, (times) => ({
    message: `${entries(times)} without a check: only whether the skill loads is measured`,
    hint: "Say in `expected_behavior` what the answer must do.",
  }));
}

function unknownFields(value: JsonObject, at: At, complaints: Complaints): void {
  for (const key of Object.keys(value).filter((one) => !known.has(one))) {
    const close = nearest(key, known);
    const advice = close === undefined ? "Remove it if it decides nothing." : `Did you mean \`${close}\`?`;
    const suite = "What a program can check belongs into a suite file: see `evals schema`.";
    unreadField(key, at(key), complaints, key === "expect" ? suite : advice);
  }
}

function inputOf(value: JsonObject, { place }: RawEntry, at: At, complaints: Complaints): string | undefined {
  const given = promptKeys.filter((key) => Object.hasOwn(value, key) && value[key] !== null);
  const wrong = given.find((key) => typeof value[key] !== "string" || value[key].trim() === "");
  const [first, ...others] = given;
  if (wrong !== undefined) {
    complaints.error(`\`${wrong}\` is not what a user says`, "Give it as text that is not empty.", at(wrong));
  } else if (first === undefined) {
    complaints.error("a query has no text", "Give what the user says as `input` (or `prompt`, or `query`).", place);
  } else {
    const other = others.find((key) => value[key] !== value[first]);
    if (other === undefined) return String(value[first]);
    complaints.error(`\`${first}\` and \`${other}\` say two different things`, "Keep one of them.", at(other));
  }
  return undefined;
}

function idOf({ id }: JsonObject, at: At, complaints: Complaints): string | undefined {
  if (id === undefined || id === null) return undefined;
  if (typeof id === "string" && id.trim() !== "") return id;
  if (Number.isInteger(id)) return String(id);
  complaints.error("`id` is neither a whole number nor a text", "Mend it, or leave it out.", at("id"));
  return undefined;
}

function triggersOf(value: JsonObject, at: At, complaints: Complaints): boolean {
  for (const [key, meaning] of [
    ["should_trigger", true],
    ["should_not_trigger", false],
  ] as const) {
    const said = value[key];
    if (typeof said === "boolean") return said === meaning;
    if (said !== undefined && said !== null)
      complaints.error(`\`${key}\` is neither true nor false`, "Write true or false, without quotes.", at(key));
  }
  const categories: (Json | undefined)[] = [value.category, value.type].flat();
  return !categories.some((one) => typeof one === "string" && negative.test(one.toLowerCase().replace(/[\s_]+/g, "-")));
}
