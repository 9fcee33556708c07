import {
  Client as Client2,
  StreamableHTTPClientTransport as Http2,
  SSEClientTransport as Sse2,
} from "@modelcontextprotocol/client";
import { StdioClientTransport as Stdio2 } from "@modelcontextprotocol/client/stdio";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport as Sse1 } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport as Stdio1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as Http1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

/** Where a client finds a server. */
export type Target = { url: string; transport: "sse" | "http" } | { command: string; args: string[] };

const info = { name: "test client", version: "0" };

async function client1(target: Target) {
  const client = new Client1(info);
  const transport =
    "command" in target ? new Stdio1(target) : new (target.transport === "sse" ? Sse1 : Http1)(new URL(target.url));
  await client.connect(transport);
  return client;
}

async function client2(target: Target) {
  const client = new Client2(info, { versionNegotiation: { mode: "auto" } });
  const transport =
    "command" in target ? new Stdio2(target) : new (target.transport === "sse" ? Sse2 : Http2)(new URL(target.url));
  await client.connect(transport);
  return client;
}

/** The official clients. `unknownTool` is how each shows the server's error for an unknown tool named `nope`. */
export const clients = [
  { client: "1.x", connect: client1, unknownTool: "MCP error -32602: Unknown tool: nope" },
  { client: "2.x", connect: client2, unknownTool: "Unknown tool: nope" },
];
