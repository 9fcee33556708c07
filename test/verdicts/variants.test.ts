import { describe, expect, it } from "vitest";
import { deterministicVariants, variants } from "../../src/evals/verdicts/variants/designs.ts";
import { evidenceOf, verdictOn } from "./support.ts";

const cases = ["a", "b", "c", "d"];
const each = (arms: Record<string, string>) => evidenceOf(Object.fromEntries(cases.map((id) => [id, arms])));

describe("a few variants", () => {
  const setup = { cases, challengers: ["x", "y"] };

  it("asks for all wordings alike", () => {
    const step = variants(setup).next(evidenceOf({}));
    expect(step.kind === "ask" && step.requests.slice(0, 3)).toEqual(
      ["incumbent", "x", "y"].map((arm) => ({ case: "a", arm, from: 1, trials: 5 })),
    );
  });

  it("adopts what is better, with the cases that it mended", () => {
    const verdict = verdictOn(variants(setup), each({ incumbent: "fffff", x: "ppppp", y: "fffff" }));
    expect(verdict).toMatchObject({
      kind: "adopt",
      winner: "x",
      method: "uniform",
      look: 1,
      best: { gain: { change: 1 } },
    });
    expect(verdict.best?.flipped.map(({ case: id, direction }) => [id, direction])).toEqual(
      cases.map((id) => [id, "mended"]),
    );
    expect(verdict.standings.map(({ variant, rate }) => [variant, rate])).toEqual([
      ["incumbent", 0],
      ["x", 1],
      ["y", 0],
    ]);
  });

  it("keeps the incumbent when the better wording breaks a case", () => {
    const fixed = { incumbent: "ffffffffffff", x: "pppppppppppp" };
    const evidence = evidenceOf({
      a: fixed,
      b: fixed,
      c: fixed,
      d: { incumbent: "pppppppppppp", x: "ffffffffffff" },
    });
    const verdict = verdictOn(variants({ cases, challengers: ["x"] }), evidence);
    expect(verdict).toMatchObject({ kind: "keep", best: { harm: { harmed: true, cases: ["d"] } } });
    expect(verdict.basis).toMatchObject({ kind: "tested", variant: "x", harm: { cases: ["d"] } });
    expect(verdict.winner).toBeUndefined();
  });

  it("keeps the incumbent when nothing gains by the margin, and is inconclusive when that is open", () => {
    const long = "p".repeat(20);
    expect(verdictOn(variants(setup), each({ incumbent: long, x: long, y: long })).kind).toBe("keep");
    const half = "pf".repeat(10);
    const open = verdictOn(variants(setup), each({ incumbent: half, x: half, y: half }));
    expect(open).toMatchObject({ kind: "inconclusive", look: 3 });
    expect(open.furtherTrials).toBeGreaterThan(0);
  });

  it("prefers nothing when nothing was scored", () => {
    expect(verdictOn(variants(setup), each({ incumbent: "bbbbb", x: "bbbbb", y: "bbbbb" }))).toMatchObject({
      kind: "inconclusive",
      basis: { kind: "nothing scored" },
    });
  });
});

describe("many variants", () => {
  const challengers = ["v1", "v2", "v3", "v4", "v5"];
  const arms = (good: string) =>
    Object.fromEntries(challengers.map((name) => [name, (name === good ? "p" : "f").repeat(20)]));

  it("halves the field, and asks for fresh trials of the winner and the incumbent, numbered alike", () => {
    expect(variants({ cases, challengers }).next(each(arms("v4")))).toMatchObject({
      look: 4,
      requests: cases.flatMap((id) => ["incumbent", "v4"].map((arm) => ({ case: id, arm, from: 21, trials: 28 }))),
    });
  });

  it("decides on the fresh trials alone", () => {
    const hole = "-".repeat(20);
    const lucky = { ...arms("v4"), v4: `${"p".repeat(20)}${"pf".repeat(8)}`, incumbent: `${hole}${"pf".repeat(8)}` };
    expect(verdictOn(variants({ cases, challengers }), each(lucky)).kind).not.toBe("adopt");
    const truly = { ...arms("v4"), v4: "p".repeat(28), incumbent: `${hole}${"f".repeat(8)}` };
    expect(verdictOn(variants({ cases, challengers }), each(truly))).toMatchObject({
      kind: "adopt",
      winner: "v4",
      method: "halving",
      rounds: [["v4", "v1", "v2"], ["v4", "v1"], ["v4"]],
    });
  });

  it("is inconclusive when a whole round broke", () => {
    const broken = Object.fromEntries(challengers.map((name) => [name, "bbbb"]));
    expect(verdictOn(variants({ cases, challengers }), each(broken))).toMatchObject({
      kind: "inconclusive",
      tests: [],
    });
  });
});

const three = ["a", "b", "c"];
const design = deterministicVariants({ cases: three, challengers: ["x", "y"] });
/** One letter a case, for each wording. */
const on = (incumbent: string, x: string, y: string) =>
  evidenceOf(
    Object.fromEntries(three.map((id, at) => [id, { incumbent: incumbent[at] ?? "", x: x[at] ?? "", y: y[at] ?? "" }])),
  );
const verdict = (...arms: [string, string, string]) => verdictOn(design, on(...arms));

describe("variants on a deterministic model", () => {
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
