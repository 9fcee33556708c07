import type { CallToolResult, Client } from "@modelcontextprotocol/client";
import * as z from "zod";
import { defined } from "../base/collections.ts";
import { cut, excerpt } from "../base/text/text.ts";
import { EvalsError, messageOf } from "../base/types/errors.ts";
import { isJsonObject, isNestedDeeper, type JsonObject, maxDepth, writeExactJson } from "../base/types/json.ts";
import type { AnswerElicitation, CallOutcome, ContentItem, Tool, ToolResult, ToolServer } from "../base/types/tool.ts";
import type { ToolFilter } from "../input/hostFiles.ts";
import { findRunner, type LocalStart } from "./diagnosis/start.ts";
import { findLostSession, findUnanswered, type Link } from "./link.ts";
import {
  type ConnectContext,
  classifyFailure,
  failureToError,
  noClientTimeout,
  openSession,
  pause,
  readPause,
  type Session,
  withDeadline,
} from "./session.ts";
import { type LiveSpec, serverError } from "./spec.ts";
import { parseTools, readPages } from "./toolList.ts";

const defaultStartMs = 30_000;
/** The first start of what npx and its like fetch includes the download. */
const fetchedStartMs = 120_000;
const defaultCallMs = 60_000;

/** A connected server that can also return its list as sent. */
export type Connection = ToolServer & {
  /** How its process started; absent for a URL. */
  readonly start: LocalStart | undefined;
  /** The entries of the list, all pages, unchecked and with all fields. Throws EvalsError as `list` does. */
  listRaw(signal: AbortSignal): Promise<readonly unknown[]>;
};

/**
 * Connects to a server: a process over stdio, or a URL over Streamable HTTP or SSE, with protocol revision 2026-07-28
 * or an older one. `startTimeoutMs` covers connecting and the first listing together. Throws EvalsError when that
 * fails.
 */
export async function connect(spec: LiveSpec, context: ConnectContext): Promise<Connection> {
  const isFetched = "command" in spec && findRunner(spec) !== undefined;
  const startMs = spec.startTimeoutMs ?? (isFetched ? fetchedStartMs : defaultStartMs);
  const began = performance.now();
  const session = await openSession(spec, context, startMs);
  const leftMs = Math.max(1, Math.round(startMs - (performance.now() - began)));
  const callMs = spec.callTimeoutMs ?? defaultCallMs;
  const { protocol: revision } = describeServer(session);
  const known = { ...context, ...(typeof revision === "string" && { revision }) };
  const reopen = (signal: AbortSignal) => openSession(spec, { ...known, signal }, startMs);
  return new ConnectedServer(context.name, session, reopen, { startMs, listMs: leftMs, callMs }, spec.listed);
}

const pageSchema = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });

const taskOnlySchema = z.object({ name: z.string(), execution: z.object({ taskSupport: z.literal("required") }) });

/** How servers say what the client does not declare, as the SDKs word it. */
const unsupportedWords =
  /(?:client does not support (?:\w+[ -]){0,2}?|cannot request input .{1,200}?\()(elicitation|sampling|roots|tasks?)\b/i;

/** The error of a call before which the user has to open a URL, for example to log in. */
const urlRequired = -32042;

/** What a call needs of the client that it lacks, by the words of the server or the code of the client's error. */
function findUnsupported(said: string, error: unknown): string | undefined {
  const { code } = (error ?? {}) as { code?: unknown };
  if (code === urlRequired) return "elicitation of a URL";
  if (code === "CAPABILITY_NOT_SUPPORTED" || code === "UNSUPPORTED_RESULT_TYPE") return `more input (${cut(said)})`;
  return unsupportedWords.exec(said.slice(0, readForName))?.[1]?.toLowerCase();
}

/** A list that changes while it is read is read again, up to this many times in all. */
const maxListings = 5;
/** The notifications of a remote server come on another stream than its answers, this many ms later at most. */
const settleMs = 50;

/** Time limits in ms: for the start with its first list, for a list (what is left of the start), and for a call. */
type Limits = { startMs: number; listMs: number; callMs: number };

class ConnectedServer implements Connection {
  readonly about: JsonObject;
  readonly instructions: string | undefined;
  readonly start: LocalStart | undefined;
  #session: Session;
  readonly #opened: Link[];
  #renewing: Promise<void> | undefined;
  #known: ReadonlyMap<string, Tool> | undefined;
  /** Tools that are called as tasks only. */
  #taskOnly: ReadonlySet<string> = new Set();
  /** Changes of the list before the first one was complete, less those of sessions that were lost. */
  #changesBefore: number | undefined;
  #closing: Promise<void> | undefined;

  constructor(
    readonly name: string,
    session: Session,
    private readonly reopen: (signal: AbortSignal) => Promise<Session>,
    private readonly limits: Limits,
    private readonly listed: ToolFilter = {},
  ) {
    this.about = describeServer(session);
    this.instructions = readInstructions(session);
    this.start = session.link.start?.();
    this.#session = session;
    this.#opened = [session.link];
  }

  alive(): boolean {
    return !this.#session.link.lost.aborted;
  }

  get settleMs(): number {
    const { client, link } = this.#session;
    return link.kind !== "stdio" && client.getServerCapabilities()?.tools?.listChanged ? settleMs : 0;
  }

  listChanges(): number {
    return this.#session.listChanges() - (this.#changesBefore ?? 0);
  }

  close(): Promise<void> {
    this.#closing ??= Promise.all(this.#opened.map((link) => link.close())).then(() => {});
    return this.#closing;
  }

  /**
   * Sends a request in the current session, each time for at most `ms`. It is sent again where a remote server lost the
   * session or had no time for it, and where the connection or a gateway failed if that is safe.
   */
  async #send<T>(
    { ms, isSafe }: { ms: number; isSafe: boolean },
    signal: AbortSignal,
    send: (client: Client, abort: AbortSignal) => Promise<T>,
  ): Promise<T> {
    for (let tries = 1; ; tries++) {
      const session = this.#session;
      const { client, link } = session;
      try {
        return await withDeadline(ms, signal, link, (abort) => send(client, abort));
      } catch (error) {
        if (link.kind === "stdio" || this.#closing || signal.aborted) throw error;
        const unanswered = findUnanswered(error) ?? findLostSession(error, link.transport.sessionId);
        const isLost = unanswered?.kind === "session" || (link.lost.aborted && !unanswered);
        const waitMs = unanswered ? readPause(unanswered, tries) : link.lost.aborted && tries === 1 ? 0 : undefined;
        const isUnsent = unanswered !== undefined && unanswered.kind !== "gateway";
        if (waitMs === undefined || !(isSafe || isUnsent)) throw unanswered ?? error;
        await pause(waitMs, signal);
        if (isLost) await this.#renew(session, signal);
      }
    }
  }

  /** Opens a new session in place of a lost one, once for all requests that wait for it. */
  async #renew(lost: Session, signal: AbortSignal): Promise<void> {
    if (this.#session !== lost) return;
    this.#renewing ??= this.reopen(signal)
      .then((session) => {
        // The new session may list other tools.
        this.#changesBefore = -this.listChanges() - 1;
        this.#session = session;
        this.#opened.push(session.link);
      })
      .finally(() => {
        this.#renewing = undefined;
      });
    await this.#renewing;
  }

  async list(signal: AbortSignal): Promise<readonly Tool[]> {
    let raw: readonly unknown[] = [];
    for (let tries = 0, before = -1; before !== this.listChanges() && tries < maxListings; tries++) {
      before = this.listChanges();
      raw = await this.listRaw(signal);
    }
    this.#changesBefore ??= this.#session.listChanges();
    const tools = parseTools(this.name, raw);
    this.#taskOnly = new Set(raw.flatMap((entry) => taskOnlySchema.safeParse(entry).data?.name ?? []));
    this.#known = new Map(tools.map((tool) => [tool.name, tool]));
    return tools;
  }

  async listRaw(signal: AbortSignal): Promise<readonly unknown[]> {
    const { sdk } = this.#session;
    const limits = { ms: this.limits.listMs, isSafe: true };
    try {
      const entries = await this.#send(limits, signal, (client, abort) =>
        readPages(this.name, (cursor) => {
          const params = cursor !== undefined && { params: { cursor } };
          return client.request({ method: "tools/list", ...params }, pageSchema, { ...noClientTimeout, signal: abort });
        }),
      );
      const { only, except } = this.listed;
      return entries.filter((entry) => {
        const { name } = Object(entry) as { name?: unknown };
        return typeof name !== "string" || ((only?.includes(name) ?? true) && !except?.includes(name));
      });
    } catch (error) {
      if (error instanceof sdk.ProtocolError) {
        throw serverError(
          `Server "${this.name}" answered tools/list with an error: ${excerpt(error.message, maxMessage)}.`,
          this.#known
            ? "It listed its tools before: see in its log what fails now."
            : error.code === sdk.ProtocolErrorCode.MethodNotFound
              ? "Declare the tools capability, and implement tools/list."
              : "The server itself fails: see in its log what it needs, such as a network, a login or a variable.",
        );
      }
      const { link } = this.#session;
      throw failureToError(this, link, classifyFailure(error, link, this.limits.startMs));
    }
  }

  async call(tool: string, args: JsonObject, signal: AbortSignal, elicit?: AnswerElicitation): Promise<CallOutcome> {
    const { sdk } = this.#session;
    const known = this.#known?.get(tool);
    const listed = this.#known && known !== undefined;
    const { readOnlyHint, idempotentHint } = known?.annotations ?? {};
    const limits = { ms: this.limits.callMs, isSafe: readOnlyHint === true || idempotentHint === true };
    // Omits the outputSchema, because the client would hide an answer that violates it, and that answer is scored.
    const toolDefinition = { name: tool, inputSchema: { type: "object" as const, ...known?.inputSchema } };
    const before = this.#session.asked.length;
    const unsupported = (said: string, error?: unknown): CallOutcome | undefined => {
      const what = this.#session.asked.slice(before)[0] ?? findUnsupported(said, error);
      return what === undefined ? undefined : this.#refuse(tool, what);
    };
    if (this.#taskOnly.has(tool)) return this.#refuse(tool, "tasks");
    try {
      const answer = await this.#send(limits, signal, (client, abort) => {
        this.#session.elicit = elicit;
        return client.callTool({ name: tool, arguments: args }, { ...noClientTimeout, signal: abort, toolDefinition });
      });
      const result = toToolResult(answer);
      const text = result.content.map((item) => item.text ?? "").join("\n");
      if (!result.isError) return { kind: "result", result };
      if (isUnknownTool(tool, text, listed)) return { kind: "unknown-tool", message: excerpt(text, maxMessage) };
      return unsupported(text) ?? { kind: "result", result };
    } catch (error) {
      const refusal = unsupported(messageOf(error), error);
      if (refusal) return refusal;
      if (!(error instanceof sdk.ProtocolError)) return this.#broken(tool, error);
      // The server answered, so a model would see its error.
      if (isUnknownTool(tool, error.message, listed, error.code))
        return { kind: "unknown-tool", message: excerpt(error.message, maxMessage) };
      const content = [{ type: "text" as const, text: excerpt(error.message, maxText) }];
      return { kind: "result", result: { isError: true, content } };
    }
  }

  /** A call that needs what only the program around a model can give. That is no fault of the model. */
  #refuse(tool: string, what: string): CallOutcome {
    const need = what.startsWith("an answer") ? `${what}.` : `${what}, which is not supported by the harness.`;
    const message = `Server "${this.name}", called for "${tool}", needs ${need}`;
    return { kind: "broken", stage: "setup", message };
  }

  #broken(tool: string, error: unknown): CallOutcome {
    const { link } = this.#session;
    // A new session could not be opened.
    if (error instanceof EvalsError) return { kind: "broken", stage: "server", message: messageOf(error) };
    const failure = classifyFailure(error, link, this.limits.callMs);
    if (failure === "cancelled")
      return { kind: "broken", stage: "cancelled", message: `The call of "${tool}" was cancelled.` };
    const stage = failure.kind === "silent" ? "timeout" : "server";
    const message = `Server "${this.name}", called for "${tool}", ${link.explain(failure).message}`;
    return { kind: "broken", stage, message };
  }
}

function describeServer({ client, link }: Session): JsonObject {
  const { name, version } = client.getServerVersion() ?? {};
  const protocol = client.getNegotiatedProtocolVersion();
  const said = Object.entries(defined({ name, version, protocol })).map(([key, text]) => [key, cut(text)]);
  return { ...Object.fromEntries(said), transport: link.kind };
}

/** The instructions of a server, cut with a mark after 64 Ki characters; undefined if it has none. */
function readInstructions({ client }: Session): string | undefined {
  const text = client.getInstructions()?.trim();
  return text ? excerpt(text, maxText) : undefined;
}

const maxMessage = 2_000;
/** Limits of a recorded result: characters of a text and of all, content items, characters of structured content. */
const maxText = 64 * 1024;
const maxTexts = 1024 * 1024;
const maxItems = 1_000;
const maxStructured = 256 * 1024;

/**
 * The answer of a server as it is recorded: text, that of embedded resources included, up to 64 Ki characters per item
 * and 1 Mi in all (a cut is marked), links with what they say of their resource, and binary data as type and size. It
 * is not checked against the tool's outputSchema, because what the server sent is scored. Structured content that is
 * not an object (allowed since revision 2026-07-28) is kept as text if there is no other text. Structured content that
 * is too large or too deep is left out, with a note.
 */
function toToolResult(answer: CallToolResult): ToolResult {
  // Drafts of the protocol before 2024-11-05 had this in place of the content.
  const { toolResult } = answer as { toolResult?: unknown };
  if (toolResult !== undefined && answer.content.length === 0)
    return toToolResult({
      content: [{ type: "text", text: typeof toolResult === "string" ? toolResult : JSON.stringify(toolResult) }],
    });
  let left = maxTexts;
  const content = answer.content.slice(0, maxItems).map((sent) => {
    const item = toItem(sent, Math.min(maxText, left));
    left = Math.max(0, left - (item.text?.length ?? 0));
    return item;
  });
  const isError = answer.isError === true;
  const structured: unknown = answer.structuredContent;
  const unkept = answer.content.length > maxItems ? `the result has more than ${maxItems} content items` : undefined;
  if (structured === undefined) return { isError, content, ...(unkept && { omitted: unkept }) };
  const isTooDeep = isNestedDeeper(structured);
  const text = isTooDeep ? "" : writeExactJson(structured);
  const omitted = isTooDeep
    ? `the structured content is nested more than ${maxDepth} levels deep`
    : text.length > maxStructured
      ? `the structured content has ${text.length} characters, more than ${maxStructured}`
      : unkept;
  if (!isTooDeep && (!isJsonObject(structured) || omitted) && !content.some(({ type }) => type === "text"))
    content.push({ type: "text", text: excerpt(text, maxText) });
  const isKept = isJsonObject(structured) && !isTooDeep && text.length <= maxStructured;
  return {
    isError,
    content,
    ...(isKept && { structuredContent: structured as JsonObject }),
    ...(omitted && { omitted }),
  };
}

function toItem(item: CallToolResult["content"][number], longest: number): ContentItem {
  switch (item.type) {
    case "text":
      return { type: "text", text: excerpt(item.text, longest) };
    case "image":
    case "audio":
      return { type: item.type, mimeType: item.mimeType, bytes: Buffer.byteLength(item.data, "base64") };
    case "resource_link": {
      const { type, mimeType, size: bytes, uri, name, description } = item;
      const said = { name: cut(name), description: description && cut(description) };
      return { type, ...defined({ mimeType, bytes, uri: cut(uri), ...said }) };
    }
    case "resource": {
      const { type, resource } = item;
      const { mimeType } = resource;
      const uri = cut(resource.uri);
      const common = { type, uri, ...defined({ mimeType }) };
      if ("text" in resource) return { ...common, text: excerpt(resource.text, longest) };
      return { ...common, bytes: Buffer.byteLength(resource.blob, "base64") };
    }
  }
}

/** Only the start of an error is searched for the missing tool, because an error may be long. */
const readForName = 1_000;
const unknownTool = /\bunknown tool\b/i;
// `MCP error -32602: Tool x not found` (the 1.x SDK's McpServer).
const missing = /\b(?:not found|does not exist|is not known)\b/i;

/**
 * Whether the error of a call means that the server has no such tool. A listed tool exists, whatever its error. For an
 * unlisted one, the code -32602 is enough, which the protocol uses for unknown tools.
 */
function isUnknownTool(tool: string, message: string, listed: boolean | undefined, code?: number): boolean {
  if (listed === true) return false;
  if (listed === false && code === -32602) return true;
  const start = message.slice(0, readForName);
  const at = start.search(/\btool\b/i);
  return start.includes(tool) && (unknownTool.test(start) || (at >= 0 && missing.test(start.slice(at))));
}
