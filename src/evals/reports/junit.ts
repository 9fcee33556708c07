import { exitCodes } from "../types/errors.ts";
import type { CaseSummary, RunManifest, RunSummary, SuiteSummary } from "../types/run.ts";
import { checkLines } from "./check.ts";
import { driftLines } from "./drift.ts";
import { type Markup, markup, only, plain } from "./escape.ts";
import { discoverySentence } from "./exposures.ts";
import { tally } from "./format.ts";
import type { RunInput } from "./run.ts";
import { caseSentence, caseState, headline, isGatedByRate, modelLabel } from "./runText.ts";

/** The result of one test case; the first of its lines is the message of a red one. */
type Test = {
  name: string;
  /** Of all its trials, in milliseconds. */
  ms?: number | undefined;
  tag: "failure" | "error" | "system-out";
  type: string;
  lines: string[];
};

/**
 * JUnit XML, as CI services read it: a test suite per suite and model, a test case per case and one for the regression
 * check. `<failure>` is a rate that missed its gate or a regression, `<error>` what has no answer to judge. Class name
 * and name together are unique, since some services drop doubles. The time of a case is that of all its trials, which can
 * run at the same time; that of the whole is the time that passed. Valid under the schema of Jenkins (junit-10.xsd of its
 * xUnit plugin), so a case has no file and line: they are in its text.
 */
export function junit({ summary, manifest }: RunInput): string {
  const suites = summary.suites.map((suite) => ({ suite, tests: listTests(suite) }));
  const tests = suites.flatMap((one) => one.tests);
  // A reader of this file alone must see red whenever the run is red.
  const isShown = summary.exitCode === exitCodes.passed || tests.some(({ tag }) => tag !== "system-out");
  const wholeRun = isShown ? [] : [runTest(summary)];
  return markup`<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="tool-evals"${counts([...tests, ...wholeRun])}${runTime(manifest)}>
${suites.map((one) => testSuite(one.suite, one.tests, manifest))}${wholeRun.map(runSuite)}</testsuites>
`.source;
}

function counts(tests: readonly Test[]): Markup {
  const of = (tag: Test["tag"]) => tests.filter((test) => test.tag === tag).length;
  return markup` tests="${tests.length}" failures="${of("failure")}" errors="${of("error")}"`;
}

function runTime({ startedAt, finishedAt }: RunManifest): Markup {
  const seconds = (Date.parse(finishedAt ?? "") - Date.parse(startedAt)) / 1000;
  return only(Number.isFinite(seconds), () => time(1000 * seconds));
}

function time(ms: number | undefined): Markup {
  return only(ms !== undefined, () => markup` time="${((ms ?? 0) / 1000).toFixed(3)}"`);
}

/** The time of tests that have one. */
function sumTime(tests: readonly Test[]): number | undefined {
  const times = tests.flatMap(({ ms }) => ms ?? []);
  return times.length === 0 ? undefined : times.reduce((sum, ms) => sum + ms, 0);
}

function testSuite(
  { name, model, note, discovery }: SuiteSummary,
  tests: readonly Test[],
  manifest: RunManifest,
): Markup {
  const facts = {
    model,
    note,
    run: manifest.id,
    seed: String(manifest.seed),
    commit: manifest.git?.commit,
    search: discovery && discoverySentence(discovery),
  };
  const properties = Object.entries(facts).map(([fact, value]) =>
    only(value !== undefined, () => markup`      <property name="${fact}" value="${value ?? ""}"/>\n`),
  );
  return markup`  <testsuite name="${name} · ${model}"${counts(tests)} skipped="0"${time(sumTime(tests))} timestamp="${manifest.startedAt}">
    <properties>
${properties}    </properties>
${uniquelyNamed(tests).map((test) => testCase(`${name} [${model}]`, test))}  </testsuite>
`;
}

function runSuite(test: Test): Markup {
  return markup`  <testsuite name="the run as a whole"${counts([test])} skipped="0">
${testCase("tool-evals", test)}  </testsuite>
`;
}

function testCase(classname: string, { name, ms, tag, type, lines }: Test): Markup {
  const open = markup`    <testcase classname="${classname}" name="${name}"${time(ms)}`;
  if (lines.length === 0) return markup`${open}/>\n`;
  const attributes = only(tag !== "system-out", () => markup` message="${lines[0] ?? ""}" type="${type}"`);
  return markup`${open}>
      <${tag}${attributes}>${lines.map((line) => markup`${line}\n`)}</${tag}>
    </testcase>
`;
}

function listTests(suite: SuiteSummary): Test[] {
  const { verdict, cases } = suite;
  const tests = [...driftTest(suite), ...cases.map((one) => caseTest(suite, one))];
  if (!verdict) return tests;
  const { kind, exitCode } = verdict;
  const tag = exitCode === exitCodes.failed ? "failure" : exitCode === exitCodes.passed ? "system-out" : "error";
  return [{ name: "regression check", tag, type: kind, lines: checkLines(verdict, 100) }, ...tests];
}

function driftTest({ drift, failed = [] }: SuiteSummary): Test[] {
  const lines = drift ? driftLines(drift) : [];
  if (!drift || lines.length === 0) return [];
  const { kind } = drift.verdict;
  const isOpen = drift.nightly && drift.uncounted !== null;
  const isFailed = (kind === "drifted" || kind === "inconclusive") && failed.includes(kind);
  return [{ name: "drift", tag: isFailed ? "failure" : isOpen ? "error" : "system-out", type: kind, lines }];
}

function caseTest(suite: SuiteSummary, one: CaseSummary): Test {
  const state = caseState(one);
  // A rate is no part of a check: reported, and no failure.
  const isOpen = state === "failed" && !isGatedByRate(suite);
  const tag = state === "passed" || isOpen ? "system-out" : state === "failed" ? "failure" : "error";
  const isPlain = state === "passed" && one.reasons.length === 0 && one.trials >= one.planned;
  return { name: one.id, ms: one.ms, tag, type: state, lines: isPlain ? [] : detail(suite, one) };
}

function detail(suite: SuiteSummary, one: CaseSummary): string[] {
  return [
    caseSentence(one),
    ...(one.file === "" ? [] : [`at: ${one.file}:${one.line}`]),
    `input: ${one.input}`,
    `expected: ${one.expected}`,
    `model: ${modelLabel(suite)}`,
    `outcomes: ${tally(one.outcomes).join(", ") || "none"}`,
    ...(one.broken > 0 ? [`broken (excluded from the rate): ${tally(one.brokenStages).join(", ")}`] : []),
    ...one.reasons.map(({ text, n }) => `${n}x ${text}`),
  ];
}

function runTest(summary: RunSummary): Test {
  return { name: `run ${summary.run}`, tag: "error", type: "run", lines: [headline(summary)] };
}

/** The tests of a suite; the name of one that reads like an earlier one (they may differ invisibly) gets a number. */
function uniquelyNamed(tests: readonly Test[]): Test[] {
  const seen = new Set<string>();
  return tests.map((test) => {
    let name = plain(test.name);
    for (let n = 2; seen.has(name); n += 1) name = `${plain(test.name)} (${n})`;
    seen.add(name);
    return { ...test, name };
  });
}
