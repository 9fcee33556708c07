// The bare loop: the SDK with its default fetch, no scoring, no record. Arguments: base URL, requests, concurrency, and a
// JSON file with another load than that of load.mjs. Each request has a query of its own.
import { readFileSync } from "node:fs";
import Anthropic from "@anthropic-ai/sdk";
import { tools, writeQueries } from "./load.mjs";

const [baseURL, requests, concurrency] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const client = new Anthropic({ baseURL, apiKey: "bench", maxRetries: 2 });
const load = process.argv[5]
  ? JSON.parse(readFileSync(process.argv[5], "utf8"))
  : { tools, queries: writeQueries(requests), picks: "tool_3" };
const listed = load.tools.map(({ name, description, inputSchema }) => ({
  name,
  description,
  input_schema: inputSchema,
}));
let next = 0;
let picked = 0;

async function worker() {
  for (let index = next++; index < requests; index = next++) {
    const content = load.queries[index % load.queries.length];
    const message = await client.messages.create({
      model: "bench",
      max_tokens: 4096,
      ...(load.system && { system: load.system }),
      tools: listed,
      tool_choice: { type: "auto" },
      messages: [{ role: "user", content }],
    });
    if (message.content.some((block) => block.type === "tool_use" && block.name === load.picks)) picked++;
  }
}
await Promise.all(Array.from({ length: concurrency }, worker));
if (picked !== requests) throw new Error(`${picked} of ${requests} answered`);
