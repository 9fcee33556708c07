import { setTimeout as pause } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { runSummarySchema } from "../../src/evals/base/types/run.ts";
import type { Trial } from "../../src/evals/base/types/trial.ts";
import { work } from "../../src/evals/experiments/queue/worker.ts";
import { run } from "../../src/evals/experiments/run/run.ts";
import type { RunOptions } from "../../src/evals/experiments/run/runOptions.ts";
import { project, runDefaults } from "../experiments/pipeline/project.ts";
import { type BatchScript, startMessageBatches } from "../fixtures/endpoints/batches.ts";
import type { MessageAnswer, MessagesBody } from "../fixtures/endpoints/messages.ts";
import { noRedis, type RedisServer, startRedis } from "../fixtures/redis.ts";

// Whatever asks the trials of a run, the run is the same: in this process, in batches of a provider, or on a worker.

type Script = Partial<BatchScript<MessagesBody, MessageAnswer>>;
type World = { location: ReturnType<typeof project>; baseUrl: string };
type Asking = {
  options(): Partial<RunOptions>;
  /** Starts what answers beside the run, and returns what ends it. */
  start(world: World): () => Promise<unknown>;
  /** What a finished run has left behind. */
  listLeft(): Promise<string[]>;
};

const model = "anthropic:claude-haiku-5-5";
const env = { ANTHROPIC_API_KEY: "x" };
let redis: RedisServer | undefined;
const redisUrl = () => redis?.url ?? "";
beforeAll(async () => {
  if (!noRedis) redis = await startRedis();
});
afterAll(() => redis?.close());

const atOnce = () => async () => {};
const askings: Record<string, Asking> = {
  "in this process": { options: () => ({}), start: atOnce, listLeft: async () => [] },
  "in batches": { options: () => ({ batch: true }), start: atOnce, listLeft: async () => [] },
  "on a worker": {
    options: () => ({ queue: redisUrl() }),
    start({ location, baseUrl }) {
      const io = location.io({ env: { HOME: location.dir, ...env } });
      const working = work({ queue: redisUrl(), concurrency: 4, execute: "read-only", baseUrl }, io);
      return () => {
        io.stop();
        return working;
      };
    },
    listLeft: async () => (await redis?.use((client) => client.keys("evals:answers:*"))) ?? [],
  },
};

const cleanup: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanup.splice(0).reverse()) await clean();
  await redis?.use((client) => client.flushall());
});

const isAbout = (body: { messages: unknown }, text: string) => JSON.stringify(body.messages).includes(text);
const pick = (body: { messages: unknown }) =>
  isAbout(body, "notes.txt") ? ["read"] : isAbout(body, "folder") ? ["list"] : [];
const usage = { input_tokens: 1_000, output_tokens: 1_000 };
const answer = (body: MessagesBody): MessageAnswer => {
  return { text: "ok", calls: pick(body).map((name) => ({ name, input: {} })), usage };
};

/** A project, and a service that takes single requests and batches. `ask` runs it, with what answers beside it. */
async function open(asking: Asking, script: Script = {}) {
  const endpoint = await startMessageBatches({ answer, ...script });
  cleanup.push(endpoint.close);
  const location = project({}, (undo) => cleanup.push(undo));
  cleanup.push(asking.start({ location, baseUrl: endpoint.url }));
  const world = () => location.io({ env: { HOME: location.dir, ...env } });
  const options = { ...runDefaults, model: [model], baseUrl: endpoint.url, seed: 7, concurrency: 4, retries: 0 };
  const ask = async (changes: Partial<RunOptions> = {}, io = world()) => {
    const code = await run({ ...options, ...asking.options(), ...changes }, io);
    return { code, io, summary: runSummarySchema.parse(JSON.parse(io.printed())) };
  };
  const resume = async () => {
    const given = new Set(["resume", "json"]);
    const { queue } = asking.options();
    const io = world();
    return { code: await run({ ...runDefaults, resume: "latest", given, ...(queue && { queue }) } as never, io), io };
  };
  return { endpoint, world, ask, resume, trials: () => location.trials(location.records()[0] ?? "") };
}

/** Trials in the order of the plan, without times, ids and prices. */
const comparable = (trials: readonly Trial[]) =>
  trials
    .map(({ startedAt, ms, costUsd, ...trial }) => ({
      ...trial,
      turns: trial.turns.map(({ ms, batch, requestId, responseId, calls, ...turn }) => ({
        ...turn,
        calls: calls.map(({ id, ...call }) => call),
      })),
    }))
    .sort((a, b) => (JSON.stringify(a.cell) < JSON.stringify(b.cell) ? -1 : 1));

let expected: ReturnType<typeof comparable>;
beforeAll(async () => {
  const { ask, trials } = await open(askings["in this process"] as Asking);
  expect((await ask({ concurrency: 1 })).code).toBe(0);
  expected = comparable(trials());
  expect(expected).toHaveLength(9);
});

describe.each(Object.entries(askings))("trials asked %s", (name, asking) => {
  const skipped = name === "on a worker" && noRedis !== undefined;

  it.skipIf(skipped)("are those of the plan, whatever the order of the answers, and nothing is left", async () => {
    const { ask, trials, endpoint } = await open(asking, {
      // The later a request is sent, the sooner it is answered.
      treat: async (_, n) => {
        await pause(Math.max(0, 30 - 3 * n));
        return "normal" as const;
      },
    });
    expect(await ask()).toMatchObject({ code: 0, summary: { totals: { trials: 9, passed: 9 } } });
    expect(comparable(trials())).toEqual(expected);
    expect(endpoint.paid.plain + endpoint.paid.batched).toBe(9);
    expect(await asking.listLeft()).toEqual([]);
  });

  it.skipIf(skipped)("break where there is no answer, with the cause, and only there", async () => {
    const { ask, trials } = await open(asking, {
      answer: (body) =>
        isAbout(body, "folder")
          ? { end: "errored", type: "invalid_request_error", message: "the prompt is odd" }
          : answer(body),
    });
    expect(await ask()).toMatchObject({ code: 3, summary: { totals: { trials: 9, passed: 6, broken: 3 } } });
    const isOfList = ({ cell }: { cell: Trial["cell"] }) => cell.case === "list";
    for (const { outcome } of trials().filter(isOfList))
      expect(outcome).toMatchObject({ kind: "broken", message: expect.stringContaining("the prompt is odd") });
    expect(comparable(trials()).filter((one) => !isOfList(one))).toEqual(expected.filter((one) => !isOfList(one)));
  });

  it.skipIf(skipped)("stop at a signal, and are completed by a resume that pays nothing twice", async () => {
    let stop = () => {};
    const { ask, resume, world, trials, endpoint } = await open(asking, {
      treat: (operation, n) => {
        if (operation === "poll" || (operation === "plain" && n === 4)) stop();
        return "normal";
      },
    });
    const io = world();
    stop = io.stop;
    const stopped = await ask({}, io);
    expect(stopped.code).toBe(130);
    expect(stopped.summary.totals).toMatchObject({ passed: expect.any(Number), trials: 9 });
    expect(stopped.summary.totals.passed).toBeLessThan(9);
    expect(trials().every(({ outcome }) => outcome.kind === "answered" || outcome.stage === "cancelled")).toBe(true);
    expect((await resume()).code).toBe(0);
    const latest = new Map(trials().map((trial) => [JSON.stringify(trial.cell), trial]));
    expect(comparable([...latest.values()])).toEqual(expected);
    // What was in flight when the run was stopped can be paid twice only where the connection was cut.
    expect(endpoint.paid.plain + endpoint.paid.batched).toBeLessThanOrEqual(9 + 4);
  });

  it.skipIf(skipped)("stay within the limits of requests and of money", async () => {
    const limited = await open(asking);
    expect(await limited.ask({ maxRequests: 4 })).toMatchObject({ code: 3, summary: { totals: { calls: 4 } } });
    expect(limited.endpoint.paid.plain + limited.endpoint.paid.batched).toBe(4);
    const poor = await open(asking);
    const perTrial = 0.0006;
    const { code, summary } = await poor.ask({ budget: 2.5 * perTrial });
    expect([code, summary.totals.broken]).toEqual([3, 0]);
    expect(summary.totals.missing).toBeGreaterThan(0);
    expect(summary.totals.passed).toBeGreaterThan(1);
    // A limit can be exceeded by one request.
    expect(summary.totals.costUsd).toBeLessThanOrEqual(3.5 * perTrial);
  });
});
