import { choice, defineCommand, number, text, texts } from "./command.ts";
import {
  askFlags,
  baselinesFlag,
  envFlags,
  jsonFlag,
  marginFlag,
  modelFlag,
  requestFlags,
  resumeFlag,
  suiteFlags,
  suitePath,
  trialFlags,
} from "./flags.ts";

export const blameCommand = defineCommand({
  command: "blame [run]",
  describe: "Find the changed wording that broke a case, and confirm it by reverting it",
  positionals: {
    run: text("Run with a regression: its folder, its id or latest (the newest one that regressed)", {
      default: "latest",
    }),
  },
  flags: {
    case: texts("Explain these cases: part of an id or a pattern (default: the 3 cases that dropped most)"),
    suite: text("Only this suite of the run"),
    model: text("Only this model of the run", { alias: "m" }),
    resume: resumeFlag,
    ...envFlags,
    ...askFlags,
  },
  examples: [
    ["run --check on; evals blame", "After a regression: find the change that caused it"],
    ["blame --case read-several --budget 2", "Explain one case, for at most $2"],
  ],
  run: async (args, io) => (await import("../experiments/blame/ask.ts")).blame(args, io),
});

const fileFormat = `The variants file, YAML or JSON, contains only the texts that each variant changes:

  variants:
    terse:
      read_text_file: Read one text file.
    longer:
      read_text_file:
        description: Read the whole text of one file.
        parameters: { path: Where the file is, options.encoding: Its encoding }
      search_files: { tool: { description: ..., inputSchema: { ... } } }`;

const procedure =
  "Calls go to the real server, and no file is changed. If there are several variants, the most promising one is " +
  "selected first. It is then tested on new trials of the cases that can improve (according to the accepted baseline, " +
  "if there is one), and adopted only if no case loses 15 points or more. Exit code 0 for any verdict, 3 when the " +
  "experiment was stopped or too many trials went unanswered.";

const harmUnsteadyFlag = number(
  "Loss to rule out for cases with a pass rate below 85% (default: 0.15, as for all); 0.25 saves a third of the trials",
  { above: 0, below: 1, percent: true },
);

export const variantsCommand = defineCommand({
  command: "variants [file] [path]",
  describe: "Test other wordings of the tools, and report whether one should be adopted",
  positionals: {
    file: text("Variants file: the wordings to test; required for a new experiment"),
    path: suitePath,
  },
  flags: {
    model: modelFlag,
    output: text(
      "Write the winner as a JSON overlay to this file, or to standard output with -; exit code 1 without one",
    ),
    margin: marginFlag("Smallest gain that is worth a change"),
    "harm-cases": texts("Rule out a loss only for cases whose id matches this pattern (default: all); saves trials"),
    "harm-unsteady": harmUnsteadyFlag,
    baselines: baselinesFlag,
    ...suiteFlags,
    resume: resumeFlag,
    ...trialFlags,
  },
  epilogue: `${fileFormat}\n\n${procedure}`,
  examples: [
    ["variants wordings.yaml evals/files.yaml", "On the built-in keyword search: no API key, no network"],
    ["variants wordings.yaml -m anthropic:claude-sonnet-5-5 --budget 5", "On a language model, for at most $5"],
    ["variants wordings.yaml --output adopted.json", "Save the winner as an overlay, to merge by hand"],
  ],
  run: async (args, io) => (await import("../experiments/variants/ask.ts")).variants(args, io),
});

export const judgeCommand = defineCommand({
  command: "judge <action> <labels>",
  describe: "Measure how far a judge model agrees with human labels",
  positionals: {
    action: choice("check: send each label's criterion to the judge and compare", ["check"], { demandOption: true }),
    labels: text(
      "File with one JSON object per line: { id?, input?, transcript or turns, criterion, label }, " +
        'where label is "met", "not met" or "cannot tell" (or true, false, "pass", "fail")',
      { demandOption: true },
    ),
  },
  flags: {
    judge: text("Judge to measure: anthropic:<model> or openai:<model>", { demandOption: true }),
    "min-kappa": number("Fail when Cohen's kappa is below this", { min: -1, max: 1 }),
    output: text("File for the result (default: evals/judges/<judge>.json); commit it"),
    json: jsonFlag,
    ...requestFlags,
    concurrency: { ...requestFlags.concurrency, describe: "Maximum concurrent requests" },
    budget: { ...requestFlags.budget, describe: "Send no further labels once this many US dollars are spent" },
  },
  epilogue:
    "Exit code 0 when every label was answered, 1 when kappa is below --min-kappa, 3 when the judge could not be " +
    "asked about a label or nothing could be measured. Reports of later runs quote the result next to the name of the judge.",
  examples: [
    ["judge check evals/labels.jsonl --judge anthropic:claude-opus-5-5", "Before you rely on its grades"],
    ["judge check evals/labels.jsonl --judge openai:gpt-5 --min-kappa 0.6", "As a gate in CI"],
  ],
  run: async (args, io) => (await import("../experiments/judge/ask.ts")).judge(args, io),
});

export const improveCommand = defineCommand({
  command: "improve [path]",
  describe: "Search for a better wording, and adopt one only on proof",
  positionals: { path: suitePath },
  flags: {
    model: modelFlag,
    writer: text("Language model that proposes wordings, from what the train cases bring"),
    proposals: text(
      "File of wordings to start with: a variants file, a tool list, or the output of toolfit --fix, mispick fix --patch or skill-creator",
    ),
    rounds: number("Maximum rounds of proposals by the writer", { min: 1, max: 10, integer: true, default: 3 }),
    wordings: number("Wordings that the writer proposes in each round", { min: 1, max: 20, integer: true, default: 6 }),
    output: text("Write the winner as a JSON overlay to this file, or to standard output with -"),
    patch: text(
      "Write a patch of the sources to this file, where an old text stands exactly once; `git apply` makes it",
    ),
    margin: marginFlag("Smallest gain that is worth a change"),
    "harm-unsteady": harmUnsteadyFlag,
    baselines: baselinesFlag,
    format: choice("Output format", ["terminal", "markdown"], { default: "terminal" }),
    ...suiteFlags,
    resume: resumeFlag,
    ...trialFlags,
  },
  epilogue:
    "Cases are split in halves, which is recorded as their `split` in the suite. Proposals are searched for on the train cases " +
    "alone: those that the linter, the schemas or their length speak against are refused, and rounds of halving leave one. " +
    "It is then tested against the current wording on the held-out cases, as by `evals variants`, and adopted only if no " +
    "held-out case, and no train case of another tool, loses 15 points or more. A wording that is no better is adopted in " +
    "at most 5% of searches. Calls go to the real server, and no source is changed. Exit code 0 for any verdict, 3 when " +
    "the search was stopped or too many trials went unanswered.",
  examples: [
    ["improve -m openai:gpt-6-mini --writer openai:gpt-6 --budget 20", "Wordings by a model, for at most $20"],
    ["improve evals/files.yaml --proposals wordings.yaml", "Wordings of your own, on the built-in keyword search"],
    ["improve --proposals toolfit-fixes.json --output adopted.json", "Prove what another tool proposes, and save it"],
  ],
  run: async (args, io) => {
    const [{ improve }, { lintTools }] = await Promise.all([
      import("../experiments/improve/ask.ts"),
      import("../inspection/lint/command.ts"),
    ]);
    return await improve(args, lintTools, io);
  },
});
