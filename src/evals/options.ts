import type { DefinedCommand } from "./commands/command.ts";
import type { blameCommand, improveCommand, judgeCommand, variantsCommand } from "./commands/experiments.ts";
import type {
  doctorCommand,
  importCommand,
  initCommand,
  lintCommand,
  probeCommand,
  searchCommand,
  toolsCommand,
} from "./commands/inspection.ts";
import type { compareCommand, mergeCommand, showCommand } from "./commands/records.ts";
import type { baselineCommand, runCommand } from "./commands/run.ts";

// The options of the library's functions, from the flags of the commands. The package has these types written out, with
// the description of each flag: scripts/declarations.mjs.

/** `dry-run` as options name it: `dryRun`. */
type CamelCase<Name> = Name extends `${infer First}-${infer Rest}` ? `${First}${Capitalize<CamelCase<Rest>>}` : Name;

type Single<Flag> = Flag extends { type: "boolean" }
  ? boolean
  : Flag extends { number: true }
    ? number
    : Flag extends { choices: readonly (infer Choice)[] }
      ? Choice
      : string;
type Value<Flag> = Flag extends { array: true } ? Single<Flag> | readonly Single<Flag>[] : Single<Flag>;

/** What has no meaning in a program: the form of the output, and flags that print something else. */
type LeftOut = "json" | "format" | "explain" | "dry-run" | "rules" | "action" | "watch" | "yes" | "env" | "env-file";

type Members<All> = {
  [Name in Exclude<keyof All, LeftOut> as All[Name] extends { demandOption: true } ? CamelCase<Name> : never]: Value<
    All[Name]
  >;
} & {
  [Name in Exclude<keyof All, LeftOut> as All[Name] extends { demandOption: true } ? never : CamelCase<Name>]?:
    | Value<All[Name]>
    | undefined;
};
type OptionsOf<Command> =
  Command extends DefinedCommand<infer Positionals, infer Flags> ? Members<Positionals & Flags> : never;

export type BaselineOptions = OptionsOf<typeof baselineCommand>;
export type BlameOptions = OptionsOf<typeof blameCommand>;
export type CompareOptions = OptionsOf<typeof compareCommand>;
export type DoctorOptions = OptionsOf<typeof doctorCommand>;
export type ImportOptions = OptionsOf<typeof importCommand>;
export type ImproveOptions = OptionsOf<typeof improveCommand>;
export type InitOptions = OptionsOf<typeof initCommand>;
export type JudgeOptions = OptionsOf<typeof judgeCommand>;
export type LintOptions = OptionsOf<typeof lintCommand>;
export type MergeOptions = OptionsOf<typeof mergeCommand>;
export type ProbeOptions = OptionsOf<typeof probeCommand>;
export type RunOptions = OptionsOf<typeof runCommand>;
export type SearchOptions = OptionsOf<typeof searchCommand>;
export type ShowOptions = OptionsOf<typeof showCommand>;
export type ToolsOptions = OptionsOf<typeof toolsCommand>;
export type VariantsOptions = OptionsOf<typeof variantsCommand>;

/** The options that `evals.config.*` can set for a project. */
export type ConfigOptions = Omit<
  RunOptions,
  "paths" | "skill" | "case" | "accept" | "resume" | "retryBroken" | "nightly" | "changed" | "cache"
>;
