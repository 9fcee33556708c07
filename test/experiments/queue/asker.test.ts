import { expect, it } from "vitest";
import { watchWorkers } from "../../../src/evals/experiments/queue/asker.ts";

it("a run whose plan a worker refused is given up when two looks in a row find no worker, because workers can be slower to reconnect", () => {
  const workers = watchWorkers("redis://queue", { err: () => {} });
  workers.addRefusal("old", "evals/suite.json differs");
  const found = [0, 1, 0, 0].map((count) => workers.findObstacle("anthropic", count));
  const obstacle = "no worker runs this plan: old: evals/suite.json differs";
  expect(found).toEqual([undefined, undefined, undefined, obstacle]);
});
