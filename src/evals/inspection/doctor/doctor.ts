import { resolve } from "node:path";
import { defined } from "../../base/collections.ts";
import { startLoopback } from "../../base/network.ts";
import { shellWord } from "../../base/text/display.ts";
import { EvalsError, type ExitCode, exitCodes, messageOf, usageError } from "../../base/types/errors.ts";
import type { ExecutionPolicy } from "../../base/types/flagValues.ts";
import type { Io } from "../../base/types/io.ts";
import type { HostModel } from "../../base/types/model.ts";
import type { OfferedTool, Tool } from "../../base/types/tool.ts";
import { openModel } from "../../experiments/workspace/models.ts";
import { hostProfiles } from "../../servers/hostProfiles.ts";
import { type LiveSpec, resolveServer } from "../../servers/spec.ts";
import { checkRegistration } from "../conventions.ts";
import { type FormOptions, printFindings } from "../findings.ts";
import { callFlag, shellTemplate } from "../shell.ts";
import {
  describeNext,
  forEachTarget,
  hideSecrets,
  resolveTargets,
  type ServerTarget,
  selectServers,
  type TargetOptions,
} from "../targets.ts";
import { diagnose, type ServerFacts } from "./diagnosis/diagnose.ts";
import { isSlowStart, nothing, observe } from "./observe.ts";
import { type DoctorReport, doctorDocument, type Examined, type ExaminedHost } from "./report.ts";

/** The options of `evals doctor`. `timeout` is in seconds. */
export type DoctorOptions = Omit<TargetOptions, "tools" | "skills"> &
  FormOptions & {
    execute: ExecutionPolicy;
    timeout: number;
    host?: string[] | undefined;
  };

/** `evals doctor`: examines every server and host that the options name. Throws EvalsError. */
export async function doctor(options: DoctorOptions, io: Io): Promise<ExitCode> {
  const { host: asked = [] } = options;
  const namesServers = [options.paths, options.server, options.url, options.config].some((list) => list?.length);
  // Only a host is examined if no servers are named.
  const isHostOnly = asked.length > 0 && !namesServers;
  const { servers, warnings } = isHostOnly ? { servers: [], warnings: [] } : await findServers(options, io);
  const { examined, listed } = await examineAll(servers, options, io);
  const hosts: ExaminedHost[] = [];
  for (const one of asked) hosts.push(await examineHost(one, listed, io));
  if (io.signal.aborted) return io.signalExitCode();
  const all = [...examined, ...hosts];
  const unhealthy = all.filter((one) => !one.healthy).length;
  const exitCode = unhealthy === 0 ? exitCodes.passed : exitCodes.failed;
  const report: DoctorReport = {
    servers: examined,
    ...(hosts.length > 0 && { hosts }),
    healthy: all.length - unhealthy,
    unhealthy,
    ok: unhealthy === 0,
    exitCode,
  };
  const findings = all.flatMap((one) => one.findings);
  const list = { command: "doctor", findings, problems: [], rules: [], failOn: "error" as const, exitCode };
  const { lint, ask } = await describeNext(options, servers, io);
  const next = servers.length > 0 ? `Next: check the wording of the tools with ${lint}, or ${ask}.` : "";
  printFindings(options, { report, document: () => doctorDocument(report, next), list, warnings }, io);
  return exitCode;
}

async function findServers(options: DoctorOptions, io: Io) {
  const resolved = await resolveTargets(options, io, { distractors: true });
  const { servers, warnings } = selectServers(resolved.targets);
  return { servers, warnings: [...resolved.warnings, ...warnings] };
}

/** Starts, lists and calls servers. Does not throw for anything that a server does. */
async function examineAll(servers: readonly ServerTarget[], { execute, timeout }: DoctorOptions, io: Io) {
  const observeOne = async ({ target, resolved }: Prepared) => {
    if (!resolved) return nothing;
    const settings = { name: target.name, dir: resolved.dir, startMs: timeout * 1000, execute, io };
    return await observe(resolved.spec, settings);
  };
  const observed = await forEachTarget(servers, io, async (target) => {
    const prepared = await prepare(target, io);
    return { ...prepared, seen: await observeOne(prepared) };
  });
  // Servers that start at the same time slow each other down, so a slow start counts only if the server is slow alone
  // too.
  for (const one of observed)
    if (servers.length > 1 && isSlowStart(one.seen) && !io.signal.aborted) one.seen = await observeOne(one);
  const listed = observed.flatMap(({ target, seen: { about, listed, instructions } }): ListedServer[] => {
    if (listed?.kind !== "yes") return [];
    return [{ name: target.registration?.name ?? about?.name ?? target.name, tools: listed.tools, instructions }];
  });
  const examined = observed.map(({ target, written, resolved, entry, seen }): Examined => {
    const { name, via } = target;
    const { starts, direct } = written ? describeStart(written.spec, written.dir, io) : { starts: "", direct: "" };
    const show = { direct, lint: direct, ...describeCommands(target) };
    const location = { server: name, ...(via !== undefined && { via: { file: via } }) };
    const findings = diagnose({ show, entry, ...seen }).map((one) => ({ ...one, location }));
    const healthy = resolved !== undefined && findings.every(({ severity }) => severity !== "error");
    const { startMs, about, listMs, listed, calls, notCalled } = seen;
    const tools = listed?.kind === "yes" ? listed.tools.length : undefined;
    const called = calls.map(({ tool, outcome, ms }) => {
      return { tool, answered: outcome.kind === "result" && !outcome.result.isError, ms };
    });
    const measured = defined({ startMs, about, listMs, tools });
    return { name, starts, ...(via !== undefined && { via }), healthy, ...measured, called, notCalled, findings };
  });
  return { examined, listed };
}

type Resolved = { spec: LiveSpec; dir: string };

/** `written`: without the values of variables, which may be secret. Both are absent if `entry` cannot be used. */
type Prepared = { target: ServerTarget; resolved?: Resolved; written?: Resolved; entry: ServerFacts["entry"] };

async function prepare(target: ServerTarget, io: Io): Promise<Prepared> {
  const { registration, server, dir, name } = target;
  const entry = registration ? checkRegistration(registration, io) : [];
  try {
    const resolved = await resolveServer(server, name, dir, io, registration?.host);
    const written = await resolveServer(server, name, dir, undefined, registration?.host);
    // The rules for entries report unset variables themselves.
    const unset = (registration ? [] : resolved.warnings).map(({ message, hint: fix = "" }) => {
      return { rule: "unset-variable", severity: "warning" as const, message: `${message.replace(/\.$/, "")}.`, fix };
    });
    return { target, resolved, written, entry: [...entry, ...unset] };
  } catch (error) {
    if (!(error instanceof EvalsError)) throw error;
    const [{ message, hint: fix = "" } = { message: "" }] = error.problems;
    const isKnown = entry.some(({ severity }) => severity === "error");
    const unreadable = { rule: "entry-unreadable", severity: "error" as const, message, fix };
    return { target, entry: isKnown ? entry : [...entry, unreadable] };
  }
}

/** The commands that lint the server and call one of its tools, unless they would print a secret. */
function describeCommands({ server, flags, via, isDistractor }: ServerTarget): Partial<ServerFacts["show"]> {
  if ("url" in server && via === undefined && hideSecrets(server.url) !== server.url) return {};
  const lint = `evals lint ${flags}`;
  // `evals probe` does not call distractors.
  if (isDistractor) return { lint };
  return { lint, call: (tool) => `evals probe ${flags} ${callFlag(tool, {})}` };
}

/** How to start or request a server by hand, without the values of variables and headers, which may be secret. */
function describeStart(spec: LiveSpec, dir: string, { serverEnv }: Io): { starts: string; direct: string } {
  if ("url" in spec) {
    const url = hideSecrets(spec.url);
    const headers = Object.keys(spec.headers ?? {}).map((name) => ` -H '${name}: ...'`);
    const method = spec.transport === "sse" ? "" : " -X POST";
    return { starts: url, direct: `curl -i${method}${headers.join("")} ${shellWord(url)}` };
  }
  const line = [spec.command, ...(spec.args ?? [])].map(shellTemplate).join(" ");
  const variables = Object.keys({ ...spec.env, ...serverEnv }).map((name) => `${name}=... `);
  return { starts: line, direct: `cd ${shellWord(resolve(dir, spec.cwd ?? "."))} && ${variables.join("")}${line}` };
}

/** The hosts that can be examined, each with the id of a model in it. */
const examples = {
  "claude-code": "claude-code:claude-sonnet-5-5",
  codex: "codex:gpt-6.1-sol",
  copilot: "copilot:claude-sonnet-5-5",
  goose: "goose:anthropic/claude-sonnet-5-5",
} as const;

/** The variables of which a model in a host needs one, by its id. */
function listKeys(id: string): string[] {
  if (/^claude-code:/.test(id)) return ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"];
  return /^(?:copilot:claude-|goose:(?!openai\/))/.test(id) ? ["ANTHROPIC_API_KEY"] : ["OPENAI_API_KEY"];
}

/** What the provider on this machine answers to every request: what a host shows is in its first one. */
const refusal = "evals doctor asks no model";

type ListedServer = { name: string; tools: readonly Tool[]; instructions: string | undefined };

/**
 * Examines a host: whether it is installed and has credentials, whether it uses these servers, and what it shows of
 * their tools. Its provider is on this machine and refuses its requests, so nothing is spent. `asked` is a host or the
 * id of a model in it. Throws a usage error for an unknown host.
 */
async function examineHost(asked: string, servers: readonly ListedServer[], io: Io): Promise<ExaminedHost> {
  const key = asked.split(":", 1)[0] as keyof typeof examples;
  if (!Object.hasOwn(examples, key))
    throw usageError(`Unknown host "${asked}".`, `Use one of: ${Object.keys(examples).join(", ")}.`);
  const { title: name, version: pinned } = hostProfiles[key];
  const id = asked.includes(":") ? asked : examples[key];
  const keys = listKeys(id);
  const used = keys.find((variable) => io.env[variable]);
  const findings: ExaminedHost["findings"] = [];
  const report = (rule: string, message: string, fix: string) =>
    findings.push({ rule, severity: "error", message, fix, location: {} });
  if (used === undefined) {
    const names = keys.length > 1 ? "no credentials are set" : `${keys[0]} is not set`;
    report("host-not-signed-in", `${name} cannot reach its provider: ${names}.`, `Set ${keys.join(" or ")}.`);
  }
  const facts = { name, model: id, ...(used !== undefined && { credentials: used }) };
  const provider = await startLoopback((_, response) => {
    response
      .writeHead(400, { "content-type": "application/json" })
      .end(JSON.stringify({ error: { message: refusal } }));
  });
  try {
    const model = await openOffline(id, provider.url, io);
    const { claudeCode, codex, copilot, goose } = model.settings;
    const version = String(claudeCode ?? codex ?? copilot ?? goose);
    const tools = servers.flatMap(({ name, tools }) =>
      tools.map((tool): OfferedTool => ({ ...tool, server: name, origin: "server" })),
    );
    const instructions = servers.flatMap(({ name, instructions: text }) =>
      text === undefined ? [] : [{ server: name, text }],
    );
    const { outcome, shown } = await model.converse(
      {
        cell: { suite: "doctor", case: "doctor", arm: "head", model: id, trial: 1 },
        messages: [{ role: "user", content: "Say hello." }],
        exposure: "host",
        tools,
        instructions,
        skills: [],
        files: [],
        maxTurns: 1,
        execute: async () => ({ status: "skipped", reason: "no call is executed" }),
      },
      io.signal,
    );
    if (outcome.kind === "broken" && !outcome.message.includes(refusal)) {
      report("host-fails", `${outcome.message}.`, "Run the host by hand, or use the version that is documented.");
    }
    return { ...facts, version, pinned, healthy: findings.length === 0, ...(shown && { shown }), findings };
  } catch (error) {
    if (!(error instanceof EvalsError)) throw error;
    const [{ message, hint = "" } = { message: messageOf(error) }] = error.problems;
    report("host-unusable", message, hint);
    return { ...facts, healthy: false, findings };
  } finally {
    provider.http.closeAllConnections();
    provider.http.close();
  }
}

/** The host with the provider on this machine. It does not get the credentials of the user. */
async function openOffline(id: string, url: string, { env }: Io): Promise<HostModel> {
  const paths = Object.entries(env).filter(([name]) =>
    /^(PATH|HOME|XDG_CACHE_HOME|COPILOT_\w*CACHE_HOME|[A-Z_]+_PATH)$/.test(name),
  );
  const offline = {
    ...Object.fromEntries(paths),
    ANTHROPIC_API_KEY: "offline-key",
    OPENAI_API_KEY: "offline-key",
    ANTHROPIC_BASE_URL: url,
    OPENAI_BASE_URL: `${url}/v1`,
  };
  const model = await openModel(id, { env: offline });
  if ("converse" in model) return model;
  throw usageError(`"${id}" is not a host.`);
}
