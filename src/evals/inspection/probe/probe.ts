import { executable } from "../../asking/scoring/tools.ts";
import { deriveSeed } from "../../base/stats/random.ts";
import { EvalsError, type ExitCode, exitCodes, type Problem, usageError } from "../../base/types/errors.ts";
import { defaultPolicy, describePolicy, type ExecutionPolicy } from "../../base/types/execution.ts";
import type { Severity } from "../../base/types/finding.ts";
import type { Io } from "../../base/types/io.ts";
import { matchesPattern, type Profile, type Settings } from "../../base/types/lint.ts";
import { isCallable, type OfferedTool } from "../../base/types/tool.ts";
import { isUnavailable, suggestDoctor } from "../../experiments/workspace/servers.ts";
import { openSource } from "../../servers/source.ts";
import { decideExitCode, type FormOptions, printFindings } from "../findings.ts";
import { readSettings } from "../settings.ts";
import { shellWord } from "../shell.ts";
import { forEachTarget, resolveTargets, type ServerTarget, selectServers, type TargetOptions } from "../targets.ts";
import { makeCalls } from "./calls.ts";
import { planProbes, probeUnknownTool } from "./plan/plan.ts";
import type { Probe, ProbedTool, ProbeRule } from "./plan/probe.ts";
import { toolRules, unknownToolRules } from "./plan/rules.ts";
import { type ProbeReport, probeDocument, type ServerReport, unknownToolRow } from "./report.ts";
import { compileTool, makeScratch, makeUnknownTool, openSession } from "./session.ts";
import { newTally, type ProbeTarget, type Probing, probeTool, reportTool } from "./tool.ts";

/** The options of `evals probe`. `timeout` is in seconds. */
export type ProbeOptions = Omit<TargetOptions, "tools" | "skills"> &
  FormOptions & {
    tool?: string[] | undefined;
    execute?: ExecutionPolicy | undefined;
    runs: number;
    seed?: number | undefined;
    timeout: number;
    maxCalls: number;
    severity?: string[] | undefined;
    failureThreshold: Severity;
    profile?: Profile | undefined;
    call?: string[] | undefined;
  };

const defaultTimeout = 10;

type Probed = { server?: ServerReport; problems: readonly Problem[]; warnings: readonly Problem[] };
type Context = { options: ProbeOptions; seed: number; io: Io };
type Job = Omit<ProbeTarget, "name"> & { server: ServerTarget };

/** `evals probe`: probes every server that the options name, and prints the findings. Throws EvalsError. */
export async function probe(options: ProbeOptions, io: Io): Promise<ExitCode> {
  const resolved = await resolveTargets(options, io);
  const { servers, warnings } = selectServers(resolved.targets);
  const settings = await readSettings(options, io);
  const jobs = servers.flatMap((server) => planJobs(server, settings, options));
  if (options.call && jobs.length !== 1)
    throw usageError(
      `--call needs exactly one server, but ${jobs.length} are named.`,
      "Name one with --server, --url, --config and --name, or one suite.",
    );
  const seed = options.seed ?? Math.floor(Math.random() * 2 ** 31);
  const probed = await forEachTarget(jobs, io, (job) => tryServer(job, jobs.length, { options, seed, io }));
  const report = makeReport(probed, seed, options, io);
  const { problems, rules, failOn, exitCode } = report;
  const findings = report.servers.flatMap((one) => one.findings);
  const list = { command: "probe", findings, problems, rules, failOn, exitCode };
  const logged = [...resolved.warnings, ...warnings, ...probed.flatMap((one) => one.warnings)];
  printFindings(options, { report, document: () => probeDocument(report), list, warnings: logged }, io);
  return report.exitCode as ExitCode;
}

/** One job per execution policy of a server: that of the options, otherwise those of its suites. */
function planJobs(
  server: ServerTarget,
  [flags = {}, ...project]: readonly Settings[],
  { execute, timeout, profile }: ProbeOptions,
): Job[] {
  const own = server.suites.map(({ lint: { ignore, severities, profile: named } = {} }): Settings => {
    return { ...(ignore && { ignore }), ...(severities && { severities }), ...(named && { profile: named }) };
  });
  const settings = [flags, ...own, ...project];
  const limits = `${profile ? ` --profile ${profile}` : ""}${execute ? ` --execute ${describePolicy(execute)}` : ""}${timeout === defaultTimeout ? "" : ` --timeout ${timeout}`}`;
  const suites = new Map(server.suites.map((suite) => [execute ?? suite.execute, suite]));
  if (suites.size === 0) return [{ server, execute: execute ?? defaultPolicy, flags: server.flags + limits, settings }];
  return [...suites].map(([policy, { file }]) => {
    return { server, execute: policy, flags: shellWord(file) + limits, settings };
  });
}

/** Probes a server. With several, one that fails is a problem and does not stop the others. */
async function tryServer(job: Job, total: number, context: Context): Promise<Probed> {
  try {
    return await probeServer(job, context);
  } catch (error) {
    if (context.io.signal.aborted && error instanceof EvalsError) return { problems: [], warnings: [] };
    if (isUnavailable(error)) return { problems: suggestDoctor(error, job.server.flags).problems, warnings: [] };
    if (total > 1 && error instanceof EvalsError) return { problems: error.problems, warnings: [] };
    throw error;
  }
}

/** The maximum number of leftover files that a report names. */
const maxLeft = 20;

/**
 * Probes a server. If only harmless tools are called, it runs in a scratch folder, or in its own folder if it does not
 * start there.
 */
async function probeServer(job: Job, context: Context): Promise<Probed> {
  const { server: target, execute } = job;
  const scratch = execute !== "all" ? makeScratch(target.server, target.dir) : undefined;
  if (!scratch) return await probeStarted(job, context);
  try {
    const probed = await probeStarted({ ...job, server: { ...target, server: scratch.server } }, context);
    const { server } = probed;
    return { ...probed, ...(server && { server: { ...server, filesLeft: scratch.listFiles(maxLeft) } }) };
  } catch (error) {
    if (!isUnavailable(error) || context.io.signal.aborted) throw error;
    return await probeStarted(job, context);
  } finally {
    scratch.remove();
  }
}

/** Starts a server, probes it and stops it. Keeps what was found when the server cannot be restarted. */
async function probeStarted({ server: target, ...job }: Job, context: Context): Promise<Probed> {
  const { io, options } = context;
  const spec = { ...target.server, callTimeoutMs: options.timeout * 1000 };
  const source = await openSource(
    { name: target.name, server: spec, distractors: [], dir: target.dir },
    io.env,
    io.signal,
  );
  const { warnings, server: first } = source;
  const tools = source.tools.filter(isCallable);
  if (!first) throw new Error("A server target must be live.");
  const name = tools[0]?.server ?? first.name;
  const report: ServerReport = {
    ...{ server: name, calls: 0, starts: 1 },
    ...{ tools: [], skipped: [], findings: [], answers: [] },
  };
  const session = openSession(source, first, io.signal);
  const probing: Probing = { session, target: { name, ...job }, maxCalls: options.maxCalls, signal: io.signal };
  try {
    if (options.call) await makeCalls(options.call, tools, report, probing);
    else await probeTools(tools, report, probing, context);
    const isCalled = options.call !== undefined || report.tools.some(({ tool }) => tool !== unknownToolRow);
    return { server: report, problems: isCalled || io.signal.aborted ? [] : [nothingCalled(report)], warnings };
  } catch (error) {
    if (!(error instanceof EvalsError) || error.exitCode === exitCodes.usage) throw error;
    return { server: report, problems: io.signal.aborted ? [] : error.problems, warnings };
  } finally {
    Object.assign(report, { calls: session.calls, starts: session.starts });
    await source.close();
  }
}

/** The problem of a server without a called tool, which must not pass. */
function nothingCalled({ server, skipped }: ServerReport): Problem {
  if (skipped.length === 0)
    return {
      severity: "error",
      message: `"${server}" lists no tool to probe.`,
      hint: "Check that it is the right server, and that --tool matches one of its tools.",
    };
  return {
    severity: "error",
    message: `No tool of "${server}" was called.`,
    hint: "Annotate harmless tools as read-only, or name those that may be called with --execute.",
  };
}

async function probeTools(
  tools: readonly OfferedTool[],
  report: ServerReport,
  probing: Probing,
  { options, seed }: Context,
): Promise<void> {
  const { session, target, signal } = probing;
  const mayWrite: string[] = [];
  const probeOne = async (row: string, tool: ProbedTool, probes: readonly Probe[], rules?: readonly ProbeRule[]) => {
    const before = session.calls;
    const tally = newTally();
    try {
      await probeTool(tool, probes, tally, probing);
    } finally {
      report.tools.push(reportTool(row, session.calls - before, tally, target, rules));
      report.findings.push(...tally.findings.values());
    }
  };
  const wanted = tools.filter(({ name }) => options.tool?.some((pattern) => matchesPattern(pattern, name)) ?? true);
  for (const tool of wanted) {
    if (signal.aborted) return;
    const permitted = executable(tool, target.execute);
    const compiled = permitted.yes ? compileTool(tool) : permitted.reason;
    if (typeof compiled === "string") {
      report.skipped.push({ tool: tool.name, reason: compiled });
      continue;
    }
    const probes = planProbes(compiled, { seed: deriveSeed(seed, tool.name), runs: options.runs });
    if (probes.length === 0) {
      report.skipped.push({ tool: tool.name, reason: "no valid input could be generated from its inputSchema" });
      continue;
    }
    if (!compiled.readOnly) mayWrite.push(tool.name);
    await probeOne(tool.name, compiled, probes);
  }
  if (mayWrite.length > 0) report.mayWrite = mayWrite;
  if (target.execute === "never" || signal.aborted) return;
  const names = new Set(tools.map(({ name }) => name));
  let unknown = `no_such_tool_${deriveSeed(seed, "unknown tool").toString(36)}`;
  while (names.has(unknown)) unknown += "_";
  await probeOne(unknownToolRow, makeUnknownTool(unknown), [probeUnknownTool()], unknownToolRules);
}

/** Every rule that a report may name. */
const catalogue = [...new Set([...toolRules, ...unknownToolRules])].map(({ id, severity, why, docs, needs }) => {
  return { id, severity, why, docs, needs };
});

function makeReport(probed: readonly Probed[], seed: number, options: ProbeOptions, io: Io): ProbeReport {
  const failOn = options.failureThreshold;
  const servers = probed.flatMap(({ server }) => server ?? []);
  const problems = probed.flatMap((one) => one.problems);
  const findings = servers.flatMap((server) => server.findings.filter((one) => one.suppressed === undefined));
  const count = (severity: Severity) => findings.filter((one) => one.severity === severity).length;
  const counts = { error: count("error"), warning: count("warning"), info: count("info") };
  const stopped = io.signal.aborted;
  const exitCode = stopped ? io.signalExitCode() : decideExitCode(counts, failOn, problems.length === 0);
  return {
    ...{ seed, servers, problems, counts, rules: catalogue, failOn, stopped },
    ...{ ok: exitCode === exitCodes.passed, exitCode },
  };
}
