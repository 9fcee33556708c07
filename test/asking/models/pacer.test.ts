import { describe, expect, it } from "vitest";
import { type Clock, Pacer, type Report } from "../../../src/evals/asking/models/pacer.ts";

const never = new AbortController().signal;

/** A clock whose time passes at once, in the order of the sleeps. */
function virtualClock(): Clock & { run(work: Promise<unknown>): Promise<void> } {
  let now = 0;
  const sleeping: { at: number; wake: () => void }[] = [];
  return {
    now: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        // Every listener that stays makes adding the next one slower.
        const wake = () => {
          signal.removeEventListener("abort", onAbort);
          resolve();
        };
        const entry = { at: now + ms, wake };
        const onAbort = () => {
          const index = sleeping.indexOf(entry);
          if (index >= 0) sleeping.splice(index, 1);
          resolve();
        };
        sleeping.push(entry);
        signal.addEventListener("abort", onAbort);
      }),
    async run(work) {
      let isDone = false;
      void work.finally(() => {
        isDone = true;
      });
      while (!isDone) {
        // All that can go on without time goes on first.
        await new Promise((resolve) => setImmediate(resolve));
        sleeping.sort((a, b) => a.at - b.at);
        const next = sleeping.shift();
        if (!next) continue;
        now = Math.max(now, next.at);
        next.wake();
      }
    },
  };
}

type Attempt = { status: number; retryAfterMs?: number };
const report = ({ status, retryAfterMs = 500 }: Attempt): Report => {
  if (status === 200) return { kind: "answered" };
  if (status === 401) return { kind: "refused", message: "401" };
  return status === 429
    ? { kind: "throttled", message: "429", waitMs: retryAfterMs }
    : { kind: "failed", message: `${status}` };
};

/** Asks `cases` requests, `concurrency` at a time, each retried `retries` times as a model does. */
async function ask(
  service: (now: number) => Attempt,
  {
    cases = 1_000,
    concurrency = 10,
    retries = 4,
    latencyMs = 50,
  }: { cases?: number; concurrency?: number; retries?: number; latencyMs?: number } = {},
) {
  const clock = virtualClock();
  const pacer = new Pacer(retries + 1, clock);
  let requests = 0;
  let answered = 0;
  let next = 0;
  const one = async () => {
    // As a model does, which gives each ask a signal: all would wait for the same one otherwise.
    const { signal } = new AbortController();
    for (let made = 1; made <= retries + 1; ) {
      const answersBefore = pacer.answers;
      const result = await pacer.send(
        signal,
        async () => {
          requests++;
          const attempt = service(clock.now());
          await clock.sleep(latencyMs, signal);
          return attempt;
        },
        report,
      );
      if (!result) return;
      if (result.status === 200) {
        answered++;
        return;
      }
      if (pacer.stopped !== undefined || result.status === 401) return;
      await clock.sleep(result.retryAfterMs ?? 500 * 2 ** (made - 1), signal);
      if (result.status !== 429 || pacer.answers === answersBefore) made++;
    }
  };
  const worker = async () => {
    while (next++ < cases) {
      if (pacer.stopped !== undefined) return;
      await one();
    }
  };
  await clock.run(Promise.all(Array.from({ length: concurrency }, worker)));
  return { requests, answered, seconds: clock.now() / 1_000, stopped: pacer.stopped };
}

/** A token bucket of so many requests a second. */
function limiter(rate: number, burst: number, retryAfterMs?: number) {
  let tokens = burst;
  let last = 0;
  return (now: number): Attempt => {
    tokens = Math.min(burst, tokens + ((now - last) / 1_000) * rate);
    last = now;
    if (tokens < 1) return { status: 429, ...(retryAfterMs && { retryAfterMs }) };
    tokens--;
    return { status: 200 };
  };
}

describe("a service that limits its rate to 20 requests a second", () => {
  it.each([
    ["with a burst of a second", 20, 10, 1_000],
    ["with a burst of a second, asked by 100 at once", 20, 100, 1_000],
    ["with a burst of 2, without retry-after", 2, 10, undefined],
    ["with a burst of 5", 5, 40, 250],
  ])("%s answers all, in at most 1.15 of the least time", async (_, burst, concurrency, retryAfterMs) => {
    const { answered, seconds } = await ask(limiter(20, burst, retryAfterMs), { concurrency });
    expect(answered).toBe(1_000);
    expect(seconds).toBeLessThan(((1_000 - burst) / 20) * 1.15);
  });
});

it.each([429, 529])("single %i do not slow down the other requests", async (status) => {
  const service = () => {
    let index = 0;
    return (): Attempt => (index++ % 20 === 7 ? { status, retryAfterMs: 1_000 } : { status: 200 });
  };
  const { seconds: plain } = await ask(() => ({ status: 200 }));
  const { answered, seconds } = await ask(service());
  expect(answered).toBe(1_000);
  // One in twenty holds its slot for a second; the others keep the pace.
  expect(seconds).toBeLessThan(plain + (1_000 / 20 / 10) * 1.6);
});

describe("a service without limits", () => {
  it("is asked by all at once, after the first", async () => {
    const { requests, seconds } = await ask(() => ({ status: 200 }), { cases: 101, concurrency: 100, latencyMs: 50 });
    expect(requests).toBe(101);
    expect(seconds).toBeCloseTo(0.1, 5);
  });

  it("is asked by the others too when the first takes long", async () => {
    const clock = virtualClock();
    const pacer = new Pacer(5, clock);
    const sent: number[] = [];
    const send = (latencyMs: number) =>
      pacer.send(
        never,
        async () => {
          sent.push(clock.now());
          await clock.sleep(latencyMs, never);
          return { status: 200 };
        },
        report,
      );
    await clock.run(Promise.all([send(60_000), send(10), send(10)]));
    expect(sent).toEqual([0, 5_000, 5_000]);
  });
});

describe("a service that fails", () => {
  it("is asked once when it refuses the key", async () => {
    expect(await ask(() => ({ status: 401 }), { concurrency: 100 })).toMatchObject({ requests: 1, stopped: "401" });
  });

  it.each([
    ["overloaded for all", 429, 10],
    ["broken for all", 500, 10],
    ["broken for all, asked by 100 at once", 503, 100],
    ["broken for all, asked one by one", 503, 1],
  ])("is asked a bounded number of times when it is %s", async (_, status, concurrency) => {
    const { requests, answered, stopped } = await ask(() => ({ status }), { concurrency });
    expect({ answered, stopped }).toEqual({ answered: 0, stopped: `${status}` });
    expect(requests).toBeLessThanOrEqual(concurrency + 16);
  });

  it("is asked on when one in five requests fails", async () => {
    let index = 0;
    const { answered, stopped } = await ask(() => ({ status: index++ % 5 === 0 ? 500 : 200 }), { concurrency: 20 });
    expect({ answered, stopped }).toEqual({ answered: 1_000, stopped: undefined });
  });

  it("is asked on after it recovered", async () => {
    const { answered, stopped } = await ask((now) => ({ status: now > 1_000 && now < 4_000 ? 503 : 200 }), {
      cases: 300,
    });
    expect(stopped).toBeUndefined();
    expect(answered).toBeGreaterThan(280);
  });

  it("lets nobody wait who is cancelled", async () => {
    const stop = new AbortController();
    const pacer = new Pacer(5);
    const first = pacer.send(
      stop.signal,
      () => new Promise<Attempt>((resolve) => stop.signal.addEventListener("abort", () => resolve({ status: 500 }))),
      report,
    );
    const second = pacer.send(stop.signal, async () => ({ status: 200 }), report);
    await new Promise(setImmediate);
    stop.abort();
    expect(await first).toEqual({ status: 500 });
    expect(await second).toBeUndefined();
  });
});
