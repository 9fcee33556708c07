import { defineCommand, number } from "./command.ts";
import { modelFlag, resumeFlag, suiteFlags, suitePath, trialFlags } from "./flags.ts";

export const calibrateCommand = defineCommand({
  command: "calibrate [path]",
  describe: "Measure the noise floor by comparing the tools with themselves, and plan how many trials a check needs",
  positionals: { path: suitePath },
  flags: {
    model: modelFlag,
    trials: number("Trials per case in each of the two identical arms", {
      alias: "n",
      min: 2,
      integer: true,
      default: 20,
    }),
    ...suiteFlags,
    resume: resumeFlag,
    ...trialFlags,
  },
  epilogue:
    "Every case is run 2 x --trials times. Exit code 0, or 3 when the experiment was stopped or nothing was graded.",
  examples: [
    ["calibrate evals/files.yaml -m anthropic:claude-sonnet-5-5", "Before the first regression check"],
    ["calibrate -m openai:qwen3 -n 10 --base-url http://localhost:8000/v1", "With fewer trials"],
  ],
  run: async (args, io) => (await import("../experiments/calibrate/ask.ts")).calibrate(args, io),
});
