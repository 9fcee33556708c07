import type { ParsedFile } from "../parsing/json.ts";
import type { Place } from "../types/errors.ts";
import { isJsonObject, type Json, type JsonObject, type Path } from "../types/json.ts";
import { nearest } from "../types/nearest.ts";
import type { SkillEval } from "../types/skill.ts";
import { type CaseFiles, readCaseFiles } from "./caseFiles.ts";
import { countEntries, type ProblemCollector } from "./problems.ts";

/** A query as a file has it. `triggers` when its list decides that. */
export type RawEntry = { value: Json; path: Path; triggers?: boolean };

/** What every entry of a file is read with. */
export type EntryContext = { skill: string; parsed: ParsedFile; files: CaseFiles; problems: ProblemCollector };

/** Keys of a query's text. An object with one of them and without a list is a query. */
export const promptKeys = ["input", "prompt", "query"] as const;
/** Fields with what an answer must do. All that an entry has are read, in this order. */
const checkKeys = ["expected_behavior", "assertions", "expectations", "checks"] as const;
const knownKeys = new Set<string>([
  ...promptKeys,
  ...checkKeys,
  ...["id", "expected_output", "files", "category", "type", "should_trigger", "should_not_trigger"],
  ...["skill", "skills", "skill_name"],
]);

/** Categories of queries that the skill must not load for, in the spellings in use. */
const negativeCategory =
  /^(?:(?:hard|trigger)-)?negatives?\b|^near-?miss|^should-not-(?:trigger|activate|load)|^(?:no|non|not|anti)-?trigger|^out-of-scope/;

/** The same in an id, where the words have to stand alone: "negative-numbers" is a positive about numbers. */
const negativeId =
  /(?:^|-)(?:near-?miss(?:es)?|(?:anti|no|non)-?trigger|should-not-(?:trigger|activate|load))(?:-|$)|^(?:trigger-|hard-)?neg(?:ative)?(?:-?\d+)?$/;

/** Sentences by which an expectation says that the skill must stay out of it. */
const negativeSentence =
  /\b(?:skill\b.{0,40}\b(?:should|must|does|do|is) ?n[o']t (?:be )?(?:trigger|activat|invok|load|used|fire)|(?:should|must|does|do) not (?:trigger|activate|invoke|load|use) (?:the|this) skill|no[- ]trigger|near[- ]miss|anti[- ]trigger)/i;

/** One query of an eval file; undefined when it is malformed, which is then among the problems. */
export function readEntry({ value, path, triggers: given }: RawEntry, context: EntryContext): SkillEval | undefined {
  const { problems, parsed, skill, files } = context;
  const place = parsed.place(path);
  if (typeof value === "string" && value.trim() !== "")
    return { input: value, triggers: given ?? true, expectedBehavior: [], files: [], place };
  if (!isJsonObject(value)) {
    problems.error("A query must be an object or text.", 'Write { "input": "..." }.', place);
    return undefined;
  }
  const at = (...steps: Path) => parsed.place([...path, ...steps], "key");
  warnOtherOwner(value, skill, at, problems);
  warnUnknownFields(value, at, problems);
  const input = readInput(value, place, at, problems);
  const id = readId(value, at, problems);
  const triggers = given ?? readTriggers(value, id, at, problems);
  const expectedBehavior = readChecks(value, at, problems);
  if (triggers && value.should_trigger === undefined) warnLooksNegative(expectedBehavior, place, problems);
  const { files: caseFiles, unusable } = readCaseFiles(value.files ?? [], files, at("files"), problems);
  if (input === undefined) return undefined;
  const problem = unusable !== undefined && { unusable };
  return { ...(id && { id }), input, triggers, expectedBehavior, files: caseFiles, ...problem, place };
}

type At = (...steps: Path) => Place;

/** Warns when a file or a query names another skill. */
export function warnOtherOwner(value: JsonObject, skill: string, at: At, problems: ProblemCollector): void {
  for (const key of ["skill_name", "skill", "skills"].filter((one) => Object.hasOwn(value, one))) {
    if ([value[key]].flat().includes(skill)) continue;
    problems.warn(`owner ${key}`, at(key), () => ({
      message: `"${key}" is ${JSON.stringify(value[key])}, but this eval file belongs to "${skill}".`,
      hint: "The file is read as part of its package. Use the same name in both.",
    }));
  }
}

function warnUnknownFields(value: JsonObject, at: At, problems: ProblemCollector): void {
  for (const key of Object.keys(value).filter((one) => !knownKeys.has(one))) {
    const close = nearest(key, knownKeys);
    const advice = close === undefined ? "Remove it if it is not needed." : `Did you mean "${close}"?`;
    const suite = "Checks by a program belong in a suite file: see `evals schema`.";
    problems.warnIgnoredField(key, at(key), key === "expect" ? suite : advice);
  }
}

function readInput(value: JsonObject, place: Place, at: At, problems: ProblemCollector): string | undefined {
  const given = promptKeys.filter((key) => Object.hasOwn(value, key) && value[key] !== null);
  const wrong = given.find((key) => typeof value[key] !== "string" || value[key].trim() === "");
  const [first, ...others] = given;
  if (wrong !== undefined) {
    problems.error(`"${wrong}" must be text that is not empty.`, "Write what the user says.", at(wrong));
  } else if (first === undefined) {
    problems.error("The query has no text.", 'Add "input" (or "prompt", or "query").', place);
  } else {
    const other = others.find((key) => value[key] !== value[first]);
    if (other === undefined) return String(value[first]);
    problems.error(`"${first}" and "${other}" differ.`, "Keep one of them.", at(other));
  }
  return undefined;
}

function readId({ id }: JsonObject, at: At, problems: ProblemCollector): string | undefined {
  if (id === undefined || id === null) return undefined;
  if (typeof id === "string" && id.trim() !== "") return id;
  if (Number.isInteger(id)) return String(id);
  problems.error('"id" must be a whole number or text.', "Correct it, or leave it out.", at("id"));
  return undefined;
}

function readTriggers(value: JsonObject, id: string | undefined, at: At, problems: ProblemCollector): boolean {
  for (const [key, meaning] of [
    ["should_trigger", true],
    ["should_not_trigger", false],
  ] as const) {
    const given = value[key];
    if (typeof given === "boolean") return given === meaning;
    if (given !== undefined && given !== null)
      problems.error(`"${key}" must be true or false.`, "Write true or false, without quotes.", at(key));
  }
  const toWords = (text: string) => text.toLowerCase().replace(/[\s_]+/g, "-");
  if (id !== undefined && negativeId.test(toWords(id))) return false;
  const categories: (Json | undefined)[] = [value.category, value.type].flat();
  return !categories.some((one) => typeof one === "string" && negativeCategory.test(toWords(one)));
}

/** An expectation that is about the skill staying out of it does not decide that by itself: a judge grades sentences. */
function warnLooksNegative(sentences: readonly string[], place: Place, problems: ProblemCollector): void {
  if (!sentences.some((sentence) => negativeSentence.test(sentence))) return;
  problems.warn("looks negative", place, (times) => ({
    message: `The expectation of ${countEntries(times)} says that the skill must not load, but they count as queries that load it.`,
    hint: 'Add "should_trigger": false to each.',
  }));
}

/** The keys that may hold the text of a check that is an object. */
const textKeys = ["text", "description", "criterion", "value", "name"] as const;
const commandKey = /^(?:command|cmd|script|run|shell)$/;

/**
 * The checks of an entry as sentences for a judge, without repetitions; its `expected_output` when it has none. What
 * cannot be read as text is an error, or a warning where it is a check of another kind.
 */
function readChecks(entry: JsonObject, at: At, problems: ProblemCollector): string[] {
  const given = checkKeys.flatMap((key) => readSentences(entry, key, at, problems));
  return [...new Set(given.length > 0 ? given : readSentences(entry, "expected_output", at, problems))];
}

function readSentences(entry: JsonObject, key: string, at: At, problems: ProblemCollector): string[] {
  const given = Object.hasOwn(entry, key) ? entry[key] : undefined;
  if (given === undefined || given === null || given === "") return [];
  if (!Array.isArray(given)) return readSentence(given, key, (...steps) => at(key, ...steps), problems);
  return given.flatMap((check, i) => readSentence(check, key, (...steps) => at(key, i, ...steps), problems));
}

function readSentence(check: Json, field: string, at: At, problems: ProblemCollector): string[] {
  if (typeof check === "string" && check.trim() !== "") return [check];
  if (!isJsonObject(check)) {
    problems.error(`A check in "${field}" is not text.`, "Write it as a sentence.", at());
    return [];
  }
  const text = textKeys.map((key) => check[key]).find((one) => typeof one === "string" && one.trim() !== "");
  const others = Object.keys(check).filter((key) => key !== "id" && !textKeys.some((known) => known === key));
  const commandNote = (keys: readonly string[]) =>
    keys.some((key) => commandKey.test(key)) ? "Commands in eval files are never run. " : "";
  if (typeof text === "string") {
    for (const key of others)
      problems.warnIgnoredField(
        `${field}[].${key}`,
        at(key),
        `${commandNote([key])}Only the text of a check is judged.`,
      );
    return [text];
  }
  problems.warn(`unreadable ${field}`, at(), (times) => ({
    message: `Checks in "${field}" without a text are not graded: ${times}. The first has ${quoteAll(others)}.`,
    hint: `${commandNote(others)}Write what each expects under "text"; known keys are ${quoteAll(textKeys)}.`,
  }));
  return [];
}

function quoteAll(keys: readonly string[]): string {
  return keys.length === 0 ? "nothing" : keys.map((key) => `"${key}"`).join(", ");
}
