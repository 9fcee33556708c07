import { defaultPolicy, gates, verifyGates } from "../base/types/flagValues.ts";
import { choice, defineCommand, number, text, texts, toggle } from "./command.ts";
import {
  baselinesFlag,
  envFlags,
  executeFlag,
  headerFlag,
  jsonFlag,
  marginFlag,
  otlpFlag,
  outFlag,
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
      "Models under test: lexical, local, anthropic:<model>, openai:<model>, ollama:<model>, claude-code, codex:<model>, copilot:<model>, goose:<provider>/<model>, custom:<file> or replay:<run>",
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
    "fail-on": choice(
      "Results that exit with code 1; repeatable (default: regressed if a baseline is checked, none for lexical, otherwise rate: a case below its pass rate)",
      gates,
      { array: true },
    ),
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
    queue: text("Run the trials on other machines, with `evals worker`, over this Redis server: redis://host:6379"),
    rate: number("With --queue: maximum trials started per second and provider, across all workers", {
      min: 1,
      integer: true,
    }),
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

const { skill, "host-dir": hostDir, "user-skills": userSkills, case: cases } = suiteFlags;
const group = "With verify:";

export const baselineCommand = defineCommand({
  command: "baseline <action> [targets..]",
  describe: "Accept a run as the baseline of later runs, or verify baselines",
  positionals: {
    action: choice(
      "accept [run]: write one baseline per suite and model of the run (default: latest). " +
        "verify [paths]: check that they match the current tools and cases; no model is called",
      ["accept", "verify"],
      { demandOption: true },
    ),
    targets: texts("Run to accept, or suites to verify (default: evals/)"),
  },
  flags: {
    baselines: baselinesFlag,
    out: outFlag,
    force: toggle("Accept a run that failed, is incomplete or was made with --case; ungraded cases are left out"),
    tools: text("JSON or YAML file with a tool list, instead of starting the servers", { group }),
    "fail-on": choice("Results that exit with code 1; repeatable", [...verifyGates, "none"], {
      array: true,
      default: ["changed", "stale", "unaccepted"],
      group,
    }),
    case: { ...cases, describe: "Verify only cases whose id matches this pattern (* matches any text)", group },
    skill: { ...skill, describe: "Verify only the eval files of these skills", group },
    "host-dir": { ...hostDir, describe: "Search for skills in these folders of the home and project folders", group },
    "user-skills": { ...userSkills, group },
    ...envFlags,
    json: jsonFlag,
  },
  epilogue:
    "changed: a tool list differs from the one that was accepted. stale: a case is new or edited, was not graded, or names " +
    "a tool that changed. unaccepted: a suite has no baseline. uncovered-tools, uncovered-parameters: no case expects the " +
    "tool, or names the parameter in `args`. Exit code 3 when a server cannot be listed.",
  examples: [
    ["run -n 20 && evals baseline accept", "Accept the current tools, with 20 trials per case to compare with"],
    ["baseline accept 2026-11-21T09-30-00-000", "Accept this run"],
    ["baseline verify", "In a pull request, without an API key: did anything change without a new run?"],
    ["baseline verify --tools tools.json", "Without starting a server, against a list of `evals tools --json`"],
    ["baseline verify --fail-on stale --fail-on uncovered-tools", "Fail for stale cases and for tools without a case"],
    ["baseline verify --fail-on none", "Show all changes since the baselines, and exit with 0"],
  ],
  run: async ({ action, targets, failOn, ...args }, io) => {
    if (action === "accept")
      return (await import("../experiments/baseline/accept.ts")).accept({ ...args, targets }, io);
    const gates = failOn.filter((gate) => gate !== "none");
    return (await import("../inspection/verify.ts")).verify({ ...args, paths: targets, failOn: gates }, io);
  },
});

export const workerCommand = defineCommand({
  command: "worker <queue> [paths..]",
  describe: "Run the trials that `evals run --queue` puts on a queue, in this checkout",
  positionals: {
    queue: text("URL of the Redis or Valkey server: redis:// or rediss://", { demandOption: true }),
    paths: texts("Files and folders with the suites that runs may use (default: evals/)"),
  },
  flags: {
    concurrency: number("Maximum concurrent trials per provider", {
      alias: "c",
      min: 1,
      max: 10_000,
      integer: true,
      default: 50,
    }),
    hosts: text(
      "Also run trials that start programs here, separated by commas: claude-code, codex, copilot, goose, custom",
      { coerce: parseHosts },
    ),
    execute: {
      ...executeFlag("Most permissive --execute with which a run may override its suites"),
      default: defaultPolicy,
    },
    "max-idle": number("Exit after this many seconds without a trial (default: never)", { above: 0 }),
    "base-url": text("Base URL of the model's API; it must be that of the run"),
    header: headerFlag,
    ...envFlags,
  },
  epilogue:
    "Start it in the same checkout as the run, with the API keys of the models in its environment: keys, commands and URLs " +
    "are never put on the queue. It refuses a run whose files, tools or settings differ, and exits with 3. An interrupted " +
    "trial goes back to the queue. Give the user and password of the server in the URL, or in REDIS_USERNAME and " +
    "REDIS_PASSWORD. Needs the packages bullmq and ioredis.",
  examples: [
    ["worker redis://127.0.0.1:6379", "Run trials of anthropic, openai and lexical models until Ctrl-C"],
    ["worker rediss://queue.example:6380 -c 200", "The same over TLS, with up to 200 concurrent trials"],
    ["worker redis://queue:6379 --hosts claude-code,codex -c 4", "Also run trials in these hosts"],
    ["worker redis://queue:6379 --max-idle 60", "In CI: exit after a minute without a trial"],
    ["run --queue redis://queue:6379 -m anthropic:claude-haiku-5-5", "The run that plans, records and decides"],
  ],
  run: async ({ hosts, ...args }, io) =>
    (await import("../experiments/queue/worker.ts")).work({ ...args, hosts: hosts as string[] | undefined }, io),
});

const hostProviders = ["claude-code", "codex", "copilot", "goose", "custom"];

/** Throws for a word that is not a host. */
function parseHosts(value: string): string[] {
  const words = value.split(",").map((word) => word.trim());
  const wrong = words.find((word) => !hostProviders.includes(word));
  if (wrong === undefined) return words;
  throw new Error(`"${wrong}" is not a host. Use ${hostProviders.join(", ")}.`);
}
