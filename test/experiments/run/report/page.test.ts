import { expect, it } from "vitest";
import type { RunManifest } from "../../../../src/evals/base/types/run.ts";
import type { Trial } from "../../../../src/evals/base/types/trial.ts";
import { confusionGrid } from "../../../../src/evals/experiments/results/figures.ts";
import { PageTrialCollector, pageLimits } from "../../../../src/evals/experiments/run/report/page.ts";
import { summarizer } from "../../../../src/evals/experiments/run/summary.ts";
import { manifest as sample } from "../../../reports/samples.ts";

const location = {
  hash: "h",
  expectedTools: ["read"],
  toolset: "t",
  trials: 5,
  passRate: 0.8,
  maxTurns: 1,
};
const manifest: RunManifest = {
  ...sample,
  models: sample.models.slice(0, 1),
  suites: [
    {
      ...{ name: "files", file: "files.yaml", hash: "h", execute: "never", isolate: "run" },
      cases: ["a", "b"].map((id) => ({
        ...location,
        id,
        input: `Do ${id}`,
        expected: "read",
        file: "files.yaml",
        line: 4,
      })),
    },
  ],
};

const usage = { inputTokens: 10, outputTokens: 5, cacheReadTokens: 7, cacheWriteTokens: 0 };

function trial(
  id: string,
  number: number,
  given: { pass?: boolean; arm?: string; text?: string } & Partial<Trial> = {},
): Trial {
  const { pass = true, arm = "head", text = "", ...rest } = given;
  const picked = pass ? "read" : "list";
  return {
    cell: { suite: "files", case: id, arm, model: "lexical", trial: number },
    toolset: "t",
    orderSeed: 1,
    outcome: { kind: "answered" },
    turns: [{ text, calls: [{ id: "1", tool: picked, arguments: { path: "x" } }], stop: "calls", usage, ms: 3 }],
    verdict: {
      grade: pass ? "pass" : "fail",
      selection: pass ? "right-tool" : "wrong-tool",
      expected: "read",
      picked,
      checks: [{ what: "tool", met: pass ? "yes" : "no", ...(!pass && { why: "expected read, got list" }) }],
    },
    costUsd: 0,
    startedAt: "2026-11-21T09:30:01.000Z",
    ms: 4,
    ...rest,
  };
}

function collect(trials: readonly Trial[], limits?: { trials: number; characters: number }) {
  const collector = new PageTrialCollector(manifest, limits && { limits });
  const results = summarizer(manifest, "reports/run");
  for (const one of trials) {
    collector.add(one);
    results.add(one);
  }
  const { cases, trials: texts, recorded } = collector.collect(results.summary());
  return { collector, cases, trials: texts.map((json) => JSON.parse(json) as Trial), recorded };
}

it("lists cases with the counts of each arm, and trials by case, arm and number", () => {
  const { cases, trials, recorded } = collect([
    trial("b", 1),
    trial("a", 2, { pass: false }),
    trial("a", 1, { arm: "base" }),
    trial("a", 1),
  ]);
  expect(cases.map(({ id, arms }) => ({ id, arms }))).toEqual([
    {
      id: "a",
      arms: [
        { arm: "head", passed: 1, trials: 2, broken: 0, notGradable: 0 },
        { arm: "base", passed: 1, trials: 1, broken: 0, notGradable: 0 },
      ],
    },
    { id: "b", arms: [{ arm: "head", passed: 1, trials: 1, broken: 0, notGradable: 0 }] },
  ]);
  expect(trials.map(({ cell }) => [cell.case, cell.arm, cell.trial])).toEqual([
    ["a", "head", 1],
    ["a", "head", 2],
    ["a", "base", 1],
    ["b", "head", 1],
  ]);
  expect(trials[1]).toEqual(trial("a", 2, { pass: false }));
  expect(recorded).toBe(4);
});

it("keeps trials that did not pass and the first of the others, and counts all", () => {
  const all = Array.from({ length: 100 }, (_, at) => trial("a", at + 1, { pass: at % 10 !== 0 }));
  const { cases, trials, recorded } = collect(all, { trials: 30, characters: 1e6 });
  const failed = trials.filter(({ verdict }) => verdict?.grade === "fail");
  expect(failed).toHaveLength(10);
  expect(trials.length).toBeLessThanOrEqual(30);
  expect(trials.length).toBeGreaterThan(15);
  expect(recorded).toBe(100);
  expect(cases[0]?.arms[0]).toMatchObject({ passed: 90, trials: 100 });
});

it("respects the limit on characters even if nothing passed", () => {
  const all = Array.from({ length: 50 }, (_, at) => trial("a", at + 1, { pass: false, text: "x".repeat(1000) }));
  const { trials } = collect(all, { trials: 1000, characters: 20_000 });
  expect(JSON.stringify(trials).length).toBeLessThan(21_000);
  expect(trials.length).toBeGreaterThan(3);
});

it("cuts long texts and says how much is missing", () => {
  const { trials } = collect([trial("a", 1, { text: "x".repeat(pageLimits.text + 1234) })]);
  expect(trials[0]?.turns[0]?.text).toMatch(/^x+\n… 1,234 more characters on the record$/);
});

it("counts the last attempt of a repeated trial, and no copies", () => {
  const broken: Partial<Trial> = { outcome: { kind: "broken", stage: "model", message: "overloaded" }, turns: [] };
  const again = trial("a", 1);
  const { cases, trials } = collect([
    trial("a", 1, broken),
    { ...again, cell: { ...again.cell, attempt: 2 } },
    trial("a", 2, { copy: true }),
  ]);
  expect(cases[0]?.arms).toEqual([{ arm: "head", passed: 1, trials: 1, broken: 0, notGradable: 0 }]);
  expect(trials.map(({ outcome }) => outcome)).toEqual([broken.outcome, { kind: "answered" }]);
});

it("limits arguments and results as a whole", () => {
  const long = Array.from({ length: 1000 }, (_, at) => `item ${at}`);
  const result = {
    isError: false,
    content: [
      { type: "text", text: "one" },
      { type: "text", text: "two" },
    ],
  };
  const execution = { status: "executed" as const, ms: 1, result };
  const call = { id: "1", tool: "read", arguments: { long }, execution };
  const { trials } = collect([trial("a", 1, { turns: [{ text: "", calls: [call], stop: "calls", usage, ms: 3 }] })]);
  const [limited] = trials.flatMap(({ turns }) => turns.flatMap(({ calls }) => calls));
  expect(limited?.arguments).toMatch(/^\{\n {2}"long": \[[\s\S]*more characters on the record$/);
  expect(limited?.execution).toMatchObject({ result: { content: [{ type: "text", text: "one\ntwo" }] } });
});

it("leaves no part of a secret at a cut", () => {
  const secret = "hidden-0123456789";
  const redact = (text: string) => text.replaceAll(secret, "[redacted]");
  const collector = new PageTrialCollector(manifest, { redact });
  const message = `${"x".repeat(pageLimits.text - 6)}${secret}${"y".repeat(100)}`;
  collector.add(trial("a", 1, { outcome: { kind: "broken", stage: "model", message } }));
  expect(collector.collect().trials.join("")).not.toContain("hidden");
});

it("orders the confusion grid by confusion, after the right picks", () => {
  const confusions = [
    { expected: "read", picked: "read", n: 1 },
    { expected: "read", picked: "list", n: 2 },
    { expected: "stat", picked: "list", n: 3 },
    { expected: "stat", picked: "(none)", n: 1 },
  ];
  const [block] = confusionGrid("Picks", confusions, [
    { expected: "read", n: 4 },
    { expected: "read", n: 1 },
    { expected: "other", n: 9 },
  ]);
  expect(block).toMatchObject({ figure: { rows: ["stat", "read"], columns: ["right", "list", "(none)"] } });
  const figure = block?.kind === "figure" && block.figure.type === "grid" ? block.figure : undefined;
  expect(figure?.cells.map((row) => row.map((one) => one?.text ?? ""))).toEqual([
    ["", "3", "1"],
    ["5", "2", ""],
  ]);
  expect(confusionGrid("Picks", confusions.slice(0, 1), [])).toEqual([]);
});
