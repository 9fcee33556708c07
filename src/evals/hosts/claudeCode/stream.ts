import { noUsage } from "../../types/model.ts";
import type { Call, StopReason, Turn, Usage } from "../../types/trial.ts";
import {
  type AssistantEvent,
  eventOf,
  type HostUsage,
  type InitEvent,
  type ResultEvent,
  type StreamEvent,
  type UserEvent,
} from "./events.ts";

/** What the host answered to a call, by its own hand or from a tool server. */
type Result = { text: string; isError: boolean; ms: number };
type Reply = { text: string; calls: Call[]; usage: Usage; stop?: string; requestId?: string; from: number; to: number };

/** What a host's stream has told so far. Calls carry the names that the model wrote. */
export type Heard = { init?: InitEvent; result?: ResultEvent; turns: Turn[] };

/** The host's own words in the place of a reply, such as an error of the interface. */
const synthetic = "<synthetic>";

/** Reads a stream line by line, each with the time in ms that it came at. Does not throw, whatever a line holds. */
export class StreamReader {
  readonly #replies = new Map<string, Reply>();
  readonly #results = new Map<string, Result>();
  readonly #called = new Map<string, { tool: string; at: number }>();
  /** Results of skills whose bodies are still to come. */
  readonly #loading: Result[] = [];
  #init: InitEvent | undefined;
  #result: ResultEvent | undefined;
  #current: Reply | undefined;
  /** When what came last before a reply was there: the request is sent then. */
  #mark: number;

  constructor(startedAt: number) {
    this.#mark = startedAt;
  }

  read(line: string, at: number): void {
    const event = eventOf(line);
    if (event?.type === "assistant") this.#readAssistant(event, at);
    if (event?.type === "stream_event") this.#readStream(event, at);
    if (event?.type === "user") this.#readUser(event, at);
    if (event?.type === "result") this.#result = event;
    if (event?.type === "system") {
      this.#init ??= event;
      this.#mark = at;
    }
  }

  heard(): Heard {
    const init = this.#init && { init: this.#init };
    const result = this.#result && { result: this.#result };
    const denied = new Set(this.#result?.permission_denials.map(({ tool_use_id }) => tool_use_id));
    const turns = [...this.#replies.values()].map((reply) => turnOf(reply, this.#results, denied));
    return { ...init, ...result, turns };
  }

  #replyOf(id: string, usage: HostUsage | null | undefined, at: number): Reply {
    const fresh = () => ({ text: "", calls: [], usage: updated(noUsage, usage), from: this.#mark, to: at });
    const reply = this.#replies.get(id) ?? fresh();
    this.#replies.set(id, reply);
    reply.to = at;
    return reply;
  }

  #readAssistant({ message, request_id }: AssistantEvent, at: number): void {
    if (message.model === synthetic) return;
    const reply = this.#replyOf(message.id, message.usage, at);
    if (request_id !== undefined) reply.requestId = request_id;
    for (const part of message.content) {
      if ("text" in part) reply.text += part.text;
      if (!("input" in part) || this.#called.has(part.id)) continue;
      reply.calls.push({ id: part.id, tool: part.name, arguments: part.input });
      this.#called.set(part.id, { tool: part.name, at });
    }
  }

  #readStream({ event }: StreamEvent, at: number): void {
    if (event.type === "message_start") {
      this.#current = this.#replyOf(event.message.id, event.message.usage, at);
    } else if (this.#current) {
      this.#current.usage = updated(this.#current.usage, event.usage);
      this.#current.to = at;
      if (event.delta.stop_reason) this.#current.stop = event.delta.stop_reason;
    }
  }

  #readUser({ message, isSynthetic }: UserEvent, at: number): void {
    for (const { type, text = "", tool_use_id: id = "", content = "", is_error } of message.content) {
      const call = this.#called.get(id);
      if (type === "tool_result" && call) {
        const told = { text: textOf(content), isError: is_error === true, ms: at - call.at };
        this.#results.set(id, told);
        if (call.tool === "Skill" && !told.isError) this.#loading.push(told);
      } else if (type === "text" && isSynthetic) {
        // The body of a skill comes as a message of its own; the result of the call only says that it is coming.
        const loaded = this.#loading.shift();
        if (loaded) loaded.text += `\n\n${text}`;
      }
    }
    this.#mark = at;
  }
}

function turnOf(
  { text, calls, usage, stop, requestId, from, to }: Reply,
  results: ReadonlyMap<string, Result>,
  denied: ReadonlySet<string>,
): Turn {
  const done = calls.map((call) => withExecution(call, results.get(call.id), denied.has(call.id)));
  const id = requestId !== undefined && { requestId };
  return { text, calls: done, stop: stopOf(stop, calls.length), usage, ms: to - from, ...id };
}

function stopOf(reason: string | undefined, calls: number): StopReason {
  if (reason === "refusal") return "refused";
  return calls > 0 ? "calls" : "done";
}

/** What the host refused to run, or has no tool for, was skipped; its reason is the first sentence of its answer. */
function withExecution(call: Call, result: Result | undefined, denied: boolean): Call {
  if (!result) return call;
  const { isError, ms } = result;
  const text = result.text.replace(/^<tool_use_error>([\s\S]*)<\/tool_use_error>$/, "$1");
  if (denied || (isError && /^(Error: )?No such tool available/.test(text))) {
    const [reason = text] = text.replace(/^Error: /, "").split(/(?<=\.)\s/);
    return { ...call, execution: { status: "skipped", reason } };
  }
  return { ...call, execution: { status: "executed", result: { isError, content: [{ type: "text", text }] }, ms } };
}

/** A later count of the same reply replaces an earlier one: it is a running total. */
function updated(known: Usage, told: HostUsage | null | undefined): Usage {
  return {
    inputTokens: told?.input_tokens ?? known.inputTokens,
    outputTokens: told?.output_tokens ?? known.outputTokens,
    cacheReadTokens: told?.cache_read_input_tokens ?? known.cacheReadTokens,
    cacheWriteTokens: told?.cache_creation_input_tokens ?? known.cacheWriteTokens,
  };
}

function textOf(content: string | readonly { text?: string | undefined }[]): string {
  return typeof content === "string" ? content : content.map(({ text }) => text ?? "").join("\n");
}
