import { readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { seededRandom, shuffle } from "../../src/evals/base/stats/random.ts";
import { type Ended, spawnEvals, start, summaryOf, timeless, trialsOf, untilPrinted } from "../e2e/evals.ts";
import { makeFolder } from "../fakes/folder.ts";
import { writeActSuite } from "../fixtures/actSuite.ts";
import { startMessagesEndpoint } from "../fixtures/endpoints/messages.ts";
import { noRedis, type RedisServer, startRedis } from "../fixtures/redis.ts";
import { readPeakMiB } from "./memory.ts";

/** The long form: EVALS_TORTURE=long, with another number of cells in EVALS_TORTURE_CELLS. */
const isLong = process.env.EVALS_TORTURE === "long";
const size = isLong
  ? { cells: Number(process.env.EVALS_TORTURE_CELLS ?? 100_000), trials: 50, workers: 4, concurrency: 50, rounds: 6 }
  : { cells: 400, trials: 2, workers: 3, concurrency: 5, rounds: 1 };
/** What is killed when: by default otherwise each time. */
const seed = Number(process.env.EVALS_TORTURE_SEED ?? Date.now());

type Victim = "worker" | "coordinator" | "redis";
/** Killed in each round, in any order. */
const victims: readonly Victim[] = ["worker", "coordinator", "worker", "redis"];

let dir: string;
let redis: RedisServer;
let endpoint: Awaited<ReturnType<typeof startMessagesEndpoint>>;
/** Requests by the text of the query. */
let asked: Map<string, number>;
let requests: number;
let onRequest: (index: number) => void;
const processes: ReturnType<typeof start>[] = [];
const startHere = (args: readonly string[]) => {
  const started = start(args, { cwd: dir });
  processes.push(started);
  return started;
};
beforeEach(async () => {
  dir = makeFolder();
  writeActSuite(dir, size.cells / size.trials, {}, "evals/suite.json");
  asked = new Map();
  requests = 0;
  onRequest = () => {};
  redis = await startRedis();
  endpoint = await startMessagesEndpoint(async ({ messages }) => {
    const query = JSON.stringify(messages[0]?.content);
    asked.set(query, (asked.get(query) ?? 0) + 1);
    // The bodies of so many requests would fill the memory.
    endpoint.requests.length = 0;
    onRequest(++requests);
    await pause(20);
    return { id: "reply", calls: [{ name: "act", id: "call", input: { text: "x" } }] };
  });
});
afterEach(async () => {
  for (const { child } of processes) child.kill("SIGKILL");
  await Promise.all(processes.splice(0).map(({ ended }) => ended));
});

const flags = () => ["-m", "anthropic:x", "--base-url", endpoint.url, "-n", `${size.trials}`, "--seed", "7", "--json"];

/** The trials of a record in the order of the plan, without times, and without the errors of a machine under load. */
const readRecord = (folder: string) =>
  trialsOf(folder).map((trial) =>
    JSON.stringify(timeless(trial), (key, value) => (key === "resent" ? undefined : value)),
  );

describe.skipIf(noRedis)("a run on workers", () => {
  it("whose workers, coordinator and Redis server are killed has the record of a run in one process", async () => {
    const { cells, trials, workers, concurrency, rounds } = size;
    const whole = summaryOf(await spawnEvals(["run", ...flags(), "-c", "100"], { cwd: dir }));
    asked.clear();
    requests = 0;

    const startWorker = () => {
      const worker = startHere(["worker", redis.url, "-c", `${concurrency}`, "--base-url", endpoint.url]);
      return { ...worker, isReady: untilPrinted(worker, "takes trials") };
    };
    const fleet = Array.from({ length: workers }, startWorker);
    const startRun = (args: readonly string[]) => startHere(["run", ...args, "--queue", redis.url, "--out", "fleet"]);
    let run = startRun(flags());
    let resumes = 0;
    const killed = { worker: 0, coordinator: 0, redis: 0 };
    const began = performance.now();
    let peakMiB = 0;
    const watching = setInterval(() => {
      peakMiB = Math.max(peakMiB, readPeakMiB(run.child.pid));
    }, 200);

    const random = seededRandom(seed);
    const kill = async (victim: Victim) => {
      killed[victim]++;
      if (victim === "worker") {
        const location = random.below(workers);
        fleet[location]?.child.kill("SIGKILL");
        fleet[location] = startWorker();
      } else if (victim === "redis") {
        await redis.kill();
        await redis.restart();
      } else {
        const { child, ended } = run;
        child.kill("SIGKILL");
        await ended;
        const [id = ""] = readdirSync(join(dir, "fleet"));
        resumes++;
        run = startRun(["--resume", id, "--json"]);
      }
    };
    const kills = Array.from({ length: rounds }, () => shuffle(victims, random)).flat();
    const moments = kills.map(() => Math.floor(cells * (0.02 + 0.9 * random.next()))).sort((a, b) => a - b);
    let next = 0;
    let killing = Promise.resolve();
    onRequest = (index) => {
      const victim = kills[next];
      if (victim === undefined || index < (moments[next] ?? 0)) return;
      next++;
      killing = killing.then(() => kill(victim));
    };
    const untilEnd = async (): Promise<Ended> => {
      const current = run;
      const ended = await current.ended;
      if (ended.code !== null) return ended;
      // It was killed, and another one resumes it.
      while (run === current) await pause(20);
      return await untilEnd();
    };
    const ended = await untilEnd();
    await killing;
    clearInterval(watching);
    const seconds = (performance.now() - began) / 1_000;
    const twice = [...asked.values()].reduce((sum, times) => sum + Math.max(0, times - trials), 0);
    const most = killed.worker * concurrency + killed.redis * workers * concurrency;
    console.log(
      `${cells} cells over ${workers} workers: ${seconds.toFixed(0)} s, ${Math.round(cells / seconds)} a second, ` +
        `${JSON.stringify(killed)} killed (seed ${seed}), ${resumes} resumes, ${requests} requests, ${twice} paid twice ` +
        `(in flight at the kills: at most ${most}), peak memory of the run ${peakMiB.toFixed(0)} MiB`,
    );
    expect(ended.code, ended.err).toBe(0);
    // A trial whose worker was killed after it answered begins again, and ends after the run. Then nothing is left on the
    // server but settings of the queues.
    const settings = /:(meta|id|events|marker|stalled-check|stalled|limiter)$/;
    let left: string[];
    do {
      await pause(100);
      left = (await redis.use((client) => client.keys("evals:*"))).filter((key) => !settings.test(key));
    } while (left.length > 0);
    // One that has just been started ends at a signal without a word.
    await Promise.all(fleet.map(({ isReady }) => isReady));
    for (const { child } of fleet) child.kill("SIGTERM");
    const codes = await Promise.all(fleet.map(async (worker) => (await worker.ended).code));
    expect(codes).toEqual(Array(workers).fill(143));
    const [expected, recorded] = [readRecord(whole.dir), readRecord(summaryOf(ended).dir)];
    expect(recorded).toHaveLength(cells);
    expect(recorded.find((line, at) => line !== expected[at])).toBeUndefined();
    expect(expected).toHaveLength(cells);
    expect(twice).toBeLessThanOrEqual(most);
    expect(killed).toEqual({ worker: 2 * rounds, coordinator: rounds, redis: rounds });
  }, 3_600_000);
});
