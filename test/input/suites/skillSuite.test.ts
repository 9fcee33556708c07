import { describe, expect, it } from "vitest";
import { buildSkillSuite } from "../../../src/evals/input/suites/skillSuite.ts";
import { anEval, aSkill } from "../../fakes/skill.ts";

const pdf = aSkill("pdf");
const evals = [
  anEval("Fill in this form", { expectedBehavior: ["asks for the values"] }),
  anEval("Write a letter", { triggers: false, id: "letter" }),
];

describe("the suite of a package", () => {
  it("asks whether the skill is loaded, and for near misses that it is not", () => {
    const suite = buildSkillSuite(pdf, evals, "trigger", ["/skills"]);
    expect(suite).toMatchObject({ name: "skill:pdf", file: "skills/pdf/evals/evals.json", skills: ["/skills"] });
    expect(suite).not.toHaveProperty("lift");
    expect(suite?.cases.map(({ id, expect: wanted, expectedBehavior }) => ({ id, wanted, expectedBehavior }))).toEqual([
      { id: "fill-in-this-form", wanted: { kind: "skill", skill: "pdf", avoid: [] }, expectedBehavior: [] },
      { id: "letter", wanted: { kind: "avoid", avoid: ["skill:pdf"] }, expectedBehavior: [] },
    ]);
  });

  it("asks for the behavior of those queries that expect any, with and without the skill", () => {
    const suite = buildSkillSuite(pdf, evals, "behavior", []);
    expect(suite).toMatchObject({ name: "skill:pdf behavior", lift: "pdf" });
    expect(suite?.cases.map(({ expectedBehavior }) => expectedBehavior)).toEqual([["asks for the values"]]);
    expect(buildSkillSuite(pdf, [anEval("x")], "behavior", [])).toBeUndefined();
  });

  it("names a case by its id where that is unique, else by its input", () => {
    const suite = buildSkillSuite(
      pdf,
      [anEval("a", { id: "1" }), anEval("b", { id: "1" }), anEval("c", { id: "3" })],
      "trigger",
      [],
    );
    expect(suite?.cases.map(({ id }) => id)).toEqual(["a", "b", "3"]);
  });

  it("changes the hash of a behavior case with the instructions, and not that of a trigger case", () => {
    const edited = { ...pdf, hash: "edited" };
    const hashes = (measure: "trigger" | "behavior") =>
      [pdf, edited].map((skill) => buildSkillSuite(skill, evals, measure, [])?.cases[0]?.hash);
    expect(new Set(hashes("trigger")).size).toBe(1);
    expect(new Set(hashes("behavior")).size).toBe(2);
  });
});
