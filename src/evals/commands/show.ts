import { defineCommand, number, text, toggle } from "./command.ts";
import { jsonFlag, outFlag } from "./flags.ts";

export const showCommand = defineCommand({
  command: "show [case]",
  describe: "Print the transcripts of a case: messages, tools, calls with their arguments, results, tokens, time",
  positionals: { case: text("Case: its id, a part of it, or a pattern with * (default: the cases that failed)") },
  flags: {
    run: text("Run: its folder, its id or latest", { default: "latest" }),
    trial: number("Only trials with this number", { min: 1, integer: true }),
    failed: toggle("Only trials that did not pass"),
    suite: text("Only this suite of the run"),
    model: text("Only this model of the run", { alias: "m" }),
    arm: text("Tool list of the trials: head, base or another arm (default: head)"),
    most: number("Maximum transcripts; identical trials share one", { min: 1, integer: true, default: 20 }),
    out: outFlag,
    json: { ...jsonFlag, describe: "Print the recorded trials, one JSON object per line" },
  },
  examples: [
    ["show", "Read why the cases of the latest run failed"],
    ["show read-several --failed", "Only the trials of this case that did not pass"],
    ["show 'read-*' --run 2026-11-21T09-30-00-000 --trial 1 | less", "The first trial of several cases, page by page"],
  ],
  run: async (args, io) => (await import("../reading/show.ts")).show(args, io),
});
