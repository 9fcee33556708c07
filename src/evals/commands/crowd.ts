import type { Argv, Options } from "yargs";
import type { ExitCode } from "../errors.ts";
import type { Io } from "../io.ts";
import type { Command, Flags } from "./command.ts";
import { askingFlags, modelFlag, resumeFlag, suiteFlags } from "./flags.ts";

const flags = {
  model: modelFlag,
  distractors: {
    alias: "d",
    type: "string",
    array: true,
    demandOption: true,
    describe: "files with the foreign tools: static lists, as tools/list answers them",
  },
  sizes: { type: "string", default: "0,10,50", describe: "how many foreign tools are shown beside, one rate each" },
  trials: { alias: "n", type: "number", describe: "trials per case and size; overrides the suite (its default: 5)" },
  ...suiteFlags,
  resume: resumeFlag,
  ...askingFlags,
} satisfies Record<string, Options>;

export type CrowdFlags = Flags<typeof flags> & { path?: string };

/** `evals crowd`: how well the right tool is picked as foreign tools are added beside. */
export const crowdCommand: Command = {
  command: "crowd [path]",
  describe: "Add foreign tools beside the suite's own, and say how much selection suffers",
  builder: (yargs: Argv) =>
    yargs
      .positional("path", { type: "string", describe: "the suite's file (default: the only one under evals/)" })
      .options(flags)
      .epilogue(
        "The foreign tools join in an order that the seed decides, so a smaller crowd is part of a larger one. They are shown and never executed. A name that the suite has already is left out. Exit code 0 whatever the rates are, 3 when it was stopped or nothing could be scored.",
      )
      .example("$0 crowd evals/files.yaml -d github.json slack.json", "rates with 0, 10 and 50 foreign tools")
      .example("$0 crowd evals/files.yaml -d github.json --sizes 0,5,20 -n 20 -m openai:gpt-5", "ask a model"),
  handler: async (args: CrowdFlags, io: Io): Promise<ExitCode> =>
    (await import("../experiments/crowd.ts")).crowd(args, io),
};
