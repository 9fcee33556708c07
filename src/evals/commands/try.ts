import { defineCommand, number, text } from "./command.ts";
import { jsonFlag, outFlag, requestFlags, seedRange, serverFlags } from "./flags.ts";

export const tryCommand = defineCommand({
  command: "try [server]",
  describe: "Generate queries for a server's tools, and show which tools a model picks",
  positionals: { server: text("Command line or URL of an MCP server") },
  flags: {
    transport: {
      ...serverFlags.transport,
      describe: "Transport of a URL: Streamable HTTP (default), or the older SSE",
    },
    config: text("Host configuration file with the server", { group: "Servers:" }),
    name: text("With --config: the name of the server", { group: "Servers:" }),
    tools: text("JSON or YAML file with a tool list, instead of a server", { group: "Servers:" }),
    model: text("Model under test (default: one whose API key is set, otherwise lexical, a keyword search)", {
      alias: "m",
    }),
    writer: text("Model that writes the queries (default: the model under test)"),
    "per-tool": number("Queries per tool", { min: 1, max: 20, integer: true, default: 2 }),
    trials: number("Trials per query", { alias: "n", min: 1, max: 100, integer: true, default: 1 }),
    yes: { alias: "y", type: "boolean", default: false, describe: "Do not ask for confirmation before spending" },
    seed: number("Seed of the generated arguments and the order", { ...seedRange, default: 1 }),
    file: text("Suite to write (default: evals/try-<server>.yaml)"),
    json: jsonFlag,
    out: outFlag,
    ...requestFlags,
  },
  epilogue:
    "Arguments are sampled from a tool's schema, then a model writes the request that a user would make with them. The model " +
    "sees this tool and the names of the others. Queries that name a tool or omit an argument are dropped and counted. The " +
    "queries are kept as a suite for `evals run`. Without an API key, queries in the words of the tools are put to the keyword " +
    "search.",
  examples: [
    ['try "npx -y @modelcontextprotocol/server-memory"', "What a model picks from these tools; asks before it spends"],
    ["try https://example.com/mcp -m anthropic:claude-haiku-5-5 --budget 0.50", "At most half a dollar"],
    ["try --tools tools.json -m lexical", "A tool list, on the keyword search"],
  ],
  run: async (args, io) => (await import("../inspection/init/try/try.ts")).tryServer(args, io),
});
