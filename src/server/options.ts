import yargs from "yargs";
import { defaultName, version } from "./about.ts";

/** The command line with defaults. `flags` are the ones given, except --print-config. */
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

/** An invalid command line. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Parses the command line. Throws UsageError; for --help and --version prints and exits the process. */
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
    idleMs: (given.idleMinutes ?? 5) * 60_000,
    printConfig: given.printConfig ?? false,
    flags,
  };
}

const text = (describe: string) => ({ string: true, requiresArg: true, describe }) as const;
const number = (describe: string) => ({ number: true, requiresArg: true, describe }) as const;

// No yargs defaults: given flags are printed by --print-config and refused where they do not apply.
function parser() {
  const command = "tool-evals-reference-server";
  return yargs()
    .scriptName(command)
    .usage("$0 [flags]\n\nThe reference tool server: one tool, echo, over stdio, SSE or Streamable HTTP.")
    .options({
      transport: {
        choices: ["stdio", "sse", "http"],
        requiresArg: true,
        describe: "Transport: stdio, Streamable HTTP (http) or its predecessor SSE (default: stdio)",
      },
      name: text(`Name of the server (default: ${defaultName})`),
      host: text("Address to listen on, for sse and http (default: 127.0.0.1)"),
      port: number("Port to listen on, for sse and http; 0 for any free port (default: 3333)"),
      "allow-hosts": text("Comma-separated host names that clients may use, for sse and http"),
      "idle-minutes": number("Idle time after which a session is closed, for sse and http (default: 5)"),
      "print-config": { boolean: true, describe: "Print how to register this server in a host, and exit" },
    } as const)
    .example("$0", "Serve a desktop host over stdio")
    .example("$0 --transport http --port 0", "Serve Streamable HTTP on any free port; prints the URL to stderr")
    .example("$0 --name demo --print-config", "Print the mcpServers entry and the command to add it")
    .parserConfiguration({ "duplicate-arguments-array": false })
    .strict()
    .check(checkOptions)
    .version(version)
    .fail((message, error) => {
      throw new UsageError(`${message ?? error.message}\nRun ${command} --help to see the flags.`);
    })
    .wrap(100);
}

function checkOptions(given: Record<string, unknown>): true {
  const { transport, name, host, port, "idle-minutes": idle } = given;
  if (transport === undefined || transport === "stdio") {
    const flag = ["host", "port", "allow-hosts", "idle-minutes"].find((key) => given[key] !== undefined);
    if (flag) throw new Error(`--${flag} does not apply to stdio. Add --transport http or --transport sse.`);
  }
  for (const [flag, value] of Object.entries({ name, host })) {
    if (typeof value === "string" && value.trim() === "") throw new Error(`--${flag} must not be empty.`);
  }
  if (port !== undefined && !(Number.isInteger(port) && isWithin(port, 0, 65_535))) {
    throw new Error("--port must be an integer from 0 to 65535.");
  }
  // A timer holds at most 24.8 days.
  if (idle !== undefined && !isWithin(idle, 0.001, 35_000)) {
    throw new Error("--idle-minutes must be a number from 0.001 to 35000.");
  }
  return true;
}

function isWithin(value: unknown, low: number, high: number): boolean {
  return typeof value === "number" && value >= low && value <= high;
}

/**
 * How to register this server in a host: the JSON for its configuration file, and a command line, in which `<host>` stands
 * for the program of the host.
 * @param command absolute path of the executable
 * @param args absolute path of the script, and its flags
 */
export function formatRegistration(name: string, command: string, args: readonly string[]): string {
  const config = { mcpServers: { [name]: { command, args } } };
  const line = ["<host> mcp add", quote(name), "--", quote(command), ...args.map(quote)].join(" ");
  return `${JSON.stringify(config, null, 2)}\n${line}`;
}

/** How to register the URL of this server in hosts, each in its own form; a host without a form for SSE is left out. */
export function formatUrlRegistration(name: string, transport: "sse" | "http", url: string): string {
  const named = (value: object) => JSON.stringify({ mcpServers: { [name]: value } });
  const goose = { enabled: true, type: "streamable_http", name, description: name, uri: url, timeout: 300 };
  const forms = [
    ["Claude Code", `claude mcp add --transport ${transport} ${quote(name)} ${quote(url)}`],
    [".mcp.json", named({ type: transport, url })],
    ["VS Code", `code --add-mcp ${quote(JSON.stringify({ name, type: transport, url }))}`],
    ["Cursor", named({ url })],
    ["Gemini CLI", named(transport === "http" ? { httpUrl: url } : { url })],
    ["Copilot CLI", named({ type: transport, url, tools: ["*"] })],
    ...(transport === "http"
      ? [
          ["Codex", `codex mcp add ${quote(name)} --url ${quote(url)}`],
          ["goose", JSON.stringify({ extensions: { [name]: goose } })],
        ]
      : []),
  ];
  const width = Math.max(...forms.map(([host = ""]) => host.length));
  return forms.map(([host = "", form]) => `${host.padEnd(width)}  ${form}`).join("\n");
}

/** Quotes one word for a POSIX shell. */
export function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
