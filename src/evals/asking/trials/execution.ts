import { setTimeout as delay } from "node:timers/promises";
import { messageOf } from "../../base/types/errors.ts";
import type { ExecutionPolicy } from "../../base/types/flagValues.ts";
import { isJsonObject, type Json, sameJson } from "../../base/types/json.ts";
import type { Model } from "../../base/types/model.ts";
import type { ElicitAnswer } from "../../base/types/suiteFile.ts";
import {
  type AnswerElicitation,
  isCallable,
  joinResult,
  type OfferedTool,
  type ToolServer,
  type Toolset,
} from "../../base/types/tool.ts";
import { type Broken, broken, type Call, type Execution, type ListChange } from "../../base/types/trial.ts";
import type { AnswerByMock } from "../scoring/matchers.ts";
import { executable } from "../scoring/tools.ts";

/** Executes the calls of one trial. `close` releases the server, if one was needed. */
export type Executor = {
  execute(call: Call, signal: AbortSignal): Promise<Execution | Broken>;
  /**
   * Reads the list again if the server has said during the calls that it changed. Returns the tools of the trial as
   * they are now, and what is new: tools keep their places and new ones follow in the server's order, as in hosts that
   * read it again. Where an arm words a tool otherwise than the server, its wording stays.
   */
  readList(signal: AbortSignal): Promise<{ tools: readonly OfferedTool[]; change: ListChange } | Broken | undefined>;
  close(): Promise<void>;
};

/** `denial`: the result of a call that the policy denies; `{tool}` and `{reason}` in it are replaced. */
type ExecutorSettings = {
  policy: ExecutionPolicy;
  model?: Pick<Model, "makesUpArguments">;
  pool?: ServerPool | undefined;
  answerByMock?: AnswerByMock | undefined;
  denial?: string | undefined;
  elicit?: readonly ElicitAnswer[] | undefined;
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
export function createExecutor(toolset: Toolset, settings: ExecutorSettings): Executor {
  const { policy, model, pool, answerByMock, denial, elicit = [], held = new HeldResults() } = settings;
  let lease: Lease | undefined;
  let characters = 0;
  let tools = toolset.tools;
  const answers = [...elicit];
  const answerElicitation: AnswerElicitation = (message) => {
    const at = answers.findIndex((one) => message.includes(one.message ?? ""));
    const [answer] = at < 0 ? [] : answers.splice(at, 1);
    return answer && { action: answer.action, ...(answer.action === "accept" && { content: answer.content ?? {} }) };
  };
  let listed = (pool?.tools ?? tools).filter(isOwn);
  // Changes of the list in the session that are caused by this trial; whether there are new ones, and any.
  const changes = { known: 0, isUnread: false, any: false };
  const countChanges = () => lease?.server.listChanges?.() ?? 0;
  const noteChanges = () => {
    if (countChanges() === changes.known) return;
    Object.assign(changes, { known: countChanges(), isUnread: true, any: true });
  };
  return {
    async execute(call, signal) {
      const tool = tools.find((candidate) => candidate.name === call.tool);
      if (!tool) return createSkip(`there is no tool ${call.tool}`);
      if (!isJsonObject(call.arguments)) return createSkip("its arguments are not a JSON object");
      const mocked = answerByMock?.(call);
      if (mocked) return mocked;
      // A list of an arm may be an older one, so the annotations that count are those of the server that is called.
      const { annotations } = listed.find(({ name }) => name === tool.name) ?? tool;
      const permission = executable({ ...tool, annotations }, policy, model);
      if (!permission.yes)
        return isCallable(tool) ? deny(tool.name, permission.reason, denial) : createSkip(permission.reason);
      if (!pool) return createSkip(`${call.tool} comes from a static list, without a server`);
      // Another trial changed the list of their session: this one needs a session of its own.
      if (lease?.isShared && !changes.any && countChanges() !== changes.known) lease = undefined;
      if (!lease) {
        const acquired = await pool.acquire(signal);
        if ("kind" in acquired) return acquired;
        lease = acquired;
        changes.known = lease.isShared ? countChanges() : 0;
      }
      const startedAt = performance.now();
      const outcome = await lease.server.call(call.tool, call.arguments, signal, answerElicitation);
      noteChanges();
      if (outcome.kind === "broken") return outcome;
      if (outcome.kind === "unknown-tool") return createSkip(outcome.message);
      const { length } = JSON.stringify(outcome.result);
      characters += length;
      const isWithin = held.add(length);
      if (characters > maxTrialCharacters) return tooMuch("this trial", maxTrialCharacters, call.tool);
      if (!isWithin) return tooMuch("the trials in flight", HeldResults.most, call.tool);
      return { status: "executed", result: outcome.result, ms: performance.now() - startedAt };
    },
    async readList(signal) {
      if (!lease) return undefined;
      const { server } = lease;
      if (server.settleMs) await delay(server.settleMs, undefined, { signal }).catch(() => {});
      noteChanges();
      if (!changes.isUnread) return undefined;
      changes.isUnread = false;
      try {
        const fresh = await listAgain(server, listed, signal);
        const updated = updateTools(tools, listed, fresh);
        listed = fresh;
        if (updated) tools = updated.tools;
        return updated;
      } catch (thrown) {
        return toBroken(thrown);
      }
    },
    async close() {
      held.add(-characters);
      await lease?.release();
    },
  };
}

const isOwn = ({ origin }: OfferedTool) => origin === "server";

/** What a server lists now, where it listed `before`. Throws EvalsError. */
async function listAgain(server: ToolServer, [first]: readonly OfferedTool[], signal: AbortSignal) {
  const name = first?.server ?? server.name;
  return (await server.list(signal)).map((tool): OfferedTool => ({ server: name, ...tool, origin: "server" }));
}

const isSame = (one: OfferedTool, other: OfferedTool) => sameJson(one as unknown as Json, other as unknown as Json);

/** The tools of a trial after the list of its server changed from `before` to `after`; undefined if nothing changed. */
function updateTools(tools: readonly OfferedTool[], before: readonly OfferedTool[], after: readonly OfferedTool[]) {
  const [own, old, now] = [tools, before, after].map((list) => new Map(list.map((tool) => [tool.name, tool])));
  const added = after.filter((tool) => {
    const [shown, listed] = [own?.get(tool.name), old?.get(tool.name)];
    return shown ? listed && isSame(shown, listed) && !isSame(shown, tool) : !listed;
  });
  const removed = tools.filter((tool) => isOwn(tool) && old?.has(tool.name) && !now?.has(tool.name));
  if (added.length + removed.length === 0) return undefined;
  const fresh = new Map(added.map((tool) => [tool.name, tool]));
  const kept = tools.filter((tool) => !removed.includes(tool)).map((tool) => fresh.get(tool.name) ?? tool);
  return {
    tools: [...kept, ...added.filter(({ name }) => !own?.has(name))],
    change: { added, removed: removed.map(({ name }) => name) },
  };
}

/** Of all results of one trial, as JSON: the record of a run holds them all. */
const maxTrialCharacters = 16 * 1024 * 1024;

function tooMuch(whose: string, most: number, tool: string): Broken {
  const size = `more than ${most / 1024 / 1024} Mi characters together`;
  return broken("server", `The results of ${whose} have ${size}, with that of "${tool}"`);
}

/** A call that is not executed. */
export const createSkip = (reason: string): Execution => ({ status: "skipped", reason });

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
  const { isError } = execution.result;
  const text = joinResult(execution.result);
  if (text.length <= resultCharacters) return { text, isError };
  const cut = `${text.slice(0, resultCharacters)}\n[truncated: ${text.length} characters in total]`;
  return { text: cut, isError };
}

/** A server that one trial holds until it releases it. `isShared`: other trials call it at the same time. */
type Lease = { server: ToolServer; isShared?: true; release(): Promise<void> };

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

const toBroken = (thrown: unknown) => broken("server", messageOf(thrown));

/**
 * One process for the whole run, restarted when it dies. Once it lists other tools than at the start (`tools`), it
 * shows what one trial did: the others then get processes of their own.
 */
export function sharedPool(first: ToolServer, open: Open, tools: readonly OfferedTool[] = []): ServerPool {
  const listed = tools.filter(isOwn);
  let current = first;
  let seenChanges = 0;
  let hasChanged = false;
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

  const readChanges = async (signal: AbortSignal) => {
    const changes = current.listChanges?.() ?? 0;
    if (hasChanged || changes === seenChanges) return;
    seenChanges = changes;
    hasChanged = updateTools(listed, listed, await listAgain(current, listed, signal).catch(() => [])) !== undefined;
  };

  return {
    tools,
    async acquire(signal) {
      await readChanges(signal);
      if (hasChanged) return await isolatedPool(open).acquire(signal);
      if (!current.alive()) {
        opening ??= restart(signal).finally(() => {
          opening = undefined;
        });
        const failure = await opening;
        if (failure) return failure;
      }
      return { server: current, isShared: true, release: async () => {} };
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
