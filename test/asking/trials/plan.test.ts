import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { orderTools, planCells, TrialOrders } from "../../../src/evals/asking/trials/plan.ts";
import { cellKey } from "../../../src/evals/base/types/trial.ts";
import { computeCeiling } from "../../../src/evals/experiments/pipeline/price.ts";
import { scriptedModel, turn } from "../../fakes/model.ts";
import { aCase, aSuite, aTool, aToolset } from "../../fakes/suite.ts";

const toolset = aToolset(aTool("read"), aTool("write"));
const planned = (suite: string, ...trials: number[]) => {
  const cases = trials.map((n, index) => aCase(`c${index}`, { trials: n }));
  const loaded = aSuite(suite, cases);
  return cases.map((one) => ({ suite: loaded, case: one, arm: "head", toolset }));
};
const model = scriptedModel(() => turn(""));
const other = scriptedModel(() => turn(""), { id: "other", deterministic: true });

describe("planCells", () => {
  it("contains each cell once, whatever the number of trials per case", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 7 }), { maxLength: 6 }), (trials) => {
        const cells = [...planCells(planned("s", ...trials), [model, other], 1)].map(({ cell }) => cellKey(cell));
        expect(new Set(cells).size).toBe(cells.length);
        expect(cells.length).toBe(trials.reduce((sum, n) => sum + n + 1, 0));
      }),
    );
  });

  it("asks the first trial of all cases before the second of any", () => {
    const order = [...planCells(planned("s", 2, 3), [model], 1)].map(({ cell }) => `${cell.case}/${cell.trial}`);
    expect(order).toEqual(["c0/1", "c1/1", "c0/2", "c1/2", "c1/3"]);
  });

  it("returns the same plan for the same seed, and another tool order for another trial or seed", () => {
    const seeds = (seed: number) => [...planCells(planned("s", 3, 3), [model], seed)].map((one) => one.orderSeed);
    expect(seeds(7)).toEqual(seeds(7));
    expect(seeds(7)).not.toEqual(seeds(8));
    expect(new Set(seeds(7)).size).toBe(3);
  });
});

describe("TrialOrders", () => {
  const list = (...names: string[]) => names.map((name) => aTool(name));
  const shown = (tools: ReturnType<typeof list>, orders: TrialOrders, trials: number) =>
    Array.from({ length: trials }, (_, t) => orderTools(tools, orders.seedAt(t + 1)).map(({ name }) => name));

  it("uses every order of each list once before any repeats, whatever names the lists share", () => {
    const names = fc.uniqueArray(fc.constantFrom("a", "b", "c", "d", "e", "f"), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(names, names, fc.nat(), (base, head, seed) => {
        const lists = [list(...base), list(...head)];
        const orders = new TrialOrders(seed, "s", "c", lists);
        for (const tools of lists) {
          const seen = shown(tools, orders, orders.count).map(String);
          expect(new Set(seen).size).toBe(orders.count);
          expect(
            shown(tools, orders, 2 * orders.count)
              .slice(orders.count)
              .map(String),
          ).toEqual(seen);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("uses every pair of order and paraphrase once before a request repeats", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 6 }), fc.nat(), (tools, wordings, seed) => {
        const listed = list(..."abcd".slice(0, tools));
        const orders = new TrialOrders(seed, "s", "c", [listed], wordings);
        const requests = shown(listed, orders, orders.count).map((order, t) => `${order} ${t % wordings}`);
        expect(new Set(requests).size).toBe(orders.count);
      }),
    );
  });

  it("keeps the common tools of two lists in one order, and gives cases orders of their own", () => {
    const [base, head] = [list("a", "b", "c", "d"), list("a", "b", "c", "d", "e")];
    const orders = new TrialOrders(1, "s", "c", [base, head]);
    const [old, now] = [shown(base, orders, 24), shown(head, orders, 24)];
    expect(now.map((order) => order.filter((name) => name !== "e"))).toEqual(old);
    expect(shown(base, new TrialOrders(1, "s", "other", [base]), 24)).not.toEqual(old);
  });

  it("has more orders than any run needs for a long list", () => {
    const long = list(...Array.from({ length: 20 }, (_, i) => `tool${i}`));
    const orders = new TrialOrders(1, "s", "c", [long]);
    expect(orders.count).toBe(Number.POSITIVE_INFINITY);
    expect(new Set(shown(long, orders, 100).map(String)).size).toBe(100);
  });
});

describe("orderTools", () => {
  const tools = ["a", "b", "c", "d", "e", "f"].map((name) => aTool(name));

  it("shuffles by the seed, whatever the order of the list", () => {
    const names = (seed: number, list = tools) =>
      orderTools(list, seed)
        .map(({ name }) => name)
        .join("");
    expect(names(5, tools.toReversed())).toBe(names(5));
    expect(new Set(Array.from({ length: 50 }, (_, seed) => names(seed))).size).toBeGreaterThan(40);
  });

  it("leaves the others in their order when a tool is added", () => {
    const without = tools.filter(({ name }) => name !== "c");
    expect(orderTools(tools, 9).filter(({ name }) => name !== "c")).toEqual(orderTools(without, 9));
  });

  it("puts every tool first about equally often", () => {
    const firsts = Array.from({ length: 600 }, (_, seed) => orderTools(tools, seed)[0]?.name);
    for (const { name } of tools) {
      const n = firsts.filter((first) => first === name).length;
      expect(n).toBeGreaterThan(65);
      expect(n).toBeLessThan(140);
    }
  });
});

describe("computeCeiling", () => {
  it("counts every turn of every trial, and says unknown when no price is known", () => {
    const cases = planned("s", 2, 3).map((one) => ({ ...one, case: { ...one.case, maxTurns: 4 } }));
    const priced = scriptedModel(() => turn(""), {
      maxOutputTokens: 1000,
      cost: (usage) => (usage.inputTokens + 5 * usage.outputTokens) / 1e6,
    });
    const ceiling = computeCeiling(cases, priced);
    expect(ceiling).toMatchObject({ trials: 5, calls: 20, outputTokens: 20_000 });
    expect(ceiling.costUsd).toBeCloseTo((ceiling.inputTokens + 5 * ceiling.outputTokens) / 1e6, 9);
    expect(computeCeiling(cases, { ...priced, cost: () => "unknown" }).costUsd).toBe("unknown");
  });

  it("is free for a model that generates nothing", () => {
    expect(computeCeiling(planned("s", 5), { ...other, kind: "retrieval baseline", maxOutputTokens: 0 })).toEqual({
      trials: 1,
      batched: 0,
      calls: 1,
      inputTokens: 0,
      outputTokens: 0,
      costUsd: 0,
      typicalUsd: 0,
    });
  });
});
