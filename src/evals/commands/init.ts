import { choice, defineCommand, text } from "./command.ts";
import { serverFlags } from "./flags.ts";

export const initCommand = defineCommand({
  command: "init [target]",
  describe: "Show what a model may mix up in a server's tools, and draft a first suite",
  positionals: {
    target: text(
      "Command line of a server in quotes, URL, host configuration, tool list, or folder of skills (default: the server and the skills of the project)",
    ),
  },
  flags: {
    ...serverFlags,
    catalog: text("File with the tools that the server's dispatchers call"),
    file: text("Suite to write (default: evals/<server>.yaml)"),
    ci: choice(
      "Also write a workflow that runs the suites on pull requests; nothing else where there are suites and no server is named",
      ["github"],
    ),
  },
  epilogue:
    "Without a target, servers are looked up in .mcp.json, .vscode/mcp.json, .cursor/mcp.json and .gemini/settings.json, " +
    "then in the files of Claude Desktop and Cursor in the home folder, then in package.json. No model and no tool is " +
    "called, and no file is overwritten. `evals queries` replaces the drafted queries by better ones.",
  examples: [
    ['init "npx -y @modelcontextprotocol/server-memory"', "The tools of a server, and a suite for them"],
    ["init", "The same for the server in .mcp.json, and for the skills of the project"],
    ["init .claude/skills", "Queries for each skill, in its evals/evals.json"],
    ['init "node dist/main.js" --ci github', "A suite and a workflow"],
  ],
  run: async (args, io) => (await import("../inspection/init/init.ts")).init(args, io),
});
