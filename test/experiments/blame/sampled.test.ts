import { describe, expect, test } from "vitest";
import { simulate } from "../../../src/evals/asking/trials/design.ts";
import { deriveSeed, seededRandom } from "../../../src/evals/base/stats/random.ts";
import type { Mask } from "../../../src/evals/experiments/blame/hypotheses.ts";
import { type BlameSetup, blame, blameArm, maskOfArm } from "../../../src/evals/experiments/blame/sampled.ts";
import { blameVerdictSchema } from "../../../src/evals/experiments/blame/verdict.ts";
import { decideResumed } from "../design/support.ts";

const changed = ["get_file", "read_file", "list_files", "search"];
const known = { old: { passed: 20, trials: 20 }, new: { passed: 6, trials: 20 } };
const setup = (cases: readonly string[], seed = 1): BlameSetup => ({
  changed,
  cases: cases.map((id) => ({ case: id, known })),
  seed,
});

/** A model whose trials are drawn by case, arm and number. `isBroken`: whether a mask makes the case fall. */
function model(isBroken: (id: string, mask: Mask) => boolean, seed: number, [old, now] = [0.95, 0.3]) {
  return (id: string, arm: string, trial: number) => {
    const random = seededRandom(deriveSeed(seed, id, arm, trial));
    return random.next() < ((isBroken(id, maskOfArm(arm)) ? now : old) ?? 0) ? "pass" : "fail";
  };
}

test("arms carry their masks", () => {
  expect(blameArm("search", [true, false, true])).toBe("search:101");
  expect(maskOfArm("confirm1:0110")).toEqual([false, true, true, false]);
});

describe("one case", () => {
  test("a single culprit is found, confirmed on fresh trials, and no other description is blamed", () => {
    for (let seed = 0; seed < 10; seed++) {
      const { verdict, calls } = simulate(
        blame(setup(["c3"], seed)),
        model((_, mask) => mask[1] === true, seed),
      );
      expect(verdict.cases).toMatchObject([{ kind: "blamed", descriptions: ["read_file"], relation: "single" }]);
      const test_ = verdict.tests.find(({ isConfirmed }) => isConfirmed);
      expect(test_).toMatchObject({ description: "read_file", cases: [{ case: "c3" }] });
      expect(test_?.p).toBeLessThanOrEqual(test_?.level ?? 0);
      expect(verdict.calls.search + verdict.calls.confirmation).toBe(calls);
      expect(calls).toBeLessThanOrEqual(verdict.calls.most);
      expect(blameVerdictSchema.parse(verdict)).toEqual(verdict);
    }
  });

  test("two that are each enough, and two that are needed together", () => {
    let right = 0;
    for (let seed = 0; seed < 8; seed++) {
      const either = simulate(
        blame(setup(["c"], seed)),
        model((_, m) => m[0] === true || m[3] === true, seed),
      ).verdict;
      const both = simulate(
        blame(setup(["c"], seed)),
        model((_, m) => m[0] === true && m[3] === true, seed),
      ).verdict;
      for (const verdict of [either, both]) {
        expect(["get_file", "search"]).toEqual(expect.arrayContaining(verdict.cases[0]?.descriptions ?? []));
        if (verdict.cases[0]?.kind === "blamed" && verdict.cases[0].descriptions.length === 2) right++;
      }
    }
    expect(right).toBeGreaterThanOrEqual(14);
  });

  test("when nothing did it, hardly anybody is blamed, and the likeliest sets are given", () => {
    let blamed = 0;
    for (let seed = 0; seed < 30; seed++) {
      const { verdict } = simulate(
        blame(setup(["c"], seed)),
        model(() => false, seed, [0.6, 0.6]),
      );
      const [one] = verdict.cases;
      if (one && one.descriptions.length > 0) blamed++;
      const held = one?.sets.reduce((sum, { chance }) => sum + chance, 0) ?? 0;
      expect(held).toBeGreaterThanOrEqual(0.9);
    }
    expect(blamed).toBeLessThanOrEqual(2);
  });

  test("no description changed: nothing is asked", () => {
    const { verdict, calls } = simulate(blame({ ...setup(["c"]), changed: [] }), () => "pass");
    expect(calls).toBe(0);
    expect(verdict.cases).toMatchObject([{ kind: "chance", descriptions: [] }]);
  });

  test("missing answers are left out, and the search ends", () => {
    const { verdict, calls } = simulate(blame(setup(["c"])), () => "missing");
    expect(verdict.cases[0]).toMatchObject({ kind: "undecided", because: "missing", descriptions: [] });
    // Three trials without an answer, each asked three times, and the one that was asked with the third.
    expect(calls).toBe(12);
  });
});

describe("several cases", () => {
  test("with one culprit share what is seen of it; each with its own get their own", () => {
    const cases = ["a", "b", "c"];
    const same = simulate(
      blame(setup(cases, 3)),
      model((_, mask) => mask[2] === true, 3),
    );
    expect(same.verdict.cases.map(({ descriptions }) => descriptions)).toEqual([
      ["list_files"],
      ["list_files"],
      ["list_files"],
    ]);
    const alone = simulate(
      blame(setup(["a"], 3)),
      model((_, mask) => mask[2] === true, 3),
    );
    expect(same.calls).toBeLessThan(3 * alone.calls);
    const own = simulate(
      blame(setup(cases, 4)),
      model((id, mask) => mask[cases.indexOf(id)] === true, 4),
    );
    expect(own.verdict.cases.map(({ descriptions }) => descriptions)).toEqual([
      ["get_file"],
      ["read_file"],
      ["list_files"],
    ]);
  });
});

test("a run resumed from the record at every step decides the same", () => {
  const answer = model((_, mask) => mask[0] === true, 9);
  const design = blame(setup(["x", "y"], 9));
  expect(decideResumed(design, answer)).toEqual(simulate(design, answer).verdict);
});
