import { messageOf } from "../../base/types/errors.ts";
import type { ExecutionPolicy } from "../../base/types/execution.ts";
import { isJsonObject } from "../../base/types/json.ts";
import type { Model } from "../../base/types/model.ts";
import { isCallable, joinResult, type OfferedTool, type ToolServer, type Toolset } from "../../base/types/tool.ts";
import type { Broken, Call, Execution } from "../../base/types/trial.ts";
import type { AnswerByMock } from "../scoring/mocks.ts";
import { executable } from "../scoring/tools.ts";

/** Executes the calls of one trial. `close` releases the server, if one was needed. */
export type Executor = {
  execute(call: Call, signal: AbortSignal): Promise<Execution | Broken>;
  close(): Promise<void>;
};

/** `denial`: the result of a call that the policy denies; `{tool}` and `{reason}` in it are replaced. */
type ExecutorSettings = {
  policy: ExecutionPolicy;
  model?: Pick<Model, "writesNoArguments">;
  pool?: ServerPool | undefined;
  answerByMock?: AnswerByMock | undefined;
  denial?: string | undefined;
  held?: HeldResults;
};

/** The characters of all results, as JSON, that the trials in flight of one run hold in memory. */
export class HeldResults {
  static readonly most = 256 * 1024 * 1024;
  #characters = 0;

  /** Adds characters, or removes them if negative. Returns whether all together are within the limit. */
  add(characters: number): boolean {
    this.#characters += characters;
    return this.#characters <= HeldResults.most;
  }
}

/**
 * Creates the executor of one trial: a call is executed when its tool is listed, its arguments are an object, no mock
 * answers it and the policy permits it. A server is acquired on the first such call.
 */
export function createExecutor(
  toolset: Toolset,
  { policy, model, pool, answerByMock = () => undefined, denial, held = new HeldResults() }: ExecutorSettings,
): Executor {
  let lease: Lease | undefined;
  let characters = 0;
  return {
    async execute(call, signal) {
      const tool = toolset.tools.find((candidate) => candidate.name === call.tool);
      if (!tool) return skip(`there is no tool ${call.tool}`);
      if (!isJsonObject(call.arguments)) return skip("its arguments are not a JSON object");
      const mocked = answerByMock(call);
      if (mocked) return mocked;
      // A list of an arm may be an older one, so the annotations that count are those of the server that is called.
      const { annotations } = pool?.tools?.find(({ name }) => name === tool.name) ?? tool;
      const permission = executable({ ...tool, annotations }, policy, model);
      if (!permission.yes)
        return isCallable(tool) ? deny(tool.name, permission.reason, denial) : skip(permission.reason);
      if (!pool) return skip(`${call.tool} comes from a static list, without a server`);
      if (!lease) {
        const acquired = await pool.acquire(signal);
        if ("kind" in acquired) return acquired;
        lease = acquired;
      }
      const startedAt = performance.now();
      const outcome = await lease.server.call(call.tool, call.arguments, signal);
      if (outcome.kind === "broken") return outcome;
      if (outcome.kind === "unknown-tool") return skip(outcome.message);
      const { length } = JSON.stringify(outcome.result);
      characters += length;
      const isWithin = held.add(length);
      if (characters > maxTrialCharacters) return tooMuch("this trial", maxTrialCharacters, call.tool);
      if (!isWithin) return tooMuch("the trials in flight", HeldResults.most, call.tool);
      return { status: "executed", result: outcome.result, ms: performance.now() - startedAt };
    },
    async close() {
      held.add(-characters);
      await lease?.release();
    },
  };
}

/** Of all results of one trial, as JSON: the record of a run holds them all. */
const maxTrialCharacters = 16 * 1024 * 1024;

const tooMuch = (whose: string, most: number, tool: string): Broken => ({
  kind: "broken",
  stage: "server",
  message: `The results of ${whose} have more than ${most / 1024 / 1024} Mi characters together, with that of "${tool}"`,
});

const skip = (reason: string): Execution => ({ status: "skipped", reason });

/** The result of a call of one of the harness's own tools. */
export function createTextResult(text: string, isError = false): Execution {
  return { status: "executed", result: { isError, content: [{ type: "text", text }] }, ms: 0 };
}

function deny(tool: string, reason: string, denial: string | undefined): Execution {
  const denied = { status: "skipped", reason, denied: true } as const;
  if (denial === undefined) return denied;
  const values: Record<string, string> = { tool, reason };
  return { ...denied, text: denial.replace(/\{(tool|reason)\}/g, (whole, name: string) => values[name] ?? whole) };
}

/** Longer results are truncated before they go back to the model, so that the ceiling of a plan holds. */
export const resultCharacters = 20_000;

/** The result of a call as the model gets it: its text, or why the call was not executed. */
export function renderResult(execution: Execution): { text: string; isError: boolean } {
  if (execution.status === "skipped")
    return { text: execution.text ?? `This call was not executed: ${execution.reason}`, isError: true };
  const text = joinResult(execution.result);
  const cut =
    text.length > resultCharacters
      ? `${text.slice(0, resultCharacters)}\n[truncated: ${text.length} characters in total]`
      : text;
  return { text: cut, isError: execution.result.isError };
}

/** A server that one trial holds until it releases it. */
type Lease = { server: ToolServer; release(): Promise<void> };

/**
 * Provides the server of a suite, and what it lists. `acquire` does not throw: it returns a broken value if there is no
 * server.
 */
export type ServerPool = {
  readonly tools?: readonly OfferedTool[];
  acquire(signal: AbortSignal): Promise<Lease | Broken>;
  close(): Promise<void>;
};

type Open = (signal: AbortSignal) => Promise<ToolServer>;

/** After this many consecutive failed starts, a server is not restarted: trials that need it break immediately. */
const maxFailures = 3;

const toBroken = (thrown: unknown): Broken => ({ kind: "broken", stage: "server", message: messageOf(thrown) });

/** One process for the whole run, restarted when it dies. */
export function sharedPool(first: ToolServer, open: Open): ServerPool {
  let current = first;
  let opening: Promise<Broken | undefined> | undefined;
  let failures = 0;
  let lastFailure: Broken | undefined;

  const restart = async (signal: AbortSignal): Promise<Broken | undefined> => {
    if (failures >= maxFailures && lastFailure) return lastFailure;
    try {
      await current.close();
      current = await open(signal);
      failures = 0;
      return undefined;
    } catch (thrown) {
      if (!signal.aborted) failures++;
      lastFailure = toBroken(thrown);
      return lastFailure;
    }
  };

  return {
    async acquire(signal) {
      if (!current.alive()) {
        opening ??= restart(signal).finally(() => {
          opening = undefined;
        });
        const failure = await opening;
        if (failure) return failure;
      }
      return { server: current, release: async () => {} };
    },
    close: () => current.close(),
  };
}

/** A new process for every trial, for servers that keep state. */
export function isolatedPool(open: Open): ServerPool {
  return {
    async acquire(signal) {
      try {
        const server = await open(signal);
        return { server, release: () => server.close() };
      } catch (thrown) {
        return toBroken(thrown);
      }
    },
    close: async () => {},
  };
}
