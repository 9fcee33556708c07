import type { Argv, Options } from "yargs";
import type { ExitCode } from "../errors.ts";
import type { Io } from "../io.ts";
import type { Command, Flags } from "./command.ts";

/** Seconds. */
export const defaultTimeout = 10;

const flags = {
  server: { type: "string", array: true, nargs: 1, describe: "command line of an MCP server; its tools are probed" },
  url: { type: "string", array: true, nargs: 1, describe: "URL of an MCP server (Streamable HTTP)" },
  config: {
    type: "string",
    array: true,
    nargs: 1,
    describe: "a host's file, for example .mcp.json: every server in it",
  },
  name: { type: "string", array: true, nargs: 1, describe: "with --config: only the servers of these names" },
  tool: {
    type: "string",
    array: true,
    nargs: 1,
    describe: "only tools whose name matches this pattern (* is any text)",
  },
  execute: {
    choices: ["always", "safe", "never"] as const,
    describe:
      "which tools are called; default: as the suite says, else safe: those annotated read-only or non-destructive, of which the latter may leave things behind",
  },
  runs: { type: "number", default: 5, describe: "most inputs for each tool and kind of probe" },
  seed: { type: "number", describe: "seed of the inputs; default: a new one, printed" },
  timeout: { type: "number", default: defaultTimeout, describe: "seconds that one call may take" },
  "max-calls": { type: "number", default: 50, describe: "most further calls to find the smallest failing one" },
  call: {
    type: "string",
    array: true,
    nargs: 1,
    describe: 'make this call instead, {"tool": "...", "arguments": {...}}; repeatable, in order',
  },
  "fail-on": {
    choices: ["error", "warning", "info"] as const,
    default: "warning" as const,
    describe: "least severity that exits with 1",
  },
  json: { type: "boolean", default: false, describe: "print one JSON object instead of the report" },
} satisfies Record<string, Options>;

export type ProbeFlags = Flags<typeof flags> & { paths?: string[] };

/** `evals probe`: calls the tools of servers with inputs made from their schemas, and judges what comes back. */
export const probeCommand: Command = {
  command: "probe [paths..]",
  describe: "Call tools with inputs made from their schemas, and judge what comes back; asks no model",
  builder: (yargs: Argv) =>
    yargs
      .positional("paths", {
        type: "string",
        array: true,
        describe: "suite files or folders, for their servers (default: evals/, unless a flag names a server)",
      })
      .options(flags)
      .example('$0 probe --server "node dist/main.js"', "every tool that is annotated as harmless")
      .example('$0 probe --server "node dist/main.js" --execute always', "every tool: only where nothing can be lost")
      .example('$0 probe --config .mcp.json --name files --tool "read_*"', "some tools of a registered server")
      .example(
        `$0 probe --server "node dist/main.js" --call '{"tool": "echo", "arguments": {"text": ""}}'`,
        "one call again, and what is wrong with its answer",
      ),
  handler: async (args: ProbeFlags, io: Io): Promise<ExitCode> =>
    (await import("../inspection/probe/probe.ts")).probe(args, io),
};
