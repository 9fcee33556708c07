import type { Location } from "../../../base/types/errors.ts";
import type { JsonObject } from "../../../base/types/json.ts";
import type { CaseFile, DispatchRules } from "../../../base/types/suiteFile.ts";
import type { SourceRequest, SourceRun } from "../source/values.ts";

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
