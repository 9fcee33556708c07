import { type ChildProcess, fork } from "node:child_process";
import { once, setMaxListeners } from "node:events";
import { statSync } from "node:fs";
import type { Socket } from "node:net";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { deriveSeed } from "../../../base/stats/random.ts";
import { EvalsError, exitCodes, messageOf, usageError } from "../../../base/types/errors.ts";
import type { JsonObject } from "../../../base/types/json.ts";
import type { AskedModel, ModelRequest, Reply } from "../../../base/types/model.ts";
import type { Broken, Turn } from "../../../base/types/trial.ts";
import { integer, megabytes } from "../../../reports/format.ts";
import { boundArguments, boundText, cancelled } from "../remote.ts";
import type { Answer, AskOptions, ModelHead, OpenOptions, Received, Sent } from "./protocol.ts";
import { type ChatMessage, toChatMessages } from "./template.ts";
import { findWeights, type WeightsOptions } from "./weights.ts";

export type LocalOptions = WeightsOptions & {
  maxTokens?: number;
  timeoutMs?: number;
  /** Whether replies are not constrained to the listed tools and their schemas. */
  free?: boolean;
  isDryRun?: boolean;
};

/** Enough for a call or a short answer: small models otherwise repeat themselves up to any limit. */
const defaultMaxTokens = 512;
const defaultTimeoutMs = 120_000;
/** Smaller weights, in bytes, get the note below. `docs/evidence.md` has its figures. */
const smallWeights = 2e9;
/** Limit of the states of tool lists on disk. */
const maxStateBytes = 2 * 1024 ** 3;
/** What finds files, libraries and devices. Nothing else, no key above all, is in the environment of the process. */
const passedOn =
  /^(?:HOME|USERPROFILE|APPDATA|LOCALAPPDATA|PATH|SYSTEMROOT|TE?MP|TMPDIR|LD_LIBRARY_PATH|NODE_OPTIONS)$|^(?:CUDA|DYLD|GGML|HIP|LLAMA|NODE_LLAMA|OMP|ROCR|VK|XDG)_/i;
/** A model whose process ends this often in a row is not started again. */
const maxCrashes = 3;

/**
 * A model of this machine, `local` or `local:<name, file or hf:user/repo:quant>`, in a process that runs it by
 * node-llama-cpp. The process answers one request after the other, so that a reply depends on its request and seed
 * alone. Throws a usage error if there are no weights, or they cannot be loaded.
 */
export async function local(id: string, name: string, options: LocalOptions): Promise<AskedModel> {
  const { free = false, maxTokens = defaultMaxTokens, timeoutMs = defaultTimeoutMs } = options;
  const limits = { isFree: free, maxTokens, timeoutMs };
  const weights = await findWeights(id, name, options);
  const process = new ModelProcess({ ...weights, maxStateBytes }, options.env);
  const settings = options.isDryRun ? {} : await process.open(options.io);
  return {
    id,
    kind: "language model",
    ...(statSync(weights.file).size < smallWeights && { note: "a small model, which says little about a large one" }),
    settings: { ...settings, ...(free && { free }), maxTokens, timeoutMs },
    maxOutputTokens: maxTokens,
    deterministic: false,
    keepsLists: true,
    cost: () => 0,
    ask: async (request, signal) => toReply(await process.ask(toAskOptions(request, limits), signal), request),
  };
}

function toAskOptions(
  { messages, tools, cell, seed = 0, turn, answerSchema }: ModelRequest,
  limits: Pick<AskOptions, "isFree" | "maxTokens" | "timeoutMs">,
): AskOptions {
  return {
    messages: messages.flatMap(toChatMessages),
    tools: tools.map(({ name, description = "", inputSchema }) => {
      return { type: "function", function: { name, description, parameters: { type: "object", ...inputSchema } } };
    }),
    // Of 31 bits: no sampler takes more.
    seed: deriveSeed(seed, "reply", cell.case, cell.arm, cell.trial, cell.attempt ?? 1, turn) >>> 1,
    ...limits,
    ...(answerSchema && { answerSchema }),
  };
}

function toReply(result: Outcome, { turn }: ModelRequest): Reply {
  if ("kind" in result) return result;
  const { text, calls: written, ms, ...rest } = result;
  // Nine letters and digits, as the templates of Mistral require.
  const calls = written.map(({ tool, ...args }, at): Turn["calls"][number] => {
    const id = `call${String(turn).padStart(3, "0")}${String(at).padStart(2, "0")}`;
    return { id, tool, ...boundArguments(args) };
  });
  const made = calls.map(({ id, tool, arguments: args = {} }) => {
    return { id, type: "function" as const, function: { name: tool, arguments: args as JsonObject } };
  });
  const native: ChatMessage = { role: "assistant", content: text, ...(calls.length > 0 && { tool_calls: made }) };
  return { kind: "turn", turn: { ...rest, text: boundText(text), calls, ms }, native };
}

type Outcome = Broken | (Answer & { ms: number });

const broken = (message: string): Broken => ({ kind: "broken", stage: "model", message });

/** The process of a model. It gets one request at a time, and is started again after a crash. */
class ModelProcess {
  #child: ChildProcess | undefined;
  #settle: (message: Received | { ended: string }) => void = () => {};
  #last: Promise<unknown> = Promise.resolve();
  #crashes = 0;

  constructor(
    private readonly options: OpenOptions,
    private readonly env: LocalOptions["env"],
  ) {}

  /**
   * Starts the process and loads the model; resolves with what is recorded of it. Tells how much memory it takes
   * before it does. Throws a usage error with the cause if it cannot be loaded.
   */
  async open(io: LocalOptions["io"], signal = io?.signal): Promise<JsonObject> {
    this.#start((head) => io?.err(describeHead(head, this.options.file)));
    const stop = () => this.#child?.kill("SIGKILL");
    signal?.addEventListener("abort", stop, { once: true });
    const reply = await this.#exchange({ open: this.options });
    signal?.removeEventListener("abort", stop);
    if ("loaded" in reply) return reply.loaded;
    if (signal?.aborted)
      throw new EvalsError({ severity: "error", message: "Stopped while the model was loaded." }, exitCodes.incomplete);
    if ("refused" in reply) {
      this.#child?.disconnect();
      throw usageError(reply.refused.message, reply.refused.hint);
    }
    const why = "ended" in reply ? `its process ended ${reply.ended}` : "its process does not answer";
    throw usageError(`${this.options.file} cannot be loaded: ${why}.`, "Name another GGUF file, or a smaller one.");
  }

  /** Makes a request after all earlier ones. Does not reject. */
  async ask(request: AskOptions, signal: AbortSignal): Promise<Outcome> {
    const mine = this.#last.then(() => this.#askNow(request, signal));
    this.#last = mine;
    setMaxListeners(0, signal);
    const isOver = new AbortController();
    const toCancelled = () => cancelled;
    const aborted = once(signal, "abort", { signal: isOver.signal }).then(toCancelled, toCancelled);
    return await Promise.race([mine, aborted]).finally(() => isOver.abort());
  }

  async #askNow(request: AskOptions, signal: AbortSignal): Promise<Outcome> {
    if (signal.aborted) return cancelled;
    if (this.#crashes >= maxCrashes)
      return { ...broken(`the model is not asked again: its process crashed ${maxCrashes} times`), again: true };
    if (!this.#child) {
      const failed = await this.open(undefined, signal).then(() => undefined, messageOf);
      if (failed !== undefined) return signal.aborted ? cancelled : broken(`after a crash, ${failed}`);
    }
    const startedAt = performance.now();
    const cancel = () => this.#child?.send({ cancel: true } satisfies Sent, () => {});
    signal.addEventListener("abort", cancel, { once: true });
    const reply = await this.#exchange({ ask: request });
    signal.removeEventListener("abort", cancel);
    if (signal.aborted) return cancelled;
    if ("ended" in reply) {
      this.#crashes++;
      return broken(`the process of the model ended ${reply.ended}`);
    }
    this.#crashes = 0;
    if ("answer" in reply) return { ...reply.answer, ms: performance.now() - startedAt };
    if ("fault" in reply) return reply.isTimeout ? { ...broken(reply.fault), stage: "timeout" } : broken(reply.fault);
    return broken("the process of the model does not answer");
  }

  #start(onHead: (head: ModelHead) => void): void {
    // Next to this file, with the same ending: .js in the package.
    const script = fileURLToPath(new URL(`./modelProcess${extname(import.meta.url)}`, import.meta.url));
    // In a process group of its own, which Ctrl-C does not reach. It ends when the channel to this program closes.
    const env = Object.fromEntries(Object.entries(this.env).filter(([name]) => passedOn.test(name)));
    const child = fork(script, { env, detached: true, stdio: ["ignore", "ignore", "pipe", "ipc"] });
    let tail = "";
    child.stderr?.on("data", (part: Buffer) => {
      tail = `${tail}${part}`.slice(-4_096);
    });
    child.on("message", (message: Received) => {
      if ("head" in message) onHead(message.head);
      else this.#settle(message);
    });
    const end = (how: string) => {
      if (this.#child === child) this.#child = undefined;
      const lines = stripVTControlCharacters(tail).trim().split("\n");
      const why = lines.find((line) => /assert|error|fatal|what\(\)/i.test(line)) ?? lines.at(-1);
      this.#settle({ ended: why ? `${how}: ${why}` : how });
    };
    child.once("error", (error) => end(`by ${error.message}`));
    child.once("close", (code, signal) => {
      const killed = signal === "SIGKILL" ? "by SIGKILL, maybe for lack of memory" : `by ${signal}`;
      end(signal ? killed : `with code ${code}`);
    });
    this.#child = child;
  }

  /** Sends a message and waits for its reply. Only meanwhile, the process keeps this program running. */
  async #exchange(message: Sent): Promise<Received | { ended: string }> {
    const child = this.#child;
    const parts = [child, child?.channel, child?.stderr as Socket | null | undefined];
    for (const part of parts) part?.ref();
    const reply = await new Promise<Received | { ended: string }>((resolve) => {
      this.#settle = resolve;
      child?.send(message, (error) => error && resolve({ ended: `by ${error.message}` }));
    });
    for (const part of parts) part?.unref();
    return reply;
  }
}

const describeHead = ({ name, bytes, context }: ModelHead, file: string) =>
  `Loading ${name} from ${file}: about ${megabytes(bytes)} of memory with a context of ${integer(context)} tokens. Reading a list of tools takes longest; it is kept for later requests.\n`;
