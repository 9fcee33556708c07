import { completions } from "./completions.ts";
import { messages } from "./messages.ts";
import type { Protocol } from "./protocol.ts";
import { responses } from "./responses.ts";

/** The APIs that the recording proxy reads. A script may add one. */
export const protocols: Protocol[] = [messages, responses, completions];

/** The API that a POST to this path (without its query) asks a model with; undefined for other requests. */
export function findProtocol(path: string): Protocol | undefined {
  return protocols.find((protocol) => protocol.matches(path));
}
