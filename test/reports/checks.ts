import type { CheckSummary, RunSummary, SuiteSummary } from "../../src/evals/types/run.ts";
import { caseOf, nasty, passed, runOf, suiteOf } from "./samples.ts";

// Runs with a regression check, one for each thing it can come to.

type Compared = Extract<CheckSummary, { kind: "regressed" | "no-regression" | "inconclusive" }>;

const exact = {
  label: "read_text_file: description",
  before: "Read the complete contents of a text file. Use head or tail for the first or last lines.",
  after: "Read a text file. Use head or tail to get part of it.",
};
const simultaneous = {
  label: "read_multiple_files: description",
  before: "Read the contents of multiple files simultaneously.",
  after: "Read the contents of one or more files simultaneously, the whole or the first lines.",
};

/** A check that cleared the list, but for what is given. */
export function checkOf(given: Partial<Compared> & Pick<Compared, "kind" | "basis">): Compared {
  return {
    method: "screen",
    margin: 0.1,
    net: { change: -0.011, interval: [-0.0713, 0.0482], cases: 3 },
    flagged: [],
    grew: [],
    changes: [exact],
    reach: { baseTrials: 20, headTrials: 7, headPasses: 3, p: 0.0021 },
    furtherTrials: null,
    pairedT: 0.31,
    calls: { base: 0, head: 42, broken: 0, saved: 258 },
    modelDrift: null,
    notes: [],
    exitCode: 0,
    ...given,
  };
}

const sonnet = { model: "anthropic:claude-sonnet-5-5", note: "default effort" };
const cases = [
  caseOf({ id: "read-one", input: "Show me what is in notes.txt", expected: "read_text_file", trials: 7 }),
  caseOf({
    id: "read-head",
    input: "Read just the first 2 lines of todo.md",
    expected: "read_text_file",
    trials: 7,
    line: 13,
  }),
  caseOf({ id: "rename", input: "Rename notes.txt to diary.txt", expected: "move_file", trials: 7, line: 33 }),
];

/** A run of one suite on a language model, all of whose cases passed their gate. */
export function checkedRun(verdict: CheckSummary, given: Partial<SuiteSummary> = {}): RunSummary {
  const suite = suiteOf({ ...sonnet, cases, coverage: { tools: 14, expected: 2, missing: [] }, ...given, verdict });
  const totals = { ...suite.totals, inputTokens: 184_320, outputTokens: 4_211, costUsd: 0.41075 };
  return runOf([{ ...suite, totals, ok: suite.ok && verdict.exitCode === 0 }], verdict.exitCode);
}

const dropped = caseOf({
  ...{ id: "read-head", input: "Read just the first 2 lines of todo.md", expected: "read_text_file", line: 13 },
  ...{ trials: 19, passed: 12, passRate: 0.6, outcomes: { "right-tool": 12, "wrong-tool": 7 } },
  reasons: [{ text: "expected read_text_file, got read_multiple_files", n: 7 }],
});

const regressed = runOf(
  [
    ...checkedRun(
      checkOf({
        kind: "regressed",
        basis: { kind: "dropped", test: { kind: "p-value", p: 0.00229, alpha: 0.015 }, look: 4, looks: 5 },
        net: { change: -0.1228, interval: [-0.2011, -0.0312], cases: 3 },
        flagged: [
          {
            case: "read-head",
            base: { passed: 12, trials: 12 },
            head: { passed: 5, trials: 12 },
            p: 0.00229,
            adjusted: 0.00412,
          },
        ],
        grew: [
          {
            ...{ expected: "read_text_file", picked: "read_multiple_files" },
            ...{ base: { passed: 0, trials: 12 }, head: { passed: 7, trials: 26 } },
          },
        ],
        changes: [
          { label: "list_directory.path: description", before: "The folder", after: "The folder to list" },
          { label: "move_file: title", class: "description only", before: "Move", after: "" },
          { label: "move_file.overwrite: required", class: "breaking", before: '{"type":"boolean"}' },
          exact,
          simultaneous,
        ],
        pairedT: 0.00003,
        calls: { base: 12, head: 45, broken: 1, saved: 243 },
        modelDrift: { direction: "down", p: 0.004 },
        notes: ["Added (not compared): weather"],
        exitCode: 1,
      }),
      { cases: cases.map((one) => (one.id === "read-head" ? dropped : one)) },
    ).suites,
    ...passed.suites,
  ],
  1,
);

const noRegression = checkedRun(
  checkOf({
    kind: "no-regression",
    basis: { kind: "drop ruled out", drop: 0.071, look: 1, looks: 5 },
  }),
);

const inconclusive = checkedRun(
  checkOf({
    kind: "inconclusive",
    basis: { kind: "neither shown", test: { kind: "p-value", p: 0.081, alpha: 0.02 }, drop: 0.314 },
    net: { change: -0.1534, interval: [-0.314, 0.0467], cases: 3 },
    furtherTrials: 14,
    calls: { base: 60, head: 81, broken: 0, saved: 0 },
  }),
);

const stopped = checkedRun(
  checkOf({
    kind: "inconclusive",
    basis: { kind: "stopped", look: 2 },
    ...{ net: null, reach: null, pairedT: null, calls: { base: 0, head: 0, broken: 0, saved: 0 }, exitCode: 3 },
  }),
);

const unchanged = checkedRun({
  kind: "unchanged",
  notes: ["Removed (not compared): read-two"],
  exitCode: 0,
});

const notComparable = checkedRun({
  kind: "not-comparable",
  reasons: [
    'The host profile differs: "plain" before, "claude-code" now. Use the same --host, or accept a new baseline for it.',
    'The major version differs: "0.1" before, "0.2" now. Accept a new baseline with this version.',
  ],
  notes: [],
  exitCode: 3,
});

/** A deterministic model: no p, no interval. */
const certain = checkedRun(
  checkOf({
    kind: "regressed",
    basis: { kind: "dropped", test: null, look: 1, looks: 1 },
    method: "deterministic",
    net: { change: -1 / 3, interval: [-0.79, 0.36], cases: 3 },
    flagged: [
      { case: "read-head", base: { passed: 1, trials: 1 }, head: { passed: 0, trials: 1 }, p: 0.5, adjusted: 0.5 },
    ],
    ...{ reach: null, pairedT: 0.21, calls: { base: 3, head: 3, broken: 0, saved: 0 }, exitCode: 1 },
  }),
  { model: "lexical", note: "a retrieval baseline, not a language model" },
);

const many = Array.from({ length: 60 }, (_, at) => ({
  label: `tool-${at}: ${nasty}`,
  before: nasty,
  after: `${nasty}!`,
}));
const hostileCheck = checkedRun(
  checkOf({
    kind: "regressed",
    basis: { kind: "dropped", test: { kind: "p-value", p: 1e-12, alpha: 0.05 }, look: 1, looks: 1 },
    net: { change: -0.9, interval: [-1, -0.8], cases: 1 },
    flagged: [
      {
        case: `id ${nasty}`,
        base: { passed: 20, trials: 20 },
        head: { passed: 0, trials: 20 },
        p: 1e-12,
        adjusted: 1e-9,
      },
    ],
    grew: [
      { expected: `tool|${nasty}`, picked: nasty, base: { passed: 0, trials: 0 }, head: { passed: 3, trials: 3 } },
    ],
    changes: [
      { label: nasty, before: nasty, after: "" },
      { label: `read_text_file: ${nasty}`, before: "[-a-]", after: "{+b+}" },
      ...many,
    ],
    notes: [nasty, nasty],
    exitCode: 1,
  }),
  {
    name: `suite ${nasty}`,
    cases: [caseOf({ id: `id ${nasty}`, input: nasty, expected: `tool|${nasty}`, passed: 0 })],
  },
);

/** By name, for the snapshots. */
export const checked = {
  regressed,
  "no-regression": noRegression,
  inconclusive,
  stopped,
  unchanged,
  "not-comparable": notComparable,
  certain,
  "hostile-check": hostileCheck,
};
