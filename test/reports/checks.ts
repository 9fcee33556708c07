import type { CheckSummary, ComparedCheck } from "../../src/evals/base/types/check.ts";
import type { RunSummary, SuiteSummary } from "../../src/evals/base/types/run.ts";
import { runReport } from "../../src/evals/experiments/run/report/forms.ts";
import { passedOf } from "../fakes/record.ts";
import {
  caseOf,
  empty,
  failed,
  hostile,
  hostileManifest,
  incomplete,
  manifest,
  nasty,
  passed,
  runOf,
  skills,
  suiteOf,
} from "./samples.ts";

// Runs with a regression check, one for each verdict.

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

/** A check without a regression, with overrides. */
export function checkOf(given: Partial<ComparedCheck> & Pick<ComparedCheck, "kind">): ComparedCheck {
  return {
    ...{ by: null, rate: given.kind === "regressed" ? "pass" : null, because: null, method: "pairs", look: 3 },
    ...{ looks: 8, trials: 8, tested: 8, cap: 40, margin: 0.1, families: 1, cases: 3 },
    net: { change: -0.011, interval: [-0.0713, 0.0482], standardError: 0.0266, z: 2.25, cases: 3 },
    selection: { change: 0, interval: [-0.06, 0.06], standardError: 0.0255, z: 2.353, cases: 3 },
    canFall: { pass: 3, selection: 3 },
    ...{ suite: { down: 2, up: 1, p: 0.5, level: 0.00416, rate: "pass", hasFallen: false }, flagged: [], rose: [] },
    ...{ suspects: [], flips: [], missing: null, reach: 60, advice: null, grew: [] },
    ...{ changes: [exact], calls: { base: 24, head: 24, copies: 0, missing: 0 }, notes: [], exitCode: 0 },
    ...given,
  };
}

const sonnet = { model: "anthropic:claude-sonnet-5-5", note: "default effort" };
const cases = [
  caseOf({ id: "read-one", input: "Show me what is in notes.txt", expected: "read_text_file", trials: 7 }),
  caseOf({
    ...{ id: "read-head", input: "Read just the first 2 lines of todo.md", expected: "read_text_file", trials: 7 },
    line: 13,
  }),
  caseOf({ id: "rename", input: "Rename notes.txt to diary.txt", expected: "move_file", trials: 7, line: 33 }),
];

/** A run of one suite on a language model in which every case passed its gate. */
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

const readHead = { case: "read-head", base: passedOf(12, 12), head: passedOf(5, 12), p: 0.00229 };
const readOne = { case: "read-one", base: passedOf(11, 12), head: passedOf(8, 12), p: 0.158 };

const regressed = runOf(
  [
    ...checkedRun(
      checkOf({
        kind: "regressed",
        by: "cases",
        look: 4,
        trials: 12,
        net: { change: -0.1228, interval: [-0.2011, -0.0312], standardError: 0.0377, z: 2.25, cases: 3 },
        suite: { down: 9, up: 1, p: 0.0107, level: 0.00624, rate: "pass", hasFallen: false },
        flagged: [readHead],
        suspects: [readOne],
        missing: { base: 1, head: 1, recovered: { base: 0, head: 2 } },
        grew: [
          {
            ...{ expected: "read_text_file", picked: "read_multiple_files" },
            ...{ base: passedOf(0, 12), head: passedOf(7, 26) },
          },
        ],
        changes: [
          { label: "list_directory.path: description", before: "The folder", after: "The folder to list" },
          { label: "move_file: title", class: "description only", before: "Move", after: "" },
          { label: "move_file.overwrite: required", class: "breaking", before: '{"type":"boolean"}' },
          { label: "move_file.target: description", class: "unknown", before: "Where to", after: "New name" },
          exact,
          simultaneous,
        ],
        calls: { base: 43, head: 45, copies: 2, missing: 5 },
        families: 2,
        notes: ["Added (not compared): weather"],
        exitCode: 1,
      }),
      {
        cases: cases.map((one) => (one.id === "read-head" ? dropped : one)),
        failOn: ["regressed"],
        failed: ["regressed"],
      },
    ).suites,
    ...passed.suites,
  ],
  1,
);

const suiteRegressed = checkedRun(
  checkOf({
    kind: "regressed",
    by: "suite",
    net: { change: -0.22, interval: [-0.33, -0.11], standardError: 0.049, z: 2.25, cases: 3 },
    suite: { down: 12, up: 1, p: 0.0017, level: 0.0042, rate: "pass", hasFallen: true },
    suspects: [readHead],
    exitCode: 1,
  }),
  { failOn: ["regressed"], failed: ["regressed"] },
);

/** A regression that does not fail the run with `--fail-on suite`. */
const permitted = checkedRun(checkOf({ kind: "regressed", by: "cases", flagged: [readHead] }), {
  failOn: ["suite"],
  failed: [],
});

/** One case gained what others lost. */
const traded = checkedRun(
  checkOf({
    kind: "regressed",
    by: "cases",
    flagged: [readHead],
    rose: [{ case: "rename", base: passedOf(2, 12), head: passedOf(11, 12), p: 0.0003 }],
    exitCode: 1,
  }),
  { failOn: ["regressed"], failed: ["regressed"] },
);

/** Cases that pass no less often, but select another tool when they fail. */
const selected = checkedRun(
  checkOf({
    kind: "regressed",
    by: "cases",
    rate: "selection",
    flagged: [
      {
        ...{ case: "rename", base: passedOf(3, 12), head: passedOf(2, 12) },
        ...{ selected: { base: passedOf(12, 12), head: passedOf(3, 12) }, p: 0.0003 },
      },
    ],
    suite: { down: 9, up: 0, p: 0.00195, level: 0.00416, rate: "selection", hasFallen: true },
    selection: { change: -0.25, interval: [-0.4, -0.1], standardError: 0.064, z: 2.353, cases: 3 },
    exitCode: 1,
  }),
  { failOn: ["regressed"], failed: ["regressed"] },
);

const repeating = checkedRun(
  checkOf({
    kind: "inconclusive",
    because: "answers-repeat",
    dependence: { score: 4.2, correlation: 0.51 },
    exitCode: 3,
  }),
);

const dead = checkedRun(
  checkOf({
    ...{ kind: "inconclusive", because: "nothing-can-fall", net: null, selection: null },
    ...{ canFall: { pass: 0, selection: 0 }, exitCode: 3 },
  }),
);

const noRegression = checkedRun(checkOf({ kind: "no-regression" }), {
  failOn: ["regressed"],
  failed: [],
  cases: cases.map((one) =>
    one.id === "rename"
      ? caseOf({ id: "rename", input: "Rename it", expected: "move_file", trials: 8, passed: 3 })
      : one,
  ),
});

const inconclusive = checkedRun(
  checkOf({
    ...{ kind: "inconclusive", because: "cap", look: 6, trials: 25 },
    net: { change: -0.0534, interval: [-0.214, 0.0467], standardError: 0.058, z: 2.25, cases: 3 },
    advice: { likely: 27, safe: 90, atLeast: false },
  }),
);

const lost = checkedRun(
  checkOf({
    kind: "inconclusive",
    because: "missing",
    missing: { base: 0, head: 6, recovered: { base: 0, head: 0 } },
    exitCode: 3,
  }),
);

const stopped = checkedRun(
  checkOf({
    ...{ kind: "inconclusive", because: "stopped", look: 2, looks: 2, trials: 0 },
    ...{
      net: null,
      suite: null,
      reach: null,
      calls: { base: 9, head: 8, copies: 0, missing: 0 },
      exitCode: 3,
    },
  }),
);

const unchanged = checkedRun({
  kind: "unchanged",
  notes: ["Removed or not selected (not compared): read-two"],
  exitCode: 0,
});

/** A nightly run in which one case broke. */
const drifted = runOf(
  checkedRun(
    { kind: "unchanged", notes: [], exitCode: 0 },
    {
      failOn: ["drifted"],
      failed: ["drifted"],
      ok: false,
      drift: {
        nightly: true,
        baseline: { run: "2026-03-01T08-00-00-000", acceptedAt: "2026-03-01T08:00:00.000Z" },
        uncounted: null,
        tonight: { night: "2026-03-12T04-00-07-123", cases: { "read-head": "0/3+0/7", rename: "3/3" } },
        verdict: {
          kind: "drifted",
          alarm: {
            night: "2026-03-12T04-00-07-123",
            since: "2026-03-12T04-00-07-123",
            direction: "down",
            cases: [
              {
                ...{ case: "read-head", since: "2026-03-12T04-00-07-123", direction: "down" },
                ...{ before: passedOf(53, 53), after: passedOf(0, 10), score: 1_234_567 },
              },
            ],
            change: -0.33,
            fate: "open",
            nightsAfter: 0,
          },
          nights: 12,
          score: 205_761.2,
          threshold: 20,
          margin: 0.1,
          net: { change: -0.028, lower: -0.081, upper: 0.011, nights: 12, joined: 0, trials: 108 },
          alarms: [],
        },
      },
    },
  ).suites,
  1,
);

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
    kind: "changed",
    method: "exhausted",
    ...{ look: 1, looks: 1, trials: 1 },
    net: { change: -1 / 3, interval: [-0.79, 0.36], standardError: 0.3, z: 1.76, cases: 3 },
    flips: [{ case: "read-head", down: 1, up: 0, pairs: 1 }],
    ...{ reach: null, calls: { base: 3, head: 3, copies: 0, missing: 0 } },
  }),
  { model: "lexical", note: "a retrieval baseline, not a language model", failOn: ["regressed"], failed: [] },
);

const many = Array.from({ length: 60 }, (_, at) => ({
  label: `tool-${at}: ${nasty}`,
  before: nasty,
  after: `${nasty}!`,
}));
const hostileCheck = checkedRun(
  checkOf({
    kind: "regressed",
    by: "cases",
    cases: 1,
    net: { change: -0.9, interval: [-1, -0.8], standardError: 0.04, z: 2.55, cases: 1 },
    flagged: [{ case: `id ${nasty}`, base: passedOf(20, 20), head: passedOf(0, 20), p: 1e-12 }],
    grew: [{ expected: `tool|${nasty}`, picked: nasty, base: passedOf(0, 0), head: passedOf(3, 3) }],
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

/** The runs by the names of their snapshots. */
export const checked = {
  ...{ regressed, "suite-regressed": suiteRegressed, permitted, traded, selected, "no-regression": noRegression },
  ...{ inconclusive, missing: lost, "answers-repeat": repeating, "nothing-can-fall": dead, stopped, unchanged },
  ...{ drifted, "not-comparable": notComparable, certain, "hostile-check": hostileCheck },
};

const samples = { passed, failed, incomplete, hostile, empty, skills, ...checked };

/** Every sample run with its name and its report. */
export const sampleReports = Object.entries(samples).map(([name, summary]) => {
  const report = runReport({ summary, manifest: name === "hostile" ? hostileManifest : manifest });
  return [name, report, summary] as const;
});
