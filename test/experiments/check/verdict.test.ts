import { describe, expect, it } from "vitest";
import type { CheckPlan, Gate } from "../../../src/evals/base/types/check.ts";
import type { RunManifest } from "../../../src/evals/base/types/run.ts";
import { runSummarySchema } from "../../../src/evals/base/types/run.ts";
import type { Broken, Score, Trial } from "../../../src/evals/base/types/trial.ts";
import { summarizer } from "../../../src/evals/experiments/run/summary.ts";
import { aManifest, aTrial, passed, passedOf } from "../../fakes/record.ts";
import { aTool } from "../../fakes/suite.ts";

const missed: Score = {
  ...{ grade: "fail", selection: "wrong-tool", expected: "read", picked: "write" },
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
  ...{ kind: "compare", model: "scripted", cap: 40, families: 1, margin: 0.1 },
  baseline: { file: "evals/baselines/s.scripted.json", run: "run-0", acceptedAt: "2026-11-01T00:00:00.000Z" },
  cases: ids.map((id) => ({ id, bank: passedOf(20, 20), toolset: "old" })),
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

/** Every trial three times without an answer. */
function attempts(record: readonly Trial[], stage: Broken["stage"]): Trial[] {
  return record.flatMap((trial) =>
    [undefined, 2, 3].map((attempt) => ({
      ...trial,
      cell: { ...trial.cell, ...(attempt !== undefined && { attempt }) },
      outcome: { kind: "broken", stage, message: "died" },
    })),
  );
}

function summarize(plan: CheckPlan, record: readonly Trial[], deterministic = false) {
  const { add, summary } = summarizer(manifest(plan, deterministic), "reports/run-1");
  for (const trial of record) add(trial);
  return summary();
}

describe("the regression check of a run", () => {
  it("finds a regression, with everything that a report says about it", () => {
    const summary = summarize(compare(), trials(12, ["b"]));
    expect(runSummarySchema.parse(summary)).toEqual(summary);
    expect(summary).toMatchObject({ ok: false, exitCode: 1 });
    expect(summary.suites[0]?.verdict).toEqual({
      ...{ advice: null, because: null, by: "cases" },
      ...{ calls: { base: 60, copies: 0, head: 60, missing: 0 }, canFall: { pass: 5, selection: 5 } },
      ...{ cap: 40, cases: 5, exitCode: 1, families: 1, flips: [], kind: "regressed", look: 1, looks: 8 },
      ...{ margin: 0.1, method: "pairs", missing: null },
      ...{ notes: ["Added (not compared): f"], rate: "pass", reach: 50, rose: [] },
      ...{ suite: { down: 3, hasFallen: false, level: 0.00156, p: 0.125, rate: "pass", up: 0 }, suspects: [] },
      ...{ tested: 5, trials: 3 },
      changes: [
        { after: "Does read.", before: "Reads a file.", class: "description only", label: "read: description" },
      ],
      flagged: [{ base: passedOf(8, 8), case: "b", head: passedOf(0, 8), p: 7.770007770007773e-5 }],
      grew: [{ base: passedOf(0, 60), expected: "read", head: passedOf(12, 60), picked: "write" }],
      net: {
        ...{ cases: 5, change: -0.2, interval: [-0.518597706101807, 0.11859770610180698] },
        ...{ standardError: 0.13540064007726602, z: 2.353 },
      },
      selection: {
        ...{ cases: 5, change: -0.2, interval: [-0.518597706101807, 0.11859770610180698] },
        ...{ standardError: 0.13540064007726602, z: 2.353 },
      },
    });
  });

  it("passes an unharmed suite, and counts only head in its rates", () => {
    const summary = summarize(compare(), trials(12));
    expect(summary).toMatchObject({ ok: true, exitCode: 0, totals: { trials: 60, calls: 120 } });
    expect(summary.suites[0]?.verdict).toMatchObject({ kind: "no-regression", look: 3, trials: 8 });
    expect(summary.suites[0]?.cases[0]).toMatchObject({ compared: true, planned: 12, trials: 12 });
  });

  it("counts what the model did itself as a fail, and what infrastructure did as missing", () => {
    const cut: Score = { ...missed, selection: "cut-off" };
    const isBad = ({ cell }: Trial) => cell.arm === "head" && cell.case === "b";
    const own = trials(12).map((trial): Trial => (isBad(trial) ? { ...trial, verdict: cut } : trial));
    expect(summarize(compare(), own).suites[0]?.verdict).toMatchObject({ kind: "regressed", flagged: [{ case: "b" }] });
    const lost = trials(70).flatMap((trial) => (isBad(trial) ? attempts([trial], "timeout") : [trial]));
    expect(summarize(compare(), lost).suites[0]?.verdict).toMatchObject({ kind: "inconclusive", because: "missing" });
  });

  it("drops copies, and counts a trial that was asked again by what came in the end", () => {
    const copied = trials(12).flatMap((trial): Trial[] =>
      trial.cell.case === "a" && trial.cell.trial === 2
        ? [
            { ...trial, copy: true, verdict: missed },
            { ...trial, cell: { ...trial.cell, attempt: 2 } },
          ]
        : [trial],
    );
    const summary = summarize(compare(), copied);
    expect(summary.suites[0]?.verdict).toMatchObject({
      kind: "no-regression",
      calls: { copies: 2, base: 61, head: 61 },
    });
    expect(summary.suites[0]?.cases[0]).toMatchObject({ id: "a", passed: 12, trials: 12 });
    const again = trials(12).flatMap((trial): Trial[] =>
      trial.cell.case === "a" && trial.cell.trial === 2
        ? [...attempts([trial], "timeout").slice(0, 1), { ...trial, cell: { ...trial.cell, attempt: 2 } }]
        : [trial],
    );
    expect(summarize(compare(), again).suites[0]?.cases[0]).toMatchObject({ broken: 0, passed: 12, trials: 12 });
  });

  it("shares the error rate between the checks of a run", () => {
    const alone = summarize(compare(), trials(8, ["b"])).suites[0]?.verdict;
    const shared = summarize(compare({ families: 36 }), trials(8, ["b"])).suites[0]?.verdict;
    expect(alone).toMatchObject({ kind: "regressed" });
    expect(shared).toMatchObject({ kind: "inconclusive", because: "stopped", families: 36 });
  });

  it("is never a pass when nothing can be compared, and says every reason", () => {
    const heads = trials(5).filter(({ cell }) => cell.arm === "head");
    const other = summarize(
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
    const none = summarize(compare({ cases: [] }), heads);
    expect(none).toMatchObject({ exitCode: 3, suites: [{ verdict: { kind: "not-comparable" } }] });
  });
});

describe("the exit code of a run", () => {
  const run = (failOn: Gate[] | undefined, record: readonly Trial[], plan: CheckPlan = compare()) => {
    const made = manifest(plan);
    const { add, summary } = summarizer(failOn ? { ...made, failOn } : made, "reports/run-1");
    for (const trial of record) add(trial);
    const { exitCode, suites } = summary();
    return [exitCode, suites[0]?.failed?.join()];
  };
  const flaky = (arm?: string) =>
    trials(12).map((trial): Trial => {
      const isBad = trial.cell.case === "a" && (arm === undefined || trial.cell.arm === arm);
      return isBad ? { ...trial, verdict: missed } : trial;
    });

  it("is that of a regression by default where a baseline is checked, whatever the rate of a case", () => {
    expect(run(undefined, trials(12, ["b"]))).toEqual([1, "regressed"]);
    expect(run(undefined, flaky())).toEqual([0, ""]);
    expect(run(["rate"], flaky())).toEqual([1, "rate"]);
    expect(run(["any"], trials(12, ["b"]))).toEqual([1, "regressed,rate"]);
  });

  it("does not mind a case with --fail-on suite, only a drop of the suite, whatever else fell", () => {
    // What b loses, c gains.
    const traded = trials(70).map((trial): Trial => {
      const isWorse = (trial.cell.arm === "head" ? "b" : "c") === trial.cell.case;
      return isWorse ? { ...trial, verdict: missed } : trial;
    });
    expect(run(["suite"], traded)).toEqual([0, ""]);
    expect(run(["regressed"], traded)).toEqual([1, "regressed"]);
    expect(run(["suite"], trials(70, ["a", "b", "c"]))).toEqual([1, "suite"]);
    expect(run(["suite", "regressed"], trials(70, ["b"]))).toEqual([1, "regressed"]);
  });

  const heads = flaky().filter(({ cell }) => cell.arm === "head" && cell.trial <= 5);

  it("is 0 for a flaky case where the tools are those of the baseline", () => {
    const unchanged: CheckPlan = { kind: "unchanged", model: "scripted", notes: [] };
    expect(run(undefined, heads, unchanged)).toEqual([0, ""]);
    expect(run(["rate"], heads, unchanged)).toEqual([1, "rate"]);
  });

  it("is that of a case below its pass rate where nothing is checked, but for a retrieval baseline", () => {
    const { checks: _, ...suite } = manifest(compare()).suites[0] ?? expect.fail("no suite");
    const runOn = (kind: "language model" | "retrieval baseline", failOn?: Gate[]) => {
      const made = { ...manifest(compare()), suites: [suite], ...(failOn && { failOn }) };
      const models = made.models.map((model) => ({ ...model, kind }));
      const { add, summary } = summarizer({ ...made, models }, "reports/run-1");
      for (const trial of heads) add(trial);
      return summary().suites[0]?.failed?.join();
    };
    expect(runOn("language model")).toBe("rate");
    expect(runOn("retrieval baseline")).toBe("");
    expect(runOn("retrieval baseline", ["rate"])).toBe("rate");
  });

  it("comes with the trials of each case in the baseline", () => {
    const { add, summary } = summarizer(manifest(compare()), "reports/run-1");
    for (const trial of flaky()) add(trial);
    const [suite] = summary().suites;
    const plan = compare();
    const banks = plan.kind === "compare" ? plan.cases.map(({ bank }) => bank) : [];
    expect(suite?.cases.map(({ before }) => before)).toEqual(banks);
  });

  it("is 3 when nothing could be decided, unless something happened that is named", () => {
    expect(run(undefined, trials(2))).toEqual([3, ""]);
    expect(run(["inconclusive"], trials(2))).toEqual([1, "inconclusive"]);
    expect(run(undefined, attempts(trials(25), "server"))).toEqual([3, ""]);
  });
});
