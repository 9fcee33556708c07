import { SpendingLimits } from "../../asking/trials/limits.ts";
import { schedule } from "../../asking/trials/schedule.ts";
import { redactValue } from "../../base/secrets/secrets.ts";
import { printableLines } from "../../base/secrets/visible.ts";
import { unfence } from "../../base/text/jsonParts.ts";
import { mentionsName } from "../../base/text/text.ts";
import { isLocal } from "../../base/types/endpoint.ts";
import { usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import type { Json, JsonObject } from "../../base/types/json.ts";
import { type AskedModel, noUsage } from "../../base/types/model.ts";
import type { Tool } from "../../base/types/tool.ts";
import { openWriter, type RequestOptions } from "../../experiments/workspace/models.ts";
import { count, money } from "../../reports/format.ts";
import type { Draft, DraftCase } from "./draft.ts";

/** `writer`: the model that writes the queries. `yes`: spend without asking. */
export type WriterOptions = Omit<RequestOptions, "out"> & { writer: string; concurrency: number; yes: boolean };

/** Typical tokens of a request for one query, and of its answer. */
const typicalUsage = { ...noUsage, inputTokens: 250, outputTokens: 60 };
const attempts = [1, 2];

/**
 * Has a model rewrite the queries of a draft as users would say them: a request for each case that expects a tool, and
 * another if its answer cannot be used. What it cannot write stays as drafted, and is counted. Undefined if the user does not
 * agree to the cost.
 */
export async function writeQueries(
  draft: Draft,
  tools: readonly Tool[],
  options: WriterOptions,
  io: Io,
): Promise<Draft | undefined> {
  const model = await openWriter(options.writer, { ...options, out: "reports" }, io);
  const wanted = draft.cases.filter(({ tool }) => tool !== undefined);
  if (!(await agreeToCost(wanted.length, model, options, io))) return undefined;
  const guarded = new SpendingLimits({ budgetUsd: options.budget }).guard(model);
  const written = new Map<string, DraftCase>();
  let why: string | undefined;
  await schedule(wanted, options.concurrency, io.signal, async (one) => {
    const result = await writeQuery(guarded, one, tools, io);
    if (typeof result === "string") why ??= result;
    else written.set(one.id, result);
  });
  return {
    ...draft,
    cases: draft.cases.map((one) => written.get(one.id) ?? one),
    writer: { model: model.id, written: written.size, ...(why !== undefined && { why }) },
  };
}

/** Whether the requests may be sent: with --yes, --budget or the user's consent, or because they cost nothing. */
async function agreeToCost(queries: number, model: AskedModel, { yes, budget }: WriterOptions, io: Io) {
  const each = model.cost(typicalUsage);
  const { baseUrl } = model.settings;
  const isFree = each === 0 || (typeof baseUrl === "string" && isLocal(new URL(baseUrl).hostname));
  const price = isFree ? "free" : each === "unknown" ? "at an unknown price" : `about ${money(each * queries)}`;
  io.err(printableLines(`${count(queries, "query")} to write with ${model.id}: ${price}. No tool is executed.`));
  if (isFree || yes || budget !== undefined) return true;
  if (!io.prompts) throw usageError("This calls a paid model.", "Add --yes, or set a maximum cost with --budget.");
  const choices = ["Yes", "No"].map((label) => ({ value: label, label }));
  return (await io.prompts.select("Continue?", choices)) === "Yes";
}

/** The case with a query by the model; or why it has none. */
async function writeQuery(
  model: AskedModel,
  one: DraftCase,
  tools: readonly Tool[],
  io: Io,
): Promise<DraftCase | string> {
  let failed = "";
  for (const trial of attempts) {
    const content = redactValue(describeTask(one, tools, failed), io);
    const cell = { suite: "init", case: one.id, arm: "head", model: model.id, trial };
    const messages = [{ role: "user" as const, content }];
    const reply = await model.ask({ cell, turn: 1, messages, tools: [], toolset: "" }, io.signal);
    if (reply.kind === "broken") return reply.message;
    const input = readQuery(reply.turn.text);
    const checked = redactValue(input, io) === input ? checkQuery(input, one, tools) : "it repeats a secret";
    if (typeof checked !== "string") return checked;
    failed = checked;
  }
  return failed;
}

/** The request for one query. It is short and plain, because small models follow no long instructions. */
function describeTask({ input, args = {}, avoid }: DraftCase, tools: readonly Tool[], failed: string): string {
  const near = tools.find(({ name }) => name === avoid?.tool)?.description?.slice(0, 200);
  const values = listValues(Object.values(args));
  return [
    "Write one message that a person would type to an assistant to get this done:",
    input,
    ...(values.length > 0 ? [`The message must contain: ${values.join(", ")}`] : []),
    ...(near === undefined ? [] : [`It may sound a little like a request for this, but must not ask for it: ${near}`]),
    "Use everyday words. Do not name a tool or a function. Answer with the message and nothing else.",
    ...(failed === "" ? [] : [`Your last message could not be used: ${failed}.`]),
  ].join("\n");
}

/** The texts and numbers in values. */
function listValues(values: readonly Json[]): string[] {
  return values.flatMap((value) => {
    if (Array.isArray(value)) return listValues(value);
    return typeof value === "string" || typeof value === "number" ? [String(value)] : [];
  });
}

/** Introductions and labels before a message: `Sure, here it is:`, `2.`, `**Message:**`. */
const introductions = [
  /^(?:sure|here|okay|certainly)\b[^\n]*:\s*\n/i,
  /^(?:\d+[.)]|[-*])\s+/,
  /^\**\w{4,10}\**:\**\s+/,
];

/** The message in a reply of a model: without code fences, JSON around it, introduction, label and quotes. */
export function readQuery(reply: string): string {
  const unfenced = unfence(reply);
  const text = introductions.reduce((rest, one) => rest.replace(one, "").trim(), findText(unfenced) ?? unfenced);
  const [paragraph = ""] = text.split(/\n\s*\n/);
  const line = paragraph.replace(/\s+/g, " ").trim();
  return /^["'“`].*["'”`]$/.test(line) ? line.slice(1, -1).trim() : line;
}

/** The longest text in JSON; undefined for other text. */
function findText(text: string): string | undefined {
  try {
    const texts: string[] = [];
    JSON.parse(text, (_, value: unknown) => (typeof value === "string" ? texts.push(value) : value));
    return texts.sort((a, b) => b.length - a.length)[0];
  } catch {
    return undefined;
  }
}

/** The case with a written query, and the arguments as it states them; or why the query cannot be used. */
export function checkQuery(input: string, one: DraftCase, tools: readonly Tool[]): DraftCase | string {
  const text = input.toLowerCase();
  if (input === "" || input.length > 2000) return input === "" ? "it is empty" : "it is too long";
  const named = tools.find(({ name }) => mentionsName(text, name));
  if (named) return `it names the tool ${named.name}`;
  const missing = listValues(Object.values(one.args ?? {})).find((value) => !text.includes(value.toLowerCase()));
  if (missing !== undefined) return `it does not say ${missing}`;
  const args = Object.entries(one.args ?? {}).map(([name, value]): [string, Json] => {
    return [name, typeof value === "string" && !input.includes(value) ? { $ignoreCase: value } : value];
  });
  return { ...one, input, ...(one.args && { args: Object.fromEntries(args) as JsonObject }), unfilled: [] };
}
