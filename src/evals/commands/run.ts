import { choice, defineCommand, number, text, texts, toggle } from "./command.ts";
import {
  baselinesFlag,
  failOnFlag,
  marginFlag,
  otlpFlag,
  queueFlags,
  reporterFlag,
  resumeFlag,
  suiteFlags,
  trialFlags,
} from "./flags.ts";

export const runCommand = defineCommand({
  command: "run [paths..]",
  describe: "Run suites and skill evals against a model, and report what it picks",
  positionals: { paths: texts("Suite files, folders or skill packages (default: evals/)") },
  flags: {
    model: texts(
      "Models under test: lexical, local, anthropic:<model>, openai:<model>, claude-code, codex:<model>, copilot:<model>, goose:<provider>/<model>, custom:<file> or replay:<run>",
      // A comma within the path of a custom model stays.
      {
        alias: "m",
        default: ["lexical"],
        coerce: (ids: string[]) => ids.flatMap((id) => id.split(/,(?=[a-z][a-z-]*(?::|,|$))/)),
      },
    ),
    trials: number(
      "Trials per case and model; overrides the suites (their default: 5). In a check: the maximum (default: 40)",
      { alias: "n", min: 1, integer: true },
    ),
    "pass-rate": number("Rate at which a case passes; overrides the suites (their default: 0.8)", { min: 0, max: 1 }),
    ...suiteFlags,
    check: choice(
      "Check against the accepted baseline (default: if there is one); on requires one, " +
        "always compares even an unchanged tool list (an A/A test, which shows the noise), " +
        "placebo compares the tool list with harmless edits of it, which shows how far any edit moves the model",
      ["on", "always", "placebo", "off"],
    ),
    "fail-on": failOnFlag,
    nightly: toggle(
      "Watch for drift of the model while the tools stay the same: 3 trials per case, more for cases that look different",
    ),
    correlation: number("With --nightly: correlation between the trials of a case within a night (default: 0.02)", {
      min: 0,
      max: 1,
    }),
    surfaces: toggle("Also run every case on the `surfaces` of its suite, and compare each with the suite's own tools"),
    distractors: text(
      "Run every case with each of these numbers of the `distractors` of its suite, for example 0,10,50, and compare them; in a whole configuration: of other servers",
    ),
    changed: toggle(
      "Run once only the cases affected by a change since the baseline: of the case, an expected tool, or a tool similar to it",
    ),
    failed: toggle("Run only the cases that did not pass in the last run"),
    watch: toggle("Run every case once, then the affected cases after each file change, until Ctrl-C"),
    blame: toggle("After a regression, find the changed wording that caused it"),
    margin: marginFlag("Mean drop that NO REGRESSION rules out (0.1 or 10% = 10 percentage points)"),
    baselines: baselinesFlag,
    shard: text("Run one part of the plan, for example 1/3; `evals merge` combines the parts into one run"),
    batch: {
      type: "boolean",
      describe:
        "Send single-reply cases to the batch API of anthropic: and openai: models: half the price, replies within 24 hours",
    },
    "cancel-batch": toggle("With --resume: cancel the pending batches of this record"),
    ...queueFlags,
    "dry-run": toggle("Print the plan and its maximum cost without calling a model"),
    accept: toggle("Accept the run as the baseline once it is complete, even if cases failed or regressed"),
    resume: resumeFlag,
    "retry-broken": toggle("With --resume: run broken trials again"),
    cache: {
      type: "boolean",
      describe:
        "For writing a suite: reuse the replies of earlier runs to identical requests, and send only new ones; gives no verdict. Deterministic models always do so, and are judged all the same (--no-cache: never)",
    },
    reporter: reporterFlag,
    otlp: otlpFlag,
    ...trialFlags,
  },
  common: [
    ...["model", "trials", "case", "host", "judge", "concurrency", "budget", "check", "fail-on", "accept", "dry-run"],
    ...["resume", "reporter", "json"],
  ],
  examples: [
    ["run", "Run all suites under evals/ on the built-in keyword search: no API key, no network"],
    ["run evals/files.yaml -m anthropic:claude-sonnet-5-5 -n 10", "Run one suite with 10 trials per case"],
    ["run -m openai:qwen3 --base-url http://localhost:8000/v1", "Use a locally served model"],
    ["run -n 20 --accept -m anthropic:claude-haiku-5-5", "Run, and accept the current tools as the baseline"],
    ["run --dry-run -m anthropic:claude-opus-5-5", "Show the number of calls and their maximum cost"],
    [
      "run --check on --blame -m anthropic:claude-haiku-5-5",
      "Before a release: find regressions and the wording that caused them",
    ],
    ["run --changed -m anthropic:claude-haiku-5-5", "While editing: run only the affected cases"],
    ["run --watch evals/files.yaml", "On every save: run the affected cases on the keyword search"],
    ["run --watch --changed --budget 2 -m anthropic:claude-haiku-5-5", "The same on a language model, for at most $2"],
    [
      "run --nightly --fail-on drifted -m anthropic:claude-haiku-5-5",
      "Every night: report whether the model has changed",
    ],
    [
      "run --skill pdf --judge anthropic:claude-opus-5-5 -m claude-code",
      "Test a skill in its host: is it loaded, and does it help?",
    ],
    ["run --batch -n 20 -m anthropic:claude-opus-5-5", "At half the price, with replies within 24 hours"],
    ["run --cache -m anthropic:claude-haiku-5-5", "While writing a suite: send only requests that have changed"],
    ["run --distractors 0,20,50 -m anthropic:claude-haiku-5-5", "Measure the loss of accuracy among other tools"],
    ["run --resume latest", "Finish a run that was interrupted"],
  ],
  run: async (args, io) => (await import("../experiments/run/run.ts")).run(args, io),
});
