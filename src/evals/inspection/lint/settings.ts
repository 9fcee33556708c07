import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { EvalsError, type Place, type Problem, usageError } from "../../errors.ts";
import type { Io } from "../../io.ts";
import type { Path } from "../../jsonSchema/paths.ts";
import type { Settings } from "../../lint/rule.ts";
import { rules, unknownRule } from "../../lint/rules.ts";
import { type Level, type LintSettings, lintSettingsSchema } from "../../types/lint.ts";

const projectFile = "evals/lint.yaml";
const levels = lintSettingsSchema.shape.severities.unwrap().valueType.options;

/** The settings that apply to everything: those of `--severity`, then those of evals/lint.yaml. Throws EvalsError. */
export async function readSettings(flags: readonly string[], io: Io): Promise<Settings[]> {
  const severities = Object.fromEntries(flags.map(parseSeverity));
  const kind = await stat(resolve(io.cwd, projectFile)).catch(() => undefined);
  if (!kind) return [{ severities }];
  const { loadLintSettings } = await import("../../suites/load.ts");
  const { settings, place } = await loadLintSettings(projectFile, io);
  return [{ severities }, placeSettings(settings, place)];
}

/** Settings with the places of their suppressions. Throws EvalsError for every unknown rule in them. */
export function placeSettings({ ignore = [], severities = {} }: LintSettings, place: (path: Path) => Place): Settings {
  const named = [
    ...ignore.map(({ rule }, at): [string, Path] => [rule, ["ignore", at, "rule"]]),
    ...Object.keys(severities).map((rule): [string, Path] => [rule, ["severities", rule]]),
  ];
  const problems = named.flatMap(([rule, path]): Problem[] => {
    const wrong = unknownRule(rule, rules);
    return wrong ? [{ severity: "error", ...wrong, place: place(path) }] : [];
  });
  if (problems.length > 0) throw new EvalsError(problems);
  return { severities, ignore: ignore.map((one, at) => ({ ...one, place: place(["ignore", at]) })) };
}

function parseSeverity(flag: string): [string, Level] {
  const [rule = "", given] = flag.split("=");
  const level = levels.find((one) => one === given);
  if (level === undefined)
    throw usageError(`--severity ${flag} is not valid.`, `Write --severity <rule>=${levels.join("|")}.`);
  const wrong = unknownRule(rule, rules);
  if (wrong) throw usageError(wrong.message, wrong.hint);
  return [rule, level];
}
