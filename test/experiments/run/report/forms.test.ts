import { parse } from "csv-parse/sync";
import { expect, it } from "vitest";
import type { Trial } from "../../../../src/evals/base/types/trial.ts";
import { csvHead, csvWriter, forms, runReport } from "../../../../src/evals/experiments/run/report/forms.ts";
import { hostile, hostileManifest, manifest, nasty } from "../../../reports/samples.ts";

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

const trial: Trial = {
  cell: { suite: "filesystem", case: "read-one", arm: "head", model: "lexical", trial: 1 },
  toolset: "0",
  orderSeed: 1,
  outcome: { kind: "answered" },
  turns: [
    {
      ...{ text: "a, b", calls: [{ id: "1", tool: "read", arguments: {} }], stop: "calls" },
      ...{ usage: { inputTokens: 10, outputTokens: 3, cacheReadTokens: 5, cacheWriteTokens: 0 }, ms: 7 },
    },
  ],
  verdict: {
    ...{ grade: "fail", selection: "wrong-tool", expected: "read", picked: "list" },
    checks: [{ what: "tool", met: "no", why: 'expected "read", got list' }],
  },
  costUsd: 0.25,
  startedAt: "2026-11-21T09:30:00.000Z",
  ms: 12,
};

const read = (...trials: Trial[]) =>
  parse(csvHead + trials.map(csvWriter(manifest)).join(""), { columns: true }) as Record<string, string>[];

it("writes one line per trial, which a CSV parser can read", () => {
  expect(read(trial)).toEqual([
    {
      ...{ suite: "filesystem", case: "read-one", model: "lexical", arm: "head", trial: "1", attempt: "1" },
      ...{ query: expect.any(String), outcome: "answered", stage: "", grade: "fail", selection: "wrong-tool" },
      ...{ expected: "read", picked: "list", reason: 'tool: expected "read", got list', copy: "", replies: "1" },
      ...{ calls: "1", "input tokens": "15", "output tokens": "3", "cost in USD": "0.25", ms: "12" },
      "started at": "2026-11-21T09:30:00.000Z",
    },
  ]);
});

it.each(["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=cmd|' /C calc'!A0", nasty])(
  "runs nothing of %j in a spreadsheet",
  (text) => {
    const broken: Trial = { ...trial, outcome: { kind: "broken", stage: "model", message: text }, verdict: undefined };
    const line = csvWriter(manifest)(broken);
    expect(line.trimEnd()).not.toMatch(/[^ -~\p{L}\p{N}\p{P}\p{S}]/u);
    for (const cell of Object.values(read(broken)[0] ?? {})) expect(cell).not.toMatch(/^\s*[=+@-]/);
  },
);
