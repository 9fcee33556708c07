import type { Argv, Options } from "yargs";
import type { ExitCode } from "../errors.ts";
import type { Io } from "../io.ts";
import type { Command, Flags } from "./command.ts";
import { askingFlags, modelFlag, resumeFlag, suiteFlags } from "./flags.ts";

const flags = {
  model: modelFlag,
  write: {
    type: "string",
    // Else a lone - is taken for an argument of its own.
    nargs: 1,
    describe: "write the winner as a JSON overlay to this file, - for standard output; exits with 1 when none won",
  },
  of: { type: "string", describe: "with --write: write this variant, winner or not" },
  margin: { type: "number", default: 0.1, describe: "a gain below this is not worth a change" },
  ...suiteFlags,
  resume: resumeFlag,
  ...askingFlags,
} satisfies Record<string, Options>;

export type VariantsFlags = Flags<typeof flags> & { file: string; path?: string };

const fileHelp = `The file, YAML or JSON, says of each variant only what it words otherwise:

  variants:
    terse:
      read_text_file: Read one text file.
    longer:
      read_text_file:
        description: Read the whole text of one file.
        parameters: { path: Where the file is, options.encoding: Its encoding }
      search_files: { tool: { description: ..., inputSchema: { ... } } }

Calls go to the real server, and nothing is edited. Up to three variants get as many trials each;
of more, the most promising one is found first and then tested on fresh trials. Exit code 0 for
every verdict, 3 when it was stopped or not scored.`;

/** `evals variants`: which of several wordings of a tool list is the best, or whether the one in use is. */
export const variantsCommand: Command = {
  command: "variants <file> [path]",
  describe: "Try other wordings of the tools, and say whether one should be adopted",
  builder: (yargs: Argv) =>
    yargs
      .positional("file", { type: "string", demandOption: true, describe: "the wordings to try: a variants file" })
      .positional("path", { type: "string", describe: "the suite's file (default: the only one under evals/)" })
      .options(flags)
      .epilogue(fileHelp)
      .example("$0 variants wordings.yaml evals/files.yaml", "on the built-in retrieval baseline: no key, no network")
      .example("$0 variants wordings.yaml evals/files.yaml -m anthropic:claude-sonnet-5-5 --budget 5", "ask a model")
      .example("$0 variants wordings.yaml --write adopted.json", "keep the winner as an overlay, to be merged by hand"),
  handler: async (args: VariantsFlags, io: Io): Promise<ExitCode> =>
    (await import("../experiments/variants.ts")).variants(args, io),
};
