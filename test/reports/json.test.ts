import { expect, it } from "vitest";
import { forms, runReport } from "../../src/evals/experiments/run/report/forms.ts";
import { checked } from "./checks.ts";
import { failed, hostile, manifest } from "./samples.ts";

it("is the summary, as one object", () => {
  expect(JSON.parse(forms.json.render(runReport({ summary: failed, manifest })))).toEqual(failed);
});

it("escapes what a terminal would interpret or hide", () => {
  expect(forms.json.render(runReport({ summary: hostile, manifest })).replaceAll("\n", "")).not.toMatch(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u,
  );
});

it("has the sentences of a check and its data", () => {
  const { suites } = JSON.parse(forms.json.render(runReport({ summary: checked.regressed, manifest })));
  expect(suites[0].verdict).toMatchObject({
    ...checked.regressed.suites[0]?.verdict,
    headline: "REGRESSED (read-head)",
    reason: expect.stringMatching(/^Your change broke read-head: it passed 12 of 12 before and 5 of 12 now\./),
    next: expect.stringContaining("evals blame"),
  });
});
