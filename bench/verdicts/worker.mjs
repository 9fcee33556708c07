// Runs scenarios on request. The draws of a repetition depend on its scenario and number, not on the worker.
import { parentPort } from "node:worker_threads";
import { deriveSeed, seededRandom } from "./product.mjs";
import { scenarios } from "./scenarios.mjs";

parentPort.on("message", ({ index, repetitions }) => {
  const scenario = scenarios[index];
  const played = scenario.slow ? Math.ceil(repetitions / 4) : repetitions;
  const kinds = {};
  let [hits, calls] = [0, 0];
  for (let r = 0; r < played; r++) {
    const outcome = scenario.once(seededRandom(deriveSeed(1, scenario.group, scenario.name, r)));
    hits += Number(outcome.hit);
    calls += outcome.calls;
    if (outcome.kind) kinds[outcome.kind] = (kinds[outcome.kind] ?? 0) + 1;
  }
  parentPort.postMessage({ index, repetitions: played, rate: hits / played, calls: calls / played, kinds });
});
