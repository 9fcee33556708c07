import { setMaxListeners } from "node:events";
import { knownSecrets, redactValue } from "./base/secrets/secrets.ts";
import { EvalsError, exitCodes } from "./base/types/errors.ts";
import type { LintReport } from "./base/types/finding.ts";
import type { Io } from "./base/types/io.ts";
import type { RunSummary } from "./base/types/run.ts";
import type { SuiteFile, SuiteSettings } from "./base/types/suiteFile.ts";
import type { Tool } from "./base/types/tool.ts";
import type { Trial } from "./base/types/trial.ts";
import type { blameJson } from "./experiments/blame/report.ts";
import type { comparisonJson } from "./experiments/compare/report.ts";
import type { improveJson } from "./experiments/improve/report.ts";
import type { JudgeCheckSummary } from "./experiments/judge/report.ts";
import type { History } from "./experiments/run/report/runs.ts";
import type { variantsJson } from "./experiments/variants/report.ts";
import type { DoctorReport } from "./inspection/doctor/report.ts";
import type { ImportReport } from "./inspection/import.ts";
import type { ProbeReport } from "./inspection/probe/report.ts";
import type { SearchReport } from "./inspection/search/evaluate.ts";
import type { SkillListing } from "./inspection/tools.ts";
import type { VerifyReport } from "./inspection/verify.ts";
import type {
  BaselineOptions,
  BlameOptions,
  CompareOptions,
  ConfigOptions,
  DoctorOptions,
  ImportOptions,
  ImproveOptions,
  JudgeOptions,
  LintOptions,
  MergeOptions,
  ProbeOptions,
  RunOptions,
  SearchOptions,
  ShowOptions,
  ToolsOptions,
  VariantsOptions,
} from "./options.ts";

// The library: each function does what the command of its name does, and returns the object that the command prints
// with --json. Importing it does nothing else; the rest of the program is loaded by the first call.

export type {
  AssertionInput,
  AssertionResult,
  CustomModel,
  CustomReply,
  CustomRequest,
  MatcherInput,
  Reporter,
  ReporterInput,
} from "./base/types/custom.ts";
export type { Location, Problem } from "./base/types/errors.ts";
export type { CaseSummary, SuiteSummary } from "./base/types/run.ts";
export type * from "./options.ts";
export type { DoctorReport, LintReport, ProbeReport, RunSummary, SearchReport, Tool };
export { EvalsError };

/** A suite as it is written in a file. Its paths are relative to `cwd`. */
export type Suite = SuiteFile;

/** The content of `evals.config.*`: defaults of a project, what is different in CI, and settings of suites by name. */
export type Config = ConfigOptions & { ci?: ConfigOptions; suites?: Record<string, SuiteSettings> };

/** Returns its argument. It gives an `evals.config.ts` or `.js` its types. */
export const defineConfig = (config: Config): Config => config;

/** What a function uses of the process. Each part can be given instead. */
export type Context = {
  /** The folder that paths are relative to and that may contain `evals.config.*`. Default: the working directory. */
  cwd?: string | undefined;
  /** Keys of models and variables of suites. Default: `process.env`. */
  env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Variables for the servers that are started, which inherit only a few of `env`, such as PATH. */
  serverEnv?: Readonly<Record<string, string>> | undefined;
  /** Stops the call. What has been recorded is kept. */
  signal?: AbortSignal | undefined;
  /** Gets the warnings that the command prints to standard error. */
  onMessage?: ((text: string) => void) | undefined;
};

/** What every result has, as the command exits and prints it; `ok`: whether `exitCode` is 0. */
export type Result<T> = T & { ok: boolean; exitCode: number; headline?: string; next?: string };

/**
 * Runs suites and skill evals against a model, records the run, and returns its summary.
 *
 * All functions read `evals.config.*` of `cwd`, as the program does; options win. They reject with an `EvalsError`,
 * which has a list of problems, for wrong input. A run that failed or is incomplete is not an error: see `exitCode`.
 * @param options the flags of `evals run`; `suites`: suites as objects, instead of files
 */
export const run = (options: RunOptions & Context & { suites?: readonly Suite[] } = {}) =>
  call<RunSummary>("run", options);

/** Compares two recorded runs, or a baseline and a run; no model is called. */
export const compare = (options: CompareOptions & Context) =>
  call<ReturnType<typeof comparisonJson>>("compare", options);

/** Finds the changed description that broke a case, and confirms it by reverting it. */
export const blame = (options: BlameOptions & Context = {}) =>
  call<{ blames: readonly ReturnType<typeof blameJson>[] }>("blame", options);

/** Tests other wordings of the tools, and reports whether one should be adopted. */
export const variants = (options: VariantsOptions & Context = {}) =>
  call<ReturnType<typeof variantsJson>>("variants", options);

/** Searches for a better wording on train cases, and proves one on held-out cases. */
export const improve = (options: ImproveOptions & Context) => call<ReturnType<typeof improveJson>>("improve", options);

/** Combines the shards of a run into one run, and returns its summary. */
export const merge = (options: MergeOptions & Context) => call<RunSummary>("merge", options);

/** Checks that the accepted baselines match the current tools and cases; no model is called. */
export const verifyBaselines = (options: BaselineOptions & Context = {}) =>
  call<VerifyReport>("baseline", options, { action: "verify" });

/** Reads the transcripts of trials: of the case that `target` names, or of those that did not pass. */
export const showTrials = (options: ShowOptions & Context = {}) =>
  call<{ run: string; trials: Trial[] }>("show", { failed: options.target === undefined, ...options });

/** Reads the trend of each suite and model over all runs. */
export const showHistory = (options: ShowOptions & Context = {}) =>
  call<{ histories: History[] }>("show", options, { history: true });

/** Measures how far a judge model agrees with human labels. */
export const checkJudge = (options: JudgeOptions & Context) =>
  call<JudgeCheckSummary>("judge", options, { action: "check" });

/** Lists the tools of one server. */
export const listTools = (options: ToolsOptions & Context = {}) => call<{ tools: Tool[] }>("tools", options);

/** Lists the skill packages that a host shows to its model, and those that it does not. */
export const listSkills = (options: ToolsOptions & Context = {}) =>
  call<SkillListing>("tools", options, { skills: true });

/** Converts the cases of other eval tools to suites. */
export const importCases = (options: ImportOptions & Context = {}) =>
  call<{ imports: ImportReport[] }>("import", options);

/** Checks tools, skills, suites and host configuration against conventions; no model is called without a judge. */
export const lint = (options: LintOptions & Context = {}) => call<LintReport>("lint", options);

/** Measures whether a tool search finds the tools and skills that suites expect; no model is called. */
export const search = (options: SearchOptions & Context = {}) => call<SearchReport>("search", options);

/** Calls tools with inputs generated from their schemas, and checks the results; no model is called. */
export const probe = (options: ProbeOptions & Context = {}) => call<ProbeReport>("probe", options);

/** Starts servers, lists their tools, calls harmless ones, and explains how to fix what fails. */
export const doctor = (options: DoctorOptions & Context = {}) => call<DoctorReport>("doctor", options);

/** Calls a command, and returns the object that it prints with --json. */
async function call<T>(
  name: string,
  options: Context & { suites?: readonly Suite[] },
  fixed: object = {},
): Promise<Result<T>> {
  const { cwd = process.cwd(), env = process.env, serverEnv, signal, onMessage = () => {}, suites, ...given } = options;
  const { callCommand, commands } = await import("./commands/index.ts");
  const { findCommand, readOptions } = await import("./commands/commandLine.ts");
  const { addCommandLine, redact } = knownSecrets(env);
  addCommandLine(
    Object.values<unknown>(given)
      .flat()
      .filter((one) => typeof one === "string"),
  );
  // Each trial listens to the signal, which may be the caller's own.
  const own = new AbortController();
  setMaxListeners(0, own.signal);
  const stop = () => own.abort(signal?.reason);
  if (signal?.aborted) stop();
  signal?.addEventListener("abort", stop, { once: true });
  let messages = "";
  const io: Io = {
    out: () => {},
    err: (text) => {
      messages += redact(text);
      onMessage(redact(text));
    },
    outIsTerminal: false,
    errIsTerminal: false,
    width: 100,
    color: false,
    unicode: true,
    env,
    ...(serverEnv && { serverEnv }),
    cwd,
    isTrusted: true,
    signal: own.signal,
    signalExitCode: () => exitCodes.incomplete,
  };
  try {
    const command = findCommand(name, commands);
    const read = readOptions(command, { ...given, ...fixed, json: true });
    const { result, exitCode, error } = await callCommand(command, read, suites ? { inline: suites } : {}, io);
    if (error) throw error;
    if (result) return redactValue(result, io) as Result<T>;
    const message = messages.trim().replace(/^error: /, "") || "There is no result.";
    throw new EvalsError({ severity: "error", message }, exitCode);
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}
