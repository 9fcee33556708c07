import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { designEffect, OrderSchedule } from "../../../src/evals/experiments/design/schedule.ts";
import { idsOf } from "./support.ts";

const stages = [3, 2, 3, 4, 6, 7, 10, 5];
const casesOf = (n: number) => idsOf(Array.from({ length: n }, () => 0));

/** The orders that each case gets in these stages. */
function play(schedule: OrderSchedule, cases: readonly string[], trials: readonly number[]): number[][] {
  const orders = cases.map((): number[] => []);
  let from = 1;
  for (const k of trials) {
    schedule.openStage(k);
    for (const [i, id] of cases.entries()) {
      schedule.take({ case: id, from, to: from + k - 1 }, false);
      for (let t = from; t < from + k; t++) orders[i]?.push(schedule.orderOf(id, t) ?? -1);
    }
    from += k;
  }
  return orders;
}

describe("OrderSchedule", () => {
  it.each([
    [5, [5, 2, 4, 4, 6, 7, 10, 5]],
    [10, [5, 2, 4, 4, 6, 7, 10, 5]],
    [50, [15, 10, 15, 20, 30, 35, 50, 25]],
    [200, [60, 40, 60, 80, 120, 140, 200, 100]],
  ])("takes new orders in every stage, about a tenth of the pairs: %i cases", (n, sizes) => {
    const cases = casesOf(n);
    const orders = play(new OrderSchedule({ cases, seed: 7 }), cases, stages);
    let [from, first] = [0, 0];
    for (const [s, size] of sizes.entries()) {
      const pool = orders.flatMap((own) => own.slice(from, from + (stages[s] ?? 0)));
      from += stages[s] ?? 0;
      expect([Math.min(...pool), Math.max(...pool), new Set(pool).size]).toEqual([first, first + size - 1, size]);
      const counts = [...new Set(pool)].map((order) => pool.filter((one) => one === order).length);
      expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(2);
      first += size;
    }
  });

  it("needs the eleven orders sooner where the cap is low", () => {
    const cases = casesOf(10);
    const orders = play(new OrderSchedule({ cases, seed: 1, cap: 5 }), cases, [3, 2]);
    expect(new Set(orders.flat()).size).toBe(11);
  });

  it("gives no case an order with a wording twice before all were used, then repeats them in sequence", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(1, 2, 6, 24, 120),
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 12 }),
        fc.constantFrom(1, 10),
        fc.nat(),
        fc.array(fc.tuple(fc.integer({ min: 1, max: 9 }), fc.boolean()), { minLength: 1, maxLength: 8 }),
        (tools, wordings, n, pairsPerOrder, seed, steps) => {
          const cases = casesOf(n);
          const requests = tools * wordings;
          const setup = { cases, seed, pairsPerOrder, requests: () => requests, wordings: () => wordings };
          const schedule = new OrderSchedule(setup);
          const asked = cases.map(() => 0);
          for (const [k, isAhead] of steps) {
            schedule.openStage(k);
            for (const [i, id] of cases.entries()) {
              if (isAhead && i % 2) continue;
              const from = (asked[i] ?? 0) + 1;
              schedule.take({ case: id, from, to: from + k - 1 }, isAhead);
              asked[i] = from + k - 1;
            }
          }
          for (const [i, id] of cases.entries()) {
            expect(schedule.countOrders(id)).toBe(tools);
            const all = Array.from(
              { length: asked[i] ?? 0 },
              (_, t) => `${schedule.orderOf(id, t + 1)} ${t % wordings}`,
            );
            expect(new Set(all.slice(0, requests)).size).toBe(Math.min(requests, all.length));
            expect(all.slice(requests)).toEqual(all.slice(0, Math.max(0, all.length - requests)));
            expect(schedule.askedTrials(id).toSorted((a, b) => a - b)).toEqual(all.map((_, t) => t + 1));
          }
        },
      ),
    );
  });

  it("gives a trial that runs ahead an order that others have or will have", () => {
    const cases = casesOf(10);
    const schedule = new OrderSchedule({ cases, seed: 3 });
    play(schedule, cases, [3]);
    schedule.take({ case: "case 1", from: 4, to: 8 }, true);
    const ahead = [4, 5, 6, 7, 8].map((trial) => schedule.orderOf("case 1", trial) ?? -1);
    expect(ahead.filter((order) => order < 5)).toHaveLength(2);
    expect(ahead.slice(2)).toEqual([5, 6, 7]);
  });

  it("has an order of its own for every pair where nothing is shared", () => {
    const cases = casesOf(6);
    const schedule = new OrderSchedule({ cases, seed: 3, pairsPerOrder: 1 });
    const orders = play(schedule, cases, [3, 2]);
    schedule.take({ case: "case 2", from: 6, to: 12 }, true);
    const ahead = Array.from({ length: 7 }, (_, t) => schedule.orderOf("case 2", t + 6) ?? -1);
    expect(new Set([...orders.flat(), ...ahead]).size).toBe(37);
  });
});

describe("designEffect", () => {
  const pairs = Array.from({ length: 4 }, (_, i) => ({
    orders: [0, 1, 2, 3, 4].map((t) => (i + t) % 6),
    differences: [0, 1, 2, 3, 4].map((t) => Number((i + t) % 6 === 0) - Number((i * t) % 7 === 6)),
  }));

  it("is that of the reference", () => {
    expect(designEffect(pairs)).toEqual({ orders: 6, effect: expect.closeTo(3, 12) });
  });

  it.each([
    ["all orders that exist are in use", pairs, 6],
    ["nothing differs", pairs.map((one) => ({ ...one, differences: one.differences.map(() => 1) })), 24],
    ["no order is shared", pairs.map((one, i) => ({ ...one, orders: one.orders.map((_, t) => 5 * i + t) })), 1000],
  ])("is 1 where %s", (_, cases, exist) => {
    expect(designEffect(cases, exist).effect).toBe(1);
  });
});
