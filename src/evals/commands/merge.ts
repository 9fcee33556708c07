import { defineCommand, texts, toggle } from "./command.ts";
import { baselinesFlag, jsonFlag, outFlag, reporterFlag } from "./flags.ts";

export const mergeCommand = defineCommand({
  command: "merge <runs..>",
  describe: "Combine the shards of a run into one run, and report its verdict",
  positionals: {
    runs: texts("Folders of the shards, or folders that contain them", { demandOption: true }),
  },
  flags: {
    accept: toggle("Accept the merged run as the baseline, whatever its outcome"),
    reporter: reporterFlag,
    json: jsonFlag,
    baselines: baselinesFlag,
    out: outFlag,
  },
  epilogue:
    "It is an error if shards are missing, duplicate, unfinished or of different runs. The exit code is that of the whole run.",
  examples: [
    ["run --shard 1/2 --seed 7 && evals run --shard 2/2 --seed 7", "Two shards, usually on two machines"],
    ["merge shards", "Merge all shards in the folder shards"],
  ],
  run: async (args, io) => (await import("../reading/merge.ts")).merge(args, io),
});
