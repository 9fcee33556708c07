import { sumOf } from "../base/collections.ts";
import { EvalsError, type Problem } from "../base/types/errors.ts";
import { isJsonObject, type JsonObject } from "../base/types/json.ts";
import type { CallOutcome, OfferedTool, Tool, ToolServer } from "../base/types/tool.ts";
import type { HostFile } from "../input/hostFiles.ts";
import { nameTool } from "./host.ts";
import { serverError } from "./spec.ts";

// All servers of a host's configuration file as one server. Its tools have the name of their server in front, as in hosts. A
// server that does not start does not affect the others.

const nameForm = {
  prefix: "",
  separator: "__",
  server: { kept: "-_", other: "_" },
  tool: "unchanged",
} as const;

/** The name of a tool in the list of a whole configuration: `<server>__<tool>`. */
export function nameInConfiguration(server: string, tool: string): string {
  return nameTool(nameForm, server, tool);
}

/** The tools of a server under their names in the configuration. */
export function nameTools(server: string, tools: readonly Tool[]): (Tool & Pick<OfferedTool, "ownName" | "server">)[] {
  return tools.map((tool) => ({ ...tool, name: nameInConfiguration(server, tool.name), ownName: tool.name, server }));
}

/** The names of the enabled servers of a file, in its order. */
export function listEnabled({ entries }: HostFile): string[] {
  return [...entries].flatMap(([name, entry]) => (isJsonObject(entry) && entry.disabled === true ? [] : [name]));
}

/** A server of a configuration, or why it is not available. */
export type Member = { name: string } & ({ server: ToolServer } | { failure: string });

/**
 * Why a server of a configuration could not be listed, in one sentence, and as a warning with the command that finds the
 * cause.
 */
export function describeFailure(name: string, host: HostFile, thrown: unknown): { failure: string; warning: Problem } {
  const [problem] = thrown instanceof EvalsError ? thrown.problems : [];
  const failure = problem?.message ?? `The tools of server "${name}" cannot be read.`;
  const hint = `The other servers are used, and cases about "${name}" break. To find the cause, run: evals doctor --config ${host.file} --name ${name}`;
  const location = problem?.location ?? host.location([name]);
  return { failure, warning: { severity: "warning", message: failure, hint, location } };
}

/** The members as one server. It is alive while all started members are, so that one that ended is started again. */
export function joinServers(name: string, members: readonly Member[]): ToolServer {
  const started = members.flatMap((one) => ("server" in one ? [one.server] : []));
  const about: JsonObject = Object.fromEntries(
    members.map((one) => [one.name, "server" in one ? one.server.about : { failure: one.failure }]),
  );
  const find = (tool: string) =>
    members.flatMap((one) => {
      const prefix = nameInConfiguration(one.name, "");
      return tool.startsWith(prefix) ? [{ member: one, ownName: tool.slice(prefix.length), prefix }] : [];
    });
  return {
    name,
    about,
    list: async (signal) => {
      const lists = members.map(async (one) =>
        "server" in one ? nameTools(one.name, await one.server.list(signal)) : [],
      );
      return (await Promise.all(lists)).flat();
    },
    call: async (tool, args, signal, elicit): Promise<CallOutcome> => {
      // The longest prefix wins: there may be a server `a__b` and a server `a`.
      const [found] = find(tool).sort((a, b) => b.prefix.length - a.prefix.length);
      if (!found) return { kind: "unknown-tool", message: `no server of ${name} has a tool "${tool}"` };
      const { member, ownName } = found;
      if ("server" in member) return await member.server.call(ownName, args, signal, elicit);
      return { kind: "broken", stage: "server", message: member.failure };
    },
    listChanges: () => sumOf(started, (server) => server.listChanges?.() ?? 0),
    settleMs: Math.max(0, ...started.map((server) => server.settleMs ?? 0)),
    alive: () => started.every((server) => server.alive()),
    close: async () => {
      await Promise.all(started.map((server) => server.close()));
    },
  };
}

/** The error if no server of a configuration can be used. */
export function noneStarted(file: string, failures: readonly unknown[]): EvalsError {
  const known = failures.filter((one) => one instanceof EvalsError);
  return known.length > 0 ? EvalsError.all(known) : serverError(`No server of ${file} could be listed.`);
}
