import { describe, expect, it } from "vitest";
import type { CheckPlan, RunManifest } from "../../src/evals/types/run.ts";
import { runSummarySchema } from "../../src/evals/types/run.ts";
import type { Score, Trial } from "../../src/evals/types/trial.ts";
import { summariser } from "../../src/evals/verdicts/summary.ts";
import { aManifest, aTrial, passed } from "../fakes/record.ts";
import { aTool } from "../fakes/suite.ts";

const missed: Score = {
  grade: "fail",
  selection: "wrong-tool",
  expected: "read",
  picked: "write",
  checks: [{ what: "tool", met: "no", why: "expected read, got write" }],
};
const ids = ["a", "b", "c", "d", "e"];

function manifest(plan: CheckPlan, deterministic = false): RunManifest {
  const plain = aManifest(...ids);
  return {
    ...plain,
    models: plain.models.map((model) => ({ ...model, deterministic })),
    suites: plain.suites.map((suite) => ({ ...suite, checks: [plan] })),
    toolsets: {
      ...plain.toolsets,
      old: [
        aTool("read", { description: "Reads a file." }),
        aTool("write"),
        aTool("foreign", { origin: "distractor" }),
      ],
    },
  };
}

const compare = (changes: Partial<Extract<CheckPlan, { kind: "compare" }>> = {}): CheckPlan => ({
  kind: "compare",
  model: "scripted",
  design: "thorough",
  margin: 0.1,
  baseline: { file: "evals/baselines/s.scripted.json", run: "run-0", acceptedAt: "2026-11-01T00:00:00.000Z" },
  cases: ids.map((id) => ({ id, bank: { passed: 20, trials: 20 }, toolset: "old" })),
  notes: ["Added (not compared): f"],
  ...changes,
});

/** Trials 1..n of every case in both arms; `broken` cases fail in head. */
function trials(n: number, broken: readonly string[] = []): Trial[] {
  const numbers = Array.from({ length: n }, (_, index) => index + 1);
  return ids.flatMap((id) =>
    ["base", "head"].flatMap((arm) =>
      numbers.map((trial) => {
        const verdict = arm === "head" && broken.includes(id) ? missed : passed;
        return aTrial(id, trial, { verdict, cell: { suite: "s", case: id, arm, model: "scripted", trial } });
      }),
    ),
  );
}

function summarise(plan: CheckPlan, record: readonly Trial[], deterministic = false) {
  const { add, summary } = summariser(manifest(plan, deterministic), "reports/run-1");
  for (const trial of record) add(trial);
  return summary();
}

describe("the regression check of a run", () => {
  it("tells a regression with all that a report says of it", () => {
    const summary = summarise(compare(), trials(12, ["b"]));
    expect(runSummarySchema.parse(summary)).toEqual(summary);
    expect(summary).toMatchObject({ ok: false, exitCode: 1 });
    expect(summary.suites[0]?.verdict).toMatchInlineSnapshot(`
      {
        "basis": {
          "kind": "dropped",
          "look": 1,
          "looks": 3,
          "test": {
            "alpha": 0.005,
            "kind": "p-value",
            "p": 0.003968253968253969,
          },
        },
        "calls": {
          "base": 60,
          "broken": 0,
          "head": 60,
          "saved": 130,
        },
        "changes": [
          {
            "after": "Does read.",
            "before": "Reads a file.",
            "class": "description only",
            "label": "read: description",
          },
        ],
        "exitCode": 1,
        "flagged": [
          {
            "adjusted": 0.003968253968253969,
            "base": {
              "passed": 5,
              "trials": 5,
            },
            "case": "b",
            "head": {
              "passed": 0,
              "trials": 5,
            },
            "p": 0.003968253968253969,
          },
        ],
        "furtherTrials": null,
        "grew": [
          {
            "base": {
              "passed": 0,
              "trials": 60,
            },
            "expected": "read",
            "head": {
              "passed": 12,
              "trials": 60,
            },
            "picked": "write",
          },
        ],
        "kind": "regressed",
        "margin": 0.1,
        "method": "thorough",
        "modelDrift": null,
        "net": {
          "cases": 5,
          "change": -0.2,
          "interval": [
            -0.4175178354484621,
            -0.04759837612173895,
          ],
        },
        "notes": [
          "Added (not compared): f",
        ],
        "pairedT": 0.1869504831500295,
        "reach": {
          "baseTrials": 5,
          "headPasses": 0,
          "headTrials": 5,
          "p": 0.003968253968253969,
        },
      }
    `);
  });

  it("passes an unharmed suite, and counts only head in its rates", () => {
    const summary = summarise(compare(), trials(12));
    expect(summary).toMatchObject({ ok: true, exitCode: 0, totals: { trials: 60, calls: 120 } });
    expect(summary.suites[0]?.verdict).toMatchObject({
      kind: "no-regression",
      basis: { kind: "drop ruled out" },
    });
  });

  it("is inconclusive and incomplete when it was stopped in the middle of a look", () => {
    const summary = summarise(compare(), trials(3));
    expect(summary.exitCode).toBe(3);
    expect(summary.suites[0]?.verdict).toMatchObject({
      kind: "inconclusive",
      basis: { kind: "stopped", look: 1 },
    });
  });

  it("is never a pass when everything broke", () => {
    const broken = trials(25).map(
      (trial): Trial => ({ ...trial, outcome: { kind: "broken", stage: "server", message: "died" } }),
    );
    const summary = summarise(compare(), broken);
    expect(summary.suites[0]?.verdict).toMatchObject({ kind: "inconclusive", exitCode: 3 });
    expect(summary.exitCode).toBe(3);
  });

  it("takes one trial of a deterministic model for the whole truth", () => {
    expect(summarise(compare(), trials(1, ["d"]), true).suites[0]?.verdict).toMatchObject({
      kind: "regressed",
      method: "deterministic",
    });
    expect(summarise(compare(), trials(1), true)).toMatchObject({
      exitCode: 0,
      suites: [{ verdict: { kind: "no-regression" } }],
    });
  });

  it("makes no calls of the base arm and passes when the list is unchanged", () => {
    const summary = summarise(
      { kind: "unchanged", model: "scripted", notes: [] },
      trials(5).filter(({ cell }) => cell.arm === "head"),
    );
    expect(summary).toMatchObject({ ok: true, exitCode: 0, suites: [{ verdict: { kind: "unchanged" } }] });
  });

  it("is never a pass when nothing can be compared, and says every reason", () => {
    const heads = trials(5).filter(({ cell }) => cell.arm === "head");
    const other = summarise(
      { kind: "not comparable", model: "scripted", reasons: ["the host profile was plain then", "the model changed"] },
      heads,
    );
    expect(other).toMatchObject({ ok: false, exitCode: 3 });
    expect(other.suites[0]?.verdict).toEqual({
      kind: "not-comparable",
      reasons: ["the host profile was plain then", "the model changed"],
      notes: [],
      exitCode: 3,
    });
    const none = summarise(compare({ cases: [] }), heads);
    expect(none).toMatchObject({ exitCode: 3, suites: [{ verdict: { kind: "not-comparable" } }] });
  });
});
