import { expect, it } from "vitest";
import { reports } from "../../src/evals/reports/index.ts";
import { hostile, hostileManifest } from "./samples.ts";

it("gives each file once", () => {
  expect(Object.values(reports).flatMap((report) => ("file" in report ? [report.file] : []))).toEqual([
    "junit.xml",
    "summary.md",
    "report.html",
  ]);
});

it.each(Object.entries(reports))("renders the same text twice and ends it with one line break: %s", (_, report) => {
  const text = report.render({ summary: hostile, manifest: hostileManifest });
  expect(text).toBe(report.render({ summary: hostile, manifest: hostileManifest }));
  expect(text).toMatch(/[^\n]\n$/);
});
