import * as z from "zod";
import type { Usage } from "../types/trial.ts";

const dollars = z.number().min(0);

const priceSchema = z.strictObject({
  input: dollars.describe("US dollars for a million input tokens"),
  output: dollars.describe("US dollars for a million output tokens"),
  cacheRead: dollars.optional().describe("for a million tokens read from the prompt cache; default 0.1 x input"),
  cacheWrite: dollars.optional().describe("for a million tokens written to it; default 1.25 x input (kept 5 minutes)"),
  above: z
    .strictObject({ promptTokens: z.number().int().min(1), input: dollars, output: dollars })
    .optional()
    .describe("the prices of a request whose prompt, cached tokens included, is longer than this"),
});
type Price = z.infer<typeof priceSchema>;

/** Prices of one's own: model name -> price. They come before the built-in list. */
export const pricesSchema = z.record(z.string().min(1), priceSchema);
export type Prices = z.infer<typeof pricesSchema>;

/** List prices of the Anthropic interface, as read in November 2026. */
const listPrices: Prices = {
  "claude-fable-5-1": { input: 10, output: 50 },
  "claude-opus-5-5": { input: 4, output: 20 },
  "claude-sonnet-5-5": { input: 2, output: 10 },
  "claude-haiku-5-5": { input: 0.1, output: 0.5, above: { promptTokens: 100_000, input: 0.5, output: 2.5 } },
};

const datedSuffix = /^[-@](latest|\d{8}|\d{4}-\d{2}-\d{2})$/;

/** The price under the model's name, or under its name without a date: never that of a model with a similar name. */
function priceIn(prices: Prices, model: string): Price | undefined {
  const name = Object.keys(prices).find((key) => model === key || datedSuffix.test(tail(model, key)));
  return name === undefined ? undefined : prices[name];
}

function tail(model: string, key: string): string {
  return model.startsWith(key) ? model.slice(key.length) : "";
}

/**
 * What one request of `usage` costs in US dollars at list price, or "unknown" when no price of the model is known.
 * Usage of several requests must be priced one by one: a longer prompt may have another price.
 */
export function costOf(usage: Usage, model: string, own: Prices = {}): number | "unknown" {
  const price = priceIn(own, model) ?? priceIn(listPrices, model);
  if (!price) return "unknown";
  const prompt = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  const tier = price.above && prompt > price.above.promptTokens ? price.above : price;
  // A tier's cache prices keep their proportion to its input price.
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
