import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  countOrders,
  OrderLine,
  orderTools,
  planCells,
  requestedCells,
} from "../../../src/evals/asking/trials/plan.ts";
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

describe("requestedCells", () => {
  const [one] = planned("s", 1);
  const line = new OrderLine(1, "s", [[...toolset.tools, aTool("list")]]);
  const arms = ["base", "head"];
  const requests = [0, 0, 1, 1].map((order, i) => ({ case: `c${i}`, trial: 1, arms, order }));
  const ask = (id: string) => {
    const find = ({ arm }: { arm: string }) => ({ ...(one as NonNullable<typeof one>), arm });
    const cells = { find, line: () => line, attempts: () => 0, model: scriptedModel(() => turn(""), { id }) };
    return [...requestedCells(requests, cells)];
  };
  const name = ({ cell }: { cell: { case: string; arm: string } }) => `${cell.case} ${cell.arm}`;

  it("sends the first pair of an order before the others of the order before", () => {
    const cells = ask("anthropic:claude");
    expect(cells.map(name)).toEqual(["c0", "c2", "c1", "c3"].flatMap((id) => arms.map((arm) => `${id} ${arm}`)));
    expect(cells.map(({ orderSeed }) => orderSeed === line.seedAt(0))).toEqual([1, 1, 0, 0, 1, 1, 0, 0].map(Boolean));
  });

  it.each(["ollama", "lmstudio", "llamacpp", "vllm"])("asks the arms of an order after each other on %s", (server) => {
    const expected = ["c0 base", "c1 base", "c0 head", "c1 head", "c2 base", "c3 base", "c2 head", "c3 head"];
    expect(ask(`${server}:model`).map(name)).toEqual(expected);
  });
});

describe("OrderLine", () => {
  const list = (...names: string[]) => names.map((name) => aTool(name));
  const shown = (tools: ReturnType<typeof list>, line: OrderLine, orders: number) =>
    Array.from({ length: orders }, (_, order) => orderTools(tools, line.seedAt(order)).map(({ name }) => name));
  const many = (n: number) => list(...Array.from({ length: n }, (_, i) => `tool${i}`));

  it("has every order of each list once before any repeats, whatever names the lists share", () => {
    const names = fc.uniqueArray(fc.constantFrom("a", "b", "c", "d", "e", "f"), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(names, names, fc.nat(), (base, head, seed) => {
        const lists = [list(...base), list(...head)];
        const line = new OrderLine(seed, "s", lists);
        const count = Math.min(...lists.map(countOrders));
        for (const tools of lists) expect(new Set(shown(tools, line, count).map(String)).size).toBe(count);
      }),
      { numRuns: 60 },
    );
  });

  it("keeps the common tools of two lists in one order", () => {
    const [base, head] = [list("a", "b", "c", "d"), list("a", "b", "c", "d", "e")];
    const line = new OrderLine(1, "s", [base, head]);
    const now = shown(head, line, 24).map((order) => order.filter((name) => name !== "e"));
    expect(now).toEqual(shown(base, line, 24));
  });

  it("has more orders than any run needs for a long list, another line for each seed and suite", () => {
    const long = many(20);
    const lines = [new OrderLine(1, "s", [long]), new OrderLine(2, "s", [long]), new OrderLine(1, "t", [long])];
    expect(new Set(lines.flatMap((line) => shown(long, line, 100)).map(String)).size).toBe(300);
  });

  it.each([6, 13, 20, 40])(
    "puts a tool of %i in each third of the list about equally often within eleven orders",
    (n) => {
      const thirds = Array.from({ length: 40 }, (_, seed) => {
        const orders = shown(many(n), new OrderLine(seed, "s", [many(n)]), 11);
        return orders.filter((order) => order.indexOf("tool0") >= (2 * n) / 3).length;
      });
      expect(Math.min(...thirds)).toBeGreaterThanOrEqual(2);
      expect(Math.max(...thirds)).toBeLessThanOrEqual(5);
    },
  );
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
    const free = computeCeiling(planned("s", 5), { ...other, kind: "retrieval baseline", maxOutputTokens: 0 });
    expect(free).toMatchObject({ trials: 1, calls: 1, inputTokens: 0, costUsd: 0, typicalUsd: 0 });
  });
});
