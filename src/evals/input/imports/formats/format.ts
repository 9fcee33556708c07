import { type Location, usageError } from "../../../base/types/errors.ts";
import {
  getAtPath,
  isJsonObject,
  isMarked,
  type Json,
  type JsonObject,
  type Path,
  writeExactJson,
} from "../../../base/types/json.ts";
import { matcherSchema } from "../../../base/types/matcher.ts";
import type { CaseFile, DispatchRules, ServerSpec } from "../../../base/types/suiteFile.ts";
import type { ParsedFile } from "../../parsing/json.ts";
import { parseText } from "../../parsing/read.ts";
import type { SourceRequest, SourceRun } from "../source/run.ts";

/** What could not be kept of a case or a file, in a few words that are the same for the same cause. */
export type Loss = { what: string; detail?: string };

/** A case of another tool, converted to a case of a suite, or why it is left out. `losses`: what could not be kept. */
export type ImportedCase = {
  /** Its name in the source: its id or its query. */
  name: string;
  location: Location;
  losses: readonly Loss[];
} & ({ kind: "kept"; content: CaseFile } | { kind: "left out"; reason: string });

/**
 * The cases of one file. `dispatch`: the dispatchers through which expected tools are called. `behind`: the dispatcher
 * of each such tool.
 */
export type ImportedFile = {
  file: string;
  cases: readonly ImportedCase[];
  losses: readonly Loss[];
  dispatch?: DispatchRules;
  behind?: ReadonlyMap<string, string>;
  /** The system prompt of every case. */
  system?: string;
  /** The only server that the file names. Its folder is absolute. */
  server?: ServerSpec;
};

/** A file that may be in the format of another tool. */
export type SourceFile = {
  /** Absolute. */
  path: string;
  /** As messages name it. */
  file: string;
  text: string;
  /** What running it gave, for a format with a `request`. */
  run?: SourceRun;
};

/** The names of the parameters of each tool of the server. */
export type KnownTools = ReadonlyMap<string, ReadonlySet<string>>;

export type ImportContext = {
  cwd: string;
  /** Keeps sentences for a judge even in cases with expected tools. */
  judged: boolean;
  tools?: KnownTools | undefined;
};

/** The format of another tool. */
export type Format = {
  /** The value of `--from`. */
  name: string;
  /** What people call it. */
  label: string;
  /** What its files are asked when they are run, if they are TypeScript. */
  request?: SourceRequest;
  /** Whether a name in angle brackets in a prompt stands for a value. */
  hasPlaceholders?: true;
  /** Whether a file is in this format, by its name and a look at its text. */
  recognizes(source: SourceFile): boolean;
  /** Throws EvalsError for a malformed file, with the place. */
  read(source: SourceFile, context: ImportContext): Promise<ImportedFile>;
};

type Common = Pick<ImportedCase, "name" | "location" | "losses">;

export const keep = (common: Common, content: CaseFile): ImportedCase => ({ kind: "kept", ...common, content });
export const leaveOut = (common: Common, reason: string): ImportedCase => ({ kind: "left out", ...common, reason });

/** Writes names as a suite does: one name, or a list of names of which any is right. */
export const oneOrSeveral = (names: readonly string[]): string | string[] => {
  const [only = "", ...others] = names;
  return others.length === 0 ? only : [...names];
};

/** An expected call of a suite file. */
export type FileCall = { tool: string | string[]; args?: JsonObject; optional?: true };

export const expectCall = (tool: string | string[], args: JsonObject = {}): FileCall => ({
  tool,
  ...(Object.keys(args).length > 0 && { args }),
});

/** What the assertions or graders of a case add up to. */
export type Expectations = {
  calls: FileCall[];
  avoid: string[];
  skills: string[];
  sentences: string[];
  losses: Loss[];
};

/** The first of the skills. Names in `losses` what one expectation cannot say of them. */
export function pickSkill({ skills, losses }: Expectations, hasCalls: boolean): string | undefined {
  const [skill, ...others] = new Set(skills);
  if (others.length > 0) losses.push({ what: "several skills that must all be loaded" });
  if (skill !== undefined && hasCalls) losses.push({ what: "a skill beside expected calls", detail: skill });
  return skill;
}

/**
 * Keeps a case with its sentences for a judge, or leaves it out for this reason if it expects nothing. In a case with
 * an expected tool, sentences would make the trial depend on a judge model, so only `judged` keeps them.
 */
export function keepJudged(
  { judged }: Pick<ImportContext, "judged">,
  common: Common,
  content: CaseFile,
  sentences: readonly string[],
  reason: string,
): ImportedCase {
  const given = sentences.filter((text) => text.trim() !== "");
  if (given.length === 0) return content.expect ? keep(common, content) : leaveOut(common, reason);
  if (judged || !content.expect) return keep(common, { ...content, expected_behavior: given });
  const losses = [...common.losses, { what: "a sentence for a judge, which --judged keeps" }];
  return keep({ ...common, losses }, content);
}

/** Parses a YAML or JSON file of another tool. Throws EvalsError with the place. */
export function parseData({ text, file }: SourceFile): Promise<ParsedFile> {
  return parseText(text, file, { lenient: true, exact: true });
}

/** The objects of the list at a path, each with its path. Throws EvalsError with the place of any other value. */
export function listObjects(parsed: ParsedFile, path: Path, what: string): { path: Path; entry: JsonObject }[] {
  const value = getAtPath(parsed.value, path);
  if (!Array.isArray(value)) throw malformed(parsed, path, `${what} must be a list.`);
  return value.map((entry, index) => {
    const at = [...path, index];
    if (!isJsonObject(entry)) throw malformed(parsed, at, `An entry of ${what} is not an object.`);
    return { path: at, entry };
  });
}

export function malformed(parsed: ParsedFile, path: Path, message: string) {
  return usageError(message, "Correct the file, or name its format with --from.", parsed.location(path));
}

export const asText = (value: Json | undefined): string | undefined =>
  typeof value === "string" && value.trim() !== "" && !isMarked(value) ? value : undefined;

/** A text as it is; any other value as JSON. */
export const showValue = (value: Json = null): string =>
  typeof value === "string" && !isMarked(value) ? String(value) : writeExactJson(value);

/** The items of a list, or the only one; none where there is no value. */
export const asList = (value: Json | undefined): Json[] => [value ?? []].flat();

/** A text, or the texts of a list. Other entries are named in `losses`, as entries of `what`. */
export function readTexts(value: Json | undefined, what: string, losses: Loss[]): string[] {
  const all = asList(value).filter((one) => typeof one !== "string" || one.trim() !== "");
  for (const one of all.filter((other) => asText(other) === undefined))
    losses.push({ what: `an entry of "${what}" that is not text`, detail: showValue(one) });
  return all.flatMap((one) => asText(one) ?? []);
}

export const asObject = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : {});

/** Writes arguments that are expected literally: an object that would be read as a matcher is wrapped in `$object`. */
export function toLiteralArgs(args: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [name, toLiteral(value)]));
}

export function toLiteral(value: Json): Json {
  if (Array.isArray(value)) return value.map(toLiteral);
  return isJsonObject(value) ? toObject(toLiteralArgs(value)) : value;
}

/**
 * Wraps an object in `$object` if it would be read as a matcher, or be taken for one without `$`. Its members are
 * already expected values.
 */
export function toObject(members: JsonObject): JsonObject {
  const isAmbiguous =
    Object.keys(members).some((key) => key.startsWith("$")) || matcherSchema.safeParse(members).success;
  return isAmbiguous ? { $object: members } : members;
}

/** Reports the keys of an entry that an import does not read. */
export function listOtherKeys(entry: JsonObject, known: readonly string[]): { what: string }[] {
  return Object.keys(entry)
    .filter((key) => !known.includes(key) && entry[key] !== null)
    .map((key) => ({ what: `the key "${key}"` }));
}
