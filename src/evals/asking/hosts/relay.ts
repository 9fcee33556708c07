import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import {
  CallToolRequestSchema,
  type CallToolResult,
  type Tool as ListedTool,
  ListToolsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { startLoopback } from "../../base/network.ts";
import { type Json, type JsonObject, toNumbers } from "../../base/types/json.ts";
import type { HostedTrial } from "../../base/types/model.ts";
import { type ContentItem, listResultTexts, type OfferedTool, readOwnName, type Tool } from "../../base/types/tool.ts";
import type { Broken, Execution } from "../../base/types/trial.ts";
import { markHidden, restoreArguments, showTool } from "../../servers/host.ts";
import type { Host } from "./host.ts";

/** A call through the relay, under the listed name of its tool. `id` is empty if the host does not pass it on. */
export type RelayedCall = { id: string; tool: string; arguments: JsonObject; execution: Execution; at: number };

/** The tools of one trial as they are offered to the host. */
export type Offer = {
  /** Server name -> address, for the host's MCP configuration. */
  servers: ReadonlyMap<string, string>;
  shown: readonly string[];
  /** Returns the listed name, or an unknown name unchanged. */
  toListed(shown: string): string;
  /** The arguments of a call of a shown name, under the listed names. */
  toListedArguments(shown: string, args: Json | undefined): Json | undefined;
  /** The executed and skipped calls, in order. `at` is in ms of the monotonic clock. */
  relayed: readonly RelayedCall[];
  /** The servers whose tools the host has not listed. */
  unlisted(): readonly string[];
  close(): void;
};

/**
 * Offers the tools of a trial through the relay, each under its server's name, with the instructions of that server.
 * Calls are executed one after the other, because a trial has one server. A call that breaks the trial is reported to
 * `onBroken`, and the host gets an error. Throws when the host would show two tools under one name.
 */
export function offerTools(
  { toServerName, toShownName }: Pick<Host, "toServerName" | "toShownName">,
  relay: Relay,
  { tools, instructions, execute }: Pick<HostedTrial, "tools" | "instructions" | "execute">,
  signal: AbortSignal,
  onBroken: (broken: Broken) => void,
): Offer {
  const listed = new Map<string, OfferedTool>();
  const groups = new Map<string, OfferedTool[]>();
  for (const tool of tools) {
    const server = toServerName(tool.server) || "tools";
    const shown = toShownName(server, readOwnName(showTool(tool)));
    const other = listed.get(shown);
    if (other) throw new Error(`"${other.name}" and "${tool.name}" would both be shown as "${shown}"`);
    listed.set(shown, tool);
    groups.set(server, [...(groups.get(server) ?? []), tool]);
  }

  const relayed: RelayedCall[] = [];
  let last: Promise<unknown> = Promise.resolve();
  const call = (tool: string, args: JsonObject, id = ""): Promise<Execution> => {
    const at = performance.now();
    const next = last.then(async () => {
      const execution = await execute({ id, tool, arguments: args }, signal);
      if ("kind" in execution) {
        onBroken(execution);
        return { status: "skipped", reason: execution.message } as const;
      }
      relayed.push({ id, tool, arguments: args, execution, at });
      return execution;
    });
    last = next.catch(() => undefined);
    return next;
  };
  const unlisted = new Set(groups.keys());
  const routes = [...groups].map(([name, group]) => {
    const texts = instructions.filter(({ server }) => (toServerName(server) || "tools") === name);
    const text = texts.map((one) => one.text).join("\n\n");
    const shown = group.map(showTool);
    const byOwnName = new Map(group.map((tool, at) => [readOwnName(shown[at] ?? tool), tool]));
    const route = relay.serve({
      name,
      tools: shown.map((tool) => (tool.ownName === undefined ? tool : { ...tool, name: tool.ownName })),
      onListed: () => void unlisted.delete(name),
      ...(text && { instructions: text }),
      call: (named, args, id) => {
        const tool = byOwnName.get(named);
        if (tool) return call(tool.name, restoreArguments(tool, args), id);
        const isHidden = group.some((one) => one.name === named);
        return call(isHidden ? markHidden(named) : named, args, id);
      },
    });
    return { name, ...route };
  });
  return {
    servers: new Map(routes.map(({ name, url }) => [name, url])),
    shown: [...listed.keys()],
    toListed: (shown) => listed.get(shown)?.name ?? shown,
    toListedArguments: (shown, args) => restoreArguments(listed.get(shown) ?? {}, args),
    relayed,
    unlisted: () => [...unlisted],
    close: () => {
      for (const route of routes) route.close();
    },
  };
}

/** One tool server of one trial: exactly these tools, and the function that executes a call. */
type Service = {
  name: string;
  tools: readonly Tool[];
  instructions?: string;
  onListed?(): void;
  call(tool: string, args: JsonObject, toolUseId: string | undefined): Promise<Execution>;
};

/**
 * The tool servers of all trials as the host sees them: one loopback server that speaks MCP over Streamable HTTP
 * without sessions. So the host gets the frozen list of the trial, in the wording of its arm, and every call is subject
 * to the execution policy. `serve` returns an unguessable URL; `close` removes it.
 */
export type Relay = { serve(service: Service): { url: string; close(): void } };

/** Starts listening. The server does not keep the process alive. */
export async function startRelay(): Promise<Relay> {
  const services = new Map<string, Service>();
  const { url } = await startLoopback((request, response) => {
    const service = services.get(request.url ?? "");
    if (!service) return void response.writeHead(404).end();
    // Without sessions there are no streams.
    if (request.method !== "POST") return void response.writeHead(405, { allow: "POST" }).end();
    answer(service, request, response).catch(() => response.destroy());
  });
  return {
    serve(service) {
      const path = `/${randomUUID()}`;
      services.set(path, service);
      return { url: `${url}${path}`, close: () => services.delete(path) };
    },
  };
}

async function answer(service: Service, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const transport = new StreamableHTTPServerTransport();
  const { name, instructions } = service;
  const options = { capabilities: { tools: {} }, ...(instructions !== undefined && { instructions }) };
  const server = new Server({ name, version: "1.0.0" }, options);
  const tools = service.tools.map(toListedTool);
  server.setRequestHandler(ListToolsRequestSchema, () => {
    service.onListed?.();
    return { tools };
  });
  server.setRequestHandler(CallToolRequestSchema, async ({ params: { name: tool, arguments: args = {}, _meta } }) => {
    // The id of the call in the model's reply, which the host includes.
    const id = _meta?.["claudecode/toolUseId"];
    return toResult(await service.call(tool, args as JsonObject, typeof id === "string" ? id : undefined));
  });
  response.once("close", () => void server.close());
  // With exactOptionalPropertyTypes, the SDK's class does not implement the SDK's interface.
  await server.connect(transport as Parameters<Server["connect"]>[0]);
  await transport.handleRequest(request, response);
}

/** The tool as its server lists it. The SDK's type only requires that the schemas are objects. */
function toListedTool({ name, title, description, inputSchema, outputSchema, annotations, _meta }: Tool): ListedTool {
  return { name, title, description, inputSchema, outputSchema, annotations, _meta } as ListedTool;
}

function toResult(execution: Execution): CallToolResult {
  if (execution.status === "skipped") {
    const { reason, text = `This call was not executed: ${reason}` } = execution;
    return { isError: true, content: [{ type: "text", text }] };
  }
  const { isError, structuredContent } = execution.result;
  return {
    isError,
    content: execution.result.content.map(toSentItem),
    // The SDK writes the message; the texts hold every digit.
    ...(structuredContent && { structuredContent: toNumbers(structuredContent) as JsonObject }),
  };
}

/** An item as its server sent it, or as a text that describes it where its data is not kept. */
function toSentItem(item: ContentItem): CallToolResult["content"][number] {
  const { type, uri, name, text, mimeType, description } = item;
  if (type === "resource" && uri !== undefined && text !== undefined)
    return { type, resource: { uri, text, ...(mimeType !== undefined && { mimeType }) } };
  if (type === "resource_link" && uri !== undefined && name !== undefined)
    return { type, uri, name, mimeType, description };
  return { type: "text", text: listResultTexts({ content: [item] }).join("") };
}
