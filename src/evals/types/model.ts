import type { JsonObject } from "./json.ts";
import type { SkillPackage } from "./skill.ts";
import type { OfferedTool } from "./tool.ts";
import type { Answer, Broken, Call, Cell, Cost, Execution, Turn, Usage } from "./trial.ts";

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
  /** The skills that the prompt offers, for a model that ranks descriptions instead of reading it; how each is loaded. */
  catalogue?: readonly { name: string; description: string; load: { tool: string; arguments: JsonObject } }[];
  /** A JSON Schema that the text of the reply must hold to (structured output), for judges. */
  answerSchema?: JsonObject;
};

/** A turn, with the opaque payload that must come back with it, or the reason why there is none. */
export type Reply = { kind: "turn"; turn: Turn; native?: unknown } | Broken;

/** What is known of a model before it is asked. */
type ModelFacts = {
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
  /** What `usage` costs in US dollars at list price. "unknown" where no price is known; never a guess. */
  cost(usage: Usage): Cost;
};

/**
 * A model that is asked turn by turn; the harness keeps the conversation and executes the calls.
 *
 * `ask` must not throw and must not reject: every failure is a `Broken` value. It ends soon after `signal` aborts, with
 * stage "cancelled". It retries transient faults by itself as its settings say; one call is one reply.
 */
export type AskedModel = ModelFacts & { ask(request: ModelRequest, signal: AbortSignal): Promise<Reply> };

/**
 * A whole trial, for a host that keeps the conversation itself. `tools` stand under their listed names, in the order to
 * be shown; the host shows them and `skills` in its own way. A call of a tool goes through `execute`, which applies the
 * execution policy and reaches the server.
 */
export type HostedTrial = {
  cell: Cell;
  messages: readonly Message[];
  tools: readonly OfferedTool[];
  skills: readonly SkillPackage[];
  /** Files of the case, to be laid into the project: relative path -> content. */
  files: readonly { path: string; content: string }[];
  maxTurns: number;
  execute(call: Call, signal: AbortSignal): Promise<Execution | Broken>;
};

/**
 * A model inside of the program that shows it tools and skills. The same promises as `ask`: must not throw or reject,
 * ends soon after `signal` aborts. Calls in the turns carry listed names, and the execution that the host saw. `costUsd`
 * is what the host itself says it cost.
 */
export type HostModel = ModelFacts & {
  /** The most tokens of the host's own prompt and tools, for the ceiling of a dry run. */
  readonly ownPromptTokens: number;
  converse(trial: HostedTrial, signal: AbortSignal): Promise<Answer & { costUsd?: Cost }>;
};

/** A model under test. */
export type Model = AskedModel | HostModel;

/** No tokens: for models that are not billed by the token. */
export const noUsage: Usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
