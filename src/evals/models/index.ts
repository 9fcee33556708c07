import { usageError } from "../errors.ts";
import type { ClaudeCodeOptions } from "../hosts/claudeCode/claudeCode.ts";
import type { AskedModel, Model } from "../types/model.ts";
import { nearest } from "../types/nearest.ts";
import type { Trial } from "../types/trial.ts";

export type ModelOptions = ClaudeCodeOptions & {
  /** Reads the trials of a recorded run, for `replay`. Absent: there is nothing to replay from. */
  recorded?: (run: string) => Promise<Iterable<Trial> | AsyncIterable<Trial>>;
};

/** How to open a model: what stands after the colon, with an example of it, if anything. */
type Provider = {
  example: string;
  takes: "name" | "nothing" | "either";
  open(id: string, name: string, options: ModelOptions): Promise<Model>;
};

/** The models there are. Each is loaded only when it is asked for: an SDK takes longer to load than most runs. */
const providers = {
  lexical: {
    example: "lexical",
    takes: "nothing",
    open: async () => (await import("./lexical.ts")).lexical(),
  },
  anthropic: {
    example: "anthropic:claude-sonnet-5-5",
    takes: "name",
    open: async (...args) => (await import("./anthropic.ts")).anthropic(...args),
  },
  openai: {
    example: "openai:gpt-5",
    takes: "name",
    open: async (...args) => (await import("./openai.ts")).openai(...args),
  },
  "claude-code": {
    example: "claude-code or claude-code:claude-sonnet-5-5",
    takes: "either",
    open: async (...args) => (await import("../hosts/claudeCode/claudeCode.ts")).claudeCode(...args),
  },
  replay: {
    example: "replay:<run> or replay:<run>#<model>",
    takes: "name",
    open: async (...args) => (await import("./replay.ts")).replay(...args),
  },
} as const satisfies Record<string, Provider>;

type ProviderName = keyof typeof providers;

/**
 * The model of that id, as on the command line: a provider's name, then for most a colon and what to ask of it.
 * Throws a usage error when there is no such provider, or when its options cannot work (no key, a bad base URL).
 */
export async function openModel(id: string, options: ModelOptions): Promise<Model> {
  const colon = id.indexOf(":");
  const provider = colon < 0 ? id : id.slice(0, colon);
  const name = colon < 0 ? "" : id.slice(colon + 1);
  if (!isProvider(provider)) throw unknownProvider(id, provider);
  const { takes, example, open }: Provider = providers[provider];
  const nameless = name === "" && (takes === "name" || (takes === "either" && colon >= 0));
  if (nameless) throw usageError(`the model "${id}" names no model`, `Write ${example}.`);
  if (takes === "nothing" && colon >= 0) throw usageError(`the model "${id}" takes no name`, `Write ${example}.`);
  return open(id, name, options);
}

/** The same for one that answers a single question, as a judge must. Throws a usage error when it is a host. */
export async function openAskedModel(id: string, options: ModelOptions): Promise<AskedModel> {
  const model = await openModel(id, options);
  if ("ask" in model) return model;
  throw usageError(`"${id}" is a host with a conversation of its own: it cannot be asked one question`);
}

function isProvider(name: string): name is ProviderName {
  return Object.hasOwn(providers, name);
}

function unknownProvider(id: string, provider: string) {
  const near = nearest(provider, Object.keys(providers));
  const known = Object.values(providers).map(({ example }) => example);
  return usageError(
    `there is no model "${id}"`,
    `${near ? `Did you mean ${near}? ` : ""}Known are ${known.join(", ")}.`,
  );
}
