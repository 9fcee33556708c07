import { createRequire } from "node:module";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListToolsRequestSchema,
  type Tool,
} from "@modelcontextprotocol/sdk/types.js";

/** The version of the package, from its package.json. */
export const { version } = createRequire(import.meta.url)("tool-evals/package.json") as { version: string };

/** The only tool of the reference server, as listed. */
const echoTool: Tool = {
  name: "echo",
  description:
    "Echoes the input text back to the user. Call it when the user asks to echo or repeat a text word for word, " +
    'for example "echo hello" or "say this back to me: good morning".',
  inputSchema: {
    type: "object",
    properties: { text: { type: "string", description: "The text to echo back" } },
    required: ["text"],
  },
  annotations: { readOnlyHint: true },
};

/** Runs the tool: one text item `Echo: <text>`, or a structured failure with a hint for the model. */
export function echo(args: Record<string, unknown>): CallToolResult {
  const { text } = args;
  if (typeof text === "string") return { content: [{ type: "text", text: `Echo: ${text}` }] };
  return failure({
    success: false,
    error: text === undefined ? "The argument text is missing." : `The argument text is not a string: ${shown(text)}.`,
    retry_hint: 'Call echo again with the text to echo back as a string, for example {"text": "hello"}.',
    code: text === undefined ? "MISSING_ARGUMENT" : "INVALID_ARGUMENT",
  });
}

type Failure = { success: false; error: string; retry_hint: string; code: string };

/** The failure is in both forms: some hosts read the content, others the structured content. */
function failure(outcome: Failure): CallToolResult {
  return { isError: true, content: [{ type: "text", text: JSON.stringify(outcome) }], structuredContent: outcome };
}

/** A wrong value as JSON, shortened so that a huge one is not returned to the model. */
function shown(value: unknown): string {
  const json = JSON.stringify(value);
  return json.length > 60 ? `${json.slice(0, 60)}...` : json;
}

/**
 * Creates the reference tool server, not yet connected. Uses the low-level class: McpServer reports an unknown tool as
 * a result instead of an error.
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

/** Not an McpError, which would add a prefix to the message; any other error with a code is sent unchanged. */
class UnknownTool extends Error {
  readonly code = ErrorCode.InvalidParams;

  constructor(name: string) {
    super(`Unknown tool: ${name}`);
  }
}

/**
 * Serves standard input and output. Once the input closes and every request is answered, nothing keeps the process
 * alive. Only protocol messages go to standard output.
 */
export async function serveStdio(name: string): Promise<{ close(): Promise<void> }> {
  const server = createServer(name);
  server.onerror = (error) => console.error(`error: ${error.message}`);
  // The host has exited without closing our input.
  process.stdout.on("error", () => void server.close());
  await server.connect(new StdioServerTransport());
  if (process.stdin.isTTY) {
    console.error("Waiting for a host on standard input. Run with --help to see other transports.");
  }
  return server;
}
