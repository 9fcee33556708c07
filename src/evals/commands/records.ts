import { choice, defineCommand, number, text, texts, toggle } from "./command.ts";
import { baselinesFlag, jsonFlag, marginFlag, otlpFlag, outFlag, reporterFlag } from "./flags.ts";

export const showCommand = defineCommand({
  command: "show [target]",
  describe: "Print the report of a record, the transcripts of a case, or the trend over all runs",
  positionals: {
    target: text(
      "Record: its folder, its id, latest (the newest run; default), or variants, improve or blame (the newest of each). " +
        "Or a case: its id, a part of it, or a pattern with *",
    ),
  },
  flags: {
    history: toggle("Print the trend of each suite and model: pass rate, verdict and changes of the tool list"),
    run: text("With a case: the run, by its folder, its id or latest", { default: "latest" }),
    failed: toggle("Print the transcripts of trials that did not pass"),
    trial: number("Print the transcripts of trials with this number", { min: 1, integer: true }),
    arm: text("Print the transcripts of this tool list: head, base or another arm (default: head)"),
    suite: texts("Transcripts and history: only these suites (default: all)"),
    model: texts("Transcripts and history: only these models (default: all)", { alias: "m" }),
    limit: number("Maximum transcripts (identical trials share one), or runs of each suite and model", {
      min: 1,
      integer: true,
      default: 20,
    }),
    format: choice(
      "Output format; csv: one line per trial. Transcripts and history: terminal, json or markdown",
      ["terminal", "json", "markdown", "html", "junit", "github", "csv"],
      { default: "terminal" },
    ),
    json: jsonFlag,
    otlp: otlpFlag,
    out: outFlag,
  },
  examples: [
    ["show", "The report of the latest run"],
    ["show --failed", "Read why its cases failed"],
    ["show read-several --failed", "Only the trials of this case that did not pass"],
    ["show --format csv > trials.csv", "The trials of the latest run, for a spreadsheet"],
    ["show reports/2026-11-21T09-30-00-000 --format markdown", "For a pull request"],
    ["show variants --format junit > variants.xml", "The newest result of `evals variants`, for a CI service"],
    ['show --history --format markdown >> "$GITHUB_STEP_SUMMARY"', "The trend, in a nightly job"],
  ],
  run: async (args, io) => (await import("../reading/show.ts")).show(args, io),
});

export const viewCommand = defineCommand({
  command: "view",
  describe: "Show the recorded runs in a browser",
  positionals: {},
  flags: {
    port: number("Port on 127.0.0.1; 0: any free port", { min: 0, max: 65_535, integer: true, default: 4477 }),
    open: toggle("Open the page in the default browser"),
    out: outFlag,
  },
  examples: [
    ["view", "Print the address, and serve it until Ctrl-C"],
    ["view --open", "Also open the page"],
  ],
  run: async (args, io) => (await import("../view/view.ts")).view(args, io),
});

export const compareCommand = defineCommand({
  command: "compare <base> <head>",
  describe: "Compare two recorded runs; no model is called",
  positionals: {
    base: text("A: folder or id of a run, or a baseline file", { demandOption: true }),
    head: text("B: folder or id of a run, or latest", { demandOption: true }),
  },
  flags: {
    suite: texts("Compare only these suites (default: all that both have)"),
    model: texts("Compare only these models (default: all that both have)", { alias: "m" }),
    margin: marginFlag("Mean drop that NO REGRESSION rules out (0.1 or 10% = 10 percentage points)"),
    format: choice("Output format", ["terminal", "json", "markdown", "html", "junit", "github"], {
      default: "terminal",
    }),
    out: outFlag,
    json: jsonFlag,
  },
  examples: [
    ["compare 2026-11-21T09-30-00-000 latest", "Did it improve since that run?"],
    ["compare evals/baselines/files.lexical-2.json latest", "Compare the latest run with the accepted baseline"],
  ],
  run: async (args, io) => (await import("../experiments/compare/ask.ts")).compare(args, io),
});

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
