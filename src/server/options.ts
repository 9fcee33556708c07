import yargs from "yargs";
import { defaultName, version } from "./about.ts";

/** The command line, defaults filled in. `flags` are those that were given, but for --print-config. */
export type Options = {
  transport: "stdio" | "sse" | "http";
  name: string;
  host: string;
  port: number;
  allowHosts: readonly string[];
  idleMs: number;
  printConfig: boolean;
  flags: readonly string[];
};

/** The command line is wrong; the message says how and what to do. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Parses the command line. Throws UsageError. Prints and exits the process for --help and --version. */
export function parseOptions(argv: readonly string[]): Options {
  const given = parser().parseSync([...argv]);
  const flags = Object.entries({
    "--transport": given.transport,
    "--name": given.name,
    "--host": given.host,
    "--port": given.port,
    "--allow-hosts": given.allowHosts,
    "--idle-minutes": given.idleMinutes,
  }).flatMap(([flag, value]) => (value === undefined ? [] : [flag, String(value)]));
  return {
    transport: given.transport ?? "stdio",
    name: given.name ?? defaultName,
    host: given.host ?? "127.0.0.1",
    port: given.port ?? 3333,
    allowHosts: given.allowHosts?.split(",") ?? [],
    idleMs: (given.idleMinutes ?? 60) * 60_000,
    printConfig: given.printConfig ?? false,
    flags,
  };
}

const text = (describe: string) => ({ string: true, requiresArg: true, describe }) as const;
const number = (describe: string) => ({ number: true, requiresArg: true, describe }) as const;

// No `default`s: whether a flag was given has to be known, to print it again and to refuse it where it has no meaning.
function parser() {
  const command = "tool-evals-reference-server";
  return yargs()
    .scriptName(command)
    .usage("$0 [flags]\n\nThe reference tool server: one tool, echo, over stdio, SSE or Streamable HTTP.")
    .options({
      transport: {
        choices: ["stdio", "sse", "http"],
        requiresArg: true,
        describe: "how hosts talk to it; http is Streamable HTTP, sse its predecessor (default: stdio)",
      },
      name: text(`the server's name (default: ${defaultName})`),
      host: text("sse, http: the address to listen on (default: 127.0.0.1)"),
      port: number("sse, http: the port to listen on; 0 takes any free one (default: 3333)"),
      "allow-hosts": text("sse, http: other names under which clients reach it, with commas between"),
      "idle-minutes": number("sse, http: close a session after this time without a request (default: 60)"),
      "print-config": { boolean: true, describe: "print how a host registers this server with these flags, and exit" },
    } as const)
    .example("$0", "serve a desktop host over stdio")
    .example("$0 --transport http --port 0", "serve Streamable HTTP on any free port; the URL goes to stderr")
    .example("$0 --name demo --print-config", "print the mcpServers entry and the command to add it")
    .parserConfiguration({ "duplicate-arguments-array": false })
    .strict()
    .check(checkOptions)
    .version(version)
    .fail((message, error) => {
      throw new UsageError(`${message ?? error.message}\n${command} --help shows the flags.`);
    })
    .wrap(100);
}

function checkOptions(given: Record<string, unknown>): true {
  const { transport, name, host, port, "idle-minutes": idle } = given;
  if (transport === undefined || transport === "stdio") {
    const flag = ["host", "port", "allow-hosts", "idle-minutes"].find((key) => given[key] !== undefined);
    if (flag) throw new Error(`--${flag} has no meaning over stdio. Add --transport http or --transport sse.`);
  }
  for (const [flag, value] of Object.entries({ name, host })) {
    if (typeof value === "string" && value.trim() === "") throw new Error(`--${flag} must not be empty.`);
  }
  if (port !== undefined && !(Number.isInteger(port) && isWithin(port, 0, 65_535))) {
    throw new Error("--port must be a whole number from 0 to 65535.");
  }
  // The longest time that a timer can hold is 24.8 days.
  if (idle !== undefined && !isWithin(idle, 0.001, 35_000)) {
    throw new Error("--idle-minutes must be a number from 0.001 to 35000.");
  }
  return true;
}

function isWithin(value: unknown, low: number, high: number): boolean {
  return typeof value === "number" && value >= low && value <= high;
}
