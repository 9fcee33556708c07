import { defined } from "../../base/collections.ts";
import type { SearchableTool } from "../../base/search/document.ts";
import { listConfusablePairs } from "../../base/search/similarity.ts";
import { type ExitCode, exitCodes, type Problem, usageError } from "../../base/types/errors.ts";
import type { Finding, LintReport, Profile, Severity } from "../../base/types/finding.ts";
import type { Io } from "../../base/types/io.ts";
import type { Tool } from "../../base/types/tool.ts";
import { printJson } from "../../reports/result.ts";
import { renderTerminal } from "../../reports/terminal.ts";
import { decideExitCode, type FormOptions, printFindings, readSettings } from "../findings.ts";
import { describeNext, forEachTarget, resolveTargets, type TargetOptions } from "../targets.ts";
import { collectTools, compareVersions, describeToolList, joinCollected } from "./collect.ts";
import type { LintJudgeOptions } from "./judge.ts";
import { lintDocument, rulesDocument, rulesMarkdown } from "./lintReport.ts";
import { runRules } from "./rule.ts";
import { catalog, rules } from "./rules/index.ts";

type Format = FormOptions["format"] | "markdown";

/** The options of `evals lint`. `severity` has items like `name-length=error`. */
export type LintOptions = TargetOptions &
  LintJudgeOptions & {
    confusable: boolean;
    against?: string | undefined;
    severity?: string[] | undefined;
    failureThreshold: Severity;
    profile?: Profile | undefined;
    all: boolean;
    format: Format;
    json: boolean;
    rules: boolean;
  };

/** `evals lint`: runs the rules over everything that the options name, and prints the findings. Throws EvalsError. */
export async function lint(options: LintOptions, io: Io): Promise<ExitCode> {
  const format = options.json ? "json" : options.format;
  if (options.rules) return printRules(format, io);
  if (format === "markdown")
    throw usageError("--format markdown works only with --rules.", "Use terminal, json, sarif, github or junit.");
  const judge = options.judge === undefined ? undefined : await (await import("./judge.ts")).openJudging(options, io);
  const settings = await readSettings(options, io);
  const { targets, warnings } = await resolveTargets(options, io, { projectSkills: true });
  const context = { io, settings };
  const parts = await forEachTarget(targets, io, async (target) =>
    target.kind === "skills"
      ? (await import("./skills.ts")).collectSkills(target, context)
      : collectTools(target, context),
  );
  const listed = joinCollected([{ warnings }, ...parts]);
  const collected = judge ? joinCollected([listed, await judge(listed.subjects)]) : listed;
  if (io.signal.aborted) return io.signalExitCode();
  const skillFolders = targets.flatMap((one) => (one.kind === "skills" && one.isFound ? [one.dir] : []));
  const report = await makeReport(collected, skillFolders, options, io);
  // Infos are asked for where they affect the exit code, and as grades of the judge.
  const showsAll = options.all || options.judge !== undefined || report.failOn === "info";
  const { findings, failOn, exitCode } = report;
  const problems = [...collected.problems, ...describeUnused(report)];
  const list = { command: "lint", findings, problems, rules: catalog(rules), failOn, exitCode };
  const { ask: next } = await describeNext(options, targets, io);
  const document = ({ isWhole }: { isWhole: boolean }) => lintDocument(report, { isWhole: isWhole || showsAll, next });
  printFindings({ format, json: false }, { report, document, list, warnings: collected.warnings }, io);
  return exitCode as ExitCode;
}

/** What the rules find in a list of tools that no person is shown: errors and warnings, with the default settings. */
export function lintTools(tools: readonly Tool[], instructions: string | undefined): readonly Finding[] {
  const items: unknown[] = JSON.parse(JSON.stringify(tools));
  const { subjects } = describeToolList({ server: "", items, instructions, settings: [] });
  return runRules(subjects, rules).findings.filter(({ severity }) => severity !== "info");
}

async function printRules(format: Format, io: Io): Promise<ExitCode> {
  const list = catalog(rules);
  if (format === "sarif" || format === "github" || format === "junit")
    throw usageError(`--rules cannot be printed as ${format}.`, "Use terminal, json or markdown.");
  if (format === "markdown") io.out(rulesMarkdown(list));
  else if (format === "json") printJson({ rules: list }, rulesDocument(list), io);
  else io.out(renderTerminal(rulesDocument(list), io));
  return exitCodes.passed;
}

async function makeReport(
  { subjects, problems }: ReturnType<typeof joinCollected>,
  skillFolders: string[],
  options: LintOptions,
  io: Io,
): Promise<LintReport> {
  const { against } = options;
  const failOn = options.failureThreshold;
  const lists = subjects.flatMap((subject) => (subject.kind === "toolsets" ? [subject] : []));
  const packages = subjects.flatMap((subject) => (subject.kind === "skills" ? [subject.subject.package] : []));
  const skills = { server: "skills", tools: packages };
  const versions = against === undefined ? undefined : await compareVersions(against, lists, io);
  const linted = runRules([...subjects, ...(versions ? [versions.subject] : [])], rules);
  const { error, warning, info } = linted.counts;
  const counts = { error, warning: warning + linted.unusedSuppressions.length, info };
  const exitCode = decideExitCode(counts, failOn, problems.length === 0);
  return {
    ...linted,
    problems: problems.map(({ message, hint, location }) => {
      return { message, ...defined({ hint: hint || undefined, location }) };
    }),
    ...(skillFolders.length > 0 && { skillFolders }),
    ...(options.confusable && { confusable: [...lists.map(({ subject }) => subject), skills].flatMap(listConfusable) }),
    ...(versions && { changes: versions.changes }),
    failOn,
    ok: exitCode === exitCodes.passed,
    exitCode,
  };
}

function listConfusable({ server, tools }: { server: string; tools: readonly SearchableTool[] }) {
  return listConfusablePairs(tools).map(({ a, b, similarity, shared }) => {
    return { server, a, b, similarity: Number(similarity.toFixed(4)), shared: [...shared] };
  });
}

function describeUnused({ unusedSuppressions }: LintReport): Problem[] {
  return unusedSuppressions.map(({ rule, tool, reason, location }) => ({
    severity: "warning",
    message: `The suppression of ${rule}${tool === undefined ? "" : ` for ${tool}`} suppresses nothing.`,
    hint: `Remove it. Its reason was: ${reason}`,
    ...(location && { location }),
  }));
}
