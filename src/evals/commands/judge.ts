import type { Argv, Options } from "yargs";
import type { ExitCode } from "../errors.ts";
import type { Io } from "../io.ts";
import type { Command, Flags } from "./command.ts";
import { askingFlags } from "./flags.ts";

const { host: _host, seed: _seed, out: _out, ...asking } = askingFlags;

const flags = {
  judge: {
    type: "string",
    demandOption: true,
    describe: "the judge to measure: anthropic:<model> or openai:<model>",
  },
  "min-kappa": { type: "number", describe: "fail when Cohen's kappa is below this" },
  write: { type: "string", describe: "file for the figure (default: evals/judges/<judge>.json); commit it" },
  ...asking,
  concurrency: { ...asking.concurrency, describe: "labels under way at once" },
  budget: { ...asking.budget, describe: "put no further label to the judge once this many US dollars are spent" },
} satisfies Record<string, Options>;

export type JudgeFlags = Flags<typeof flags> & { action: "check"; labels: string };

/** `evals judge check`: how far a judge agrees with people. */
export const judgeCommand: Command = {
  command: "judge <action> <labels>",
  describe: "Measure a judge against what people say: agreement, Cohen's kappa, false passes",
  builder: (yargs: Argv) =>
    yargs
      .positional("action", {
        choices: ["check"] as const,
        describe: "check: put each label's criterion to the judge and compare",
      })
      .positional("labels", {
        type: "string",
        demandOption: true,
        describe:
          "a file with one JSON object a line: { id?, input?, transcript or turns, criterion, label }, " +
          'where label is "met", "not met" or "cannot tell" (or true, false, "pass", "fail")',
      })
      .options(flags)
      .epilogue(
        "Exit code 0 when every label was answered, 1 when kappa is below --min-kappa, 3 when a label broke or nothing could be measured. The figure is kept for later runs, whose reports name the judge with it.",
      )
      .example(
        "$0 judge check evals/labels.jsonl --judge anthropic:claude-opus-5-5",
        "before its verdicts are believed",
      )
      .example("$0 judge check evals/labels.jsonl --judge openai:gpt-5 --min-kappa 0.6", "as a gate"),
  handler: async (args: JudgeFlags, io: Io): Promise<ExitCode> =>
    (await import("../experiments/judge.ts")).judge(args, io),
};
