import { defineCommand } from "./command.ts";
import { marginFlag, modelFlag, resumeFlag, suiteFlags, suitePath, trialFlags } from "./flags.ts";

const fileFormat = `The variants file, YAML or JSON, contains only what each variant words differently:

  variants:
    terse:
      read_text_file: Read one text file.
    longer:
      read_text_file:
        description: Read the whole text of one file.
        parameters: { path: Where the file is, options.encoding: Its encoding }
      search_files: { tool: { description: ..., inputSchema: { ... } } }

Calls go to the real server, and no file is changed. Up to three variants get the same number of
trials; of more, the most promising one is selected first and then tested on fresh trials.
Exit code 0 for any verdict, 3 when the experiment was stopped or nothing was graded.`;

/** `evals variants`: which of several wordings of a tool list is best, or whether the current one is. */
export const variantsCommand = defineCommand({
  command: "variants [file] [path]",
  describe: "Test other wordings of the tools, and report whether one should be adopted",
  positionals: {
    file: { type: "string", describe: "Variants file: the wordings to test; required for a new experiment" },
    path: suitePath,
  },
  flags: {
    model: modelFlag,
    write: {
      type: "string",
      nargs: 1,
      describe:
        "Write the winner as a JSON overlay to this file, or to standard output with -; exit code 1 without one",
    },
    of: { type: "string", describe: "With --write: write this variant, whether it won or not" },
    margin: marginFlag("A gain smaller than this is not worth a change"),
    ...suiteFlags,
    resume: resumeFlag,
    ...trialFlags,
  },
  epilogue: fileFormat,
  examples: [
    ["variants wordings.yaml evals/files.yaml", "On the built-in retrieval baseline: no API key, no network"],
    [
      "variants wordings.yaml evals/files.yaml -m anthropic:claude-sonnet-5-5 --budget 5",
      "On a language model, for at most $5",
    ],
    ["variants wordings.yaml --write adopted.json", "Save the winner as an overlay, to be merged by hand"],
  ],
  run: async (args, io) => (await import("../experiments/variants.ts")).variants(args, io),
});
