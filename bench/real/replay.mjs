// node bench/real/replay.mjs MODEL [SEED]: serves the recorded answers of a model as an OpenAI-compatible endpoint on
// loopback, and prints its base URL. A request is recognized by the names and descriptions of its tools and by its query;
// its answer is drawn from those that were recorded for them. The order of the tools chooses one of the recorded orders:
// equal orders the same one. What was not recorded is refused with 404.
import { createHash, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { ListAnswers, readAnswers } from "./answers.mjs";
import { cases, hashTools, readTools } from "./lists.mjs";

const toNumber = (text) => createHash("sha256").update(text).digest().readUInt32BE();

/** Starts the endpoint. `seed`: decides which recorded answer the n-th equal request gets. */
export async function startReplay(model, seed = 1) {
  const { answers } = readAnswers().find((one) => one.model === model) ?? { answers: [] };
  const lists = new Map(
    [...new Set(answers.map(({ list }) => list))].map((list) => [
      hashTools(readTools(list)),
      new ListAnswers(answers, list),
    ]),
  );
  const asked = new Map();

  const answer = ({ messages, tools = [] }) => {
    const shown = tools.map((tool) => tool.function);
    const list = lists.get(hashTools(shown));
    const query = messages.findLast(({ role }) => role === "user")?.content;
    const known = list && cases[list.list.split("@")[0]];
    const id = known && Object.keys(known).find((one) => known[one].query === query);
    const orders = [...(list?.byCase.get(id)?.keys() ?? [])];
    if (orders.length === 0) return undefined;
    const order = toNumber(shown.map(({ name }) => name).join(" "));
    const cell = `${seed} ${list.list} ${id} ${order}`;
    asked.set(cell, (asked.get(cell) ?? 0) + 1);
    return list.draw(id, order, orders, { below: (n) => toNumber(`${cell} ${asked.get(cell)}`) % n });
  };

  const server = createServer(async (request, response) => {
    const parts = await request.toArray();
    const found = request.method === "POST" ? answer(JSON.parse(Buffer.concat(parts))) : undefined;
    const body = found
      ? writeCompletion(model, found)
      : { error: { message: "no answer was recorded for this request" } };
    response.writeHead(found ? 200 : 404, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { url: `http://127.0.0.1:${server.address().port}/v1`, close: () => server.close() };
}

function writeCompletion(model, { calls, text = "", tokens: [list, query, reply] }) {
  const toolCalls = calls.map(([name, args], at) => ({
    ...{ id: `call_${at}`, type: "function" },
    function: { name, arguments: typeof args === "string" ? args : JSON.stringify(args) },
  }));
  const isCall = toolCalls.length > 0;
  const message = { role: "assistant", content: isCall ? null : text, ...(isCall && { tool_calls: toolCalls }) };
  return {
    ...{ id: `chatcmpl-${randomUUID()}`, object: "chat.completion", created: 0, model },
    choices: [{ index: 0, message, finish_reason: isCall ? "tool_calls" : "stop" }],
    usage: { prompt_tokens: list + query, completion_tokens: reply, total_tokens: list + query + reply },
  };
}

if (import.meta.filename === process.argv[1]) {
  const { url } = await startReplay(process.argv[2], Number(process.argv[3] ?? 1));
  process.stdout.write(`${url}\n`);
}
