import { describe, expect, it } from "vitest";
import { seededRandom } from "../../src/evals/stats/random.ts";
import { parseArm } from "../../src/evals/verdicts/blame.ts";
import { blameCases } from "../../src/evals/verdicts/blameCases.ts";
import { independent, simulate } from "../../src/evals/verdicts/simulate.ts";
import { evidenceOf } from "./support.ts";

const changed = ["read", "write", "list"];
const [always, never] = [
  { passed: 10, trials: 10 },
  { passed: 0, trials: 10 },
];

describe("several cases", () => {
  it("are asked side by side, each to its own verdict", () => {
    const cases = [
      { case: "a", changed, old: always, new: never },
      { case: "b", changed: ["move"], old: always, new: never },
    ];
    const design = blameCases(cases, false);
    const first = design.next(evidenceOf({}));
    expect(first.kind === "ask" && first.requests.map((one) => one.case)).toEqual(["a", "b", "b"]);
    const { verdict, calls } = simulate(design, (id, arm) => (parseArm(arm)[id === "a" ? 1 : 0] ? "fail" : "pass"));
    expect(verdict.map(({ culprits }) => culprits)).toEqual([["write"], ["move"]]);
    expect(verdict.reduce((sum, one) => sum + one.calls.search + one.calls.confirmation, 0)).toBe(calls);
  });

  it("take one trial a list on a model that always answers alike", () => {
    const { verdict, calls } = simulate(blameCases([{ case: "a", changed, old: always }], true), (_, arm) =>
      parseArm(arm)[2] ? "fail" : "pass",
    );
    expect(verdict[0]).toMatchObject({ culprits: ["list"], calls: { search: calls } });
  });
});

describe("a case of which nothing is known with everything new", () => {
  const design = () => blameCases([{ case: "a", changed, old: always }], false);

  it("is measured first, and those trials are counted", () => {
    expect(design().next(evidenceOf({}))).toMatchObject({
      kind: "ask",
      requests: [{ case: "a", arm: "measure:111", from: 1, trials: 10 }],
    });
    const random = seededRandom(3);
    const rate = (_: string, arm: string) => (parseArm(arm)[0] ? 0.2 : 0.95);
    const { verdict, calls } = simulate(design(), independent(rate, random));
    expect(verdict[0]).toMatchObject({ kind: "blamed", culprits: ["read"] });
    expect(verdict[0] && verdict[0].calls.search + verdict[0].calls.confirmation).toBe(calls);
  });

  it("is left alone when it did not drop", () => {
    const { verdict, calls } = simulate(design(), () => "pass");
    expect(verdict[0]?.basis.kind).toBe("no drop");
    expect(calls).toBe(10);
  });
});
