// Plays repetitions on request. What a repetition draws depends on its row and its number, not on who plays it.
import { parentPort } from "node:worker_threads";
import { deriveSeed, seededRandom } from "./product.mjs";
import { rows } from "./rows.mjs";

parentPort.on("message", async ({ index, from, to }) => {
  const row = rows[index];
  const start = process.cpuUsage();
  const played = [];
  for (let r = from; r < to; r++) played.push(await row.once(seededRandom(deriveSeed(1, row.group, row.name, r)), r));
  const { user, system } = process.cpuUsage(start);
  parentPort.postMessage({ index, from, played, seconds: (user + system) / 1e6 });
});
