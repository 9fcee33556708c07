import type { Place } from "../../types/errors.ts";
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

/** The cases of one file. `dispatch`: the dispatchers that its expectations go through. */
export type ImportedFile = {
  file: string;
  cases: readonly ImportedCase[];
  unsaid: readonly Unsaid[];
  dispatch?: DispatchRules;
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
  tools?: KnownTools | undefined;
};

/** The format of another tool. */
export type Format = {
  /** The value of `--from`. */
  name: string;
  /** What people call it. */
  label: string;
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

/** Sentences for a judge, kept or named: beside an expected tool they make a trial depend on a judge model. */
export function addSentences(
  { judged }: Pick<ImportContext, "judged">,
  content: CaseFile,
  sentences: readonly string[],
): { content: CaseFile; unsaid: Unsaid[] } {
  const given = sentences.filter((text) => text.trim() !== "");
  if (given.length === 0) return { content, unsaid: [] };
  if (judged || !content.expect) return { content: { ...content, expected_behavior: given }, unsaid: [] };
  return { content, unsaid: [{ what: "a sentence for a judge, which --judged keeps" }] };
}
