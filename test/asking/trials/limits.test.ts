import { describe, expect, it } from "vitest";
import { SpendingLimits } from "../../../src/evals/asking/trials/limits.ts";
import { type AskedModel, type ModelRequest, noUsage, type Reply } from "../../../src/evals/base/types/model.ts";

const never = new AbortController().signal;
const request: ModelRequest = {
  cell: { suite: "s", case: "c", arm: "head", model: "m", trial: 1 },
  turn: 1,
  messages: [{ role: "user", content: "hi" }],
  tools: [],
  toolset: "none",
};

/** A model whose reply costs `usd`, of at most 10 dollars. */
function priced(usd: number, more: Partial<AskedModel> = {}): AskedModel & { sent: number } {
  const model = {
    id: "m",
    kind: "language model" as const,
    settings: {},
    maxOutputTokens: 10,
    deterministic: false,
    cost: ({ outputTokens }: { outputTokens: number }) => outputTokens,
    sent: 0,
    ask: async (): Promise<Reply> => {
      model.sent++;
      await Promise.resolve();
      return {
        kind: "turn",
        turn: { text: "", calls: [], stop: "done", usage: { ...noUsage, outputTokens: usd }, ms: 1 },
      };
    },
    ...more,
  };
  return model;
}

const askAll = async (model: AskedModel, many: number) => {
  const replies = await Promise.all(Array.from({ length: many }, () => model.ask(request, never)));
  return replies.flatMap((reply) => (reply.kind === "broken" ? [`${reply.stage}: ${reply.message}`] : []));
};

describe("a budget", () => {
  it.each([1, 20, 100])("of $30 is not exceeded by %i concurrent requests of $1 each", async (many) => {
    const limits = new SpendingLimits({ budgetUsd: 30 });
    const model = priced(1);
    const refused = await askAll(limits.guard(model), many);
    expect(model.sent).toBe(Math.min(many, 30));
    expect(refused).toEqual(Array(Math.max(0, many - 30)).fill("budget: not asked: The budget of $30 is spent"));
  });

  it("is exceeded by less than one request when each costs the maximum", async () => {
    const limits = new SpendingLimits({ budgetUsd: 34 });
    const model = priced(10);
    await askAll(limits.guard(model), 100);
    expect(model.sent * 10).toBe(40);
  });

  it("lets one request through that may exceed it, when nothing is in flight", async () => {
    const limits = new SpendingLimits({ budgetUsd: 0.5 });
    const model = priced(0.2);
    await askAll(limits.guard(model), 10);
    expect(model.sent).toBe(3);
  });

  it("counts unusable replies, replies of a judge, and the cost of a resumed record", async () => {
    const limits = new SpendingLimits({ budgetUsd: 10 });
    limits.addSpent(4);
    const lost = { ...noUsage, outputTokens: 3 };
    const breaking = priced(0, { ask: async () => ({ kind: "broken", stage: "model", message: "cut", lost }) });
    const judge = limits.guard(priced(2));
    await limits.guard(breaking).ask(request, never);
    expect(limits.reached).toBeUndefined();
    await judge.ask(request, never);
    await judge.ask(request, never);
    expect(limits.reached).toBe("The budget of $10 is spent");
  });

  it("does not keep a cancelled request waiting", async () => {
    const stop = new AbortController();
    const limits = new SpendingLimits({ budgetUsd: 11 });
    const slow = priced(1, {
      ask: () =>
        new Promise((resolve) =>
          stop.signal.addEventListener("abort", () =>
            resolve({ kind: "broken", stage: "cancelled", message: "the request was cancelled" }),
          ),
        ),
    });
    const model = limits.guard(slow);
    const both = [model.ask(request, stop.signal), model.ask(request, stop.signal)];
    await new Promise(setImmediate);
    stop.abort();
    const cancelled = { kind: "broken", stage: "cancelled" };
    expect(await Promise.all(both)).toMatchObject([cancelled, cancelled]);
  });
});

it("requests are limited in number, and in time", async () => {
  const few = new SpendingLimits({ maxRequests: 3 });
  const model = priced(1);
  expect(await askAll(few.guard(model), 5)).toEqual(
    Array(2).fill("budget: not asked: The limit of 3 requests is reached"),
  );
  let now = 0;
  const short = new SpendingLimits({ maxSeconds: 60 }, () => now);
  expect(await askAll(short.guard(priced(1)), 5)).toEqual([]);
  now = 60_000;
  expect(await askAll(short.guard(priced(1)), 1)).toEqual(["budget: not asked: The time limit of 60 s is reached"]);
});

it("of trials that may need several requests, those wait that leave no room, until others needed fewer", async () => {
  const limits = new SpendingLimits({ maxRequests: 4 });
  const reserve = () => limits.reserve({ cost: 0, requests: 3 }, never);
  const first = await reserve();
  const order: string[] = [];
  const second = reserve().finally(() => order.push("second"));
  await new Promise(setImmediate);
  order.push("first needed one");
  if (typeof first === "function") first({ cost: 0, requests: 1 });
  const settle = await second;
  expect(order).toEqual(["first needed one", "second"]);
  if (typeof settle === "function") settle({ cost: 0, requests: 2 });
  const message = "not asked: The limit of 4 requests leaves no room for a trial of up to 3";
  expect(await reserve()).toEqual({ kind: "broken", stage: "budget", message });
});
