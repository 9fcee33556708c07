import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runSummarySchema } from "../../../src/evals/base/types/run.ts";
import type { Score, Trial } from "../../../src/evals/base/types/trial.ts";
import { summarizer } from "../../../src/evals/experiments/run/summary.ts";
import { aManifest, aTrial, passed } from "../../fakes/record.ts";

const missed: Score = {
  ...{ grade: "fail", selection: "wrong-tool", expected: "read", picked: "write" },
  checks: [{ what: "tool", met: "no", why: "expected read, got write" }],
};
const ungraded: Score = { ...passed, grade: "not-gradable", reason: "no judge model was given" };
const brokenTrial = (id: string, trial: number) =>
  aTrial(id, trial, {
    outcome: { kind: "broken", stage: "server", message: "died" },
    turns: [],
    verdict: undefined,
  } as never);

function summarize(trials: readonly Trial[], ...cases: string[]) {
  const { add, summary } = summarizer(aManifest(...cases), "reports/run-1");
  for (const trial of trials) add(trial);
  return summary();
}
const all = (id: string, verdict: Score) => [1, 2, 3, 4, 5].map((trial) => aTrial(id, trial, { verdict }));

describe("the summary of a run", () => {
  it("is the whole object that --json prints", () => {
    const summary = summarize(
      [...all("a", passed).slice(0, 4), aTrial("a", 5, { verdict: missed }), brokenTrial("b", 1)],
      "a",
      "b",
    );
    expect(runSummarySchema.parse(summary)).toEqual(summary);
    expect(summary).toEqual({
      ...{ dir: "reports/run-1", exitCode: 3, ok: false, run: "run-1" },
      suites: [
        {
          confusion: [{ expected: "read", n: 1, picked: "write" }],
          ...{ coverage: { expected: 1, missing: ["write"], tools: 2 }, failOn: ["rate"], failed: [] },
          ...{ kind: "language model", latencyMs: { p50: 3, p95: 5 }, model: "scripted", name: "s", ok: false },
          cases: [
            {
              ...{ broken: 0, brokenStages: {}, expected: "read", file: "s.yaml", id: "a", input: "do a" },
              ...{ interval: [0.37553462976252533, 0.9637758913675698], line: 1 },
              ...{ missed: [{ n: 1, outcome: "wrong-tool", picked: "write" }], ms: 15, notGradable: 0, ok: true },
              ...{ outcomes: { "right-tool": 4, "wrong-tool": 1 }, passRate: 0.8, passed: 4, planned: 5, rate: 0.8 },
              ...{ reasons: [{ n: 1, text: "tool: expected read, got write" }], trials: 5 },
            },
            {
              ...{ broken: 1, brokenStages: { server: 1 }, expected: "read", file: "s.yaml", id: "b", input: "do b" },
              ...{ interval: null, line: 2, missed: [], ms: 1, notGradable: 0, ok: false, outcomes: {} },
              ...{ passRate: 0.8, passed: 0, planned: 5, rate: null },
              ...{ reasons: [{ n: 1, text: "broken (server): died" }], trials: 0 },
            },
          ],
          misses: {
            ...{ parameters: [], preconditions: [], repeated: [] },
            tools: [
              {
                ...{ expected: "read", instead: [{ n: 1, picked: "write" }], passed: 4, picked: 4, reachedLater: 0 },
                ...{ trials: 5, wrongArguments: 0 },
              },
            ],
          },
          totals: {
            ...{ broken: 1, cacheReadTokens: 25, calls: 5, costUsd: 0.060000000000000005, executed: 0 },
            ...{ inputTokens: 75, missing: 4, outputTokens: 10, passed: 4, toolErrors: 0, trials: 10 },
          },
        },
      ],
      totals: {
        ...{ broken: 1, cacheReadTokens: 25, calls: 5, costUsd: 0.060000000000000005, executed: 0, inputTokens: 75 },
        ...{ missing: 4, outputTokens: 10, passed: 4, toolErrors: 0, trials: 10 },
      },
    });
  });

  it("passes only when every case was graded, met its rate, and nothing broke or is missing", () => {
    expect(summarize(all("a", passed), "a")).toMatchObject({ ok: true, exitCode: 0 });
    expect(summarize(all("a", missed), "a")).toMatchObject({ ok: false, exitCode: 1 });
    expect(summarize(all("a", ungraded), "a")).toMatchObject({ ok: false, exitCode: 3 });
    expect(summarize([], "a")).toMatchObject({ ok: false, exitCode: 3, totals: { missing: 5 } });
    const incomplete = { ok: false, exitCode: 3 };
    expect(summarize([brokenTrial("a", 1), brokenTrial("a", 2)], "a")).toMatchObject(incomplete);
    expect(summarize([...all("a", passed).slice(1), brokenTrial("a", 1)], "a")).toMatchObject(incomplete);
    expect(summarize([...all("a", missed), brokenTrial("b", 1)], "a", "b")).toMatchObject({ ok: false, exitCode: 1 });
    expect(summarize([])).toMatchObject(incomplete);
  });

  it("fails a stopped run only for a case that its missing trials cannot lift to its pass rate", () => {
    const exitCode = (...scores: Score[]) =>
      summarize(
        scores.map((verdict, at) => aTrial("a", at + 1, { verdict })),
        "a",
      ).exitCode;
    expect([exitCode(missed), exitCode(missed, missed), exitCode(missed, passed, passed)]).toEqual([3, 1, 3]);
    expect(exitCode(missed, passed, passed, passed, passed)).toBe(0);
  });

  it("never counts a broken or an ungraded trial in a rate", () => {
    const graded = [ungraded, passed, missed].map((verdict, at) => aTrial("a", at + 2, { verdict }));
    const [suite] = summarize([brokenTrial("a", 1), ...graded], "a").suites;
    expect(suite?.cases).toMatchObject([{ trials: 2, passed: 1, broken: 1, notGradable: 1, rate: 0.5 }]);
  });

  it("does not depend on the order in which trials finished", () => {
    const trials = [...all("a", passed), ...all("b", missed), brokenTrial("c", 1)];
    const inOrder = summarize(trials, "a", "b", "c");
    fc.assert(
      fc.property(fc.shuffledSubarray(trials, { minLength: trials.length }), (shuffled) => {
        expect(summarize(shuffled, "a", "b", "c")).toEqual(inOrder);
      }),
      { numRuns: 30 },
    );
  });

  it("is unknown in cost as soon as one part is", () => {
    expect(summarize([aTrial("a", 1), aTrial("a", 2, { costUsd: "unknown" })], "a").totals.costUsd).toBe("unknown");
  });
});

describe("passes with an acceptable tool", () => {
  const substituted: Score = { ...passed, picked: "list", substituted: ["list"] };

  it("have a word of their own, and are no confusion", () => {
    const trials = [...all("a", passed).slice(0, 3), ...all("a", substituted).slice(3)];
    const [suite] = runSummarySchema.parse(summarize(trials, "a")).suites;
    expect(suite?.confusion).toEqual([]);
    expect(suite?.cases[0]).toMatchObject({ passed: 5, outcomes: { "right-tool": 3, substituted: 2 } });
  });
});

describe("mocks", () => {
  it("are counted, and those that answered nothing are named", () => {
    const manifest = aManifest("a");
    const suites = manifest.suites.map((suite) => ({ ...suite, mocks: ["read", "list[1]", "list[2]"] }));
    const { add, summary } = summarizer({ ...manifest, suites }, "reports/run-1");
    const result = { isError: true, content: [] };
    const calls = [
      { id: "1", tool: "read", execution: { status: "executed" as const, result, ms: 0, mock: "read" } },
      { id: "2", tool: "list", execution: { status: "executed" as const, result, ms: 0, mock: "list[2]" } },
      { id: "3", tool: "list", execution: { status: "executed" as const, result, ms: 3 } },
      {
        id: "4",
        tool: "x",
        execution: { status: "skipped" as const, reason: "x has no mock", unmatched: true as const },
      },
      { id: "5", tool: "y", execution: { status: "skipped" as const, reason: "execute: never" } },
    ];
    for (const trial of [1, 2]) {
      const one = aTrial("a", trial);
      add({ ...one, turns: one.turns.map((turn) => ({ ...turn, calls })) });
    }
    const [suite] = runSummarySchema.parse(summary()).suites;
    expect(suite?.mocks).toEqual({ answered: 4, unused: ["list[1]"], unmatched: [{ text: "x has no mock", n: 2 }] });
    expect(suite?.totals).toMatchObject({ executed: 2, toolErrors: 2 });
  });
});
