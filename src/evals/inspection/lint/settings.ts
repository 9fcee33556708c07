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

/** What holds for everything that is linted: the flags, then the project's file if there is one. Throws EvalsError. */
export async function commonSettings(flags: readonly string[], io: Io): Promise<Settings[]> {
  const severities = Object.fromEntries(flags.map(severityFlag));
  const kind = await stat(resolve(io.cwd, projectFile)).catch(() => undefined);
  if (!kind) return [{ severities }];
  const { loadLintSettings } = await import("../../suites/load.ts");
  const { settings, place } = await loadLintSettings(projectFile, io);
  return [{ severities }, placed(settings, place)];
}

/** The settings with the places of their suppressions. Throws EvalsError for every rule in them that there is not. */
export function placed({ ignore = [], severities = {} }: LintSettings, place: (path: Path) => Place): Settings {
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

function severityFlag(flag: string): [string, Level] {
  const [rule = "", given] = flag.split("=");
  const level = levels.find((one) => one === given);
  if (level === undefined)
    throw usageError(`--severity ${flag} sets no severity`, `Write --severity <rule>=${levels.join("|")}.`);
  const wrong = unknownRule(rule, rules);
  if (wrong) throw usageError(wrong.message, wrong.hint);
  return [rule, level];
}
