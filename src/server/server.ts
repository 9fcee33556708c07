import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { CallToolRequestSchema, ErrorCode, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { version } from "./about.ts";
import { echo, echoTool } from "./echo.ts";

/**
 * The reference tool server under the given name, not yet connected. It makes its initialization options itself.
 *
 * Built on the low-level class: the high-level one reports an unknown tool as a result, where this has to be an error.
 */
export function createServer(name: string): Server {
  const server = new Server(
    { name, version },
    { capabilities: { tools: {} }, instructions: "Use echo to give a text back to the user word for word." },
  );
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [echoTool] }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
    if (params.name !== echoTool.name) throw new UnknownTool(params.name);
    return echo(params.arguments ?? {});
  });
  return server;
}

/** Not an McpError: that one puts a prefix before the message, on the wire too. Any error with a code is sent as it is. */
class UnknownTool extends Error {
  readonly code = ErrorCode.InvalidParams;

  constructor(name: string) {
    super(`Unknown tool: ${name}`);
  }
}
