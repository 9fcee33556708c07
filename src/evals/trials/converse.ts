import type { AskedModel, Message, ModelRequest } from "../types/model.ts";
import type { OfferedTool } from "../types/tool.ts";
import type { Answer, Broken, Call, Cell, Turn } from "../types/trial.ts";
import type { Executor } from "./execute.ts";
import { resultText } from "./results.ts";

/** What a conversation is made of. `tools` stand in the order and under the names to be shown; `listedName` undoes them. */
export type Conversation = {
  cell: Cell;
  model: AskedModel;
  messages: readonly Message[];
  tools: readonly OfferedTool[];
  toolset: string;
  listedName: (shown: string) => string;
  catalogue?: ModelRequest["catalogue"];
  maxTurns: number;
  executor: Pick<Executor, "execute">;
  /** Whether what was called so far decides the trial, so that nothing more need be asked. */
  decided?(calls: readonly Call[]): boolean;
};

async function executeAll(
  calls: readonly Call[],
  executor: Conversation["executor"],
  signal: AbortSignal,
): Promise<Call[] | Broken> {
  const done: Call[] = [];
  for (const call of calls) {
    const execution = await executor.execute(call, signal);
    if ("kind" in execution) return execution;
    done.push({ ...call, execution });
  }
  return done;
}

function resultsOf(calls: readonly Call[]): Message {
  const results = calls.flatMap(({ id, tool, execution }) =>
    execution ? [{ callId: id, tool, ...resultText(execution) }] : [],
  );
  return { role: "results", results };
}

/**
 * Asks, executes what the model calls, hands the results back, and asks again, until the model makes no call or
 * `maxTurns` replies are in, or the calls decide the trial. Calls of one turn are executed one after the other, in their order. Does not throw.
 */
export async function converse(conversation: Conversation, signal: AbortSignal): Promise<Answer> {
  const { cell, model, tools, toolset, catalogue, listedName, maxTurns, executor, decided } = conversation;
  const messages = [...conversation.messages];
  const turns: Turn[] = [];
  for (let turn = 1; turn <= maxTurns; turn++) {
    const reply = await model.ask({ cell, turn, messages, tools, toolset, ...(catalogue && { catalogue }) }, signal);
    if (reply.kind === "broken") return { outcome: reply, turns };
    const calls = reply.turn.calls.map((call) => ({ ...call, tool: listedName(call.tool) }));
    const executed = await executeAll(calls, executor, signal);
    if ("kind" in executed) return { outcome: executed, turns: [...turns, { ...reply.turn, calls }] };
    turns.push({ ...reply.turn, calls: executed });
    if (executed.length === 0 || decided?.(turns.flatMap((one) => one.calls))) break;
    // The provider's own payload goes back as it came; its calls carry the names that were shown.
    messages.push({ role: "assistant", content: reply.turn.text, turn: reply.turn, native: reply.native });
    messages.push(resultsOf(executed));
  }
  return { outcome: { kind: "answered" }, turns };
}
