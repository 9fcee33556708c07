import type { HostedTrial, Message, Model, ModelRequest } from "../../base/types/model.ts";
import { noUsage } from "../../base/types/model.ts";
import type { OfferedTool } from "../../base/types/tool.ts";
import type { Usage } from "../../base/types/trial.ts";
import { resultCharacters } from "./execution.ts";

/** Tokens that providers add when tools are used; published figures are between 260 and 530. */
const overheadTokens = 600;

/** An upper bound at two bytes per token: English and JSON have 3 to 4, other scripts come close to two. */
export const estimateTokens = (text: string) => Math.ceil(Buffer.byteLength(text) / 2);

const listTokens = new WeakMap<readonly OfferedTool[], number>();

/** The maximum number of tokens in a tool list. */
function estimateListTokens(tools: readonly OfferedTool[]): number {
  const known = listTokens.get(tools);
  if (known !== undefined) return known;
  const shown = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  const tokens = estimateTokens(JSON.stringify(shown));
  listTokens.set(tools, tokens);
  return tokens;
}

/** The maximum usage of one request. */
export function requestCeiling({ messages, tools }: Pick<ModelRequest, "messages" | "tools">, model: Model): Usage {
  if (model.kind !== "language model") return noUsage;
  const inputTokens = overheadTokens + estimateListTokens(tools) + estimateMessages(messages);
  return { ...noUsage, inputTokens, outputTokens: model.maxOutputTokens };
}

function estimateMessages(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => {
    const { native } = message.role === "assistant" ? message : {};
    return sum + estimateTokens(JSON.stringify(native ?? message));
  }, 0);
}

type TrialShape = Pick<HostedTrial, "maxTurns" | "tools" | "messages">;

/** The maximum usage of one trial: every turn sends the tools and all previous messages again. */
export function trialCeiling({ maxTurns, tools, messages }: TrialShape, model: Model): Usage {
  const host = "converse" in model ? model.ownPromptTokens : 0;
  const prompt = host + overheadTokens + estimateListTokens(tools) + estimateTokens(JSON.stringify(messages));
  const perTurn = model.maxOutputTokens + Math.ceil(resultCharacters / 2);
  return {
    ...noUsage,
    inputTokens: model.kind === "language model" ? maxTurns * prompt + (perTurn * maxTurns * (maxTurns - 1)) / 2 : 0,
    outputTokens: maxTurns * model.maxOutputTokens,
  };
}
