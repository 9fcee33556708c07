import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../errors.ts";
import type { Reply } from "../types/model.ts";
import type { Turn } from "../types/trial.ts";

/** Waits that long, or until the signal aborts. Does not reject. */
export type Delay = (ms: number, signal: AbortSignal) => Promise<void>;

/** Why an attempt brought no reply, and whether another one may. `retryAfterMs` is what the service asked for. */
export type Fault = {
  kind: "fault";
  stage: "model" | "timeout";
  message: string;
  transient: boolean;
  retryAfterMs?: number;
};

export type Attempt = Fault | { kind: "turn"; turn: Omit<Turn, "ms">; native: unknown };

const longestWaitMs = 60_000;

/** The real delay, up to a quarter longer than asked for: requests refused together must not come back together. */
export const jitteredDelay: Delay = async (ms, signal) => {
  await sleep(ms * (1 + Math.random() / 4), undefined, { signal }).catch(() => undefined);
};

/**
 * Attempts until there is a turn, a fault that lasts, or no retry left. Does not reject.
 *
 * The SDKs' own retries are off, for they do not retry a reply that is cut, empty or not JSON, and wait as long as a
 * service asks. Here every transient fault spends from the one budget. Waits are 0.5, 1, 2, 4, 8, 8, ... seconds, or what
 * the service asked for up to a minute; a time-out is retried once only. So one ask ends within
 * (retries + 1) x time-out + retries x 75 s at the very worst.
 */
export async function askRemote(
  attempt: (signal: AbortSignal) => Promise<Attempt>,
  limits: { retries: number; delay: Delay },
  signal: AbortSignal,
): Promise<Reply> {
  if (signal.aborted) return cancelled;
  const startedAt = performance.now();
  // A controller of its own for each ask: an SDK that leaves listeners behind would fill up the run's signal.
  const own = new AbortController();
  const abort = () => own.abort(signal.reason);
  setMaxListeners(0, signal, own.signal);
  signal.addEventListener("abort", abort, { once: true });
  try {
    for (let made = 1; ; made++) {
      const result = await attempt(own.signal);
      if (result.kind === "turn") {
        return { kind: "turn", turn: { ...result.turn, ms: performance.now() - startedAt }, native: result.native };
      }
      if (signal.aborted) return cancelled;
      const triesAllowed = !result.transient ? 1 : result.stage === "timeout" ? 2 : Number.POSITIVE_INFINITY;
      if (made > limits.retries || made >= triesAllowed) return brokenBy(result, made);
      await limits.delay(waitMs(result, made), own.signal);
      if (signal.aborted) return cancelled;
    }
  } catch (thrown) {
    return { kind: "broken", stage: "model", message: `the request could not be made: ${messageOf(thrown)}` };
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

const cancelled: Reply = { kind: "broken", stage: "cancelled", message: "the request was cancelled" };

function waitMs({ retryAfterMs }: Fault, made: number): number {
  return Math.min(retryAfterMs ?? Math.min(500 * 2 ** (made - 1), 8_000), longestWaitMs);
}

function brokenBy({ stage, message }: Fault, made: number): Reply {
  return { kind: "broken", stage, message: made > 1 ? `${message} (after ${made} attempts)` : message };
}
