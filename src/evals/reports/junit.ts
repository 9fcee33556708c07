import { sumOf } from "../base/collections.ts";
import { plain } from "../base/text/display.ts";
import { type Markup, markup } from "./escape.ts";
import { isRed, type Verdict, type VerdictList, type VerdictSuite } from "./findings.ts";

/**
 * JUnit XML for CI services: a test suite per suite and model, a test case per verdict. `<failure>` is a missed gate or
 * a regression; `<error>` means that there is no answer to judge. Class name and name together are unique, since some
 * services drop duplicates. The time of a case is the sum over its trials, which can run concurrently; the total is
 * wall-clock time. Valid under the Jenkins schema (junit-10.xsd of its xUnit plugin), which has no attributes for file
 * and line: they are in the text of a case.
 */
export function junit({ suites, startedAt, ms }: VerdictList): string {
  const all = suites.flatMap(({ verdicts }) => verdicts);
  return markup`<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="tool-evals"${counts(all)}${time(ms)}>
${suites.map((suite) => testSuite(suite, startedAt))}</testsuites>
`.source;
}

const tags = { failed: "failure", error: "error", warning: "system-out", notice: "system-out", passed: "system-out" };

function counts(verdicts: readonly Verdict[]): Markup {
  const of = (level: Verdict["level"]) => verdicts.filter((one) => one.level === level).length;
  return markup` tests="${verdicts.length}" failures="${of("failed")}" errors="${of("error")}"`;
}

function time(ms: number | undefined): Markup | undefined {
  return ms === undefined ? undefined : markup` time="${(ms / 1000).toFixed(3)}"`;
}

function testSuite({ name, model, facts, verdicts }: VerdictSuite, startedAt: string | undefined): Markup {
  const known = Object.entries(facts).filter(([, value]) => value !== undefined);
  const list = known.map(([fact, value]) => markup`      <property name="${fact}" value="${value}"/>\n`);
  const properties = list.length === 0 ? undefined : markup`    <properties>\n${list}    </properties>\n`;
  const title = model === undefined ? name : `${name} · ${model}`;
  const times = verdicts.flatMap(({ ms }) => ms ?? []);
  const total = times.length === 0 ? undefined : sumOf(times, (ms) => ms);
  const started = startedAt === undefined ? undefined : markup` timestamp="${startedAt}"`;
  const className = model === undefined ? name : `${name} [${model}]`;
  return markup`  <testsuite name="${title}"${counts(verdicts)} skipped="0"${time(total)}${started}>
${properties}${uniquelyNamed(verdicts).map((one) => testCase(className, one))}  </testsuite>
`;
}

function testCase(className: string, verdict: Verdict): Markup {
  const { name, ms, level, kind, lines, location } = verdict;
  const open = markup`    <testcase classname="${className}" name="${name}"${time(ms)}`;
  const [first = "", ...rest] = lines;
  if (lines.length === 0) return markup`${open}/>\n`;
  const at = location?.file === undefined ? [] : [`at: ${[location.file, location.line].join(":")}`];
  const attributes = isRed(verdict) ? markup` message="${first}" type="${kind}"` : undefined;
  return markup`${open}>
      <${tags[level]}${attributes}>${[first, ...at, ...rest].map((line) => markup`${line}\n`)}</${tags[level]}>
    </testcase>
`;
}

/** Numbers names that look the same as an earlier one: they may differ in invisible characters. */
function uniquelyNamed(verdicts: readonly Verdict[]): Verdict[] {
  const seen = new Set<string>();
  return verdicts.map((verdict) => {
    let name = plain(verdict.name);
    for (let n = 2; seen.has(name); n += 1) name = `${plain(verdict.name)} (${n})`;
    seen.add(name);
    return { ...verdict, name };
  });
}
