import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { abortAfter } from "../../../src/evals/base/network/deadline.ts";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

/** Reads an answer that has no end, while garbage is collected at each of its bytes. */
async function readWithoutEnd(makeLimit: () => AbortSignal, onByte = () => {}): Promise<void> {
  const server = createServer((_, response) => {
    const timer = setInterval(() => response.write(" "), 5);
    response.on("close", () => clearInterval(timer));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { signal: makeLimit() });
    for await (const _ of response.body ?? []) {
      collectGarbage();
      onByte();
    }
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

it("ends an answer that has no end, whatever is collected as garbage meanwhile", async () => {
  const { signal } = new AbortController();
  await expect(readWithoutEnd(() => abortAfter(signal, 300))).rejects.toThrow("no answer within 0.3 s");
});

it("ends it earlier where the signal aborts", async () => {
  const stop = new AbortController();
  const ended = readWithoutEnd(
    () => abortAfter(stop.signal, 600_000),
    () => stop.abort(new Error("stopped")),
  );
  await expect(ended).rejects.toThrow("stopped");
});
