import { excerpt } from "../text/text.ts";
import type { Delay } from "./endpoint.ts";
import type { Exposure, ExposureKind, Shown } from "./exposure.ts";
import type { JsonObject } from "./json.ts";
import type { EvalFile, SkillPackage } from "./skill.ts";
import type { OfferedTool } from "./tool.ts";
import type { Answer, Broken, Call, Cell, Cost, Execution, Turn, Usage } from "./trial.ts";

export type Message =
  | { role: "system" | "user"; content: string }
  /** An earlier reply. `native` is the provider's form of it, to be sent back unchanged (thinking blocks). */
  | { role: "assistant"; content: string; turn?: Turn; native?: unknown }
  /** Results for all calls of the previous turn, in their order. */
  | { role: "results"; results: readonly { callId: string; tool: string; text: string; isError: boolean }[] };

/** A request to a model. `tools` have the order and names to be shown; `toolset` identifies the list in any order. */
export type ModelRequest = {
  cell: Cell;
  turn: number;
  messages: readonly Message[];
  tools: readonly OfferedTool[];
  toolset: string;
  /** The tool in `tools` that loads further definitions, and its ranker, for a model that does not read. */
  loader?: { tool: string; ranker: string };
  /** Names of the tools whose definitions the API's own search finds, and which of its `searches` it is. */
  deferred?: { names: ReadonlySet<string>; search: string };
  /** The skills that the prompt offers and how each is loaded, for a model that ranks descriptions. */
  catalog?: readonly { name: string; description: string; load: { tool: string; arguments: JsonObject } }[];
  /** The seed of the trial, for a model whose replies depend on one. */
  seed?: number;
  /** A JSON Schema for the text of the reply (structured output), for judges. */
  answerSchema?: JsonObject;
};

/** A turn with its provider's form, or why there is none. `lost`: the usage of replies that could not be used. */
export type Reply = ({ kind: "turn"; turn: Turn; native?: unknown } | Broken) & { lost?: Usage };

/** The recorded id of the model `lexical`. The number changes with its ranking, not with what is judged. */
export const lexicalId = "lexical-2";

/** The setting of a model whose calls are judged only by their tools. Without it, arguments are judged too. */
export const judgedByTools = { judged: "tools alone" } as const;

/** Whether the id that a user wrote names a recorded model: `lexical` names every version of it. */
export function isModelNamed(written: string, recorded: string): boolean {
  return written === recorded || (written === "lexical" && /^lexical-\d+$/.test(recorded));
}

/** The requested model and, if its replies name one, the model that replied. */
type NamedModel = { id: string; repliedBy?: string | undefined };

/** Whether two ids name the same model of one provider: equal ids, or an alias if replies show what it stands for. */
export function isSameModel(a: NamedModel, b: NamedModel): boolean {
  if (a.id === b.id) return true;
  const [provider, other] = [a.id, b.id].map((id) => id.slice(0, id.indexOf(":") + 1));
  const listNames = ({ id, repliedBy }: NamedModel) => [id.slice(id.indexOf(":") + 1), repliedBy ?? []].flat();
  const names = listNames(b);
  return provider !== "" && provider === other && listNames(a).some((name) => names.includes(name));
}

/** The properties of a model that are known before its first call. */
type ModelFacts = {
  /** As given on the command line, for example `anthropic:claude-sonnet-5-5`; of `lexical` with its version. */
  readonly id: string;
  /** Other names of it, by which `models` of a suite may mean it. */
  readonly aliases?: readonly string[];
  readonly kind: "language model" | "retrieval baseline" | "recorded answers";
  /** Printed after the model's name in every report, if its figures could be misread without it. */
  readonly note?: string;
  /** True when it makes up the arguments of its calls, so that they and the results of calls are never judged. */
  readonly makesUpArguments?: boolean;
  /** What is needed to repeat the run: base URL, retries, timeout, effort, output limit. No secrets. */
  readonly settings: JsonObject;
  /** Maximum output tokens per reply, for the upper bound of a dry run. 0 when nothing is generated. */
  readonly maxOutputTokens: number;
  /** True when the same request always gets the same reply, so that one trial per case is enough. */
  readonly deterministic: boolean;
  /** True when it keeps what it has read of a tool list, in this order, for later runs. */
  readonly keepsLists?: boolean;
  /** Its exposures in this run: of the arm `head`, then of the arms of further exposures. Absent: all definitions. */
  readonly askedUnder?: readonly Exposure[];
  /** The cost of `usage` in US dollars, at list price or that of batches; "unknown" without a known price. */
  cost(usage: Usage, by?: "batch"): Cost;
};

/**
 * A model that is asked turn by turn; tool-evals keeps the conversation and executes the calls.
 *
 * `ask` must not throw or reject: every failure is a `Broken` value. It ends soon after `signal` aborts, with stage
 * "cancelled". It retries transient errors as its settings say; one call is one reply.
 */
export type AskedModel = ModelFacts & {
  /** The tool searches of its API, by the word of `--ranker`, with their versioned names; the first is the default. */
  readonly searches?: Readonly<Record<string, string>>;
  /** Asks the API, free of charge, whether the model accepts this search: the reason if not. Does not reject. */
  refusesSearch?(search: string, signal: AbortSignal): Promise<string | undefined>;
  /** Asks the server, free of charge, for the context window of the model; undefined if unknown. Does not reject. */
  readContextWindow?(signal: AbortSignal): Promise<ContextWindow | undefined>;
  ask(request: ModelRequest, signal: AbortSignal): Promise<Reply>;
  /** Opens the batch API of its service. Absent if there is none. */
  batches?(): Promise<BatchService>;
};

/** The tokens of a request and its reply that a server takes, and how to make it take more. */
export type ContextWindow = { tokens: number; remedy: string };

/** The batch API of a model: many requests in one submission. No method rejects: each resolves with a fault instead. */
export type BatchService = {
  /** Whether it keeps the label of a batch, so that a batch can be found by it. */
  readonly keepsLabels: boolean;
  /** Maximum retries of a request, and waits. */
  readonly retries: number;
  readonly delay: Delay;
  /** A request as an entry of a batch, the same as if sent alone. `id`: letters, digits and `-`, at most 64. */
  write(id: string, request: ModelRequest): object;
  /** Reads the reply of an entry as that of a request that was sent alone. */
  read(result: { body: unknown; requestId?: string }, request: ModelRequest): Attempt;
  /** Submits entries as one batch, and resolves with its id. */
  submit(entries: readonly object[], label: string, signal: AbortSignal): Promise<string | Fault>;
  /** The batches of the account that are newer than `after`, newest first, at most `most`. */
  list(after: string | undefined, most: number, signal: AbortSignal): Promise<BatchState[] | Fault>;
  retrieve(id: string, signal: AbortSignal): Promise<BatchState | Fault>;
  /** Calls `onResult` with each result of an ended batch. Resolves with a fault if they cannot be read to the end. */
  readResults(
    id: string,
    onResult: (id: string, result: BatchResult) => void,
    signal: AbortSignal,
  ): Promise<Fault | undefined>;
};

/**
 * A whole trial, for a host that keeps the conversation itself. `tools` have their listed names, in the order to be
 * shown; the host shows them and `skills` in its own way. Tool calls go through `execute`, which applies the execution
 * policy.
 */
export type HostedTrial = {
  cell: Cell;
  messages: readonly Message[];
  tools: readonly OfferedTool[];
  skills: readonly SkillPackage[];
  /** One of the host's `exposures`. */
  exposure: ExposureKind;
  /** The instructions of servers, which the host shows in its own way. */
  instructions: readonly { server: string; text: string }[];
  /** Files of the case, with paths relative to the project. */
  files: readonly EvalFile[];
  /** Whether the model may write files. */
  writable?: boolean;
  maxTurns: number;
  execute(call: Call, signal: AbortSignal): Promise<Execution | Broken>;
};

/**
 * A model inside the program that shows it tools and skills. Like `ask`, `converse` must not throw or reject, and ends
 * soon after `signal` aborts. Calls in the turns have listed names, and the execution that the host received. `costUsd`
 * is the cost of all its model requests, `shown` what they showed, and `workspace` the files of the case as the trial
 * left them, where the model could write.
 */
export type HostModel = ModelFacts & {
  /** Maximum tokens of the host's own prompt and tools, for the upper bound of a dry run. */
  readonly ownPromptTokens: number;
  /** The exposures that it can give, the default first. Absent: `all` only. */
  readonly exposures?: readonly ExposureKind[];
  /** Whether a model can write files in it. */
  readonly writesFiles?: boolean;
  converse(
    trial: HostedTrial,
    signal: AbortSignal,
  ): Promise<Answer & { costUsd?: Cost; shown?: Shown; workspace?: readonly EvalFile[] }>;
};

export type Model = AskedModel | HostModel;

/** The usage of models without tokens. */
export const noUsage: Usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

/**
 * A batch as its service reports it. `failed`: the service refused it, so none of its requests was sent to a model.
 * `label` is the label of its submission, if the service keeps one; `absent` is the outcome of requests that its
 * results lack.
 */
export type BatchState = {
  id: string;
  status: "running" | "ended" | "failed";
  problem?: string;
  requests?: number;
  label?: string;
  absent?: "expired" | "canceled";
};

/** The result of one request in a batch. Only a reply is paid for. */
export type BatchResult =
  | { kind: "reply"; body: unknown; requestId?: string }
  | { kind: "errored"; message: string; isTransient: boolean }
  | { kind: "expired" | "canceled" };

/** Why a request to a service failed. `retryAfterMs`: the wait that the service asked for. */
export type Fault = {
  kind: "fault";
  stage: "model" | "timeout";
  message: string;
  isTransient: boolean;
  retryAfterMs?: number;
  /** The HTTP status, if the service answered with an error. */
  status?: number;
  /** The usage of a reply that could not be used. */
  usage?: Usage;
};

/** A fault that a retry may fix, such as an unreadable reply. */
export function transientFault(message: string): Fault {
  return { kind: "fault", stage: "model", message, isTransient: true };
}

/** A fault that would occur again. */
export function permanentFault(message: string): Fault {
  return { kind: "fault", stage: "model", message, isTransient: false };
}

/** One attempt to get a reply: the reply as read, or why there is none. */
export type Attempt = Fault | { kind: "turn"; turn: Omit<Turn, "ms">; native: unknown };

/** Whether a request with this fault is retried after `made` attempts. A timeout is retried only once. */
export function isRetried({ isTransient, stage }: Fault, made: number, retries: number): boolean {
  return isTransient && made <= retries && (stage !== "timeout" || made < 2);
}

/** A message of a service as the record can hold it. */
export const boundMessage = (message: string) => excerpt(message, 2_000);

/** The outcome of a request whose last attempt, number `made`, had this fault. */
export function toBroken({ stage, message: whole }: Fault, made: number): Broken {
  const message = boundMessage(whole);
  return { kind: "broken", stage, message: made > 1 ? `${message} (after ${made} attempts)` : message };
}
