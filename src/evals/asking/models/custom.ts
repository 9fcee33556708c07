import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { CodeThread } from "../../base/code/caller.ts";
import { importModule } from "../../base/code/module.ts";
import { readRegularFile } from "../../base/files/files.ts";
import { limitTime } from "../../base/limitTime.ts";
import { type CustomMessage, type CustomRequest, customReplySchema } from "../../base/types/custom.ts";
import { EvalsError, exitCodes, formatIssues, usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import { type AskedModel, type Message, type ModelRequest, noUsage, type Reply } from "../../base/types/model.ts";
import { broken, type Cost, type Turn } from "../../base/types/trial.ts";
import { boundArguments, boundText, cancelled } from "./remote.ts";

export type CustomOptions = {
  cwd?: string;
  timeoutMs?: number;
  io?: Pick<Io, "signal">;
  warn?: (text: string) => void;
};

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
  const thread = new CodeThread(path, options.warn ?? (() => {}));
  const loaded = await thread.load(options.io?.signal);
  if (options.io?.signal.aborted)
    throw new EvalsError({ severity: "error", message: "Stopped while the model was loaded." }, exitCodes.incomplete);
  const needs = "The file needs: export default async ({ messages, tools }) => ({ text, calls }).";
  if (loaded.kind === "broken") throw usageError(`The model ${id} cannot be used: ${loaded.why}.`, needs, { file });
  const { isDeterministic, hasCost } = loaded.value;
  // Called before and between requests, so not in the thread.
  const { costUsd } = hasCost ? await importModule(path) : {};
  const timeoutMs = options.timeoutMs ?? defaultTimeoutMs;
  return {
    id,
    kind: "language model",
    settings: { sha256: createHash("sha256").update(content).digest("hex"), timeoutMs },
    maxOutputTokens: 0,
    deterministic: isDeterministic,
    cost: (usage) => (typeof costUsd === "function" ? readCost(() => costUsd(usage)) : "unknown"),
    ask: async (request, signal) => {
      if (signal.aborted) return cancelled;
      const startedAt = performance.now();
      const result = await thread.call(toCustomRequest(request), timeoutMs, signal);
      if (signal.aborted) return cancelled;
      if (result.kind === "returned") return readReply(result.value, request.turn, performance.now() - startedAt);
      if (result.isLate) return broken("timeout", `no reply within ${timeoutMs / 1000} s`);
      return broken("model", `${file}: ${result.why}`);
    },
  };
}

function readCost(compute: () => unknown): Cost {
  try {
    const cost = limitTime(1_000, compute);
    return typeof cost === "number" && cost >= 0 ? cost : "unknown";
  } catch {
    return "unknown";
  }
}

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

function toCustomRequest({ cell, messages, tools }: ModelRequest): Omit<CustomRequest, "signal"> {
  return {
    messages: messages.map(toCustomMessage),
    tools: tools.map(({ name, description, inputSchema }) => {
      return { name, ...(description !== undefined && { description }), inputSchema };
    }),
    case: cell.case,
    trial: cell.trial,
  };
}

function toCustomMessage(message: Message): CustomMessage {
  if (message.role !== "assistant") return message;
  const calls = (message.turn?.calls ?? []).map(({ id, tool, arguments: args }) => {
    return { id, tool, ...(args !== undefined && { arguments: args }) };
  });
  return { role: "assistant", content: message.content, calls };
}
