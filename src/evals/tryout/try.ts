import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { basename, dirname, extname, relative, resolve } from "node:path";
import { stringify } from "yaml";
import { run } from "../experiments/run.ts";
import { describeServer, slug } from "../inspection/init/init.ts";
import { resolveTargets, type ServerTarget } from "../inspection/targets.ts";
import { listServer } from "../inspection/tools.ts";
import { asciiJson } from "../reports/escape.ts";
import { count, money } from "../reports/format.ts";
import { renderTerminal } from "../reports/terminal.ts";
import { tryDocument } from "../reports/try.ts";
import { readTrials } from "../runs/record.ts";
import { parseTools, readStaticList } from "../toolsets/toolList.ts";
import { requestCeiling } from "../trials/ceiling.ts";
import { SpendingLimits } from "../trials/limits.ts";
import { type ExitCode, exitCodes, usageError } from "../types/errors.ts";
import type { Io } from "../types/io.ts";
import type { Json, JsonObject } from "../types/json.ts";
import { type AskedModel, type Model, noUsage } from "../types/model.ts";
import { runSummarySchema } from "../types/run.ts";
import type { ServerSpec } from "../types/suite.ts";
import type { Tool } from "../types/tool.ts";
import { addCost, type Cost } from "../types/trial.ts";
import type { TryResult } from "../types/tryout.ts";
import { openModels, type RequestOptions } from "../workspace/models.ts";
import {
  buildTasks,
  checkQuery,
  draftQueries,
  hashWriting,
  planQueries,
  readQueries,
  type Wanted,
  type WritingTask,
  type WrittenQuery,
} from "./queries.ts";
import { PickTally } from "./result.ts";

/** The options of `evals try`. `server` is a command line or a URL. */
export type TryOptions = RequestOptions & {
  server?: string | undefined;
  transport?: "http" | "sse" | undefined;
  config?: string | undefined;
  name?: string | undefined;
  tools?: string | undefined;
  model?: string | undefined;
  writer?: string | undefined;
  perTool: number;
  trials: number;
  concurrency: number;
  seed: number;
  file?: string | undefined;
  yes: boolean;
  json: boolean;
};

/** The tools that are tried, and how a suite names their server. */
type Listed = { name: string; tools: readonly Tool[]; describe(toProject: string): Promise<ServerSpec> };

/**
 * `evals try`: has queries written for the tools of a server, asks them, and reports what is picked. Leaves the queries as a
 * suite. Executes no tool. Throws EvalsError for a server that cannot be listed, and where nothing may be spent.
 */
export async function tryServer(options: TryOptions, io: Io): Promise<ExitCode> {
  const { name, tools, describe } = await listTarget(options, io);
  if (tools.length === 0) throw usageError(`"${name}" lists no tools.`, "Check the server: evals doctor.");
  const { model, writer } = await openBoth(options, io);
  const { wanted, left } = planQueries(tools, options.perTool, options.seed);
  const tasks = writer ? buildTasks(wanted, tools) : [];
  const drafted = writer ? [] : draftQueries(wanted, tools);
  const queries = writer ? wanted.length : drafted.length;
  const estimate = estimateCost({ model, writer, tasks, queries: queries * options.trials, tools });
  if (!(await confirm(`${describePlan(name, tools, queries, options.trials)}, ${estimate}`, writer, options, io))) {
    io.err("Cancelled: nothing was asked.\n");
    return exitCodes.usage;
  }
  const limits = new SpendingLimits({ budgetUsd: options.budget });
  const written = writer
    ? await writeQueries(limits.guard(writer), tasks, tools, options.concurrency, io)
    : { queries: drafted, dropped: [], costUsd: 0 };
  if (written.queries.length === 0) throw nothingWritten(written.dropped);

  const file = options.file ?? findFreeFile(name, io);
  if (options.file !== undefined && existsSync(resolve(io.cwd, options.file)))
    throw usageError(`${options.file} exists already, and is kept.`, "Name another file with --file.");
  const byId = nameCases(written.queries);
  const toProject = `${relative(dirname(resolve(io.cwd, file)), io.cwd) || "."}/`;
  const by = writer && { model: writer.id, prompt: hashWriting() };
  await mkdir(dirname(resolve(io.cwd, file)), { recursive: true });
  await writeFile(resolve(io.cwd, file), renderTried(byId, { name, by, server: await describe(toProject) }), {
    flag: "wx",
  });

  const asked = await askQueries(file, model.id, options, written.costUsd, io);
  const tally = new PickTally(byId);
  for await (const trial of readTrials(asked.dir, asked.run)) tally.add(trial);
  const result: TryResult = {
    ...{ server: name, model: model.id, note: model.note, tools: tools.length, listTokens: countListTokens(tools) },
    ...{ writer: by, queries: byId.size, dropped: written.dropped, left: writer ? left : [] },
    ...{ right: tally.right, quiet: tally.quiet, broken: tally.broken, perTool: tally.listTools(tools) },
    ...{ confusions: tally.confusions, worst: tally.listWorst(tools) },
    ...{ costUsd: addCost(written.costUsd, asked.costUsd), suite: file, run: asked.run },
    exitCode: asked.isComplete && tally.right.trials + tally.quiet.trials > 0 ? exitCodes.passed : exitCodes.incomplete,
  };
  io.out(options.json ? `${asciiJson(result, 2)}\n` : renderTerminal(tryDocument(result), io));
  return io.signal.aborted ? io.signalExitCode() : (result.exitCode as ExitCode);
}

async function listTarget({ server, transport, config, name, tools }: TryOptions, io: Io): Promise<Listed> {
  const given = [server, config, tools].filter((one) => one !== undefined);
  if (given.length !== 1)
    throw usageError(
      given.length === 0 ? "No server is named." : "More than one server is named.",
      'Name one: evals try "node dist/server.js", evals try https://example.com/mcp, --config .mcp.json or --tools tools.json.',
    );
  if (tools !== undefined) {
    const read = await readStaticList(resolve(io.cwd, tools));
    return {
      name: basename(tools, extname(tools)),
      tools: read,
      describe: async (toProject) => ({ tools: `${toProject}${tools}` }),
    };
  }
  const isUrl = /^https?:\/\//i.test(server ?? "");
  const { targets } = await resolveTargets(
    {
      ...(server !== undefined && (isUrl ? { url: [server], transport } : { server: [server] })),
      ...(config !== undefined && { config: [config], ...(name !== undefined && { name: [name] }) }),
    },
    io,
  );
  const [target, ...others] = targets.filter((one): one is ServerTarget => one.kind === "server");
  if (!target || others.length > 0)
    throw usageError(`One server is tried, but there are ${targets.length}.`, "Name one with --name.");
  const listed = await listServer(target, io);
  return {
    name: listed.name,
    tools: parseTools(listed.name, listed.items),
    describe: (toProject) => describeServer(target, toProject, io),
  };
}

/** The model under test, by default the one whose key is set, and the model that writes, if there is a language model. */
async function openBoth(options: TryOptions, io: Io): Promise<{ model: Model; writer: AskedModel | undefined }> {
  const { env } = io;
  const byKey = env.ANTHROPIC_API_KEY ? "anthropic:claude-haiku-5-5" : env.OPENAI_API_KEY ? "openai:gpt-5" : "lexical";
  const id = options.model ?? byKey;
  const [model, writer = model] = await openModels([id, ...(options.writer ? [options.writer] : [])], options, io);
  if (!model || !writer) throw new Error(`no model was opened for ${id}`);
  if (writer.kind !== "language model") return { model, writer: undefined };
  if ("ask" in writer) return { model, writer };
  throw usageError(
    `${writer.id} cannot write queries: it answers no single requests.`,
    "Name a model that writes them, for example --writer anthropic:claude-haiku-5-5.",
  );
}

function describePlan(name: string, tools: readonly Tool[], queries: number, trials: number): string {
  const times = trials > 1 ? `, each asked ${trials} times` : "";
  return `${name}: ${count(tools.length, "tool")}, ${count(queries, "query", "queries")}${times}`;
}

const countListTokens = (tools: readonly Tool[]) =>
  Math.round(
    Buffer.byteLength(
      JSON.stringify(tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }))),
    ) / 4,
  );

/** Output tokens of one query, and of one reply with a call. */
const typical = { query: 60, reply: 150 } as const;

type Plan = {
  model: Model;
  writer: AskedModel | undefined;
  tasks: readonly WritingTask[];
  queries: number;
  tools: readonly Tool[];
};

function estimateCost({ model, writer, tasks, queries, tools }: Plan): string {
  const price = (one: Model, inputTokens: number, outputTokens: number): Cost =>
    one.cost({ ...noUsage, inputTokens, outputTokens });
  const writing = tasks.map(({ messages, wanted }): Cost => {
    if (!writer) return 0;
    // The ceiling takes two bytes per token; four are typical.
    const { inputTokens } = requestCeiling({ messages, tools: [] }, writer);
    return price(writer, inputTokens / 2, wanted.length * typical.query);
  });
  const asking = price(model, queries * (countListTokens(tools) + 100), queries * typical.reply);
  const total = [...writing, asking].reduce(addCost, 0);
  return total === "unknown" ? "at an unknown price" : `about ${money(total)}`;
}

/** Whether it may begin: always where nothing is spent, else with --yes, --budget or the consent of the user. */
async function confirm(plan: string, writer: AskedModel | undefined, options: TryOptions, io: Io): Promise<boolean> {
  if (!writer) return true;
  io.err(`${plan}, on ${writer.id}. No tool is executed.\n`);
  if (options.yes || options.budget !== undefined) return true;
  if (!io.prompts)
    throw usageError("This asks a model that costs money.", "Add --yes, or --budget with the most that it may cost.");
  const choices = [
    { value: "yes", label: "Yes" },
    { value: "no", label: "No" },
  ];
  return (await io.prompts.select("Ask?", choices)) === "yes";
}

type Written = { queries: WrittenQuery[]; dropped: { input: string; why: string }[]; costUsd: Cost };

/** Has all queries written, a few requests at a time. What cannot be used is dropped with its reason. */
async function writeQueries(
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

function nothingWritten(dropped: Written["dropped"]) {
  const [first] = dropped;
  return usageError(
    `No query could be used of ${dropped.length}: ${first ? first.why : "none was written"}.`,
    "Check the key and the model, or name another writer with --writer.",
  );
}

function findFreeFile(name: string, io: Io): string {
  for (let number = 1; ; number++) {
    const file = `evals/try-${slug(name)}${number > 1 ? `-${number}` : ""}.yaml`;
    if (!existsSync(resolve(io.cwd, file))) return file;
  }
}

/** The queries by the ids of their cases. */
function nameCases(queries: readonly WrittenQuery[]): Map<string, WrittenQuery> {
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

type Frame = { name: string; by: TryResult["writer"]; server: ServerSpec };

/** The queries as a suite that `evals run` takes. */
function renderTried(byId: ReadonlyMap<string, WrittenQuery>, { name, by, server }: Frame): string {
  const origin = by
    ? `queries by ${by.model}, prompt ${by.prompt}`
    : "queries in the words of the tools, which is too easy for a keyword search";
  const head = [
    `# Generated by \`evals try\` from the tools of ${name.replace(/[^\x20-\x7e]+/g, " ")}: ${origin}.`,
    "# Read each query before you rely on it, and add those of your users.",
  ];
  const cases = [...byId].map(([id, { wanted, input, args }]) => ({ id, input, expect: expectTool(wanted, args) }));
  return `${head.join("\n")}\n${stringify({ server, execute: "never", cases }, { lineWidth: 0 })}`;
}

function expectTool(wanted: Wanted, args: JsonObject): JsonObject {
  if (!wanted.tool) return { tool: "none" };
  const matchers = Object.fromEntries(
    Object.entries(args).map(([key, value]): [string, Json] => [
      key,
      typeof value === "string" ? { $ignoreCase: value } : value,
    ]),
  );
  return {
    tool: wanted.tool.name,
    ...(wanted.near && { avoid: wanted.near.tool }),
    ...(Object.keys(args).length > 0 && { args: matchers }),
  };
}

/** Runs the suite without executing a tool, and reads the result; what was spent on writing is off the budget. */
async function askQueries(file: string, model: string, options: TryOptions, spent: Cost, io: Io) {
  const budget =
    options.budget === undefined ? undefined : Math.max(options.budget - (spent === "unknown" ? 0 : spent), 1e-9);
  let text = "";
  await run(
    {
      ...{ ...options, paths: [file], model: [model], budget, host: "plain", execute: "never", check: "off" },
      ...{ baselines: "evals/baselines", nightly: false, margin: 0.1, blame: false, dryRun: false, retryBroken: false },
      ...{ json: true, name: undefined, tools: undefined, case: undefined },
    },
    { ...io, out: (part) => (text += part) },
  );
  const { run: id, dir, totals } = runSummarySchema.parse(JSON.parse(text));
  return { run: id, dir, costUsd: totals.costUsd, isComplete: totals.missing === 0 };
}
