import { basename, extname, resolve } from "node:path";
import { sumOf } from "../base/collections.ts";
import { EvalsError, messageOf, type Problem, usageError } from "../base/types/errors.ts";
import type { Io } from "../base/types/io.ts";
import type { JsonObject } from "../base/types/json.ts";
import type { Configuration, ServerSpec } from "../base/types/suiteFile.ts";
import type { CallOutcome, OfferedTool, Tool, ToolServer } from "../base/types/tool.ts";
import { type HostFile, listEnabled, readHostFile } from "../input/hostFiles.ts";
import { connect } from "./connect.ts";
import { nameTool } from "./host.ts";
import { resolveServer, type ServerWorld, serverError } from "./spec.ts";
import { createInstructionsEntry, readStaticList } from "./toolList.ts";

/** The parts of a suite that define where its tools come from. `dir` is absolute. */
export type SourceParts = {
  server?: ServerSpec | Configuration;
  distractors: readonly ServerSpec[];
  /** A file with the list of tools behind dispatchers. */
  catalog?: string;
  dir: string;
  /** Whether cases answer what the server asks the user. */
  elicits?: boolean;
  /** How messages name a server that is not registered under a name, for example the suite. */
  name: string;
};

/**
 * The tools that a suite offers, under their listed names, with the instructions of its servers, and the live server
 * that executes the tools of origin `server`.
 */
export type Source = {
  readonly tools: readonly OfferedTool[];
  /** Absent for a static list, and for a suite without a server. */
  readonly server?: ToolServer;
  /** The servers of a whole configuration, in its order, each with the reason if it could not be listed. */
  readonly members?: readonly { name: string; failure?: string }[];
  /** Opens another connection to the same server: a new process, or a new session. Throws EvalsError. */
  reopen(signal: AbortSignal): Promise<ToolServer>;
  readonly warnings: readonly Problem[];
  /** Closes every server that was opened here, also by `reopen`. Does not throw. */
  close(): Promise<void>;
};

type ListedServer = {
  name: string;
  tools: readonly (Tool & Pick<OfferedTool, "ownName">)[];
  instructions?: string;
  live?: Live;
};

type Live = { server: ToolServer; reopen: Source["reopen"] };

/** What the server of a suite lists: one list, or those of all servers of a configuration. */
type Main = { listed: readonly ListedServer[]; live?: Live; members?: NonNullable<Source["members"]> };

/**
 * Opens and lists the server of a suite, and lists its distractors, in parallel; distractor servers are closed again.
 * Throws EvalsError with the problems of all of them; nothing is left open then.
 */
export async function openSource(parts: SourceParts, io: ServerWorld & Pick<Io, "signal">): Promise<Source> {
  const { env, signal } = io;
  const warnings: Problem[] = [];
  const opened: ToolServer[] = [];
  let closed = false;
  const close = async () => {
    closed = true;
    await Promise.all(opened.map((server) => server.close()));
  };
  const keep = async (connecting: Promise<ToolServer>) => {
    const server = await connecting;
    opened.push(server);
    if (!closed) return server;
    await server.close();
    throw serverError(`The start of server "${server.name}" was cancelled.`);
  };

  const list = async (written: ServerSpec, fallback: string, shown: string, host?: HostFile): Promise<ListedServer> => {
    if ("tools" in written) {
      const file = resolve(parts.dir, written.tools);
      return { name: basename(file, extname(file)), tools: await readStaticList(file) };
    }
    const { spec, dir, warnings: found } = await resolveServer(written, shown, parts.dir, io, host);
    warnings.push(...found);
    const registered = "config" in written ? written.name : undefined;
    const context = { name: registered ?? shown, dir, env, elicits: parts.elicits === true, unset: found };
    const server = await keep(connect(spec, { ...context, signal }));
    const { name = fallback, protocol: revision } = server.about;
    const known = typeof revision === "string" ? { revision } : {};
    const reopen = (later: AbortSignal) => keep(connect(spec, { ...context, ...known, signal: later }));
    return {
      name: registered ?? String(name),
      tools: await server.list(signal),
      ...(server.instructions !== undefined && { instructions: server.instructions }),
      live: { server, reopen },
    };
  };
  const listAll = async ({ config, all: _, ...limits }: Configuration): Promise<Main> => {
    const host = await readHostFile(config, parts.dir);
    const names = listEnabled(host);
    const opening = names.map(async (name) => {
      try {
        return { name, listed: await list({ config, name, ...limits }, name, name, host) };
      } catch (error) {
        return { name, error, ...describeFailure(name, host, error) };
      }
    });
    const results = await Promise.all(opening);
    const started = results.flatMap((one) => ("listed" in one ? [one.listed] : []));
    if (started.length === 0) {
      const known = results.flatMap((one) => ("error" in one && one.error instanceof EvalsError ? [one.error] : []));
      throw known.length > 0 ? EvalsError.all(known) : serverError(`No server of ${config} could be listed.`);
    }
    warnings.push(...results.flatMap((one) => ("warning" in one ? [one.warning] : [])));
    const join = async (open: (live: Live) => Promise<ToolServer>) => {
      const members = results.map(async (one): Promise<Member> => {
        if (!("listed" in one)) return { name: one.name, failure: one.failure };
        const { name, listed } = one;
        const onError = (error: unknown) => ({ name, failure: messageOf(error) });
        return await open(listed.live as Live).then((server) => ({ name, server }), onError);
      });
      return joinServers(config, await Promise.all(members));
    };
    return {
      listed: started.map((one) => ({ ...one, tools: nameTools(one.name, one.tools) })),
      live: {
        server: await join(async ({ server }) => server),
        reopen: (later) => join(({ reopen }) => reopen(later)),
      },
      members: results.map((one) => ({ name: one.name, ...("failure" in one && { failure: one.failure }) })),
    };
  };
  const listMain = async (server: ServerSpec | Configuration): Promise<Main> => {
    if ("all" in server) return await listAll(server);
    const listed = await list(server, "server", parts.name);
    return { listed: [listed], ...(listed.live && { live: listed.live }) };
  };
  const distract = async (written: ServerSpec, index: number) => {
    const fallback = `distractor ${index + 1}`;
    const listed = await list(written, fallback, `${parts.name}: ${fallback}`);
    await listed.live?.server.close();
    return toOffered(listed, "distractor");
  };

  const behind = parts.catalog === undefined ? undefined : list({ tools: parts.catalog }, "catalog", "catalog");
  const main = parts.server && listMain(parts.server);
  const others = parts.distractors.map(distract);
  try {
    await waitForAll([main, behind, ...others], parts.name);
  } catch (error) {
    await close();
    throw error;
  }
  const own = await main;
  const listed = [
    ...(own?.listed ?? []).flatMap((one) => toOffered(one, one.live ? "server" : "static")),
    ...(await Promise.all(others)).flat(),
  ];
  const direct = new Set(listed.map(({ name }) => name));
  const catalog = await behind;
  const hidden = catalog ? toOffered(catalog, "dispatched").filter(({ name }) => !direct.has(name)) : [];
  return {
    tools: joinInstructions([...listed, ...hidden]),
    ...(own?.live && { server: own.live.server }),
    ...(own?.members && { members: own.members }),
    reopen: own?.live?.reopen ?? noServer,
    warnings,
    close,
  };
}

async function noServer(): Promise<never> {
  throw usageError("The suite has no live server to open.", 'Give it a server with a "command" or a "url".');
}

function toOffered({ name: server, tools, instructions }: ListedServer, origin: OfferedTool["origin"]): OfferedTool[] {
  return [
    ...tools.map((tool) => ({ ...tool, server, origin })),
    ...(instructions === undefined ? [] : [createInstructionsEntry(server, instructions)]),
  ];
}

/** The instructions of servers with the same name as one entry. */
function joinInstructions(tools: readonly OfferedTool[]): OfferedTool[] {
  const joined = new Map<string, OfferedTool>();
  for (const tool of tools) {
    if (tool.origin !== "instructions") continue;
    const other = joined.get(tool.name)?.description;
    joined.set(tool.name, { ...tool, description: [other, tool.description].filter(Boolean).join("\n\n") });
  }
  return [...tools.filter(({ origin }) => origin !== "instructions"), ...joined.values()];
}

/**
 * Waits for all, then throws the problems of every EvalsError together. Any other error was caused by what a server
 * sent, so it counts as a failure of the server, and other suites can finish.
 */
async function waitForAll(work: readonly (Promise<unknown> | undefined)[], name: string): Promise<void> {
  const failures = (await Promise.allSettled(work)).flatMap((end) => {
    if (end.status !== "rejected") return [];
    if (end.reason instanceof EvalsError) return end.reason;
    const message = `The tools of "${name}" cannot be read: ${messageOf(end.reason)}.`;
    return serverError(message, "Check what its servers list.");
  });
  if (failures.length > 0) throw EvalsError.all(failures);
}

// All servers of a host's configuration file as one server. Its tools have the name of their server in front, as in
// hosts. A server that does not start does not affect the others.

const nameForm = { prefix: "", separator: "__", server: { kept: "-_", other: "_" }, tool: "unchanged" } as const;

/** The name of a tool in the list of a whole configuration: `<server>__<tool>`. */
export const nameInConfiguration = (server: string, tool: string): string => nameTool(nameForm, server, tool);

/** The tools of a server under their names in the configuration. */
function nameTools(server: string, tools: readonly Tool[]): (Tool & Pick<OfferedTool, "ownName" | "server">)[] {
  return tools.map((tool) => ({ ...tool, name: nameInConfiguration(server, tool.name), ownName: tool.name, server }));
}

/** A server of a configuration, or why it is not available. */
type Member = { name: string } & ({ server: ToolServer } | { failure: string });

/**
 * Why a server of a configuration could not be listed, in one sentence, and as a warning with the command that finds
 * the cause.
 */
function describeFailure(name: string, host: HostFile, thrown: unknown): { failure: string; warning: Problem } {
  const [problem] = thrown instanceof EvalsError ? thrown.problems : [];
  const failure = problem?.message ?? `The tools of server "${name}" cannot be read.`;
  const hint = `The other servers are used, and cases about "${name}" break. To find the cause, run: \`evals doctor --config ${host.file} --name ${name}\``;
  const location = problem?.location ?? host.location([name]);
  return { failure, warning: { severity: "warning", message: failure, hint, location } };
}

/** The members as one server. It is alive while all started members are, so that one that ended is started again. */
function joinServers(name: string, members: readonly Member[]): ToolServer {
  const started = members.flatMap((one) => ("server" in one ? [one.server] : []));
  const described = members.map((one) => [one.name, "server" in one ? one.server.about : { failure: one.failure }]);
  const about: JsonObject = Object.fromEntries(described);
  const prefixes = members.map((member) => ({ member, prefix: nameInConfiguration(member.name, "") }));
  // The longest prefix wins: there may be a server `a__b` and a server `a`.
  prefixes.sort((a, b) => b.prefix.length - a.prefix.length);
  return {
    name,
    about,
    list: async (signal) => {
      const list = async (one: Member) => ("server" in one ? nameTools(one.name, await one.server.list(signal)) : []);
      return (await Promise.all(members.map(list))).flat();
    },
    call: async (tool, args, signal, elicit): Promise<CallOutcome> => {
      const found = prefixes.find(({ prefix }) => tool.startsWith(prefix));
      if (!found) return { kind: "unknown-tool", message: `no server of ${name} has a tool "${tool}"` };
      const { member, prefix } = found;
      if ("failure" in member) return { kind: "broken", stage: "server", message: member.failure };
      return await member.server.call(tool.slice(prefix.length), args, signal, elicit);
    },
    listChanges: () => sumOf(started, (server) => server.listChanges?.() ?? 0),
    settleMs: Math.max(0, ...started.map((server) => server.settleMs ?? 0)),
    alive: () => started.every((server) => server.alive()),
    close: async () => {
      await Promise.all(started.map((server) => server.close()));
    },
  };
}
