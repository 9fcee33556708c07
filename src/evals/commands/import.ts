import { defineCommand, text, texts, toggle } from "./command.ts";
import { jsonFlag } from "./flags.ts";

export const importCommand = defineCommand({
  command: "import [paths..]",
  describe: "Convert the cases of other eval tools to suites",
  positionals: { paths: texts("Files or folders with cases (default: the current folder)") },
  flags: {
    from: text(
      "Format of the files (default: detected): mongodb, vitest-evals, mcp-evals, apify, apify-tasks, " +
        "prompt-table, prompt-lists, posthog, vally, waza, promptfoo, whichtool, bfcl",
    ),
    tools: text("JSON or YAML file with the tool list; expected tools that it lacks are reported"),
    server: text("Command line of the server that the suites name"),
    output: text("Folder for the suites, one suite per format", { default: "evals/imported" }),
    judged: toggle("Keep sentences for a judge in cases that also expect tools"),
    "execute-source": toggle("Run TypeScript sources, which is how their cases are read; only sources that you trust"),
    force: toggle("Replace existing suites"),
    json: { ...jsonFlag, describe: "Print what was kept and what was not as JSON" },
  },
  epilogue:
    "TypeScript sources (mongodb, vitest-evals) are read with --execute-source: all of a repository run in one process " +
    "with an empty environment, stubs for packages, no network and no write access, for at most 10 s each. What a suite " +
    "cannot express is printed, and kept as a comment above its case. Exit code 2 when a file is malformed.",
  examples: [
    ['import ../my-server --server "node dist/main.js"', "Every known format in a repository"],
    ["import packages/accuracy-tests --tools tools.json", "Also report expected tools that no longer exist"],
    ["import tests.yaml --from promptfoo --judged", "One file, with its rubrics for a judge"],
  ],
  run: async (args, io) => (await import("../inspection/import.ts")).importSuites(args, io),
});
