import { choice, defineCommand, number, text } from "./command.ts";
import { baselinesFlag, marginFlag, modelFlag, resumeFlag, suiteFlags, suitePath, trialFlags } from "./flags.ts";

const procedure =
  "Cases are split in halves, which is recorded as their `split` in the suite. Proposals are searched for on the train cases " +
  "alone: those that the linter, the schemas or their length speak against are refused, and rounds of halving leave one. " +
  "It is then tested against the current wording on the held-out cases, as by `evals variants`, and adopted only if no " +
  "held-out case, and no train case of another tool, loses 15 points or more. A wording that is no better is adopted in " +
  "at most 5% of searches. Calls go to the real server, and no source is changed. Exit code 0 for any verdict, 3 when " +
  "the search was stopped or too many trials went unanswered.";

export const improveCommand = defineCommand({
  command: "improve [path]",
  describe: "Search for a better wording, and adopt one only on proof",
  positionals: { path: suitePath },
  flags: {
    model: modelFlag,
    writer: text("Language model that proposes wordings, from what the train cases bring"),
    proposals: text(
      "File of wordings to start with: a variants file, a tool list, or the output of toolfit --fix, mispick fix --patch or skill-creator",
    ),
    rounds: number("Maximum rounds of proposals by the writer", { min: 1, max: 10, integer: true, default: 3 }),
    wordings: number("Wordings that the writer proposes in each round", { min: 1, max: 20, integer: true, default: 6 }),
    output: text("Write the winner as a JSON overlay to this file, or to standard output with -"),
    patch: text(
      "Write a patch of the sources to this file, where an old text stands exactly once; `git apply` makes it",
    ),
    margin: marginFlag("Smallest gain that is worth a change"),
    "harm-unsteady": number(
      "Loss to rule out for cases with a pass rate below 85% (default: 0.15, as for all); 0.25 saves a third of the trials",
      { above: 0, below: 1, percent: true },
    ),
    baselines: baselinesFlag,
    format: choice("Output format", ["terminal", "markdown"], { default: "terminal" }),
    ...suiteFlags,
    resume: resumeFlag,
    ...trialFlags,
  },
  epilogue: procedure,
  examples: [
    ["improve -m openai:gpt-6-mini --writer openai:gpt-6 --budget 20", "Wordings by a model, for at most $20"],
    ["improve evals/files.yaml --proposals wordings.yaml", "Wordings of your own, on the built-in keyword search"],
    ["improve --proposals toolfit-fixes.json --output adopted.json", "Prove what another tool proposes, and save it"],
  ],
  run: async (args, io) => {
    const [{ improve }, { lintTools }] = await Promise.all([
      import("../experiments/improve/ask.ts"),
      import("../inspection/lint/command.ts"),
    ]);
    return await improve(args, lintTools, io);
  },
});
