import { messageOf } from "../errors.ts";
import type { ToolServer } from "../types/server.ts";
import type { Broken } from "../types/trial.ts";

/** A server on loan to one trial. */
export type Lease = { server: ToolServer; release(): Promise<void> };

/** Hands out the server of a suite. `acquire` does not throw: a server that cannot be had is a broken value. */
export type ServerPool = { acquire(signal: AbortSignal): Promise<Lease | Broken>; close(): Promise<void> };

type Open = (signal: AbortSignal) => Promise<ToolServer>;

/** After so many failed starts in a row a server is given up: the trials that still need it break at once. */
const attempts = 3;

const broken = (thrown: unknown): Broken => ({ kind: "broken", stage: "server", message: messageOf(thrown) });

/** One process for the whole run, started again when it has died. */
export function sharedPool(first: ToolServer, open: Open): ServerPool {
  let current = first;
  let opening: Promise<Broken | undefined> | undefined;
  let failures = 0;
  let lastFailure: Broken | undefined;

  const restart = async (signal: AbortSignal): Promise<Broken | undefined> => {
    if (failures >= attempts && lastFailure) return lastFailure;
    try {
      await current.close();
      current = await open(signal);
      failures = 0;
      return undefined;
    } catch (thrown) {
      if (!signal.aborted) failures++;
      lastFailure = broken(thrown);
      return lastFailure;
    }
  };

  return {
    async acquire(signal) {
      if (!current.alive()) {
        opening ??= restart(signal).finally(() => {
          opening = undefined;
        });
        const failure = await opening;
        if (failure) return failure;
      }
      return { server: current, release: async () => {} };
    },
    close: () => current.close(),
  };
}

/** A fresh process for every trial, for servers that keep state. */
export function isolatedPool(open: Open): ServerPool {
  return {
    async acquire(signal) {
      try {
        const server = await open(signal);
        return { server, release: () => server.close() };
      } catch (thrown) {
        return broken(thrown);
      }
    },
    close: async () => {},
  };
}
