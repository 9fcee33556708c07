import { describe, expect, it } from "vitest";
import { deterministicVariants } from "../../src/evals/verdicts/variants/designs.ts";
import { evidenceOf, verdictOn } from "./support.ts";

const cases = ["a", "b", "c"];
const design = deterministicVariants({ cases, challengers: ["x", "y"] });
/** One letter a case, for each wording. */
const on = (incumbent: string, x: string, y: string) =>
  evidenceOf(
    Object.fromEntries(cases.map((id, at) => [id, { incumbent: incumbent[at] ?? "", x: x[at] ?? "", y: y[at] ?? "" }])),
  );
const verdict = (...arms: [string, string, string]) => verdictOn(design, on(...arms));

describe("variants on a model that always answers alike", () => {
  it("asks for one trial of each", () => {
    const step = design.next(evidenceOf({}));
    expect(step.kind === "ask" && step.requests).toHaveLength(9);
    expect(step.kind === "ask" && step.requests.every(({ from, trials }) => from === 1 && trials === 1)).toBe(true);
    expect(design.cap).toBe(9);
  });

  it("adopts the wording that passes most", () => {
    expect(verdict("pff", "ppf", "ppp")).toMatchObject({
      kind: "adopt",
      winner: "y",
      method: "deterministic",
      basis: { kind: "counted", variant: "y", gain: 2, breaks: [] },
      calls: { made: 9, broken: 0, saved: 0 },
    });
  });

  it("prefers what breaks nothing to what gains more", () => {
    expect(verdict("pff", "fpp", "ppf")).toMatchObject({ kind: "adopt", winner: "y" });
  });

  it("keeps the incumbent when nothing gains, or all that gains breaks a case", () => {
    expect(verdict("ppf", "ppf", "pff")).toMatchObject({
      kind: "keep",
      basis: { kind: "counted", gain: 0 },
    });
    expect(verdict("pff", "fpp", "fff")).toMatchObject({
      kind: "keep",
      basis: { kind: "counted", variant: "x", gain: 1, breaks: ["a"] },
    });
    expect(verdict("pff", "fpp", "fff").winner).toBeUndefined();
  });

  it("is inconclusive where trials broke", () => {
    expect(verdict("bbb", "bbb", "bbb")).toMatchObject({
      kind: "inconclusive",
      basis: { kind: "nothing scored" },
    });
    expect(verdict("pff", "pfb", "pff")).toMatchObject({
      kind: "inconclusive",
      basis: { kind: "cases not scored" },
    });
    expect(verdict("pff", "ppb", "ppf")).toMatchObject({ kind: "adopt", winner: "y" });
  });
});
