import { expect, it } from "vitest";
import { askRemote, createLimits, jitteredDelay } from "../../../src/evals/asking/models/remote.ts";
import type { Attempt } from "../../../src/evals/base/types/attempt.ts";

const never = new AbortController().signal;
const cell = { suite: "s", case: "c", arm: "head", model: "m", trial: 1 };
const fault: Attempt = { kind: "fault", stage: "model", message: "busy", isTransient: true };

it("waits longer each time, and no longer than a minute", async () => {
  const waits: number[] = [];
  const delay = async (ms: number) => {
    waits.push(ms);
  };
  const asked: Attempt[] = [{ ...fault, retryAfterMs: 90_000 }];
  const reply = await askRemote(cell, async () => asked[waits.length - 6] ?? fault, createLimits(7, delay), never);
  expect(waits).toEqual([500, 1000, 2000, 4000, 8000, 8000, 60_000]);
  expect(reply).toEqual({ kind: "broken", stage: "model", message: "busy (after 8 attempts)" });
});

it("turns what an attempt throws into a broken reply", async () => {
  const attempt = async () => {
    throw new TypeError("no such thing");
  };
  expect(
    await askRemote(
      cell,
      attempt,
      createLimits(3, async () => {}),
      never,
    ),
  ).toEqual({
    kind: "broken",
    stage: "model",
    message: "the request could not be made: no such thing",
  });
});

it("stops waiting when the signal aborts", async () => {
  const controller = new AbortController();
  const waiting = jitteredDelay(3_600_000, controller.signal);
  controller.abort();
  await expect(waiting).resolves.toBeUndefined();
});
