import { defineCommand, number, toggle } from "./command.ts";
import { outFlag } from "./flags.ts";

export const cleanCommand = defineCommand({
  command: "clean",
  describe: "Remove old run records and the cache of replies",
  positionals: {},
  flags: {
    keep: number("Number of the newest finished records to keep", { min: 0, integer: true, default: 20 }),
    "dry-run": toggle("Print what would be removed"),
    out: outFlag,
  },
  examples: [
    ["clean --keep 5", "Keep the five newest records"],
    ["clean --dry-run", "Show what would be removed"],
  ],
  run: async (args, io) => (await import("../reading/clean.ts")).clean(args, io),
});
