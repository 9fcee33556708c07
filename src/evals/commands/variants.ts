import { defineCommand, number, text, texts } from "./command.ts";
import { baselinesFlag, marginFlag, modelFlag, resumeFlag, suiteFlags, suitePath, trialFlags } from "./flags.ts";

const fileFormat = `The variants file, YAML or JSON, contains only the texts that each variant changes:

  variants:
    terse:
      read_text_file: Read one text file.
    longer:
      read_text_file:
        description: Read the whole text of one file.
        parameters: { path: Where the file is, options.encoding: Its encoding }
      search_files: { tool: { description: ..., inputSchema: { ... } } }`;

const procedure =
  "Calls go to the real server, and no file is changed. If there are several variants, the most promising one is " +
  "selected first. It is then tested on new trials of the cases that can improve (according to the accepted baseline, " +
  "if there is one), and adopted only if no case loses 15 points or more. Exit code 0 for any verdict, 3 when the " +
  "experiment was stopped or too many trials went unanswered.";

export const variantsCommand = defineCommand({
  command: "variants [file] [path]",
  describe: "Test other wordings of the tools, and report whether one should be adopted",
  positionals: {
    file: text("Variants file: the wordings to test; required for a new experiment"),
    path: suitePath,
  },
  flags: {
    model: modelFlag,
    output: text(
      "Write the winner as a JSON overlay to this file, or to standard output with -; exit code 1 without one",
    ),
    of: text("With --output: write this variant, whether it won or not"),
    margin: marginFlag("Smallest gain that is worth a change"),
    "harm-cases": texts("Rule out a loss only for cases whose id matches this pattern (default: all); saves trials"),
    "harm-unsteady": number(
      "Loss to rule out for cases with a pass rate below 85% (default: 0.15, as for all); 0.25 saves a third of the trials",
      { above: 0, below: 1, percent: true },
    ),
    baselines: baselinesFlag,
    ...suiteFlags,
    resume: resumeFlag,
    ...trialFlags,
  },
  epilogue: `${fileFormat}\n\n${procedure}`,
  examples: [
    ["variants wordings.yaml evals/files.yaml", "On the built-in keyword search: no API key, no network"],
    ["variants wordings.yaml -m anthropic:claude-sonnet-5-5 --budget 5", "On a language model, for at most $5"],
    ["variants wordings.yaml --output adopted.json", "Save the winner as an overlay, to merge by hand"],
  ],
  run: async (args, io) => (await import("../experiments/variants/ask.ts")).variants(args, io),
});
