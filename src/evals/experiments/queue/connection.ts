import { isIP } from "node:net";
import type { Redis } from "ioredis";
import { knownSecrets } from "../../base/secrets/secrets.ts";
import { printableLines } from "../../base/text/display.ts";
import { withoutSecrets } from "../../base/types/endpoint.ts";
import { EvalsError, exitCodes, messageOf, printProblem, usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import { keyPrefix } from "./protocol.ts";

/** A connection to the Redis server that carries trials to workers. */
export type Broker = {
  /** Its URL without credentials, for messages. */
  name: string;
  bullmq: typeof import("bullmq");
  /** The connection for commands. Reconnects until it is closed. */
  redis: Redis;
  /** Opens another connection: every consumer of a queue needs its own. */
  connect(): Redis;
  /** Reports each kind of error with which the server refuses commands, once. */
  reportRefusal(error: unknown): void;
  /** Stops waiting for a lost server, so that this process can end. Resolves if the server is lost. */
  stopWaiting(): Promise<void>;
  close(): Promise<void>;
};

/** How often a lost connection is tried again by a process that is about to end: for three seconds. */
const lastRetries = 5;
/** How long a server that is starting is tried, and how often, in ms. */
const startMs = 5_000;
const retryMs = 250;

const example = "redis://127.0.0.1:6379";

/**
 * Connects to the Redis or Valkey server at a URL, `redis://` or with TLS `rediss://`. User and password come from the
 * URL, or from REDIS_USERNAME and REDIS_PASSWORD. Warns if the settings of the server can lose jobs. Throws a usage
 * error for a bad URL, a missing package or a refused login, and an EvalsError with exit code 3 if the server cannot be
 * reached.
 */
export async function connectBroker(url: string, io: Io): Promise<Broker> {
  const { name, options } = parseUrl(url, io);
  const { bullmq, ioredis } = await loadPackages();
  await tryConnection((retryStrategy) => new ioredis.Redis({ ...options, retryStrategy }), name, io);
  const opened: Redis[] = [];
  const reported = new Set<string>();
  let state: "connected" | "lost" | "closed" = "connected";
  let isWaiting = true;
  const report = (text: string) => io.err(printableLines(text));
  const connect = () => {
    const retryStrategy = (times: number) =>
      isWaiting || times <= lastRetries ? Math.min(50 * 2 ** times, 2_000) : null;
    const client = new ioredis.Redis({ ...options, retryStrategy });
    // Every client loses the connection, and emits an error at each attempt.
    client.on("error", (error) => {
      if (state !== "connected") return;
      state = "lost";
      report(`Lost the connection to the queue at ${name} (${describe(error)}). Reconnecting.`);
    });
    client.on("ready", () => {
      if (state !== "lost") return;
      state = "connected";
      report(`Reconnected to the queue at ${name}.`);
    });
    opened.push(client);
    return client;
  };
  const redis = connect();
  return {
    name,
    bullmq,
    redis,
    connect,
    reportRefusal(error) {
      const code = /^[A-Z]{2,}\b/.exec(messageOf(error))?.[0];
      if (code === undefined || reported.has(code) || state === "closed") return;
      reported.add(code);
      report(`The queue at ${name} refuses commands (${messageOf(error)}). Trying again.`);
    },
    async stopWaiting() {
      isWaiting = false;
      if (redis.status !== "end") await new Promise((resolve) => redis.once("end", resolve));
    },
    async close() {
      state = "closed";
      for (const client of opened) client.disconnect();
    },
  };
}

function parseUrl(text: string, io: Io) {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const database = /^\/?(\d{1,4})?$/.exec(url?.pathname ?? "");
  if (!url || !/^rediss?:$/.test(url.protocol) || url.hostname === "" || !database)
    throw usageError(
      `"${withoutSecrets(text).replace(/\/\/[^/]*@/, "//")}" is not the URL of a Redis server.`,
      `Write it as ${example}, with TLS as rediss://<host>:6380, with a database as ${example}/1.`,
    );
  knownSecrets(io.env).addUrl("queue", text);
  const username = decode(url.username) || io.env.REDIS_USERNAME;
  const password = decode(url.password) || io.env.REDIS_PASSWORD;
  const host = url.hostname.replace(/^\[|\]$/g, "");
  return {
    name: withoutSecrets(url),
    options: {
      host,
      port: url.port === "" ? 6379 : Number(url.port),
      db: Number(database[1] ?? 0),
      ...(username && { username }),
      ...(password && { password }),
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

/** Decodes a part of a URL. A part with a bare `%` stands for itself. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Both packages are optional, and take half a second to load, so only commands with a queue load them. */
async function loadPackages() {
  const load = async <M>(name: string, loading: Promise<M>) =>
    await loading.catch(() => {
      throw usageError(
        `A queue needs the packages bullmq and ioredis, but ${name} cannot be loaded.`,
        "Install them: npm install bullmq@6 ioredis@6",
      );
    });
  // BullMQ imports ioredis, too.
  const ioredis = await load("ioredis", import("ioredis"));
  return { ioredis, bullmq: await load("bullmq", import("bullmq")) };
}

/**
 * Connects once, so that problems are reported before anything starts, and checks the settings of the server. Retries
 * for a while if the server is starting.
 */
async function tryConnection(
  open: (retryStrategy: (times: number) => number | null) => Redis,
  name: string,
  io: Io,
): Promise<void> {
  let cause: (Error & { code?: string }) | undefined;
  const client = open((times) => {
    // The first connections end without an error, or with one of these, where a server starts or is replaced.
    const isStarting = !cause || ["ECONNREFUSED", "ECONNRESET", "EPIPE"].includes(cause.code ?? "");
    return isStarting && !io.signal.aborted && times * retryMs < startMs ? retryMs : null;
  });
  client.on("error", (error) => {
    cause = error;
  });
  const stop = () => client.disconnect();
  io.signal.addEventListener("abort", stop, { once: true });
  const reportWait = () => io.err(`Waiting for the queue at ${name}, which does not answer yet.\n`);
  const wait = setTimeout(reportWait, startMs);
  try {
    const info = await client.info();
    // Without this check, the client would continue although the server does not have the database.
    await client.select(client.options.db ?? 0);
    if (/^cluster_enabled:1/m.test(info)) throw new Error("it is a node of a cluster, which a queue does not support");
    // A replica and a server whose memory is full refuse only what writes.
    await client.set(`${keyPrefix}:probe`, "", "PX", 1);
    for (const warning of listWarnings(info)) printProblem(io)({ severity: "warning", ...warning });
  } catch (error) {
    // When the connection failed, the emitted error says more than the rejection of the command.
    const message = describe(cause ?? error).replace(/\.$/, "");
    const refusal = refusals.find(({ pattern }) => pattern.test(message));
    if (refusal)
      throw usageError(
        `${name} refused the login: ${refusal.reason}.`,
        "Give user and password in the URL, or in REDIS_USERNAME and REDIS_PASSWORD.",
      );
    const [what, hint] =
      cause || client.status !== "ready"
        ? ["reached", "Start the Redis server, or correct the URL."]
        : ["used", "Correct the settings of the Redis server, or the URL."];
    throw new EvalsError(
      { severity: "error", message: `The queue at ${name} cannot be ${what}: ${message}.`, hint },
      exitCodes.incomplete,
    );
  } finally {
    clearTimeout(wait);
    io.signal.removeEventListener("abort", stop);
    client.disconnect();
  }
}

const refusals = [
  { pattern: /NOAUTH|Authentication required/i, reason: "it asks for a password" },
  { pattern: /WRONGPASS|invalid password/i, reason: "the user or the password is wrong" },
  { pattern: /NOPERM/, reason: "the user may not run the commands of a queue" },
];

function describe(cause: unknown): string {
  const message = messageOf(cause);
  if (message.startsWith("Unknown RESP type")) return "it does not answer as a Redis server";
  return message || (cause instanceof AggregateError ? cause.errors.map(messageOf).join(", ") : "no reason given");
}

/** What a server answers while it is full, starts, has lost its primary, moves its data or has another password. */
const temporary =
  /^(OOM|READONLY|LOADING|MISCONF|MASTERDOWN|NOREPLICAS|CLUSTERDOWN|MOVED|ASK|TRYAGAIN|BUSY|NOAUTH|NOPERM|WRONGPASS)\b/;

/** Whether the server refuses a command for now. */
export const isTemporary = (error: unknown): boolean => temporary.test(messageOf(error));

/** Settings with which a server can lose jobs, from its answer to INFO. */
function listWarnings(info: string): { message: string; hint: string }[] {
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1] ?? "noeviction";
  const evicts = {
    message: `The Redis server drops keys when its memory is full (maxmemory-policy ${policy}), so trials can be lost.`,
    hint: "Set maxmemory-policy to noeviction.",
  };
  const forgets = {
    message: "The Redis server keeps no append-only file, so a restart loses the answers that are not recorded yet.",
    hint: "Set appendonly to yes.",
  };
  return [...(policy === "noeviction" ? [] : [evicts]), ...(/^aof_enabled:0/m.test(info) ? [forgets] : [])];
}
