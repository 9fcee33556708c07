import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { start, summaryOf, timeless, trialsOf } from "../e2e/evals.ts";
import { makeFolder } from "../fakes/folder.ts";
import { writeActSuite } from "../fixtures/actSuite.ts";
import {
  type BatchEndpoint,
  type BatchScript,
  startCompletionBatches,
  startMessageBatches,
} from "../fixtures/endpoints/batches.ts";
import { readPeakMiB } from "./memory.ts";

/** The long form: EVALS_TORTURE=long, with another number of cases in EVALS_TORTURE_CELLS. */
const isLong = process.env.EVALS_TORTURE === "long";
const cases = isLong ? Number(process.env.EVALS_TORTURE_CELLS ?? 100_000) : 1_000;

type Treat = NonNullable<BatchScript<object, object>["treat"]>;

const treatment = (treat?: Treat) => (treat ? { treat } : {});
const providers = {
  anthropic: {
    model: "anthropic:claude-haiku-5-5",
    open: (treat?: Treat): Promise<BatchEndpoint<object>> =>
      startMessageBatches({ answer: () => ({ calls: [{ name: "act", id: "call", input: {} }] }), ...treatment(treat) }),
    env: (url: string) => ({ ANTHROPIC_BASE_URL: url }),
  },
  openai: {
    model: "openai:gpt-6.1",
    open: (treat?: Treat): Promise<BatchEndpoint<object>> =>
      startCompletionBatches({ answer: () => ({ calls: [{ name: "act", id: "call" }] }), ...treatment(treat) }),
    env: (url: string) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: "test" }),
  },
};

describe.each(["anthropic", "openai"] as const)("a run in batches on %s", (name) => {
  const { model, open, env } = providers[name];

  /** Kills a run and resumes it. Returns false when the run was over before it was killed. */
  async function killAndResume(): Promise<boolean> {
    const dir = makeFolder();
    const endpoint = await open();
    writeProject(dir, cases);
    let peakMiB = 0;
    const run = async (args: readonly string[], isOver: () => boolean) => {
      const began = performance.now();
      const { child, ended } = start([...args, "--json"], { cwd: dir, env: env(endpoint.url) });
      let isRunning = true;
      void ended.then(() => {
        isRunning = false;
      });
      for (; isRunning; await pause(100)) {
        peakMiB = Math.max(peakMiB, readPeakMiB(child.pid));
        if (isOver()) child.kill("SIGKILL");
      }
      return { ...(await ended), seconds: (performance.now() - began) / 1_000 };
    };
    const first = await run(["run", "--batch", "-m", model, "--seed", "7"], () => countLines(dir) >= cases / 2);
    if (first.code === 0) return false;
    const recorded = countLines(dir);
    const last = await run(["run", "--resume", "latest"], () => false);
    console.log(
      `${cases} cases in batches on ${name}: ${first.seconds.toFixed(0)} s until it was killed with ${recorded} recorded, ` +
        `${last.seconds.toFixed(0)} s after that; peak memory ${peakMiB.toFixed(0)} MiB; ${endpoint.batches.length} batches`,
    );
    expect(first.code, first.err).toBe(null);
    expect(last.code, last.err).toBe(0);
    expect(endpoint.refused).toEqual([]);
    expect(endpoint.paid).toEqual({ plain: 1, batched: cases - 1 });
    expect(new Set(trialsOf(summaryOf(last).dir).map(({ cell }) => cell.case)).size).toBe(cases);
    expect(countLines(dir)).toBe(cases);
    return true;
  }

  it("that is killed while it records, and resumed, has every case and pays for no request twice", async () => {
    // On a busy machine the run can be over before the kill.
    while (!(await killAndResume()));
  }, 3_600_000);

  /**
   * Runs with a kill at the n-th request, before the service does it or before its response arrives, and resumes. Returns
   * the operation, the record and what was paid for; no operation when there are fewer requests.
   */
  async function killAt(at: number, treatment: "drop" | "drop-late") {
    const dir = makeFolder();
    let requests = 0;
    let killed: string | undefined;
    let run: ReturnType<typeof start> | undefined;
    const endpoint = await open(async (operation) => {
      if (++requests !== at) return "normal";
      killed = operation;
      run?.child.kill("SIGKILL");
      await run?.ended;
      return treatment;
    });
    writeProject(dir, 20);
    const begin = (args: readonly string[]) => start([...args, "--json"], { cwd: dir, env: env(endpoint.url) });
    run = begin(["run", "--batch", "-m", model, "--seed", "7"]);
    const first = await run.ended;
    const ended = first.code === null ? await begin(["run", "--resume", "latest"]).ended : first;
    expect(ended.code, `${killed} ${at} ${treatment}: ${ended.err}`).toBe(0);
    expect(endpoint.refused).toEqual([]);
    const trials = trialsOf(summaryOf(ended).dir);
    const batched = trials.filter(({ turns }) => turns[0]?.batch !== undefined).length;
    const record = trials.map((trial) => {
      const { turns, costUsd: _, ...rest } = timeless(trial) as { turns: { calls: unknown }[]; costUsd: number };
      return { ...rest, calls: turns.map(({ calls }) => calls) };
    });
    return { killed, record, batched, paid: endpoint.paid };
  }

  it.each(["drop", "drop-late"] as const)(
    "that is killed at any request (%s), and resumed, has the same record and pays for no batched request twice",
    async (treatment) => {
      const whole = await killAt(0, treatment);
      const operations = new Set<string>();
      for (let at = 1; ; at++) {
        const { killed, record, batched, paid } = await killAt(at, treatment);
        if (killed === undefined) break;
        operations.add(killed);
        expect(record, `${killed} ${at}`).toEqual(whole.record);
        expect(paid.batched, `${killed} ${at}`).toBe(batched);
        // The first request is sent alone, and may not be on the record when the run is killed.
        expect(paid.plain - (record.length - batched), `${killed} ${at}`).toBeOneOf([0, 1]);
      }
      expect([...operations]).toEqual(expect.arrayContaining(["plain", "create", "poll", "results"]));
    },
    600_000,
  );
});

const writeProject = (dir: string, size: number) =>
  writeActSuite(dir, size, { trials: 1, maxTurns: 1 }, "evals/suite.json");

/** The lines of the only record. */
function countLines(dir: string): number {
  const out = join(dir, "reports");
  const [id = ""] = existsSync(out) ? readdirSync(out) : [];
  const file = join(out, id, "trials.jsonl");
  return existsSync(file) ? readFileSync(file, "latin1").split("\n").length - 1 : 0;
}
