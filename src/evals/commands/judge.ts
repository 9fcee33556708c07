import { choice, defineCommand, number, text } from "./command.ts";
import { jsonFlag, requestFlags } from "./flags.ts";

export const judgeCommand = defineCommand({
  command: "judge <action> <labels>",
  describe: "Measure how far a judge model agrees with human labels",
  positionals: {
    action: choice("check: send each label's criterion to the judge and compare", ["check"], { demandOption: true }),
    labels: text(
      "File with one JSON object per line: { id?, input?, transcript or turns, criterion, label }, " +
        'where label is "met", "not met" or "cannot tell" (or true, false, "pass", "fail")',
      { demandOption: true },
    ),
  },
  flags: {
    judge: text("Judge to measure: anthropic:<model> or openai:<model>", { demandOption: true }),
    "min-kappa": number("Fail when Cohen's kappa is below this", { min: -1, max: 1 }),
    output: text("File for the result (default: evals/judges/<judge>.json); commit it"),
    json: jsonFlag,
    ...requestFlags,
    concurrency: { ...requestFlags.concurrency, describe: "Maximum concurrent requests" },
    budget: { ...requestFlags.budget, describe: "Send no further labels once this many US dollars are spent" },
  },
  epilogue:
    "Exit code 0 when every label was answered, 1 when kappa is below --min-kappa, 3 when the judge could not be " +
    "asked about a label or nothing could be measured. Reports of later runs quote the result next to the name of the judge.",
  examples: [
    ["judge check evals/labels.jsonl --judge anthropic:claude-opus-5-5", "Before you rely on its grades"],
    ["judge check evals/labels.jsonl --judge openai:gpt-5 --min-kappa 0.6", "As a gate in CI"],
  ],
  run: async (args, io) => (await import("../experiments/judge/ask.ts")).judge(args, io),
});
