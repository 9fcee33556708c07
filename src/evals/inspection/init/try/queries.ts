import { createHash } from "node:crypto";
import * as z from "zod";
import { groupBy } from "../../../base/groupBy.ts";
import { sampleArguments } from "../../../base/jsonSchema/sample.ts";
import { compileSchema } from "../../../base/jsonSchema/validate.ts";
import { once } from "../../../base/once.ts";
import { listConfusablePairs } from "../../../base/search/similarity.ts";
import { deriveSeed, seededRandom } from "../../../base/stats/random.ts";
import { mentionsName, stripCodeFence } from "../../../base/text/text.ts";
import { canonicalJson, type Json, type JsonObject, jsonObjectSchema } from "../../../base/types/json.ts";
import type { Message } from "../../../base/types/model.ts";
import type { Tool } from "../../../base/types/tool.ts";
import { draftNoToolCases, makeRequest, rankByCentrality } from "../draft.ts";

/**
 * What a query is written for: a tool with these arguments, or no tool, for the reason in `kind`. `near`: the query
 * should sound like a request for this other tool.
 */
export type Wanted =
  | { tool: Tool; args: JsonObject; near?: { tool: string; shared: readonly string[] } }
  | { tool?: undefined; kind: NoToolKind };

type NoToolKind = keyof typeof noToolKinds;

const noToolKinds = {
  "small talk": "small talk, a thanks or a greeting with a little content",
  knowledge: "a question of general knowledge that an assistant answers by itself",
  writing: "a short writing or calculation task that an assistant does by itself",
  "out of scope": "a task in the same field as these tools that none of them can do",
} as const;

/** A query with what it was written for. `args`: the arguments that the query states; only these are expected. */
export type WrittenQuery = { wanted: Wanted; input: string; args: JsonObject };

/** Maximum number of tools, for a quick first look. The most similar ones are chosen, because these get confused. */
const maxTools = 30;
const nearMisses = 3;

/**
 * Plans which queries to write: `perTool` for each tool, with sampled arguments, a near miss in each direction of the
 * three most confusable pairs, and one query of each kind that needs no tool. `left`: the tools that were not chosen.
 */
export function planQueries(
  tools: readonly Tool[],
  perTool: number,
  seed: number,
): { wanted: Wanted[]; left: string[] } {
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  const chosen = rankByCentrality(tools).slice(0, maxTools);
  const compile = once(compileSchema);
  const want = (tool: Tool, number: number) => ({
    tool,
    args: sampleValid(tool, compile(tool.inputSchema), deriveSeed(seed, tool.name, number)),
  });
  const own = chosen.flatMap((name) => {
    const tool = byName.get(name);
    return tool ? Array.from({ length: perTool }, (_, number) => want(tool, number)) : [];
  });
  const pairs = listConfusablePairs(tools, { most: nearMisses }).flatMap((pair) => [
    pair,
    { ...pair, a: pair.b, b: pair.a },
  ]);
  const near = pairs.flatMap(({ a, b, shared }) => {
    const tool = byName.get(a);
    return tool ? [{ ...want(tool, perTool), near: { tool: b, shared: shared.slice(0, 4) } }] : [];
  });
  const none = (Object.keys(noToolKinds) as NoToolKind[]).map((kind) => ({ kind }));
  return {
    wanted: [...own, ...near, ...none],
    left: tools.map(({ name }) => name).filter((name) => !chosen.includes(name)),
  };
}

/** Samples arguments that are valid for the whole schema; none if that fails. */
function sampleValid({ inputSchema }: Tool, validate: ReturnType<typeof compileSchema>, seed: number): JsonObject {
  const random = seededRandom(seed);
  const isValid = (args: JsonObject) => typeof validate === "string" || validate(args, "args").kind !== "invalid";
  for (const share of [0.3, 0.3, 0]) {
    const { args, unfilled } = sampleArguments(inputSchema, random.below, () => random.next() < share);
    if (unfilled.length === 0 && isValid(args)) return args;
  }
  return {};
}

/** Drafts queries for a keyword search in the words of the tools themselves, because no model writes them. */
export function draftQueries(wanted: readonly Wanted[], tools: readonly Tool[]): WrittenQuery[] {
  const own = new Map(wanted.flatMap((one) => (one.tool && !one.near ? [[one.tool.name, one] as const] : [])));
  const asked = [...own.values()].map((one) => ({ wanted: one, input: makeRequest(one.tool), args: {} }));
  const none = draftNoToolCases(tools).map(({ input }) => ({
    wanted: { kind: "knowledge" } as const,
    input,
    args: {},
  }));
  return [...asked, ...none];
}

const answerSchema = z.strictObject({ queries: z.array(z.string()) });
const { $schema: _, ...answerJsonSchema }: JsonObject = jsonObjectSchema.parse(z.toJSONSchema(answerSchema));

const instructions = `You write test messages for an AI assistant that can call tools. Each message is what one user would type to the assistant: natural, specific, one to three sentences, without any knowledge of the tools.

Rules for every message:
- Never use the name of a tool or of a parameter, nor "tool", "function" or "API".
- Where arguments are given, say every one of their values exactly as it is written, in words that a user would put around it. Values of yes/no and of fixed choices may be said in other words.
- The messages of one answer differ in wording, length and tone.

Answer with one JSON object and nothing else: {"queries": ["..."]}, one message for each numbered item, in their order.`;

/** One request to the writer. It asks for related queries together, so that they differ from each other. */
export type WritingTask = { wanted: readonly Wanted[]; messages: Message[]; answerSchema: JsonObject };

/**
 * Builds the requests to the writer: one for each tool, and one for the queries that need none. The writer sees the
 * tool, and only the names of the others.
 */
export function buildTasks(wanted: readonly Wanted[], tools: readonly Tool[]): WritingTask[] {
  const groups = groupBy(wanted, ({ tool }) => tool?.name ?? "");
  const names = tools.map(({ name }) => name);
  return [...groups.values()].map((group) => ({
    wanted: group,
    messages: [
      { role: "system", content: instructions },
      { role: "user", content: describeGroup(group, names) },
    ],
    answerSchema: answerJsonSchema,
  }));
}

function describeGroup(group: readonly Wanted[], names: readonly string[]): string {
  const tool = group.find((one) => one.tool)?.tool;
  const items = group.map((one, at) => `${at + 1}. ${describeItem(one)}`);
  if (!tool)
    return [
      `The assistant has these tools: ${names.join(", ")}.`,
      "Write messages that need none of them:",
      ...items,
    ].join("\n");
  const { name, description = "", inputSchema } = tool;
  return [
    "The tool that each message must need:",
    JSON.stringify({ name, description, inputSchema }),
    `Other tools beside it: ${names.filter((other) => other !== name).join(", ")}.`,
    "Write messages for:",
    ...items,
  ].join("\n");
}

function describeItem(one: Wanted): string {
  if (!one.tool) return noToolKinds[one.kind];
  const args = Object.keys(one.args).length > 0 ? `arguments ${JSON.stringify(one.args)}` : "no particular arguments";
  const near =
    one.near && `; near miss: it sounds at first like a request for ${one.near.tool}, but needs the tool above`;
  return `${args}${near ?? ""}`;
}

/** The first 12 hexadecimal digits of the hash of everything that affects how queries are written. */
export function hashWriting(): string {
  const text = canonicalJson([instructions, { ...noToolKinds }, answerJsonSchema] as Json);
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}

/** Parses the queries in a reply, or returns why it cannot be used. */
export function readQueries(
  text: string,
  { wanted }: Pick<WritingTask, "wanted">,
): readonly string[] | { why: string } {
  const json = stripCodeFence(text);
  let data: unknown;
  try {
    data = JSON.parse(json);
  } catch {
    return { why: "the writer's answer is not JSON" };
  }
  const answer = answerSchema.safeParse(data);
  if (!answer.success) return { why: "the writer's answer has the wrong form" };
  const { queries } = answer.data;
  if (queries.length !== wanted.length)
    return { why: `the writer wrote ${queries.length} of ${wanted.length} queries` };
  return queries.map((query) => query.replace(/\s+/g, " ").trim());
}

/** Checks a written query. Returns it with the arguments that it states, or why it is dropped. */
export function checkQuery(
  input: string,
  wanted: Wanted,
  names: readonly string[],
): WrittenQuery | { dropped: string } {
  if (input === "") return { dropped: "it is empty" };
  if (input.length > 2000) return { dropped: "it is longer than 2,000 characters" };
  const named = names.find((name) => mentionsName(input.toLowerCase(), name));
  if (named !== undefined) return { dropped: `it names the tool ${named}` };
  if (!wanted.tool) return { wanted, input, args: {} };
  const args: JsonObject = {};
  for (const [name, value] of Object.entries(wanted.args)) {
    const isSaid = findValues(value).every((one) => normalize(input).includes(normalize(one)));
    if (isSaid && findValues(value).length > 0) args[name] = value;
    else if (!isSaid && !isChoice(wanted.tool, name))
      return { dropped: `it does not say ${name} (${JSON.stringify(value)})` };
  }
  return { wanted, input, args };
}

/** The texts and numbers in a value, which a query must contain. */
function findValues(value: Json): string[] {
  if (typeof value === "string" || typeof value === "number") return [String(value)];
  return Array.isArray(value) ? value.flatMap(findValues) : [];
}

const normalize = (text: string) => text.toLowerCase().replace(/\s+/g, " ");

/** Whether a parameter has fixed values, which users put in their own words. */
function isChoice({ inputSchema: { properties } }: Tool, name: string): boolean {
  const schema = (properties as JsonObject | undefined)?.[name] as JsonObject | undefined;
  return schema !== undefined && ["enum", "const", "default"].some((key) => schema[key] !== undefined);
}
