import { requestCeiling } from "../../../asking/trials/limits.ts";
import { printableLines } from "../../../base/secrets/visible.ts";
import { usageError } from "../../../base/types/errors.ts";
import type { Io } from "../../../base/types/io.ts";
import type { Json, JsonObject } from "../../../base/types/json.ts";
import { type AskedModel, type Model, noUsage } from "../../../base/types/model.ts";
import type { Tool } from "../../../base/types/tool.ts";
import { addCost, type Cost } from "../../../base/types/trial.ts";
import { money } from "../../../reports/format.ts";
import { checkQuery, readQueries, type Wanted, type WritingTask, type WrittenQuery } from "./queries.ts";

// A model that writes queries for tools, for `evals try` and `evals init --model`.

/** Returns the model as a writer. Throws a usage error for a host, which cannot answer single requests. */
export function requireWriter(model: Model): AskedModel {
  if ("ask" in model) return model;
  throw usageError(
    `${model.id} cannot write queries: it is a host, which cannot answer single requests.`,
    "Name a language model, for example anthropic:claude-haiku-5-5.",
  );
}

/** Typical output tokens of one query. */
const queryTokens = 60;

/** The typical cost of writing the queries of these tasks. */
export function priceWriting(writer: AskedModel, tasks: readonly WritingTask[]): Cost {
  const costs = tasks.map(({ messages, wanted }): Cost => {
    // The ceiling takes two bytes per token; four are typical.
    const { inputTokens } = requestCeiling({ messages, tools: [] }, writer);
    return writer.cost({ ...noUsage, inputTokens: inputTokens / 2, outputTokens: wanted.length * queryTokens });
  });
  return costs.reduce(addCost, 0);
}

/** `about $0.02` */
export function describeCost(cost: Cost): string {
  return cost === "unknown" ? "at an unknown price" : `about ${money(cost)}`;
}

/** Whether the command may spend money: with --yes, --budget or the user's consent. True if it spends nothing. */
export async function confirmSpending(
  plan: string,
  writer: AskedModel | undefined,
  options: { yes: boolean; budget?: number | undefined },
  io: Io,
): Promise<boolean> {
  if (!writer) return true;
  io.err(printableLines(`${plan}, on ${writer.id}. No tool is executed.`));
  if (options.yes || options.budget !== undefined) return true;
  if (!io.prompts)
    throw usageError("This command calls a paid model.", "Add --yes, or set a maximum cost with --budget.");
  const choices = [
    { value: "yes", label: "Yes" },
    { value: "no", label: "No" },
  ];
  return (await io.prompts.select("Continue?", choices)) === "yes";
}

export type Written = { queries: WrittenQuery[]; dropped: { input: string; why: string }[]; costUsd: Cost };

/** Has the model write all queries, with limited concurrency. Drops unusable queries, with the reason. */
export async function writeQueries(
  writer: AskedModel,
  tasks: readonly WritingTask[],
  tools: readonly Tool[],
  concurrency: number,
  io: Io,
): Promise<Written> {
  const names = tools.map(({ name }) => name);
  const results: Written[] = [];
  const waiting = [...tasks.entries()];
  const work = async () => {
    for (let next = waiting.shift(); next && !io.signal.aborted; next = waiting.shift())
      results[next[0]] = await writeTask(writer, next[1], names, io.signal);
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return {
    queries: results.flatMap((one) => one.queries),
    dropped: results.flatMap((one) => one.dropped),
    costUsd: results.reduce((sum, one) => addCost(sum, one.costUsd), 0 as Cost),
  };
}

async function writeTask(
  writer: AskedModel,
  task: WritingTask,
  names: readonly string[],
  signal: AbortSignal,
): Promise<Written> {
  const { messages, answerSchema, wanted } = task;
  const cell = { suite: "try", case: wanted[0]?.tool?.name ?? "no tool", arm: "head", model: writer.id, trial: 1 };
  const reply = await writer.ask({ cell, turn: 1, messages, tools: [], toolset: "", answerSchema }, signal);
  const lost = reply.lost ? writer.cost(reply.lost) : 0;
  const dropAll = (why: string, costUsd: Cost): Written => ({
    queries: [],
    dropped: wanted.map((one) => ({ input: `(for ${one.tool?.name ?? "no tool"})`, why })),
    costUsd,
  });
  if (reply.kind === "broken") return dropAll(`${writer.id}: ${reply.message}`, lost);
  const costUsd = addCost(writer.cost(reply.turn.usage), lost);
  const texts = readQueries(reply.turn.text, task);
  if ("why" in texts) return dropAll(texts.why, costUsd);
  const checked = texts.map((input, at) => ({ input, result: checkQuery(input, wanted[at] as Wanted, names) }));
  return {
    queries: checked.flatMap(({ result }) => ("dropped" in result ? [] : [result])),
    dropped: checked.flatMap(({ input, result }) => ("dropped" in result ? [{ input, why: result.dropped }] : [])),
    costUsd,
  };
}

export function nothingWritten(dropped: Written["dropped"]) {
  const [first] = dropped;
  return usageError(
    first ? `None of the ${dropped.length} queries could be used: ${first.why}.` : "No query was written.",
    "Check the key and the model, or name another writer with --writer.",
  );
}

/** Gives each query a unique case id. */
export function nameCases(queries: readonly WrittenQuery[]): Map<string, WrittenQuery> {
  const byId = new Map<string, WrittenQuery>();
  for (const query of queries) {
    const { wanted } = query;
    const base = wanted.tool
      ? wanted.near
        ? `${wanted.tool.name}-not-${wanted.near.tool}`
        : wanted.tool.name
      : "no-tool";
    let number = 1;
    while (byId.has(`${base}-${number}`)) number++;
    byId.set(`${base}-${number}`, query);
  }
  return byId;
}

/** The expectation of a query: its tool, with the arguments that the query states, ignoring case. */
export function buildExpectation(wanted: Wanted, args: JsonObject): JsonObject {
  if (!wanted.tool) return { tool: "none" };
  const matchers = Object.entries(args).map(([key, value]): [string, Json] => {
    return [key, typeof value === "string" ? { $ignoreCase: value } : value];
  });
  return {
    tool: wanted.tool.name,
    ...(wanted.near && { avoid: wanted.near.tool }),
    ...(matchers.length > 0 && { args: Object.fromEntries(matchers) }),
  };
}
