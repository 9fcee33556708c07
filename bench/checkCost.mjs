// What a check of ten and of fifty cases costs on three real tool lists, with tool orders that cases share and with orders
// of their own, at the list prices of the models. No model is asked: the requests are those of a simulated check.
// Usage: npm run build && node bench/checkCost.mjs
import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import Table from "cli-table3";
import { priceUsage } from "../build/evals/base/types/endpoint.js";
import { forecastCalls } from "../build/evals/experiments/run/forecast.js";

const read = (file) => readFileSync(new URL(file, import.meta.url), "utf8");

/** The tools of the official filesystem server, as it lists them. */
async function listFilesystem() {
  const client = new Client({ name: "bench", version: "1.0.0" });
  const server = new URL("../node_modules/@modelcontextprotocol/server-filesystem/dist/index.js", import.meta.url);
  const args = [server.pathname, process.cwd()];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: "ignore" }));
  const { tools } = await client.listTools();
  await client.close();
  return tools;
}

const lists = {
  filesystem: await listFilesystem(),
  GitHub: JSON.parse(read("../test/inspection/lint/labelled/lists/github.json")).tools,
  "300 tools (LiveMCPBench)": read("data/livemcp/tools.jsonl").trim().split("\n").slice(0, 300).map(JSON.parse),
};
const models = ["claude-haiku-5-5", "claude-sonnet-5-5", "claude-opus-5-5"];
/** Passes of 20 in the baseline: a suite of which two in ten are flaky and one never passes. */
const passes = [20, 20, 19, 20, 18, 18, 10, 10, 0, 20];
const querySize = { inputTokens: 30, outputTokens: 100 };

function countTokens(tools) {
  const shown = tools.map(({ name, description, inputSchema }) => ({ name, description, input_schema: inputSchema }));
  return Math.round(JSON.stringify(shown).length / 4);
}

/** What a check costs if nothing changed, by model. */
function priceCheck(tokens, cases, pairsPerOrder) {
  const bank = new Map(Array.from({ length: cases }, (_, i) => [String(i), { passed: passes[i % 10], trials: 20 }]));
  const { typical, cached } = forecastCalls({ cases: [...bank.keys()], seed: 1, pairsPerOrder }, bank);
  const price = (model, isFound) => {
    const part = isFound
      ? { cacheReadTokens: tokens, cacheWriteTokens: 0 }
      : { cacheReadTokens: 0, cacheWriteTokens: tokens };
    return priceUsage({ ...querySize, ...part }, model);
  };
  const usd = models.map((model) => typical * (cached * price(model, true) + (1 - cached) * price(model, false)));
  return { typical, cached, usd };
}

for (const cases of [10, 50]) {
  const head = [`${cases} cases`, "tokens", "requests", "in a cache", ...models];
  const table = new Table({ head, style: { head: [], border: [] } });
  for (const [name, tools] of Object.entries(lists)) {
    const tokens = countTokens(tools);
    for (const [orders, pairsPerOrder] of [
      ["own orders", 1],
      ["shared orders", undefined],
    ]) {
      const { typical, cached, usd } = priceCheck(tokens, cases, pairsPerOrder);
      const share = `${Math.round(100 * cached)} %`;
      table.push([`${name}: ${orders}`, tokens, typical, share, ...usd.map((one) => `$${one.toFixed(2)}`)]);
    }
  }
  console.log(table.toString());
}
