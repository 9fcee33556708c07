import { resolve } from "node:path";
import { schedule } from "../../asking/trials/schedule.ts";
import { EvalsError, type ExitCode, exitCodes, formatProblem } from "../../base/types/errors.ts";
import type { ExecutionPolicy } from "../../base/types/execution.ts";
import type { Io } from "../../base/types/io.ts";
import { asciiJson } from "../../reports/escape.ts";
import { renderTerminal } from "../../reports/terminal.ts";
import { type LiveSpec, resolveServer } from "../../servers/spec.ts";
import { registrationRules } from "../lint/rules/registration.ts";
import { callFlag, shellTemplate, shellWord } from "../shell.ts";
import {
  describeRegistration,
  hideSecrets,
  resolveTargets,
  type ServerTarget,
  selectServers,
  type TargetOptions,
} from "../targets.ts";
import { diagnose, type ServerFacts } from "./diagnosis/diagnose.ts";
import type { DoctorReport, Examined, ExaminedHost } from "./diagnosis/report.ts";
import { doctorDocument } from "./doctorReport.ts";
import { examineHost } from "./host.ts";
import { isSlowStart, nothing, type Observed, observe, observeAgain } from "./observe.ts";

/** The options of `evals doctor`. `timeout` is in seconds. */
export type DoctorOptions = Omit<TargetOptions, "tools" | "skills"> & {
  execute: ExecutionPolicy;
  timeout: number;
  json: boolean;
  host?: string[] | undefined;
};

/** How many servers are started at the same time. */
const concurrency = 4;

/**
 * `evals doctor`: examines every server and host that the options name, and prints what is wrong with each. Throws
 * EvalsError.
 */
export async function doctor(options: DoctorOptions, io: Io): Promise<ExitCode> {
  const { host: asked = [] } = options;
  const namesServers = [options.paths, options.server, options.url, options.config].some((list) => list?.length);
  // Only a host is examined if no servers are named.
  const isHostOnly = asked.length > 0 && !namesServers;
  const resolved = isHostOnly
    ? { targets: [], warnings: [] }
    : await resolveTargets(options, io, { distractors: true });
  const { servers, warnings } = isHostOnly ? { servers: [], warnings: [] } : selectServers(resolved.targets);
  const examined = await examineAll(servers, options, io);
  const hosts: ExaminedHost[] = [];
  for (const one of asked) hosts.push(await examineHost(one, servers, io));
  if (io.signal.aborted) return io.signalExitCode();
  const all = [...examined, ...hosts];
  const healthy = all.filter((one) => one.healthy).length;
  const unhealthy = all.length - healthy;
  const ok = unhealthy === 0;
  const exitCode = ok ? exitCodes.passed : exitCodes.failed;
  const report: DoctorReport = {
    servers: examined,
    ...(hosts.length > 0 && { hosts }),
    healthy,
    unhealthy,
    ok,
    exitCode,
  };
  io.out(options.json ? `${asciiJson(report)}\n` : renderTerminal(doctorDocument(report), io));
  for (const problem of [...resolved.warnings, ...warnings]) io.err(`${formatProblem(problem)}\n`);
  return exitCode;
}

/** Starts, lists and calls servers. Does not throw for anything that a server does. */
async function examineAll(servers: readonly ServerTarget[], options: DoctorOptions, io: Io): Promise<Examined[]> {
  const { execute, timeout } = options;
  const prepared = await Promise.all(servers.map(async (target) => ({ target, ...(await resolveEntry(target, io)) })));
  const settingsFor = (name: string, dir: string) => ({ name, dir, startMs: timeout * 1000, execute, io });
  const observed: Observed[] = prepared.map(() => nothing);
  await schedule(prepared.entries(), concurrency, io.signal, async ([at, { target, resolved }]) => {
    if (resolved) observed[at] = await observe(resolved.spec, settingsFor(target.name, resolved.dir));
  });
  // Servers that start at the same time slow each other down, so a slow start counts only if the server is slow alone too.
  for (const [at, { target, resolved }] of prepared.entries()) {
    const before = observed[at] ?? nothing;
    if (servers.length > 1 && resolved && isSlowStart(before) && !io.signal.aborted)
      observed[at] = await observeAgain(resolved.spec, before, settingsFor(target.name, resolved.dir));
  }
  return prepared.map(({ target, resolved, written, entry }, at): Examined => {
    const { name, via } = target;
    const { stages, seen } = observed[at] ?? nothing;
    const { starts, direct } = written ? describeStart(written.spec, written.dir) : { starts: "", direct: "" };
    const show = { direct, lint: direct, ...describeCommands(target, execute) };
    const diagnoses = diagnose({ show, entry, ...stages });
    const healthy = resolved !== undefined && diagnoses.every(({ severity }) => severity !== "error");
    return { name, starts, ...(via !== undefined && { via }), healthy, ...seen, diagnoses };
  });
}

/**
 * The server to connect to (`resolved`), the same without the values of variables (`written`), which may be secret, and the
 * faults of its entry in a host configuration. The first two are absent if the entry cannot be used.
 */
async function resolveEntry(target: ServerTarget, io: Io) {
  const { registration, server, dir, name } = target;
  const entry = registration ? [...checkRegistration(registration, io)] : [];
  try {
    const resolved = await resolveServer(server, name, dir, io.env, registration?.host);
    const written =
      "config" in server ? await resolveServer(server, name, dir, {}, registration?.host) : { spec: server, dir };
    // The rules for entries report unset variables themselves.
    if (!registration)
      for (const { message, hint = "" } of resolved.warnings)
        entry.push({ id: "unset-variable", severity: "warning", message: `${message.replace(/\.$/, "")}.`, fix: hint });
    return { resolved, written, entry };
  } catch (error) {
    if (!(error instanceof EvalsError)) throw error;
    const [{ message, hint: fix = "" } = { message: "" }] = error.problems;
    if (!entry.some(({ severity }) => severity === "error"))
      entry.push({ id: "entry-unreadable", severity: "error", message, fix });
    return { entry };
  }
}

function* checkRegistration(
  registration: NonNullable<ServerTarget["registration"]>,
  io: Io,
): Generator<ServerFacts["entry"][number]> {
  const subject = describeRegistration(registration, io);
  for (const { id, severity, check } of registrationRules)
    for (const { message, fix } of check(subject)) yield { id, severity, message, fix };
}

/** The commands that lint the server and call one of its tools, unless they would print a secret. */
function describeCommands(
  { server, flags, via, isDistractor }: ServerTarget,
  execute: ExecutionPolicy,
): Partial<ServerFacts["show"]> {
  if ("url" in server && via === undefined && hideSecrets(server.url) !== server.url) return {};
  const lint = `evals lint ${flags}`;
  // `evals probe` does not call distractors.
  if (isDistractor) return { lint };
  const permission = execute === "always" ? " --execute always" : "";
  return { lint, call: (tool) => `evals probe ${flags} ${callFlag(tool, {})}${permission}` };
}

/** How to start or request a server by hand, without the values of variables and headers, which may be secret. */
function describeStart(spec: LiveSpec, dir: string): { starts: string; direct: string } {
  if ("url" in spec) {
    const url = hideSecrets(spec.url);
    const headers = Object.keys(spec.headers ?? {}).map((name) => ` -H '${name}: ...'`);
    const method = spec.transport === "sse" ? "" : " -X POST";
    return { starts: url, direct: `curl -i${method}${headers.join("")} ${shellWord(url)}` };
  }
  const line = [spec.command, ...(spec.args ?? [])].map(shellTemplate).join(" ");
  const variables = Object.keys(spec.env ?? {}).map((name) => `${name}=... `);
  return { starts: line, direct: `cd ${shellWord(resolve(dir, spec.cwd ?? "."))} && ${variables.join("")}${line}` };
}
