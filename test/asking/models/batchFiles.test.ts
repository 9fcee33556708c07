import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { readResultLines } from "../../../src/evals/asking/models/batchFiles.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A file of results that arrives in two parts, this many ms apart, and the lines that were read of it. */
async function readWithPause(pauseMs: number) {
  const parts = ['{"at":1}\n', '{"at":2}\n'].map((line) => new TextEncoder().encode(line));
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (parts.length === 1) await new Promise((resolve) => setTimeout(resolve, pauseMs));
      const part = parts.shift();
      if (part) controller.enqueue(part);
      else controller.close();
    },
  });
  const lines: unknown[] = [];
  const reading = readResultLines(new Response(body), (line) => lines.push(line));
  await vi.advanceTimersByTimeAsync(pauseMs + 1);
  return { fault: await reading, lines };
}

it("waits for the rest of the results for two minutes", async () => {
  expect(await readWithPause(119_000)).toEqual({ fault: undefined, lines: [{ at: 1 }, { at: 2 }] });
});

it("gives up results that stop for longer, with the lines before", async () => {
  const { fault, lines } = await readWithPause(121_000);
  expect(fault).toMatchObject({ message: expect.stringContaining("the results stopped for 120 s") });
  expect(lines).toEqual([{ at: 1 }]);
});
