import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createConnection, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Queue } from "bullmq";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import * as names from "../../src/evals/experiments/queue/connection.ts";
import { makeFolder } from "../fakes/folder.ts";
import { actCases, writeActSuite } from "../fixtures/actSuite.ts";
import type { Fault } from "../fixtures/endpoints/endpoint.ts";
import { type MessageAnswer, startMessagesEndpoint } from "../fixtures/endpoints/messages.ts";
import { listen } from "../fixtures/ports.ts";
import { noRedis, type RedisServer, startRedis } from "../fixtures/redis.ts";
import { spawnEvals, start, summaryOf, timeless, trialsOf, untilPrinted } from "./evals.ts";

const key = "sk-ant-canary-4821";
const tools = [
  { name: "act", description: "Acts.", inputSchema: { type: "object", properties: { text: { type: "string" } } } },
  { name: "wait", description: "Waits.", inputSchema: { type: "object" } },
];
const writeSuite = (more: object = {}) => writeActSuite(dir, 20, more, "evals/suite.json");

let redis: RedisServer;
let dir: string;
let endpoint: Awaited<ReturnType<typeof startMessagesEndpoint>>;
let answer: (index: number) => MessageAnswer | Fault | Promise<MessageAnswer | Fault>;
const act: MessageAnswer = { calls: [{ name: "act", id: "call", input: { text: "x" } }] };
const workers: ReturnType<typeof start>[] = [];

/** Holds all answers after the first until the returned function is called. */
function holdAnswers(first = 0): () => void {
  let go = () => {};
  const held = new Promise<void>((resolve) => {
    go = resolve;
  });
  answer = async (index) => {
    if (index >= first) await held;
    return act;
  };
  return go;
}

const flags = (trials = 2) => `-m anthropic:x --base-url ${endpoint.url} -n ${trials} --seed 7 --json`.split(" ");
/** The coordinator has no key. */
const startRun = (args: readonly string[], env: Record<string, string> = {}) =>
  start(["run", ...args, "--queue", redis.url], { cwd: dir, env: { ANTHROPIC_API_KEY: "", ...env } });
function startWorker(args: readonly string[] = [], cwd = dir, env: Record<string, string> = {}, url = redis.url) {
  const worker = start(["worker", url, "--base-url", endpoint.url, ...args], {
    ...{ cwd, env: { ANTHROPIC_API_KEY: key, ...env } },
  });
  workers.push(worker);
  return worker;
}
async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await pause(20);
}
const count = (list: "wait" | "active") => redis.use((client) => client.llen(`evals:trials-anthropic:${list}`));
const untilQueued = () => until(async () => (await count("wait")) === 20);
const untilAsked = (requests: number) => until(() => endpoint.requests.length >= requests);
/** Waits until ten answers are recorded and five more requests are held. */
const untilHalfRecorded = () => until(() => endpoint.requests.length >= 15 && countRecorded() >= 10);
/** The setting of a process whose new dates are of this time. */
const withClock = (time: string, now = time) => {
  const clock = `const Clock = Date; globalThis.Date = class extends Clock { constructor(...given) { given.length > 0 ? super(...given) : super(${time}); } static now() { return ${now}; } };`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(clock)}` };
};
/** Suspends the server: it keeps its connections and answers nothing. Returns what continues it. */
async function suspendServer(): Promise<() => void> {
  const info = await redis.use((client) => client.info("server"));
  const pid = Number(/process_id:(\d+)/.exec(info)?.[1]);
  process.kill(pid, "SIGSTOP");
  return () => void process.kill(pid, "SIGCONT");
}
/** A way to the server that refuses commands with this text while `refusal` is set. */
async function startFront(pattern: RegExp) {
  const state: { refusal: string | undefined } = { refusal: undefined };
  const front = createServer((socket) => {
    const behind = createConnection(redis.port, "127.0.0.1").on("error", () => {});
    socket.on("error", () => {}).on("close", () => behind.destroy());
    behind.on("close", () => socket.destroy()).pipe(socket);
    socket.on("data", (data) => {
      const text = data.toString("latin1");
      if (state.refusal === undefined || !pattern.test(text)) return void behind.write(data);
      const commands = text.match(/^\*\d+\r$/gm) ?? [];
      socket.write(commands.map(() => `-${state.refusal}\r\n`).join(""));
    });
  });
  return { url: `redis://127.0.0.1:${await listen(front)}`, state };
}
/** The name on the server of the only run, when it has begun. */
async function findRun(): Promise<string> {
  const findManifest = () =>
    readdirSync(dir, { recursive: true, encoding: "utf8" }).find((file) => /run\.json$/.test(file));
  await until(() => findManifest() !== undefined);
  return names.nameRun(JSON.parse(readFileSync(join(dir, findManifest() ?? ""), "utf8")));
}
/** A run that has every answer, and paid for each once, or for so many requests. */
async function expectWhole(run: ReturnType<typeof start>, requests = 20, trials = 20) {
  const ended = await run.ended;
  expect(summaryOf(ended).totals, ended.err).toMatchObject({ trials, passed: trials, broken: 0, missing: 0 });
  expect(endpoint.requests).toHaveLength(requests);
  return ended;
}
/** How many trials are on the only record so far. */
function countRecorded(): number {
  const [id = ""] = readdirSync(join(dir, "reports"));
  return readFileSync(join(dir, "reports", id, "trials.jsonl"), "utf8").split("\n").length - 1;
}

describe.skipIf(noRedis)("a run with --queue", () => {
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.close());
  beforeEach(async () => {
    dir = makeFolder();
    writeSuite();
    writeFileSync(join(dir, "tools.json"), JSON.stringify(tools));
    answer = () => act;
    endpoint = await startMessagesEndpoint((_, index) => answer(index));
  });
  afterEach(async () => {
    for (const { child } of workers) child.kill("SIGKILL");
    await Promise.all(workers.splice(0).map(({ ended }) => ended));
    await redis.use((client) => client.flushall());
    await endpoint.close();
  });

  it("comes to the verdict of a check that asks as it goes", async () => {
    answer = (index) => ({ ...act, id: `reply${index}` });
    const model = ["-m", "anthropic:x", "--base-url", endpoint.url, "--seed", "7", "--json"];
    const accepted = await spawnEvals(["run", "--accept", "--check", "off", "-n", "10", ...model], { cwd: dir });
    expect(accepted.code, accepted.err).toBe(0);
    const changed = tools.map((tool) => ({ ...tool, description: `${tool.description} Always use this tool.` }));
    writeFileSync(join(dir, "tools.json"), JSON.stringify(changed));
    const check = ["--check", "on", "-n", "4", ...model];
    const whole = summaryOf(await spawnEvals(["run", ...check], { cwd: dir }));
    startWorker();
    const queued = summaryOf(await startRun(check).ended);
    expect(whole.suites[0]?.verdict?.kind).toBeDefined();
    expect(queued.suites[0]?.verdict).toEqual(whole.suites[0]?.verdict);
    expect(trialsOf(queued.dir).some(({ cell }) => cell.arm === "base")).toBe(true);
    expect(trialsOf(queued.dir).map(timeless)).toEqual(trialsOf(whole.dir).map(timeless));
  });

  it.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("takes what workers have begun when %s stops it, and pays nothing twice", async (signal, code) => {
    const go = holdAnswers(10);
    startWorker(["-c", "5"]);
    const run = startRun(flags());
    // An answer is on its way to the run while its worker asks the next request.
    await untilHalfRecorded();
    run.child.kill(signal);
    const stopped = await run.ended;
    expect(stopped.code).toBe(code);
    expect(trialsOf(summaryOf(stopped).dir)).toHaveLength(10);
    expect([await count("wait"), await count("active")]).toEqual([0, 5]);
    go();
    expect((await expectWhole(startRun(["--resume", "latest", "--json"]), 40, 40)).code).toBe(0);
  });

  it("has no trial asked for a run that was killed, until that run is resumed", async () => {
    const dead = startRun(flags(1));
    await untilQueued();
    dead.child.kill("SIGKILL");
    await dead.ended;
    const [id = ""] = readdirSync(join(dir, "reports"));
    const name = await findRun();
    await redis.use((client) => client.pexpire(names.nameLease(name), 1));
    startWorker();
    const other = await startRun([...flags(1), "--out", "other", "--case", "c0"]).ended;
    expect(summaryOf(other).totals).toMatchObject({ trials: 1, passed: 1 });
    await until(async () => (await count("wait")) === 0);
    expect(endpoint.requests).toHaveLength(1);
    await expectWhole(startRun(["--resume", id, "--json"]), 21);
  });

  it("is not confused with a run that was started on another machine in the same millisecond", async () => {
    startWorker();
    const stopped = withClock("1e12", "Clock.now()");
    const runs = ["one", "two"].map((out) => startRun([...flags(1), "--out", out], stopped));
    const ids = new Set<string>();
    for (const ended of await Promise.all(runs.map(({ ended }) => ended))) {
      const { run, totals } = summaryOf(ended);
      ids.add(run);
      expect(totals).toMatchObject({ trials: 20, passed: 20, missing: 0 });
    }
    expect(ids).toEqual(new Set(["2001-09-09T01-46-40-000"]));
    expect(endpoint.requests).toHaveLength(40);
    for (const keys of ["evals:answers:*", "evals:lease:*"])
      expect(await redis.use((client) => client.keys(keys))).toEqual([]);
  });

  it("asks again what a server without an append-only file has lost", async () => {
    const forgetful = await startRedis(["--appendonly", "no"]);
    startWorker(["-c", "1"], dir, {}, forgetful.url);
    const run = start(["run", ...flags(1), "--queue", forgetful.url], { cwd: dir });
    answer = async () => {
      await pause(100);
      return act;
    };
    await untilAsked(5);
    await forgetful.kill();
    await forgetful.restart();
    const ended = await run.ended;
    expect(summaryOf(ended).totals).toMatchObject({ trials: 20, passed: 20, missing: 0 });
    // At most what was in flight, and answers that were not read yet.
    expect(endpoint.requests.length).toBeLessThanOrEqual(23);
  });

  it("is finished by another worker when one is stopped by Ctrl-C", async () => {
    const go = holdAnswers(10);
    const first = startWorker(["-c", "5"]);
    const run = startRun(flags());
    await untilAsked(15);
    first.child.kill("SIGINT");
    const { code, err } = await first.ended;
    expect({ code, err }).toEqual({
      code: 130,
      err: expect.stringContaining("10 trials run."),
    });
    go();
    startWorker();
    await expectWhole(run, 45, 40);
  });

  it("does not keep a worker from ending when the server is gone, and goes on when it is back", async () => {
    const go = holdAnswers();
    const idle = startWorker(["--hosts", "custom", "--max-idle", "5"]);
    const busy = startWorker(["-c", "5"]);
    await Promise.all([idle, busy].map((worker) => untilPrinted(worker, "takes trials")));
    idle.child.kill("SIGSTOP");
    const run = startRun(flags(1));
    await untilAsked(5);
    await redis.kill();
    idle.child.kill("SIGCONT");
    busy.child.kill("SIGTERM");
    expect((await busy.ended).code).toBe(143);
    expect((await idle.ended).code).toBe(0);
    go();
    await redis.restart();
    startWorker();
    expect(summaryOf(await run.ended).totals).toMatchObject({ trials: 20, passed: 20, broken: 0, missing: 0 });
    expect(endpoint.requests.length).toBeLessThanOrEqual(25);
  });

  // Limits of requests and of money: test/contract/asker.test.ts.
  it("stops a model that refuses everything", async () => {
    startWorker();
    answer = () => ({ fault: "status", status: 401, message: "no such key" });
    const refused = await startRun(flags()).ended;
    expect(refused.code).toBe(3);
    expect(refused.err).toMatch(/anthropic:x was stopped: .*401 authentication_error: no such key/);
    expect(endpoint.requests.length).toBeLessThan(20);
  });

  it("asks the judge on the workers", async () => {
    const cases = actCases(1).map((one) => ({ ...one, expected_behavior: ["The call acts."] }));
    writeSuite({ execute: "never", cases });
    answer = (index) => {
      const { body } = endpoint.requests[index] as { body: { messages: unknown } };
      const text = "I act on it as you asked.";
      if (!JSON.stringify(body.messages).includes("The call acts.")) return { ...act, text };
      const verdict = { number: 1, evidence: text, reason: "It does.", verdict: "met" };
      return { text: JSON.stringify({ answers: [verdict] }) };
    };
    startWorker();
    const ended = await startRun([...flags(3), "--judge", "anthropic:judge"]).ended;
    expect(summaryOf(ended).totals, ended.err).toMatchObject({ trials: 3, passed: 3, broken: 0 });
    const judges = trialsOf(summaryOf(ended).dir).map(({ judging }) => judging?.model);
    expect(judges).toEqual(Array(3).fill("anthropic:judge"));
  });

  it("starts no more trials in a second than --rate, on all workers together", async () => {
    startWorker();
    startWorker();
    const ended = await startRun([...flags(1), "--max-turns", "1", "--rate", "5"]).ended;
    expect(summaryOf(ended).totals, ended.err).toMatchObject({ trials: 20, passed: 20 });
    // The server counts the starts of a second under a key that expires with it, and its log has every change of the key.
    const files = readdirSync(redis.dir, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".aof"));
    const log = files.map((file) => readFileSync(join(redis.dir, file), "latin1")).join("");
    const seconds = log.split(/PEXPIREAT\s+\$\d+\s+evals:\S+:limiter\s/);
    const starts = seconds.map((second) => second.match(/INCR\s+\$\d+\s+evals:\S+:limiter\s/g)?.length ?? 0);
    // The first start of each is before its expiry is set.
    const counts = starts.map((n, at) => n + (at > 0 ? 1 : 0) - (at < starts.length - 1 ? 1 : 0)).slice(1);
    expect(counts.reduce((sum, n) => sum + n, 0)).toBe(20);
    expect(Math.max(...counts)).toBe(5);
  });

  it("runs programs on workers that were started with --hosts alone", async () => {
    const model = 'export default () => ({ calls: [{ tool: "act", arguments: { text: "x" } }] });';
    writeFileSync(join(dir, "model.mjs"), model);
    startWorker();
    const run = startRun(["-m", "custom:model.mjs", "-n", "1", "--seed", "7", "--max-turns", "1", "--json"]);
    await untilPrinted(run, "No worker takes trials of custom");
    startWorker(["--hosts", "custom"]);
    await expectWhole(run, 0);
  });

  it("is refused by a worker whose files differ, which names the suite, and nothing is failed", async () => {
    const other = join(dir, "other");
    mkdirSync(other);
    writeActSuite(other, 19, {}, "evals/suite.json");
    cpSync(join(dir, "tools.json"), join(other, "tools.json"));
    const worker = startWorker([], other);
    const ended = await startRun(flags()).ended;
    const refused = await worker.ended;
    expect(refused.code).toBe(3);
    expect(refused.err).toMatch(
      /error: The plan of the run .* does not match this worker: the suite "s" was edited\.\n {2}Check out/,
    );
    expect(ended.code).toBe(3);
    expect(ended.err).toMatch(/warning: A worker does not run this plan: .*: the suite "s" was edited\./);
    expect(ended.err).toMatch(
      /anthropic:x was stopped: no worker runs this plan: .*the suite "s" was edited: 40 trials are missing/,
    );
    expect(summaryOf(ended).totals).toMatchObject({ passed: 0, broken: 0, missing: 40 });
    expect(endpoint.requests).toEqual([]);
  });

  it("takes nothing executable from the queue", async () => {
    writeActSuite(dir, 20, { server: { command: "touch", args: ["ran"] } }, "outside.json");
    writeFileSync(join(dir, "tools.json"), JSON.stringify(tools));
    const connection = { host: "127.0.0.1", port: redis.port };
    const queue = new Queue(names.nameQueue("anthropic"), { prefix: "evals", connection });
    queue.on("error", () => {});
    const cell = { suite: "s", case: "c0", arm: "head", model: "anthropic:x", trial: 1 };
    const forge = async (flags: object) => {
      const plan = { format: "tool-evals plan 1", harness: "0.1.0", startedAt: "2026-01-01T00:00:00.000Z", flags };
      await redis.use((client) => client.hset(names.nameAnswers("forged"), names.openField, ""));
      await redis.use((client) => client.set(names.nameLease("forged"), JSON.stringify(plan)));
      const worker = startWorker();
      await queue.add(
        "trial",
        { run: "forged", cell, suite: "s", toolset: "t", settings: "m", orderSeed: 1 },
        { jobId: names.nameJob("forged", cell) },
      );
      const { code, err } = await worker.ended;
      expect(code, err).toBe(3);
      await queue.obliterate({ force: true });
      return err;
    };
    expect(await forge({ paths: ["outside.json"] })).toContain("this worker runs suites in evals, not outside.json");
    expect(await forge({ paths: ["../x.json"] })).toContain("this worker runs suites in evals, not ../x.json");
    expect(await forge({ execute: "all" })).toContain("the run asks for --execute all: start the worker with it, too");
    expect(await forge({ baseUrl: "http://127.0.0.1:9" })).toContain("flags has an unknown key: baseUrl");
    expect(await forge({ judge: "custom:x.mjs" })).toContain("does not ask the judge custom:x.mjs");
    expect(await forge({ model: ["custom:/etc/x.mjs"] })).toContain("/etc/x.mjs is not in the folder of this worker");
    expect(await forge({ paths: ["evals/none.json"] })).toMatch(
      /does not match this worker: .*evals\/none\.json.*[^.]\.\n/,
    );
    expect(readdirSync(dir)).not.toContain("ran");
    // What is no job at all is dropped, and an answer of another form breaks its trial.
    const worker = startWorker();
    await queue.add("trial", { run: "../x" });
    await expectWhole(startRun([...flags(1), "--case", "c0"]), 1, 1);
    worker.child.kill("SIGKILL");
    await queue.close();
  });

  it("ends a stopped worker when the server has taken its answers", async () => {
    const go = holdAnswers();
    const worker = startWorker(["-c", "5"]);
    const run = startRun(flags(1));
    await untilAsked(5);
    const isRefused = untilPrinted(worker, "refuses commands (OOM");
    await redis.use((client) => client.config("SET", "maxmemory", "100kb"));
    go();
    await isRefused;
    worker.child.kill("SIGINT");
    await pause(1_000);
    expect(worker.child.exitCode).toBeNull();
    await redis.use((client) => client.config("SET", "maxmemory", "0"));
    const { code, err } = await worker.ended;
    expect(code).toBe(130);
    // Replies that were still on their way at the signal are not among them.
    const [, answers] = /: (\d) trials run/.exec(err) ?? [];
    expect(Number(answers)).toBeGreaterThan(0);
    startWorker();
    await expectWhole(run, 25 - Number(answers));
  });

  it.each([
    ["answers", /evals:answers:/, "MOVED 1234 10.0.0.1:6379"],
    ["questions for the plan", /evals:lease:/, "LOADING Redis is loading the dataset in memory"],
  ])("does without the %s of a worker until the server takes them", async (_, pattern, refusal) => {
    const front = await startFront(pattern);
    front.state.refusal = refusal;
    const worker = startWorker(["-c", "5"], dir, {}, front.url);
    const run = startRun(flags(1));
    await untilPrinted(worker, `refuses commands (${refusal})`);
    front.state.refusal = undefined;
    await expectWhole(run);
  });

  it("waits for a server that is suspended, says so, and can be stopped meanwhile", async () => {
    const go = holdAnswers();
    const worker = startWorker(["-c", "5"]);
    const run = startRun(flags(1));
    await untilAsked(5);
    const processes = [worker, run];
    const areSilent = processes.map((one) => untilPrinted(one, "(Socket timeout. Expecting data"));
    const areBack = processes.map((one) => untilPrinted(one, `Reconnected to the queue at ${redis.url}.`));
    const resumeServer = await suspendServer();
    const late = startWorker();
    await pause(5_000);
    late.child.kill("SIGINT");
    expect(await late.ended).toMatchObject({
      code: 130,
      err: expect.stringContaining("cannot be used: Connection is closed."),
    });
    await Promise.all(areSilent);
    resumeServer();
    await Promise.all(areBack);
    go();
    expect(summaryOf(await run.ended).totals).toMatchObject({ trials: 20, passed: 20, broken: 0, missing: 0 });
  });

  it("is not misled by jobs and plans that are deleted or spoiled on the server", async () => {
    const whole = summaryOf(await spawnEvals(["run", ...flags(1)], { cwd: dir }));
    endpoint.requests.length = 0;
    const run = startRun(flags(1));
    await untilQueued();
    await redis.use(async (client) => {
      const ids = await client.lrange("evals:trials-anthropic:wait", 0, -1);
      const [deleted = "", spoiled = "", moved = ""] = ids.map((id) => `evals:trials-anthropic:${id}`);
      await client.del(await client.keys("evals:lease:*"));
      await client.del(deleted);
      await client.hset(spoiled, "data", "{");
      const job = JSON.parse((await client.hget(moved, "data")) ?? "");
      await client.hset(moved, "data", JSON.stringify({ ...job, cell: { ...job.cell, trial: 7 } }));
    });
    startWorker();
    const ended = await run.ended;
    expect(ended.code, ended.err).toBe(0);
    expect(trialsOf(summaryOf(ended).dir).map(timeless)).toEqual(trialsOf(whole.dir).map(timeless));
    expect(endpoint.requests).toHaveLength(20);
  });

  it("drops other answers to trials that are on the record", async () => {
    const go = holdAnswers(10);
    startWorker(["-c", "5"]);
    const run = startRun(flags(1));
    await untilHalfRecorded();
    const name = await findRun();
    const recorded = trialsOf(join(dir, "reports", readdirSync(join(dir, "reports"))[0] ?? ""));
    await redis.use(async (client) => {
      for (const trial of recorded) {
        const forged = { ...trial, turns: [], outcome: { kind: "broken", stage: "model", message: "x" } };
        await client.hset(names.nameAnswers(name), names.nameJob(name, trial.cell), JSON.stringify(forged));
      }
    });
    go();
    expect(trialsOf(summaryOf(await expectWhole(run)).dir)).toHaveLength(20);
    expect(await redis.use((client) => client.keys("evals:answers:*"))).toEqual([]);
  });

  it("needs no more rights on the server than the documentation names", async () => {
    const docs = readFileSync(join(import.meta.dirname, "../../docs/ci.md"), "utf8");
    const rights = /ACL SETUSER evals on \S+ (.*)/.exec(docs)?.[1]?.replaceAll('"', "").split(" ") ?? [];
    await redis.use((client) => client.call("ACL", "SETUSER", "evals", "on", ">secret-word", ...rights));
    const user = { REDIS_USERNAME: "evals", REDIS_PASSWORD: "secret-word" };
    const run = startRun(flags(1), user);
    await untilPrinted(run, "No worker takes trials of anthropic");
    const worker = startWorker([], dir, user);
    const ended = await expectWhole(run);
    worker.child.kill("SIGTERM");
    expect(`${ended.err}${(await worker.ended).err}`).not.toMatch(/NOPERM|refuses/);
    await redis.use((client) => client.call("ACL", "DELUSER", "evals"));
  });

  it("is resumed at another commit, on workers of that commit", async () => {
    const git = (...args: string[]) =>
      execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@t", ...args], { cwd: dir, stdio: "pipe" });
    git("init", "-q");
    git("add", "evals", "tools.json");
    git("commit", "-qm", "one");
    const dead = startRun(flags(1));
    await untilQueued();
    dead.child.kill("SIGKILL");
    await dead.ended;
    git("commit", "-qm", "two", "--allow-empty");
    const name = await findRun();
    const readLease = () => redis.use((client) => client.get(names.nameLease(name)));
    const before = await readLease();
    const resuming = startRun(["--resume", "latest", "--json"]);
    await until(async () => (await readLease()) !== before);
    startWorker();
    expect((await expectWhole(resuming)).code).toBe(0);
  });

  it("waits while the server asks for another password", async () => {
    const run = startRun(flags(1));
    await untilQueued();
    await redis.use(async (client) => {
      await client.config("SET", "requirepass", "another");
      const isRefused = untilPrinted(run, "NOAUTH");
      await client.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
      await isRefused;
      await client.config("SET", "requirepass", "");
    });
    startWorker();
    expect((await expectWhole(run)).err).not.toMatch(/\n {4}at /);
  });

  it("is answered by a worker whose clock is hours off", async () => {
    startWorker([], dir, withClock("Clock.now() + 18e6"));
    await expectWhole(startRun(flags(1)));
  });

  it("breaks a trial whose answer is none", async () => {
    const run = startRun([...flags(1), "--case", "c0"]);
    const id = await findRun();
    const cell = { suite: "s", case: "c0", arm: "head", model: "anthropic:x", trial: 1 };
    const trial = JSON.stringify({ cell, verdict: { grade: "pass" } });
    await redis.use((client) => client.hset(names.nameAnswers(id), names.nameJob(id, cell), trial));
    const ended = await run.ended;
    expect(ended.code).toBe(3);
    expect(JSON.stringify(trialsOf(summaryOf(ended).dir)[0]?.outcome)).toContain("the worker's answer cannot be read");
  });
});
