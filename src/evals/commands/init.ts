import { choice, defineCommand, text, texts } from "./command.ts";
import { requestFlags, serverFlags } from "./flags.ts";

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
    writer: text("Language model that writes the queries (default: none; they use the words of the definitions)"),
    from: texts("Files or folders with conversations of users, whose queries become the cases (default: none)"),
    replace: texts("Further text to replace in the queries of --from, such as a name; repeatable"),
    yes: { alias: "y", type: "boolean", default: false, describe: "Do not ask for confirmation before spending" },
    ...requestFlags,
  },
  epilogue:
    "Without a target, servers are looked up in .mcp.json, .vscode/mcp.json, .cursor/mcp.json and .gemini/settings.json, " +
    "then in the files of Claude Desktop and Cursor in the home folder, then in package.json. No model is called without " +
    "--writer, no tool is called, and no file is overwritten. --from reads sessions of Claude Code and Codex, and OTLP JSON " +
    "with gen_ai.input.messages. The tool that was used in the end is expected; one that failed or was corrected is to be " +
    "avoided. Personal data become examples, and queries with secrets are left out.",
  examples: [
    ['init "npx -y @modelcontextprotocol/server-memory"', "The tools of a server, and a suite for them"],
    ["init", "The same for the server in .mcp.json, and for the skills of the project"],
    ["init .claude/skills", "Queries for each skill, in its evals/evals.json"],
    ['init "node dist/main.js" --ci github', "A suite and a workflow"],
    ['init "node dist/main.js" --from ~/.claude/projects/-home-me-app', "Queries that users wrote in Claude Code"],
    ["init --writer anthropic:claude-haiku-5-5 --budget 0.50", "With queries by a model, for at most half a dollar"],
  ],
  run: async (args, io) => (await import("../inspection/init/init.ts")).init(args, io),
});
