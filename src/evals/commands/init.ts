import { choice, defineCommand, text } from "./command.ts";
import { requestFlags, serverFlags } from "./flags.ts";

const one = (describe: string) => text(describe, { group: "Servers:" });

export const initCommand = defineCommand({
  command: "init",
  describe: "Write a first suite for a server: list its tools and draft cases",
  positionals: {},
  flags: {
    server: one("Command line of an MCP server"),
    url: one("URL of an MCP server"),
    transport: serverFlags.transport,
    config: one("Host configuration file with the server (default: those of the project, then of the user)"),
    name: one("Name of the server in a host configuration"),
    model: text(
      "Language model that writes the queries, as in `evals try` (default: none; queries use the words of the descriptions)",
      { alias: "m" },
    ),
    yes: { alias: "y", type: "boolean", default: false, describe: "Do not ask for confirmation before spending" },
    catalog: text("File with the tools that the server's dispatchers call"),
    file: text("File to write (default: evals/<server>.yaml)"),
    ci: choice(
      "Also write a workflow that runs the suites on pull requests; nothing else where there are suites and no server is named",
      ["github"],
    ),
    ...requestFlags,
  },
  epilogue:
    "Without a flag, servers are looked up in .mcp.json, .vscode/mcp.json, .cursor/mcp.json and .gemini/settings.json, " +
    "then in the files of Claude Desktop and Cursor in the home folder. No model is called without --model, " +
    "no tool is called, and no file is overwritten.",
  examples: [
    ["init", "A suite for the server in .mcp.json"],
    ['init --server "node dist/main.js" --ci github', "A suite and a workflow for one server"],
    ["init -m anthropic:claude-haiku-5-5 --budget 0.50", "With queries written by a model, for at most half a dollar"],
    ["init --ci github", "A workflow for the suites that there are"],
    ["init --url https://example.com/mcp --file evals/remote.yaml", "A suite for a remote server"],
  ],
  run: async ({ model, ...args }, io) =>
    model === undefined
      ? (await import("../inspection/init/init.ts")).init(args, io)
      : (await import("../inspection/init/try/init.ts")).initWritten({ ...args, model }, io),
});
