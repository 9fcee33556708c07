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

async function printConfig({ name, transport, flags }: Options): Promise<undefined> {
  const { formatRegistration } = await import("./options.ts");
  console.log(formatRegistration(name, process.execPath, [fileURLToPath(import.meta.url), ...flags]));
  if (transport !== "stdio") {
    console.error(`note: Hosts start servers over stdio only. For ${transport}, start this command yourself`);
    console.error("and register the URL that it prints instead of command and args.");
  }
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
