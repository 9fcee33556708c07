import { defineCommand, texts } from "./command.ts";
import { jsonFlag, serverFlags } from "./flags.ts";

export const toolsCommand = defineCommand({
  command: "tools [paths..]",
  describe: "List the tools of a server, as a table or as a JSON file for other commands",
  positionals: {
    paths: texts("URL, command line in quotes, host configuration, tool list, or suites (default: evals/)"),
  },
  flags: {
    ...serverFlags,
    tools: texts("JSON or YAML file with a tool list, or a baseline"),
    json: { ...jsonFlag, describe: "Print { tools: [...] } as the server sent it; needs exactly one list" },
  },
  epilogue:
    "A file of `evals tools --json` is taken by lint --tools, lint --against, `distractors` of a suite and `server: { tools: <file> }` " +
    "of a suite. Exit code 3 when a server cannot be listed.",
  examples: [
    ['tools --server "node dist/main.js"', "Names, parameters and descriptions of one server"],
    ['tools --server "node dist/main.js" --json > tools.json', "A list for other commands"],
    ["tools --config .mcp.json", "Every server that a host starts"],
    ["tools --tools evals/baselines/files.lexical-2.json --json", "The list of a baseline"],
  ],
  run: async (args, io) => (await import("../inspection/tools.ts")).listTools(args, io),
});
