import type { JsonObject } from "./json.ts";
import type { OfferedTool } from "./tool.ts";
import type { Broken, Cell, Cost, Turn, Usage } from "./trial.ts";

/** One item of the conversation that a model is given. */
export type Message =
  | { role: "system" | "user"; content: string }
  /** An earlier reply. `native` is what the model's own file needs to send it back unchanged (thinking blocks). */
  | { role: "assistant"; content: string; turn?: Turn; native?: unknown }
  /** Results for all calls of the turn before, in their order. */
  | { role: "results"; results: readonly { callId: string; tool: string; text: string; isError: boolean }[] };

/**
 * What a model is asked. `tools` stand in the order to be shown, under the names to be shown; `toolset` is the hash of
 * the list, the same for every order of it, so that a model may keep what it derived from the list.
 */
export type ModelRequest = {
  cell: Cell;
  turn: number;
  messages: readonly Message[];
  tools: readonly OfferedTool[];
  toolset: string;
};

/** A turn, with the opaque payload that must come back with it, or the reason why there is none. */
export type Reply = { kind: "turn"; turn: Turn; native?: unknown } | Broken;

/**
 * A model under test.
 *
 * `ask` must not throw and must not reject: every failure is a `Broken` value. It ends soon after `signal` aborts, with
 * stage "cancelled". It retries transient faults by itself as its settings say; one call is one reply.
 */
export type Model = {
  /** As given on the command line, for example `anthropic:claude-sonnet-5-5`. */
  readonly id: string;
  readonly kind: "language model" | "retrieval baseline" | "recorded answers";
  /** A sentence that every report prints beside the model's name, when its figures could be misread without it. */
  readonly note?: string;
  /** What a reader needs to know to repeat the run: base URL, retries, time-out, effort, output cap. No secrets. */
  readonly settings: JsonObject;
  /** The most output tokens of one reply, for the ceiling of a dry run. 0 when nothing is generated. */
  readonly maxOutputTokens: number;
  /** True when the same request always gets the same reply, so that a second trial tells nothing new. */
  readonly deterministic: boolean;
  ask(request: ModelRequest, signal: AbortSignal): Promise<Reply>;
  /** What `usage` costs in US dollars at list price. "unknown" where no price is known; never a guess. */
  cost(usage: Usage): Cost;
};

/** No tokens: for models that are not billed by the token. */
export const noUsage: Usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
