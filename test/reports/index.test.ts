import { expect, it } from "vitest";
import { reports } from "../../src/evals/reports/index.ts";
import { hostile, hostileManifest } from "./samples.ts";

it("names each report as it is listed, and gives each file once", () => {
  expect(Object.values(reports).map(({ name }) => name)).toEqual(Object.keys(reports));
  expect(Object.values(reports).flatMap((report) => ("file" in report ? [report.file] : []))).toEqual([
    "junit.xml",
    "summary.md",
    "report.html",
  ]);
});

it.each(Object.values(reports))("renders the same text twice and ends it with one line break: $name", (report) => {
  const text = report.render({ summary: hostile, manifest: hostileManifest });
  expect(text).toBe(report.render({ summary: hostile, manifest: hostileManifest }));
  expect(text).toMatch(/[^\n]\n$/);
});
