import { basename, dirname, join, resolve } from "node:path";
import * as z from "zod";
import { knownSecrets } from "../base/secrets/secrets.ts";
import { nearest } from "../base/text/nearest.ts";
import { EvalsError, exitCodes, type Place, type Problem, usageError } from "../base/types/errors.ts";
import type { Io } from "../base/types/io.ts";
import { formatIssues } from "../base/types/issues.ts";
import { isJsonObject, type Json } from "../base/types/json.ts";
import type { ServerSpec } from "../base/types/suite.ts";
import { readParsed } from "../input/parsing/read.ts";

/** A server that is started as a process, with the protocol on its stdin and stdout. */
export type CommandSpec = Extract<ServerSpec, { command: string }>;
/** A server that is reached over HTTP. */
export type UrlSpec = Extract<ServerSpec, { url: string }>;
/** A server to connect to, after host configuration files are resolved. */
export type LiveSpec = CommandSpec | UrlSpec;

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

/**
 * The spec with `${VAR}` and `${VAR:-default}` replaced in command, args, env, url and headers. A variable that is
 * unset and has no default is left as written, with a warning that names it.
 */
export function expandVariables<S extends LiveSpec>(
  spec: S,
  env: Env,
  name: string,
  place?: Problem["place"],
): { spec: S; warnings: Problem[] } {
  const unset = new Set<string>();
  const expand = (text: string) =>
    text.replace(reference, (whole, variable: string, fallback: string | undefined) => {
      // As in a shell, `:-` also replaces a variable that is set and empty.
      const value = fallback === undefined ? env[variable] : env[variable] || fallback;
      if (value === undefined) unset.add(variable);
      return value ?? whole;
    });
  const expandAll = (record: Record<string, string>) =>
    Object.fromEntries(Object.entries(record).map(([key, value]) => [key, expand(value)]));
  const filled =
    "command" in spec
      ? {
          ...spec,
          command: expand(spec.command),
          ...(spec.args && { args: spec.args.map(expand) }),
          ...(spec.env && { env: expandAll(spec.env) }),
        }
      : { ...spec, url: expand(spec.url), ...(spec.headers && { headers: expandAll(spec.headers) }) };
  refuseNul(filled, name, place);
  rememberSecrets(filled, env);
  const warnings = [...unset].map(
    (variable): Problem => ({
      severity: "warning",
      message: `Server "${name}" uses the environment variable ${variable}, which is not set; it is left as written.`,
      hint: `Set ${variable}, or give a default: \${${variable}:-value}.`,
      ...(place && { place }),
    }),
  );
  return { spec: filled, warnings };
}

/** The operating system ends a string at a NUL character, so no command and no URL can contain one. */
function refuseNul(spec: LiveSpec, name: string, place: Problem["place"]): void {
  const found = Object.entries(spec).find(([, value]) => JSON.stringify(value)?.includes("\\u0000"));
  if (found)
    throw usageError(
      `Server "${name}": "${found[0]}" contains a NUL character.`,
      "Remove the character \\u0000.",
      place,
    );
}

/** Adds the credentials for a server, and the secrets in its environment and command line, to the known secrets of the process. */
function rememberSecrets(spec: LiveSpec, env: Env): void {
  const secrets = knownSecrets(env);
  if ("url" in spec) {
    secrets.addUrl("url", spec.url);
    secrets.addHeaders(spec.headers ?? {});
    return;
  }
  for (const [name, value] of Object.entries(spec.env ?? {})) secrets.addVariable(name, value, { isServer: true });
  secrets.addArguments(spec.args ?? []);
}

/** A server of a host's configuration. `dir` is the folder of the project, where the host would start it. */
export type HostServer = { spec: LiveSpec; dir: string; warnings: Problem[] };

const commonFields = { type: z.string().optional(), transport: z.string().optional() };
const commandEntry = z.object({
  command: z.string().min(1),
  args: z.array(z.string()).optional(),
  env: z.record(z.string(), z.string()).optional(),
  cwd: z.string().optional(),
  envFile: z.unknown().optional(),
  ...commonFields,
});
const urlEntry = z.object({
  url: z.string().min(1),
  headers: z.record(z.string(), z.string()).optional(),
  ...commonFields,
});

/** Folders for the configuration of hosts in a project. */
const hostFolders = [".vscode", ".cursor", ".claude", ".gemini"];

/** The folder of the project of a host's configuration file; `isOfProject`: hosts look for such a file in each project. */
export function locateProject(path: string): { dir: string; isOfProject: boolean } {
  const folder = dirname(path);
  const isHostFolder = hostFolders.includes(basename(folder));
  return { dir: isHostFolder ? dirname(folder) : folder, isOfProject: isHostFolder || basename(path) === ".mcp.json" };
}

/**
 * The server entries of a host's configuration file, unchecked. `path` is absolute; paths for `place` start with a
 * name.
 */
export type HostFile = {
  file: string;
  path: string;
  entries: ReadonlyMap<string, Json>;
  place(path: readonly (string | number)[]): Place;
};

/**
 * Reads a host's configuration file with servers under `mcpServers` (.mcp.json, claude_desktop_config.json,
 * .cursor/mcp.json) or `servers` (.vscode/mcp.json). Comments and trailing commas are allowed. `file` is how messages
 * name it. Throws EvalsError when it cannot be read, or registers no servers.
 */
export async function readHostFile(path: string, file = path): Promise<HostFile> {
  const { value, place } = await readParsed(path, file, { lenient: true });
  const root = isJsonObject(value) ? value : {};
  const key = ["mcpServers", "servers"].find((candidate) => isJsonObject(root[candidate]));
  const servers = key === undefined ? undefined : root[key];
  if (key === undefined || !isJsonObject(servers) || Object.keys(servers).length === 0)
    throw usageError(
      'The file registers no servers under "mcpServers" or "servers".',
      'Write { "mcpServers": { "<name>": { "command": "...", "args": [] } } }.',
      place([]),
    );
  const entries = new Map(Object.entries(servers));
  return { file, path, entries, place: (inside) => place([key, ...inside]) };
}

/** The entry `name` of a host's configuration file. Throws EvalsError when there is none. */
export function findEntry({ entries, place }: HostFile, name: string): Json {
  const entry = entries.get(name);
  if (entry === undefined) throw unknownServer(name, [...entries.keys()], place([]));
  return entry;
}

/** The error for a name that is not registered. `place` is absent if there are several files. */
export function unknownServer(name: string, names: readonly string[], place?: Place): EvalsError {
  const close = nearest(name, names);
  const known = `Registered: ${names.join(", ")}.`;
  return usageError(
    `No server "${name}" is registered in ${place ? "this file" : "these files"}.`,
    close === undefined ? known : `Did you mean "${close}"? ${known}`,
    place,
  );
}

/** The server of an entry, with its variables expanded. Fields that only hosts use are ignored. */
function resolveEntry(host: HostFile, name: string, world: ServerWorld): HostServer {
  const place = host.place([name]);
  const { spec, warnings } = readEntry(findEntry(host, name), name, place);
  const expanded = fillSpec(spec, world, name, place);
  return {
    spec: expanded.spec,
    dir: locateProject(host.path).dir,
    warnings: [...warnings, ...expanded.warnings],
  };
}

/** The environment that references are read from, and what the user gives every server (`--env`). */
export type ServerWorld = Pick<Io, "env" | "serverEnv">;

/** The spec with its variables expanded, and with those that the user gives. */
function fillSpec(spec: LiveSpec, { env, serverEnv }: ServerWorld, name: string, place?: Problem["place"]) {
  const given = serverEnv && "command" in spec ? { ...spec, env: { ...spec.env, ...serverEnv } } : spec;
  return expandVariables<LiveSpec>(given, { ...env, ...serverEnv }, name, place);
}

/**
 * The spec to connect with, variables expanded, and the folder that its paths are relative to. Throws EvalsError, with
 * line and column for a malformed entry.
 * @param host the configuration that registers the server, if it has been read already
 */
export async function resolveServer(
  server: LiveServer,
  name: string,
  dir: string,
  world: ServerWorld,
  host?: HostFile,
): Promise<HostServer> {
  if (!("config" in server)) return { dir, ...fillSpec(server, world, name) };
  const { startTimeoutMs, callTimeoutMs } = server;
  const resolved = resolveEntry(host ?? (await readHostFile(resolve(dir, server.config))), server.name, world);
  const limits = {
    ...(startTimeoutMs !== undefined && { startTimeoutMs }),
    ...(callTimeoutMs !== undefined && { callTimeoutMs }),
  };
  return { ...resolved, spec: { ...resolved.spec, ...limits } };
}

function readEntry(entry: unknown, name: string, place: Problem["place"]): { spec: LiveSpec; warnings: Problem[] } {
  const isCommand = isJsonObject(entry) && "command" in entry;
  const parsed = isCommand ? commandEntry.safeParse(entry) : urlEntry.safeParse(entry);
  if (!parsed.success) {
    throw usageError(
      `Server "${name}" is malformed: ${formatIssues(parsed.error)}.`,
      'Give it a "command" (with "args", "env", "cwd") or a "url" (with "type" http or sse, "headers").',
      place,
    );
  }
  const read = parsed.data;
  if ("url" in read) {
    const { url, headers, type, transport } = read;
    const sse = (type ?? transport)?.toLowerCase() === "sse";
    return { spec: { url, transport: sse ? "sse" : "http", ...(headers && { headers }) }, warnings: [] };
  }
  const { command, args, env, cwd, envFile } = read;
  const warnings: Problem[] =
    envFile === undefined
      ? []
      : [
          {
            severity: "warning",
            message: `Server "${name}": "envFile" is ignored.`,
            hint: 'List the variables under "env".',
            ...(place && { place }),
          },
        ];
  return { spec: { command, ...(args && { args }), ...(env && { env }), ...(cwd !== undefined && { cwd }) }, warnings };
}
