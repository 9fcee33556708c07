import { hash } from "node:crypto";
import { isIP } from "node:net";
import type { Redis } from "ioredis";
import * as z from "zod";
import { knownSecrets } from "../../base/secrets/secrets.ts";
import { printableLines } from "../../base/text/display.ts";
import { excerpt } from "../../base/text/text.ts";
import { withoutSecrets } from "../../base/types/endpoint.ts";
import { type EvalsError, formatIssues, messageOf, printProblem, usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import { isNestedDeeper, jsonObjectSchema, parseJsonText } from "../../base/types/json.ts";
import type { RunManifest } from "../../base/types/run.ts";
import { type Cell, cellKey, type Trial, trialSchema } from "../../base/types/trial.ts";
import { incompleteError } from "../../records/disk.ts";
import { listChanges } from "../pipeline/record.ts";
import { recordedOptionsSchema } from "../pipeline/recordedOptions.ts";
import { version } from "../workspace/version.ts";

// Everything that is on a queue. It contains no key, no command and no path that a worker would execute: whoever can
// write to the server can make workers ask cases of their own checkout, and forge answers, but not run programs.

/** Maximum length of a trial in characters of JSON. Replies and results are truncated far below it. */
const maxTrialLength = 64 * 1024 * 1024;
const maxCellLength = 8_192;

/** One cell to ask. `toolset`: hash of the tool list to show. */
export const jobSchema = z.strictObject({
  run: z.string().regex(/^[\w.-]{1,100}$/),
  cell: trialSchema.shape.cell.refine((cell) => JSON.stringify(cell).length <= maxCellLength, "a name is too long"),
  toolset: z.string().max(200),
  orderSeed: z.number().int(),
});
export type TrialJob = z.infer<typeof jobSchema>;

/** The name of a run on the server. Its id alone is not unique: two machines can start a run in the same millisecond. */
export const nameRun = ({ id, nonce }: Pick<RunManifest, "id" | "nonce">): string => `${id}-${nonce}`;

/** The id of the job of a cell, so that a cell is on a queue only once. */
export const nameJob = (run: string, cell: Cell): string => `${run}-${hash("sha256", cellKey(cell)).slice(0, 32)}`;

/** The provider of a model, which has a queue of its own: the word before the colon of the model's id. */
export const nameProvider = (model: string): string =>
  (/^lexical-\d+$/.test(model) ? "lexical" : model.split(":")[0]) ?? "";

export const nameQueue = (provider: string): string => `trials-${provider}`;

/** The prefix of all keys. */
export const keyPrefix = "evals";
/** By field: the plan, the answers (by job, JSON of trials without secrets), and by worker why it refuses the plan. */
export const nameAnswers = (run: string): string => `${keyPrefix}:answers:${run}`;
export const planField = "plan";
export const refusalField = "refused by ";
/** Exists while a process waits for answers, and holds the hash of its plan. Workers drop trials of other runs. */
export const nameLease = (run: string): string => `${keyPrefix}:lease:${run}`;

/** Parses an answer. Throws if it is not the answer to the job. */
export function parseTrial(text: string, { cell, toolset, orderSeed }: TrialJob): Trial {
  if (text.length > maxTrialLength) throw new Error("it is too large");
  const data: unknown = JSON.parse(text);
  if (isNestedDeeper(data)) throw new Error("it is nested too deep");
  const trial = trialSchema.parse(data);
  if (cellKey(trial.cell) !== cellKey(cell) || trial.toolset !== toolset || trial.orderSeed !== orderSeed)
    throw new Error("it answers another cell");
  return trial;
}

/** The recorded options of a run but for those that each machine has for itself: programs, URLs and own skills. */
const flagsSchema = recordedOptionsSchema.omit({ baseUrl: true, claudePath: true, userSkills: true, cache: true });

const settingsSchema = z.object({ settings: jsonObjectSchema });
const planSchema = z.strictObject({
  format: z.literal("tool-evals plan 1"),
  harness: z.string(),
  commit: z.string().optional(),
  flags: flagsSchema.strict(),
  suites: z.array(
    z.object({
      name: z.string(),
      hash: z.string(),
      file: z.string(),
      cases: z.array(z.object({ toolset: z.string() })),
    }),
  ),
  models: z.array(settingsSchema.extend({ id: z.string() })),
  judge: settingsSchema.extend({ model: z.string() }).optional(),
});

/** What a run asks. A worker runs its trials only if the run could be resumed in the worker's checkout. */
export type Plan = z.infer<typeof planSchema>;

/** Why a worker refuses to run a plan, as a clause. */
export class Refusal extends Error {
  override readonly name = "Refusal";
}

/** Serializes the plan of a run, and hashes it. `commit`: of this checkout; a run can be resumed at another one. */
export function sealPlan(manifest: RunManifest, commit: string | undefined): { text: string; hash: string } {
  const flags = flagsSchema.parse(manifest.flags);
  const own = { format: "tool-evals plan 1", harness: version, commit, flags };
  const text = JSON.stringify(planSchema.strip().parse({ ...manifest, ...own }));
  return { text, hash: hash("sha256", text) };
}

/** Parses a stored plan. Returns undefined if its hash is another one. Throws a Refusal if the plan is invalid. */
export function openPlan(text: string, planHash: string): Plan | undefined {
  if (hash("sha256", text) !== planHash) return undefined;
  const { data, error } = planSchema.safeParse(parseJsonText(text));
  if (!data) throw new Refusal(`the plan of the run cannot be read: ${excerpt(formatIssues(error), 500)}`);
  return data;
}

/** Lists the differences between the plan and a run of this checkout, as clauses. Ignores models that are not opened here. */
export function listPlanDifferences(plan: Plan, here: RunManifest): string[] {
  const models = plan.models.filter(({ id }) => here.models.some((model) => model.id === id));
  const commits = [here.git?.commit, plan.commit].map((commit) => commit?.slice(0, 10));
  return [
    // A different commit comes first, because it explains the other differences.
    ...(here.git && plan.commit !== undefined && here.git.commit !== plan.commit
      ? [`the commit is ${commits.join(" here and ")} there`]
      : []),
    ...(plan.harness === version ? [] : [`tool-evals is ${version} here and ${plan.harness} there`]),
    ...listChanges({ ...plan, models }, here),
  ];
}

/** A connection to the Redis server that carries trials to workers. */
export type Broker = {
  /** Its URL without credentials, for messages. */
  name: string;
  bullmq: typeof import("bullmq");
  /** The connection for commands, of which every consumer of a queue makes its own copy. Reconnects until it is closed. */
  redis: Redis;
  /** Reports each kind of error with which the server refuses commands, once. */
  reportRefusal(error: unknown): void;
  /** Stops waiting for a lost server, so that this process can end. */
  stopWaiting(): void;
  /** Resolves when the server is lost, and this process does not wait for it any longer. */
  lost: Promise<void>;
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
  const reported = new Set<string>();
  let state: "starting" | "connected" | "lost" | "closed" = "starting";
  let cause: (Error & { code?: string }) | undefined;
  let isWaiting = true;
  const report = (text: string) => io.err(printableLines(text));
  const retryStrategy = (times: number) => {
    if (state !== "starting") return isWaiting || times <= lastRetries ? Math.min(50 * 2 ** times, 2_000) : null;
    // The first connections end without an error, or with one of these, where a server starts or is replaced.
    const isStarting = !cause || ["ECONNREFUSED", "ECONNRESET", "EPIPE"].includes(cause.code ?? "");
    return isStarting && !io.signal.aborted && times * retryMs < startMs ? retryMs : null;
  };
  const redis = new ioredis.Redis({ ...options, retryStrategy });
  // The client emits an error at each attempt.
  redis.on("error", (error) => {
    if (state === "starting") cause = error;
    if (state !== "connected") return;
    state = "lost";
    report(`Lost the connection to the queue at ${name} (${describe(error)}). Reconnecting.`);
  });
  // What is wrong with the server now is not why an earlier attempt failed.
  redis.on("connect", () => {
    cause = undefined;
  });
  redis.on("ready", () => {
    if (state !== "lost") return;
    state = "connected";
    report(`Reconnected to the queue at ${name}.`);
  });
  const lost = new Promise<void>((resolve) => redis.once("end", resolve));
  await verifyServer(redis, name, io).catch((error) => {
    redis.disconnect();
    // When the connection failed, the emitted error says more than the rejection of the command.
    throw explainFailure(cause ?? error, name, cause !== undefined || redis.status !== "ready");
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
    stopWaiting() {
      isWaiting = false;
    },
    lost,
    async close() {
      state = "closed";
      redis.disconnect();
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

async function verifyServer(client: Redis, name: string, io: Io): Promise<void> {
  const stop = () => client.disconnect();
  io.signal.addEventListener("abort", stop, { once: true });
  const wait = setTimeout(() => {
    // One that refuses the connection is not silent, however late this process gets to its last attempt.
    const isConnected = client.status === "connect" || client.status === "ready";
    if (isConnected) io.err(`Waiting for the queue at ${name}, which does not answer yet.\n`);
  }, startMs);
  try {
    const info = await client.info();
    // Without this check, the client would continue although the server does not have the database.
    await client.select(client.options.db ?? 0);
    if (/^cluster_enabled:1/m.test(info)) throw new Error("it is a node of a cluster, which a queue does not support");
    // A replica and a server whose memory is full refuse only what writes.
    await client.set(`${keyPrefix}:probe`, "", "PX", 1);
    for (const warning of listWarnings(info)) printProblem(io)({ severity: "warning", ...warning });
  } finally {
    clearTimeout(wait);
    io.signal.removeEventListener("abort", stop);
  }
}

function explainFailure(cause: unknown, name: string, isUnreached: boolean): EvalsError {
  const message = describe(cause).replace(/\.$/, "");
  const refusal = refusals.find(({ pattern }) => pattern.test(message));
  if (refusal)
    return usageError(
      `${name} refused the login: ${refusal.reason}.`,
      "Give user and password in the URL, or in REDIS_USERNAME and REDIS_PASSWORD.",
    );
  const [what, hint] = isUnreached
    ? ["reached", "Start the Redis server, or correct the URL."]
    : ["used", "Correct the settings of the Redis server, or the URL."];
  return incompleteError(`The queue at ${name} cannot be ${what}: ${message}.`, hint);
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
