import { defineCommand } from "./command.ts";
import { baselinesFlag, explainFlag, jsonFlag, outFlag, reporterFlag } from "./flags.ts";

/** `evals merge`: makes one run of the shards of a run, and comes to its verdict. */
export const mergeCommand = defineCommand({
  command: "merge <runs..>",
  describe: "Make one run of all shards of a run (run --shard), and report and decide it",
  positionals: {
    runs: {
      type: "string",
      array: true,
      demandOption: true,
      describe: "Folders of the shards, or folders that contain them",
    },
  },
  flags: {
    accept: {
      type: "boolean",
      default: false,
      describe: "Accept the merged run as the baseline, whatever its outcome",
    },
    reporter: reporterFlag,
    explain: explainFlag,
    json: jsonFlag,
    baselines: baselinesFlag,
    out: outFlag,
  },
  epilogue:
    "Refuses shards that are missing, doubled, unfinished or of another run. The exit code is that of a whole run.",
  examples: [
    ["run --shard 1/2 --seed 7 && evals run --shard 2/2 --seed 7", "Two shards, usually on two machines"],
    ["merge shards", "Merge every shard below the folder shards"],
  ],
  run: async (args, io) => (await import("../experiments/merge.ts")).merge(args, io),
});
