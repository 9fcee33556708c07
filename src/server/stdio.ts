import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { createServer } from "./server.ts";

/**
 * Serves this process's standard input and output. The process ends by itself when the input closes: by then nothing
 * holds it, and every request that was read has been answered. Only messages of the protocol go to standard output.
 */
export async function serveStdio(name: string): Promise<{ close(): Promise<void> }> {
  const server = createServer(name);
  server.onerror = (error) => console.error(`error: ${error.message}`);
  // The host is gone without closing our input; nobody is left to answer.
  process.stdout.on("error", () => void server.close());
  await server.connect(new StdioServerTransport());
  if (process.stdin.isTTY) console.error("waiting for a host on standard input; --help shows the other ways to start");
  return server;
}
