import { hash } from "node:crypto";
import { SpendingLimits } from "../../asking/trials/limits.ts";
import { schedule } from "../../base/collections.ts";
import { holdsSecret, redactValue } from "../../base/secrets/secrets.ts";
import { printableLines, visible } from "../../base/text/display.ts";
import { splitName } from "../../base/text/nearest.ts";
import { mentionsName, squeeze } from "../../base/text/text.ts";
import { isLocal } from "../../base/types/endpoint.ts";
import { usageError } from "../../base/types/errors.ts";
import { askConsent, type Io } from "../../base/types/io.ts";
import type { Json, JsonObject } from "../../base/types/json.ts";
import { type AskedModel, noUsage } from "../../base/types/model.ts";
import type { Tool } from "../../base/types/tool.ts";
import { multiplyCost } from "../../base/types/trial.ts";
import { openWriter, type RequestOptions } from "../../experiments/workspace/models.ts";
import { aboutCost, count } from "../../reports/format.ts";
import { findVerb } from "../lint/language.ts";
import { type DraftCase, type KnownQuery, leaveOutAlike, makeRequest } from "./draft.ts";

/** `writer`: the model that writes the queries. `yes`: spend without asking. */
export type WriterOptions = RequestOptions & { writer: string; concurrency: number; yes: boolean };

/** Typical tokens of a request for one query, and of its answer. */
const typicalUsage = { ...noUsage, inputTokens: 250, outputTokens: 60 };
const attempts = [1, 2, 3];

/**
 * Has a model rewrite the queries of drafted cases as users would say them: a request for each, and another if its
 * answer cannot be used. Left out, and counted, are those that it cannot write, and those that say the same as another
 * or as one of `known`. Undefined if the user does not agree to the cost.
 */
export async function writeQueries(
  wanted: readonly DraftCase[],
  tools: readonly Tool[],
  known: readonly KnownQuery[],
  options: WriterOptions,
  io: Io,
): Promise<DraftCase[] | undefined> {
  const model = await openWriter(options.writer, options, io);
  if (!(await agreeToCost(wanted.length, model, options, io))) return undefined;
  const guarded = new SpendingLimits({ budgetUsd: options.budget }).guard(model);
  const written = new Map<string, DraftCase>();
  const toolless = assignToolless(wanted, tools);
  let why = "";
  await schedule(wanted, options.concurrency, io.signal, async (one) => {
    const result = await writeQuery(guarded, one, { tools, toolless: toolless.get(one.id) }, io);
    if (typeof result === "string") why ||= ` (${redactValue(visible(result), io)})`;
    else written.set(one.id, { ...result, by: `${model.id}, prompt ${promptHash.slice(0, 12)}` });
  });
  const inOrder = wanted.flatMap(({ id }) => written.get(id) ?? []);
  const kept = leaveOutAlike(inOrder, known);
  const notes = [
    `${model.id} wrote ${kept.length} of ${count(wanted.length, "query")}.`,
    written.size < wanted.length ? `${wanted.length - written.size} could not be used${why}.` : "",
    kept.length < written.size ? `${written.size - kept.length} said the same as another.` : "",
  ];
  io.err(printableLines(notes.filter(Boolean).join(" ")));
  return kept;
}

/** Whether the requests may be sent: with --yes, --budget or the user's consent, or because they cost nothing. */
async function agreeToCost(queries: number, model: AskedModel, { yes, budget }: WriterOptions, io: Io) {
  const each = model.cost(typicalUsage);
  const { baseUrl } = model.settings;
  const isFree = each === 0 || (typeof baseUrl === "string" && isLocal(new URL(baseUrl).hostname));
  const price = isFree ? "free" : aboutCost(multiplyCost(queries, each), model.id);
  const work = `${count(queries, "query")} to write with ${model.id}, a request each`;
  io.err(printableLines(`${work}: ${price}. No tool is executed.`));
  if (isFree || yes || budget !== undefined) return true;
  if (!io.prompts) throw usageError("This calls a paid model.", "Add --yes, or set a maximum cost with --budget.");
  return await askConsent("Continue?", io);
}

/** A message that needs no tool: how to ask for one, what one is like, and what is wrong with any other. */
type Toolless = { task: string; form: RegExp; fault: string };
/** Whether it can be asked for beside such tools. */
type ToollessKind = Omit<Toolless, "task"> & { task(topic: string): string; unless?: RegExp };

const toollessKinds: readonly ToollessKind[] = [
  {
    task: (topic) =>
      `Write one short question about ${topic} that anybody can answer from general knowledge, without looking anything up. It begins with "What is", "Why" or "How does".`,
    form: /^(?!.*\b(?:my|our|your|this|these)\b)(?:what(?:'s| is| are| does)|why|how (?:do|does|is|are)|who|when)\b.*\?$/i,
    fault: "it is no question of general knowledge",
  },
  {
    task: (topic) =>
      `Write one short message in which a person thanks the assistant: ${topic} is settled already. It asks for nothing.`,
    form: /^(?!.*(?:\?|\b(?:please|(?:can|could|will|would) you)\b)).*\b(?:thank|thanks|great|perfect)\b/i,
    fault: "it does not thank, or it asks for something",
  },
  {
    task: (topic) =>
      `Write one short message in which a person asks the assistant for a joke or a poem about ${topic}.`,
    form: /\b(?:joke|poem|haiku|limerick)\b/i,
    fault: "it asks for no joke or poem",
    unless: /\b(?:jokes?|poems?|poetry|language model|LLM)\b/i,
  },
];

/** By id what cases that need no tool are asked for: one kind after the other, each about another tool's subject. */
function assignToolless(wanted: readonly DraftCase[], tools: readonly Tool[]): Map<string, Toolless> {
  const kinds = toollessKinds.filter(({ unless }) => !tools.some(({ description = "" }) => unless?.test(description)));
  const open = wanted.filter(({ tool }) => tool === undefined);
  const assigned = open.flatMap(({ id, skill }, at): [string, Toolless][] => {
    const kind = kinds[at % kinds.length];
    // Far from each other in the list, since its neighbors are often about the same.
    const about = skill ?? tools[Math.floor((at * tools.length) / open.length)]?.name ?? "";
    const words = splitName(about);
    const topic = words.filter((word) => word !== findVerb(words)).join(" ") || words.join(" ");
    return kind ? [[id, { ...kind, task: kind.task(topic) }]] : [];
  });
  return new Map(assigned);
}

/** What a query is written for: the tools, and if it needs none, what to ask for instead. */
type Surroundings = { tools: readonly Tool[]; toolless?: Toolless | undefined };

async function writeQuery(model: AskedModel, one: DraftCase, about: Surroundings, io: Io): Promise<DraftCase | string> {
  let failed = "";
  for (const trial of attempts) {
    const content = redactValue(describeTask(one, about, failed), io);
    const cell = { suite: "queries", case: one.id, arm: "head", model: model.id, trial };
    const messages = [{ role: "user" as const, content }];
    const reply = await model.ask({ cell, turn: 1, messages, tools: [], toolset: "" }, io.signal);
    if (reply.kind === "broken") return reply.message;
    const input = readQuery(reply.turn.text);
    const checked = holdsSecret(input, io) ? "it repeats a secret" : checkQuery(input, one, about);
    if (typeof checked !== "string") return checked;
    failed = checked;
  }
  return failed;
}

/** Whether a value is code, which a person says in other words. */
const isCode = (value: string) => /^(?:select|insert|update|delete|create)\s|^[[{(].*[\]})]$|=>/i.test(value);

const maxDescription = 400;

/** The request for one query. It is short and plain, because small models follow no long instructions. */
function describeTask(one: DraftCase, { tools, toolless }: Surroundings, failed: string): string {
  const { input, skill, tool, args = {}, avoid } = one;
  const find = (of: string | undefined) => tools.find(({ name }) => name === of);
  const [own, near] = [find(tool), find(avoid?.tool)?.description?.slice(0, 200)];
  const said = listValues(Object.values(args));
  const values = said.filter((value) => !isCode(value));
  const code = said.filter(isCode);
  // The draft of a near miss has only the words of the name.
  const wanted = own && avoid && skill === undefined ? makeRequest(own) : input;
  return [
    toolless?.task ?? `Write one message that a person would type to an assistant to get this done:\n${wanted}`,
    ...(skill === undefined || !own?.description
      ? []
      : [`This is what the assistant can do: ${own.description.slice(0, maxDescription)}`]),
    ...(values.length > 0 ? [`The message must contain: ${values.join(", ")}`] : []),
    ...(code.length > 0 ? [`Say in plain words, without it, what this does: ${code.join(", ")}`] : []),
    ...(near === undefined ? [] : [`It may sound a little like a request for this, but must not ask for it: ${near}`]),
    "Use everyday words, as the person who asks. Do not name a tool or a function. Answer with the message and nothing else.",
    ...(failed === "" ? [] : [`Your last message could not be used: ${failed}.`]),
  ].join("\n");
}

/** Identifies the requests, whatever they are about. */
const promptHash = hash(
  "sha256",
  [undefined, ...toollessKinds.map((kind) => ({ ...kind, task: kind.task("") }))]
    .map((toolless) => describeTask({ id: "", input: "", unfilled: [] }, { tools: [], toolless }, ""))
    .join("\n"),
);

function listValues(values: readonly Json[]): string[] {
  return values.flatMap((value) => {
    if (Array.isArray(value)) return listValues(value);
    return typeof value === "string" || typeof value === "number" ? [String(value)] : [];
  });
}

/** Introductions and labels before a message: `Sure, here it is:`, `Sure!`, `2.`, `**Message:**`. */
const introductions = [
  /^(?:sure|here|okay|certainly)\b[^\n]*:\s*\n/i,
  /^(?:sure|okay|certainly|of course)[,.!]+\s+/i,
  /^just type:?\s+/i,
  /^(?:\d+[.)]|[-*])\s+/,
  /^\**\w{4,10}\**:\**\s+/,
];

/** The message in a reply of a model: without code fences, JSON around it, introduction, label and quotes. */
export function readQuery(reply: string): string {
  const fenced = /```(?:text|plaintext|json)?\s*\n([\s\S]*?)```/.exec(reply)?.[1]?.trim();
  const unfenced = fenced || reply.replace(/^\s*```\w*\s*|\s*```\s*$/g, "").trim();
  const text = introductions.reduce((rest, one) => rest.replace(one, "").trim(), findText(unfenced) ?? unfenced);
  const [paragraph = ""] = text.split(/\n\s*\n/);
  const line = squeeze(paragraph);
  if (/^["'“`].*["'”`]$/.test(line)) return line.slice(1, -1).trim();
  return /^["“][^"”]*$/.test(line) ? line.slice(1) : line;
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

/** What small models write instead of a message of the person. */
const answers = [
  // The assistant speaks: "I'll create it", "Here are the files", "I can't do that", "Let me know …".
  /^(?:i(?:'m| am) )?sorry\b|^to (?:get|do|show|list|find)\b.*\buse\b/i,
  /^(?:here(?:'s| is| are)|i(?:'ll| will)|i can(?:'t|not)? (?:do|help)|how (?:can|may) i)\b/i,
  /\b(?:and i(?:'ll| will)|let me know|do you need)\b|what you need\?$/i,
  // It repeats the request, or explains the message.
  /\b(?:specific tool|tool or (?:a )?function|everyday words|type this|this (?:commit )?(?:message|command) (?:asks|captures|describes|will))\b/i,
  // JSON or code, a list, or what to type.
  /^[[{`]/,
  /\s2\. /,
  /^"?(?:just )?type:? "/i,
];

/** The case with a written query, and the arguments as it states them; or why the query cannot be used. */
export function checkQuery(input: string, one: DraftCase, { tools, toolless }: Surroundings): DraftCase | string {
  const text = input.toLowerCase();
  if (input === "" || input.length > 2000) return input === "" ? "it is empty" : "it is too long";
  if (answers.some((form) => form.test(input))) return "it is what the assistant would say, not the person";
  if (toolless && !toolless.form.test(input)) return toolless.fault;
  const named = tools.find(({ name }) => mentionsName(text, name));
  if (named) return `it names the tool ${named.name}`;
  const states = (value: string) => text.includes(value.toLowerCase());
  const missing = listValues(Object.values(one.args ?? {})).find((value) => !states(value) && !isCode(value));
  if (missing !== undefined) return `it does not say ${missing}`;
  const own = tools.find(({ name }) => name === one.tool);
  if (own && leaveOutAlike([{ input }], [{ input: own.description ?? "" }]).length === 0)
    return "it repeats the description of the tool";
  const { args: drafted = {}, ...rest } = one;
  const args = Object.entries(drafted)
    .filter(([, value]) => listValues([value]).every(states))
    .map(([name, value]): [string, Json] => {
      return [name, typeof value === "string" && !input.includes(value) ? { $ignoreCase: value } : value];
    });
  return { ...rest, input, ...(args.length > 0 && { args: Object.fromEntries(args) as JsonObject }), unfilled: [] };
}
