import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { EvalsError, type Place, type Problem, usageError } from "../base/types/errors.ts";
import type { Io } from "../base/types/io.ts";
import type { Path } from "../base/types/json.ts";
import {
  type Level,
  type LintSettings,
  lintSettingsSchema,
  type Profile,
  type RuleInfo,
  type Settings,
  type Suppression,
} from "../base/types/lint.ts";
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
  const { settings, place } = await loadLintSettings(projectFile, io);
  return [flags, placeSettings(settings, place)];
}

/** Settings with the places of their suppressions. Throws EvalsError for every unknown rule in them. */
export function placeSettings(
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

/** Flags override suites, and suites override the file of the project. */
export function mergeSettings([flags = {}, ...project]: readonly Settings[], own: readonly Settings[]): Settings[] {
  return [flags, ...own, ...project];
}

/** The level that the first settings with one give, else that of the rule; off if the rule is of another profile. */
export function readLevel(rule: Pick<RuleInfo, "id" | "severity" | "profile">, settings: readonly Settings[]): Level {
  for (const { severities = {} } of settings) {
    const level = Object.hasOwn(severities, rule.id) ? severities[rule.id] : undefined;
    if (level !== undefined) return level;
  }
  const profile = settings.find((one) => one.profile !== undefined)?.profile;
  return rule.profile === undefined || rule.profile === profile ? rule.severity : "off";
}

/** Whether a suppression applies to this name. Without `tool` it applies to everything. */
export function isSuppressing({ tool }: Suppression, name: string | undefined): boolean {
  return tool === undefined || (name !== undefined && matchesPattern(tool, name));
}

/** Matches a pattern in which `*` matches any text, in linear time. */
export function matchesPattern(pattern: string, name: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return name === pattern;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (const piece of rest) {
    const found = name.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}
