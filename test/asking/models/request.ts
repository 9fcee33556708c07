import type { Message, ModelRequest } from "../../../src/evals/base/types/model.ts";
import type { OfferedTool } from "../../../src/evals/base/types/tool.ts";
import type { Cell } from "../../../src/evals/base/types/trial.ts";

/** A tool of a server called `demo`; parameters that are given as text are strings with that description. */
export function tool(
  name: string,
  description: string,
  parameters: Record<string, string | OfferedTool["inputSchema"]> = {},
  required: string[] = Object.keys(parameters),
): OfferedTool {
  const properties = Object.fromEntries(
    Object.entries(parameters).map(([key, value]) => [
      key,
      typeof value === "string" ? { type: "string", description: value } : value,
    ]),
  );
  return { name, description, inputSchema: { type: "object", properties, required }, server: "demo", origin: "server" };
}

export const cell: Cell = { suite: "demo", case: "one", arm: "head", model: "m", trial: 1 };

/** A first request with one user message. `toolset` stands in for the hash: the same for every order of the names. */
export function requestOf(
  input: string,
  tools: readonly OfferedTool[],
  more: Partial<ModelRequest> = {},
): ModelRequest {
  const names = tools.map(({ name }) => name).sort();
  return { cell, turn: 1, messages: [{ role: "user", content: input }], tools, toolset: names.join(), ...more };
}

/** The request that follows a reply: all its calls answered with `text`. */
export function followUp(
  request: ModelRequest,
  reply: { turn: { text: string; calls: { id: string; tool: string }[] }; native?: unknown },
  text = "done",
): ModelRequest {
  const results = reply.turn.calls.map(({ id, tool: name }) => ({ callId: id, tool: name, text, isError: false }));
  const added: Message[] = [
    { role: "assistant", content: reply.turn.text, native: reply.native },
    { role: "results", results },
  ];
  return { ...request, turn: request.turn + 1, messages: [...request.messages, ...added] };
}
