import { createHash } from "node:crypto";
import { setMaxListeners } from "node:events";
import { resolve } from "node:path";
import { importModule, releaseSignals } from "../../base/code/module.ts";
import { readRegularFile } from "../../base/files/files.ts";
import {
  type CustomMessage,
  type CustomModel,
  type CustomRequest,
  customReplySchema,
} from "../../base/types/custom.ts";
import { messageOf, usageError } from "../../base/types/errors.ts";
import { formatIssues } from "../../base/types/issues.ts";
import { type AskedModel, type Message, type ModelRequest, noUsage, type Reply } from "../../base/types/model.ts";
import type { Broken, Turn } from "../../base/types/trial.ts";
import { boundArguments, boundText, cancelled } from "./remote.ts";

export type CustomOptions = { cwd?: string; timeoutMs?: number };

const defaultTimeoutMs = 120_000;

/**
 * A model in a file of the user, `custom:<file>`, whose default export answers one request. It may also export
 * `deterministic` and `costUsd(usage)`. Throws a usage error if the file has no such function.
 */
export async function custom(id: string, file: string, options: CustomOptions): Promise<AskedModel> {
  const path = resolve(options.cwd ?? ".", file);
  const content = await readRegularFile(path).catch(() => {
    throw usageError(`There is no file "${file}" for the model ${id}.`, "Name it relative to the working directory.");
  });
  const loaded = await importModule(path).catch((error) => {
    throw usageError(`The model ${id} cannot be loaded: ${messageOf(error)}.`, "Fix the file.", { file });
  });
  const { default: ask, deterministic = false, costUsd } = loaded;
  if (typeof ask !== "function")
    throw usageError(
      "The default export is not a function.",
      "Write: export default async ({ messages, tools }) => ({ text, calls }).",
      { file },
    );
  const timeoutMs = options.timeoutMs ?? defaultTimeoutMs;
  return {
    id,
    kind: "language model",
    settings: { sha256: createHash("sha256").update(content).digest("hex"), timeoutMs },
    maxOutputTokens: 0,
    deterministic: deterministic === true,
    cost: (usage) => {
      const cost: unknown = typeof costUsd === "function" ? costUsd(usage) : undefined;
      return typeof cost === "number" && cost >= 0 ? cost : "unknown";
    },
    ask: (request, signal) => askFunction(ask as CustomModel, request, timeoutMs, signal),
  };
}

async function askFunction(
  ask: CustomModel,
  request: ModelRequest,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Reply> {
  if (signal.aborted) return cancelled;
  const startedAt = performance.now();
  const own = new AbortController();
  const stop = () => own.abort();
  const stopped = new Promise<never>((_, reject) => own.signal.addEventListener("abort", reject));
  setMaxListeners(0, signal);
  const timer = setTimeout(stop, timeoutMs);
  signal.addEventListener("abort", stop, { once: true });
  try {
    const result = await Promise.race([callInterruptibly(ask, toCustomRequest(request, own.signal)), stopped]);
    return readReply(result, request.turn, performance.now() - startedAt);
  } catch (thrown) {
    if (signal.aborted) return cancelled;
    if (own.signal.aborted) return broken("timeout", `no reply within ${timeoutMs / 1000} s`);
    return broken("model", `the model threw: ${messageOf(thrown)}`);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  }
}

/** Until the function returns, Ctrl-C ends the process; what it does later shares this thread with other requests. */
async function callInterruptibly(ask: CustomModel, request: CustomRequest): Promise<unknown> {
  const restore = releaseSignals();
  try {
    return ask(request);
  } finally {
    restore();
  }
}

const broken = (stage: "model" | "timeout", message: string): Broken => ({ kind: "broken", stage, message });

function readReply(value: unknown, turn: number, ms: number): Reply {
  const parsed = customReplySchema.safeParse(value);
  if (!parsed.success) return broken("model", `the model returned no reply: ${formatIssues(parsed.error)}`);
  const { text = "", calls: made = [], usage } = parsed.data;
  const calls = made.map(({ tool, arguments: args = {} }, at): Turn["calls"][number] => {
    return { id: `custom_${turn}_${at + 1}`, tool, ...boundArguments({ arguments: args }) };
  });
  const counted = Object.fromEntries(Object.entries(usage ?? {}).filter(([, count]) => count !== undefined));
  const stop = calls.length > 0 ? "calls" : "done";
  return { kind: "turn", turn: { text: boundText(text), calls, stop, usage: { ...noUsage, ...counted }, ms } };
}

function toCustomRequest({ cell, messages, tools }: ModelRequest, signal: AbortSignal): CustomRequest {
  return {
    messages: messages.map(toCustomMessage),
    tools: tools.map(({ name, description, inputSchema }) => {
      return { name, ...(description !== undefined && { description }), inputSchema };
    }),
    case: cell.case,
    trial: cell.trial,
    signal,
  };
}

function toCustomMessage(message: Message): CustomMessage {
  if (message.role !== "assistant") return message;
  const calls = (message.turn?.calls ?? []).map(({ id, tool, arguments: args }) => {
    return { id, tool, ...(args !== undefined && { arguments: args }) };
  });
  return { role: "assistant", content: message.content, calls };
}
