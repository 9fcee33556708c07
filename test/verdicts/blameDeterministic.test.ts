import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { maskOfArm } from "../../src/evals/verdicts/blame.ts";
import { blameDeterministic } from "../../src/evals/verdicts/blameDeterministic.ts";
import { simulate } from "../../src/evals/verdicts/simulate.ts";
import { evidenceOf, verdictOn } from "./support.ts";

const names = (n: number) => Array.from({ length: n }, (_, i) => `change ${i}`);

/** The changes that the reason says to mend and to break the case. */
function namedIn(reason: string): { mended: number[]; broken: number[] } {
  const [mended = [], broken = []] = ["reverting ", ", and "].map((start) => {
    const part = reason.split(start)[1]?.split(/ mends| alone/)[0] ?? "";
    return [...part.matchAll(/\d+/g)].map(Number);
  });
  return { mended, broken };
}

/** Blame on a case that breaks wherever all changes of one of these sets are new. */
function blameOn(changed: number, breaking: readonly (readonly number[])[]) {
  const asked: string[] = [];
  const found = simulate(blameDeterministic("a", names(changed)), (_, arm) => {
    asked.push(arm);
    const mask = maskOfArm(arm);
    return breaking.some((set) => set.every((i) => mask[i])) ? "fail" : "pass";
  });
  return { ...found, asked };
}

describe("blame on a model that always answers alike", () => {
  it.each([
    ["single", [[5]], [5], "reverting change 5 mends the case, and change 5 alone breaks it"],
    ["either", [[1], [6]], [1, 6], "reverting change 1 and change 6 mends the case, and change 1 alone breaks it"],
    ["both", [[2, 7]], [2, 7], "reverting change 2 mends the case, and change 2 with change 7 alone breaks it"],
  ] as const)("finds %s", (relation, breaking, members, reason) => {
    const { verdict, calls } = blameOn(8, breaking);
    expect(verdict).toEqual({
      kind: "blamed",
      reason: `${reason}; the model always answers alike, so this is certain`,
      culprits: members.map((i) => `change ${i}`),
      relation,
      chance: 1,
      ranking: [{ kind: relation, changes: members.map((i) => `change ${i}`), chance: 1 }],
      calls: { search: calls, confirmation: 0, oneAtATime: 8 },
    });
  });

  it("finds a smallest set that mends and a smallest one that breaks, whatever works together", () => {
    const sets = fc.array(fc.uniqueArray(fc.nat(9), { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(sets, (breaking) => {
        const { verdict, asked } = blameOn(10, breaking);
        expect(verdict.kind).toBe("blamed");
        expect(new Set(asked).size).toBe(asked.length);
        const { mended, broken } = namedIn(verdict.reason);
        const breaks = (on: readonly number[]) => breaking.some((set) => set.every((i) => on.includes(i)));
        const all = names(10).map((_, i) => i);
        const mends = (off: readonly number[]) => !breaks(all.filter((i) => !off.includes(i)));
        for (const [set, holds] of [
          [mended, mends],
          [broken, breaks],
        ] as const) {
          expect(holds(set)).toBe(true);
          for (const one of set) expect(holds(set.filter((i) => i !== one))).toBe(false);
        }
      }),
    );
  });

  it("names only what was seen to mend and to break, even where more changes may do less", () => {
    const tables = fc.array(fc.boolean(), { minLength: 32, maxLength: 32 });
    fc.assert(
      fc.property(tables, (fails) => {
        const place = (mask: readonly boolean[]) => Number.parseInt(mask.map(Number).join(""), 2);
        const breaks = (mask: readonly boolean[]) =>
          place(mask) === 31 || (place(mask) > 0 && fails[place(mask)] === true);
        const { verdict } = simulate(blameDeterministic("a", names(5)), (_, arm) =>
          breaks(maskOfArm(arm)) ? "fail" : "pass",
        );
        const { mended, broken } = namedIn(verdict.reason);
        expect(breaks(names(5).map((_, i) => !mended.includes(i)))).toBe(false);
        expect(breaks(names(5).map((_, i) => broken.includes(i)))).toBe(true);
      }),
    );
  });

  it("takes few calls for one culprit of many", () => {
    const calls = names(64).map((_, culprit) => blameOn(64, [[culprit]]).calls);
    expect(Math.max(...calls)).toBeLessThanOrEqual(2 + 2 * Math.log2(64) + 2);
  });

  it("names nobody when the changes do not explain the case", () => {
    const reason = (answer: (mask: readonly boolean[]) => "pass" | "fail" | "broken", changed = 3) =>
      simulate(blameDeterministic("a", names(changed)), (_, arm) => answer(maskOfArm(arm))).verdict;
    expect(verdictOn(blameDeterministic("a", []), evidenceOf({}))).toMatchObject({
      kind: "inconclusive",
      reason: "no description changed, so none can be to blame",
    });
    expect(reason(() => "pass").reason).toBe("the case passes with all new wordings, so there is nothing to explain");
    expect(reason(() => "fail").reason).toBe("the case fails with all old wordings, too");
    expect(reason(() => "broken").reason).toBe("a trial broke, so there is no telling what its list does");
  });
});
