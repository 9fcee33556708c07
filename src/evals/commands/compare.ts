import { defineCommand, texts } from "./command.ts";
import { jsonFlag, marginFlag, outFlag } from "./flags.ts";

export const compareCommand = defineCommand({
  command: "compare <base> <head>",
  describe: "Compare two recorded runs; no model is called",
  positionals: {
    base: { type: "string", demandOption: true, describe: "A: folder or id of a run, or a baseline file" },
    head: { type: "string", demandOption: true, describe: "B: folder or id of a run, or latest" },
  },
  flags: {
    suite: texts("Compare only these suites (default: all that both have)"),
    model: {
      alias: "m",
      type: "string",
      array: true,
      describe: "Compare only these models (default: all that both have)",
    },
    margin: marginFlag("Mean drop that NO REGRESSION rules out (0.1 or 10% = 10 percentage points)"),
    as: {
      choices: ["terminal", "json", "markdown", "html", "junit", "github", "sarif"] as const,
      default: "terminal" as const,
      describe: "Output format",
    },
    out: outFlag,
    json: jsonFlag,
  },
  examples: [
    ["compare 2026-11-21T09-30-00-000 latest", "Did it improve since that run?"],
    ["compare evals/baselines/files.lexical-2.json latest", "Compare the latest run with the accepted baseline"],
  ],
  run: async (args, io) => (await import("../experiments/compare.ts")).compare(args, io),
});
