import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { BatchQueue } from "../../../src/evals/asking/batches/batchQueue.ts";
import { Ledger } from "../../../src/evals/asking/batches/ledger.ts";
import { type AskedModel, type BatchService, noUsage } from "../../../src/evals/base/types/model.ts";
import { ledgerPath } from "../../../src/evals/records/record.ts";
import { makeFolder } from "../../fakes/folder.ts";
import { cell, requestOf } from "../models/request.ts";

/** A queue on a service that answers every batch at its first poll, and keeps what was submitted. */
async function openQueue({ concurrency = 10, ...changes }: { concurrency?: number } & Partial<BatchService> = {}) {
  const dir = makeFolder();
  const submitted: { id: string }[][] = [];
  const turn = { text: "ok", calls: [], stop: "done" as const, usage: noUsage };
  const service: BatchService = {
    keepsLabels: true,
    retries: 0,
    delay: async () => {},
    write: (id) => ({ id }),
    read: () => ({ kind: "turn", turn, native: undefined }),
    submit: async (entries) => `batch_${submitted.push(entries as { id: string }[])}`,
    list: async () => [],
    retrieve: async (id) => ({ id, status: "ended" }),
    readResults: async (id, onResult) => {
      for (const entry of submitted[Number(id.slice(6)) - 1] ?? []) onResult(entry.id, { kind: "reply", body: {} });
      return undefined;
    },
    ...changes,
  };
  writeFileSync(ledgerPath(dir), "");
  const ledger = await Ledger.open(dir, "run", (text) => text);
  const queue = new BatchQueue({ id: "m" } as AskedModel, service, { ledger, concurrency, report: () => {} });
  const ask = (trial: number, signal = new AbortController().signal) =>
    queue.ask(requestOf("hi", [], { cell: { ...cell, trial } }), signal);
  return { queue, submitted, ask };
}

const cellOf = (trial: number) => ({ ...cell, trial });
const settled = () => new Promise((resolve) => setImmediate(resolve));

it("submits at most 64 MB and 10,000 requests in a batch", async () => {
  const submit = async (count: number, megabytes: number) => {
    const text = "x".repeat(megabytes * 1_000_000);
    const { queue, submitted, ask } = await openQueue({ concurrency: count, write: (id) => ({ id, text }) });
    await Promise.all(Array.from({ length: count }, (_, i) => ask(i + 1)));
    await queue.close();
    return submitted.map((entries) => entries.length);
  };
  expect(await submit(10_001, 0)).toEqual([10_000, 1]);
  expect(await submit(10, 20)).toEqual([3, 3, 3, 1]);
});

it("delivers results only as fast as trials are recorded", async () => {
  const { queue, ask } = await openQueue({ concurrency: 10 });
  const got: number[] = [];
  const asked = Array.from({ length: 500 }, (_, i) => ask(i + 1).then(() => got.push(i + 1)));
  await Promise.race(asked);
  await settled();
  for (let recorded = 0; recorded < 490; recorded++) {
    expect(got).toHaveLength(recorded + 10);
    queue.settle(cellOf(got[recorded] as number));
    await settled();
  }
  await Promise.all(asked);
  await queue.close();
});

it("submits no request twice", async () => {
  const { queue, submitted, ask } = await openQueue({ concurrency: 100 });
  await Promise.all([ask(1), ask(2)]);
  expect(await ask(1)).toMatchObject({ kind: "turn", turn: { batch: "batch_1" } });
  expect(submitted.map((entries) => entries.length)).toEqual([2]);
  await queue.close();
});

describe("a submission that the service refuses", () => {
  const refused = { kind: "fault", stage: "model", status: 429, message: "too many batches" } as const;

  /** How often it is submitted, what becomes of its request, and whether the ledger still holds it. */
  async function submit(isTransient: boolean, refusals: number, stopAt = 0) {
    const stopping = new AbortController();
    let made = 0;
    const { queue, ask } = await openQueue({
      retries: 2,
      submit: async () => {
        made++;
        if (made === stopAt) stopping.abort();
        return made <= refusals ? { ...refused, isTransient } : "batch_1";
      },
      readResults: async (_, onResult) => {
        onResult(ids[0] ?? "", { kind: "reply", body: {} });
        return undefined;
      },
      write: (id) => {
        ids.push(id);
        return { id };
      },
    });
    const ids: string[] = [];
    const result = await ask(1, stopping.signal);
    await queue.close();
    return { made, result };
  }

  it("is retried as often as permitted after a transient fault", async () => {
    expect(await submit(true, 2)).toMatchObject({ made: 3, result: { kind: "turn" } });
    const given = await submit(true, 3);
    expect(given.made).toBe(3);
    expect(JSON.stringify(given.result)).toContain("the batch was refused: too many batches");
  });

  it("is not retried after a permanent fault, or once the run is stopped", async () => {
    expect((await submit(false, 1)).made).toBe(1);
    expect((await submit(true, 3, 1)).made).toBe(1);
  });
});
