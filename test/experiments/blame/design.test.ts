import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nextStep, type Observation, simulate, TrialRecord } from "../../../src/evals/asking/trials/design.ts";
import { blameCases, type CaseToBlame } from "../../../src/evals/experiments/blame/design.ts";
import { maskOfArm } from "../../../src/evals/experiments/blame/sampled.ts";
import { blameVerdictSchema } from "../../../src/evals/experiments/blame/verdict.ts";

const changed = ["read", "write", "list"];
const [always, never] = [
  { passed: 10, trials: 10 },
  { passed: 0, trials: 10 },
];
const design = (cases: readonly CaseToBlame[], deterministic = false) => blameCases(cases, { seed: 1, deterministic });

describe("several cases", () => {
  it("with different changes are asked side by side, and keep their order", () => {
    const cases = [
      { case: "a", changed, known: { old: always, new: never } },
      { case: "b", changed: ["move", "copy"], known: { old: always, new: never } },
      { case: "c", changed, known: { old: always, new: never } },
    ];
    const first = nextStep(design(cases), new TrialRecord());
    expect(first.kind === "ask" && new Set(first.requests.map((one) => one.case))).toEqual(new Set(["a", "b", "c"]));
    const { verdict, calls } = simulate(design(cases), (id, arm) =>
      maskOfArm(arm)[id === "b" ? 0 : 1] ? "fail" : "pass",
    );
    expect(verdict.cases).toMatchObject([
      { case: "a", kind: "blamed", descriptions: ["write"] },
      { case: "b", kind: "blamed", descriptions: ["move"] },
      { case: "c", kind: "blamed", descriptions: ["write"] },
    ]);
    // Two searches share the 5 %.
    expect(verdict.tests.map(({ level }) => level)).toEqual([0.003, 0.003]);
    expect(verdict.calls.search + verdict.calls.confirmation).toBe(calls);
    expect(calls).toBeLessThanOrEqual(verdict.calls.most);
    expect(blameVerdictSchema.parse(verdict)).toEqual(verdict);
  });

  it("of which nothing needs to be searched cost nothing", () => {
    const { verdict, calls } = simulate(
      design([
        { case: "a", changed: [], known: { old: always, new: never } },
        { case: "b", changed, known: { old: always, new: always } },
        { case: "c", changed: ["read"], known: { old: always, new: never } },
      ]),
      () => "fail",
    );
    expect(verdict.cases).toMatchObject([
      { case: "a", kind: "nothing", because: "unchanged" },
      { case: "b", kind: "nothing", because: "no-drop" },
      { case: "c", kind: "blamed", because: "only-change", descriptions: ["read"] },
    ]);
    expect(calls).toBe(0);
  });
});

const names = (n: number) => Array.from({ length: n }, (_, i) => `change ${i}`);
const certain = (n: number) => design([{ case: "a", changed: names(n), known: { old: always, new: never } }], true);

/** Blame by a table of masks: true where the case fails. */
function blameOnTable(n: number, fails: (mask: readonly boolean[]) => boolean) {
  const asked: string[] = [];
  const { verdict, calls } = simulate(certain(n), (_, arm): Observation => {
    asked.push(arm);
    return fails(maskOfArm(arm)) ? "fail" : "pass";
  });
  const [one] = verdict.cases;
  const indices = (changes: readonly string[] = []) => changes.map((change) => Number(change.replace("change ", "")));
  return { one, calls, asked, reverted: indices(one?.seen?.reverted), breaking: indices(one?.seen?.breaking) };
}

/** Blame on a case that breaks wherever all changes of one of these sets are new. */
const blameOn = (n: number, sets: readonly (readonly number[])[]) =>
  blameOnTable(n, (mask) => sets.some((set) => set.every((i) => mask[i])));

describe("blame on a deterministic model", () => {
  it.each([
    ["single", [[5]], [5], { reverted: [5], breaking: [5] }],
    ["or", [[1], [6]], [1, 6], { reverted: [1, 6], breaking: [1] }],
    ["and", [[2, 7]], [2, 7], { reverted: [2], breaking: [2, 7] }],
  ] as const)("finds %s", (relation, sets, members, seen) => {
    const found = blameOn(8, sets);
    expect(found).toMatchObject(seen);
    expect(found.one).toMatchObject({ kind: "blamed", descriptions: members.map((i) => `change ${i}`), relation });
  });

  it("finds a smallest set that repairs the case and a smallest one that breaks it, whatever works together", () => {
    const sets = fc.array(fc.uniqueArray(fc.nat(9), { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(sets, (culprits) => {
        const { one, asked, reverted, breaking } = blameOn(10, culprits);
        expect(one?.kind).toBe("blamed");
        expect(new Set(asked).size).toBe(asked.length);
        const breaks = (on: readonly number[]) => culprits.some((set) => set.every((i) => on.includes(i)));
        const all = names(10).map((_, i) => i);
        const repairs = (off: readonly number[]) => !breaks(all.filter((i) => !off.includes(i)));
        for (const [set, holds] of [
          [reverted, repairs],
          [breaking, breaks],
        ] as const) {
          expect(holds(set)).toBe(true);
          for (const i of set) expect(holds(set.filter((other) => other !== i))).toBe(false);
        }
      }),
    );
  });

  it("names only what was seen to repair and to break, even where more changes may do less", () => {
    const tables = fc.array(fc.boolean(), { minLength: 32, maxLength: 32 });
    fc.assert(
      fc.property(tables, (table) => {
        const location = (mask: readonly boolean[]) => Number.parseInt(mask.map(Number).join(""), 2);
        const breaks = (mask: readonly boolean[]) =>
          location(mask) === 31 || (location(mask) > 0 && table[location(mask)] === true);
        const { reverted, breaking } = blameOnTable(5, breaks);
        expect(breaks(names(5).map((_, i) => !reverted.includes(i)))).toBe(false);
        expect(breaks(names(5).map((_, i) => breaking.includes(i)))).toBe(true);
      }),
    );
  });

  it("takes few calls for one culprit of many", () => {
    const calls = names(64).map((_, culprit) => blameOn(64, [[culprit]]).calls);
    expect(Math.max(...calls)).toBeLessThanOrEqual(2 + 2 * Math.log2(64) + 2);
  });

  it("names nobody when the changes do not explain the case, or a trial brings no answer", () => {
    expect(blameOnTable(3, () => false).one).toMatchObject({ kind: "nothing", because: "passes-new" });
    expect(blameOnTable(3, () => true).one).toMatchObject({ kind: "nothing", because: "fails-old" });
    expect(simulate(certain(3), () => "missing").verdict.cases).toMatchObject([
      { kind: "undecided", because: "missing" },
    ]);
  });
});
