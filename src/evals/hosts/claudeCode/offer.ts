import type { JsonObject } from "../../types/json.ts";
import type { HostedTrial } from "../../types/model.ts";
import type { OfferedTool } from "../../types/tool.ts";
import type { Broken, Execution } from "../../types/trial.ts";
import type { Relay } from "./relay.ts";

/** The tools of one trial as the host is offered them. */
export type Offer = {
  /** Server name -> address, for the host's MCP configuration. */
  servers: ReadonlyMap<string, string>;
  /** The names that the host shows. */
  shown: readonly string[];
  /** The name as listed; one that no tool has passes unchanged. */
  listed(shown: string): string;
  /** What became of the call with this id in the model's reply, if it came through the relay. */
  executionOf(id: string): Execution | undefined;
  close(): void;
};

/**
 * Offers the tools of a trial through the relay, each under its server's name. Calls are executed one after the other,
 * since a trial has one server. A call that breaks the trial is told to `onBroken`, and the host gets an error. Throws when
 * the host would show two tools under one name.
 */
export function offerTools(
  relay: Relay,
  { tools, execute }: Pick<HostedTrial, "tools" | "execute">,
  signal: AbortSignal,
  onBroken: (broken: Broken) => void,
): Offer {
  const listed = new Map<string, string>();
  const groups = new Map<string, OfferedTool[]>();
  // The catalogue's entries stand in the list for its hash; skills reach the host as packages.
  for (const tool of tools.filter(({ origin }) => origin !== "skill")) {
    const server = asHostWrites(tool.server) || "tools";
    const shown = `mcp__${server}__${asHostWrites(tool.name)}`;
    const other = listed.get(shown);
    if (other !== undefined) throw new Error(`Claude Code would show ${other} and ${tool.name} both as ${shown}`);
    listed.set(shown, tool.name);
    groups.set(server, [...(groups.get(server) ?? []), tool]);
  }

  const made = new Map<string, Execution>();
  let last: Promise<unknown> = Promise.resolve();
  const call = (name: string, args: JsonObject, id = ""): Promise<Execution> => {
    const next = last.then(async () => {
      const execution = await execute({ id, tool: name, arguments: args }, signal);
      if ("kind" in execution) {
        onBroken(execution);
        return { status: "skipped", reason: execution.message } as const;
      }
      made.set(id, execution);
      return execution;
    });
    last = next.catch(() => undefined);
    return next;
  };
  const routes = [...groups].map(([name, group]) => ({ name, ...relay.serve({ name, tools: group, call }) }));
  return {
    servers: new Map(routes.map(({ name, url }) => [name, url])),
    shown: [...listed.keys()],
    listed: (shown) => listed.get(shown) ?? shown,
    executionOf: (id) => made.get(id),
    close: () => {
      for (const route of routes) route.close();
    },
  };
}

/** As the host writes a name that it puts together: `mcp__<server>__<tool>`. */
function asHostWrites(name: string): string {
  return name.replace(/[^a-zA-Z0-9_-]/g, "_");
}
