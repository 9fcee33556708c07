import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { EvalsError, exitCodes, type Location, type Problem, printProblem, usageError } from "../base/types/errors.ts";
import { type LintSettings, lintSettingsSchema, type Settings, type Severity } from "../base/types/finding.ts";
import type { Io } from "../base/types/io.ts";
import type { Path } from "../base/types/json.ts";
import { version } from "../experiments/workspace/version.ts";
import { folderInRepository } from "../input/parsing/folders.ts";
import type { Blocks } from "../reports/document.ts";
import { type FindingList, findingSarif, listVerdicts, severityOrder } from "../reports/findings.ts";
import { githubReport } from "../reports/github.ts";
import { junit } from "../reports/junit.ts";
import { printJson } from "../reports/result.ts";
import { renderTerminal } from "../reports/terminal.ts";
import { explainUnknownRule, rules } from "./lint/rules/index.ts";
import { toolRules, unknownToolRules } from "./probe/plan/rules.ts";

const projectFile = "evals/lint.yaml";
const levels = lintSettingsSchema.shape.severities.unwrap().valueType.options;

type SettingFlags = { severity?: readonly string[] | undefined; profile?: Settings["profile"] | undefined };

/** The settings that apply to all subjects: those of the flags, then those of evals/lint.yaml. Throws EvalsError. */
export async function readSettings({ severity = [], profile }: SettingFlags, io: Io): Promise<Settings[]> {
  const flags = { severities: Object.fromEntries(severity.map(parseSeverity)), ...(profile && { profile }) };
  const kind = await stat(resolve(io.cwd, projectFile)).catch(() => undefined);
  if (!kind) return [flags];
  const { loadLintSettings } = await import("../input/suites/load.ts");
  const { settings, location } = await loadLintSettings(projectFile, io);
  return [flags, locateSettings(settings, location)];
}

/** Settings with the places of their suppressions. Throws EvalsError for every unknown rule in them. */
export function locateSettings(settings: LintSettings, location: (path: Path) => Location): Settings {
  const { ignore = [], severities = {}, profile } = settings;
  const named = [
    ...ignore.map(({ rule }, at): [string, Path] => [rule, ["ignore", at, "rule"]]),
    ...Object.keys(severities).map((rule): [string, Path] => [rule, ["severities", rule]]),
  ];
  const problems = named.flatMap(([rule, path]): Problem[] => {
    const wrong = explainUnknown(rule);
    return wrong ? [{ severity: "error", ...wrong, location: location(path) }] : [];
  });
  if (problems.length > 0) throw new EvalsError(problems);
  return {
    severities,
    ...(profile && { profile }),
    ignore: ignore.map((one, at) => ({ ...one, location: location(["ignore", at]) })),
  };
}

const probeRules = new Set([...toolRules, ...unknownToolRules].map(({ id }) => id));

/** Undefined for the rules of lint and probe, because the settings are for both. */
function explainUnknown(rule: string): ReturnType<typeof explainUnknownRule> {
  return probeRules.has(rule) ? undefined : explainUnknownRule(rule, rules);
}

function parseSeverity(flag: string) {
  const [rule = "", given] = flag.split("=");
  const level = levels.find((one) => one === given);
  if (level === undefined)
    throw usageError(`--severity ${flag} is not valid.`, `Write --severity <rule>=${levels.join("|")}.`);
  const wrong = explainUnknown(rule);
  if (wrong) throw usageError(wrong.message, wrong.hint);
  return [rule, level] as const;
}

/** Flags override suites, and suites override the file of the project. */
export function mergeSettings([flags = {}, ...project]: readonly Settings[], own: readonly Settings[]): Settings[] {
  return [flags, ...own, ...project];
}

/** Failed for a finding of at least `failOn`, else incomplete if something could not be inspected. */
export function decideExitCode(counts: Record<Severity, number>, failOn: Severity, isComplete: boolean) {
  const isFailed = severityOrder.slice(0, severityOrder.indexOf(failOn) + 1).some((severity) => counts[severity] > 0);
  if (isFailed) return exitCodes.failed;
  return isComplete ? exitCodes.passed : exitCodes.incomplete;
}

/** The forms of a report with findings. `json`: the same as `format: "json"`. */
export type FormOptions = { format: "terminal" | "json" | "sarif" | "github" | "junit"; json: boolean };

/** A report with findings. `report`: what `--json` prints. `warnings`: of no finding, for the log. */
type Inspected = {
  report: object;
  document(options: { isWhole: boolean }): Blocks;
  list: FindingList;
  warnings: readonly Problem[];
};

/** Prints what an inspection found in one form, and its problems. */
export function printFindings({ format, json }: FormOptions, inspected: Inspected, io: Io): void {
  const { report, document, list, warnings } = inspected;
  if (json || format === "json") printJson(report, document({ isWhole: true }), io);
  else if (format === "sarif") io.out(findingSarif(list, version, folderInRepository(io.cwd)));
  else if (format === "junit") io.out(junit(listVerdicts(list)));
  else if (format === "github")
    io.out(githubReport(document({ isWhole: true }), listVerdicts(list), io, folderInRepository(io.cwd)));
  else io.out(renderTerminal(document({ isWhole: false }), io));
  // GitHub runs workflow commands from both streams, so in its format all problems are in the report, escaped.
  if (format !== "github" || json) [...warnings, ...list.problems].forEach(printProblem(io));
}
