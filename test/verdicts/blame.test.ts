import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  blame,
  blameArm,
  chanceBroken,
  nextMask,
  parseArm,
  posterior,
  priors,
} from "../../src/evals/verdicts/blame.ts";
import { simulate } from "../../src/evals/verdicts/calibrate.ts";
import { evidenceOf, verdictOn } from "./support.ts";

const known = { old: { passed: 10, trials: 10 }, new: { passed: 1, trials: 10 } };
const changed = ["read", "write", "list", "move"];

describe("beliefs", () => {
  it("start with singles likelier than pairs, and add up to 1", () => {
    const prior = priors(8);
    const share = (kind: string) =>
      prior.filter((one) => one.hypothesis.kind === kind).reduce((sum, one) => sum + one.chance, 0);
    expect([prior.length, share("single"), share("either"), share("both")]).toEqual([
      64,
      expect.closeTo(0.8),
      expect.closeTo(0.1),
      expect.closeTo(0.1),
    ]);
    expect(priors(1)).toEqual([{ hypothesis: { kind: "single", members: [0] }, chance: 1 }]);
  });

  it("follow Bayes' rule", () => {
    const tried = [{ mask: [true, false], counts: { passed: 0, trials: 1 } }];
    const [first, second, either, both] = posterior(priors(2), tried, known).map((one) => one.chance);
    const [sound, broken] = [0.5 / 11, 9.5 / 11];
    const sum = 0.4 * broken + 0.4 * sound + 0.1 * broken + 0.1 * sound;
    expect([first, second, either, both]).toEqual(
      [(0.4 * broken) / sum, (0.4 * sound) / sum, (0.1 * broken) / sum, (0.1 * sound) / sum].map((p) =>
        expect.closeTo(p, 12),
      ),
    );
  });

  it("choose a mask near one half while the culprit is open", () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 12 }), (n) => {
        const prior = priors(n);
        expect(Math.abs(chanceBroken(prior, nextMask(prior, n)) - 0.5)).toBeLessThan(0.2);
      }),
    );
  });
});

describe("blame", () => {
  it("names arms by their mask", () => {
    expect(blameArm("search", [false, true, false])).toBe("search:010");
    fc.assert(
      fc.property(fc.array(fc.boolean(), { minLength: 1 }), (mask) => {
        expect(parseArm(blameArm("confirm", mask))).toEqual(mask);
      }),
    );
  });

  it.each([
    ["single", [1]],
    ["either", [0, 2]],
    ["both", [1, 3]],
  ] as const)("finds %s without noise, and confirms it by reverting", (kind, members) => {
    const broken = (mask: readonly boolean[]) =>
      kind === "either" ? members.some((i) => mask[i]) : members.every((i) => mask[i]);
    const { verdict, calls } = simulate(blame({ case: "a", changed, known }), (_, arm) =>
      broken(parseArm(arm)) ? "fail" : "pass",
    );
    expect(verdict).toMatchObject({
      kind: "blamed",
      culprits: members.map((i) => changed[i]),
      relation: kind,
      necessity: { look: 1, confirmed: true },
    });
    expect(verdict.calls.search + verdict.calls.confirmation).toBe(calls);
    expect(verdict.calls.oneAtATime).toBe(40);
  });

  it("needs no search when one thing changed", () => {
    expect(blame({ case: "a", changed: ["read"], known }).next(evidenceOf({}))).toMatchObject({
      kind: "ask",
      requests: [
        { case: "a", arm: "confirm:0", from: 1, trials: 5 },
        { case: "a", arm: "confirm:1", from: 1, trials: 5 },
      ],
    });
  });

  it("blames nobody when reverting does not fix the case", () => {
    const { verdict } = simulate(blame({ case: "a", changed, known }), (_, arm) =>
      arm.startsWith("search:1") ? "fail" : "pass",
    );
    expect(verdict).toMatchObject({
      kind: "inconclusive",
      culprits: [],
      basis: { kind: "not confirmed" },
    });
  });

  it("says why there is nothing to find", () => {
    const basis = (setup: Partial<Parameters<typeof blame>[0]>) =>
      verdictOn(blame({ case: "a", changed, known, ...setup }), evidenceOf({})).basis.kind;
    const none = { passed: 0, trials: 0 };
    expect(basis({ changed: [] })).toBe("nothing changed");
    expect(basis({ known: { old: known.old, new: none } })).toBe("not scored before");
    expect(basis({ known: { old: known.old, new: known.old } })).toBe("no drop");
    expect(simulate(blame({ case: "a", changed, known }), () => "broken").verdict).toMatchObject({
      kind: "inconclusive",
      basis: { kind: "search broke" },
    });
  });
});
