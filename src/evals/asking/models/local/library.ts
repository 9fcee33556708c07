import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { usageError } from "../../../base/types/errors.ts";
import type { JsonObject } from "../../../base/types/json.ts";
import type { Sampling } from "./protocol.ts";

// The part of node-llama-cpp that is used here. It is an optional peer, which few users install.

export type Token = number;
export type Sequence = {
  readonly nextTokenIndex: number;
  readonly needsCheckpoints: boolean;
  clearHistory(): Promise<void>;
  takeCheckpoint(): Promise<void>;
  eraseContextTokenRanges(ranges: { start: number; end: number }[]): Promise<void>;
  evaluateWithoutGeneratingNewTokens(tokens: Token[]): Promise<void>;
  evaluate(
    tokens: Token[],
    options: Sampling & { seed: number; grammarEvaluationState: () => object | undefined },
  ): AsyncIterable<Token>;
  saveStateToFile(file: string): Promise<unknown>;
  loadStateFromFile(file: string, risk: { acceptRisk: true }): Promise<void>;
};
export type Context = { getSequence(): Sequence; dispose(): Promise<void> };
export type Model = {
  readonly trainContextSize: number;
  readonly tokens: {
    bos: Token | null;
    bosString: string | null;
    eosString: string | null;
    shouldPrependBosToken: boolean;
  };
  tokenize(text: string, specialTokens: boolean): Token[];
  detokenize(tokens: readonly Token[], specialTokens: boolean): string;
  createContext(options: object): Promise<Context>;
};
export type Llama = {
  readonly cpuMathCores: number;
  /** The most threads of a step, whatever a context asks for. */
  maxThreads: number;
  readonly gpu: string | false;
  loadModel(options: object): Promise<Model>;
  createGrammar(options: { grammar: string }): Promise<object>;
};
type Estimate = { cpuRam: number; gpuVram: number };
export type Library = {
  getLlama(options: object): Promise<Llama>;
  resolveModelFile(uri: string, options: object): Promise<string>;
  readGgufFileInfo(file: string): Promise<{ metadata: JsonObject }>;
  GgufInsights: {
    from(
      info: object,
      llama: Llama,
    ): Promise<{
      trainContextSize?: number;
      estimateModelResourceRequirements(options: object): Estimate;
      estimateContextResourceRequirements(options: object): Estimate;
    }>;
  };
  LlamaGrammarEvaluationState: new (options: { model: Model; grammar: object }) => object;
};

/** Imports the library from the project of the user, or from beside this program. */
export async function importLibrary(cwd: string): Promise<{ library: Library; version: string }> {
  const name = "node-llama-cpp";
  for (const from of [pathToFileURL(join(cwd, "project.js")), import.meta.url]) {
    const require = createRequire(from);
    try {
      const path = require.resolve(name);
      const folder = path.slice(0, path.lastIndexOf(name) + name.length);
      const { version = "unknown" } = require(join(folder, "package.json"));
      return { library: (await import(pathToFileURL(path).href)) as Library, version };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "MODULE_NOT_FOUND") throw error;
    }
  }
  const hint =
    "Install it in the project (76 MB): npm install --save-dev --omit=optional --ignore-scripts node-llama-cpp@3.21.1 @node-llama-cpp/<platform>@3.21.1, with linux-x64, linux-arm64, mac-arm64-metal or win-x64 as the platform.";
  throw usageError("node-llama-cpp is not installed, which runs models on this machine.", hint);
}
