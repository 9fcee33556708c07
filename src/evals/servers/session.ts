import { setMaxListeners } from "node:events";
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Client, ElicitResult } from "@modelcontextprotocol/client";
import { compileSchema } from "../base/jsonSchema/validate.ts";
import { quote } from "../base/text/text.ts";
import { EvalsError, exitCodes, type Problem } from "../base/types/errors.ts";
import type { JsonObject } from "../base/types/json.ts";
import type { AnswerElicitation } from "../base/types/tool.ts";
import { findKnownError } from "./diagnosis/signatures.ts";
import { findRunner, findScript, type LocalStart } from "./diagnosis/start.ts";
import { createHttpLink } from "./http.ts";
import { type ClientSdk, type Failure, findUnanswered, type Link, readStatus, type Unanswered } from "./link.ts";
import { type CommandSpec, type Env, type LiveSpec, serverError, type UrlSpec } from "./spec.ts";
import { createStdioLink, inheritedVariables, launch, type SeenStart } from "./stdio.ts";

/** What a connection needs in addition to the spec. */
export type ConnectContext = {
  /** How messages name the server. */
  name: string;
  /** The absolute folder that a relative `cwd` is resolved against; also its default. */
  dir: string;
  env: Env;
  signal: AbortSignal;
  /** The protocol revision of an earlier connection, so that an old server is not asked for it again. */
  revision?: string;
  /** Whether what the server asks the user can be answered. */
  elicits?: boolean;
  /** What was found missing in the spec, such as a variable: a likely cause of a failure that has no other. */
  unset?: readonly Problem[];
};

/** A connected client, and its link. */
export type Session = {
  client: Client;
  link: Link;
  sdk: ClientSdk;
  /** What the server asked of the client and did not get: elicitation, sampling or roots. */
  asked: readonly string[];
  /** Answers elicitation during a call. */
  elicit?: AnswerElicitation | undefined;
  /** How often the server said that its tool list changed. */
  listChanges(): number;
};

/**
 * How to start: ask the server for its protocol revision, or use the known one (`old` servers need `initialize`).
 * `sse`: with the older transport, after the other one was refused for the reason in `refusal`.
 */
type Attempt = { era: "ask" | "old" | "new"; sse?: true; refusal?: Error };

/** A server that does not answer a request for its revision within this time counts as old. */
const probeMs = 5_000;
const newEra = "2026-07-28";
/** "Unsupported protocol version": how a server that supports only the new revision answers `initialize`. */
const unsupportedVersion = -32022;
/** Timeouts are enforced here, so the client gets the longest possible one. */
export const noClientTimeout = { timeout: 2 ** 31 - 1 };

/** Opens a session in at most `ms`. Throws EvalsError when that fails. */
export async function openSession(spec: LiveSpec, context: ConnectContext, ms: number): Promise<Session> {
  const deadline = performance.now() + ms;
  let attempt: Attempt = { era: context.revision !== undefined && context.revision < newEra ? "old" : "ask" };
  for (let tries = 1; ; tries++) {
    const leftMs = Math.max(1, deadline - performance.now());
    try {
      return await open(spec, context, attempt, ms, leftMs);
    } catch (error) {
      if (!(error instanceof Again)) throw error;
      const waitMs = error.unanswered ? readPause(error.unanswered, tries) : 0;
      if (waitMs === undefined || performance.now() + waitMs > deadline) throw error.reason;
      await pause(waitMs, context.signal);
      attempt = { ...attempt, ...error.next };
    }
  }
}

/** Thrown if another attempt can succeed: of another kind, or later. `reason`: the error if there is no time for it. */
class Again extends Error {
  constructor(
    readonly reason: Error,
    readonly next: Partial<Attempt>,
    readonly unanswered?: Unanswered,
  ) {
    super(reason.message);
  }
}

/** A request is sent this often, and never waits longer than this for a server that is busy. */
const maxTries = 5;
const maxPauseMs = 120_000;

/** How long to wait, in ms, before a request is sent again for the `tries`-th time; undefined: no longer. */
export function readPause({ kind, waitMs }: Unanswered, tries: number): number | undefined {
  if (kind === "session") return tries > 1 ? undefined : 0;
  const ms = waitMs ?? 250 * 2 ** tries;
  return tries >= maxTries || ms > maxPauseMs ? undefined : ms;
}

/** Waits, or returns at once when the signal aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => {});
}

/** `limitMs` is the limit in messages, `leftMs` what is left of it. */
async function open(spec: LiveSpec, context: ConnectContext, attempt: Attempt, limitMs: number, leftMs: number) {
  // The process starts before the client is loaded, so that both happen in parallel.
  const launched = "command" in spec ? launch(spec, context.dir, context.env) : undefined;
  const sdk = await import("@modelcontextprotocol/client");
  const link: Link =
    "url" in spec || !launched
      ? createHttpLink({ ...(spec as UrlSpec), ...(attempt.sse && { transport: "sse" as const }) }, sdk, context.env)
      : createStdioLink(launched, sdk, (seen) => ({ ...describeLocal(spec, context), ...seen }));
  const { era } = attempt;
  const probe = era === "ask" ? Math.min(probeMs, leftMs / 2) : leftMs;
  const client = new sdk.Client(
    { name: "tool-evals", version: "0" },
    {
      capabilities: context.elicits ? { elicitation: { form: {} } } : {},
      versionNegotiation: { mode: "auto", probe: { timeoutMs: probe } },
    },
  );
  const asked: string[] = [];
  client.fallbackRequestHandler = async ({ method }) => {
    asked.push(method);
    throw new sdk.ProtocolError(sdk.ProtocolErrorCode.MethodNotFound, "Method not found");
  };
  const session: Session = { client, link, sdk, asked, listChanges: () => changes };
  if (context.elicits)
    client.setRequestHandler("elicitation/create", async ({ params }) => {
      const answer = session.elicit?.(params.message);
      const validate = "requestedSchema" in params && compileSchema(params.requestedSchema as JsonObject);
      const validity =
        answer?.content && validate && typeof validate !== "string" && validate(answer.content, "content");
      if (answer && !(validity && validity.kind === "invalid")) return answer as ElicitResult;
      const why = validity && validity.kind === "invalid" ? `does not fit: ${validity.why}` : "is missing";
      asked.push(`an answer to ${quote(params.message)}, which ${why} (\`elicit\` in the case)`);
      throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidRequest, "The user is not there");
    });
  let changes = 0;
  client.setNotificationHandler("notifications/tools/list_changed", () => {
    changes++;
  });
  let connected = false;
  client.onerror = (error) => {
    if (connected) link.onError?.(error);
  };
  const prior = era === "old" ? { prior: { kind: "legacy" as const } } : {};
  try {
    await withDeadline(attempt.sse ? Math.min(probeMs, leftMs) : leftMs, context.signal, link, () =>
      client.connect(link.transport, { ...noClientTimeout, ...prior }),
    );
    connected = true;
    // The new revision sends notifications only to who subscribes. A server that does not confirm it is waited for by
    // nobody.
    if ((client.getNegotiatedProtocolVersion() ?? "") >= newEra && client.getServerCapabilities()?.tools?.listChanged)
      void client.listen({ toolsListChanged: true }, noClientTimeout).catch(() => {});
    return session;
  } catch (error) {
    const failure = classifyFailure(error, link, limitMs);
    // The question for the revision gets no answer in its share of the time.
    const isSilent = error instanceof sdk.SdkError && error.code === sdk.SdkErrorCode.RequestTimeout;
    const shown = isSilent && !link.lost.aborted ? { kind: "silent" as const, ms: limitMs } : failure;
    await link.close();
    const reason = attempt.refusal ?? failureToError(context, link, shown);
    const next = failure === "cancelled" ? undefined : findNext(failure, attempt);
    if (next) throw new Again(reason, next.sse ? { ...next, refusal: reason } : next, findUnanswered(error));
    throw reason;
  }

  function findNext(failure: Failure, { era, sse }: Attempt): Partial<Attempt> | undefined {
    // Some servers of old SDKs exit on any request before `initialize`; one that says what it lacks is not one of them.
    // Some close the connection.
    const isExplained = launched && findKnownError(launched.stderrTail(), "ended")?.isNotice === false;
    const mayBeOld = !launched || (launched.pid !== undefined && !isExplained);
    if (failure.kind === "lost") return era === "ask" && mayBeOld ? { era: "old" } : undefined;
    if (failure.kind !== "error") return undefined;
    if (findUnanswered(failure.error)?.kind === "busy") return {};
    // A slow server that supports only the new revision misses the probe, and then refuses `initialize`.
    if (failure.error instanceof sdk.ProtocolError && failure.error.code === unsupportedVersion)
      return era === "new" ? undefined : { era: "new" };
    if (link.kind === "stdio") return undefined;
    // Whatever else a remote server answers to a question that it does not know: it may know the older one.
    if (era === "ask") return { era: "old" };
    if (findUnanswered(failure.error)) return {};
    const isDenied = [401, 403].includes(readStatus(failure.error) ?? 401);
    return era === "old" && !sse && "url" in spec && !spec.transport && !isDenied ? { sse: true } : undefined;
  }
}

class Cancelled extends Error {}
class TooLate extends Error {}
class Lost extends Error {}

/**
 * The result of `work`. When it is cancelled, takes longer than `ms` or loses the connection, it is aborted and this
 * rejects at once, with an error for `classifyFailure`.
 */
export function withDeadline<T>(ms: number, signal: AbortSignal, link: Link, work: (abort: AbortSignal) => Promise<T>) {
  return new Promise<T>((resolve, reject) => {
    const abort = new AbortController();
    // Every call in flight adds a listener; with many, Node would warn of a leak.
    setMaxListeners(0, signal, link.lost);
    const stop = (error: Error) => {
      reject(error);
      abort.abort(error);
    };
    const cancel = () => stop(new Cancelled());
    const lose = () => stop(new Lost());
    // An answer that came while this program was busy is read first: timers precede what waits in pipes and sockets.
    const timer = setTimeout(() => setImmediate(stop, new TooLate()), Math.min(ms, noClientTimeout.timeout));
    if (signal.aborted) cancel();
    signal.addEventListener("abort", cancel);
    if (link.lost.aborted) lose();
    link.lost.addEventListener("abort", lose);
    work(abort.signal)
      .then(resolve, reject)
      .finally(() => {
        clearTimeout(timer);
        signal.removeEventListener("abort", cancel);
        link.lost.removeEventListener("abort", lose);
      });
  });
}

/**
 * Classifies a rejection of `withDeadline`. A lost connection explains every other failure. `limitMs` is the time limit
 * that the user set; the deadline may be only what was left of it.
 */
export function classifyFailure(error: unknown, link: Link, limitMs: number): Failure | "cancelled" {
  if (error instanceof Cancelled) return "cancelled";
  if (error instanceof TooLate) return { kind: "silent", ms: limitMs };
  return link.lost.aborted ? { kind: "lost", reason: String(link.lost.reason) } : { kind: "error", error };
}

type Named = Pick<ConnectContext, "name" | "unset">;
/** The error message of a failure. */
export function failureToError({ name, unset = [] }: Named, link: Link, failure: Failure | "cancelled"): EvalsError {
  if (failure === "cancelled") return serverError(`The start of server "${name}" was cancelled.`);
  if (failure.kind === "error" && failure.error instanceof EvalsError) return failure.error;
  const { message, hint, rule, isExplained = false } = link.explain(failure);
  const more = isExplained ? [] : unset.map((one) => `${one.message} ${one.hint ?? ""}`);
  return new ServerFailure(
    `Server "${name}" ${message}`,
    [hint, ...more].join("\n"),
    isExplained,
    link.start?.(),
    rule,
  );
}

/** The failure of a server: whether its cause is known, the facts of a local start, and the rule of a remote one. */
export class ServerFailure extends EvalsError {
  constructor(
    message: string,
    hint: string,
    readonly isExplained: boolean,
    readonly start: LocalStart | undefined,
    readonly rule: string | undefined,
  ) {
    super({ severity: "error", message, hint }, exitCodes.incomplete);
  }
}

/** What can be said of the command of a local server without starting it: program, folder, script and variables. */
function describeLocal(
  { command, args = [], cwd: folder = ".", env: own = {} }: CommandSpec,
  { dir, env }: { dir: string; env: Env },
): Omit<LocalStart, keyof SeenStart> {
  const cwd = resolve(dir, folder);
  const script = findScript({ command, args: [...args] })?.path;
  const path = resolve(cwd, script ?? "");
  const find = (one: string) => findProgram(one, cwd, { ...env, ...own });
  const runner = findRunner({ command, args });
  return {
    command,
    program: find(command),
    line: splitLine(command, args, find),
    folder: { path: cwd, exists: existsSync(cwd) },
    ...(script !== undefined && {
      script: { given: script, path, relative: !isAbsolute(script), exists: existsSync(path) },
    }),
    ...(runner !== undefined && { runner }),
    notPassedOn: new Set(Object.keys(env).filter((name) => !inheritedVariables.includes(name) && !(name in own))),
    given: new Set(Object.keys(own)),
  };
}

/** How to write a command that holds a whole line, as JSON; undefined if no words at its start are a program. */
function splitLine(line: string, more: readonly string[], find: (command: string) => LocalStart["program"]) {
  const words = (line.match(/"[^"]*"|'[^']*'|\S+/g) ?? []).map((one) => one.replace(/^(["'])(.*)\1$/, "$2"));
  const isFound = (_: string, at: number) => find(words.slice(0, at + 1).join(" ")).kind === "found";
  const end = words.slice(0, 9).findIndex(isFound) + 1 || (/^[^/\\]+$/.test(words[0] ?? "") ? 1 : 0);
  if (!/\s/.test(line) || end === 0) return undefined;
  const isOfShell = /^\w+=|\s(?:&&|\|\|?)\s|;\s/.test(line);
  const [program, args] = isOfShell ? ["sh", ["-c", line]] : [words.slice(0, end).join(" "), words.slice(end)];
  return JSON.stringify({ command: program, args: [...args, ...more] });
}

/** Looks up a command as the system does: in PATH, unless it is a path. */
function findProgram(command: string, cwd: string, env: Env): LocalStart["program"] {
  const folders = [...new Set((env.PATH ?? env.Path ?? "").split(delimiter).filter(Boolean))];
  const endings = process.platform === "win32" ? ["", ...(env.PATHEXT ?? ".EXE;.CMD;.BAT").split(";")] : [""];
  const isPath = /[/\\]/.test(command);
  const locations = isPath ? [resolve(cwd, command)] : folders.map((folder) => join(folder, command));
  const all = locations.flatMap((location) => endings.map((ending) => location + ending));
  if (all.some((path) => isFile(path, constants.X_OK))) return { kind: "found" };
  const there = all.find((path) => isFile(path, constants.F_OK));
  if (there !== undefined) return { kind: "not executable", path: there };
  const instead = `${command}3`;
  const has = folders.some((folder) => isFile(join(folder, instead), constants.X_OK));
  return { kind: "missing", searched: isPath ? locations : folders, ...(has && { instead }) };
}

function isFile(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
