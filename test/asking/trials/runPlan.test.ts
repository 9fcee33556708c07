import { setImmediate as tick } from "node:timers/promises";
import { expect, it } from "vitest";
import { SpendingLimits } from "../../../src/evals/asking/trials/limits.ts";
import type { PlannedCell } from "../../../src/evals/asking/trials/plan.ts";
import { runPlan } from "../../../src/evals/asking/trials/runPlan.ts";
import { usageError } from "../../../src/evals/base/types/errors.ts";
import { scriptedModel, turn } from "../../fakes/model.ts";
import { aTrial } from "../../fakes/record.ts";

it("holds a slot until its trial is on disk, so that a kill loses no more, and asks no more once the disk fails", async () => {
  const cells = Array.from({ length: 200 }, (_, at) => ({ cell: aTrial("c", at + 1).cell }) as PlannedCell);
  const writes: { succeed(): void; fail(error: unknown): void }[] = [];
  const recorded: number[] = [];
  let asked = 0;
  const running = runPlan(
    cells,
    { ask: async ({ cell }) => ({ ...aTrial("c", ++asked), cell }) },
    {
      concurrency: 3,
      limits: new SpendingLimits({}),
      done: new Set(),
      stopped: new Map(),
      record: () => new Promise((succeed, fail) => writes.push({ succeed, fail })),
      onRecorded: ({ cell }) => void recorded.push(cell.trial),
    },
    new AbortController().signal,
  );
  await tick();
  expect(asked).toBe(3);
  for (const { succeed } of writes.slice(0, 2)) succeed();
  await tick();
  expect(recorded).toEqual([1, 2]);
  expect(asked).toBe(5);
  const failed = usageError("The disk is full.");
  for (const { fail } of writes.slice(2)) fail(failed);
  await expect(running).rejects.toBe(failed);
  expect(recorded).toEqual([1, 2]);
  expect(asked).toBe(5);
});

it("sends the first trial with some tools in some order before the others, and others of other orders beside it", async () => {
  const orders = [7, 7, 7, 8, 8];
  const model = scriptedModel(() => turn(""));
  const cells = orders.map((orderSeed, at) => {
    const planned = { toolset: { hash: "t" } } as PlannedCell["planned"];
    return { cell: aTrial("c", at + 1).cell, model, orderSeed, planned, isRepeatable: true };
  });
  const asked: { trial: number; answer(): void }[] = [];
  const running = runPlan(
    cells,
    {
      ask: ({ cell }) =>
        new Promise((resolve) =>
          asked.push({ trial: cell.trial, answer: () => resolve({ ...aTrial("c", cell.trial), cell }) }),
        ),
    },
    {
      concurrency: 5,
      limits: new SpendingLimits({}),
      done: new Set(),
      stopped: new Map(),
      prompts: new Map(),
      record: async () => {},
      onRecorded: () => {},
    },
    new AbortController().signal,
  );
  const trials = async () => {
    await tick();
    return asked.map(({ trial }) => trial);
  };
  expect(await trials()).toEqual([1, 4]);
  asked[0]?.answer();
  expect(await trials()).toEqual([1, 4, 2, 3]);
  asked[1]?.answer();
  expect(await trials()).toEqual([1, 4, 2, 3, 5]);
  for (const { answer } of asked) answer();
  expect(await running).toBe("complete");
});
