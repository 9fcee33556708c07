// The recorded answers, in compressed files of one model and server each: settings, then an answer a line, as asked.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { brotliCompressSync, brotliDecompressSync, constants } from "node:zlib";
import { rightTools } from "./lists.mjs";

const folder = new URL("answers/", import.meta.url);

/** The lines of a recording. The last one of a recording that was killed may be cut off. */
export const parseLines = (text) =>
  text.split("\n").flatMap((line) => {
    try {
      return [JSON.parse(line)];
    } catch {
      return [];
    }
  });

/** Writes what was recorded in these files as the answers of a model. What broke is left out, and an answer that was
 * recorded twice counts once. */
export function packAnswers(model, files) {
  const lines = files.flatMap((file) => parseLines(readFileSync(file, "utf8")));
  const settings = lines.find((line) => line.settings);
  const seen = new Set();
  const answers = lines.filter(({ list, order, id, draw, free, broken }) => {
    const key = `${list} ${order} ${id} ${draw} ${free}`;
    return list && broken === undefined && !seen.has(key) && seen.add(key);
  });
  mkdirSync(folder, { recursive: true });
  const getServer = ({ list }) => list.slice(0, list.indexOf("@"));
  for (const server of new Set(answers.map(getServer))) {
    const own = [settings, ...answers.filter((one) => getServer(one) === server)].map((line) => JSON.stringify(line));
    const text = brotliCompressSync(own.join("\n"), { params: { [constants.BROTLI_PARAM_LGWIN]: 24 } });
    writeFileSync(new URL(`${model}-${server}.jsonl.br`, folder), text);
  }
}

/** All recorded answers: by model its settings and answers. */
export function readAnswers() {
  const models = new Map();
  for (const file of readdirSync(folder).sort()) {
    const model = /^(.+)-[a-z]+\.jsonl\.br$/.exec(file)?.[1];
    if (!model) continue;
    const [{ settings }, ...answers] = parseLines(String(brotliDecompressSync(readFileSync(new URL(file, folder)))));
    const known = models.get(model) ?? { model, settings, answers: [] };
    models.set(model, known);
    known.answers.push(...answers);
  }
  return [...models.values()];
}

/** Whether an answer calls a right tool and no other, or rightly none. */
export function isPass({ list, id, calls }) {
  const right = rightTools(list, id);
  return right.length === 0 ? calls.length === 0 : calls.length > 0 && calls.every(([tool]) => right.includes(tool));
}

/** Draws from `againFrom` on repeat the request and the seed of the draw below it, in another process. */
export const againFrom = 100;

/** The answers of one list, by case and order; repeats are left out. */
export class ListAnswers {
  constructor(answers, list, free = false) {
    this.list = list;
    this.byCase = new Map();
    for (const answer of answers) {
      if (answer.list !== list || answer.free !== free || answer.draw >= againFrom) continue;
      const orders = this.byCase.get(answer.id) ?? new Map();
      this.byCase.set(answer.id, orders);
      orders.set(answer.order, [...(orders.get(answer.order) ?? []), answer]);
    }
  }

  /** The orders in which every one of these cases was answered, in the other list too. */
  ordersWith(other, ids) {
    const all = [...(this.byCase.get(ids[0])?.keys() ?? [])];
    return all.filter((order) => ids.every((id) => [this, other].every(({ byCase }) => byCase.get(id)?.has(order))));
  }

  /** One recorded answer; `order` counts on for ever: after the last recorded order follows the first. */
  draw(id, order, orders, random) {
    const drawn = this.byCase.get(id).get(orders[order % orders.length]);
    return drawn[random.below(drawn.length)];
  }

  /** The share of passes of a case, the mean of these orders. */
  rate(id, orders = [...(this.byCase.get(id)?.keys() ?? [])]) {
    const rates = orders.map((order) =>
      mean(
        this.byCase
          .get(id)
          .get(order)
          .map((one) => Number(isPass(one))),
      ),
    );
    return mean(rates);
  }
}

export const mean = (values) => values.reduce((sum, one) => sum + one, 0) / values.length;
