import { didYouMean } from "../../base/text/nearest.ts";
import { isText } from "../../base/text/text.ts";
import type { Place } from "../../base/types/errors.ts";
import { isJsonObject, type Json, type JsonObject, type Path } from "../../base/types/json.ts";
import type { EvalFile, SkillEval } from "../../base/types/skill.ts";
import { type CaseFiles, overlayFiles, readCaseFiles } from "../parsing/caseFiles.ts";
import type { ParsedFile } from "../parsing/json.ts";
import { countEntries, type ProblemCollector } from "./problems.ts";

/** A query as written in a file. `triggers`: set if the list that it is in decides it. */
export type RawEntry = { value: Json; path: Path; triggers?: boolean };

/** The files of one query or of all queries. `unusable`: why the queries cannot be asked, if a file cannot be read. */
export type QueryFiles = { files: EvalFile[]; unusable?: string };

/** The context of all entries of a file. `shared`: the files that the eval file gives to every query. */
export type EntryContext = {
  skill: string;
  parsed: ParsedFile;
  files: CaseFiles;
  shared: QueryFiles;
  problems: ProblemCollector;
};

/** Keys of a query's text. A file with one of them at the top level, and without a list, is a single query. */
export const promptKeys = ["input", "prompt", "query", "user_request"] as const;
/** Fields with checks of the answer. An entry may have several, which are read in this order. */
const checkKeys = [
  ...["expected_behavior", "expected_behaviors", "assertions", "expectations", "checks", "expected_checks"],
  ...["expected_outputs", "expected_output_characteristics"],
] as const;
/** Fields that list pieces of text or faults, with the sentence that each piece is turned into. */
const pieceKeys: Readonly<Record<string, (piece: string) => string>> = {
  ...keysTo((piece) => `The answer includes "${piece}".`, "must_include", "must_contain", "expected_output_contains"),
  ...keysTo((piece) => `The answer does not include "${piece}".`, "must_not_include", "must_not_contain", "must_avoid"),
  ...keysTo((piece) => `This does not occur: ${piece}`, "forbidden", "forbidden_outputs", "failure_conditions"),
};
/** Fields that say whether the skill must load: true or false, or in some fields the name of the skill that must. */
const triggerKeys = [
  ...(["should_trigger", "expected_trigger", "should_activate"] as const).map((key) => ({ key, meaning: true })),
  ...(["expected_activation", "expected_skill", "expect_skill"] as const).map((key) => ({ key, meaning: true })),
  { key: "should_not_trigger", meaning: false },
];
/** Notes of authors for readers, which are ignored. */
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

/** Categories of queries that the skill must not load for, in all spellings that were seen. */
const negativeCategory =
  /^(?:(?:hard|trigger|activation)-)?negatives?(?:$|[ -](?:control|trigger|activation|case|example|query|prompt|test)s?\b)|^false-positives?$|^near-?miss|^should-not-(?:trigger|activate|load)|^(?:no|non|not|anti)-?trigger|^out-of-scope/;

/** The same in ids, where the words must stand alone: "negative-numbers" is a positive about numbers. */
const negativeId =
  /(?:^|-)(?:near-?miss(?:es)?|(?:anti|no|non)-?trigger|should-not-(?:trigger|activate|load))(?:-|$)|^(?:trigger-|hard-)?neg(?:ative)?(?:-?\d+)?$/;

/** Expectations that say that the skill must not load. */
const negativeSentence =
  /\b(?:skill\b.{0,40}\b(?:should|must|does|do|is) ?n[o']t (?:be )?(?:trigger|activat|invok|load|used|fire)|(?:should|must|does|do) not (?:trigger|activate|invoke|load|use) (?:the|this) skill|no[- ]trigger|near[- ]miss|anti[- ]trigger)/i;

/** Reads one query of an eval file; undefined if it is malformed, which is added to the problems. */
export function readEntry({ value, path, triggers: given }: RawEntry, context: EntryContext): SkillEval | undefined {
  const { problems, parsed, skill, files, shared } = context;
  const place = parsed.place(path);
  if (isText(value)) return { input: value, triggers: given ?? true, expectedBehavior: [], ...shared, place };
  if (!isJsonObject(value)) {
    problems.error("A query must be an object or text.", 'Write { "input": "..." }.', place);
    return undefined;
  }
  const at = (...steps: Path) => parsed.place([...path, ...steps], "key");
  warnOtherOwner(value, skill, at, problems);
  warnUnknownFields(value, at, problems);
  const input = readInput(value, place, at, problems);
  const id = readId(value, at, problems);
  const triggers = given ?? readTriggers(value, id, context, at);
  const expectedBehavior = readChecks(value, at, problems);
  if (triggers && !triggerKeys.some(({ key }) => value[key] !== undefined))
    warnLooksNegative(expectedBehavior, place, problems);
  const own = readFiles(value.files ?? [], files, { place: at("files"), left: "the query is", shared }, problems);
  if (input === undefined) return undefined;
  const unusable = input === "" ? "The query has no text." : own.unusable;
  return {
    ...(id && { id }),
    input,
    triggers,
    expectedBehavior,
    files: own.files,
    ...(unusable !== undefined && { unusable }),
    place,
  };
}

type At = (...steps: Path) => Place;

/**
 * Reads the files of one query or of all queries, which replace those of `shared` with the same path. A query is not
 * asked if one of its files cannot be read, because without it the query would ask something else. `left`: the subject
 * and verb of the message about that, such as "the query is".
 */
export function readFiles(
  given: Json,
  from: CaseFiles,
  { place, left, shared }: { place: Place; left: string; shared: QueryFiles },
  problems: ProblemCollector,
): QueryFiles {
  const { files, wrong: unread, binary } = readCaseFiles(given, from);
  const merged = overlayFiles(shared.files, files);
  const wrong = [...unread, ...merged.wrong];
  for (const { message, hint } of wrong)
    problems.warn(message, place, () => ({ message, hint: `${hint} Until then ${left} left out.` }));
  for (const path of binary)
    problems.warn("binary file", place, (times) => ({
      message: `Files that are not UTF-8 text are left out of ${countEntries(times)}; the first is ${path}.`,
      hint: "Give the file as text: a model is shown text only.",
    }));
  const unusable = [shared.unusable, ...wrong.map(({ message }) => message)].filter(Boolean).join(" ");
  return { files: merged.files, ...(unusable !== "" && { unusable }) };
}

/** Warns if a file or a query names another skill. */
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
    const advice = didYouMean(key, knownKeys, "Remove it if it is not needed.");
    const suite = "Checks by a program belong in a suite file: see `evals schema`.";
    problems.warnIgnoredField(key, at(key), key === "expect" ? suite : advice);
  }
}

/** Reads the text of a query. Empty, with a warning, if there is none; undefined, with an error, if it is invalid. */
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
  if (isText(id)) return id;
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
    // The name of this skill or of another one.
    if (typeof given === "string" && !key.startsWith("should_")) return given === skill;
    problems.error(`"${key}" must be true or false.`, "Write true or false, without quotes.", at(key));
  }
  const toWords = (text: string) => text.toLowerCase().replace(/[\s_]+/g, "-");
  if (id !== undefined && negativeId.test(toWords(id))) return false;
  const categories: (Json | undefined)[] = [value.category, value.type].flat();
  return !categories.some((one) => typeof one === "string" && negativeCategory.test(toWords(one)));
}

/** Warns about positives whose expectation says that the skill must not load: sentences are only graded by a judge. */
function warnLooksNegative(sentences: readonly string[], place: Place, problems: ProblemCollector): void {
  if (!sentences.some((sentence) => negativeSentence.test(sentence))) return;
  problems.warn("looks negative", place, (times) => ({
    message: `The expectation of ${countEntries(times)} says that the skill must not load, but they count as queries that load it.`,
    hint: 'Add "should_trigger": false to each.',
  }));
}

/** The keys with the text of a check that is an object. */
const textKeys = ["text", "description", "criterion", "value", "name"] as const;
const commandKey = /^(?:command|cmd|script|run|shell)$/;

/** Reads the checks of an entry as distinct sentences for a judge, or without any, its `expected_output`. */
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
  if (isText(check)) {
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
  const text = textKeys.map((key) => check[key]).find(isText);
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
