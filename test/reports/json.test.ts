import { expect, it } from "vitest";
import { reports } from "../../src/evals/reports/index.ts";
import { checked } from "./checks.ts";
import { failed, hostile, manifest } from "./samples.ts";

it("is the summary, as one object", () => {
  expect(JSON.parse(reports.json.render({ summary: failed, manifest }))).toEqual(failed);
});

it("is one line when asked", () => {
  const text = reports.json.render({ summary: hostile, manifest, pretty: false });
  expect(text.indexOf("\n")).toBe(text.length - 1);
  expect(JSON.parse(text)).toEqual(hostile);
});

it("holds nothing that a terminal obeys or hides", () => {
  expect(reports.json.render({ summary: hostile, manifest }).replaceAll("\n", "")).not.toMatch(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u,
  );
});

it("has the sentences of a check as well as its data", () => {
  const { suites } = JSON.parse(reports.json.render({ summary: checked.regressed, manifest }));
  expect(suites[0].verdict).toMatchObject({
    ...checked.regressed.suites[0]?.verdict,
    headline: "REGRESSED (read-head)",
    reason: expect.stringMatching(/^Your change broke read-head: it passed 12 of 12 before and 5 of 12 now\./),
    next: expect.stringContaining("evals blame"),
  });
});
