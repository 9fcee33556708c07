import { describe, expect, it } from "vitest";
import { type Observation, simulate } from "../../../src/evals/asking/trials/design.ts";
import { incumbentArm } from "../../../src/evals/experiments/variants/design.ts";
import {
  certainVariantVerdictSchema,
  variantsCertain,
} from "../../../src/evals/experiments/variants/variantsCertain.ts";

const cases = ["a", "b", "c"];
const design = variantsCertain({ cases, challengers: ["x", "y"], seed: 1 });
const letters: Record<string, Observation> = { p: "pass", f: "fail", m: "missing" };

/** One letter a case, for each wording: p pass, f fail, m missing. */
function play(incumbent: string, x: string, y: string) {
  const arms: Record<string, string> = { [incumbentArm]: incumbent, x, y };
  const { verdict, calls } = simulate(design, (id, arm) => letters[arms[arm]?.[cases.indexOf(id)] ?? ""] ?? "missing");
  expect(certainVariantVerdictSchema.parse(verdict)).toEqual(verdict);
  return { ...verdict, calls };
}

describe("variants on a deterministic model", () => {
  it("asks one trial of each, and adopts the wording that passes most", () => {
    expect(play("pff", "ppf", "ppp")).toMatchObject({
      kind: "adopt",
      winner: "y",
      tests: [
        { challenger: "y", repaired: ["b", "c"], broken: [] },
        { challenger: "x", repaired: ["b"] },
      ],
      calls: 9,
    });
    expect(design.cap).toBe(9);
  });

  it("prefers what breaks nothing to what gains more", () => {
    expect(play("pff", "fpp", "ppf")).toMatchObject({ kind: "adopt", winner: "y", tests: [{ challenger: "y" }, {}] });
  });

  it("keeps the incumbent when nothing gains, or all that gains breaks a case", () => {
    expect(play("ppf", "ppf", "pff")).toMatchObject({ kind: "keep", because: "no-gain" });
    expect(play("pff", "fpp", "fff")).toMatchObject({
      kind: "keep",
      because: "breaks",
      tests: [{ challenger: "x", repaired: ["b", "c"], broken: ["a"] }, {}],
    });
  });

  it("decides nothing where cases were not answered", () => {
    expect(play("mmm", "mmm", "mmm")).toMatchObject({ kind: "inconclusive", because: "missing", calls: 27 });
    expect(play("pff", "pfm", "pff")).toMatchObject({ kind: "inconclusive", tests: [{}, { unanswered: [] }] });
  });
});
