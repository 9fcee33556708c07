import type { CaseSummary, RunManifest, RunSummary, SuiteSummary } from "../types/run.ts";
import { tally } from "./format.ts";
import { type Markup, markup, only } from "./markup.ts";
import type { Report, ReportInput } from "./report.ts";
import { plain } from "./untrusted.ts";
import { caseSentence, caseState, headline, modelLabel, runStatus } from "./view.ts";

/**
 * JUnit XML, as CI services read it: a test suite per suite and model, a test case per case. `<failure>` is a rate that
 * missed its gate, `<error>` a case without an answer to judge. Class name and name together are unique, since some
 * services drop doubles. There is no time per case: trials run at once, so a case has none of its own.
 */
export const junit: Report = {
  name: "junit",
  file: "junit.xml",
  render: ({ summary, manifest }: ReportInput) => {
    const red = summary.suites.flatMap((suite) => suite.cases).filter((one) => !one.ok);
    // A reader of this file alone must see red whenever the run is red.
    const wholeRun = red.length === 0 && runStatus(summary) !== "PASSED";
    const suites = summary.suites.map((suite) => testSuite(suite, manifest));
    const all = wholeRun ? [...suites, runSuite(summary)] : suites;
    const failures = red.filter((one) => caseState(one) === "failed").length;
    const tests = summary.suites.reduce((sum, suite) => sum + suite.cases.length, wholeRun ? 1 : 0);
    return markup`<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="tool-evals" tests="${tests}" failures="${failures}" errors="${red.length - failures + (wholeRun ? 1 : 0)}"${runTime(manifest)}>
${all}</testsuites>
`.source;
  },
};

function runTime({ startedAt, finishedAt }: RunManifest): Markup {
  const seconds = (Date.parse(finishedAt ?? "") - Date.parse(startedAt)) / 1000;
  return only(Number.isFinite(seconds), () => markup` time="${seconds.toFixed(3)}"`);
}

function testSuite(suite: SuiteSummary, manifest: RunManifest): Markup {
  const states = suite.cases.map(caseState);
  const failures = states.filter((state) => state === "failed").length;
  const errors = states.filter((state) => state !== "passed").length - failures;
  const names = uniqueNames(suite.cases);
  const properties: [string, string][] = [
    ["model", suite.model],
    ...(suite.note === undefined ? [] : [["note", suite.note] satisfies [string, string]]),
    ["run", manifest.id],
    ["seed", String(manifest.seed)],
    ...(manifest.git ? [["commit", manifest.git.commit] satisfies [string, string]] : []),
  ];
  return markup`  <testsuite name="${suite.name} · ${suite.model}" tests="${suite.cases.length}" failures="${failures}" errors="${errors}" skipped="0" timestamp="${manifest.startedAt}">
    <properties>
${properties.map(([name, value]) => markup`      <property name="${name}" value="${value}"/>\n`)}    </properties>
${suite.cases.map((one, at) => testCase(suite, one, names[at] ?? one.id))}  </testsuite>
`;
}

function testCase(suite: SuiteSummary, one: CaseSummary, name: string): Markup {
  const open = markup`    <testcase classname="${suite.name} [${suite.model}]" name="${name}" file="${one.file}" line="${one.line}"`;
  const state = caseState(one);
  if (state === "passed" && one.reasons.length === 0 && one.trials >= one.planned) return markup`${open}/>\n`;
  const tag = state === "passed" ? "system-out" : state === "failed" ? "failure" : "error";
  const attributes = only(tag !== "system-out", () => markup` message="${caseSentence(one)}" type="${state}"`);
  return markup`${open}>
      <${tag}${attributes}>${detail(suite, one)}</${tag}>
    </testcase>
`;
}

function detail(suite: SuiteSummary, one: CaseSummary): Markup[] {
  const lines = [
    caseSentence(one),
    `input: ${one.input}`,
    `expected: ${one.expected}`,
    `model: ${modelLabel(suite)}`,
    `outcomes: ${tally(one.outcomes) || "none"}`,
    ...(one.broken > 0 ? [`broken, in no rate: ${tally(one.brokenStages)}`] : []),
    ...one.reasons.map(({ text, n }) => `${n}x ${text}`),
  ];
  return lines.map((line) => markup`${line}\n`);
}

function runSuite(summary: RunSummary): Markup {
  return markup`  <testsuite name="the run as a whole" tests="1" failures="0" errors="1" skipped="0">
    <testcase classname="tool-evals" name="run ${summary.run}">
      <error message="${headline(summary)}" type="run"/>
    </testcase>
  </testsuite>
`;
}

/** The ids as names; one that reads like an earlier one (they may differ invisibly) gets a number. */
function uniqueNames(cases: readonly CaseSummary[]): string[] {
  const seen = new Set<string>();
  return cases.map(({ id }) => {
    let name = plain(id);
    for (let n = 2; seen.has(name); n += 1) name = `${plain(id)} (${n})`;
    seen.add(name);
    return name;
  });
}
