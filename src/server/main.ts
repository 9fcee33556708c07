#!/usr/bin/env node
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { defaultName } from "./about.ts";
import type { Options } from "./options.ts";

// Imports wait until they are needed: a host waits for the start over stdio, and yargs or HTTP would add half to it.

type Running = { close(): Promise<void> };

/** The server's name, when the command line is a plain start over stdio; otherwise undefined, and yargs decides. */
function plainStdioName(argv: string[]): string | undefined {
  try {
    const options = { transport: { type: "string" }, name: { type: "string" } } as const;
    const { transport = "stdio", name = defaultName } = parseArgs({ args: argv, options }).values;
    return transport === "stdio" && name.trim() !== "" ? name : undefined;
  } catch {
    return undefined;
  }
}

/** Starts what the command line asks for; undefined when there is nothing that goes on running. */
async function start(argv: string[]): Promise<Running | undefined> {
  const name = plainStdioName(argv);
  if (name !== undefined) return (await import("./stdio.ts")).serveStdio(name);
  const options = (await import("./options.ts")).parseOptions(argv);
  if (options.printConfig) return printConfig(options);
  const { transport } = options;
  if (transport === "stdio") return (await import("./stdio.ts")).serveStdio(options.name);
  return serveHttp({ ...options, transport });
}

async function printConfig({ name, transport, flags }: Options): Promise<undefined> {
  const { registration } = await import("./registration.ts");
  console.log(registration(name, process.execPath, [fileURLToPath(import.meta.url), ...flags]));
  if (transport !== "stdio") {
    console.error(`note: a host talks over stdio to what it starts. Start this command yourself with ${transport},`);
    console.error("and register the URL that it prints in place of command and args.");
  }
}

async function serveHttp(options: Options & { transport: "sse" | "http" }): Promise<Running> {
  const [{ listen }, { isLoopback }] = await Promise.all([import("./http.ts"), import("./guard.ts")]);
  const { host, port } = options;
  const listener = await listen(options).catch((error: NodeJS.ErrnoException) => {
    const reasons: Record<string, string> = {
      EADDRINUSE: "the port is in use. Give another with --port, or --port 0 for any free one.",
      EACCES: "this user may not listen on that port. Give one above 1023 with --port.",
      EADDRNOTAVAIL: "this machine does not have that address. Give one that it has with --host.",
      ENOTFOUND: "no such host is known. Give an address of this machine with --host.",
    };
    throw new Error(`cannot listen on ${host}, port ${port}: ${reasons[error.code ?? ""] ?? error.message}`);
  });
  if (!isLoopback(host)) {
    console.error(`warning: ${host} is not a loopback address: other machines may reach this server, unauthenticated.`);
  }
  console.error(`listening on ${listener.url}`);
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
