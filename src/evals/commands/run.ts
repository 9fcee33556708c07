import { defineCommand, number } from "./command.ts";
import {
  baselinesFlag,
  explainFlag,
  failOnFlag,
  marginFlag,
  otlpFlag,
  queueFlags,
  reporterFlag,
  resumeFlag,
  suiteFlags,
  trialFlags,
} from "./flags.ts";

/** `evals run`: runs every case of the suites, scores, records and reports. */
export const runCommand = defineCommand({
  command: "run [paths..]",
  describe: "Run suites and skill evals against a model, and report what it picks",
  positionals: {
    paths: { type: "string", array: true, describe: "Suite files, folders or skill packages (default: evals/)" },
  },
  flags: {
    model: {
      alias: "m",
      type: "string",
      array: true,
      default: ["lexical"],
      describe:
        "Models under test: lexical, anthropic:<model>, openai:<model>, claude-code, codex:<model>, copilot:<model>, goose:<provider>/<model>, custom:<file> or replay:<run>",
    },
    trials: number({
      alias: "n",
      min: 1,
      integer: true,
      describe:
        "Trials per case and model; overrides the suites (their default: 5). In a check: the most (default: 25)",
    }),
    "pass-rate": number({
      min: 0,
      max: 1,
      describe: "Rate at which a case passes; overrides the suites (their default: 0.8)",
    }),
    ...suiteFlags,
    check: {
      choices: ["on", "off", "screen", "thorough", "anytime"] as const,
      describe:
        "Check against the accepted baseline (default: where there is one); on requires one. " +
        "The other names stand for -n 12, 25 and 100",
    },
    "fail-on": failOnFlag,
    explain: explainFlag,
    nightly: {
      type: "boolean",
      default: false,
      describe: "Watch an unchanged tool list for drift of the model: 3 trials per case, more of what looks different",
    },
    correlation: number({
      min: 0,
      max: 1,
      describe: "With --nightly: correlation of the trials of a case, as calibrate measures it (default: 0.02)",
    }),
    surfaces: {
      type: "boolean",
      default: false,
      describe: "Ask every case on the `surfaces` of its suite too, and compare each with the suite's own",
    },
    changed: {
      type: "boolean",
      default: false,
      describe:
        "Ask once only the cases that a change since the baseline touches: their own, that of an expected tool or of one similar to it",
    },
    watch: {
      type: "boolean",
      default: false,
      describe: "Ask every case once, then after each change of a file the cases that it touches, until Ctrl-C",
    },
    blame: { type: "boolean", default: false, describe: "After a regression, find the changed wording that caused it" },
    margin: marginFlag("Mean drop that NO REGRESSION rules out (0.1 or 10% = 10 percentage points)"),
    baselines: baselinesFlag,
    shard: {
      type: "string",
      describe: "Ask one part of the plan, for example 1/3; `evals merge` makes one run of all parts",
    },
    batch: {
      type: "boolean",
      describe:
        "Ask cases of one reply by the batch API of anthropic: and openai: models: half the price, replies within 24 hours",
    },
    "cancel-batch": {
      type: "boolean",
      default: false,
      describe: "With --resume: ask the provider to stop the batches of this record",
    },
    ...queueFlags,
    "dry-run": {
      type: "boolean",
      default: false,
      describe: "Print the plan and its maximum cost without calling a model",
    },
    accept: {
      type: "boolean",
      default: false,
      describe: "Accept the run as the baseline when it is complete, also when cases failed or regressed",
    },
    resume: resumeFlag,
    "retry-broken": { type: "boolean", default: false, describe: "With --resume: run broken trials again" },
    cache: {
      type: "boolean",
      default: false,
      describe:
        "While you write a suite: repeat the replies of earlier runs to equal requests, and ask only new ones. Gives no verdict (anthropic, openai)",
    },
    reporter: reporterFlag,
    otlp: otlpFlag,
    ...trialFlags,
  },
  examples: [
    ["run", "Run all suites under evals/ on the built-in keyword search: no API key, no network"],
    ["run evals/files.yaml -m anthropic:claude-sonnet-5-5 -n 10", "Run one suite with 10 trials per case"],
    ["run -m openai:qwen3 --base-url http://localhost:8000/v1", "Use a locally served model"],
    ["run -n 20 --accept -m anthropic:claude-haiku-5-5", "Accept the current tools as the baseline, in one go"],
    ["run --dry-run -m anthropic:claude-opus-5-5", "Show the number of calls and their maximum cost"],
    [
      "run --check on --blame -m anthropic:claude-haiku-5-5",
      "Before a release: find regressions and the wording that caused them",
    ],
    ["run --changed -m anthropic:claude-haiku-5-5", "While editing: ask only the cases that a change touches"],
    ["run --watch evals/files.yaml", "Ask again, on the keyword search, whatever a saved file touches"],
    ["run --watch --changed --budget 2 -m anthropic:claude-haiku-5-5", "The same on a model, for $2 at most"],
    ["run --nightly --fail-on drifted -m anthropic:claude-haiku-5-5", "Every night: report when the model changed"],
    [
      "run --skill release-notes --judge anthropic:claude-opus-5-5 -m claude-code",
      "Test a skill in its host: is it loaded, and does it help?",
    ],
    ["run --batch -n 20 -m anthropic:claude-opus-5-5", "At half the price, with replies within 24 hours"],
    ["run --cache -m anthropic:claude-haiku-5-5", "While a suite is written: ask only what has changed"],
    ["run --resume latest", "Finish a run that was interrupted"],
  ],
  run: async (args, io) => (await import("../experiments/run.ts")).run(args, io),
});
