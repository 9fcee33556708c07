import { expect, it } from "vitest";
import type { RunJobs } from "../../../src/evals/experiments/queue/jobs.ts";
import { WorkerMonitor } from "../../../src/evals/experiments/queue/workers.ts";

it("a run whose plan a worker refused is given up when two looks in a row find no worker, because workers can be slower to reconnect", async () => {
  const counts = [0, 1, 0, 0];
  const jobs = { countWorkers: async () => counts.shift() } as unknown as RunJobs;
  const monitor = new WorkerMonitor(jobs, "redis://queue", { err: () => {} });
  monitor.addRefusal("old", "evals/suite.json differs");
  const found = [];
  while (counts.length > 0) found.push(await monitor.findObstacle("anthropic"));
  const obstacle = "no worker runs this plan: old: evals/suite.json differs";
  expect(found).toEqual([undefined, undefined, undefined, obstacle]);
});
