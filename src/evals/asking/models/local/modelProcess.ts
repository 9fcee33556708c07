import { createHash } from "node:crypto";
import { mkdir, rename, rm, stat, utimes } from "node:fs/promises";
import { availableParallelism, cpus, totalmem } from "node:os";
import { basename, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { sumOf } from "../../../base/collections.ts";
import { EvalsError, messageOf, usageError } from "../../../base/types/errors.ts";
import { isJsonObject, type JsonObject } from "../../../base/types/json.ts";
import { noUsage } from "../../../base/types/model.ts";
import { megabytes } from "../../../reports/format.ts";
import { pruneFolder } from "../cache.ts";
import { CallGrammar, findOpening, readCalls } from "./calls.ts";
import {
  type Context,
  importLibrary,
  type Library,
  type Llama,
  type Model,
  type Sequence,
  type Token,
} from "./library.ts";
import type { Answer, AskOptions, OpenOptions, Received, Sampling, Sent } from "./protocol.ts";
import { type CallForm, ChatTemplate, commonLength, jsonForm } from "./template.ts";
import { hashFile } from "./weights.ts";

// The process of one model. It loads the model, answers one request at a time, and ends with the program.

/** Tokens of the context that a model gets at first; more when a request needs more. */
const smallContext = 8_192;
/**
 * Tokens that are read at once, after which a request can be cancelled. Two lists that begin alike share whole chunks
 * only, since the last digits of a state depend on what was read at once. More tokens at once are no faster (64 to 512
 * on 2 cores).
 */
const chunk = 128;

/**
 * How the authors of a model recommend to draw tokens: on the cards of Qwen2.5 and Qwen3 (not thinking), Gemma 3, Llama
 * 3 and Granite, November 2026. Newer files say it themselves. No penalty of repetitions, which would change names and
 * JSON.
 */
const recommended: Readonly<Record<string, Partial<Sampling>>> = {
  qwen2: { topP: 0.8, topK: 20 },
  qwen3: { topP: 0.8, topK: 20 },
  gemma3: { temperature: 1, topK: 64 },
  llama: { temperature: 0.6, topP: 0.9 },
  granite: { temperature: 0 },
};
const usual: Sampling = { temperature: 0.7, topP: 0.95, topK: 40, minP: 0 };

const send = (message: Received) => process.send?.(message);

class LoadedModel {
  #context: Context | undefined;
  #sequence: Sequence | undefined;
  #contextSize = 0;
  /** The tokens that the sequence begins with. */
  #prefix: readonly Token[] = [];
  readonly #grammars = new Map<string, Promise<object>>();
  readonly #cores = new FreeCores();

  constructor(
    private readonly library: Library,
    private readonly llama: Llama,
    private readonly model: Model,
    private readonly template: ChatTemplate,
    private readonly sampling: Sampling,
    private readonly options: OpenOptions & { id: string; flashAttention: "auto" | false },
  ) {}

  async ask(request: AskOptions, signal: AbortSignal): Promise<Answer> {
    const { messages, tools, maxTokens } = request;
    const tokens = this.#tokenize(this.template.render(messages, tools));
    const [one = [], other = []] = this.template.renderPrefix(messages, tools).map((text) => this.#tokenize(text));
    const shared = Math.min(commonLength(one, other), commonLength(one, tokens), tokens.length - 1);
    const prefix = tokens.slice(0, shared);
    await this.#provideContext(tokens.length, prefix.length, maxTokens);
    this.llama.maxThreads = await this.#cores.count();
    const known = await this.#restore(prefix, signal);
    const cached = { cacheReadTokens: known, cacheWriteTokens: prefix.length - known };
    const usage = { ...noUsage, inputTokens: tokens.length - prefix.length, ...cached };
    return await this.#generate(tokens.slice(prefix.length), usage, request, signal);
  }

  #tokenize(text: string): Token[] {
    const { bos, shouldPrependBosToken } = this.model.tokens;
    const tokens = this.model.tokenize(text, true);
    return shouldPrependBosToken && bos !== null && tokens[0] !== bos ? [bos, ...tokens] : tokens;
  }

  /** A context with room for a request and its reply. */
  async #provideContext(tokens: number, prefix: number, maxTokens: number): Promise<void> {
    const needed = tokens + maxTokens;
    const { trainContextSize: largest } = this.model;
    const asked = `the request has ${tokens} tokens, ${prefix} of them the tool list, and its reply up to ${maxTokens}`;
    if (needed > largest) throw new Error(`${asked}; the context of the model has ${largest}`);
    if (needed <= this.#contextSize) return;
    this.#contextSize = Math.min(largest, Math.max(smallContext, Math.ceil(needed / 4096) * 4096));
    await this.#context?.dispose();
    this.#prefix = [];
    this.#sequence = undefined;
    const most = Math.min(this.llama.cpuMathCores, availableParallelism());
    // A context takes no more threads than are allowed when it is made.
    this.llama.maxThreads = most;
    const threads = { ideal: most, min: 1 };
    this.#context = await this.model.createContext({
      contextSize: this.#contextSize,
      threads,
      // The whole window of models that look back over a part of it: otherwise no prefix could be used twice.
      swaFullCache: true,
      flashAttention: this.options.flashAttention,
    });
    this.#sequence = this.#context.getSequence();
  }

  /**
   * Brings the sequence to the end of the prefix: from where it is, from a file, or by reading it, after which it is
   * kept in a file. Whatever follows is evaluated again, so that a reply does not depend on earlier requests. Returns
   * how many of its tokens were known.
   */
  async #restore(prefix: readonly Token[], signal: AbortSignal): Promise<number> {
    const sequence = this.#sequence as Sequence;
    const common = commonLength(prefix, this.#prefix);
    const isSame = common === prefix.length && common === this.#prefix.length;
    if (isSame && (await cutTo(sequence, common))) return common;
    this.#prefix = [];
    const name = createHash("sha256").update(`${this.options.id} ${prefix.join()}`).digest("hex");
    const file = join(this.options.states, `${name}.state`);
    let known = 0;
    if ((await stat(file).catch(() => undefined)) !== undefined) {
      known = prefix.length;
      await sequence.loadStateFromFile(file, { acceptRisk: true });
      await utimes(file, new Date(), new Date()).catch(() => {});
    } else {
      // Lists in one order begin alike, up to the first tool that was edited.
      if (!sequence.needsCheckpoints) known = common - (common % chunk);
      if (known === 0 || !(await cutTo(sequence, known))) {
        known = 0;
        await sequence.clearHistory();
      }
      for (let at = known; at < prefix.length; at += chunk) {
        signal.throwIfAborted();
        await sequence.evaluateWithoutGeneratingNewTokens(prefix.slice(at, at + chunk));
      }
      await this.#keep(sequence, file);
    }
    if (sequence.needsCheckpoints) await sequence.takeCheckpoint();
    this.#prefix = prefix;
    return known;
  }

  /** Writes the state of a prefix to a file, within the limit. Without space it is read again the next time. */
  async #keep(sequence: Sequence, file: string): Promise<void> {
    const unfinished = `${file}.${process.pid}`;
    try {
      await mkdir(this.options.states, { recursive: true });
      await sequence.saveStateToFile(unfinished);
      await rename(unfinished, file);
      await pruneFolder(this.options.states, this.options.maxStateBytes);
    } catch {
      await rm(unfinished, { force: true });
    }
  }

  async #generate(
    tokens: Token[],
    usage: Answer["usage"],
    { tools, seed, isFree, maxTokens, timeoutMs, answerSchema }: AskOptions,
    signal: AbortSignal,
  ): Promise<Answer> {
    const native: CallForm[] = this.template.form && tools.length > 0 ? [this.template.form] : [];
    const forms = isFree || tools.length === 0 ? native : [...native, jsonForm];
    const grammar = isFree || tools.length === 0 ? undefined : new CallGrammar(tools);
    let state = answerSchema && (await this.#createState(CallGrammar.ofSchema(answerSchema)));
    const limit = AbortSignal.timeout(timeoutMs);
    const written: Token[] = [];
    let [text, complete] = ["", 0];
    const draw = { ...this.sampling, seed, grammarEvaluationState: () => state };
    for await (const token of this.#sequence?.evaluate(tokens, draw) ?? []) {
      signal.throwIfAborted();
      limit.throwIfAborted();
      written.push(token);
      text = this.model.detokenize(written, true);
      if (written.length >= maxTokens) break;
      if (!grammar) continue;
      const found = readCalls(text, forms).calls;
      if (found.length > complete) {
        complete = found.length;
        state = undefined;
        // Behind a call in a code block, models write what they believe to be its result.
        if (found.at(-1)?.form === jsonForm) break;
      } else if (!state) {
        const opening = findOpening(text.slice(found.at(-1)?.end ?? 0), forms);
        const rules = opening && grammar.follow(opening.written, opening.form);
        state = rules === undefined ? undefined : await this.#createState(rules);
      }
    }
    const isCut = written.length >= maxTokens;
    const read = isCut ? { calls: [], text } : readCalls(text, forms);
    const stop = isCut ? "cut" : read.calls.length > 0 ? "calls" : "done";
    const calls = read.calls.map(({ start: _, end: __, form: ___, ...call }) => call) as Answer["calls"];
    return { text: read.text, calls, stop, usage: { ...usage, outputTokens: written.length } };
  }

  /** The state of a grammar at its start. Grammars are kept: reading one takes longer than drawing a token. */
  async #createState(rules: string): Promise<object> {
    const grammar = this.#grammars.get(rules) ?? this.llama.createGrammar({ grammar: rules });
    if (this.#grammars.size >= 64) this.#grammars.clear();
    this.#grammars.set(rules, grammar);
    return new this.library.LlamaGrammarEvaluationState({ model: this.model, grammar: await grammar });
  }
}

/** Erases what follows the first tokens. Returns whether they are still there. */
async function cutTo(sequence: Sequence, start: number): Promise<boolean> {
  const { nextTokenIndex: end } = sequence;
  if (end > start) await sequence.eraseContextTokenRanges([{ start, end }]);
  return sequence.nextTokenIndex === start;
}

/**
 * The cores that no other program uses. The threads of a model wait for each other after each step: with one that gets
 * no core, two take ten times as long as one (2 cores at load 18, 20 tokens: 55 s and 5 s).
 */
class FreeCores {
  #before = readCores();
  #count = 0;

  /** At least 1: those that were idle or this process's own since the last count, which is kept for a second. */
  async count(): Promise<number> {
    if (this.#count === 0) await delay(250);
    const [before, now] = [this.#before, readCores()];
    if (this.#count === 0 || now.at - before.at > 1_000) {
      this.#count = Math.max(1, Math.round((now.free - before.free) / (now.at - before.at)));
      this.#before = now;
    }
    return this.#count;
  }
}

/** The time since the start, and that of cores that were idle or worked for this process, in ms. */
function readCores(): { at: number; free: number } {
  const { user, system } = process.cpuUsage();
  return { at: performance.now(), free: sumOf(cpus(), ({ times }) => times.idle) + (user + system) / 1_000 };
}

/** A message to end a sentence with. */
const withoutStop = (message: string) => message.trim().replace(/\.$/, "");

const otherFile = "Name a complete GGUF file of an instruction-tuned model.";

async function open(options: OpenOptions): Promise<LoadedModel> {
  const { file, cwd } = options;
  const { library, version } = await importLibrary(cwd);
  const info = await library.readGgufFileInfo(file).catch((error: Error) => {
    throw usageError(`${file} is not a GGUF file: ${withoutStop(error.message)}.`, otherFile);
  });
  const { general, tokenizer } = info.metadata as { general: JsonObject; tokenizer?: { chat_template?: string } };
  const source = tokenizer?.chat_template;
  if (!source) throw usageError(`${file} has no chat template.`, otherFile);
  const faults: string[] = [];
  const logger = (level: string, message: string) => void (/error|fatal/.test(level) && faults.push(message.trim()));
  const llama = await library.getLlama({ build: "never", skipDownload: true, logger });
  const insights = await library.GgufInsights.from(info, llama);
  const contextSize = Math.min(smallContext, insights.trainContextSize ?? smallContext);
  const gpuLayers = llama.gpu === false ? 0 : undefined;
  const bytes =
    insights.estimateModelResourceRequirements({ gpuLayers }).cpuRam +
    insights.estimateContextResourceRequirements({ contextSize, modelGpuLayers: gpuLayers }).cpuRam;
  const sampling = { ...usual, ...recommended[String(general.architecture)], ...readSampling(general.sampling) };
  const name = String(general.name ?? basename(file));
  const sha256 = await hashFile(file);
  send({ head: { name, bytes, context: contextSize } });
  // macOS counts what it can free at once as used.
  const available = process.platform === "darwin" ? totalmem() * 0.75 : process.availableMemory();
  const needs = `${name} needs about ${megabytes(bytes)} of memory, and ${megabytes(available)} are available.`;
  if (bytes > available) throw usageError(needs, "Close other programs, or name a smaller model.");
  const model = await llama.loadModel({ modelPath: file }).catch(async (error: Error) => {
    // The library passes on what llama.cpp logs a little later.
    await delay(50);
    throw usageError(`${file} cannot be loaded: ${withoutStop(faults[0] ?? error.message)}.`, otherFile);
  });
  const { bosString, eosString } = model.tokens;
  const template = readTemplate(source, { bos: bosString ?? "", eos: eosString ?? "" }, file);
  const engine = `node-llama-cpp ${version}${llama.gpu ? ` (${llama.gpu})` : ""}`;
  const corrected = template.corrections.length > 0 && { corrected: [...template.corrections] };
  send({ loaded: { sha256, engine, template: { sha256: template.sha256, ...corrected }, ...sampling } });
  // On a CPU, it adds up in parts, one for each thread, and a reply would depend on what else was running.
  const flashAttention = llama.gpu ? "auto" : false;
  const id = `${sha256} ${engine} ${flashAttention} ${chunk}`;
  return new LoadedModel(library, llama, model, template, sampling, { ...options, id, flashAttention });
}

function readTemplate(source: string, tokens: { bos: string; eos: string }, file: string): ChatTemplate {
  try {
    return new ChatTemplate(source, tokens);
  } catch (error) {
    throw usageError(`The chat template of ${file} cannot be read: ${messageOf(error)}.`, otherFile);
  }
}

/** What a file says of how to draw tokens, in the keys of llama.cpp. */
function readSampling(written: unknown): Partial<Sampling> {
  if (!isJsonObject(written)) return {};
  const { temp: temperature, top_p: topP, top_k: topK, min_p: minP } = written;
  const found = Object.entries({ temperature, topP, topK, minP }).filter(([, value]) => typeof value === "number");
  return Object.fromEntries(found);
}

let opened: Promise<LoadedModel> | undefined;
let running = new AbortController();

async function answer(request: AskOptions): Promise<void> {
  running = new AbortController();
  try {
    send({ answer: await ((await opened) as LoadedModel).ask(request, running.signal) });
  } catch (error) {
    const isTimeout = error instanceof DOMException && error.name === "TimeoutError";
    const why = isTimeout ? `no complete reply within ${request.timeoutMs / 1000} s` : messageOf(error);
    send({ fault: why, ...(isTimeout && { isTimeout }) });
  }
}

process.on("message", (message: Sent) => {
  if ("cancel" in message) return running.abort();
  if ("ask" in message) return void answer(message.ask);
  opened = open(message.open);
  opened.catch((error) => {
    const known = error instanceof EvalsError ? error : usageError(`The model cannot be loaded: ${messageOf(error)}.`);
    const { message = "", hint = otherFile } = known.problems[0] ?? {};
    send({ refused: { message, hint } });
  });
});
process.on("disconnect", () => process.exit());
