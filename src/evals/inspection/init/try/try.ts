import { existsSync } from "node:fs";
import { basename, dirname, extname, relative, resolve } from "node:path";
import { stringify } from "yaml";
import { SpendingLimits } from "../../../asking/trials/limits.ts";
import { extendEnv, redactValue } from "../../../base/secrets/secrets.ts";
import { type ExitCode, exitCodes, usageError } from "../../../base/types/errors.ts";
import type { Io } from "../../../base/types/io.ts";
import { type AskedModel, type Model, noUsage } from "../../../base/types/model.ts";
import { runSummarySchema } from "../../../base/types/run.ts";
import type { ServerSpec } from "../../../base/types/suite.ts";
import { countListTokens, type Tool } from "../../../base/types/tool.ts";
import { addCost, type Cost } from "../../../base/types/trial.ts";
import type { TryResult } from "../../../base/types/tryout.ts";
import { run } from "../../../experiments/run/run.ts";
import { openModels, type RequestOptions } from "../../../experiments/workspace/models.ts";
import { writeOutput } from "../../../experiments/workspace/writeOutput.ts";
import { readTrials } from "../../../records/record.ts";
import { count } from "../../../reports/format.ts";
import { printResult } from "../../../reports/result.ts";
import { parseTools, readStaticList } from "../../../servers/toolList.ts";
import { resolveTargets, type ServerTarget } from "../../targets.ts";
import { listServer } from "../../tools.ts";
import { type DescribedServer, describeServer, slug, warnOfVariables } from "../init.ts";
import { buildTasks, draftQueries, hashWriting, planQueries, type WrittenQuery } from "./queries.ts";
import { PickTally } from "./result.ts";
import { tryDocument } from "./tryReport.ts";
import {
  buildExpectation,
  confirmSpending,
  describeCost,
  nameCases,
  nothingWritten,
  priceWriting,
  requireWriter,
  writeQueries,
} from "./writer.ts";

/** The options of `evals try`. `server` is a command line or a URL. */
type TryOptions = RequestOptions & {
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

/** The tools to try. `describe` returns their server as a suite describes it. */
type Listed = { name: string; tools: readonly Tool[]; describe(toProject: string): Promise<DescribedServer> };

/**
 * `evals try`: has a model write queries for the tools of a server, asks them, and reports which tools are picked.
 * Saves the queries as a suite. Executes no tool. Throws EvalsError for a server that cannot be listed, or without
 * consent to spend money.
 */
export async function tryServer(options: TryOptions, io: Io): Promise<ExitCode> {
  const { name, tools, describe } = await listTarget(options, io);
  if (tools.length === 0) throw usageError(`"${name}" lists no tools.`, "Check the server: evals doctor.");
  const { model, writer } = await openBoth(options, io);
  const { wanted, left } = planQueries(tools, options.perTool, options.seed);
  const tasks = writer ? buildTasks(wanted, tools) : [];
  const drafted = writer ? [] : draftQueries(wanted, tools);
  const queries = writer ? wanted.length : drafted.length;
  const writing = writer ? priceWriting(writer, tasks) : 0;
  const estimate = describeCost(addCost(writing, priceAsking(model, tools, queries * options.trials)));
  const times = options.trials > 1 ? `, each asked ${options.trials} times` : "";
  const plan = `${name}: ${count(tools.length, "tool")}, ${count(queries, "query")}${times}, ${estimate}`;
  if (!(await confirmSpending(plan, writer, options, io))) {
    io.err("Cancelled. No model was called.\n");
    return exitCodes.usage;
  }
  const limits = new SpendingLimits({ budgetUsd: options.budget });
  const written = writer
    ? await writeQueries(limits.guard(writer), tasks, tools, options.concurrency, io)
    : { queries: drafted, dropped: [], costUsd: 0 };
  if (written.queries.length === 0) throw nothingWritten(written.dropped);

  const file = options.file ?? findFreeFile(name, io);
  const path = resolve(io.cwd, file);
  if (existsSync(path)) throw usageError(`${file} already exists.`, "Name another file with --file.");
  // A server and a writer decide on texts that become ids and queries.
  const byId = nameCases(redactValue(written.queries, io));
  const { server, variables } = await describe(`${relative(dirname(path), io.cwd) || "."}/`);
  const by = writer && { model: writer.id, prompt: hashWriting() };
  await writeOutput(path, renderTried(byId, { name, by, server }), io, { flag: "wx" });
  warnOfVariables(file, variables, io);

  const asked = await askQueries(file, model.id, options, written.costUsd, {
    ...io,
    env: extendEnv(io.env, variables),
  });
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
  printResult(result, tryDocument(result), options.json, io);
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
      describe: async (toProject) => ({ server: { tools: `${toProject}${tools}` }, variables: {} }),
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
    throw usageError(`This command takes one server, but there are ${targets.length}.`, "Name one with --name.");
  const listed = redactValue(await listServer(target, io), io);
  return {
    name: listed.name,
    tools: parseTools(listed.name, listed.items),
    describe: (toProject) => describeServer(target, toProject, io),
  };
}

/**
 * Opens the model under test, by default the one whose key is set, and the model that writes queries: the same unless
 * another is named, and none if it is not a language model.
 */
async function openBoth(options: TryOptions, io: Io): Promise<{ model: Model; writer: AskedModel | undefined }> {
  const { env } = io;
  const byKey = env.ANTHROPIC_API_KEY ? "anthropic:claude-haiku-5-5" : env.OPENAI_API_KEY ? "openai:gpt-5" : "lexical";
  const id = options.model ?? byKey;
  const [model, writer = model] = await openModels([id, ...(options.writer ? [options.writer] : [])], options, io);
  if (!model || !writer) throw new Error(`no model was opened for ${id}`);
  return { model, writer: writer.kind === "language model" ? requireWriter(writer) : undefined };
}

/** Typical output tokens of a reply with a call. */
const replyTokens = 150;

/** The typical cost of asking this many queries with these tools. */
function priceAsking(model: Model, tools: readonly Tool[], queries: number): Cost {
  const inputTokens = queries * (countListTokens(tools) + 100);
  return model.cost({ ...noUsage, inputTokens, outputTokens: queries * replyTokens });
}

function findFreeFile(name: string, io: Io): string {
  for (let number = 1; ; number++) {
    const file = `evals/try-${slug(name)}${number > 1 ? `-${number}` : ""}.yaml`;
    if (!existsSync(resolve(io.cwd, file))) return file;
  }
}

type Frame = { name: string; by: TryResult["writer"]; server: ServerSpec };

/** Renders the queries as a suite for `evals run`. */
function renderTried(byId: ReadonlyMap<string, WrittenQuery>, { name, by, server }: Frame): string {
  const origin = by
    ? `queries by ${by.model}, prompt ${by.prompt}`
    : "queries in the words of the tools, which is too easy for a keyword search";
  const head = [
    `# Generated by \`evals try\` from the tools of ${name.replace(/[^\x20-\x7e]+/g, " ")}: ${origin}.`,
    "# Read each query before you rely on it, and add those of your users.",
  ];
  const cases = [...byId].map(([id, { wanted, input, args }]) => ({
    id,
    input,
    expect: buildExpectation(wanted, args),
  }));
  return `${head.join("\n")}\n${stringify({ server, execute: "never", cases }, { lineWidth: 0 })}`;
}

/** Runs the suite without executing tools, and reads the result. The cost of writing is deducted from the budget. */
async function askQueries(file: string, model: string, options: TryOptions, spent: Cost, io: Io) {
  const budget =
    options.budget === undefined ? undefined : Math.max(options.budget - (spent === "unknown" ? 0 : spent), 1e-9);
  let summary: object | undefined;
  await run(
    {
      ...{ ...options, paths: [file], model: [model], budget, host: "plain", execute: "never", check: "off" },
      ...{ baselines: "evals/baselines", nightly: false, margin: 0.1, blame: false, dryRun: false, retryBroken: false },
      ...{ json: true, name: undefined, tools: undefined, case: undefined },
    },
    {
      ...io,
      result: (value) => {
        summary = value;
      },
    },
  );
  const { run: id, dir, totals } = runSummarySchema.parse(summary);
  return { run: id, dir, costUsd: totals.costUsd, isComplete: totals.missing === 0 };
}
