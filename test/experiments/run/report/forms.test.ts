import { expect, it } from "vitest";
import { forms, runReport } from "../../../../src/evals/experiments/run/report/forms.ts";
import { hostile, hostileManifest } from "../../../reports/samples.ts";

it("uses each file name once", () => {
  expect(Object.values(forms).flatMap((report) => ("file" in report ? [report.file] : []))).toEqual([
    "summary.md",
    "report.html",
    "junit.xml",
  ]);
});

it.each(Object.entries(forms))("renders the same text twice and ends it with one line break: %s", (_, form) => {
  const text = form.render(runReport({ summary: hostile, manifest: hostileManifest }));
  expect(text).toBe(form.render(runReport({ summary: hostile, manifest: hostileManifest })));
  expect(text).toMatch(/[^\n]\n$/);
});
