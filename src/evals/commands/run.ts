import type { Argv, Options } from "yargs";
import type { ExitCode } from "../errors.ts";
import type { Command, Flags } from "./command.ts";
import type { Io } from "./io.ts";

const flags = {
  model: {
    alias: "m",
    type: "string",
    array: true,
    default: ["lexical"],
    describe: "model under test, repeatable: lexical, anthropic:<model>, openai:<model>, replay:<run>",
  },
  trials: {
    alias: "n",
    type: "number",
    describe: "trials per case and model; overrides the suites (their default: 5)",
  },
  case: { type: "string", array: true, describe: "only cases whose id matches this pattern (* is any text)" },
  "pass-rate": {
    type: "number",
    describe: "a case passes at this rate or more; overrides the suites (their default: 0.8)",
  },
  "max-turns": { type: "number", describe: "most replies in one trial; overrides the suites" },
  execute: {
    choices: ["always", "safe", "never"] as const,
    describe: "which calls are executed; overrides the suites (their default: safe)",
  },
  host: {
    choices: ["plain", "claude-code", "gemini-cli", "codex"] as const,
    default: "plain" as const,
    describe: "show tool names as this host does",
  },
  seed: { type: "number", describe: "seed of the tool orders; default: a new one, kept on the record" },
  concurrency: { alias: "c", type: "number", default: 10, describe: "trials under way at once" },
  budget: { type: "number", describe: "start no further trial once this many US dollars are spent" },
  "dry-run": { type: "boolean", default: false, describe: "print the plan and the most it can cost, ask nothing" },
  resume: { type: "string", describe: "finish this run (a folder, an id, or latest): only what is missing is asked" },
  "retry-broken": { type: "boolean", default: false, describe: "with --resume: ask again what broke" },
  json: {
    type: "boolean",
    default: false,
    describe: "print one JSON object (see `evals schema run`) instead of the report",
  },
  out: { type: "string", default: "reports", describe: "folder that holds the runs" },
  "base-url": { type: "string", describe: "where the model is served, for example http://localhost:8000/v1" },
  "max-tokens": { type: "number", describe: "most output tokens of one reply" },
  timeout: { type: "number", describe: "seconds that one request may take" },
  retries: { type: "number", describe: "how often a transient fault of a model is retried" },
  effort: { type: "string", describe: "reasoning effort, where the model takes one: low, medium, high, ..." },
  prices: { type: "string", describe: "JSON file with list prices that replace the built-in ones" },
} satisfies Record<string, Options>;

export type RunFlags = Flags<typeof flags> & { paths?: string[] };

/** `evals run`: asks every case of the suites, scores, records and reports. */
export const runCommand: Command = {
  command: "run [paths..]",
  describe: "Ask a model the queries of the suites and report which tools it picks",
  builder: (yargs: Argv) =>
    yargs
      .positional("paths", { type: "string", array: true, describe: "suite files or folders (default: evals/)" })
      .options(flags)
      .example("$0 run", "all suites under evals/, on the built-in retrieval baseline: no key, no network")
      .example("$0 run evals/files.yaml -m anthropic:claude-sonnet-5-5 -n 10", "one suite, ten trials a case")
      .example("$0 run -m openai:qwen3 --base-url http://localhost:8000/v1", "a model that is served locally")
      .example("$0 run --dry-run -m anthropic:claude-opus-5-5", "the calls and the most they can cost")
      .example("$0 run --resume latest", "finish a run that was cut short"),
  handler: async (args: RunFlags, io: Io): Promise<ExitCode> => (await import("./wiring/run.ts")).run(args, io),
};
