import { excerpt } from "../text/text.ts";
import type { Broken, Turn, Usage } from "./trial.ts";

/** Why a request to a service failed. `retryAfterMs`: the wait that the service asked for. */
export type Fault = {
  kind: "fault";
  stage: "model" | "timeout";
  message: string;
  isTransient: boolean;
  retryAfterMs?: number;
  /** The HTTP status, if the service answered with an error. */
  status?: number;
  /** The usage of a reply that could not be used. */
  usage?: Usage;
};

/** A fault that a retry may fix, such as an unreadable reply. */
export function transientFault(message: string): Fault {
  return { kind: "fault", stage: "model", message, isTransient: true };
}

/** A fault that would occur again. */
export function permanentFault(message: string): Fault {
  return { kind: "fault", stage: "model", message, isTransient: false };
}

/** One attempt to get a reply: the reply as read, or why there is none. */
export type Attempt = Fault | { kind: "turn"; turn: Omit<Turn, "ms">; native: unknown };

/** Whether a request with this fault is retried after `made` attempts. A timeout is retried only once. */
export function isRetried({ isTransient, stage }: Fault, made: number, retries: number): boolean {
  return isTransient && made <= retries && (stage !== "timeout" || made < 2);
}

/** A message of a service as the record can hold it. */
export const boundMessage = (message: string) => excerpt(message, 2_000);

/** The outcome of a request whose last attempt, number `made`, had this fault. */
export function toBroken({ stage, message: whole }: Fault, made: number): Broken {
  const message = boundMessage(whole);
  return { kind: "broken", stage, message: made > 1 ? `${message} (after ${made} attempts)` : message };
}
