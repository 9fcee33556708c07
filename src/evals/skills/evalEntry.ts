import { type CaseFiles, overlayFiles, readCaseFiles } from "../parsing/caseFiles.ts";
import type { ParsedFile } from "../parsing/json.ts";
import type { Place } from "../types/errors.ts";
import { isJsonObject, type Json, type JsonObject, type Path } from "../types/json.ts";
import { nearest } from "../types/nearest.ts";
import type { EvalFile, SkillEval } from "../types/skill.ts";
import { countEntries, type ProblemCollector } from "./problems.ts";

/** A query as a file has it. `triggers` when its list decides that. */
export type RawEntry = { value: Json; path: Path; triggers?: boolean };

/** The files of a query or of all queries, and why they cannot be asked, when one of them cannot be read. */
export type QueryFiles = { files: EvalFile[]; unusable?: string };

/** What every entry of a file is read with. `shared`: the files that the file gives to all. */
export type EntryContext = {
  skill: string;
  parsed: ParsedFile;
  files: CaseFiles;
  shared: QueryFiles;
  problems: ProblemCollector;
};

/** Keys of a query's text. An object with one of them and without a list is a query. */
export const promptKeys = ["input", "prompt", "query", "user_request"] as const;
/** Fields with what an answer must do. All that an entry has are read, in this order. */
const checkKeys = [
  ...["expected_behavior", "expected_behaviors", "assertions", "expectations", "checks", "expected_checks"],
  ...["expected_outputs", "expected_output_characteristics"],
] as const;
/** Fields with pieces of text or faults, each with the sentence that it makes of one. */
const pieceKeys: Readonly<Record<string, (piece: string) => string>> = {
  ...keysTo((piece) => `The answer includes "${piece}".`, "must_include", "must_contain", "expected_output_contains"),
  ...keysTo((piece) => `The answer does not include "${piece}".`, "must_not_include", "must_not_contain", "must_avoid"),
  ...keysTo((piece) => `This does not occur: ${piece}`, "forbidden", "forbidden_outputs", "failure_conditions"),
};
/** Whether the skill is meant to load: true or false, or in some fields the name of the skill that is. */
const triggerKeys = [
  ...(["should_trigger", "expected_trigger", "should_activate"] as const).map((key) => ({ key, meaning: true })),
  ...(["expected_activation", "expected_skill", "expect_skill"] as const).map((key) => ({ key, meaning: true })),
  { key: "should_not_trigger", meaning: false },
];
/** What authors note for readers. */
const noteKeys = ["name", "title", "note", "notes", "reason", "rationale", "why", "comment", "tags", "priority"];
const knownKeys = new Set<string>([
  ...promptKeys,
  ...checkKeys,
  ...Object.keys(pieceKeys),
  ...triggerKeys.map(({ key }) => key),
  ...noteKeys,
  ...["id", "expected_output", "files", "category", "type", "must_not_activate"],
  ...["skill", "skills", "skill_name"],
]);

function keysTo(write: (piece: string) => string, ...keys: string[]) {
  return Object.fromEntries(keys.map((key) => [key, write]));
}

/** Categories of queries that the skill must not load for, in the spellings in use. */
const negativeCategory =
  /^(?:(?:hard|trigger|activation)-)?negatives?(?:$|[ -](?:control|trigger|activation|case|example|query|prompt|test)s?\b)|^false-positives?$|^near-?miss|^should-not-(?:trigger|activate|load)|^(?:no|non|not|anti)-?trigger|^out-of-scope/;

/** The same in an id, where the words have to stand alone: "negative-numbers" is a positive about numbers. */
const negativeId =
  /(?:^|-)(?:near-?miss(?:es)?|(?:anti|no|non)-?trigger|should-not-(?:trigger|activate|load))(?:-|$)|^(?:trigger-|hard-)?neg(?:ative)?(?:-?\d+)?$/;

/** Sentences by which an expectation says that the skill must stay out of it. */
const negativeSentence =
  /\b(?:skill\b.{0,40}\b(?:should|must|does|do|is) ?n[o']t (?:be )?(?:trigger|activat|invok|load|used|fire)|(?:should|must|does|do) not (?:trigger|activate|invoke|load|use) (?:the|this) skill|no[- ]trigger|near[- ]miss|anti[- ]trigger)/i;

/** One query of an eval file; undefined when it is malformed, which is then among the problems. */
export function readEntry({ value, path, triggers: given }: RawEntry, context: EntryContext): SkillEval | undefined {
  const { problems, parsed, skill, files, shared } = context;
  const place = parsed.place(path);
  if (typeof value === "string" && value.trim() !== "")
    return { input: value, triggers: given ?? true, expectedBehavior: [], ...shared, place };
  if (!isJsonObject(value)) {
    problems.error("A query must be an object or text.", 'Write { "input": "..." }.', place);
    return undefined;
  }
  const at = (...steps: Path) => parsed.place([...path, ...steps], "key");
  warnOtherOwner(value, skill, at, problems);
  warnUnknownFields(value, at, problems);
  const input = readInput(value, place, at, problems);
  const isEmpty = input === "";
  const id = readId(value, at, problems);
  const triggers = given ?? readTriggers(value, id, context, at);
  const expectedBehavior = readChecks(value, at, problems);
  if (triggers && !triggerKeys.some(({ key }) => value[key] !== undefined))
    warnLooksNegative(expectedBehavior, place, problems);
  const own = readFiles(value.files ?? [], files, { place: at("files"), left: "the query is", shared }, problems);
  if (input === undefined) return undefined;
  const why = isEmpty ? "The query has no text." : own.unusable;
  const problem = why !== undefined && { unusable: why };
  return { ...(id && { id }), input, triggers, expectedBehavior, files: own.files, ...problem, place };
}

type At = (...steps: Path) => Place;

/**
 * The files of an entry, or of all entries, over those of `shared`. What names a file that cannot be read is not asked:
 * without its files it would ask something else. `left`: what that is, with its verb.
 */
export function readFiles(
  given: Json,
  from: CaseFiles,
  { place, left, shared }: { place: Place; left: string; shared: QueryFiles },
  problems: ProblemCollector,
): QueryFiles {
  const { files, wrong: unread, binary } = readCaseFiles(given, from);
  const laid = overlayFiles(shared.files, files);
  const wrong = [...unread, ...laid.wrong];
  for (const { message, hint } of wrong)
    problems.warn(message, place, () => ({ message, hint: `${hint} Until then ${left} left out.` }));
  for (const path of binary)
    problems.warn("binary file", place, (times) => ({
      message: `Files that are not UTF-8 text are left out of ${countEntries(times)}; the first is ${path}.`,
      hint: "Give the file as text: a model is shown text only.",
    }));
  const unusable = [shared.unusable, ...wrong.map(({ message }) => message)].filter(Boolean).join(" ");
  return { files: laid.files, ...(unusable !== "" && { unusable }) };
}

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

/** The text of a query: empty, with a warning, where it has none. */
function readInput(value: JsonObject, place: Place, at: At, problems: ProblemCollector): string | undefined {
  const given = promptKeys.filter((key) => Object.hasOwn(value, key) && value[key] !== null);
  const wrong = given.find((key) => typeof value[key] !== "string");
  const [first, ...others] = given;
  if (wrong !== undefined) {
    problems.error(`"${wrong}" must be text.`, "Write what the user says.", at(wrong));
  } else if (first === undefined || given.every((key) => String(value[key]).trim() === "")) {
    problems.warn("no text", first === undefined ? place : at(first), (times) => ({
      message: `${countEntries(times)} without a text cannot be asked.`,
      hint: 'Write what the user says in "input" (or "prompt", or "query"). Until then the query is left out.',
    }));
    return "";
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

function readTriggers(value: JsonObject, id: string | undefined, { skill, problems }: EntryContext, at: At): boolean {
  if (Array.isArray(value.must_not_activate) && value.must_not_activate.includes(skill)) return false;
  for (const { key, meaning } of triggerKeys) {
    const given = value[key];
    if (typeof given === "boolean") return given === meaning;
    if (given === undefined || given === null) continue;
    // The name of a skill, of this one or of another.
    if (typeof given === "string" && !key.startsWith("should_")) return given === skill;
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
  const given = [
    ...checkKeys.flatMap((key) => readSentences(entry, key, at, problems)),
    ...Object.entries(pieceKeys).flatMap(([key, write]) => readSentences(entry, key, at, problems).map(write)),
  ];
  return [...new Set(given.length > 0 ? given : readSentences(entry, "expected_output", at, problems))];
}

function readSentences(entry: JsonObject, key: string, at: At, problems: ProblemCollector): string[] {
  const given = Object.hasOwn(entry, key) ? entry[key] : undefined;
  if (given === undefined || given === null || given === "") return [];
  if (!Array.isArray(given)) return readSentence(given, key, (...steps) => at(key, ...steps), problems);
  return given.flatMap((check, i) => readSentence(check, key, (...steps) => at(key, i, ...steps), problems));
}

function readSentence(check: Json, field: string, at: At, problems: ProblemCollector): string[] {
  if (typeof check === "string" && check.trim() !== "") {
    if (field !== "expected_checks" || /\s/.test(check.trim())) return [check];
    problems.warn("named checks", at(), (times) => ({
      message: `Checks in "${field}" that are only a name are not graded: ${times}. The first is "${check}".`,
      hint: "Write what an answer must do as a sentence.",
    }));
    return [];
  }
  if (!isJsonObject(check)) {
    problems.warn(`no text ${field}`, at(), (times) => ({
      message: `Checks in "${field}" that are not text are not graded: ${times}.`,
      hint: "Write each as a sentence.",
    }));
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
