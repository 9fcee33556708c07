import type { Argv, Options } from "yargs";
import type { ExitCode } from "../errors.ts";
import type { Io } from "../io.ts";
import type { Command, Flags } from "./command.ts";
import { askingFlags, baselinesFlag, suiteFlags } from "./flags.ts";

const flags = {
  model: {
    alias: "m",
    type: "string",
    array: true,
    default: ["lexical"],
    describe: "model under test, repeatable: lexical, anthropic:<model>, openai:<model>, claude-code, replay:<run>",
  },
  trials: {
    alias: "n",
    type: "number",
    describe: "trials per case and model; overrides the suites (their default: 5)",
  },
  "pass-rate": {
    type: "number",
    describe: "a case passes at this rate or more; overrides the suites (their default: 0.8)",
  },
  ...suiteFlags,
  check: {
    choices: ["screen", "thorough", "anytime", "off"] as const,
    describe: "compare with the accepted baseline by this design (default: screen where a baseline exists)",
  },
  blame: { type: "boolean", default: false, describe: "after a regression, find the changed wording that is to blame" },
  margin: { type: "number", default: 0.1, describe: "a mean drop below this counts as no regression" },
  baselines: baselinesFlag,
  "dry-run": { type: "boolean", default: false, describe: "print the plan and the most it can cost, ask nothing" },
  resume: {
    type: "string",
    describe: "finish this run (a folder, an id, or latest): only what is missing is asked",
  },
  "retry-broken": { type: "boolean", default: false, describe: "with --resume: ask again what broke" },
  ...askingFlags,
} satisfies Record<string, Options>;

export type RunFlags = Flags<typeof flags> & { paths?: string[] };

/** `evals run`: asks every case of the suites, scores, records and reports. */
export const runCommand: Command = {
  command: "run [paths..]",
  describe: "Ask a model the queries of suites and skills, and report what it picks",
  builder: (yargs: Argv) =>
    yargs
      .positional("paths", { type: "string", array: true, describe: "suite files or folders (default: evals/)" })
      .options(flags)
      .example("$0 run", "all suites under evals/, on the built-in retrieval baseline: no key, no network")
      .example("$0 run evals/files.yaml -m anthropic:claude-sonnet-5-5 -n 10", "one suite, ten trials a case")
      .example("$0 run -m openai:qwen3 --base-url http://localhost:8000/v1", "a model that is served locally")
      .example("$0 run --dry-run -m anthropic:claude-opus-5-5", "the calls and the most they can cost")
      .example(
        "$0 run --check thorough --blame -m anthropic:claude-haiku-5-5",
        "before a release: what broke, and which wording did it",
      )
      .example(
        "$0 run --skill release-notes --judge anthropic:claude-opus-5-5 -m claude-code",
        "a skill in the host that loads it: is it loaded, and what is it worth?",
      )
      .example("$0 run --resume latest", "finish a run that was cut short"),
  handler: async (args: RunFlags, io: Io): Promise<ExitCode> => (await import("../experiments/run.ts")).run(args, io),
};
