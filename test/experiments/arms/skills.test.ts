import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type AboutSkills, withoutArm } from "../../../src/evals/base/types/run.ts";
import type { Score, Trial } from "../../../src/evals/base/types/trial.ts";
import { SkillTally } from "../../../src/evals/experiments/arms/skills.ts";
import { summarizer } from "../../../src/evals/experiments/run/summary.ts";
import { aManifest, aTrial, passed, passedOf } from "../../fakes/record.ts";

type Met = "yes" | "no" | "unknown";
const graded = (...met: Met[]): Score => {
  const checks = met.map((one, index) => ({ what: `behavior: sentence ${index + 1}`, met: one }));
  if (met.includes("no")) return { ...passed, grade: "fail", checks };
  if (met.includes("unknown")) return { ...passed, grade: "not-gradable", reason: "cannot tell", checks };
  return { ...passed, checks };
};
const inArm = (arm: string, id: string, trial: number, ...met: Met[]): Trial => {
  const one = aTrial(id, trial, { verdict: graded(...met) });
  return { ...one, cell: { ...one.cell, arm } };
};

function summaryOf(trials: readonly Trial[], ...ids: string[]) {
  const manifest = aManifest(...ids);
  const suites = manifest.suites.map((suite) => ({ ...suite, lift: "pdf" }));
  const { add, summary } = summarizer({ ...manifest, suites }, "reports/run-1");
  for (const trial of trials) add(trial);
  const [suite] = summary().suites;
  return suite;
}
const five = [1, 2, 3, 4, 5];

describe("what a skill is worth", () => {
  it("is the difference of pass rates over cases, with its interval, and what both arms took", () => {
    const trials = five.flatMap((n) => [
      inArm("head", "a", n, "yes", "yes"),
      inArm(withoutArm, "a", n, "yes", n === 1 ? "yes" : "no"),
      inArm("head", "b", n, "yes"),
      inArm(withoutArm, "b", n, "yes"),
    ]);
    const suite = summaryOf(trials, "a", "b");
    const summary = suite?.arms?.[0];
    expect(summary).toMatchObject({
      ...{ axis: "skill", skill: "pdf" },
      arms: [
        { arm: withoutArm, passed: 6, trials: 10 },
        { arm: "head", passed: 10, trials: 10, broken: 0, requestsPerTrial: 1, msPerTrial: 3 },
      ],
    });
    const { net } = summary?.arms[1]?.against ?? {};
    expect(net?.change).toBeCloseTo(0.4, 9);
    const allMet = passedOf(5, 5);
    expect(summary?.behaviors).toEqual([
      { case: "a", text: "sentence 1", met: [allMet, allMet] },
      { case: "a", text: "sentence 2", met: [passedOf(1, 5), allMet] },
      { case: "b", text: "sentence 1", met: [allMet, allMet] },
    ]);
    // The gate looks at the arm with the skill only.
    expect(suite).toMatchObject({ ok: true, totals: { trials: 20, passed: 10, missing: 0 } });
  });

  it("says nothing where nothing was graded, and never counts what a judge could not tell", () => {
    const suite = summaryOf(
      five.flatMap((n) => [inArm("head", "a", n, "unknown"), inArm(withoutArm, "a", n, "yes")]),
      "a",
    );
    expect(suite?.arms?.[0]?.arms[1]).not.toHaveProperty("against");
    expect(suite?.arms?.[0]?.behaviors?.[0]?.met[1]).toEqual(passedOf(0, 0));
    expect(suite?.ok).toBe(false);
  });

  it("compares what came of the work, not the loading, which the other arm cannot do", () => {
    const withSkill = (trial: Trial, met: "yes" | "no"): Trial => {
      const verdict = { ...passed, checks: [{ what: "skill", met }, ...(trial.verdict?.checks ?? [])] };
      return { ...trial, verdict: met === "no" ? { ...verdict, grade: "fail" as const } : verdict };
    };
    const trials = five.flatMap((n) => [
      withSkill(inArm("head", "a", n, "yes"), "yes"),
      withSkill(inArm(withoutArm, "a", n, "yes"), "no"),
    ]);
    expect(summaryOf(trials, "a")?.arms?.[0]?.arms).toMatchObject([passedOf(5, 5), passedOf(5, 5)]);
  });

  it("counts no near miss as work, for the arm without the skill leaves it alone for nothing", () => {
    const nearMiss = (arm: string, n: number, what: string, expected: string): Trial => {
      const one = inArm(arm, "a", n);
      return { ...one, verdict: { ...passed, expected, checks: [{ what, met: "yes" }] } };
    };
    const counted = (expected: string) => {
      const trials = five.flatMap((n) => ["head", withoutArm].map((arm) => nearMiss(arm, n, "avoid", expected)));
      return summaryOf(trials, "a")?.arms?.[0]?.arms;
    };
    expect(counted("(avoid skill:pdf)")).toMatchObject([{ trials: 0, notGradable: 5 }, { notGradable: 5 }]);
    expect(counted("(avoid delete)")).toMatchObject([passedOf(5, 5), { against: { net: { change: 0 } } }]);
  });

  it("reports what the arms cost without the judge", () => {
    const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 };
    const judging = { model: "anthropic:j", usage, costUsd: 0.25, ms: 1 };
    const trials = ["head", withoutArm].map((arm) => ({ ...inArm(arm, "a", 1, "yes"), judging, costUsd: 0.75 }));
    expect(summaryOf(trials, "a")).toMatchObject({
      arms: [{ arms: [{ costUsd: 0.5 }, { costUsd: 0.5 }] }],
      totals: { costUsd: 1.5 },
    });
  });

  it("is incomplete while trials without the skill are missing or broken", () => {
    const broken = {
      ...inArm(withoutArm, "a", 1),
      outcome: { kind: "broken" as const, stage: "model" as const, message: "x" },
    };
    const suite = summaryOf([...five.map((n) => inArm("head", "a", n, "yes")), broken], "a");
    expect(suite).toMatchObject({ ok: false, totals: { trials: 10, missing: 4, broken: 1 } });
  });
});

const offered = ["pdf", "docx", "xlsx"];
const wants = (name: string): AboutSkills => ({ wanted: [name], unwanted: "others" });
const avoids = (name: string): AboutSkills => ({ wanted: [], unwanted: [name] });
const none: AboutSkills = { wanted: [], unwanted: "others" };

function tallied(...rows: readonly (readonly [AboutSkills, string, readonly string[]])[]) {
  const tally = new SkillTally();
  for (const [about, expected, skills] of rows) {
    const verdict: Score = { ...passed, expected, skills: [...skills] };
    tally.add(aTrial("c", 1, { verdict }), about, offered);
  }
  return tally.summary("m");
}
const counts = (summary: ReturnType<typeof tallied>) =>
  summary?.skills.map((one) => [
    one.name,
    one.truePositives,
    one.falsePositives,
    one.falseNegatives,
    one.trueNegatives,
    one.precision?.rate ?? null,
    one.recall?.rate ?? null,
  ]);

describe("how well skills trigger", () => {
  it("counts the four outcomes of each skill", () => {
    const summary = tallied(
      [wants("pdf"), "skill:pdf", ["pdf"]],
      [wants("pdf"), "skill:pdf", ["docx"]],
      [wants("pdf"), "skill:pdf", []],
      [avoids("pdf"), "(avoid skill:pdf)", ["docx"]],
      [avoids("pdf"), "(avoid skill:pdf)", ["pdf"]],
      [none, "(none)", []],
    );
    expect(counts(summary)).toEqual([
      ["docx", 0, 1, 0, 3, 0, null],
      ["pdf", 1, 1, 2, 2, 0.5, 1 / 3],
    ]);
  });

  it("a near miss says nothing of another skill: that one may be the right one", () => {
    expect(counts(tallied([avoids("pdf"), "(avoid skill:pdf)", ["docx"]]))).toEqual([["pdf", 0, 0, 0, 1, null, null]]);
  });

  it("counts no trial that broke or was not graded", () => {
    const tally = new SkillTally();
    tally.add(
      aTrial("c", 1, { outcome: { kind: "broken", stage: "model", message: "" }, verdict: undefined } as never),
      none,
      offered,
    );
    tally.add(
      aTrial("c", 2, { verdict: { ...passed, grade: "not-gradable", reason: "", skills: ["pdf"] } }),
      none,
      offered,
    );
    expect(tally.summary("m")).toBeUndefined();
  });

  it("counts every trial once for each skill that it is about", () => {
    const about = fc.constantFrom(wants("pdf"), wants("docx"), avoids("pdf"), none);
    fc.assert(
      fc.property(fc.array(fc.tuple(about, fc.subarray(offered)), { maxLength: 30 }), (trials) => {
        const summary = tallied(...trials.map(([one, loaded]) => [one, "x", loaded] as const));
        for (const { name, ...one } of summary?.skills ?? []) {
          const all = one.truePositives + one.falsePositives + one.falseNegatives + one.trueNegatives;
          const due = trials.filter(
            ([{ wanted, unwanted }]) => wanted.includes(name) || unwanted === "others" || unwanted.includes(name),
          );
          expect(all).toBe(due.length);
        }
      }),
    );
  });
});
