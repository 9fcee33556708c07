import { basename, dirname, resolve } from "node:path";
import { type ExitCode, exitCodes, formatProblem, type Problem, usageError } from "../../errors.ts";
import { catalogue } from "../../lint/catalogue.ts";
import { confusablePairs } from "../../lint/confusable.ts";
import { lint as lintTargets } from "../../lint/lint.ts";
import type { ToolsetSubject } from "../../lint/rule.ts";
import { rules } from "../../lint/rules/index.ts";
import { lintJson, lintText } from "../../reports/lint.ts";
import { lintGithub } from "../../reports/lintGithub.ts";
import { rulesMarkdown, rulesText } from "../../reports/lintRules.ts";
import { sarif } from "../../reports/sarif.ts";
import { discover } from "../../suites/discover.ts";
import { type LintReport, severitySchema } from "../../types/lint.ts";
import type { Io } from "../io.ts";
import type { LintFlags } from "../lint.ts";
import { commandSpec } from "./lint/commandLine.ts";
import { configTargets } from "./lint/config.ts";
import { type Gathered, type Gathering, missing, together } from "./lint/gathered.ts";
import { commonSettings } from "./lint/settings.ts";
import { skillTargets } from "./lint/skills.ts";
import { suiteTargets } from "./lint/suites.ts";
import { fileTools, liveTools } from "./lint/tools.ts";
import { versionTarget } from "./lint/versions.ts";
import { isUnavailable } from "./servers.ts";
import { version } from "./version.ts";

const displayOf = ({ colour, width, unicode }: Io) => ({ colour, width, unicode });

/** `evals lint`: gathers what there is to lint, runs the rules, prints what they found. Throws EvalsError. */
export async function lint(flags: LintFlags, io: Io): Promise<ExitCode> {
  const format = flags.json ? "json" : flags.format;
  if (flags.rules) return printRules(format, io);
  if (format === "markdown")
    throw usageError("--format markdown is for --rules only", "Take table, json, sarif or github.");
  const gathered = await gather(flags, { io, settings: await commonSettings(flags.severity ?? [], io) });
  if (io.signal.aborted) return io.signalExitCode();
  const report = await reportOf(gathered, flags, io);
  const display = displayOf(io);
  if (format === "json") io.out(lintJson(report));
  else if (format === "sarif") io.out(sarif(report, { rules: catalogue(rules), version }));
  else io.out(format === "github" ? lintGithub(report, display) : lintText(report, display));
  // The log of a workflow obeys commands on both streams: what is quoted here stands in the report, made safe.
  if (format !== "github") for (const problem of asides(gathered, report)) io.err(`${formatProblem(problem)}\n`);
  return report.exitCode as ExitCode;
}

function printRules(format: LintFlags["format"], io: Io): ExitCode {
  const list = catalogue(rules);
  if (format === "sarif" || format === "github")
    throw usageError(`--rules cannot be printed as ${format}`, "Take table, json or markdown.");
  const texts = {
    table: () => rulesText(list, displayOf(io)),
    json: () => `${JSON.stringify({ rules: list }, null, 2)}\n`,
    markdown: () => rulesMarkdown(list),
  };
  io.out(texts[format]());
  return exitCodes.passed;
}

/** Everything that the flags name; without a flag that names anything, the suites under `evals/`. */
async function gather(flags: LintFlags, gathering: Gathering): Promise<Gathered> {
  const { io, settings } = gathering;
  const { paths = [], server = [], url = [], tools = [], skills = [], config = [] } = flags;
  const named = [server, url, tools, skills, config].some((list) => list.length > 0);
  const servers = [...server.map(commandSpec), ...url.map((one) => ({ url: one }))];
  const live = servers.map((spec) =>
    liveTools(spec, { dir: io.cwd, settings, io }).then(
      ({ gathered }) => gathered,
      (error: unknown) => {
        if (isUnavailable(error)) return missing(error);
        throw error;
      },
    ),
  );
  return together(
    await Promise.all([
      ...(paths.length > 0 || !named ? [pathTargets(paths, gathering)] : []),
      ...live,
      ...tools.map(async (file) => (await fileTools(file, settings, io)).gathered),
      ...skills.map((dir) => skillTargets(dir, gathering)),
      ...config.map((file) => configTargets(file, gathering)),
    ]),
  );
}

/** The suites and skill packages that paths mean. */
async function pathTargets(paths: readonly string[], gathering: Gathering): Promise<Gathered> {
  const { files, packages } = await discover(paths, gathering.io.cwd);
  if (files.length + packages.length === 0)
    throw usageError(
      `nothing to lint under ${paths.join(", ") || "evals/"}`,
      "Give a suite or a skill package, or say what to lint with --server, --url, --tools, --skills or --config.",
    );
  const folders = new Map<string, string[]>();
  for (const path of packages) {
    const dir = resolve(gathering.io.cwd, path);
    folders.set(dirname(dir), [...(folders.get(dirname(dir)) ?? []), basename(dir)]);
  }
  return together([
    await suiteTargets(files, gathering),
    ...(await Promise.all([...folders].map(([dir, names]) => skillTargets(dir, gathering, names)))),
  ]);
}

/** What the rules say of it. A failed threshold goes before what could not be linted. */
async function reportOf({ targets, problems }: Gathered, flags: LintFlags, io: Io): Promise<LintReport> {
  const { failOn, against } = flags;
  const lists = targets.flatMap((target) => (target.kind === "toolsets" ? [target] : []));
  const versions = against === undefined ? undefined : await versionTarget(against, lists, io);
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
