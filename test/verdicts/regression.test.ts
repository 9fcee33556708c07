import { describe, expect, it } from "vitest";
import { anytime } from "../../src/evals/verdicts/anytime.ts";
import { deterministic } from "../../src/evals/verdicts/check.ts";
import { screen } from "../../src/evals/verdicts/screen.ts";
import { compareRecords, thorough } from "../../src/evals/verdicts/thorough.ts";
import { evidenceOf, verdictOn } from "./support.ts";

const named = (n: number) => Array.from({ length: n }, (_, i) => `c${i}`);
const ten = named(10);
const twenty = named(20);
const all = (cases: readonly string[], base: string, head: string) =>
  Object.fromEntries(cases.map((id) => [id, { base, head }]));
const bank = (cases: readonly string[], passed: number) => new Map(cases.map((id) => [id, { passed, trials: 20 }]));

describe("thorough", () => {
  it("asks for both arms of every case first, and for nothing that is there", () => {
    expect(thorough(["a", "b"]).next(evidenceOf({ a: { base: "ppppp", head: "pp" } }))).toEqual({
      kind: "ask",
      look: 1,
      requests: [
        { case: "a", arm: "head", from: 1, trials: 5 },
        { case: "b", arm: "base", from: 1, trials: 5 },
        { case: "b", arm: "head", from: 1, trials: 5 },
      ],
    });
  });

  it("stops at the first look when a case breaks outright, and names it", () => {
    const cases = ["a", "b", "c"];
    const verdict = verdictOn(
      thorough(cases),
      evidenceOf({ ...all(cases, "ppppp", "ppppp"), b: { base: "ppppp", head: "fffff" } }),
    );
    expect(verdict).toMatchObject({
      kind: "regressed",
      look: 1,
      basis: { kind: "dropped", test: { p: expect.closeTo(1 / 252, 12), alpha: 0.005 }, look: 1, looks: 3 },
      calls: { base: 15, head: 15, broken: 0, cap: 150, saved: 120 },
    });
    expect(verdict.flagged.map((one) => [one.case, one.adjusted])).toEqual([["b", expect.closeTo(1 / 252, 12)]]);
  });

  it("tells no regression at the first look that shows it, with the break that it could have missed", () => {
    const verdict = verdictOn(thorough(twenty), evidenceOf(all(twenty, "ppppp", "ppppp")));
    expect(verdict).toMatchObject({ kind: "no-regression", look: 1, net: { change: 0 }, flagged: [], unscored: [] });
    expect(verdict.basis).toMatchObject({ kind: "drop ruled out", drop: expect.closeTo(0.09, 1), look: 1, looks: 3 });
    expect(verdict.reach).toMatchObject({
      baseTrials: 5,
      headTrials: 5,
      alpha: 0.005,
      smallest: { kind: "catchable", headPasses: 0 },
    });
  });

  it("goes on when one case looks worse, though the mean is within the margin", () => {
    const cases = named(30);
    const evidence = evidenceOf({ ...all(cases, "ppppp", "ppppp"), c3: { base: "ppppp", head: "ppfff" } });
    expect(thorough(cases).next(evidence)).toMatchObject({ kind: "ask", look: 2 });
  });

  it("uses only the trials of a look, so that more of them change nothing that was decided", () => {
    const early = verdictOn(thorough(twenty), evidenceOf(all(twenty, "ppppp", "ppppp")));
    const later = verdictOn(thorough(twenty), evidenceOf(all(twenty, "pppppppp", "pppppfff")));
    expect({ ...later, calls: early.calls }).toEqual(early);
  });

  it("is inconclusive at the cap, with the trials that would settle it", () => {
    const half = "pf".repeat(12);
    const verdict = verdictOn(thorough(["a", "b"]), evidenceOf(all(["a", "b"], `p${half}`, `f${half}`)));
    expect(verdict).toMatchObject({ kind: "inconclusive", look: 3, calls: { saved: 0 } });
    expect(verdict.furtherTrials).toBeGreaterThan(25);
  });

  it("never passes what was not scored", () => {
    const nothing = verdictOn(thorough(["a"]), evidenceOf(all(["a"], "bbbbb", "bbbbb")));
    expect(nothing).toMatchObject({
      kind: "inconclusive",
      basis: { kind: "nothing scored" },
      unscored: ["a"],
      calls: { broken: 10 },
    });
    expect(nothing.furtherTrials).toBeUndefined();
    expect(verdictOn(thorough([]), evidenceOf({}))).toMatchObject({ kind: "inconclusive", cases: [] });
  });

  it("does not clear the suite when one of its cases was never scored", () => {
    const long = "p".repeat(25);
    const verdict = verdictOn(
      thorough(ten),
      evidenceOf({ ...all(ten, long, long), c4: { base: long, head: "b".repeat(25) } }),
    );
    expect(verdict).toMatchObject({
      kind: "inconclusive",
      unscored: ["c4"],
      basis: { kind: "cases not scored", cases: ["c4"] },
    });
  });
});

describe("two records", () => {
  it("are compared in one look at 5 %, with whatever trials they have", () => {
    const verdict = compareRecords(
      evidenceOf({ a: { base: "ppppp", head: "pffff" }, b: { base: "ppp", head: "pppp" } }),
      ["a", "b"],
    );
    expect(verdict).toMatchObject({
      kind: "regressed",
      method: "records",
      criterion: { kind: "p-value", alpha: 0.05 },
      calls: { cap: 0, saved: 0 },
    });
    expect(verdict.criterion).toMatchObject({ p: expect.closeTo(6 / 252, 12) });
  });
});

describe("screen", () => {
  it("asks for head only, and clears an unchanged suite against the bank", () => {
    const design = screen(ten, bank(ten, 20));
    const step = design.next(evidenceOf({}));
    expect(step.kind === "ask" && step.requests).toEqual(
      ten.map((id) => ({ case: id, arm: "head", from: 1, trials: 5 })),
    );
    const verdict = verdictOn(design, evidenceOf(Object.fromEntries(ten.map((id) => [id, { head: "ppppp" }]))));
    expect(verdict).toMatchObject({ kind: "no-regression", look: 1, calls: { base: 0, head: 50 } });
    expect(verdict.drift).toBeUndefined();
  });

  it("asks for fresh trials of both arms of the suspects, numbered alike", () => {
    const heads = Object.fromEntries(ten.map((id) => [id, { head: id === "c2" ? "fffff" : "ppppp" }]));
    expect(screen(ten, bank(ten, 20)).next(evidenceOf(heads))).toEqual({
      kind: "ask",
      look: 3,
      requests: [
        { case: "c2", arm: "base", from: 6, trials: 11 },
        { case: "c2", arm: "head", from: 6, trials: 11 },
      ],
    });
  });

  it("takes all cases that pass at all for suspects when they dropped a little together", () => {
    const banks = bank(ten, 17).set("c9", { passed: 0, trials: 20 });
    const heads = Object.fromEntries(
      ten.map((id) => [
        id,
        { head: id === "c9" ? "fffff" : "pppff".slice(Number(id[1]) % 2) + (Number(id[1]) % 2 ? "p" : "") },
      ]),
    );
    const step = screen(ten, banks).next(evidenceOf(heads));
    expect(step.kind === "ask" && new Set(step.requests.map((one) => one.case))).toEqual(new Set(ten.slice(0, 9)));
  });

  it("never fails on the bank alone: a model that got worse is drift", () => {
    const others = Object.fromEntries(ten.slice(1).map((id) => [id, { head: "ppppp" }]));
    const worse = { base: `-----${"f".repeat(20)}`, head: "f".repeat(25) };
    const verdict = verdictOn(screen(ten, bank(ten, 20)), evidenceOf({ c0: worse, ...others }));
    expect(verdict.kind).not.toBe("regressed");
    expect(verdict.drift).toMatchObject({ drifted: true, direction: "down" });
  });

  it("confirms on the fresh trials only", () => {
    const others = Object.fromEntries(ten.slice(1).map((id) => [id, { head: "ppppp" }]));
    const broken = { base: "-----pppppp", head: "fffffffffff" };
    const verdict = verdictOn(screen(ten, bank(ten, 20)), evidenceOf({ c0: broken, ...others }));
    expect(verdict).toMatchObject({ kind: "regressed", look: 3, drift: { drifted: false } });
    expect(verdict.cases.map(({ case: id, base, head }) => ({ id, base, head }))).toEqual([
      { id: "c0", base: { passed: 6, trials: 6 }, head: { passed: 0, trials: 6 } },
    ]);
  });

  it("looks at cases that have no bank afresh", () => {
    const heads = Object.fromEntries(ten.map((id) => [id, { head: "ppppp" }]));
    const banks = bank(ten.slice(1), 20);
    const step = screen(ten, banks).next(evidenceOf(heads));
    expect(step.kind === "ask" && step.requests.map((one) => one.case)).toEqual(["c0", "c0"]);
  });

  it("is inconclusive without anything scored", () => {
    const heads = Object.fromEntries(ten.map((id) => [id, { head: "bbbbb" }]));
    expect(verdictOn(screen(ten, bank(ten, 20)), evidenceOf(heads))).toMatchObject({
      kind: "inconclusive",
      basis: { kind: "nothing scored" },
    });
  });
});

describe("anytime", () => {
  it("asks round by round, and stops as soon as the evidence is there", () => {
    expect(anytime(["a"]).next(evidenceOf({}))).toMatchObject({ look: 1, requests: [{ trials: 1 }, { trials: 1 }] });
    const verdict = verdictOn(anytime(["a"]), evidenceOf({ a: { base: "p".repeat(20), head: "f".repeat(20) } }));
    expect(verdict).toMatchObject({
      kind: "regressed",
      method: "anytime",
      criterion: { kind: "e-value", threshold: 20 },
    });
    expect(verdict.look).toBeLessThan(10);
    expect(verdict.flagged.map((one) => one.case)).toEqual(["a"]);
  });

  it("clears a suite, and ends at its last round", () => {
    const long = "p".repeat(10);
    expect(verdictOn(anytime(ten), evidenceOf(all(ten, long, long)))).toMatchObject({ kind: "no-regression", look: 5 });
    expect(verdictOn(anytime(["a"], 0.1, 3), evidenceOf(all(["a"], "ppp", "ppp")))).toMatchObject({
      kind: "inconclusive",
      look: 3,
    });
    expect(verdictOn(anytime(["a"], 0.1, 3), evidenceOf(all(["a"], "bbb", "bbb")))).toMatchObject({
      kind: "inconclusive",
      unscored: ["a"],
    });
  });
});

describe("deterministic", () => {
  const design = deterministic(["a", "b"]);

  it("asks once, and takes a difference for a difference", () => {
    expect(design.next(evidenceOf({}))).toMatchObject({ kind: "ask", requests: { length: 4 } });
    const verdict = verdictOn(design, evidenceOf({ a: { base: "p", head: "f" }, b: { base: "f", head: "p" } }));
    expect(verdict).toMatchObject({
      kind: "regressed",
      method: "deterministic",
      criterion: { kind: "equality" },
      basis: { kind: "dropped", test: null },
      net: { change: 0 },
    });
  });

  it("clears equal answers, and nothing that broke", () => {
    expect(verdictOn(design, evidenceOf(all(["a", "b"], "p", "p")))).toMatchObject({ kind: "no-regression" });
    expect(verdictOn(design, evidenceOf({ a: { base: "p", head: "b" }, b: { base: "p", head: "p" } }))).toMatchObject({
      kind: "inconclusive",
      unscored: ["a"],
    });
  });
});
