import { defineCommand } from "./command.ts";
import { jsonFlag } from "./flags.ts";

/** `evals import`: the cases of other tools as suites. */
export const importCommand = defineCommand({
  command: "import [paths..]",
  describe: "Write suites from the cases of other tools",
  positionals: {
    paths: { type: "string", array: true, describe: "Files or folders with cases (default: the current folder)" },
  },
  flags: {
    from: {
      type: "string",
      describe:
        "Format of the files (default: recognised): mongodb, vitest-evals, mcp-evals, mcp-evals-ts, apify, apify-tasks, " +
        "prompt-table, prompt-lists, posthog, vally, waza, promptfoo, whichtool, bfcl",
    },
    tools: {
      type: "string",
      describe: "JSON or YAML file with the tool list: names expectations of tools that it has not",
    },
    out: { type: "string", default: "evals/imported", describe: "Folder of the suites, one for each format" },
    judged: { type: "boolean", default: false, describe: "Keep sentences for a judge beside expected tools" },
    "execute-source": {
      type: "boolean",
      default: false,
      describe: "Run TypeScript sources, for what cannot be known by parsing them; only for sources that you trust",
    },
    force: { type: "boolean", default: false, describe: "Replace suites that exist" },
    json: { ...jsonFlag, describe: "Print what was kept and what was not as JSON" },
  },
  epilogue:
    "Sources in TypeScript are parsed and not run; with --execute-source they are run in a process of 20 s at most, with an " +
    "empty environment, without writing, and with stubs for packages. What a suite cannot say is printed, and is a comment above its " +
    "case. Exit code 2 when a file is malformed.",
  examples: [
    ["import ../my-server", "Every known format in a repository"],
    ["import packages/accuracy-tests --tools tools.json", "And the expectations of tools that are gone"],
    ["import tests.yaml --from promptfoo --judged", "One file, with its rubrics for a judge"],
  ],
  run: async (args, io) => (await import("../inspection/import.ts")).importSuites(args, io),
});
