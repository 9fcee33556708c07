import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import {
  type CallToolRequest,
  CallToolRequestSchema,
  type CallToolResult,
  type Tool as ListedTool,
  ListToolsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import type { JsonObject } from "../../types/json.ts";
import type { Tool } from "../../types/tool.ts";
import type { Execution } from "../../types/trial.ts";

/** What one tool server of one trial is to the host: exactly these tools, and how a call of one is executed. */
type Service = {
  name: string;
  tools: readonly Tool[];
  call(tool: string, args: JsonObject, toolUseId: string | undefined): Promise<Execution>;
};

/**
 * The tool servers of all trials, as the host sees them: one loopback server that speaks MCP over Streamable HTTP
 * without sessions. Thus the host is offered the frozen list of the trial, in the wording of its arm, and every call
 * passes by the execution policy. `serve` gives an address that nobody can guess; `close` ends it.
 */
export type Relay = { serve(service: Service): { url: string; close(): void } };

/** Starts listening. The server does not keep the process alive. */
export async function startRelay(): Promise<Relay> {
  const services = new Map<string, Service>();
  const http = createServer((request, response) => {
    const service = services.get(request.url ?? "");
    if (!service) return void response.writeHead(404).end();
    // Without sessions there is no stream to open and none to end.
    if (request.method !== "POST") return void response.writeHead(405, { allow: "POST" }).end();
    answer(service, request, response).catch(() => response.destroy());
  });
  http.listen(0, "127.0.0.1").unref();
  await once(http, "listening");
  const { port } = http.address() as AddressInfo;
  return {
    serve(service) {
      const path = `/${randomUUID()}`;
      services.set(path, service);
      return { url: `http://127.0.0.1:${port}${path}`, close: () => services.delete(path) };
    },
  };
}

async function answer(service: Service, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const transport = new StreamableHTTPServerTransport();
  const server = new Server({ name: service.name, version: "1.0.0" }, { capabilities: { tools: {} } });
  const tools = service.tools.map(listed);
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    return resultOf(await service.call(params.name, (params.arguments ?? {}) as JsonObject, toolUseId(params)));
  });
  response.once("close", () => void server.close());
  // The SDK's own class does not fit its own interface under exactOptionalPropertyTypes.
  await server.connect(transport as Parameters<Server["connect"]>[0]);
  await transport.handleRequest(request, response);
}

/** As it came from its server: of the type, the SDK only asks that the schemas are objects, and the harness kept them. */
function listed({ name, title, description, inputSchema, outputSchema, annotations }: Tool): ListedTool {
  return { name, title, description, inputSchema, outputSchema, annotations } as ListedTool;
}

/** The id of the call in the model's reply, which the host sends along. */
function toolUseId({ _meta }: CallToolRequest["params"]): string | undefined {
  const id = _meta?.["claudecode/toolUseId"];
  return typeof id === "string" ? id : undefined;
}

function resultOf(execution: Execution): CallToolResult {
  if (execution.status === "skipped") {
    return { isError: true, content: [{ type: "text", text: `This call was not executed: ${execution.reason}` }] };
  }
  const { isError, content, structuredContent } = execution.result;
  const texts = content.map(({ type, mimeType, text }) => text ?? `[${type}${mimeType ? ` ${mimeType}` : ""}]`);
  return {
    isError,
    content: texts.map((text) => ({ type: "text", text })),
    ...(structuredContent && { structuredContent }),
  };
}
