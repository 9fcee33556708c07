import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { seededRandom } from "../../src/evals/stats/random.ts";
import { type BlameVerdict, parseArm } from "../../src/evals/verdicts/blame.ts";
import { blameCases, blameDeterministic } from "../../src/evals/verdicts/blameCases.ts";
import { independent, simulate } from "../../src/evals/verdicts/calibrate.ts";
import { evidenceOf, verdictOn } from "./support.ts";

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

  it("take one trial a list on a deterministic model", () => {
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

const names = (n: number) => Array.from({ length: n }, (_, i) => `change ${i}`);

/** The changes whose reverting fixes the case, and those that break it, by index. */
function namedIn({ basis }: BlameVerdict): { reverted: number[]; breaking: number[] } {
  if (basis.kind !== "seen to break") throw new Error(basis.kind);
  const indices = (changes: readonly string[]) => changes.map((change) => Number(change.replace("change ", "")));
  return { reverted: indices(basis.reverted), breaking: indices(basis.breaking) };
}

/** Blame on a case that breaks wherever all changes of one of these sets are new. */
function blameOn(changed: number, breaking: readonly (readonly number[])[]) {
  const asked: string[] = [];
  const found = simulate(blameDeterministic("a", names(changed)), (_, arm) => {
    asked.push(arm);
    const mask = parseArm(arm);
    return breaking.some((set) => set.every((i) => mask[i])) ? "fail" : "pass";
  });
  return { ...found, asked };
}

describe("blame on a deterministic model", () => {
  it.each([
    ["single", [[5]], [5], { reverted: [5], breaking: [5] }],
    ["either", [[1], [6]], [1, 6], { reverted: [1, 6], breaking: [1] }],
    ["both", [[2, 7]], [2, 7], { reverted: [2], breaking: [2, 7] }],
  ] as const)("finds %s", (relation, breaking, members, seen) => {
    const { verdict, calls } = blameOn(8, breaking);
    expect(namedIn(verdict)).toEqual(seen);
    expect(verdict).toMatchObject({
      kind: "blamed",
      culprits: members.map((i) => `change ${i}`),
      relation,
      chance: 1,
      ranking: [{ kind: relation, changes: members.map((i) => `change ${i}`), chance: 1 }],
      calls: { search: calls, confirmation: 0, oneAtATime: 8 },
    });
  });

  it("finds a smallest set that fixes the case and a smallest one that breaks it, whatever works together", () => {
    const sets = fc.array(fc.uniqueArray(fc.nat(9), { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(sets, (breaking) => {
        const { verdict, asked } = blameOn(10, breaking);
        expect(verdict.kind).toBe("blamed");
        expect(new Set(asked).size).toBe(asked.length);
        const { reverted, breaking: enough } = namedIn(verdict);
        const breaks = (on: readonly number[]) => breaking.some((set) => set.every((i) => on.includes(i)));
        const all = names(10).map((_, i) => i);
        const fixes = (off: readonly number[]) => !breaks(all.filter((i) => !off.includes(i)));
        for (const [set, holds] of [
          [reverted, fixes],
          [enough, breaks],
        ] as const) {
          expect(holds(set)).toBe(true);
          for (const one of set) expect(holds(set.filter((i) => i !== one))).toBe(false);
        }
      }),
    );
  });

  it("names only what was seen to fix and to break, even where more changes may do less", () => {
    const tables = fc.array(fc.boolean(), { minLength: 32, maxLength: 32 });
    fc.assert(
      fc.property(tables, (fails) => {
        const place = (mask: readonly boolean[]) => Number.parseInt(mask.map(Number).join(""), 2);
        const breaks = (mask: readonly boolean[]) =>
          place(mask) === 31 || (place(mask) > 0 && fails[place(mask)] === true);
        const { verdict } = simulate(blameDeterministic("a", names(5)), (_, arm) =>
          breaks(parseArm(arm)) ? "fail" : "pass",
        );
        const { reverted, breaking: enough } = namedIn(verdict);
        expect(breaks(names(5).map((_, i) => !reverted.includes(i)))).toBe(false);
        expect(breaks(names(5).map((_, i) => enough.includes(i)))).toBe(true);
      }),
    );
  });

  it("takes few calls for one culprit of many", () => {
    const calls = names(64).map((_, culprit) => blameOn(64, [[culprit]]).calls);
    expect(Math.max(...calls)).toBeLessThanOrEqual(2 + 2 * Math.log2(64) + 2);
  });

  it("names nobody when the changes do not explain the case", () => {
    const basis = (answer: (mask: readonly boolean[]) => "pass" | "fail" | "broken", changed = 3) =>
      simulate(blameDeterministic("a", names(changed)), (_, arm) => answer(parseArm(arm))).verdict.basis.kind;
    expect(verdictOn(blameDeterministic("a", []), evidenceOf({}))).toMatchObject({
      kind: "inconclusive",
      basis: { kind: "nothing changed" },
    });
    expect(basis(() => "pass")).toBe("passes with all new");
    expect(basis(() => "fail")).toBe("fails with all old");
    expect(basis(() => "broken")).toBe("a trial broke");
  });
});
