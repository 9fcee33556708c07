import * as z from "zod";
import type { Cost, Usage } from "./trial.ts";

const dollars = z.number().min(0);

const priceSchema = z.strictObject({
  input: dollars.describe("US dollars per million input tokens"),
  output: dollars.describe("US dollars per million output tokens"),
  cacheRead: dollars.optional().describe("per million tokens read from the prompt cache; default 0.1 x input"),
  cacheWrite: dollars
    .optional()
    .describe("per million tokens written to the cache; default 1.25 x input (kept 5 minutes)"),
  above: z
    .strictObject({ promptTokens: z.number().int().min(1), input: dollars, output: dollars })
    .optional()
    .describe("prices of a request whose prompt, including cached tokens, is longer than this"),
});
type Price = z.infer<typeof priceSchema>;

/** Prices given by the user: model name -> price. They take precedence over the built-in list. */
export const pricesSchema = z.record(z.string().min(1), priceSchema);
export type Prices = z.infer<typeof pricesSchema>;

/** List prices of the Anthropic API, November 2026. */
const listPrices: Prices = {
  "claude-fable-5-1": { input: 10, output: 50 },
  "claude-opus-5-5": { input: 4, output: 20 },
  "claude-sonnet-5-5": { input: 2, output: 10 },
  "claude-haiku-5-5": { input: 0.1, output: 0.5, above: { promptTokens: 100_000, input: 0.5, output: 2.5 } },
};

const datedSuffix = /^[-@](latest|\d{8}|\d{4}-\d{2}-\d{2})$/;

/** Finds the price of a model by its name, with or without a date; never that of a model with a similar name. */
function findPrice(prices: Prices, model: string): Price | undefined {
  const name = Object.keys(prices).find(
    (key) => model === key || (model.startsWith(key) && datedSuffix.test(model.slice(key.length))),
  );
  return name === undefined ? undefined : prices[name];
}

/**
 * The cost of one request in US dollars at list price, or "unknown" when the model has no known price. Several requests
 * must be priced one by one: a longer prompt may have another price.
 */
export function priceUsage(usage: Usage, model: string, custom: Prices = {}): Cost {
  const price = findPrice(custom, model) ?? findPrice(listPrices, model);
  if (!price) return "unknown";
  const prompt = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  const tier = price.above && prompt > price.above.promptTokens ? price.above : price;
  // Cache prices scale with the input price of the tier.
  const scale = price.input > 0 ? tier.input / price.input : 1;
  const read = (price.cacheRead ?? 0.1 * price.input) * scale;
  const write = (price.cacheWrite ?? 1.25 * price.input) * scale;
  const millionths =
    usage.inputTokens * tier.input +
    usage.outputTokens * tier.output +
    usage.cacheReadTokens * read +
    usage.cacheWriteTokens * write;
  return millionths / 1_000_000;
}
