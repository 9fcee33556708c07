#!/usr/bin/env node
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { serveStdio, version } from "./server.ts";

const help = `tool-evals-reference-server [flags]

The reference tool server: one tool, echo, over stdio, SSE or Streamable HTTP.

  --transport T      stdio, http (Streamable HTTP) or its predecessor sse (default: stdio)
  --name NAME        Name of the server (default: reference)
  --host ADDRESS     Address to listen on, for http and sse (default: 127.0.0.1)
  --port PORT        Port to listen on, for http and sse; 0 for any free port (default: 3333)
  --allow-hosts A,B  Host names that clients may use, for http and sse
  --print-config     Print the .mcp.json file that registers this server in a host, and exit
  --help, --version  Print this text or the version, and exit`;

const flags = {
  transport: { type: "string" },
  name: { type: "string" },
  host: { type: "string" },
  port: { type: "string" },
  "allow-hosts": { type: "string" },
  "print-config": { type: "boolean" },
  help: { type: "boolean" },
  version: { type: "boolean" },
} as const;

class UsageError extends Error {}

/** The command line with defaults. Throws UsageError. */
function parseOptions(args: string[]) {
  const given = parseFlags(args);
  const { transport = "stdio", name = "reference", host = "127.0.0.1", port = "3333" } = given;
  if (transport !== "stdio" && transport !== "http" && transport !== "sse") {
    throw new UsageError("--transport must be stdio, http or sse.");
  }
  const unused = (["host", "port", "allow-hosts"] as const).find((flag) => given[flag] !== undefined);
  if (transport === "stdio" && unused) {
    throw new UsageError(`--${unused} does not apply to stdio. Add --transport http or --transport sse.`);
  }
  for (const [flag, value] of Object.entries({ name, host })) {
    if (value.trim() === "") throw new UsageError(`--${flag} must not be empty.`);
  }
  if (!/^\d+$/.test(port) || Number(port) > 65_535) {
    throw new UsageError("--port must be an integer from 0 to 65535.");
  }
  return { ...given, transport, name, host, port: Number(port), allowHosts: given["allow-hosts"]?.split(",") ?? [] };
}

function parseFlags(args: string[]) {
  try {
    return parseArgs({ args, options: flags }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

type Running = { close(): Promise<void> };

/** Does what the command line asks for. Returns undefined if nothing keeps running. */
async function start(args: string[]): Promise<Running | undefined> {
  const { transport, name, host, port, allowHosts, ...given } = parseOptions(args);
  if (given.help) return void console.log(help);
  if (given.version) return void console.log(version);
  if (transport === "stdio" && !given["print-config"]) return serveStdio(name);

  // Loaded late: it would add to the start-up time over stdio, for which a host waits.
  const { isLoopback, listen, urlHost } = await import("./http.ts");
  if (given["print-config"]) {
    const path = transport === "sse" ? "/sse" : "/mcp";
    const script = [fileURLToPath(import.meta.url), ...args.filter((arg) => arg !== "--print-config")];
    const entry =
      transport === "stdio"
        ? { command: process.execPath, args: script }
        : { type: transport, url: `http://${urlHost(host)}:${port}${path}` };
    return void console.log(JSON.stringify({ mcpServers: { [name]: entry } }, null, 2));
  }
  const listener = await listen({
    transport: transport === "sse" ? "sse" : "http",
    name,
    host,
    port,
    allowHosts,
  }).catch((error: NodeJS.ErrnoException) => {
    const reasons: Record<string, string> = {
      EADDRINUSE: "The port is in use. Set another one with --port, or --port 0 for any free port.",
      EACCES: "This user may not listen on that port. Set one above 1023 with --port.",
      EADDRNOTAVAIL: "This machine does not have that address. Set one that it has with --host.",
      ENOTFOUND: "Unknown host. Set an address of this machine with --host.",
    };
    throw new Error(`Cannot listen on ${host}, port ${port}. ${reasons[error.code ?? ""] ?? error.message}`);
  });
  if (!isLoopback(host)) {
    console.error(
      `warning: ${host} is not a loopback address. Other machines can reach this server without authentication.`,
    );
  }
  console.error(`Listening on ${listener.url}`);
  return listener;
}

try {
  const running = await start(process.argv.slice(2));
  if (running) {
    for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, () => running.close().then(() => process.exit(0)));
  }
} catch (error) {
  const isUsage = error instanceof UsageError;
  console.error(`error: ${error instanceof Error ? error.message : error}`);
  if (isUsage) console.error("Run tool-evals-reference-server --help to see the flags.");
  process.exitCode = isUsage ? 2 : 1;
}
