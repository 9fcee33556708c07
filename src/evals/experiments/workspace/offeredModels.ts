import { createFetch } from "../../base/network.ts";
import { isText } from "../../base/text/text.ts";
import { localServers, localUrl, priceUsage } from "../../base/types/endpoint.ts";
import type { Io } from "../../base/types/io.ts";
import { noUsage } from "../../base/types/model.ts";
import type { Cost } from "../../base/types/trial.ts";

/** A model that can be asked right away: the flags that name it, why it is offered, and what the run costs. */
export type OfferedModel = { flags: string; reason: string; costUsd: Cost };

/** The model of each provider that is asked if its key is set; the first is suggested if none is. */
const byKey = [
  { key: "ANTHROPIC_API_KEY", provider: "anthropic", model: "claude-haiku-5-5" },
  { key: "OPENAI_API_KEY", provider: "openai", model: "gpt-5" },
] as const;

/** Keys of providers whose packages of the AI SDK can be installed, by the names of the packages. */
const packageKeys = {
  google: "GOOGLE_GENERATIVE_AI_API_KEY",
  mistral: "MISTRAL_API_KEY",
  groq: "GROQ_API_KEY",
  xai: "XAI_API_KEY",
  cohere: "COHERE_API_KEY",
  azure: "AZURE_API_KEY",
  "amazon-bedrock": "AWS_BEARER_TOKEN_BEDROCK",
} as const;

/** The keys in the environment and the local servers that answer, each with the flags that use it, as one sentence. */
export async function describeAvailable(
  env: Io["env"],
  local = findLocalModels(new AbortController().signal),
): Promise<string> {
  const ofPackages = Object.entries(packageKeys).flatMap(([name, key]) => {
    return env[key] ? [{ flags: `-m ai:${name}/<model>`, reason: `${key} is set` }] : [];
  });
  const byKeys = offerProviders({ trials: 0, listTokens: 0 }, env).filter(({ isSet }) => isSet);
  const found = [...byKeys, ...ofPackages, ...(await local)].map(({ flags, reason }) => `${reason} (${flags})`);
  return found.length === 0 ? "No API key is set, and no local model server runs." : `Found: ${found.join(", ")}.`;
}

/** Models in the list of a server that do not chat. */
const noChat = /embed|rerank|whisper|tts|clip/i;

/** A run: the number of its trials, and the tokens of a tool list. The cost is as in a dry run, for one reply a trial. */
export type PlannedRun = { trials: number; listTokens: number };

/** The models of the providers, each with the typical cost of a run; `isSet`: whether its key is in the environment. */
export function offerProviders(
  { trials, listTokens }: PlannedRun,
  env: Io["env"],
): (OfferedModel & { isSet: boolean })[] {
  const usage = { ...noUsage, inputTokens: listTokens + 100, outputTokens: 150 };
  return byKey.map(({ key, provider, model }) => {
    const each = priceUsage(usage, model);
    const costUsd = each === "unknown" || trials === 0 ? "unknown" : trials * each;
    return { flags: `-m ${provider}:${model}`, reason: `${key} is set`, costUsd, isSet: Boolean(env[key]) };
  });
}

/** The first model of each local server that answers in time. */
export async function findLocalModels(
  signal: AbortSignal,
  servers: Readonly<Record<string, { name: string; port: number }>> = localServers,
  timeoutMs = 300,
): Promise<OfferedModel[]> {
  const found = Object.entries(servers).map(async ([provider, { name, port }]): Promise<OfferedModel[]> => {
    try {
      // Without the environment, so that no proxy is asked for an address of this machine.
      const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      const response = await createFetch({})(`${localUrl(port)}/models`, { signal: limit });
      const { data } = (await response.json()) as { data: { id: string }[] };
      const model = data.find(({ id }) => isText(id) && /^[\w./:@-]{1,100}$/.test(id) && !noChat.test(id))?.id;
      return model === undefined
        ? []
        : [{ flags: `-m ${provider}:${model}`, reason: `${name} runs on this machine`, costUsd: 0 }];
    } catch {
      // Nothing listens, or it is no model server.
      return [];
    }
  });
  return (await Promise.all(found)).flat();
}
