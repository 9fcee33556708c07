import { didYouMean } from "../../base/text/nearest.ts";
import { isText } from "../../base/text/text.ts";
import { byPlace, type Location, type Problem } from "../../base/types/errors.ts";
import { isJsonObject, type Json, type JsonObject, type Path } from "../../base/types/json.ts";
import type { EvalFile, SkillEval } from "../../base/types/skill.ts";
import { splitSchema } from "../../base/types/suiteFile.ts";
import { type CaseFiles, overlayFiles, readCaseFiles } from "../parsing/caseFiles.ts";
import type { ParsedFile } from "../parsing/json.ts";

/** A warning that is reported once for all its occurrences, with their number. */
type Repeated = { describe(times: number): { message: string; hint: string }; location: Location; times: number };

/** Collects the problems of an eval file. A problem that many entries share is reported once, with a count. */
export class ProblemCollector {
  readonly errors: Problem[] = [];
  readonly #repeated = new Map<string, Repeated>();

  error(message: string, hint: string, location: Location): void {
    this.errors.push({ severity: "error", message, hint, location });
  }

  /** Adds a warning. Warnings with the same `key` become one, at the place of the first. */
  warn(key: string, location: Location, describe: Repeated["describe"]): void {
    const known = this.#repeated.get(key);
    if (known) known.times++;
    else this.#repeated.set(key, { describe, location, times: 1 });
  }

  warnIgnoredField(field: string, location: Location, hint: string): void {
    this.warn(`field ${field}`, location, (times) => {
      return { message: `"${field}" in ${countEntries(times)} is unknown and ignored.`, hint };
    });
  }

  /** The warnings, sorted by place. */
  get warnings(): Problem[] {
    const problems = [...this.#repeated.values()].map(({ describe, location, times }): Problem => {
      return { severity: "warning", ...describe(times), location };
    });
    return problems.sort(byPlace);
  }
}

const countEntries = (times: number) => (times === 1 ? "1 entry" : `${times} entries`);

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
export const promptKeys = ["input", "prompt", "query"] as const;
/** Fields with checks of the answer. An entry may have several, which are read in this order. */
const checkKeys = ["expected_behavior", "assertions", "expectations", "checks"] as const;
/** Other fields that are read, and notes of authors for readers, which are ignored. */
const knownKeys = new Set<string>([
  ...[...promptKeys, ...checkKeys, "expected_output", "should_trigger", "split", "id"],
  ...["files", "skill", "skills", "skill_name", "eval_id", "eval_name"],
  ...["name", "title", "category", "type", "tags", "priority", "note", "notes", "comment", "reason", "rationale"],
]);

/** Ids and categories that say that the skill must not load: "near-miss-1", but not "negative-numbers". */
const negativeLabel =
  /^(?:.*[-_ ])?(?:near[-_ ]?miss(?:es)?|(?:anti|no|non)[-_ ]?trigger|should[-_ ]not[-_ ](?:trigger|activate|load)|neg(?:ative)?s?)(?:[-_ ]?\d+)?$/i;
/** Expectations that say the same. */
const negativeSentence =
  /\b(?:skill\b.{0,40}\b(?:should|must|does|do|is) ?n[o']t (?:be )?(?:trigger|activat|invok|load|used|fire)|(?:should|must|does|do) not (?:trigger|activate|invoke|load|use) (?:the|this) skill|no[- ]trigger|near[- ]miss|anti[- ]trigger)/i;

/** Reads one query of an eval file; undefined if it is malformed, which is added to the problems. */
export function readEntry({ value, path, triggers: given }: RawEntry, context: EntryContext): SkillEval | undefined {
  const { problems, parsed, skill, files, shared } = context;
  const location = parsed.location(path);
  if (isText(value)) return { input: value, triggers: given ?? true, expectedBehavior: [], ...shared, location };
  if (!isJsonObject(value)) {
    problems.error("A query must be an object or text.", 'Write { "input": "..." }.', location);
    return undefined;
  }
  const at = (...steps: Path) => parsed.location([...path, ...steps], "key");
  warnOtherOwner(value, skill, at, problems);
  warnUnknownFields(value, at, problems);
  const input = readInput(value, location, at, problems);
  const id = readId(value, at, problems);
  const triggers = given ?? readTriggers(value, at, problems);
  const expectedBehavior = readChecks(value, at, problems);
  // Labels or expectations may say that the skill must not load.
  const labels = [id, value.category, value.type].filter((one) => typeof one === "string");
  const isNegative =
    labels.some((label) => negativeLabel.test(label.slice(0, 100))) ||
    expectedBehavior.some((sentence) => negativeSentence.test(sentence));
  if (given === undefined && value.should_trigger === undefined && isNegative)
    problems.warn("looks negative", location, (times) => ({
      message: `Queries that seem to be about not loading the skill count as queries that load it: ${times}.`,
      hint: 'Add "should_trigger": false to each, or true if the skill must load.',
    }));
  const own = readFiles(value.files ?? [], files, { location: at("files"), left: "the query is", shared }, problems);
  if (input === undefined) return undefined;
  const unusable = input === "" ? "The query has no text." : own.unusable;
  return {
    ...(id && { id }),
    input,
    triggers,
    ...readSplit(value, at, problems),
    expectedBehavior,
    files: own.files,
    ...(unusable !== undefined && { unusable }),
    location,
  };
}

type At = (...steps: Path) => Location;

/**
 * Reads the files of one query or of all queries, which replace those of `shared` with the same path. A query is not
 * asked if one of its files cannot be read, because without it the query would ask something else. `left`: the subject
 * and verb of the message about that, such as "the query is".
 */
export function readFiles(
  given: Json,
  from: CaseFiles,
  { location, left, shared }: { location: Location; left: string; shared: QueryFiles },
  problems: ProblemCollector,
): QueryFiles {
  const { files, wrong: unread, binary } = readCaseFiles(given, from);
  const merged = overlayFiles(shared.files, files);
  const wrong = [...unread, ...merged.wrong];
  for (const { message, hint } of wrong)
    problems.warn(message, location, () => ({ message, hint: `${hint} Until then ${left} left out.` }));
  for (const path of binary)
    problems.warn("binary file", location, (times) => ({
      message: `Files that are not UTF-8 text are left out of ${countEntries(times)}; the first is ${path}.`,
      hint: "Give the file as text: a model is shown text only.",
    }));
  const unusable = [shared.unusable, ...wrong.map(({ message }) => message)].filter(Boolean).join(" ");
  return { files: merged.files, ...(unusable !== "" && { unusable }) };
}

/** Warns if a file or a query names another skill. */
export function warnOtherOwner(value: JsonObject, skill: string, at: At, problems: ProblemCollector): void {
  for (const key of ["skill_name", "skill", "skills"].filter((one) => Object.hasOwn(value, one))) {
    // A skill of a plugin has the name of the plugin before its own.
    if ([value[key]].flat().some((one) => one === skill || skill.endsWith(`:${one}`))) continue;
    problems.warn(`owner ${key}`, at(key), () => ({
      message: `"${key}" is ${JSON.stringify(value[key])}, but this eval file belongs to "${skill}".`,
      hint: "The file is read as part of its package. Use the same name in both.",
    }));
  }
}

function warnUnknownFields(value: JsonObject, at: At, problems: ProblemCollector): void {
  for (const key of Object.keys(value).filter((one) => !knownKeys.has(one))) {
    const advice = didYouMean(key, knownKeys, "Remove it if it is not needed.");
    const hint = /trigger|activat/.test(key) ? 'Write "should_trigger": true or false.' : advice;
    problems.warnIgnoredField(key, at(key), hint);
  }
}

/** Reads the text of a query. Empty, with a warning, if there is none; undefined, with an error, if it is invalid. */
function readInput(value: JsonObject, location: Location, at: At, problems: ProblemCollector): string | undefined {
  const given = promptKeys.filter((key) => Object.hasOwn(value, key) && value[key] !== null);
  const wrong = given.find((key) => typeof value[key] !== "string");
  const [first, ...others] = given;
  if (wrong !== undefined) problems.error(`"${wrong}" must be text.`, "Write what the user says.", at(wrong));
  else if (first === undefined || given.every((key) => String(value[key]).trim() === "")) {
    problems.warn("no text", first === undefined ? location : at(first), (times) => ({
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

function readSplit({ split }: JsonObject, at: At, problems: ProblemCollector): Pick<SkillEval, "split"> {
  const { data } = splitSchema.safeParse(split);
  if (split !== undefined && !data)
    problems.error('"split" must be "train" or "held-out".', "Correct it, or leave it out.", at("split"));
  return data ? { split: data } : {};
}

function readTriggers({ should_trigger: given }: JsonObject, at: At, problems: ProblemCollector): boolean {
  if (typeof given === "boolean") return given;
  const hint = "Write true or false, without quotes.";
  if (given !== undefined && given !== null)
    problems.error('"should_trigger" must be true or false.', hint, at("should_trigger"));
  return true;
}

/** The keys with the text of a check that is an object. */
const textKeys = ["text", "description", "criterion", "value", "name"] as const;

/** Reads the checks of an entry as distinct sentences for a judge, or without any, its `expected_output`. */
function readChecks(entry: JsonObject, at: At, problems: ProblemCollector): string[] {
  const read = (key: string): string[] => {
    const given = Object.hasOwn(entry, key) ? entry[key] : undefined;
    if (given === undefined || given === null || given === "") return [];
    if (!Array.isArray(given)) return readSentence(given, key, (...steps) => at(key, ...steps), problems);
    return given.flatMap((check, i) => readSentence(check, key, (...steps) => at(key, i, ...steps), problems));
  };
  const given = checkKeys.flatMap(read);
  return [...new Set(given.length > 0 ? given : read("expected_output"))];
}

function readSentence(check: Json, field: string, at: At, problems: ProblemCollector): string[] {
  if (isText(check)) return [check];
  if (!isJsonObject(check)) {
    problems.warn(`no text ${field}`, at(), (times) => ({
      message: `Checks in "${field}" that are not text are not graded: ${times}.`,
      hint: "Write each as a sentence.",
    }));
    return [];
  }
  const text = textKeys.map((key) => check[key]).find(isText);
  const others = Object.keys(check).filter((key) => key !== "id" && !textKeys.some((known) => known === key));
  if (typeof text === "string") {
    for (const key of others)
      problems.warnIgnoredField(`${field}[].${key}`, at(key), "Only the text of a check is judged.");
    return [text];
  }
  problems.warn(`unreadable ${field}`, at(), (times) => ({
    message: `Checks in "${field}" without a text are not graded: ${times}. The first has ${quoteAll(others)}.`,
    hint: `Write what each expects under "text"; known keys are ${quoteAll(textKeys)}.`,
  }));
  return [];
}

const quoteAll = (keys: readonly string[]) => keys.map((key) => `"${key}"`).join(", ") || "nothing";
