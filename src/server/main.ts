#!/usr/bin/env node
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { defaultName } from "./about.ts";
import type { Options } from "./options.ts";

// Imports are lazy: yargs and HTTP would add half to the start-up time over stdio, for which a host waits.

type Running = { close(): Promise<void> };

/** The name of the server if the command line only starts it over stdio; otherwise undefined, and yargs parses it. */
function parsePlainStdio(argv: string[]): string | undefined {
  try {
    const options = { transport: { type: "string" }, name: { type: "string" } } as const;
    const { transport = "stdio", name = defaultName } = parseArgs({ args: argv, options }).values;
    return transport === "stdio" && name.trim() !== "" ? name : undefined;
  } catch {
    return undefined;
  }
}

/** Does what the command line asks for. Returns undefined if nothing keeps running. */
async function start(argv: string[]): Promise<Running | undefined> {
  const name = parsePlainStdio(argv);
  if (name !== undefined) return (await import("./server.ts")).serveStdio(name);
  const options = (await import("./options.ts")).parseOptions(argv);
  if (options.printConfig) return printConfig(options);
  const { transport } = options;
  if (transport === "stdio") return (await import("./server.ts")).serveStdio(options.name);
  return serveHttp({ ...options, transport });
}

async function printConfig({ name, transport, flags, host, port }: Options): Promise<undefined> {
  const { formatRegistration, formatUrlRegistration, quote } = await import("./options.ts");
  if (transport === "stdio") {
    console.log(formatRegistration(name, process.execPath, [fileURLToPath(import.meta.url), ...flags]));
  } else {
    const { urlHost } = await import("./guard.ts");
    const url = `http://${urlHost(host)}:${port === 0 ? "<port>" : port}${transport === "sse" ? "/sse" : "/mcp"}`;
    console.log(formatUrlRegistration(name, transport, url));
    console.error("note: Hosts do not start a server that they reach by URL. Start it yourself:");
    console.error(`  tool-evals-reference-server ${flags.map(quote).join(" ")}`);
    if (port === 0) console.error("note: --port 0 takes another port at each start. Name one to keep the URL.");
  }
  console.error("note: Restart the host after a change: it reads its entries when it starts.");
}

async function serveHttp(options: Options & { transport: "sse" | "http" }): Promise<Running> {
  const [{ listen }, { isLoopback }] = await Promise.all([import("./http.ts"), import("./guard.ts")]);
  const { host, port } = options;
  const listener = await listen(options).catch((error: NodeJS.ErrnoException) => {
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
  console.error(`error: ${error instanceof Error ? error.message : error}`);
  process.exitCode = error instanceof Error && error.name === "UsageError" ? 2 : 1;
}
