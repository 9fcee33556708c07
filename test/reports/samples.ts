import type { CaseSummary, RunManifest, RunSummary, SuiteSummary } from "../../src/evals/base/types/run.ts";
import { passedOf } from "../fakes/record.ts";

// Realistic run summaries for the tests of all reports.

const lexicalNote = "a retrieval baseline, not a language model";

/** The Wilson score interval, so that the samples are consistent. */
function wilson(passed: number, trials: number): [number, number] {
  const z2 = 1.959964 ** 2;
  const rate = passed / trials;
  const center = (rate + z2 / (2 * trials)) / (1 + z2 / trials);
  const half = Math.sqrt(z2 * ((rate * (1 - rate)) / trials + z2 / (4 * trials * trials))) / (1 + z2 / trials);
  return [Math.max(0, center - half), Math.min(1, center + half)];
}

type CaseGiven = Pick<CaseSummary, "id" | "input" | "expected"> & Partial<CaseSummary>;

/** A case with five passed trials, with overrides. */
export function caseOf(given: CaseGiven): CaseSummary {
  const trials = given.trials ?? 5;
  const passed = given.passed ?? trials;
  const broken = given.broken ?? 0;
  const notGradable = given.notGradable ?? 0;
  const passRate = given.passRate ?? 0.8;
  const rate = trials === 0 ? null : passed / trials;
  return {
    ...{ trials, planned: trials + broken + notGradable, passed, broken, notGradable, rate },
    ...{ interval: trials === 0 ? null : wilson(passed, trials), passRate },
    ...{ outcomes: passed > 0 ? { "right-tool": passed } : {}, missed: [], brokenStages: {}, reasons: [] },
    ...{ ok: rate !== null && rate >= passRate && notGradable === 0, file: "evals/filesystem.yaml", line: 7 },
    ...given,
  };
}

export function suiteOf(given: Partial<SuiteSummary> & Pick<SuiteSummary, "cases">): SuiteSummary {
  const sum = (of: (one: CaseSummary) => number) => given.cases.reduce((total, one) => total + of(one), 0);
  const trials = sum((one) => one.planned);
  const graded = sum((one) => one.trials + one.notGradable);
  const broken = sum((one) => one.broken);
  return {
    name: "filesystem",
    model: "lexical",
    kind: "retrieval baseline",
    note: lexicalNote,
    confusion: [],
    coverage: {
      tools: 14,
      expected: 9,
      missing: ["create_directory", "directory_tree", "edit_file", "write_file", "read_media_file"],
    },
    latencyMs: { p50: 0.42, p95: 1.8 },
    totals: {
      ...{ trials, passed: sum((one) => one.passed), broken, missing: trials - graded - broken, calls: graded },
      ...{ executed: Math.floor(graded / 2), toolErrors: 0, inputTokens: 0, outputTokens: 0, costUsd: 0 },
    },
    ok: given.cases.length > 0 && given.cases.every((one) => one.ok),
    ...given,
  };
}

export function runOf(suites: SuiteSummary[], exitCode: number, given: Partial<RunSummary> = {}): RunSummary {
  const sum = (
    key:
      | "trials"
      | "passed"
      | "broken"
      | "missing"
      | "calls"
      | "executed"
      | "toolErrors"
      | "inputTokens"
      | "outputTokens",
  ) => suites.reduce((total, suite) => total + suite.totals[key], 0);
  const costs = suites.map((suite) => suite.totals.costUsd);
  return {
    run: "2026-11-21T09-30-00Z-k3f9",
    dir: "reports/2026-11-21T09-30-00Z-k3f9",
    suites,
    totals: {
      ...{ trials: sum("trials"), passed: sum("passed"), broken: sum("broken"), missing: sum("missing") },
      ...{ calls: sum("calls"), executed: sum("executed"), toolErrors: sum("toolErrors") },
      ...{ inputTokens: sum("inputTokens"), outputTokens: sum("outputTokens") },
      costUsd: costs.reduce<number | "unknown">((a, b) => (a === "unknown" || b === "unknown" ? "unknown" : a + b), 0),
    },
    ok: exitCode === 0,
    exitCode,
    ...given,
  };
}

const readOne = { id: "read-one", input: "Show me what is in notes.txt", expected: "read_text_file", line: 7 };
const readHead = {
  id: "read-head",
  input: "Read just the first 2 lines of the text file todo.md",
  expected: "read_text_file",
  line: 13,
};
const listSizes = {
  id: "list-with-sizes",
  input: "Which file in the photos directory has the biggest size? List them with their sizes.",
  expected: "list_directory_with_sizes",
  line: 23,
};
const weather = {
  id: "weather",
  input: "What will the weather be like in Bergen tomorrow?",
  expected: "(none)",
  line: 44,
};
const rename = { id: "rename", input: "Rename notes.txt to diary.txt", expected: "move_file", line: 33 };

export const passed: RunSummary = runOf(
  [
    suiteOf({
      cases: [
        caseOf(readOne),
        caseOf({
          ...readHead,
          passed: 4,
          outcomes: { "right-tool": 4, "wrong-arguments": 1 },
          reasons: [{ text: "read_text_file: head is 5, expected 2", n: 1 }],
        }),
        caseOf({ ...weather, outcomes: { abstained: 5 } }),
      ],
      coverage: { tools: 14, expected: 1, missing: ["create_directory", "edit_file"] },
    }),
  ],
  0,
);

const failedLexical = suiteOf({
  cases: [
    caseOf(readOne),
    caseOf({
      ...readHead,
      passed: 2,
      outcomes: { "right-tool": 2, "wrong-tool": 3 },
      reasons: [{ text: "calls read_text_file: called read_multiple_files", n: 3 }],
    }),
    caseOf(listSizes),
    caseOf({
      ...rename,
      passed: 4,
      outcomes: { "right-tool": 4, "no-call": 1 },
      reasons: [{ text: "no tool was called, expected move_file", n: 1 }],
    }),
    caseOf({
      ...weather,
      passed: 0,
      outcomes: { "over-triggered": 5 },
      reasons: [
        { text: "called get_file_info, expected no call", n: 4 },
        { text: "called search_files, expected no call", n: 1 },
      ],
    }),
    caseOf({
      id: "explain-file-system",
      input: "In general, how does a journaling file system differ from a log-structured one?",
      ...{ expected: "(none)", trials: 0, notGradable: 5, outcomes: {} },
      reasons: [{ text: "not gradable: no judge is set for the check: names the write path of each", n: 5 }],
      line: 40,
    }),
  ],
  confusion: [
    { expected: "read_text_file", picked: "read_text_file", n: 7 },
    { expected: "(none)", picked: "get_file_info", n: 4 },
    { expected: "read_text_file", picked: "read_multiple_files", n: 3 },
    { expected: "(none)", picked: "search_files", n: 1 },
    { expected: "move_file", picked: "(none)", n: 1 },
  ],
});

const sonnetTotals = { calls: 30, executed: 22, toolErrors: 2, inputTokens: 184_320, outputTokens: 4_211 };

/** Two models on one suite, one of which fails three of six cases. */
export const failed: RunSummary = runOf(
  [
    failedLexical,
    ((suite) => ({ ...suite, totals: { ...suite.totals, ...sonnetTotals, costUsd: 0.41075 } }))(
      suiteOf({
        model: "anthropic:claude-sonnet-5-5",
        note: "default effort",
        latencyMs: { p50: 1_240, p95: 3_870 },
        cases: [
          caseOf(readOne),
          caseOf({
            ...readHead,
            trials: 4,
            broken: 1,
            brokenStages: { model: 1 },
            reasons: [{ text: "broken (model): 529 overloaded after 6 tries", n: 1 }],
          }),
          caseOf(listSizes),
          caseOf(rename),
          caseOf({ ...weather, outcomes: { abstained: 5 } }),
          caseOf({
            id: "explain-file-system",
            input: "In general, how does a journaling file system differ from a log-structured one?",
            expected: "(none)",
            outcomes: { abstained: 5 },
            line: 40,
          }),
        ],
      }),
    ),
  ],
  1,
);

/** The server crashed and the budget ran out: all answers passed, but too few. */
export const incomplete: RunSummary = runOf(
  [
    ((suite) => ({
      ...suite,
      totals: { ...suite.totals, costUsd: "unknown" as const, inputTokens: 61_002, outputTokens: 902 },
    }))(
      suiteOf({
        model: "openai:local-model",
        note: "at http://127.0.0.1:8080/v1",
        latencyMs: null,
        cases: [
          caseOf({
            ...readOne,
            trials: 3,
            broken: 2,
            brokenStages: { model: 1, timeout: 1 },
            reasons: [
              { text: "broken (timeout): no reply within 60 s", n: 1 },
              { text: 'broken (model): HTTP 500: {"error":"out of memory"}', n: 1 },
            ],
          }),
          caseOf({
            ...readHead,
            trials: 0,
            broken: 5,
            brokenStages: { server: 5 },
            outcomes: {},
            reasons: [{ text: "broken (server): the server ended with code 1 while it was called", n: 5 }],
          }),
          caseOf({ ...weather, trials: 2, planned: 5, outcomes: { abstained: 2 } }),
          caseOf({ ...rename, trials: 0, planned: 5, outcomes: {} }),
          caseOf({
            ...listSizes,
            trials: 2,
            passed: 1,
            broken: 2,
            planned: 5,
            brokenStages: { budget: 2 },
            outcomes: { "right-tool": 1, "no-call": 1 },
            reasons: [
              { text: "broken (budget): the budget of $0.50 is spent", n: 2 },
              { text: "no tool was called, expected list_directory_with_sizes", n: 1 },
            ],
          }),
        ],
      }),
    ),
  ],
  3,
);

export const nasty =
  "\x1b[31mred\x1b]0;title\x07 <script>alert('x')</script> ]]> | `code` ** @everyone #1 \u202eevil\u200b\n::error::pwned\r\n- [link](https://evil.example) \ud800 \x9b2J";

/** Every text from outside is hostile; two case ids differ only in an invisible character. */
export const hostile: RunSummary = runOf(
  [
    suiteOf({
      name: `suite ${nasty}`,
      model: `model ${nasty}`,
      note: `note ${nasty}`,
      cases: [
        caseOf({
          id: `id ${nasty}`,
          input: nasty,
          expected: `tool|${nasty}`,
          passed: 1,
          outcomes: { [`outcome ${nasty}`]: 4 },
          reasons: [{ text: nasty, n: 4 }],
          file: "evals/a,b:c%.yaml",
        }),
        caseOf({
          ...{ id: "x".repeat(300), input: "long ".repeat(400), expected: "y".repeat(300), trials: 0, broken: 5 },
          ...{ brokenStages: { [nasty]: 5 }, reasons: [{ text: nasty.repeat(30), n: 5 }] },
        }),
        caseOf({ id: "same\nid", input: "", expected: "" }),
        caseOf({ id: "same id", input: "日本語のファイルを開いて 🎉", expected: "読む" }),
      ],
      confusion: [{ expected: `tool|${nasty}`, picked: nasty, n: 4 }],
      coverage: {
        tools: 40,
        expected: 1,
        missing: Array.from({ length: 39 }, (_, at) => `tool-${at}-${"z".repeat(80)}`),
      },
    }),
  ],
  1,
);

/** A run without cases. */
export const empty: RunSummary = runOf(
  [suiteOf({ cases: [], coverage: { tools: 0, expected: 0, missing: [] }, latencyMs: null })],
  1,
);

const readTool = {
  name: "read_text_file",
  description: "Read the complete contents of a text file.\n\nUse read_multiple_files to read several at once.",
  inputSchema: {
    type: "object",
    properties: { path: { type: "string" }, head: { type: "number" } },
    required: ["path"],
  },
  server: "filesystem",
  origin: "server" as const,
};

/** The manifest of the sample runs. */
export const manifest: RunManifest = {
  ...{
    format: "tool-evals run 1",
    id: "2026-11-21T09-30-00Z-k3f9",
    nonce: "0123456789abcdef",
    startedAt: "2026-11-21T09:30:00.000Z",
  },
  ...{ finishedAt: "2026-11-21T09:31:14.500Z", harness: "0.1.0", node: "v20.20.0" },
  ...{ git: { commit: "a5b44c0d9f0e4bb1a9d2c3e8f7061524334455aa", dirty: true }, flags: {}, seed: 20261121 },
  host: "plain",
  models: [
    { id: "lexical", kind: "retrieval baseline", note: lexicalNote, settings: {}, deterministic: true },
    {
      id: "anthropic:claude-sonnet-5-5",
      kind: "language model",
      deterministic: false,
      settings: { baseURL: "https://api.anthropic.com", maxRetries: 5, timeoutMs: 60_000, maxTokens: 1024 },
    },
  ],
  suites: [
    {
      ...{ name: "filesystem", file: "evals/filesystem.yaml" },
      ...{ hash: "5f2d1c0b9a8e7d6c5f2d1c0b9a8e7d6c5f2d1c0b9a8e7d6c5f2d1c0b9a8e7d6c", execute: "read-only" },
      ...{ isolate: "run", server: { name: "secure-filesystem-server", version: "0.2.0" } },
      checks: ["lexical", "anthropic:claude-sonnet-5-5"].map((model) => ({
        ...{ kind: "compare", model, cap: 25, families: 2, margin: 0.1 },
        baseline: {
          file: "evals/baselines/filesystem.json",
          run: "2026-11-14T09-30-00Z-a1b2",
          acceptedAt: "2026-11-14",
        },
        cases: ["read-one", "read-head", "rename"].map((id) => ({ id, bank: passedOf(20, 20), toolset: "x" })),
        notes: [],
      })),
      cases: [],
    },
  ],
  toolsets: {
    e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855: [
      readTool,
      { ...readTool, name: "read_multiple_files", description: "Read the contents of multiple files simultaneously." },
      { ...readTool, name: "get_file_info", description: "Retrieve detailed metadata about a file or directory." },
      {
        ...readTool,
        name: "search_issues",
        description: "Search the issues of a repository.",
        server: "github",
        origin: "distractor",
      },
    ],
  },
};

/** The manifest with hostile text in every field. */
export const hostileManifest: RunManifest = {
  ...manifest,
  host: nasty,
  git: { commit: nasty, dirty: false },
  models: [{ id: nasty, kind: "language model", note: nasty, settings: { [nasty]: nasty }, deterministic: false }],
  toolsets: { [nasty]: [{ ...readTool, name: nasty, description: nasty, server: nasty }] },
};

const share = (right: number, all: number) => ({ rate: right / all, interval: wilson(right, all) });
const sentence = (text: string, one: [number, number], other: [number, number]) => {
  return { case: "notes-for-1-2-0", text, met: [passedOf(...other), passedOf(...one)] };
};

/** A run with skills: how they trigger, and the effect of one as graded by a judge. */
export const skills: RunSummary = runOf(
  [
    suiteOf({
      name: "skill:release-notes",
      coverage: { tools: 0, expected: 0, missing: [] },
      cases: [
        caseOf({ id: "notes-for-1-2-0", input: "Write the notes for 1.2.0", expected: "skill:release-notes", line: 3 }),
        caseOf({
          ...{ id: "message-for-this-diff", input: "Give me a message for this diff" },
          ...{ expected: "(avoid skill:release-notes)", line: 9, passed: 4 },
          outcomes: { "right-tool": 4, "over-triggered": 1 },
        }),
      ],
    }),
    suiteOf({
      name: "skill:release-notes behavior",
      coverage: { tools: 0, expected: 0, missing: [] },
      cases: [caseOf({ id: "notes-for-1-2-0", input: "Write the notes for 1.2.0", expected: "(behavior)", line: 3 })],
      arms: [
        {
          axis: "skill",
          skill: "release-notes",
          arms: [
            {
              ...{ arm: "without", name: "without the skill", exposure: { kind: "all" } },
              ...{ passed: 2, trials: 5, broken: 0, notGradable: 0, chosen: passedOf(0, 0) },
              ...{ tokensPerRequest: 890, requestsPerTrial: 1, msPerTrial: 2100, costUsd: "unknown" },
            },
            {
              ...{ arm: "head", name: "with the skill", exposure: { kind: "all" } },
              ...{ passed: 5, trials: 5, broken: 0, notGradable: 0, chosen: passedOf(0, 0) },
              ...{ tokensPerRequest: 1716, requestsPerTrial: 2.4, msPerTrial: 5300, costUsd: 0.0412 },
              against: {
                ...{ verdict: "better", margin: 0.1, comparisons: 2 },
                net: { change: 0.6, interval: [0.13, 0.86] },
                p: { worse: 1, better: 0.012 },
                chosen: { own: passedOf(0, 0), first: passedOf(0, 0) },
                ...{ fell: [], rose: [] },
              },
            },
          ],
          behaviors: [
            sentence("groups changes by kind, breaking ones first", [5, 5], [2, 5]),
            sentence("names no commit hashes", [4, 4], [5, 5]),
          ],
        },
      ],
    }),
  ],
  0,
  {
    skills: [
      {
        model: "lexical",
        skills: [
          {
            name: "commit-message",
            ...{ truePositives: 0, falsePositives: 0, falseNegatives: 0, trueNegatives: 5 },
            ...{ precision: null, recall: null },
          },
          {
            name: "release-notes",
            ...{ truePositives: 5, falsePositives: 1, falseNegatives: 0, trueNegatives: 4 },
            ...{ precision: share(5, 6), recall: share(5, 5) },
          },
        ],
      },
    ],
    judge: { model: "anthropic:claude-opus-5-5" },
  },
);
