import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AboutSkills } from "../../src/evals/types/run.ts";
import type { Score } from "../../src/evals/types/trial.ts";
import { SkillTally } from "../../src/evals/verdicts/skillEffect.ts";
import { aTrial, passed } from "../fakes/record.ts";

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
  it("counts the four outcomes of each skill, and what was loaded for what", () => {
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
    expect(summary?.loaded).toEqual([
      { expected: "(avoid skill:pdf)", loaded: "docx", n: 1 },
      { expected: "(avoid skill:pdf)", loaded: "pdf", n: 1 },
      { expected: "(none)", loaded: null, n: 1 },
      { expected: "skill:pdf", loaded: null, n: 1 },
      { expected: "skill:pdf", loaded: "docx", n: 1 },
      { expected: "skill:pdf", loaded: "pdf", n: 1 },
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
