import { resolve } from "node:path";
import type { Place } from "../../errors.ts";
import type { Io } from "../../io.ts";
import type { Settings } from "../../lint/rule.ts";
import { connect } from "../../toolsets/connect.ts";
import { expandVariables, type LiveSpec, readHostServer } from "../../toolsets/spec.ts";
import type { ServerSpec } from "../../types/suite.ts";
import { isUnavailable } from "../../workspace/servers.ts";
import { type Gathered, type Gathering, missing } from "./gathered.ts";
import { type Listed, listed } from "./tools.ts";

type LiveServer = Exclude<ServerSpec, { tools: string }>;

/**
 * Lists a live server, each entry as it is sent, and closes it again: an entry for which clients refuse the list is linted
 * like any other. Throws EvalsError when it cannot be listed.
 */
export async function liveTools(
  server: LiveServer,
  { dir, via, settings, io }: { dir: string; via?: Place; settings: readonly Settings[]; io: Io },
): Promise<Listed> {
  const { spec, dir: folder, warnings } = await liveSpec(server, dir, io);
  const registered = "name" in server ? server.name : undefined;
  const context = { name: registered ?? "server", dir: folder, env: io.env, signal: io.signal };
  const connection = await connect(spec, context);
  try {
    const items = await connection.listRaw(io.signal);
    const name = registered ?? String(connection.about.name ?? context.name);
    return listed({ server: name, items, settings, warnings, ...(via && { via }) });
  } finally {
    await connection.close();
  }
}

/** The spec to connect by, variables filled in, and the folder that its paths start from. */
async function liveSpec(server: LiveServer, dir: string, { env }: Io) {
  if (!("config" in server)) return { dir, ...expandVariables<LiveSpec>(server, env, "server") };
  const { config, name, ...limits } = server;
  const host = await readHostServer(resolve(dir, config), name, env);
  return { ...host, spec: { ...host.spec, ...limits } };
}

/** The tools of a server that a flag names. One that is not to be had is a problem. */
export async function serverTargets(server: LiveServer, { io, settings }: Gathering): Promise<Gathered> {
  try {
    return (await liveTools(server, { dir: io.cwd, settings, io })).gathered;
  } catch (error) {
    if (isUnavailable(error)) return missing(error);
    throw error;
  }
}
