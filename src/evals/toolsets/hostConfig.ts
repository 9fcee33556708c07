import { basename, dirname } from "node:path";
import * as z from "zod";
import type { Problem } from "../errors.ts";
import { usageError } from "../errors.ts";
import { readParsed } from "../parsing/read.ts";
import { isJsonObject } from "../types/json.ts";
import { nearest } from "../types/nearest.ts";
import { issuesOf } from "./listing.ts";
import { type Env, fillIn, type LiveSpec } from "./spec.ts";

/** A server as a host's configuration registers it. `dir` is the project's folder, where the host would start it. */
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

/** Folders that hold a host's configuration inside a project. */
const hostFolders = [".vscode", ".cursor", ".claude", ".gemini"];

/**
 * The server `name` of a host's configuration file: `mcpServers` (.mcp.json, claude_desktop_config.json,
 * .cursor/mcp.json) or `servers` (.vscode/mcp.json), which may carry comments and trailing commas. `file` is its path.
 * Fields that only a host has a use for are passed over. Throws EvalsError with line and column.
 */
export async function readHostServer(file: string, name: string, env: Env): Promise<HostServer> {
  const { value, place } = await readParsed(file, file, { lenient: true });
  const root = isJsonObject(value) ? value : {};
  const key = ["mcpServers", "servers"].find((candidate) => isJsonObject(root[candidate]));
  const servers = key === undefined ? undefined : root[key];
  if (key === undefined || !isJsonObject(servers)) {
    throw usageError(
      "no servers are registered here: the file has neither mcpServers nor servers",
      'Write { "mcpServers": { "<name>": { "command": "…", "args": [] } } }.',
      place([]),
    );
  }
  const entry = Object.hasOwn(servers, name) ? servers[name] : undefined;
  if (entry === undefined) throw unknownServer(name, Object.keys(servers), place([key]));
  const at = place([key, name]);
  const { spec, warnings } = readEntry(entry, name, at);
  const filled = fillIn(spec, env, name, at);
  const folder = dirname(file);
  return {
    spec: filled.spec,
    dir: hostFolders.includes(basename(folder)) ? dirname(folder) : folder,
    warnings: [...warnings, ...filled.warnings],
  };
}

function unknownServer(name: string, names: readonly string[], place: Problem["place"]) {
  const close = nearest(name, names);
  const known = names.length === 0 ? "There is none." : `There are: ${names.join(", ")}.`;
  return usageError(
    `no server "${name}" is registered here`,
    close === undefined ? known : `Did you mean "${close}"? ${known}`,
    place,
  );
}

function readEntry(entry: unknown, name: string, place: Problem["place"]): { spec: LiveSpec; warnings: Problem[] } {
  const isCommand = isJsonObject(entry) && "command" in entry;
  const parsed = isCommand ? commandEntry.safeParse(entry) : urlEntry.safeParse(entry);
  if (!parsed.success) {
    throw usageError(
      `server "${name}": ${issuesOf(parsed.error)}`,
      "An entry has a command (with args, env, cwd), or a url (with type http or sse, headers).",
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
            message: `server "${name}": envFile is not read`,
            hint: "Name the variables under env.",
            ...(place && { place }),
          },
        ];
  return { spec: { command, ...(args && { args }), ...(env && { env }), ...(cwd !== undefined && { cwd }) }, warnings };
}
