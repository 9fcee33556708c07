import { dirname, resolve } from "node:path";
import { type Place, usageError } from "../errors.ts";
import type { Io } from "../io.ts";
import { readParsed } from "../parsing/read.ts";
import { isJsonObject, type Json } from "../types/json.ts";

/** A host's file with the servers in it. `file` is how it was named; `path` and `dir`, its folder, are absolute. */
export type HostFile = { file: string; path: string; dir: string; entries: readonly (readonly [string, Json])[] };

/** The servers that a host's file registers, unchecked. Throws EvalsError when there is none. */
export async function readHostFile(file: string, io: Io): Promise<HostFile> {
  const path = resolve(io.cwd, file);
  const { value, place } = await readParsed(path, file, { lenient: true });
  const root = isJsonObject(value) ? value : {};
  const entries = Object.entries([root.mcpServers, root.servers].find(isJsonObject) ?? {});
  if (entries.length === 0) throw noServers(place([]));
  return { file, path, dir: dirname(path), entries };
}

function noServers(place: Place) {
  const hint = 'Write { "mcpServers": { "<name>": { "command": "...", "args": [] } } }.';
  return usageError("no servers are registered here", hint, place);
}
