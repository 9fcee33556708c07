import { join, resolve } from "node:path";
import { parseEnv } from "node:util";
import * as z from "zod";
import { defined } from "../base/collections.ts";
import { knownSecrets } from "../base/secrets/secrets.ts";
import { EvalsError, exitCodes, formatIssues, type Location, type Problem, usageError } from "../base/types/errors.ts";
import type { Io } from "../base/types/io.ts";
import { isJsonObject } from "../base/types/json.ts";
import type { ServerSpec } from "../base/types/suiteFile.ts";
import { findEntry, type HostFile, readHostFile, type ToolFilter } from "../input/hostFiles.ts";
import { readNamed } from "../input/parsing/read.ts";

/** A server that is started as a process, with the protocol on its stdin and stdout. */
export type CommandSpec = Extract<ServerSpec, { command: string }>;
/** A server that is reached over HTTP. */
export type UrlSpec = Extract<ServerSpec, { url: string }>;
/** A server to connect to, after host configuration files are resolved. `listed`: what its host shows of its tools. */
export type LiveSpec = (CommandSpec | UrlSpec) & { listed?: ToolFilter };

/** A server as a suite names it: to connect to, or registered in a host's configuration. */
export type LiveServer = Exclude<ServerSpec, { tools: string }>;

/** Environment variables of the process; never read from the process here. */
export type Env = Readonly<Record<string, string | undefined>>;

/** The folder for what is kept of a user, outside any repository. Throws a usage error if there is none. */
export function configFolder({ XDG_CONFIG_HOME, APPDATA, HOME, USERPROFILE }: Env): string {
  const home = HOME ?? USERPROFILE;
  const config = XDG_CONFIG_HOME || APPDATA || (home && join(home, ".config"));
  if (!config)
    throw usageError("There is no folder for logins and trust: HOME is not set.", "Set HOME or XDG_CONFIG_HOME.");
  return join(config, "tool-evals");
}

/** The error for a server that failed; its exit code is "incomplete". A mistake in a file is a usage error instead. */
export function serverError(message: string, hint?: string): EvalsError {
  return new EvalsError({ severity: "error", message, ...(hint && { hint }) }, exitCodes.incomplete);
}

// ${VAR} and ${VAR:-default} as in Claude Code; ${env:VAR} as in VS Code and Cursor.
// Lengths are limited, because many unterminated references would otherwise take quadratic time.
const reference = /\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]{0,255})(?::-([^}]{0,1000}))?\}/g;

type Expansion = { location?: Location; inputs?: ReadonlyMap<string, string>; serverEnv?: Env };

/**
 * The spec with `${VAR}` and `${VAR:-default}` replaced in command, args, env, url and headers. Each variable that is
 * unset and has no default gets a warning that names it: a member of env or headers with it is left out, so that the
 * server can say what it lacks, and other texts are left as written. `inputs`: the variables that stand for a question
 * of the host.
 */
export function expandVariables<S extends LiveSpec>(
  spec: S,
  env: Env,
  name: string,
  { location, inputs, serverEnv = {} }: Expansion = {},
): { spec: S; warnings: Problem[] } {
  const unset = new Set<string>();
  const expandWhole = (text: string): string | undefined => {
    let isWhole = true;
    const expanded = text.replace(reference, (whole, variable: string, fallback: string | undefined) => {
      // As in a shell, `:-` also replaces a variable that is set and empty.
      const known = serverEnv[variable] ?? env[variable];
      const value = fallback === undefined ? known : known || fallback;
      if (value !== undefined) return value;
      unset.add(variable);
      isWhole = false;
      return whole;
    });
    return isWhole ? expanded : undefined;
  };
  const expand = (text: string) => expandWhole(text) ?? text;
  const expandAll = (record: Record<string, string>) =>
    Object.fromEntries(
      Object.entries(record).flatMap(([key, value]) => {
        const expanded = expandWhole(value);
        return expanded === undefined ? [] : [[key, expanded]];
      }),
    );
  const filled =
    "command" in spec
      ? {
          ...spec,
          command: expand(spec.command),
          ...(spec.args && { args: spec.args.map(expand) }),
          ...(spec.env && { env: expandAll(spec.env) }),
        }
      : { ...spec, url: expand(spec.url), ...(spec.headers && { headers: expandAll(spec.headers) }) };
  refuseNul(filled, name, location);
  rememberSecrets(filled, env);
  const warnings = [...unset].map((variable): Problem => {
    const input = inputs?.get(variable);
    const what = input ? `input ${input} that its host asks for` : `environment variable ${variable}, which is not set`;
    const hint = input ? `Set it as ${variable}.` : `Set ${variable}, or give a default: \${${variable}:-value}.`;
    return { severity: "warning", message: `Server "${name}" uses the ${what}.`, hint, ...(location && { location }) };
  });
  return { spec: filled, warnings };
}

/** The operating system ends a string at a NUL character, so no command and no URL can contain one. */
function refuseNul(spec: LiveSpec, name: string, location: Problem["location"]): void {
  const found = Object.entries(spec).find(([, value]) => JSON.stringify(value)?.includes("\\u0000"));
  const message = `Server "${name}": "${found?.[0]}" contains a NUL character.`;
  if (found) throw usageError(message, "Remove the character \\u0000.", location);
}

/** Adds the credentials for a server, and secrets in its environment and command line, to the known secrets. */
function rememberSecrets(spec: LiveSpec, env: Env): void {
  const secrets = knownSecrets(env);
  if ("url" in spec) {
    secrets.addUrl("url", spec.url);
    secrets.addHeaders(spec.headers ?? {});
    return;
  }
  for (const [name, value] of Object.entries(spec.env ?? {})) secrets.addVariable(name, value, { isServer: true });
  secrets.addArguments([...spec.command.split(/\s+/), ...(spec.args ?? [])]);
}

/** A server of a host's configuration. `dir` is the folder of the project, where the host would start it. */
export type HostServer = { spec: LiveSpec; dir: string; warnings: Problem[] };

const commandEntry = z.object({
  command: z.string().min(1),
  args: z.array(z.string()).exactOptional(),
  env: z.record(z.string(), z.string()).exactOptional(),
  cwd: z.string().exactOptional(),
  envFile: z.string().optional(),
});
const urlEntry = z.object({
  url: z.string().min(1),
  headers: z.record(z.string(), z.string()).exactOptional(),
  type: z.string().optional(),
});

/** The server of an entry, with its variables expanded if there is an environment. */
function resolveEntry(host: HostFile, name: string, world: ServerWorld | undefined): HostServer {
  const location = host.location([name]);
  const { entry, dir, tools, inputs, problems } = findEntry(host, name);
  if (problems.some(({ severity }) => severity === "error")) throw new EvalsError(problems);
  const { spec, envFile } = readEntry(entry, name, location);
  const written = envFile === undefined ? spec : addEnvFile(spec, resolve(dir, envFile), name, location);
  const filled = fillSpec(written, world, name, { location, inputs });
  const listed = Object.keys(tools).length > 0 && { listed: tools };
  return { spec: { ...filled.spec, ...listed }, dir, warnings: [...problems, ...filled.warnings] };
}

/** The variables of an `envFile` come before those of `env`. Throws EvalsError if it cannot be read. */
function addEnvFile(spec: LiveSpec, path: string, name: string, location: Location): LiveSpec {
  const text = readNamed(`Server "${name}": its envFile`, path, { hint: "Correct the path.", location });
  return "command" in spec ? { ...spec, env: { ...(parseEnv(text) as Record<string, string>), ...spec.env } } : spec;
}

/** The environment that references are read from, and what the user gives every server (`--env`). */
export type ServerWorld = Pick<Io, "env" | "serverEnv">;

/** The spec with its variables expanded, and with those that the user gives; as written without a world. */
function fillSpec(spec: LiveSpec, world: ServerWorld | undefined, name: string, from: Expansion = {}) {
  if (!world) return { spec, warnings: [] };
  const { env, serverEnv } = world;
  const given = serverEnv && "command" in spec ? { ...spec, env: { ...spec.env, ...serverEnv } } : spec;
  // Secrets are known by the environment itself: a copy would have secrets of its own.
  return expandVariables<LiveSpec>(given, env, name, { ...from, ...(serverEnv && { serverEnv }) });
}

/**
 * The spec to connect with, and the folder that its paths are relative to. Throws EvalsError, with line and column for
 * a malformed entry.
 * @param world undefined: variables stay as written
 * @param host the configuration that registers the server, if it has been read already
 */
export async function resolveServer(
  server: LiveServer,
  name: string,
  dir: string,
  world: ServerWorld | undefined,
  host?: HostFile,
): Promise<HostServer> {
  if (!("config" in server)) return { dir, ...fillSpec(server, world, name) };
  const { startTimeoutMs, callTimeoutMs } = server;
  const resolved = resolveEntry(host ?? (await readHostFile(server.config, dir)), server.name, world);
  return { ...resolved, spec: { ...resolved.spec, ...defined({ startTimeoutMs, callTimeoutMs }) } };
}

function readEntry(entry: unknown, name: string, location: Location): { spec: LiveSpec; envFile?: string | undefined } {
  const isCommand = isJsonObject(entry) && "command" in entry;
  const parsed = isCommand ? commandEntry.safeParse(entry) : urlEntry.safeParse(entry);
  if (!parsed.success) {
    const hint = 'Give it a "command" (with "args", "env", "cwd") or a "url" (with "type" http or sse, "headers").';
    throw usageError(`Server "${name}" is malformed: ${formatIssues(parsed.error)}.`, hint, location);
  }
  const read = parsed.data;
  if ("url" in read) {
    const { type, url, ...rest } = read;
    return { spec: { url, transport: type?.toLowerCase() === "sse" ? "sse" : "http", ...rest } };
  }
  const { envFile, ...spec } = read;
  return { spec, envFile };
}
