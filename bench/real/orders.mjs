// The orders in which lists were shown, by the product's own code. Needs a build.
import { readTools, servers, today } from "./lists.mjs";

const { OrderLine, orderTools } = await import(
  new URL("../../build/evals/asking/trials/plan.js", import.meta.url).href
);
const lineSeed = 20261127;
const lines = new Map();

function provideLine(key, lists) {
  if (!lines.has(key)) lines.set(key, new OrderLine(lineSeed, key.split(" ")[0], lists.map(readTools)));
  return lines.get(key);
}

/**
 * The tools of a list in the recorded order of this number, from 0. Tools that lists of one server share have the same order
 * in all of them. The first answers to today's lists have an order of these lists alone, which has the number -1.
 */
export function orderedTools(list, order) {
  const [server] = list.split("@");
  const line =
    order < 0
      ? provideLine(`${server} alone`, [today(server)])
      : provideLine(
          server,
          servers[server].map(({ version }) => `${server}@${version}`),
        );
  return orderTools(readTools(list), line.seedAt(Math.max(0, order)));
}
