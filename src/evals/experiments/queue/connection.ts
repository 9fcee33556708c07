import { isIP } from "node:net";
import type { Redis } from "ioredis";
import { knownSecrets } from "../../base/secrets/secrets.ts";
import { printableLines } from "../../base/secrets/visible.ts";
import { withoutSecrets } from "../../base/types/endpoint.ts";
import { EvalsError, exitCodes, messageOf, printProblem, usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import { keyPrefix } from "./messages.ts";

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

const example = "redis://127.0.0.1:6379";
const packages = { bullmq: "bullmq@6", ioredis: "ioredis@6" } as const;

/**
 * Connects to the Redis or Valkey server at a URL, `redis://` or with TLS `rediss://`. User and password come from the
 * URL, or from REDIS_USERNAME and REDIS_PASSWORD. Warns if the settings of the server can lose jobs. Throws a usage
 * error for a bad URL, a missing package or a refused login, and an EvalsError with exit code 3 if the server cannot be
 * reached.
 */
export async function connectBroker(url: string, io: Io): Promise<Broker> {
  const { name, options } = parseUrl(url, io);
  const { bullmq, ioredis } = await loadPackages();
  await tryConnection((retryStrategy) => new ioredis({ ...options, retryStrategy }), name, io);
  const reports = createConnectionReports(name, io);
  const opened: Redis[] = [];
  let isWaiting = true;
  const retryStrategy = (times: number) =>
    isWaiting || times <= lastRetries ? Math.min(50 * 2 ** times, 2_000) : null;
  const connect = () => {
    const client = new ioredis({ ...options, retryStrategy });
    client.on("error", (error) => reports.lost(error));
    client.on("ready", reports.back);
    opened.push(client);
    return client;
  };
  const redis = connect();
  const watch = watchAnswers(redis, reports);
  return {
    name,
    bullmq,
    redis,
    connect,
    reportRefusal: reports.refused,
    async stopWaiting() {
      isWaiting = false;
      if (redis.status !== "end") await new Promise((resolve) => redis.once("end", resolve));
    },
    async close() {
      clearInterval(watch);
      reports.end();
      for (const client of opened) client.disconnect();
    },
  };
}

function parseUrl(text: string, io: Io) {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const db = url && /^\/?$/.test(url.pathname) ? 0 : Number(/^\/(\d{1,4})$/.exec(url?.pathname ?? "")?.[1]);
  if (!url || !/^rediss?:$/.test(url.protocol) || url.hostname === "" || Number.isNaN(db))
    throw usageError(
      `"${withoutSecrets(text).replace(/\/\/[^/]*@/, "//")}" is not the URL of a Redis server.`,
      `Write it as ${example}, with TLS as rediss://<host>:6380, with a database as ${example}/1.`,
    );
  knownSecrets(io.env).addUrl("queue", text);
  const username = decodeURIComponent(url.username) || io.env.REDIS_USERNAME;
  const password = decodeURIComponent(url.password) || io.env.REDIS_PASSWORD;
  const host = url.hostname.replace(/^\[|\]$/g, "");
  return {
    name: withoutSecrets(url),
    options: {
      host,
      port: url.port === "" ? 6379 : Number(url.port),
      db,
      ...(username && { username }),
      ...(password && { password }),
      ...(url.protocol === "rediss:" && { tls: isIP(host) ? {} : { servername: host } }),
      connectTimeout: 5_000,
      // Commands wait until the server is back, however long that takes.
      maxRetriesPerRequest: null,
      // A pipeline whose connection ends after its first replies is not sent again; a single command is.
      enableAutoPipelining: false,
      lazyConnect: false,
    },
  };
}

/** Both packages are optional, and take half a second to load, so only commands with a queue load them. */
async function loadPackages() {
  const [bullmq, ioredis] = await Promise.all([import("bullmq").catch(keepError), import("ioredis").catch(keepError)]);
  const missing = Object.entries({ bullmq, ioredis }).flatMap(([name, loaded]) => ("failure" in loaded ? [name] : []));
  if ("failure" in bullmq || "failure" in ioredis)
    throw usageError(
      `A queue needs the packages bullmq and ioredis, but ${missing.join(" and ")} cannot be loaded.`,
      `Install ${missing.length === 1 ? "it" : "them"}: npm install ${missing.map((name) => packages[name as keyof typeof packages]).join(" ")}`,
    );
  return { bullmq, ioredis: ioredis.Redis };
}

const keepError = (failure: unknown) => ({ failure });

/** How long to wait for a server that is starting, in ms. */
const startMs = 5_000;
const retryMs = 250;
/** Error codes of connections to a server that does not listen yet, or is restarting. */
const transientCodes = new Set(["ECONNREFUSED", "ECONNRESET", "EPIPE"]);

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
    if (io.signal.aborted) return null;
    const isTransient = cause === undefined || (cause.code !== undefined && transientCodes.has(cause.code));
    return isTransient && times * retryMs <= startMs ? retryMs : null;
  });
  client.on("error", (error) => {
    cause = error;
  });
  // A server that loads its data, or that is suspended, takes connections and answers later.
  const reportWait = () => io.err(`Waiting for the queue at ${name}, which does not answer yet.\n`);
  let wait: NodeJS.Timeout | undefined;
  client.once("connect", () => {
    wait = setTimeout(reportWait, startMs);
  });
  const stop = () => {
    cause ??= new Error("it did not answer before this process was stopped");
    client.disconnect();
  };
  io.signal.addEventListener("abort", stop, { once: true });
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
    const message = cause ? describeCause(cause) : messageOf(error);
    const refusal = refusals.find(({ pattern }) => pattern.test(message));
    if (refusal)
      throw usageError(
        `${name} refused the login: ${refusal.reason}.`,
        "Give user and password in the URL, or in REDIS_USERNAME and REDIS_PASSWORD.",
      );
    const isReached = !cause && client.status === "ready";
    throw new EvalsError(
      {
        severity: "error",
        message: `The queue at ${name} cannot be ${isReached ? "used" : "reached"}: ${message.replace(/\.$/, "")}.`,
        hint: isReached
          ? "Correct the settings of the Redis server, or the URL."
          : "Start the Redis server, or correct the URL.",
      },
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

function describeCause(cause: Error): string {
  if (cause.message.startsWith("Unknown RESP type")) return "it does not answer as a Redis server";
  return cause.message || (cause instanceof AggregateError ? cause.errors.map(messageOf).join(", ") : cause.name);
}

/** What a server answers while it is full, starts, has lost its primary, moves its data or has another password. */
const temporary =
  /^(OOM|READONLY|LOADING|MISCONF|MASTERDOWN|NOREPLICAS|CLUSTERDOWN|MOVED|ASK|TRYAGAIN|BUSY|NOAUTH|NOPERM|WRONGPASS)\b/;

/** The first word of an error with which the server refuses a command for now; undefined for another error. */
export const readTemporary = (error: unknown): string | undefined => temporary.exec(messageOf(error))?.[0];

/** Settings with which a server can lose jobs, from its answer to INFO. */
function listWarnings(info: string): { message: string; hint: string }[] {
  const read = (key: string) => new RegExp(`^${key}:(.*)$`, "m").exec(info)?.[1]?.trim();
  const policy = read("maxmemory_policy");
  return [
    ...(policy !== undefined && policy !== "noeviction"
      ? [
          {
            message: `The Redis server drops keys when its memory is full (maxmemory-policy ${policy}), so trials can be lost.`,
            hint: "Set maxmemory-policy to noeviction.",
          },
        ]
      : []),
    ...(read("aof_enabled") === "0"
      ? [
          {
            message:
              "The Redis server keeps no append-only file, so a restart loses the answers that are not recorded yet.",
            hint: "Set appendonly to yes.",
          },
        ]
      : []),
  ];
}

const watchMs = 5_000;

/** Reports a server that keeps the connection and answers nothing for 10 seconds. */
function watchAnswers(redis: Redis, reports: ReturnType<typeof createConnectionReports>): NodeJS.Timeout {
  let looks = 0;
  const answered = () => {
    looks = 0;
    reports.answered();
  };
  return setInterval(() => {
    if (looks === 0) redis.ping().then(answered, answered);
    // The first is that of the ping. One alone may come late because this process was busy.
    if (++looks > 2) reports.silent();
  }, watchMs);
}

/**
 * Reports a lost connection once until it is back, because every client loses it, and emits an error at each attempt.
 * Likewise a server that does not answer. Reports refused commands once per kind.
 */
function createConnectionReports(name: string, io: Io) {
  let isLost = false;
  let isSilent = false;
  let isOver = false;
  const refused = new Set<string>();
  return {
    refused(error: unknown) {
      const isReply = error instanceof Error && error.name === "ReplyError";
      const code = isReply ? /^\w+/.exec(error.message)?.[0] : readTemporary(error);
      if (code === undefined || refused.has(code) || isOver) return;
      refused.add(code);
      io.err(printableLines(`The queue at ${name} refuses commands (${messageOf(error)}). Trying again.`));
    },
    lost(error: Error) {
      if (isLost || isOver) return;
      isLost = true;
      isSilent = false;
      io.err(printableLines(`Lost the connection to the queue at ${name} (${describeCause(error)}). Reconnecting.`));
    },
    back() {
      if (isLost && !isOver) io.err(printableLines(`Reconnected to the queue at ${name}.`));
      isLost = false;
    },
    silent() {
      if (isLost || isSilent || isOver) return;
      isSilent = true;
      io.err(printableLines(`The queue at ${name} does not answer. Waiting.`));
    },
    answered() {
      if (isSilent && !isOver) io.err(printableLines(`The queue at ${name} answers again.`));
      isSilent = false;
    },
    end() {
      isOver = true;
    },
  };
}
