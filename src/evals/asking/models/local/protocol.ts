import type { JsonObject } from "../../../base/types/json.ts";
import type { StopReason, Usage } from "../../../base/types/trial.ts";
import type { ChatMessage, ChatTool } from "./template.ts";

// What this program and the process of a model send each other. One request is sent at a time.

/** How a model is loaded. `states`: the folder of the states of tool lists, and the most that they may take there. */
export type OpenOptions = { file: string; cwd: string; states: string; maxStateBytes: number };

/** One request. `timeoutMs`: for the reply, without the first reading of the tool list. */
export type AskOptions = {
  messages: readonly ChatMessage[];
  tools: readonly ChatTool[];
  seed: number;
  isFree: boolean;
  maxTokens: number;
  timeoutMs: number;
  answerSchema?: JsonObject;
};

export type Sent = { open: OpenOptions } | { ask: AskOptions } | { cancel: true };

/** How tokens are drawn. */
export type Sampling = { temperature: number; topP: number; topK: number; minP: number };

/** What is known of a model before it is loaded. `bytes`: its memory with a context of `context` tokens. */
export type ModelHead = { name: string; bytes: number; context: number };

/** A reply of the model. `calls` are those that it wrote in a form that is read. */
export type Answer = {
  text: string;
  calls: readonly { tool: string; arguments?: JsonObject; argumentsText?: string }[];
  stop: StopReason;
  usage: Usage;
};

/**
 * `refused`: why the model cannot be loaded, as sentences. `loaded`: what is recorded of it. `fault`: why there is no
 * reply, as part of a sentence.
 */
export type Received =
  | { head: ModelHead }
  | { refused: { message: string; hint: string } }
  | { loaded: JsonObject }
  | { answer: Answer }
  | { fault: string; isTimeout?: true };
