import type { LintFlags } from "../../commands/lint.ts";
import { type ExitCode, exitCodes, formatProblem, type Problem, usageError } from "../../errors.ts";
import type { Io } from "../../io.ts";
import { lint as lintTargets } from "../../lint/lint.ts";
import type { ToolsetSubject } from "../../lint/rule.ts";
import { confusablePairs } from "../../lint/rules/confusable.ts";
import { catalogue, rules } from "../../lint/rules.ts";
import { safeJson } from "../../reports/escape.ts";
import { githubLint } from "../../reports/github.ts";
import { lintDocument, rulesDocument } from "../../reports/lint.ts";
import { rulesMarkdown } from "../../reports/lintRules.ts";
import { sarif } from "../../reports/sarif.ts";
import { renderTerminal } from "../../reports/terminal.ts";
import { type LintReport, severitySchema } from "../../types/lint.ts";
import { version } from "../../version.ts";
import { commandSpec } from "./commandLine.ts";
import { type Gathered, type Gathering, together } from "./gathered.ts";
import { commonSettings } from "./settings.ts";
import { fileTools } from "./tools.ts";

/** `evals lint`: gathers what there is to lint, runs the rules, prints what they found. Throws EvalsError. */
export async function lint(flags: LintFlags, io: Io): Promise<ExitCode> {
  const format = flags.json ? "json" : flags.format;
  if (flags.rules) return printRules(format, io);
  if (format === "markdown")
    throw usageError("--format markdown is for --rules only", "Take table, json, sarif or github.");
  const judge = flags.judge === undefined ? undefined : await (await import("./judged.ts")).openJudging(flags, io);
  const listed = await gather(flags, { io, settings: await commonSettings(flags.severity ?? [], io) });
  const gathered = judge ? together([listed, await judge(listed.targets)]) : listed;
  if (io.signal.aborted) return io.signalExitCode();
  const report = await reportOf(gathered, flags, io);
  if (format === "json") io.out(safeJson(report, 2));
  else if (format === "sarif") io.out(sarif(report, { rules: catalogue(rules), version }));
  else io.out(format === "github" ? githubLint(report, io) : renderTerminal(lintDocument(report), io));
  // The log of a workflow obeys commands on both streams: what is quoted here stands in the report, made safe.
  if (format !== "github") for (const problem of asides(gathered, report)) io.err(`${formatProblem(problem)}\n`);
  return report.exitCode as ExitCode;
}

async function printRules(format: LintFlags["format"], io: Io): Promise<ExitCode> {
  const list = catalogue(rules);
  if (format === "sarif" || format === "github")
    throw usageError(`--rules cannot be printed as ${format}`, "Take table, json or markdown.");
  if (format === "markdown") io.out(rulesMarkdown(list, (await import("../../lint/examples.ts")).examples));
  else if (format === "json") io.out(`${JSON.stringify({ rules: list }, null, 2)}\n`);
  else io.out(renderTerminal(rulesDocument(list), io));
  return exitCodes.passed;
}

/** Everything that the flags name; without a flag that names anything, the suites under `evals/`. */
async function gather(flags: LintFlags, gathering: Gathering): Promise<Gathered> {
  const { paths = [], server = [], url = [], tools = [], skills = [], config = [] } = flags;
  const named = [server, url, tools, skills, config].some((list) => list.length > 0);
  const servers = [...server.map(commandSpec), ...url.map((one) => ({ url: one }))];
  // Each way to what is linted loads parsers and clients of its own: only those that are asked for.
  return together(
    await Promise.all([
      ...(paths.length > 0 || !named ? [(await import("./paths.ts")).pathTargets(paths, gathering)] : []),
      ...servers.map(async (one) => (await import("./live.ts")).serverTargets(one, gathering)),
      ...tools.map(async (file) => (await fileTools(file, gathering.settings, gathering.io)).gathered),
      ...skills.map(async (dir) => (await import("./skills.ts")).skillTargets(dir, gathering)),
      ...config.map(async (file) => (await import("./config.ts")).configTargets(file, gathering)),
    ]),
  );
}

/** What the rules say of it. A failed threshold goes before what could not be linted. */
async function reportOf({ targets, problems }: Gathered, flags: LintFlags, io: Io): Promise<LintReport> {
  const { failOn, against } = flags;
  const lists = targets.flatMap((target) => (target.kind === "toolsets" ? [target] : []));
  const versions =
    against === undefined ? undefined : await (await import("./versions.ts")).versionTarget(against, lists, io);
  const linted = lintTargets([...targets, ...(versions ? [versions.target] : [])], rules);
  const { error, warning, info } = linted.counts;
  const counts = { error, warning: warning + linted.unusedSuppressions.length, info };
  const failed = severitySchema.options
    .slice(0, severitySchema.options.indexOf(failOn) + 1)
    .some((severity) => counts[severity] > 0);
  const exitCode = failed ? exitCodes.failed : problems.length > 0 ? exitCodes.incomplete : exitCodes.passed;
  return {
    ...linted,
    problems: problems.map(({ message, hint, place }) => ({ message, ...(hint && { hint }), ...(place && { place }) })),
    ...(flags.confusable && { confusable: lists.flatMap(({ subject }) => pairsOf(subject)) }),
    ...(versions && { changes: versions.changes }),
    failOn,
    ok: exitCode === exitCodes.passed,
    exitCode,
  };
}

function pairsOf({ server, tools }: ToolsetSubject): NonNullable<LintReport["confusable"]> {
  return confusablePairs(tools).map(({ a, b, similarity, shared }) => ({
    ...{ server, a, b },
    similarity: Number(similarity.toFixed(4)),
    shared: [...shared],
  }));
}

/** What goes beside the findings: what could not be linted, and suppressions that suppress nothing. */
function asides({ problems, warnings }: Gathered, { unusedSuppressions }: LintReport): Problem[] {
  const unused = unusedSuppressions.map(({ rule, tool, reason, place }): Problem => {
    const message = `the suppression of ${rule}${tool === undefined ? "" : ` for ${tool}`} suppresses nothing`;
    const hint = `Remove it; it was there because: ${reason}`;
    return { severity: "warning", message, hint, ...(place && { place }) };
  });
  return [...warnings, ...problems, ...unused];
}
