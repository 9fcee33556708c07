import * as fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { type Observation, simulate } from "../../../src/evals/asking/trials/design.ts";
import { deriveSeed, seededRandom } from "../../../src/evals/base/stats/random.ts";
import { type VariantSetup, variants, variantsCertain } from "../../../src/evals/experiments/variants/design.ts";
import {
  certainVariantVerdictSchema,
  incumbentArm,
  variantVerdictSchema,
} from "../../../src/evals/experiments/variants/verdict.ts";
import { decideResumed, idsOf } from "../design/support.ts";

const rates = [1, 0.95, 0.9, 0.2];
const cases = idsOf(rates);
const bank = new Map(cases.map((id, i) => [id, { passed: Math.round(20 * (rates[i] ?? 0)), trials: 20 }]));
const setup = (challengers: readonly string[], extra: Partial<VariantSetup> = {}): VariantSetup => ({
  cases,
  challengers,
  seed: 1,
  bank,
  ...extra,
});

/** Rates by wording; every other wording is like the incumbent. */
function model(better: Record<string, readonly number[]>, seed: number) {
  return (id: string, arm: string, trial: number): Observation => {
    const own = better[arm] ?? rates;
    return seededRandom(deriveSeed(seed, id, arm, trial)).next() < (own[cases.indexOf(id)] ?? 0) ? "pass" : "fail";
  };
}

describe("the verdict", () => {
  test("one repaired case is enough to be adopted, with a certificate for every case", () => {
    const design = variants(setup(["short"]));
    // Twenty for room, and two times 400 for the test and the certificates.
    expect(design.cap).toBe(4 * (20 + 2 * 400));
    const { verdict, record } = simulate(design, model({ short: rates.with(3, 0.95) }, 2));
    expect(verdict).toMatchObject({ kind: "adopt", winner: "short", room: ["case 3", "case 4"] });
    expect(verdict.gain?.cases[0]).toMatchObject({ case: "case 4" });
    expect(verdict.certificates).toHaveLength(4);
    for (const one of verdict.certificates) expect(one.bound).toBeLessThan(one.harm);
    expect(cases.every((id) => record.arms(id).includes(incumbentArm))).toBe(true);
    expect(variantVerdictSchema.parse(verdict)).toEqual(verdict);
  });

  test("lists of few orders end in a verdict, whichever cases a baseline knows and however many wordings there are", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            rate: fc.constantFrom(0, 0.1, 0.5, 0.9, 1),
            orders: fc.constantFrom(1, 2, 6, 24),
            known: fc.boolean(),
          }),
          {
            minLength: 1,
            maxLength: 6,
          },
        ),
        fc.record({
          challengers: fc.integer({ min: 1, max: 4 }),
          wordings: fc.integer({ min: 1, max: 3 }),
          seed: fc.nat(),
        }),
        (all, { challengers, wordings, seed }) => {
          const ids = idsOf(all.map(({ rate }) => rate));
          const known = all.flatMap(({ rate, known }, i) =>
            known ? [[ids[i] ?? "", { passed: Math.round(20 * rate), trials: 20 }] as const] : [],
          );
          const design = variants({
            ...{ cases: ids, seed, bank: new Map(known), wordings: () => wordings },
            challengers: Array.from({ length: challengers }, (_, i) => `wording ${i}`),
            requests: (id) => (all[ids.indexOf(id)]?.orders ?? 1) * wordings,
          });
          const random = seededRandom(seed);
          const { verdict } = simulate(design, (id) =>
            random.next() < (all[ids.indexOf(id)]?.rate ?? 0) ? "pass" : "fail",
          );
          expect(variantVerdictSchema.parse(verdict)).toEqual(verdict);
        },
      ),
      { numRuns: 60 },
    );
  });

  test("a wording that repairs one case and breaks another is kept out, and the broken cases named, the worst first", () => {
    const { verdict } = simulate(variants(setup(["short"])), model({ short: [0.4, 0.95, 0.9, 0.95] }, 2));
    expect(verdict).toMatchObject({ kind: "keep", because: "breaks", broken: [{ case: "case 1" }] });
    const ids = ["case 1", "case 2"];
    const more = simulate(variants({ cases: ids, challengers: ["short"], seed: 1 }), (id, arm, trial) =>
      (trial * 37) % 100 < (arm === incumbentArm ? 80 : id === "case 1" ? 15 : 0) ? "pass" : "fail",
    );
    expect(more.verdict).toMatchObject({ because: "breaks", broken: [{ case: "case 2" }, { case: "case 1" }] });
  });

  // The incumbent passes half of case 4 and selects its tool in the other half; the challenger passes more of it.
  test.each([
    ["loses no selection", () => "selected" as const, { kind: "adopt" }],
    ["selects another tool where it fails", () => "fail" as const, { kind: "keep", because: "selection" }],
    [
      "may select another tool more often than the margin allows",
      (trial: number) => (trial % 2 === 0 ? ("fail" as const) : ("selected" as const)),
      { kind: "inconclusive", because: "harm", settle: null },
      0.055,
    ],
  ])("passes more, and %s", (_, otherwise, expected, margin = 0.1) => {
    const answer = (id: string, arm: string, trial: number): Observation => {
      if (id !== "case 4") return "pass";
      if (arm === incumbentArm) return trial % 10 < 2 ? "pass" : "selected";
      return trial % 10 < 5 ? "pass" : otherwise(trial);
    };
    const { verdict } = simulate(variants(setup(["short"], { margin })), answer);
    expect(verdict).toMatchObject(expected);
    expect(verdict.rates?.selection.incumbent).toBe(1);
    expect(variantVerdictSchema.parse(verdict)).toEqual(verdict);
  });

  test("no gain: kept, whatever the screening made of it", () => {
    const names = ["a", "b", "c", "d", "e"];
    const { verdict } = simulate(variants(setup(names)), model({}, 5));
    expect(verdict).toMatchObject({ kind: "keep", because: "no-gain" });
    expect(verdict.screening.map((round) => round.length)).toEqual([5, 3, 2]);
    expect(verdict.gain?.upper).toBeLessThan(0.1);
  });

  test("the better of several is found and adopted", () => {
    const better = rates.with(3, 0.9);
    const winners = Array.from({ length: 6 }, (_, seed) => {
      const { verdict } = simulate(variants(setup(["a", "b", "c", "d"], { seed })), model({ c: better }, seed));
      return verdict.kind === "adopt" ? verdict.winner : verdict.kind;
    });
    expect(winners.filter((winner) => winner === "c").length).toBeGreaterThanOrEqual(5);
  });

  test("every case passes already: no call is made", () => {
    const full = new Map(cases.map((id) => [id, { passed: 20, trials: 20 }]));
    const { verdict, calls } = simulate(variants(setup(["a"], { bank: full })), model({}, 1));
    expect([verdict.kind, calls]).toEqual(["keep", 0]);
    expect(verdict).toMatchObject({ because: "no-room" });
  });

  test("without a bank the incumbent is measured first, apart from the test", () => {
    const { bank: _, ...bare } = setup(["short"]);
    const { verdict, record } = simulate(variants(bare), model({ short: rates.with(3, 0.95) }, 3));
    expect(verdict).toMatchObject({ kind: "adopt" });
    for (const id of cases) {
      const [measured, tested] = [incumbentArm, "short"].map((arm) => record.answers(id, arm).slice(0, 20));
      expect(measured?.filter((answer) => answer !== undefined)).toHaveLength(20);
      expect(tested?.filter((answer) => answer !== undefined)).toEqual([]);
    }
  });

  test("the cheaper certificate and fewer certified cases cost fewer calls", () => {
    const answer = model({ short: rates.with(3, 0.8) }, 4);
    const cost = (extra: Partial<VariantSetup>) => simulate(variants(setup(["short"], extra)), answer).calls;
    expect(cost({ harmUnsteady: 0.25 })).toBeLessThan(cost({}));
    expect(cost({ harmCases: ["case 1"] })).toBeLessThan(cost({}));
  });
});

describe("what is left open", () => {
  const answers = (challenger: Observation, arm: string): Observation => (arm === incumbentArm ? "pass" : challenger);

  test("an outage decides nothing, and stops the experiment", () => {
    const { verdict, calls } = simulate(variants(setup(["short"])), (_, arm) => answers("missing", arm));
    expect(verdict).toMatchObject({ kind: "inconclusive", because: "missing" });
    // Eight pairs of the two cases with room, the challenger's asked three times.
    expect(calls).toBe(2 * 8 * 4);
    const { bank: _, ...bare } = setup(["short"]);
    const first = simulate(variants(bare), () => "missing");
    expect(first.verdict).toMatchObject({ kind: "inconclusive", because: "missing", gain: null });
    expect(first.calls).toBe(4 * 20 * 3);
    const { verdict: screened } = simulate(variants(setup(["a", "b"])), (_, arm) => answers("missing", arm));
    expect(screened).toMatchObject({ because: "missing", gain: null });
  });

  test("a loss that is not ruled out: the case, and the trials that would settle it", () => {
    const alternate = (id: string, arm: string, trial: number): Observation => {
      if (id === "case 4") return arm === incumbentArm ? "fail" : "pass";
      if (id !== "case 3") return "pass";
      // 13 of 25 before, 12 of 25 now: not shown to be worse, and never steady enough to be certified.
      return trial % 25 < (arm === incumbentArm ? 13 : 11) ? "pass" : "fail";
    };
    const { verdict } = simulate(variants(setup(["short"])), alternate);
    expect(verdict).toMatchObject({ kind: "inconclusive", because: "harm", settle: { cases: ["case 3"] } });
    if (verdict.kind !== "inconclusive" || verdict.because !== "harm") throw new Error("another verdict");
    expect(verdict.settle?.trials).toBeGreaterThan(400);
    expect(variantVerdictSchema.parse(verdict)).toEqual(verdict);
  });

  test("a gain that is neither shown nor ruled out: the trials that would settle it", () => {
    const one: VariantSetup = { cases: ["case 4"], challengers: ["short"], seed: 1, bank };
    // 32 % before, 40 % now: not shown after 200 trials, and a gain of 10 points is possible.
    const { verdict } = simulate(variants(one), (_, arm, trial) =>
      (trial * 37) % 100 < (arm === incumbentArm ? 32 : 40) ? "pass" : "fail",
    );
    expect(verdict).toMatchObject({
      kind: "inconclusive",
      because: "gain",
      settle: { cases: ["case 4"], trials: 500 },
      gain: { look: 7 },
    });
  });
});

test("a run resumed from the record at every step decides the same", () => {
  const answer = model({ b: rates.with(3, 0.7) }, 7);
  const design = variants(setup(["a", "b", "c"], { seed: 7 }));
  expect(decideResumed(design, answer)).toEqual(simulate(design, answer).verdict);
});

describe("variants on a deterministic model", () => {
  const cases = ["a", "b", "c"];
  const design = variantsCertain({ cases, challengers: ["x", "y"], seed: 1 });
  const letters: Record<string, Observation> = { p: "pass", s: "selected", f: "fail", m: "missing" };

  /** One letter a case, for each wording: p pass, s selected, f fail, m missing. */
  function play(incumbent: string, x: string, y: string) {
    const arms: Record<string, string> = { [incumbentArm]: incumbent, x, y };
    const { verdict, calls } = simulate(
      design,
      (id, arm) => letters[arms[arm]?.[cases.indexOf(id)] ?? ""] ?? "missing",
    );
    expect(certainVariantVerdictSchema.parse(verdict)).toEqual(verdict);
    return { ...verdict, calls };
  }

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

  it("keeps the incumbent where what gains selects fewer of the right tools", () => {
    expect(play("fss", "pff", "fff")).toMatchObject({
      kind: "keep",
      because: "selection",
      tests: [{ challenger: "x", selected: { incumbent: 2, challenger: 1 } }],
    });
    expect(play("fsf", "pfs", "fff")).toMatchObject({ kind: "adopt", winner: "x" });
  });

  it("decides nothing where cases were not answered", () => {
    expect(play("mmm", "mmm", "mmm")).toMatchObject({ kind: "inconclusive", because: "missing", calls: 27 });
    expect(play("pff", "pfm", "pff")).toMatchObject({ kind: "inconclusive", tests: [{}, { unanswered: [] }] });
  });
});
