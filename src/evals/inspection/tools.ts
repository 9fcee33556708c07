import { basename, extname, relative, resolve } from "node:path";
import { readParsed } from "../parsing/read.ts";
import { safeJson } from "../reports/escape.ts";
import { renderTerminal } from "../reports/terminal.ts";
import { type ListedTools, toolsDocument } from "../reports/tools.ts";
import { resolveServer } from "../toolsets/spec.ts";
import { findList, notAList } from "../toolsets/toolList.ts";
import { EvalsError, type ExitCode, exitCodes, formatProblem, type Problem, usageError } from "../types/errors.ts";
import type { Io } from "../types/io.ts";
import { isJsonObject } from "../types/json.ts";
import { resolveTargets, type ServerTarget, type Target, type TargetOptions } from "./targets.ts";

export type ToolsOptions = Omit<TargetOptions, "skills"> & { json: boolean };

/**
 * `evals tools`: prints the lists of servers and files, unchecked and with all fields as JSON. Exits with 3 when a server
 * cannot be listed. Throws EvalsError for mistakes in what the options name.
 */
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
  const read = await Promise.all(sources.map((target) => readList(target, io)));
  const lists = read.flatMap((one) => ("items" in one ? [one] : []));
  const problems = [...warnings, ...read.flatMap((one) => ("problems" in one ? one.problems : []))];
  if (lists.length > 0)
    io.out(options.json ? safeJson({ tools: lists[0]?.items }, 2) : renderTerminal(toolsDocument(lists), io));
  for (const problem of problems) io.err(`${formatProblem(problem)}\n`);
  return lists.length === sources.length ? exitCodes.passed : exitCodes.incomplete;
}

type Source = Extract<Target, { kind: "server" | "tool list" }>;

const nameTarget = (target: Source) => (target.kind === "server" ? target.name : target.file);

/** A list, or why a server could not be listed. */
async function readList(target: Source, io: Io): Promise<ListedTools | { problems: readonly Problem[] }> {
  if (target.kind === "tool list") return await readListFile(target.file, io);
  try {
    return await listServer(target, io);
  } catch (error) {
    if (error instanceof EvalsError && error.exitCode === exitCodes.incomplete) return { problems: error.problems };
    throw error;
  }
}

async function readListFile(file: string, io: Io): Promise<ListedTools> {
  const path = resolve(io.cwd, file);
  const { value, place } = await readParsed(path, relative(io.cwd, path) || ".", { lenient: true });
  const list = findList(value);
  if (!list) throw notAList(place(isJsonObject(value) && "tools" in value ? ["tools"] : []));
  return { name: basename(file, extname(file)), items: list.items };
}

/** Connects to a server, reads all pages of its list and closes it again. Throws EvalsError. */
export async function listServer(target: ServerTarget, io: Io): Promise<ListedTools> {
  // Loaded only when there is a server: the client takes most of the time to start.
  const { connect } = await import("../toolsets/connect.ts");
  const { spec, dir } = await resolveServer(target.server, target.name, target.dir, io.env, target.registration?.host);
  const connection = await connect(spec, { name: target.name, dir, env: io.env, signal: io.signal });
  try {
    const items = await connection.listRaw(io.signal);
    return { name: target.registration?.name ?? String(connection.about.name ?? target.name), items };
  } finally {
    await connection.close();
  }
}
