import { describe, expect, test } from "vitest";
import { nextStep, simulate } from "../../../src/evals/asking/trials/design.ts";
import { seededRandom } from "../../../src/evals/base/stats/random.ts";
import { driftVerdictSchema } from "../../../src/evals/base/types/drift.ts";
import { DriftMonitor } from "../../../src/evals/experiments/drift/design.ts";
import {
  type DriftHistory,
  nightArm,
  nightDesign,
  readNight,
  replayNights,
} from "../../../src/evals/experiments/drift/verdict.ts";
import { idsOf, suites } from "../design/support.ts";

const counts = (passed: number, trials = 3) => ({ passed, trials });
const bankOf = (...passed: readonly number[]) => new Map(passed.map((x, i) => [`c${i + 1}`, [counts(x, 20)]]));
const nightOf = (...passed: readonly number[]) => new Map(passed.map((x, i) => [`c${i + 1}`, counts(x)]));

/** Plays so many nights, these one after the other; each of them once if no number is given. */
function play(monitor: DriftMonitor, nights: readonly (readonly number[])[], count = nights.length): void {
  for (let at = 0; at < count; at++) {
    monitor.startNight(`night ${at + 1}`, nightOf(...(nights[at % nights.length] ?? [])));
    monitor.endNight();
  }
}

describe("the monitor", () => {
  test("quiet nights: inconclusive first, then no drift", () => {
    const monitor = new DriftMonitor(bankOf(20, 20, 20, 19, 20, 20, 20, 18));
    expect(monitor.verdict()).toMatchObject({ kind: "inconclusive", because: "few-nights", net: null });
    play(monitor, [[3, 3, 3, 3, 3, 3, 3, 3]], 10);
    const verdict = monitor.verdict();
    expect(verdict).toMatchObject({ kind: "no-drift", nights: 10, net: { nights: 10, trials: 240 } });
    expect(verdict.score).toBeLessThan(1.2);
    expect(driftVerdictSchema.parse(verdict)).toEqual(verdict);
  });

  test.each([
    { what: "like the baseline", passes: [3, 2, 2, 2, 3, 3], nights: 60, joined: 28 },
    { what: "like the baseline, three blocks of them", passes: [3, 2, 2, 2, 3, 3], nights: 112, joined: 84 },
    { what: "above it by a tenth", passes: [3, 2, 3, 3, 3, 3], nights: 60, joined: 0 },
    { what: "too few to leave 28", passes: [3, 2, 2, 2, 3, 3], nights: 55, joined: 0 },
  ])("nights $what: $joined join the baseline", ({ passes, nights, joined }) => {
    const bank = new Map(passes.map((_, i) => [`c${i + 1}`, [counts([20, 13, 13, 14, 20, 20][i] ?? 0, 20)]]));
    const monitor = new DriftMonitor(bank);
    play(monitor, [passes], nights);
    expect(monitor.verdict().net).toMatchObject({ nights: 28, joined });
  });

  test.each([
    [
      "with the trials that would do",
      16,
      [
        [3, 2, 2, 3, 2, 2],
        [2, 2, 3, 2, 3, 2],
        [2, 3, 2, 2, 2, 3],
      ],
      40,
    ],
    [
      "or that none would",
      12,
      [
        [2, 2, 1, 2, 2, 2],
        [1, 2, 2, 2, 2, 1],
        [2, 1, 2, 2, 1, 2],
      ],
      0,
    ],
  ] as const)("a baseline that is too small is said to be, %s", (_, passed, nights, wanted) => {
    const monitor = new DriftMonitor(bankOf(...Array.from({ length: 6 }, () => passed)));
    play(monitor, nights, 30);
    const verdict = monitor.verdict();
    expect(verdict).toMatchObject({ kind: "inconclusive", because: "few-nights", wanted });
    expect(driftVerdictSchema.parse(verdict)).toEqual(verdict);
  });

  test("a break is an alarm the same night, with follow-ups; it lasts, or it was a blip", () => {
    const quiet = Array.from({ length: 8 }, () => [3, 3, 2, 3]);
    const monitor = new DriftMonitor(bankOf(20, 20, 10, 20));
    play(monitor, quiet);
    monitor.startNight("night 9", nightOf(0, 3, 2, 3));
    while (monitor.followUps().length > 0) {
      expect(monitor.followUps()).toEqual(["c1"]);
      monitor.addFollowUp("c1", counts(0, 1));
    }
    monitor.endNight();
    const alarmed = monitor.verdict();
    expect(alarmed).toMatchObject({
      kind: "drifted",
      alarm: {
        night: "night 9",
        since: "night 9",
        direction: "down",
        fate: "open",
        cases: [{ case: "c1", before: { passed: 44, trials: 44 }, after: { passed: 0, trials: 10 } }],
      },
    });
    expect(driftVerdictSchema.parse(alarmed)).toEqual(alarmed);
    monitor.startNight("night 10", nightOf(3, 3, 2, 3));
    monitor.endNight();
    const back = monitor.verdict();
    expect(back).toMatchObject({ kind: "back", alarm: { fate: "blip", nightsAfter: 1 }, nights: 9 });
    monitor.startNight("night 11", nightOf(3, 3, 2, 3));
    monitor.endNight();
    expect(monitor.verdict()).toMatchObject({ alarms: [{ fate: "blip", night: "night 9" }], nights: 10 });
    expect(["no-drift", "inconclusive"]).toContain(monitor.verdict().kind);
    // The same break again, and this time it stays.
    for (const night of ["night 12", "night 13", "night 14", "night 15"]) {
      monitor.startNight(night, nightOf(0, 3, 2, 3));
      monitor.endNight();
    }
    expect(monitor.verdict()).toMatchObject({ kind: "drifted", alarm: { fate: "lasting" } });
  });

  test("better is drift too", () => {
    const monitor = new DriftMonitor(bankOf(1, 20, 20));
    play(monitor, [[3, 3, 3]], 5);
    expect(monitor.verdict()).toMatchObject({
      kind: "drifted",
      alarm: { direction: "up", cases: [{ case: "c1", direction: "up" }] },
    });
  });

  test("all cases a little: no case is named", () => {
    const bank = Array.from({ length: 40 }, () => 16);
    const monitor = new DriftMonitor(bankOf(...bank));
    play(
      monitor,
      Array.from({ length: 12 }, (_, n) =>
        bank.map((_, i) => (n < 4 ? ((n + i) % 3 === 0 ? 2 : 3) - ((n + i) % 7 === 0 ? 1 : 0) : 1 + ((n + i) % 2))),
      ),
    );
    expect(monitor.verdict()).toMatchObject({ kind: "drifted", alarm: { direction: "down", cases: [] } });
    const { alarms } = monitor.verdict();
    expect(alarms[0]?.change).toBeLessThan(-0.1);
  });

  test("a suspect case keeps it open", () => {
    const monitor = new DriftMonitor(bankOf(20, 20, 20, 20));
    play(monitor, [
      [3, 3, 3, 3],
      [1, 3, 3, 3],
      [1, 3, 3, 3],
    ]);
    expect(monitor.verdict()).toMatchObject({ kind: "inconclusive", because: "suspects", suspects: [{ case: "c1" }] });
  });

  test("new, removed and missed cases move no score by themselves", () => {
    const monitor = new DriftMonitor(bankOf(20, 20));
    play(monitor, [
      [3, 3],
      [3, 3],
    ]);
    const before = monitor.verdict().score;
    monitor.startNight("without c2", new Map([["c1", counts(3)]]));
    monitor.endNight();
    monitor.startNight(
      "with c3",
      new Map([
        ["c1", counts(3)],
        ["c3", counts(0)],
      ]),
    );
    monitor.endNight();
    expect(Math.abs(monitor.verdict().score - before)).toBeLessThan(0.3);
    expect(monitor.followUps()).toEqual([]);
  });

  test("a night with more than 5 % missing is set aside", () => {
    const monitor = new DriftMonitor(bankOf(20));
    expect(monitor.startNight("bad", nightOf(0), 0.06)).toBe(false);
    expect(monitor.verdict()).toMatchObject({ nights: 0, score: 1 });
  });

  test("families raise the threshold", () => {
    const one = new DriftMonitor(bankOf(20, 20, 20), { families: 50 });
    play(one, [
      [3, 3, 3],
      [0, 3, 3],
    ]);
    expect(one.verdict()).toMatchObject({ threshold: 1000 });
    expect(one.verdict().kind).not.toBe("drifted");
  });
});

describe("a night as a design", () => {
  const rates = suites.M_MIX10;
  const cases = idsOf(rates);
  const bankNight = (rate: number) => counts(Math.round(20 * rate), 20);
  const empty: DriftHistory = { nights: [], bank: new Map(cases.map((id, i) => [id, [bankNight(rates[i] ?? 0)]])) };

  test("asks three trials a case, follows up what looks different, and the history gives the same verdict again", () => {
    const random = seededRandom(3);
    let history = empty;
    for (let n = 1; n <= 6; n++) {
      const setup = { night: `n${n}`, cases, history };
      const { verdict, record, calls } = simulate(nightDesign(setup), (id) =>
        random.next() < (n === 6 && id === "case 1" ? 0 : (rates[cases.indexOf(id)] ?? 0)) ? "pass" : "fail",
      );
      const passes = readNight(setup, record) ?? new Map();
      history = { ...history, nights: [...history.nights, { night: setup.night, passes }] };
      expect(replayNights(history).verdict()).toEqual(verdict);
      expect(nextStep(nightDesign(setup), record)).toEqual({ kind: "decided", verdict });
      if (n < 6) expect(verdict.kind).not.toBe("drifted");
      else
        expect(verdict).toMatchObject({ kind: "drifted", alarm: { cases: [{ case: "case 1", direction: "down" }] } });
      expect(calls).toBeGreaterThanOrEqual(30);
      expect(calls).toBeLessThanOrEqual(30 + 7 * 3);
    }
    const followUps = { passed: 0, trials: 7 };
    expect(history.nights.at(-1)?.passes.get("case 1")).toEqual({ passed: 0, trials: 3, followUps });
  });

  test("an outage sets the night aside", () => {
    const setup = { night: "n1", cases, history: empty };
    const { verdict, record } = simulate(nightDesign(setup), (id) => (id === "case 1" ? "missing" : "pass"));
    expect(verdict).toMatchObject({ nights: 0 });
    expect(readNight(setup, record)).toBeUndefined();
    expect(record.paid("case 1", nightArm).calls).toBe(9);
  });
});

test("an unchanged model raises an alarm in few histories of 60 nights; one broken case is reported the same night", () => {
  const rates = suites.M_MIX10;
  const watch = (seed: number, brokenFrom: number): number => {
    const random = seededRandom(seed);
    const draw = (rate: number, trials: number) =>
      counts(
        Array.from({ length: trials }, () => Number(random.next() < rate)).reduce((a, b) => a + b, 0),
        trials,
      );
    const monitor = new DriftMonitor(new Map(rates.map((rate, i) => [`c${i}`, [draw(rate, 20)]])));
    for (let n = 1; n <= 60; n++) {
      const tonight = rates.map((rate, i) => (i === 0 && n >= brokenFrom ? 0 : rate));
      monitor.startNight(String(n), new Map(tonight.map((rate, i) => [`c${i}`, draw(rate, 3)])));
      for (let more = monitor.followUps(); more.length > 0; more = monitor.followUps())
        for (const id of more) monitor.addFollowUp(id, draw(tonight[Number(id.slice(1))] ?? 0, 1));
      monitor.endNight();
      if (monitor.verdict().kind === "drifted") return n;
    }
    return Number.POSITIVE_INFINITY;
  };
  const alarms = Array.from({ length: 30 }, (_, seed) => watch(seed, 100)).filter(Number.isFinite);
  expect(alarms.length).toBeLessThanOrEqual(2);
  const reported = Array.from({ length: 10 }, (_, seed) => watch(seed + 50, 20));
  expect(reported.filter((night) => night === 20).length).toBeGreaterThanOrEqual(9);
});
