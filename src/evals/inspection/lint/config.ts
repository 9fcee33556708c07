import { existsSync } from "node:fs";
import { dirname, isAbsolute, relative, resolve } from "node:path";
import { EvalsError, usageError } from "../../errors.ts";
import { jsonPath } from "../../jsonSchema/paths.ts";
import type { Target } from "../../lint/rule.ts";
import { readParsed } from "../../parsing/read.ts";
import { isJsonObject } from "../../types/json.ts";
import { type Gathered, type Gathering, missing, nothing, together } from "./gathered.ts";
import { liveTools } from "./live.ts";

/**
 * The entries of a host's file, and the tools of every server in it: all are started, as the host would. A server that is
 * not to be had is a problem; the others are linted all the same. Throws EvalsError when no servers are registered here.
 */
export async function configTargets(file: string, { io, settings }: Gathering): Promise<Gathered> {
  const path = resolve(io.cwd, file);
  const { value, place } = await readParsed(path, relative(io.cwd, path) || ".", { lenient: true });
  const root = isJsonObject(value) ? value : {};
  const key = ["mcpServers", "servers"].find((candidate) => isJsonObject(root[candidate]));
  const entries = key === undefined ? undefined : root[key];
  if (key === undefined || !isJsonObject(entries) || Object.keys(entries).length === 0)
    throw usageError(
      "no servers are registered here",
      'Write { "mcpServers": { "<name>": { "command": "...", "args": [] } } }.',
      place([]),
    );
  const parts = Object.entries(entries).map(async ([name, entry]) => {
    const target: Target = {
      kind: "host entries",
      subject: {
        name,
        entry,
        absolute: isAbsolute,
        exists: (one) => existsSync(resolve(dirname(path), one)),
        isSet: (variable) => io.env[variable] !== undefined,
      },
      names: [name],
      settings,
      where: (at) => ({ server: name, path: jsonPath(at), ...place([key, name, ...at]) }),
    };
    const tools = await serverTools(name, path, place([key, name]), { io, settings });
    return together([{ ...nothing, targets: [target] }, tools]);
  });
  return together(await Promise.all(parts));
}

async function serverTools(
  name: string,
  config: string,
  via: { file: string },
  { io, settings }: Gathering,
): Promise<Gathered> {
  try {
    return (await liveTools({ config, name }, { dir: dirname(config), via, settings, io })).gathered;
  } catch (error) {
    if (error instanceof EvalsError) return missing(error, via);
    throw error;
  }
}
