import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { forms, runReport } from "../../src/evals/experiments/run/report/forms.ts";
import { anyText } from "../fakes/text.ts";
import { sampleReports } from "./checks.ts";
import { listJenkinsFaults } from "./jenkins.ts";
import { caseOf, manifest, runOf, suiteOf } from "./samples.ts";
import { all, parse } from "./xml.ts";

const texts = sampleReports.map(([name, report, summary]) => [name, forms.junit.render(report), summary] as const);

describe.each(texts)("%s", (name, text, summary) => {
  it("renders as JUnit", async () => {
    await expect(text).toMatchFileSnapshot(`snapshots/${name}.junit.xml.txt`);
  });

  it("is well formed, with unique names and correct counts", () => {
    const document = parse(text);
    const cases = all(document, "testcase");
    expect(new Set(cases.map(({ attributes }) => `${attributes.classname}\n${attributes.name}`)).size).toBe(
      cases.length,
    );
    for (const counted of [...all(document, "testsuites"), ...all(document, "testsuite")])
      expect(counted.attributes).toMatchObject({
        tests: String(all(counted, "testcase").length),
        failures: String(all(counted, "failure").length),
        errors: String(all(counted, "error").length),
      });
  });

  it("has times in seconds", () => {
    for (const [, time] of text.matchAll(/ time="(.*?)"/g)) expect(time).toMatch(/^\d+\.\d{3}$/);
  });

  it("is red exactly if the run is", () => {
    const document = parse(text);
    expect(all(document, "failure").length + all(document, "error").length > 0).toBe(summary.exitCode !== 0);
  });
});

it("is red for an interrupted run whose cases all passed", () => {
  const one = caseOf({ id: "a", input: "a", expected: "a", trials: 4, broken: 1 });
  const document = parse(forms.junit.render(runReport({ summary: runOf([suiteOf({ cases: [one] })], 3), manifest })));
  expect(all(document, "error").map(({ attributes }) => attributes.message)).toEqual([
    "INCOMPLETE · 1 of 1 case passes · lexical",
  ]);
});

it("has the time of cases and suites, but no total for an unfinished run", () => {
  const { finishedAt: _, ...running } = manifest;
  const cases = [1200, 300].map((ms, at) => caseOf({ id: `case ${at}`, input: "x", expected: "tool", ms }));
  const document = parse(forms.junit.render(runReport({ summary: runOf([suiteOf({ cases })], 0), manifest: running })));
  const times = (tag: string) => all(document, tag).map(({ attributes }) => attributes.time);
  expect(times("testcase")).toEqual(["1.200", "0.300"]);
  expect(times("testsuite")).toEqual(["1.500"]);
  expect(times("testsuites")).toEqual([undefined]);
});

it("is valid under Jenkins' XSD", async () => {
  expect(await listJenkinsFaults(Object.fromEntries(texts.map(([name, text]) => [name, text])))).toEqual([]);
  expect(
    await listJenkinsFaults({ a: '<testsuite tests="1"><testcase name="a" file="a.yaml"/></testsuite>' }),
  ).toMatchInlineSnapshot(`
    [
      "a: Schemas validity error : Element 'testsuite': The attribute 'name' is required but missing.",
      "a: Schemas validity error : Element 'testcase', attribute 'file': The attribute 'file' is not allowed.",
    ]
  `);
});

it("keeps arbitrary text well formed and readable", () => {
  fc.assert(
    fc.property(anyText(), (text) => {
      const one = caseOf({ id: text, input: text, expected: text, passed: 0, reasons: [{ text, n: 1 }] });
      const document = parse(
        forms.junit.render(runReport({ summary: runOf([suiteOf({ name: text, cases: [one] })], 1), manifest })),
      );
      expect(all(document, "failure")).toHaveLength(1);
    }),
  );
});
