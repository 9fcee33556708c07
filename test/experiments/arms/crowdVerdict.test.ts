import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { askAll, simulate } from "../../../src/evals/asking/trials/design.ts";
import type { Score, Trial } from "../../../src/evals/base/types/trial.ts";
import { CrowdTally, crowdArm, orderForeignTools } from "../../../src/evals/experiments/arms/crowdVerdict.ts";
import { aTrial } from "../../fakes/record.ts";
import { aTool } from "../../fakes/suite.ts";

const foreign = (...names: string[]) => names.map((name) => aTool(name, { origin: "distractor", server: "other" }));
const many = foreign(...Array.from({ length: 30 }, (_, at) => `tool-${at}`));

describe("the crowd", () => {
  test("has the same order for the same seed, whatever the order of the files, and others for others", () => {
    const names = (tools: typeof many, seed: number) =>
      orderForeignTools(tools, new Set(), seed).tools.map(({ name }) => name);
    fc.assert(
      fc.property(fc.shuffledSubarray(many, { minLength: 30 }), fc.integer(), (shuffled, seed) => {
        expect(names(shuffled, seed)).toEqual(names(many, seed));
      }),
    );
    expect(names(many, 1)).not.toEqual(names(many, 2));
    expect(names(many, 1).toSorted()).toEqual(many.map(({ name }) => name).toSorted());
  });

  it("leaves out names that are taken, by own tools or by foreign ones before", () => {
    const twice = foreign("read", "mail", "mail", "chat");
    const { tools, leftOut } = orderForeignTools(twice, new Set(["read"]), 7);
    expect(tools.map(({ name }) => name).sort()).toEqual(["chat", "mail"]);
    expect(leftOut).toEqual([twice[0], twice[2]]);
  });
});

describe("the design", () => {
  const cases = [
    { id: "a", trials: 2 },
    { id: "b", trials: 1 },
  ];

  it("asks every case as often as it is to be asked, in every arm, and then is done", () => {
    const design = askAll(cases, ["crowd-0", "crowd-9"], 1, () => "asked");
    expect(design.cap).toBe(6);
    const asked: string[] = [];
    const { verdict } = simulate(design, (id, arm, trial) => {
      asked.push(`${id} ${arm} ${trial}`);
      return "pass";
    });
    expect(verdict).toBe("asked");
    expect(asked.sort()).toEqual([
      ...["a crowd-0 1", "a crowd-0 2", "a crowd-9 1", "a crowd-9 2"],
      ...["b crowd-0 1", "b crowd-9 1"],
    ]);
  });
});

const wrong = (selection: Score["selection"], picked: string): Partial<Trial> => {
  const [turn] = aTrial("a", 1).turns;
  const calls = picked === "(none)" ? [] : [{ id: "1", tool: picked, arguments: {} }];
  return {
    verdict: { grade: "fail", selection, expected: "read", picked, checks: [] },
    turns: turn ? [{ ...turn, calls }] : [],
  };
};

function tallyOf(certain: boolean, arms: Record<number, Record<string, Partial<Trial>[]>>) {
  const sizes = Object.keys(arms).map(Number);
  const tally = new CrowdTally({ cases: ["a", "b"], sizes, certain }, (_, tool) => tool === "mail");
  for (const [size, cases] of Object.entries(arms))
    for (const [id, trials] of Object.entries(cases))
      for (const [at, changes] of trials.entries()) {
        const trial = aTrial(id, at + 1, changes);
        tally.add({ ...trial, cell: { ...trial.cell, arm: crowdArm(Number(size)) } });
      }
  return tally.curve();
}

const pass: Partial<Trial> = {};
const times = <T>(n: number, one: T): T[] => Array.from({ length: n }, () => one);
const mail = wrong("wrong-tool", "mail");

describe("the curve", () => {
  it("reports rates, changes against the smallest size, exact p-values, and what was picked instead", () => {
    const { points, falls } = tallyOf(false, {
      0: { a: times(10, pass), b: times(10, pass) },
      10: { a: [...times(9, pass), wrong("no-call", "(none)")], b: times(10, pass) },
      50: {
        a: [
          ...times(2, pass),
          ...times(6, mail),
          wrong("wrong-tool", "write"),
          wrong("unknown-tool", "raed (unknown)"),
        ],
        b: [...times(9, pass), wrong("wrong-arguments", "read")],
      },
    });
    expect(points[0]).toMatchObject({ size: 0, passed: 20, trials: 20, change: null, p: null, adjusted: null });
    // One of 20 failed: under no change it is in either arm with equal chance.
    expect(points[1]).toMatchObject({ size: 10, passed: 19, p: 0.5, adjusted: 0.5, instead: { "no tool": 1 } });
    expect(points[1]?.change?.change).toBeCloseTo(-0.05, 12);
    expect(points[2]).toMatchObject({ size: 50, passed: 11, trials: 20, broken: 0 });
    expect(points[2]?.p).toBeLessThan(0.001);
    expect(points[2]?.adjusted).toBe((points[2]?.p ?? 0) * 2);
    expect(points[2]?.instead).toEqual({
      "foreign tool": 6,
      "own tool": 1,
      "unknown tool": 1,
      "right tool, wrong call": 1,
    });
    expect(falls).toEqual([
      {
        case: "a",
        alone: { passed: 10, trials: 10 },
        crowded: { passed: 2, trials: 10 },
        picked: [
          { tool: "mail", n: 6 },
          { tool: "raed (unknown)", n: 1 },
          { tool: "write", n: 1 },
        ],
      },
      {
        case: "b",
        alone: { passed: 10, trials: 10 },
        crowded: { passed: 9, trials: 10 },
        picked: [{ tool: "read", n: 1 }],
      },
    ]);
  });

  it("has no p-value and no interval of a change for a deterministic model", () => {
    const { points } = tallyOf(true, { 0: { a: [pass], b: [pass] }, 10: { a: [mail], b: [pass] } });
    expect(points[1]).toMatchObject({ p: null, adjusted: null, change: { change: -0.5, interval: null } });
  });

  it("keeps what broke out of every rate", () => {
    const broken: Partial<Trial> = { outcome: { kind: "broken", stage: "model", message: "529" }, turns: [] };
    const { points, falls } = tallyOf(false, {
      0: { a: times(3, pass), b: times(3, broken) },
      5: { a: times(3, broken), b: times(3, broken) },
    });
    expect(points).toMatchObject([
      { passed: 3, trials: 3, broken: 3 },
      { passed: 0, trials: 0, broken: 6, interval: null, change: null, p: null, instead: {} },
    ]);
    expect(falls).toEqual([]);
  });

  it("is a single point where there is a single size", () => {
    const { points, falls } = tallyOf(false, { 5: { a: [pass], b: [mail] } });
    expect(points).toMatchObject([{ size: 5, passed: 1, trials: 2 }]);
    expect(falls).toEqual([]);
  });
});
