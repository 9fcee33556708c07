import { describe, expect, it } from "vitest";
import { createSlots } from "../../../src/evals/asking/hosts/model.ts";

const never = new AbortController().signal;

describe("slots", () => {
  it("limit concurrency, first come, first served, and skip who gave up", async () => {
    const take = createSlots(2);
    const first = await take(never);
    const second = await take(never);
    const controller = new AbortController();
    const order: string[] = [];
    const impatient = take(controller.signal);
    const third = take(never).then((release) => {
      order.push("third");
      return release;
    });
    const fourth = take(never).then((release) => {
      order.push("fourth");
      return release;
    });
    controller.abort();
    expect(await impatient).toBeUndefined();
    expect(order).toEqual([]);
    first?.();
    first?.();
    (await third)?.();
    second?.();
    await fourth;
    expect(order).toEqual(["third", "fourth"]);
    expect(await take(AbortSignal.abort())).toBeUndefined();
  });
});
