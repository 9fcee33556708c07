import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { formatJsonPath } from "../../base/jsonSchema/walk.ts";
import { EvalsError, exitCodes, type Place, type Problem, usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import type { Path } from "../../base/types/json.ts";
import { type Level, type LintSettings, lintSettingsSchema, type Profile } from "../../base/types/lint.ts";
import type { Suite } from "../../base/types/suite.ts";
import { isUnavailable, suggestDoctor } from "../../experiments/workspace/servers.ts";
import { readParsed } from "../../input/parsing/read.ts";
import { toolRules, unknownToolRules } from "../probe/plan/rules.ts";
import { describeRegistration, type ServerTarget, type SuiteTarget, type ToolListTarget } from "../targets.ts";
import { listServer } from "../tools.ts";
import type { LintSubject, Settings } from "./rule.ts";
import { explainUnknownRule, rules } from "./rules/index.ts";
import { describeToolList, readToolList, type ToolList } from "./toolSubjects.ts";

/** The subjects to lint, problems that kept something from being linted, and warnings. */
export type Collected = { subjects: LintSubject[]; problems: Problem[]; warnings: Problem[] };

/** What every collector needs. `settings` apply to all subjects, in order of precedence. */
export type CollectContext = { io: Io; settings: readonly Settings[] };

export const nothing: Collected = { subjects: [], problems: [], warnings: [] };

export function joinCollected(parts: readonly Collected[]): Collected {
  return {
    subjects: parts.flatMap(({ subjects }) => subjects),
    problems: parts.flatMap(({ problems }) => problems),
    warnings: parts.flatMap(({ warnings }) => warnings),
  };
}

/** The problems of a target that could not be linted, which does not stop the others. */
export function collectFailure({ problems }: EvalsError, place?: Place): Collected {
  return { ...nothing, problems: problems.map((problem) => ({ ...(place && { place }), ...problem })) };
}

type PlacedSuite = { suite: Suite; own: Settings; place(path: Path): Place };

/**
 * The suites of a target, and the tools of its server or list, to which the settings of all these suites apply. Tools are
 * taken as sent, even if clients would reject the list. If a server cannot be listed, that is a problem, and its suites
 * are still linted. Throws EvalsError for mistakes in files.
 */
export async function collectTools(target: ServerTarget | ToolListTarget, context: CollectContext): Promise<Collected> {
  const { io } = context;
  const suites = await Promise.all(target.suites.map((suite) => placeSuite(suite, io)));
  const settings = mergeSettings(
    context.settings,
    suites.map(({ own }) => own),
  );
  if (target.kind === "tool list") {
    const { names, tools, ...list } = await readToolList(target.file, { settings, hasSuites: suites.length > 0 }, io);
    return joinCollected([
      collectSuites(suites, context, list.problems.length === 0 ? { names, tools } : undefined),
      { ...nothing, ...list },
    ]);
  }
  const { registration } = target;
  const via =
    registration && suites.length === 0 ? registration.host.place([registration.name]) : suites[0]?.place(["server"]);
  const entry = registration && suites.length === 0 ? [describeEntry(registration, context)] : [];
  try {
    const { name: server, warnings, ...listed } = await listServer(target, io);
    const { names, tools, ...list } = describeToolList({
      server,
      ...listed,
      settings,
      hasSuites: suites.length > 0,
      ...(via && { via }),
    });
    const known = list.problems.length === 0 ? { names, tools } : undefined;
    return joinCollected([
      { ...nothing, subjects: entry },
      collectSuites(suites, context, known),
      { ...list, warnings: [...warnings] },
    ]);
  } catch (error) {
    // What is wrong with an entry is reported by the rules for entries.
    if (!(error instanceof EvalsError) || (error.exitCode === exitCodes.usage && !registration)) throw error;
    const failure = isUnavailable(error) ? suggestDoctor(error, target.flags) : error;
    return joinCollected([
      { ...nothing, subjects: entry },
      collectSuites(suites, context),
      collectFailure(failure, via),
    ]);
  }
}

/** A suite without a server. */
export async function collectSuite({ suite }: SuiteTarget, context: CollectContext): Promise<Collected> {
  return collectSuites([await placeSuite(suite, context.io)], context);
}

async function placeSuite(suite: Suite, io: Io): Promise<PlacedSuite> {
  const { place } = await readParsed(resolve(io.cwd, suite.file), suite.file);
  const own = placeSettings(suite.lint ?? {}, (path) => place(["lint", ...path]));
  return { suite, own, place };
}

/** Flags override suites, and suites override the file of the project. */
function mergeSettings([flags = {}, ...project]: readonly Settings[], own: readonly Settings[]): Settings[] {
  return [flags, ...own, ...project];
}

/** The subjects for suites. `list`: the tools of their server, if known. */
function collectSuites(
  suites: readonly PlacedSuite[],
  { settings }: CollectContext,
  list?: Pick<ToolList, "names" | "tools">,
): Collected {
  const subjects = suites.map(({ suite, own, place }): LintSubject => {
    return {
      kind: "suites",
      subject: { suite, ...(list && { tools: list.names, listed: list.tools }) },
      names: [],
      settings: mergeSettings(settings, [own]),
      where: (at) => {
        const [key, index] = at;
        const ofCase = key === "cases" && typeof index === "number" ? suite.cases[index]?.place : undefined;
        return { path: formatJsonPath(at), ...(ofCase ?? place(at)) };
      },
    };
  });
  return { ...nothing, subjects };
}

function describeEntry(
  registration: NonNullable<ServerTarget["registration"]>,
  { io, settings }: CollectContext,
): LintSubject {
  const { host, name } = registration;
  return {
    kind: "host entries",
    subject: describeRegistration(registration, io),
    names: [name],
    settings,
    where: (at) => ({ server: name, path: formatJsonPath(at), ...host.place([name, ...at]) }),
  };
}

const projectFile = "evals/lint.yaml";
const levels = lintSettingsSchema.shape.severities.unwrap().valueType.options;

/** The settings of flags: items like `name-length=error`, and a profile. */
export type SettingFlags = { severity?: readonly string[] | undefined; profile?: Profile | undefined };

/** The settings that apply to all subjects: those of the flags, then those of evals/lint.yaml. Throws EvalsError. */
export async function readSettings({ severity = [], profile }: SettingFlags, io: Io): Promise<Settings[]> {
  const flags = { severities: Object.fromEntries(severity.map(parseSeverity)), ...(profile && { profile }) };
  const kind = await stat(resolve(io.cwd, projectFile)).catch(() => undefined);
  if (!kind) return [flags];
  const { loadLintSettings } = await import("../../input/suites/load.ts");
  const { settings, place } = await loadLintSettings(projectFile, io);
  return [flags, placeSettings(settings, place)];
}

/** Settings with the places of their suppressions. Throws EvalsError for every unknown rule in them. */
function placeSettings(
  { ignore = [], severities = {}, profile }: LintSettings,
  place: (path: Path) => Place,
): Settings {
  const named = [
    ...ignore.map(({ rule }, at): [string, Path] => [rule, ["ignore", at, "rule"]]),
    ...Object.keys(severities).map((rule): [string, Path] => [rule, ["severities", rule]]),
  ];
  const problems = named.flatMap(([rule, path]): Problem[] => {
    const wrong = explainUnknown(rule);
    return wrong ? [{ severity: "error", ...wrong, place: place(path) }] : [];
  });
  if (problems.length > 0) throw new EvalsError(problems);
  return {
    severities,
    ...(profile && { profile }),
    ignore: ignore.map((one, at) => ({ ...one, place: place(["ignore", at]) })),
  };
}

const probeRules = new Set([...toolRules, ...unknownToolRules].map(({ id }) => id));

/** Undefined for the rules of lint and probe, because the settings are for both. */
function explainUnknown(rule: string): ReturnType<typeof explainUnknownRule> {
  return probeRules.has(rule) ? undefined : explainUnknownRule(rule, rules);
}

function parseSeverity(flag: string): [string, Level] {
  const [rule = "", given] = flag.split("=");
  const level = levels.find((one) => one === given);
  if (level === undefined)
    throw usageError(`--severity ${flag} is not valid.`, `Write --severity <rule>=${levels.join("|")}.`);
  const wrong = explainUnknown(rule);
  if (wrong) throw usageError(wrong.message, wrong.hint);
  return [rule, level];
}
