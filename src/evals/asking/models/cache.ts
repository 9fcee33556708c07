import { createHash } from "node:crypto";
import { readdir, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import * as z from "zod";
import { makeFolder, readRegularFile, replaceFile } from "../../base/files/files.ts";
import { type AskedModel, type Message, type ModelRequest, noUsage, type Reply } from "../../base/types/model.ts";
import { turnSchema, type Usage } from "../../base/types/trial.ts";

/** The folder of the cache in the folder of run records. Not `.cache`, which a home folder already has. */
export const cacheFolder = ".evals-cache";

/** Replies of earlier runs, by the hash of the request. */
export type ReplyCache = {
  read(key: string): Promise<StoredReply | undefined>;
  write(key: string, reply: StoredReply): Promise<void>;
};

const storedSchema = z.object({ turn: turnSchema, native: z.unknown().optional() });
type StoredReply = z.infer<typeof storedSchema>;

/** About 20,000 replies. */
const defaultMaxBytes = 64 * 1024 * 1024;

/**
 * Opens the cache in `dir`, with one file of mode 600 per reply. Beyond `maxBytes`, the oldest replies are removed.
 * Rejects if the folder cannot be created. A reply that cannot be written, or that `redact` would change because it
 * repeats a secret, is not stored; one that cannot be read counts as missing.
 */
export async function openReplyCache(
  dir: string,
  redact: (text: string) => string,
  maxBytes = defaultMaxBytes,
): Promise<ReplyCache> {
  await makeFolder(dirname(dir));
  await makeFolder(dir, { mode: 0o700 });
  const fileOf = (key: string) => join(dir, `${key}.json`);
  let bytes = await pruneFolder(dir, maxBytes);
  let pruning: Promise<void> | undefined;
  return {
    async read(key) {
      try {
        return storedSchema.parse(JSON.parse(await readRegularFile(fileOf(key))));
      } catch {
        return undefined;
      }
    },
    async write(key, reply) {
      const text = JSON.stringify(reply);
      if (redact(text) !== text) return;
      await replaceFile(fileOf(key), text, { mode: 0o600 }).catch(() => {});
      bytes += Buffer.byteLength(text);
      if (bytes <= maxBytes) return;
      pruning ??= pruneFolder(dir, maxBytes).then((left) => {
        bytes = left;
        pruning = undefined;
      });
      await pruning;
    },
  };
}

/** Removes the oldest files until nine tenths of `maxBytes` are left, if there are more, and returns the bytes left. */
export async function pruneFolder(dir: string, maxBytes: number): Promise<number> {
  const names = await readdir(dir);
  const files = await Promise.all(
    names.map(async (name) => {
      const found = await stat(join(dir, name)).catch(() => undefined);
      return { name, size: found?.size ?? 0, writtenAt: found?.mtimeMs ?? 0 };
    }),
  );
  let bytes = files.reduce((sum, { size }) => sum + size, 0);
  if (bytes <= maxBytes) return bytes;
  for (const { name, size } of files.sort((a, b) => a.writtenAt - b.writtenAt)) {
    if (bytes <= maxBytes * 0.9) break;
    await rm(join(dir, name), { force: true });
    bytes -= size;
  }
  return bytes;
}

/**
 * The same model with a cache: a request that was answered before gets that answer, without tokens, cost or time,
 * marked as `cached`. The key is everything that affects the answer: the model and its settings, the messages, the
 * tools in order, and the number of the trial, so that the trials of a case still get different answers. `harness` is
 * the version of tool-evals, which affects how a reply is read. Broken requests are never stored.
 */
export function cacheReplies(model: AskedModel, cache: ReplyCache, harness: string): AskedModel {
  return {
    ...model,
    async ask(request, signal): Promise<Reply> {
      const key = hashRequest(request, model, harness);
      const found = signal.aborted ? undefined : await cache.read(key);
      if (found) {
        const turn = { ...found.turn, usage: noUsage, ms: 0, cached: true as const };
        return { kind: "turn", turn, ...(found.native !== undefined && { native: found.native }) };
      }
      const reply = await model.ask(request, signal);
      if (reply.kind === "turn") await cache.write(key, { turn: reply.turn, native: reply.native });
      return reply;
    },
    // A cached reply is free even if prices are unknown.
    cost: (usage) => (isFree(usage) ? 0 : model.cost(usage)),
  };
}

const isFree = (usage: Usage) => Object.values(usage).every((tokens) => tokens === 0);

function hashRequest(request: ModelRequest, { id, settings }: AskedModel, harness: string): string {
  const { cell, turn, messages, tools, loader, deferred, catalog, answerSchema } = request;
  const whole = {
    harness,
    model: id,
    settings,
    trial: cell.trial,
    attempt: cell.attempt,
    turn,
    messages: messages.map(readSent),
    tools,
    loader,
    catalog,
    answerSchema,
    deferred: deferred && { names: [...deferred.names].sort(), search: deferred.search },
  };
  return createHash("sha256").update(JSON.stringify(whole)).digest("hex");
}

/** What is sent of a message: of an earlier reply not how long it took and what it cost. */
function readSent(message: Message) {
  if (message.role !== "assistant") return message;
  const { role, content, turn, native } = message;
  return { role, content, calls: turn?.calls.map(({ execution: _, ...call }) => call), native };
}
