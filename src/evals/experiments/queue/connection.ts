import { hash } from "node:crypto";
import { isIP } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { Redis } from "ioredis";
import * as z from "zod";
import { knownSecrets } from "../../base/secrets/secrets.ts";
import { printableLines } from "../../base/text/display.ts";
import { withoutSecrets } from "../../base/types/endpoint.ts";
import { messageOf, printProblem, usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import { canonicalJson } from "../../base/types/json.ts";
import type { AskedModel, Model } from "../../base/types/model.ts";
import type { RunManifest } from "../../base/types/run.ts";
import { type Cell, cellKey, trialSchema } from "../../base/types/trial.ts";
import { incompleteError } from "../../records/disk.ts";
import { recordedOptionsSchema } from "../pipeline/recordedOptions.ts";
import { version } from "../workspace/version.ts";

// Everything that is on a queue. It contains no key, no command and no path that a worker would execute: whoever can
// write to the server can make workers ask cases of their own checkout, and forge answers, but not run programs.

/** One cell to ask, with the hashes of its suite, of the tool list to show, and of the settings of model and judge. */
export const jobSchema = z.strictObject({
  run: z.string().regex(/^[\w.-]{1,100}$/),
  cell: trialSchema.shape.cell,
  suite: z.string(),
  toolset: z.string(),
  settings: z.string(),
  orderSeed: z.number().int(),
});
export type TrialJob = z.infer<typeof jobSchema>;

/** The name of a run on the server. Its id is not unique: two machines can start a run in the same millisecond. */
export const nameRun = ({ id, nonce }: Pick<RunManifest, "id" | "nonce">): string => `${id}-${nonce}`;

/** The id of the job of a cell, so that a cell is on a queue only once. */
export const nameJob = (run: string, cell: Cell): string => `${run}-${hash("sha256", cellKey(cell)).slice(0, 32)}`;

/** The provider of a model, which has a queue of its own: the word before the colon of the model's id. */
export const nameProvider = (model: string): string =>
  (/^lexical-\d+$/.test(model) ? "lexical" : model.split(":")[0]) ?? "";

export const nameQueue = (provider: string): string => `trials-${provider}`;

/** The prefix of all keys. */
export const keyPrefix = "evals";
/** By field: the answers (by job, JSON of trials without secrets), and by worker why it refuses the plan. */
export const nameAnswers = (run: string): string => `${keyPrefix}:answers:${run}`;
/** Keeps the hash of the answers from the start of a run to its end. Workers do not answer without it. */
export const openField = "open";
export const refusalField = "refused by ";
/** Holds the plan while a process waits for answers. Workers drop trials of other runs. */
export const nameLease = (run: string): string => `${keyPrefix}:lease:${run}`;

/** The recorded options of a run but for those that each machine has for itself: URLs and own skills. */
const flagsSchema = recordedOptionsSchema.omit({ baseUrl: true, userSkills: true, cache: true });

export const planSchema = z.strictObject({
  format: z.literal("tool-evals plan 1"),
  harness: z.string(),
  /** When the process began that waits for the answers. A resumed run is another plan: its models may answer again. */
  startedAt: z.string(),
  commit: z.string().optional(),
  flags: flagsSchema.strict(),
});

/** What workers open for a run. They compare each of its trials with what they opened. */
export type Plan = z.infer<typeof planSchema>;

/** Serializes the plan of a run. `commit`: of this checkout; a run can be resumed at another one. */
export function writePlan({ flags }: RunManifest, commit: string | undefined): string {
  const own = { format: "tool-evals plan 1", harness: version, startedAt: new Date().toISOString(), commit };
  return JSON.stringify(planSchema.parse({ ...own, flags: flagsSchema.parse(flags) }));
}

/** Hashes what of a model and the judge affects answers. */
export const hashSettings = ({ settings }: Model, judge: AskedModel | undefined): string =>
  hash("sha256", canonicalJson([settings, judge?.id ?? "", judge?.settings ?? {}]));

/** A connection to the Redis server that carries trials to workers. */
export type Broker = {
  /** Its URL without credentials, for messages. */
  name: string;
  bullmq: typeof import("bullmq");
  /** The connection for commands, which every consumer of a queue copies. Reconnects until it is closed. */
  redis: Redis;
  /** Reports each kind of error with which the server refuses commands, once. */
  reportRefusal(error: unknown): void;
  close(): void;
};

/** How long a server that is gone may keep a process from ending, in ms. */
const closeMs = 5_000;

/**
 * Connects to the Redis or Valkey server at a URL, `redis://` or with TLS `rediss://`. User and password come from the
 * URL, or from REDIS_USERNAME and REDIS_PASSWORD. Warns if the settings of the server can lose jobs. Throws a usage
 * error for a bad URL or a missing package, and an EvalsError with exit code 3 if the server cannot be used.
 */
export async function connectBroker(given: string, io: Io): Promise<Broker> {
  const { name, url, options } = parseUrl(given, io);
  const [bullmq, ioredis] = await loadPackages();
  const reported = new Set<string>();
  let state: "starting" | "connected" | "lost" | "closed" = "starting";
  let cause: Error | undefined;
  const report = (text: string) => io.err(printableLines(text));
  const retryStrategy = (times: number) =>
    state === "starting" || state === "closed" ? null : Math.min(50 * 2 ** times, 2_000);
  const redis = new ioredis.Redis(url, { ...options, retryStrategy });
  // The client emits an error at each attempt.
  redis.on("error", (error) => {
    cause = error;
    if (state !== "connected") return;
    state = "lost";
    report(`Lost the connection to the queue at ${name} (${describe(error)}). Reconnecting.`);
  });
  redis.on("ready", () => {
    if (state !== "lost") return;
    state = "connected";
    report(`Reconnected to the queue at ${name}.`);
  });
  await verifyServer(redis, io).catch((error) => {
    redis.disconnect();
    // When the connection failed, the emitted error says more than the rejection of the command.
    const message = describe(messageOf(error) === "Connection is closed." ? (cause ?? error) : error);
    throw incompleteError(
      `The queue at ${name} cannot be used: ${message.replace(/\.$/, "")}.`,
      "Start the Redis server, or correct its settings or the URL. User and password can be in the URL, or in REDIS_USERNAME and REDIS_PASSWORD.",
    );
  });
  state = "connected";
  return {
    name,
    bullmq,
    redis,
    reportRefusal(error) {
      const code = /^[A-Z]{2,}\b/.exec(messageOf(error))?.[0];
      if (code === undefined || reported.has(code) || state === "closed") return;
      reported.add(code);
      report(`The queue at ${name} refuses commands (${messageOf(error)}). Trying again.`);
    },
    close() {
      state = "closed";
      redis.disconnect();
    },
  };
}

/** Waits for work that a lost server may keep from ending. Does not reject. */
export async function waitAtMost(work: Promise<unknown>): Promise<void> {
  await Promise.race([work.catch(() => {}), pause(closeMs, undefined, { ref: false })]);
}

function parseUrl(text: string, io: Io) {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isRedis = url && /^rediss?:$/.test(url.protocol) && url.hostname !== "" && /^\/?\d{0,4}$/.test(url.pathname);
  if (!isRedis || /%(?![\da-f]{2})/i.test(text))
    throw usageError(
      `"${withoutSecrets(text).replace(/\/\/[^/]*@/, "//")}" is not the URL of a Redis server.`,
      "Write it as redis://<host>:6379, with TLS as rediss://, with a database as redis://<host>:6379/1, and % as %25.",
    );
  knownSecrets(io.env).addUrl("queue", text);
  const { REDIS_USERNAME: username = "", REDIS_PASSWORD: password = "" } = io.env;
  const host = url.hostname.replace(/^\[|\]$/g, "");
  return {
    name: withoutSecrets(url),
    url: url.href,
    options: {
      ...(url.username === "" &&
        url.password === "" && { ...(username && { username }), ...(password && { password }) }),
      ...(url.protocol === "rediss:" && { tls: isIP(host) ? {} : { servername: host } }),
      connectTimeout: 5_000,
      // A server that keeps the connection and answers nothing is lost. Longer than the longest blocking command.
      socketTimeout: 15_000,
      // Commands wait until the server is back, however long that takes.
      maxRetriesPerRequest: null,
      // A pipeline whose connection ends after its first replies is not sent again; a single command is.
      enableAutoPipelining: false,
    },
  };
}

/** Both packages are optional, and take half a second to load, so only commands with a queue load them. */
const loadPackages = async () =>
  await Promise.all([import("bullmq"), import("ioredis")]).catch(() => {
    const hint = "Install them: npm install bullmq@6 ioredis@6";
    throw usageError("A queue needs the packages bullmq and ioredis, which cannot be loaded.", hint);
  });

async function verifyServer(client: Redis, io: Io): Promise<void> {
  const stop = () => client.disconnect();
  io.signal.addEventListener("abort", stop, { once: true });
  try {
    const info = await client.info();
    // Without this check, the client would continue although the server does not have the database.
    await client.select(client.options.db ?? 0);
    if (/^cluster_enabled:1/m.test(info)) throw new Error("it is a node of a cluster, which a queue does not support");
    // A replica and a server whose memory is full refuse only what writes.
    await client.set(`${keyPrefix}:probe`, "", "PX", 1);
    if (/^aof_enabled:0|^maxmemory_policy:(?!noeviction)/m.test(info))
      printProblem(io)({
        severity: "warning",
        message: "The Redis server drops data at a restart or when its memory is full, so trials can be lost.",
        hint: "Set appendonly to yes, and maxmemory-policy to noeviction.",
      });
  } finally {
    io.signal.removeEventListener("abort", stop);
  }
}

/** The message of an error; of several addresses that failed, each. */
function describe(cause: unknown): string {
  const message = cause instanceof AggregateError ? cause.errors.map(messageOf).join(", ") : messageOf(cause);
  return message.startsWith("Unknown RESP type") ? "it does not answer as a Redis server" : message;
}

/** Whether a server refuses a command for now: it is full, starts, lost its primary or moves data. */
export const isTemporary = (error: unknown): boolean =>
  /^(OOM|READONLY|LOADING|MISCONF|MASTERDOWN|NOREPLICAS|CLUSTERDOWN|MOVED|ASK|TRYAGAIN|BUSY|NOAUTH|NOPERM|WRONGPASS)\b/.test(
    messageOf(error),
  );
