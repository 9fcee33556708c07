import type { Place } from "../../types/errors.ts";
import type { JsonObject } from "../../types/json.ts";
import type { CaseFile, DispatchRules } from "../../types/suite.ts";

/** What a case or a file of another tool says that a suite cannot, in a few words that are the same for equal causes. */
export type Unsaid = { what: string; detail?: string };

/** A case of another tool: as a case of a suite, with what it could not keep, or why it is left out. */
export type ImportedCase = {
  /** How the source names it: its id, or its query. */
  name: string;
  place: Place;
  unsaid: readonly Unsaid[];
} & ({ kind: "kept"; content: CaseFile } | { kind: "left out"; reason: string });

/**
 * The cases of one file. `dispatch`: the dispatchers that its expectations go through; `behind`: which of them each tool is
 * called through.
 */
export type ImportedFile = {
  file: string;
  cases: readonly ImportedCase[];
  unsaid: readonly Unsaid[];
  dispatch?: DispatchRules;
  behind?: ReadonlyMap<string, string>;
  /** The system prompt of every case. */
  system?: string;
};

/** A file that may be in the format of another tool. */
export type SourceFile = {
  /** Absolute, and as messages name it. */
  path: string;
  file: string;
  text: string;
};

/** What is known of the server's tools, where a list was given: the names of their parameters. */
export type KnownTools = ReadonlyMap<string, ReadonlySet<string>>;

export type ImportContext = {
  cwd: string;
  /** Keeps sentences that a judge has to decide, beside expected tools. */
  judged: boolean;
  /** Runs TypeScript sources, for what cannot be known without. */
  executeSource?: boolean | undefined;
  tools?: KnownTools | undefined;
};

/** The format of another tool. */
export type Format = {
  /** The value of `--from`. */
  name: string;
  /** What people call it. */
  label: string;
  /** Whether its files are sources that can be run. */
  isSource?: true;
  /** Whether a name in angle brackets in a prompt stands for a value. */
  hasPlaceholders?: true;
  /** Whether a file is in this format, by its name and a look at its text. */
  recognises(source: SourceFile): boolean;
  /** Throws EvalsError for a malformed file, with the place. */
  read(source: SourceFile, context: ImportContext): Promise<ImportedFile>;
};

type Common = Pick<ImportedCase, "name" | "place" | "unsaid">;

export const keep = (common: Common, content: CaseFile): ImportedCase => ({ kind: "kept", ...common, content });
export const leaveOut = (common: Common, reason: string): ImportedCase => ({ kind: "left out", ...common, reason });

/** The form of a list of tools in a suite: one name, or several of which any is right. */
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

/**
 * Keeps a case with sentences for a judge, or leaves it out where it expects nothing, for this reason. Beside an expected
 * tool, sentences make a trial depend on a judge model: only `judged` keeps them.
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
  const unsaid = [...common.unsaid, { what: "a sentence for a judge, which --judged keeps" }];
  return keep({ ...common, unsaid }, content);
}

/** Why a source could not be run, as what an import cannot keep of its file. */
export function listFailed({ failed }: { failed?: string }): Unsaid[] {
  if (failed === undefined) return [];
  return [{ what: "what only running the source could find out: it could not be run", detail: failed }];
}
