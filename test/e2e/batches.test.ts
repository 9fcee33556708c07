import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { makeFolder } from "../fakes/folder.ts";
import { writeActSuite } from "../fixtures/actSuite.ts";
import { type BatchEndpoint, startCompletionBatches, startMessageBatches } from "../fixtures/endpoints/batches.ts";
import { evals, start, timeless, trialsOf } from "./evals.ts";

type Endpoint = BatchEndpoint<object>;

const providers = {
  anthropic: {
    model: "anthropic:claude-haiku-5-5",
    open: (polls: number): Promise<Endpoint> =>
      startMessageBatches({ polls, answer: () => ({ calls: [{ name: "act", input: {} }] }) }),
    env: (url: string) => ({ ANTHROPIC_BASE_URL: url }),
  },
  openai: {
    model: "openai:gpt-6.1",
    open: (polls: number): Promise<Endpoint> =>
      startCompletionBatches({ polls, answer: () => ({ calls: [{ name: "act", arguments: "{}" }] }) }),
    env: (url: string) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: "test" }),
  },
};

const cases = 4;
const trials = 40;

/** A folder with a suite of 160 cells, on three tools. */
function createProject(): string {
  const dir = makeFolder();
  writeActSuite(dir, cases, { trials, maxTurns: 1 }, "evals/suite.json");
  const tools = ["act", "list", "move"].map((name) => ({ name, inputSchema: { type: "object" } }));
  writeFileSync(join(dir, "tools.json"), JSON.stringify(tools));
  return dir;
}

/** The first record. A process can be killed after it made the folder of one, and before the record. */
function findRecord(dir: string): string | undefined {
  const out = join(dir, "reports");
  const names = existsSync(out) ? readdirSync(out).sort() : [];
  return names.map((name) => join(out, name)).find((folder) => existsSync(join(folder, "run.json")));
}

const recordIn = (dir: string) => findRecord(dir) ?? join(dir, "reports");
const args = (model: string) => ["run", "--batch", "-m", model, "--seed", "7"];

/** The record without ids and times, and which part of it came in batches. */
function readRecord(dir: string) {
  const all = trialsOf(recordIn(dir));
  const batched = all.filter(({ turns }) => turns[0]?.batch !== undefined).length;
  const plain = all.map((trial) => {
    const { costUsd, ...rest } = timeless(trial) as {
      costUsd: number;
      turns: { batch?: string; requestId?: string; calls: { id: string }[] }[];
    };
    for (const turn of rest.turns) {
      delete turn.batch;
      delete turn.requestId;
      for (const call of turn.calls) call.id = "";
    }
    return rest;
  });
  return { plain, batched };
}

describe.each(["anthropic", "openai"] as const)("a run in batches on %s that is killed", (name) => {
  const { model, open, env } = providers[name];

  // A single kill at each of its requests: test/torture/batches.test.ts.
  it("again and again, at any time: has the record of a run that was not, and pays for no request twice", async () => {
    const whole = createProject();
    const undisturbed = await open(1);
    expect((await evals(args(model), { cwd: whole, env: env(undisturbed.url) })).code).toBe(0);

    const dir = createProject();
    const endpoint = await open(6);
    const world = { cwd: dir, env: env(endpoint.url) };
    let kills = 0;
    for (let wait = 500; wait < 2_500; wait += 250) {
      const { child, ended } = start(findRecord(dir) ? ["run", "--resume", "latest"] : args(model), world);
      await Promise.race([sleep(wait), ended]);
      if (child.exitCode !== null) break;
      child.kill("SIGKILL");
      await ended;
      kills++;
    }
    const last = await evals(findRecord(dir) ? ["run", "--resume", "latest"] : args(model), world);
    expect(last.code).toBe(0);
    const record = readRecord(dir);
    expect(record.plain).toEqual(readRecord(whole).plain);
    expect(endpoint.paid.batched).toBe(record.batched);
    // Only the one request that is sent alone can be lost with a process that is killed before it recorded the reply.
    expect(endpoint.paid.plain - (cases * trials - record.batched)).toBeLessThanOrEqual(kills);
  });
});
