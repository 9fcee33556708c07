import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { EvalsError, type Location, type Problem, usageError } from "../base/types/errors.ts";
import {
  type Level,
  type LintSettings,
  lintSettingsSchema,
  type Profile,
  type Settings,
} from "../base/types/finding.ts";
import type { Io } from "../base/types/io.ts";
import type { Path } from "../base/types/json.ts";
import { explainUnknownRule, rules } from "./lint/rules/index.ts";
import { toolRules, unknownToolRules } from "./probe/plan/rules.ts";

// The settings of rules, of lint and of probe: levels, profile and suppressions.

const projectFile = "evals/lint.yaml";
const levels = lintSettingsSchema.shape.severities.unwrap().valueType.options;

/** The settings of flags: items like `name-length=error`, and a profile. */
export type SettingFlags = { severity?: readonly string[] | undefined; profile?: Profile | undefined };

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
export function locateSettings(
  { ignore = [], severities = {}, profile }: LintSettings,
  location: (path: Path) => Location,
): Settings {
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

function parseSeverity(flag: string): [string, Level] {
  const [rule = "", given] = flag.split("=");
  const level = levels.find((one) => one === given);
  if (level === undefined)
    throw usageError(`--severity ${flag} is not valid.`, `Write --severity <rule>=${levels.join("|")}.`);
  const wrong = explainUnknown(rule);
  if (wrong) throw usageError(wrong.message, wrong.hint);
  return [rule, level];
}

/** Flags override suites, and suites override the file of the project. */
export function mergeSettings([flags = {}, ...project]: readonly Settings[], own: readonly Settings[]): Settings[] {
  return [flags, ...own, ...project];
}
