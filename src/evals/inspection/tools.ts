import { basename, extname, relative, resolve } from "node:path";
import * as z from "zod";
import { listProperties, listRequired } from "../base/jsonSchema/keywords.ts";
import { printableLines } from "../base/text/display.ts";
import { quote } from "../base/text/text.ts";
import { EvalsError, type ExitCode, exitCodes, formatProblem, type Problem, usageError } from "../base/types/errors.ts";
import type { Io } from "../base/types/io.ts";
import { isJsonObject, type Json } from "../base/types/json.ts";
import { countListTokens, type Tool } from "../base/types/tool.ts";
import { type Block, heading, makeColumns, table, text, unlimited } from "../reports/document.ts";
import { count, integer } from "../reports/format.ts";
import { printResult } from "../reports/result.ts";
import { findRunner } from "../servers/diagnosis/start.ts";
import { resolveServer } from "../servers/spec.ts";
import { type ListFile, readListFile } from "../servers/toolList.ts";
import {
  describeNext,
  forEachTarget,
  resolveTargets,
  type ServerTarget,
  suggestRegistered,
  type Target,
  type TargetOptions,
} from "./targets.ts";

export type ToolsOptions = Omit<TargetOptions, "skills"> & { json: boolean };

/** `evals tools`: prints tool lists, with --json unchecked. Exits with 3 when one is missing. Throws EvalsError. */
export async function listTools(options: ToolsOptions, io: Io): Promise<ExitCode> {
  const { targets, warnings } = await resolveTargets(options, io);
  const sources = targets.filter((target) => target.kind === "server" || target.kind === "tool list");
  if (sources.length === 0)
    throw usageError("There is no tool list among the targets.", "Name a server with --server, --url or --config.");
  if (options.json && sources.length > 1)
    throw usageError(
      `--json prints one list, but there are ${sources.length}: ${sources.map(nameTarget).join(", ")}.`,
      "Name one with --server, --url, --name or --tools.",
    );
  const read = await forEachTarget(sources, io, (target) => readList(target, io));
  const lists = read.flatMap((one) => ("items" in one ? [one] : []));
  const problems = [...warnings, ...read.flatMap((one) => ("items" in one ? one.warnings : one.problems))];
  if (lists.length > 0) {
    const { lint, ask } = await describeNext(options, sources, io);
    const next = `Next: check their wording with ${lint}, or ${ask}.`;
    printResult({ tools: lists[0]?.items }, toolsDocument(lists, next), options.json, io);
  }
  for (const problem of problems) io.err(`${formatProblem(problem)}\n`);
  if (io.signal.aborted) return io.signalExitCode();
  return lists.length === sources.length ? exitCodes.passed : exitCodes.incomplete;
}

type Source = Extract<Target, { kind: "server" | "tool list" }>;

const nameTarget = (target: Source) => (target.kind === "server" ? target.name : target.file);

async function readList(target: Source, io: Io): Promise<ListedSource | { problems: readonly Problem[] }> {
  try {
    return await listSource(target, io);
  } catch (error) {
    const isUnavailable = error instanceof EvalsError && error.exitCode === exitCodes.incomplete;
    if (isUnavailable && target.kind === "server") return { problems: error.problems };
    throw error;
  }
}

/** The list of a server or file, unchecked, with the server's version and instructions, and warnings about its entry. */
type ListedSource = ListedTools & {
  version?: string;
  instructions?: string | undefined;
  warnings: readonly Problem[];
  /** The place of a value, for a list in a file. */
  location?: ListFile["location"];
};

/** The tools of a server, or of a file, which is relative to the working directory. Throws EvalsError. */
export async function listSource(target: Source, io: Io): Promise<ListedSource> {
  if (target.kind === "server") return await listServer(target, io);
  const path = resolve(io.cwd, target.file);
  const list = await readListFile(path, relative(io.cwd, path) || ".");
  return { name: basename(target.file, extname(target.file)), ...list, warnings: [] };
}

/** Connects to a server, reads all pages of its list and closes it again. Throws EvalsError. */
export async function listServer(target: ServerTarget, io: Io): Promise<ListedSource> {
  // Imported only for a server, because loading the client takes longer than anything else at the start.
  const { connect } = await import("../servers/connect.ts");
  const { server, dir: from, registration } = target;
  const { spec, dir, warnings } = await resolveServer(server, target.name, from, io, registration?.host);
  const runner = "command" in spec ? findRunner(spec) : undefined;
  const explainWait = () => io.errIsTerminal && io.err(printableLines(describeWait(target.name, runner)));
  const wait = setTimeout(explainWait, quietMs);
  const connection = await connect(spec, { name: target.name, dir, env: io.env, signal: io.signal })
    .catch(async (error) => {
      throw await nameRegistration(error, target, io);
    })
    .finally(() => clearTimeout(wait));
  try {
    const items = await connection.listRaw(io.signal);
    const { about, instructions } = connection;
    const version = typeof about.version === "string" ? { version: about.version } : {};
    return { name: registration?.name ?? String(about.name ?? target.name), ...version, items, instructions, warnings };
  } finally {
    await connection.close();
  }
}

/** A start that takes longer is explained on a terminal. */
const quietMs = 4_000;

function describeWait(name: string, runner: string | undefined): string {
  const why = runner === undefined ? "" : ` The first start with ${runner} includes the download.`;
  return `Waiting for the server ${quote(name)} to answer.${why}`;
}

/** The error, with the entry of a host that has the name of the program that failed: npx finds programs of packages too. */
async function nameRegistration(error: unknown, { name, via }: ServerTarget, io: Io): Promise<unknown> {
  if (via !== undefined || !(error instanceof EvalsError)) return error;
  const also = await suggestRegistered(name, io);
  if (also === undefined) return error;
  const problems = error.problems.map((one) => ({ ...one, hint: one.hint ? `${one.hint}\n${also}` : also }));
  return new EvalsError(problems, error.exitCode);
}

/** The output of `evals tools --json`. */
export const toolsOutputSchema = z.object({
  tools: z.array(z.unknown()).readonly().describe("each as the server sent it, unchecked"),
});
/** A named tool list as the server sent it, unchecked. */
type ListedTools = { name: string; items: readonly unknown[] };

/** The tools of each list: name, tokens in a request, parameters (`?`: optional), annotated effect, description. */
function toolsDocument(lists: readonly ListedTools[], next: string): Block[] {
  const columns = makeColumns(["name", "tool"], ["figure", "tokens"], ["text", "parameters", "effect", "description"]);
  return lists.flatMap(({ name, items }, at) => [
    heading(1, [
      { strong: count(items.length, "tool") },
      ` · about ${integer(countListTokens(items.map((item) => Object(item) as Tool)))} tokens in every request · `,
      { code: name },
    ]),
    text(at === 0 ? next : undefined),
    table("tool", columns, items.map(describeTool), { max: unlimited }),
    ...(items.length === 0 ? [text("The server lists no tools.")] : []),
  ]);
}

function describeTool(tool: unknown): { code: string; max?: number }[] {
  const { name, description, inputSchema, annotations } = isJsonObject(tool as Json)
    ? (tool as Record<string, Json>)
    : {};
  const schema = isJsonObject(inputSchema) ? inputSchema : {};
  const required = new Set(listRequired(schema));
  const parameters = listProperties(schema).map(([key]) => (required.has(key) ? key : `${key}?`));
  return [
    typeof name === "string" ? name : "(no name)",
    integer(countListTokens([Object(tool) as Tool])),
    parameters.join(", "),
    describeEffect(isJsonObject(annotations) ? annotations : {}),
    summarize(typeof description === "string" ? description : ""),
  ].map((cell) => ({ code: cell, max: 160 }));
}

/** By default, the specification treats a tool as destructive. */
function describeEffect(annotations: Record<string, Json>): string {
  if (annotations.readOnlyHint === true) return "reads";
  return annotations.destructiveHint === false ? "writes" : "may destroy";
}

function summarize(description: string): string {
  const line = description.replace(/\s+/g, " ").trim();
  const sentence = /^.*?[.!?](?= [A-Z]|$)/.exec(line)?.[0] ?? line;
  return sentence.length > 120 ? `${sentence.slice(0, 119)}…` : sentence;
}
