import { executable } from "../../asking/scoring/tools.ts";
import { defined, sumOf } from "../../base/collections.ts";
import { deriveSeed } from "../../base/stats/random.ts";
import { printableLines } from "../../base/text/display.ts";
import { EvalsError, type ExitCode, exitCodes, type Problem, usageError } from "../../base/types/errors.ts";
import { matchesPattern, type Profile, type Settings, type Severity } from "../../base/types/finding.ts";
import { defaultPolicy, type ExecutionPolicy, isWithin } from "../../base/types/flagValues.ts";
import { askConsent, type Io, isCi } from "../../base/types/io.ts";
import { isJsonObject, type JsonObject, parseJsonText } from "../../base/types/json.ts";
import { isCallable, type OfferedTool } from "../../base/types/tool.ts";
import { isUnavailable, suggestDoctor } from "../../experiments/workspace/cases.ts";
import { count, some } from "../../reports/format.ts";
import { openSource, type Source } from "../../servers/source.ts";
import { decideExitCode, type FormOptions, mergeSettings, printFindings, readSettings } from "../findings.ts";
import { listAlternatives } from "../parameters.ts";
import { forEachTarget, resolveTargets, type ServerTarget, selectServers, type TargetOptions } from "../targets.ts";
import { planProbes, probeUnknownTool } from "./plan/plan.ts";
import type { Probe, ProbedTool } from "./plan/probe.ts";
import { checkRules, toolRules, unknownToolRules } from "./plan/rules.ts";
import { type ProbeCall, type ProbeReport, probeDocument, type ServerReport, unknownToolRow } from "./report.ts";
import {
  compileTool,
  describeAnswer,
  judgeRule,
  makeFinding,
  makeProbe,
  makeUnknownTool,
  maxRepeats,
  type PlannedTool,
  ProbeSession,
  type ProbeTarget,
  type Probing,
  probeTool,
} from "./tool.ts";

/** The options of `evals probe`. `timeout` is in seconds. */
export type ProbeOptions = Omit<TargetOptions, "tools" | "skills"> &
  FormOptions & {
    /** Patterns; a tool that is named in full is called whatever the policy is. */
    tool?: string[] | undefined;
    execute?: ExecutionPolicy | undefined;
    runs: number;
    seed?: number | undefined;
    timeout: number;
    severity?: string[] | undefined;
    failureThreshold: Severity;
    profile?: Profile | undefined;
    call?: string[] | undefined;
    yes: boolean;
  };

const defaultTimeout = 10;

/** A server with its probes planned, which is open; or why it could not be opened. */
type Opened = { planned?: PlannedServer; problems: readonly Problem[]; warnings: readonly Problem[] };
type PlannedServer = {
  source: Source;
  session: ProbeSession;
  target: ProbeTarget;
  report: ServerReport;
  tools: readonly OfferedTool[];
  plan: readonly PlannedTool[];
};
type Job = { server: ServerTarget; execute: ExecutionPolicy; flags: string; settings: readonly Settings[] };

/** `evals probe`: prints the calls that it plans, asks for consent, makes them, and prints the findings. */
export async function probe(options: ProbeOptions, io: Io): Promise<ExitCode> {
  const resolved = await resolveTargets(options, io);
  const { servers, warnings } = selectServers(resolved.targets);
  const settings = await readSettings(options, io);
  const jobs = servers.map((server) => planJob(server, settings, options));
  if (options.call && jobs.length !== 1)
    throw usageError(
      `--call needs exactly one server, but ${jobs.length} are named.`,
      "Name one with --server, --url, --config and --name, or one suite.",
    );
  const seed = options.seed ?? Math.floor(Math.random() * 2 ** 31);
  const opened = await forEachTarget(jobs, io, (job) => openServer(job, jobs.length, { options, seed, io }));
  try {
    if (!options.call) await askForConsent(opened, options, io);
    const probed = await forEachTarget(opened, io, (one) => probeServer(one, options, io));
    const report = makeReport(probed, seed, options, io);
    const { problems, rules, failOn, exitCode } = report;
    const findings = report.servers.flatMap((one) => one.findings);
    const list = { command: "probe", findings, problems, rules, failOn, exitCode };
    const logged = [...resolved.warnings, ...warnings, ...opened.flatMap((one) => one.warnings)];
    printFindings(options, { report, document: () => probeDocument(report), list, warnings: logged }, io);
    return report.exitCode as ExitCode;
  } finally {
    await Promise.all(opened.map(({ planned }) => planned?.source.close()));
  }
}

/** How a server is probed. The policy is that of the options, otherwise the strictest of its suites. */
function planJob(server: ServerTarget, settings: readonly Settings[], options: ProbeOptions): Job {
  const { timeout, profile } = options;
  const { suites } = server;
  const strictest = suites.find(({ execute }) => suites.every((other) => isWithin(execute, other.execute)));
  const own = suites.map(({ lint = {} }) => defined(lint));
  const limits = `${profile ? ` --profile ${profile}` : ""}${timeout === defaultTimeout ? "" : ` --timeout ${timeout}`}`;
  return {
    server,
    execute: options.execute ?? strictest?.execute ?? (suites.length > 0 ? "never" : defaultPolicy),
    flags: server.flags + limits,
    settings: mergeSettings(settings, own),
  };
}

/** Starts a server and plans its probes. With several, one that fails is a problem and does not stop the others. */
async function openServer(
  { server: { name: shown, dir, server: spec, flags: words }, execute, flags, settings }: Job,
  total: number,
  { options, seed, io }: { options: ProbeOptions; seed: number; io: Io },
): Promise<Opened> {
  try {
    const server = { ...spec, callTimeoutMs: options.timeout * 1000 };
    const source = await openSource({ name: shown, server, distractors: [], dir }, io);
    const { server: first, warnings } = source;
    if (!first) throw new Error("A server target must be live.");
    const tools = source.tools.filter(isCallable);
    const name = tools[0]?.server ?? first.name;
    const report = { server: name, calls: 0, starts: 1, tools: [], skipped: [], findings: [], answers: [] };
    const plan = options.call ? [] : planTools(tools, report, execute, options, seed);
    const session = new ProbeSession(source, first, io.signal);
    const target = { name, flags, settings };
    return { planned: { source, session, target, report, tools, plan }, problems: [], warnings };
  } catch (error) {
    if (io.signal.aborted && error instanceof EvalsError) return { problems: [], warnings: [] };
    if (isUnavailable(error)) return { problems: suggestDoctor(error, words).problems, warnings: [] };
    if (total > 1 && error instanceof EvalsError) return { problems: error.problems, warnings: [] };
    throw error;
  }
}

/** The probes of each tool that may be called: one that `--tool` names, or the policy permits. Others are reported. */
function planTools(
  tools: readonly OfferedTool[],
  report: ServerReport,
  execute: ExecutionPolicy,
  { tool: patterns, runs }: ProbeOptions,
  seed: number,
): PlannedTool[] {
  const wanted = tools.filter(({ name }) => patterns?.some((pattern) => matchesPattern(pattern, name)) ?? true);
  const plan = wanted.flatMap((tool): PlannedTool[] => {
    const skip = (reason: string) => {
      report.skipped.push({ tool: tool.name, reason });
      return [];
    };
    const permitted = executable(tool, patterns?.includes(tool.name) ? [tool.name] : execute);
    const compiled = permitted.yes ? compileTool(tool) : permitted.reason;
    if (typeof compiled === "string") return skip(compiled);
    const probes = planProbes(compiled, { seed: deriveSeed(seed, tool.name), runs });
    if (probes.length === 0) return skip("no valid input could be generated from its inputSchema");
    return [{ row: tool.name, tool: compiled, probes }];
  });
  if (execute === "never" && plan.length === 0) return plan;
  const names = new Set(tools.map(({ name }) => name));
  let unknown = `no_such_tool_${deriveSeed(seed, "unknown tool").toString(36)}`;
  while (names.has(unknown)) unknown += "_";
  return [...plan, { row: unknownToolRow, tool: makeUnknownTool(unknown), probes: [probeUnknownTool()] }];
}

/** Prints the calls that are planned, and asks whether to make them. Throws a usage error if nobody consents. */
async function askForConsent(opened: readonly Opened[], { yes }: ProbeOptions, io: Io): Promise<void> {
  const planned = opened.flatMap((one) => (one.planned && listCalled(one.planned).length > 0 ? one.planned : []));
  for (const one of planned) {
    const names = listCalled(one);
    const calls = sumOf(one.plan, ({ probes }) => probes.length);
    const all = `${count(calls, "call")} of ${count(names.length, "tool")} (${some(names, 20)})`;
    const more = `at most ${maxRepeats} more for each finding`;
    io.err(printableLines(`Probing ${one.report.server}: ${all}, and ${more}.`));
  }
  if (planned.length === 0 || yes || isCi(io.env)) return;
  const answer = await askConsent("Make these calls?", io);
  if (answer === undefined) throw usageError("These calls need your consent.", "Add --yes.");
  if (!answer) throw usageError("No call was made.", "Choose tools with --tool or --execute.");
}

const listCalled = ({ plan }: PlannedServer) => plan.flatMap(({ row }) => (row === unknownToolRow ? [] : [row]));

/** Makes the planned calls, or those of `--call`. Keeps what was found when the server cannot be restarted. */
async function probeServer({ planned, ...opened }: Opened, options: ProbeOptions, io: Io): Promise<Probed> {
  if (!planned) return opened;
  const { report, session, target, tools, plan } = planned;
  const probing = { session, target, signal: io.signal };
  try {
    if (options.call) await makeCalls(options.call, tools, report, probing);
    for (const tool of plan) if (!io.signal.aborted) await probeTool(tool, report, probing);
    const isCalled = options.call !== undefined || listCalled(planned).length > 0;
    return { server: report, problems: isCalled || io.signal.aborted ? [] : [nothingCalled(report)] };
  } catch (error) {
    if (!(error instanceof EvalsError) || error.exitCode === exitCodes.usage) throw error;
    return { server: report, problems: io.signal.aborted ? [] : error.problems };
  } finally {
    Object.assign(report, { calls: session.calls, starts: session.starts });
  }
}

type Probed = { server?: ServerReport; problems: readonly Problem[] };

/** The problem of a server without a called tool, which must not pass. */
function nothingCalled({ server, skipped }: ServerReport): Problem {
  if (skipped.length === 0) {
    const hint = "Check that it is the right server, and that --tool matches one of its tools.";
    return { severity: "error", message: `"${server}" lists no tool to probe.`, hint };
  }
  const hint = "Annotate tools that only read as read-only, or name with --tool those that may be called.";
  return { severity: "error", message: `No tool of "${server}" was called.`, hint };
}

const catalog = [...new Set([...toolRules, ...unknownToolRules])].map(({ id, severity, why, docs }) => {
  return { id, severity, why, docs };
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
  const ok = exitCode === exitCodes.passed;
  return { seed, servers, problems, counts, rules: catalog, failOn, stopped, ok, exitCode };
}

/**
 * Makes the calls of `--call` in order, and adds answers and findings to the report. Whoever writes a call permits it.
 * Throws EvalsError for one that is malformed.
 */
async function makeCalls(
  texts: readonly string[],
  tools: readonly OfferedTool[],
  report: ServerReport,
  { session, target, signal }: Probing,
): Promise<void> {
  const found = new Set<string>();
  for (const call of texts.map(parseCall)) {
    const { tool, probe } = planCall(call, tools);
    const seen = await makeProbe(session, probe, tool);
    if (signal.aborted) return;
    report.answers.push({ ...call, result: describeAnswer(seen.answer) });
    for (const { rule, result } of checkRules(seen)) {
      const key = JSON.stringify([rule.id, tool.name]);
      const isOff = judgeRule(rule, tool.name, target).level === "off";
      if (typeof result === "string" || isOff || found.has(key)) continue;
      found.add(key);
      report.findings.push(makeFinding(rule, result.violation, seen, target, "not tried"));
    }
  }
}

function parseCall(text: string): ProbeCall {
  const value = parseJsonText(text);
  const { tool, arguments: args = {} } = isJsonObject(value) ? value : {};
  if (typeof tool === "string" && isJsonObject(args)) return { tool, arguments: args };
  throw usageError(`--call ${text} is not a call.`, `Write it as --call '{"tool": "echo", "arguments": {}}'.`);
}

/** The probe that a call is. An unlisted tool is called too, to check how the server refuses it. */
function planCall({ tool: name, arguments: base }: ProbeCall, tools: readonly OfferedTool[]) {
  const listed = tools.find((one) => one.name === name);
  if (!listed) return { tool: makeUnknownTool(name), probe: { ...probeUnknownTool(), base } };
  const compiled = compileTool(listed);
  // Without a schema that compiles, all arguments count as valid.
  const tool = typeof compiled === "string" ? makeUnknownTool(name) : compiled;
  const probe: Probe = { ...classifyArguments(tool, base), base, args: (now) => now };
  return { tool, probe };
}

function classifyArguments({ allows, inputSchema }: ProbedTool, args: JsonObject): Pick<Probe, "kind" | "parameter"> {
  if (allows(args)) return { kind: "valid" };
  const required = listAlternatives(inputSchema, inputSchema)[0]?.required;
  const missing = Array.isArray(required) ? required.find((name) => !Object.hasOwn(args, String(name))) : undefined;
  return missing === undefined ? { kind: "wrong type" } : { kind: "missing", parameter: String(missing) };
}
