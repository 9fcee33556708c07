import { defineCommand, number, text, texts } from "./command.ts";
import { modelFlag, resumeFlag, suiteFlags, suitePath, trialFlags } from "./flags.ts";

export const crowdCommand = defineCommand({
  command: "crowd [path]",
  describe: "Measure the loss of accuracy as foreign tools are added to the suite's own",
  positionals: { path: suitePath },
  flags: {
    model: modelFlag,
    distractors: texts(
      "Files with the foreign tools: tools/list results as JSON or YAML; a suite over a whole configuration needs none",
      { alias: "d" },
    ),
    sizes: text(
      "Numbers of foreign tools, separated by commas (default: 0,10,50, or all where there are fewer); in a whole configuration: of other servers (default: each)",
    ),
    trials: number("Trials per case and size; overrides the suite (its default: 5)", {
      alias: "n",
      min: 1,
      integer: true,
    }),
    ...suiteFlags,
    resume: resumeFlag,
    ...trialFlags,
  },
  epilogue:
    "The seed decides the order in which foreign tools are added, so a smaller set is always part of a larger one. " +
    "Foreign tools are shown and never executed; a tool whose name the suite already uses is skipped. " +
    "In a suite over a whole configuration (server: { config: .mcp.json, all: true }), the other servers join the one that a " +
    "case is about, in the order of the file. " +
    "Exit code 0 for any rates, 3 when the experiment was stopped or nothing was graded.",
  examples: [
    ["crowd evals/files.yaml -d github.json -d slack.json", "Accuracy with 0, 10 and 50 foreign tools"],
    ["crowd evals/all.yaml", "A suite over a whole configuration: each server alone, then with more of the others"],
    ["crowd -d github.json --sizes 0,5,20 -n 20 -m openai:gpt-5", "Other sizes, on a language model"],
  ],
  run: async (args, io) => (await import("../experiments/arms/crowd.ts")).crowd(args, io),
});
