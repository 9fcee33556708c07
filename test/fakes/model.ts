import { type AskedModel, type ModelRequest, noUsage, type Reply } from "../../src/evals/base/types/model.ts";
import type { Call, Turn } from "../../src/evals/base/types/trial.ts";

/** A turn as a model would give it: text, and calls as [tool, arguments]. */
export function turn(text: string, ...calls: readonly [string, Call["arguments"]][]): Turn {
  return {
    text,
    calls: calls.map(([tool, args], index) => ({
      id: `call-${index + 1}`,
      tool,
      ...(args !== undefined && { arguments: args }),
    })),
    stop: calls.length > 0 ? "calls" : "done",
    usage: { ...noUsage, inputTokens: 100, outputTokens: 10 },
    ms: 1,
  };
}

/** A model that answers by a function: the scripted model of the tests. */
export function scriptedModel(
  answer: (request: ModelRequest, signal: AbortSignal) => Turn | Reply | Promise<Turn | Reply>,
  changes: Partial<AskedModel> = {},
): AskedModel & { asked: ModelRequest[] } {
  const asked: ModelRequest[] = [];
  return {
    id: "scripted",
    kind: "language model",
    settings: {},
    maxOutputTokens: 100,
    deterministic: false,
    cost: () => 0,
    ...changes,
    asked,
    async ask(request, signal) {
      asked.push({ ...request, messages: [...request.messages] });
      const answered = await answer(request, signal);
      return "kind" in answered ? answered : { kind: "turn", turn: answered };
    },
  };
}
