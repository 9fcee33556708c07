import { completions } from "./completions.ts";
import { gemini } from "./gemini.ts";
import { messages } from "./messages.ts";
import { responses } from "./responses.ts";
import type { Wire } from "./wire.ts";

const wires: readonly Wire[] = [messages, responses, completions, gemini];

/** The API that a POST to this path (without its query) asks a model with; undefined for other requests. */
export function findWire(path: string): Wire | undefined {
  return wires.find((wire) => wire.matches(path));
}
