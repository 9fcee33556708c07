import type { Argv, Options } from "yargs";
import type { ExitCode } from "../errors.ts";
import type { Io } from "../io.ts";
import type { Command, Flags } from "./command.ts";

const flags = {
  server: { type: "string", array: true, nargs: 1, describe: "command line of an MCP server" },
  url: { type: "string", array: true, nargs: 1, describe: "URL of an MCP server" },
  transport: {
    choices: ["http", "sse"] as const,
    default: "http" as const,
    describe: "what --url speaks: Streamable HTTP, or the older SSE",
  },
  config: { type: "string", array: true, nargs: 1, describe: "a host's file, for example .mcp.json: all its servers" },
  execute: {
    choices: ["always", "safe", "never"] as const,
    default: "safe" as const,
    describe: "which tools that need no argument are called once; safe: those annotated read-only or non-destructive",
  },
  timeout: { type: "number", default: 30, describe: "seconds that a server may take to start" },
  json: { type: "boolean", default: false, describe: "print one JSON object instead of the report" },
} satisfies Record<string, Options>;

export type DoctorFlags = Flags<typeof flags> & { paths?: string[] };

/** `evals doctor`: why a server does not start, list its tools or answer calls; asks no model. */
export const doctorCommand: Command = {
  command: "doctor [paths..]",
  describe: "Start servers, list their tools and call what is harmless: what is wrong, and what to do",
  builder: (yargs: Argv) =>
    yargs
      .positional("paths", {
        type: "string",
        array: true,
        describe: "suites whose servers are examined, files or folders (default: evals/, unless a flag names servers)",
      })
      .options(flags)
      .epilogue(
        "Each local server is started twice: by itself, to see what it prints, and by a client. Exit code 1 when one is unhealthy.",
      )
      .example('$0 doctor --server "node dist/main.js"', "one server")
      .example("$0 doctor --config .mcp.json", "every server that a host starts, and its entry")
      .example("$0 doctor --url https://example.com/mcp --execute never", "call no tool"),
  handler: async (args: DoctorFlags, io: Io): Promise<ExitCode> =>
    (await import("../inspection/doctor/doctor.ts")).doctor(args, io),
};
