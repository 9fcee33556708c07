import { existsSync } from "node:fs";
import { dirname, isAbsolute, relative, resolve } from "node:path";
import { nameProgram, readRegularFile, writeOutput } from "../../base/files/files.ts";
import { listProperties } from "../../base/jsonSchema/keywords.ts";
import { holdsSecret, redactValue } from "../../base/secrets/secrets.ts";
import { printableLines, shellWord, visible } from "../../base/text/display.ts";
import { type ExitCode, exitCodes, usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import { isJsonObject, type Json } from "../../base/types/json.ts";
import type { DispatchRules } from "../../base/types/suiteFile.ts";
import { countListTokens, type Tool } from "../../base/types/tool.ts";
import { findLocalModels, offerProviders } from "../../experiments/workspace/models.ts";
import { findSkillFolders } from "../../experiments/workspace/skills.ts";
import { requireTrust, trustWritten } from "../../experiments/workspace/trust.ts";
import { discoverSkills } from "../../input/skills/discover.ts";
import { type Block, heading, list, text } from "../../reports/document.ts";
import { count } from "../../reports/format.ts";
import { renderTerminal } from "../../reports/terminal.ts";
import { parseTools, readStaticList } from "../../servers/toolList.ts";
import { recognizeDispatchers } from "../dispatchers.ts";
import { findRegisteredServers } from "../findServers.ts";
import { describeToolList } from "../lint/collect.ts";
import { runRules } from "../lint/rule.ts";
import { rules } from "../lint/rules/index.ts";
import { findSuites, resolveTargets, type Source, type Target, type TargetOptions } from "../targets.ts";
import { listSource } from "../tools.ts";
import { type Draft, draftCases } from "./draft.ts";
import { type Drafted, describeEffects, describeSize, listFindings, listMixedUp, listNext } from "./report.ts";
import { initSkills } from "./skills.ts";
import { describeServer, renderSuite, warnOfVariables } from "./suite.ts";
import { locateWorkflow, readPackage, renderWorkflow } from "./workflow.ts";

export type InitOptions = Pick<TargetOptions, "server" | "url" | "transport" | "config" | "name"> & {
  target?: string | undefined;
  file?: string | undefined;
  ci?: "github" | undefined;
  /** A file with the tools behind dispatchers. */
  catalog?: string | undefined;
};

/**
 * `evals init`: shows what can be said of a server's tools without a model, and drafts a suite for them, or of skills
 * and their eval files; an entry in `.gitignore`; on request, a workflow. On a terminal it prompts for a server that is
 * not named. A project that has suites and names no server gets the workflow alone. Never overwrites a file. Throws
 * EvalsError.
 */
export async function init(options: InitOptions, io: Io): Promise<ExitCode> {
  const { ci, target, server, url, config, name, file } = options;
  if (ci !== undefined) refuseExisting(locateWorkflow(io.cwd), "Remove it first, or leave out --ci.", io);
  const local = findLocalModels(io.signal);
  const isNamed = [target, server, url, config, name, file].some((one) => one !== undefined);
  if (ci !== undefined && !isNamed && (await findSuites(io)).length > 0) {
    io.out(renderTerminal(await writeWorkflow(io), io));
    return exitCodes.passed;
  }
  const chosen = await chooseTargets(options, io);
  if (!chosen) {
    io.err("Cancelled: nothing was written.\n");
    return io.signal.aborted ? io.signalExitCode() : exitCodes.usage;
  }
  const all: Drafted[] = chosen.source ? [await initTools(chosen.source, options, io)] : [];
  for (const one of chosen.skills) all.push(await initSkills(one, io));
  const run = {
    trials: trialsPerCase * all.reduce((sum, { cases }) => sum + cases, 0),
    listTokens: Math.max(...all.map(({ listTokens }) => listTokens)),
  };
  const command = [nameProgram(io), "run", ...all.map(({ path }) => shellWord(path))].join(" ");
  const providers = offerProviders(run, io.env);
  const models = [...providers.filter(({ isSet }) => isSet), ...(await local)];
  const done = [text(...(await ignoreReports(io))), ...(ci === undefined ? [] : await writeWorkflow(io))];
  const blocks = [...all.flatMap((one) => one.blocks), ...done, ...listNext(command, models, providers)];
  io.out(renderTerminal(blocks, io));
  return exitCodes.passed;
}

/** Trials per case of a language model, if a suite says nothing else. */
const trialsPerCase = 5;

async function initTools(source: Source, options: InitOptions, io: Io): Promise<Drafted> {
  const listed = await listSource(source, io);
  const tools = parseTools(listed.name, listed.items);
  if (tools.length === 0)
    throw usageError(`Server "${listed.name}" lists no tools.`, "Check that it is the right server: `evals doctor`.");
  // A server decides on its name, which becomes that of a file.
  const name = redactValue(listed.name, io);
  const file = options.file ?? `evals/${slug(name)}.yaml`;
  const { subjects } = describeToolList({ server: name, items: listed.items, settings: [] });
  const lint = `${nameProgram(io)} lint ${shellWord(file)}`;
  const blocks = [
    heading(1, `${[name, listed.version].filter(Boolean).join(" ")} · ${describeSize(tools)}`),
    describeEffects(tools),
    ...listMixedUp(tools, lint),
    ...listFindings(runRules(subjects, rules).findings, lint),
  ];
  const listTokens = countListTokens(tools);
  const isNamed = options.file !== undefined || options.catalog !== undefined;
  if (!isNamed && existsSync(resolve(io.cwd, file))) {
    blocks.push(text(`Kept ${file}. Draft another suite with --file.`));
    return { path: file, cases: 0, listTokens, blocks };
  }
  refuseExisting(file, "Name another file with --file.", io);
  const items = (listed.items as readonly Json[]).filter(isJsonObject);
  const dispatch = recognizeDispatchers(items);
  // A call of a dispatcher counts as one of the tool inside, so that is what a case expects.
  const own = tools.filter((tool) => !Object.hasOwn(dispatch, tool.name));
  const askable = [...own, ...(await listBehind(dispatch, tools, options.catalog, io))];
  const draft = draftCases(askable, (line) => !holdsSecret(line, io));
  const toProject = `${relative(dirname(resolve(io.cwd, file)), io.cwd) || "."}/`;
  const { server, variables } = await describeServer(source, toProject, io);
  const catalog = options.catalog === undefined ? undefined : `${toProject}${options.catalog}`;
  await write(file, renderSuite(draft, { server, name, toProject, dispatch, catalog }), io);
  await trustWritten(file, io);
  warnOfVariables(file, variables, io);
  const drafted = text(describeDraft(file, draft, askable.length));
  return { path: file, cases: draft.cases.length, listTokens, blocks: [...blocks, drafted] };
}

function describeDraft(file: string, { cases }: Draft, askable: number): string {
  const near = cases.filter(({ avoid }) => avoid !== undefined).length;
  const none = cases.filter(({ tool }) => tool === undefined).length;
  const own = cases.length - near - none;
  const parts = [
    own === askable ? count(own, "tool") : `${own} of ${count(askable, "tool")}`,
    ...(near > 0 ? [count(near, "near miss", "near misses")] : []),
    `${none} that need no tool`,
  ];
  const drafted = `Drafted ${file}: ${count(cases.length, "query")} (${parts.join(", ")}).`;
  if (askable === 0) return `${drafted} Every tool calls or finds others: name a list of those with --catalog.`;
  return `${drafted} They are guesses, and no model was asked. Review them with \`evals queries\`.`;
}

/** The tools behind dispatchers: those of the catalog, or those that the enum of a schema names. */
async function listBehind(dispatch: DispatchRules, tools: readonly Tool[], catalog: string | undefined, io: Io) {
  if (catalog === undefined) return tools.flatMap((tool) => listChoices(tool, dispatch[tool.name]?.name));
  if (Object.keys(dispatch).length === 0)
    throw usageError("No tool of the server seems to call those of the catalog.", "Leave out --catalog.");
  return await readStaticList(resolve(io.cwd, catalog));
}

function listChoices({ inputSchema }: Tool, path: string | undefined): Tool[] {
  const schema = listProperties(inputSchema).find(([name]) => name === path)?.[1];
  const names = isJsonObject(schema) && Array.isArray(schema.enum) ? schema.enum : [];
  return names.flatMap((name) => (typeof name === "string" ? [{ name, inputSchema: { type: "object" } }] : []));
}

/** What is named; else the server and the skills of the project. Undefined if the user cancels. */
async function chooseTargets(options: InitOptions, io: Io) {
  const { target, server, url, transport, config, name } = options;
  const isNamed = [target, server, url, config].some((one) => one !== undefined);
  const given = { server, url, transport, config, name, paths: target === undefined ? [] : [target] };
  const found = isNamed ? await resolveTargets(given, io) : await findTargets(name, io);
  const sources = found.targets.filter((one) => one.kind === "server" || one.kind === "tool list");
  const suite = found.targets.find((one) => one.kind === "suite" || (one.kind !== "skills" && one.suites.length > 0));
  if (suite) throw usageError(`"${target}" is a suite already.`, "Ask its cases with `evals run`.");
  const skills = found.targets.filter((one) => one.kind === "skills");
  const [only, ...others] = sources;
  if (!only && skills.length > 0) return { source: undefined, skills };
  if (!only)
    throw usageError(
      "No server is named, and none was found in the files of hosts or in package.json.",
      'Name yours: `evals init "node dist/server.js"`, `evals init https://example.com/mcp`, or a folder of skills.',
    );
  if (others.length > 0 && io.prompts) {
    const options = sources.map((one, at) => ({ value: String(at), label: visible(nameSource(one)) }));
    const source = sources[Number((await io.prompts.select("Which server?", options)) ?? -1)];
    return source && { source, skills };
  }
  if (others.length > 0)
    throw usageError(
      `There are ${sources.length} servers: ${sources.map(nameSource).join(", ")}.`,
      `Name one with --name, for example --name ${only.kind === "server" ? shellWord(only.name) : "files"}.`,
    );
  if (!isNamed) io.err(printableLines(`Using the server ${nameSource(only)}.`));
  return { source: only, skills };
}

const nameSource = (source: Source) =>
  source.kind === "server" ? `"${source.name}"${source.via === undefined ? "" : ` (${source.via})`}` : source.file;

/**
 * The skills that a run finds, and those in `skills`, where plugins have them; the servers of hosts or of the package,
 * and those of the user only if alone.
 */
async function findTargets(name: string[] | undefined, io: Io) {
  const { roots } = await findSkillFolders({}, io);
  const ofPlugin = { dir: resolve(io.cwd, "skills"), level: "plugin" as const };
  const { skills } = await discoverSkills([...roots, ofPlugin], { cwd: io.cwd });
  const folders = [...new Set(skills.map(({ file }) => dirname(dirname(file))))];
  const files = new Set((await findRegisteredServers(io)).map(({ file }) => file));
  const config = [...files].filter((file) => folders.length === 0 || !isAbsolute(file));
  const own = config.length > 0 ? [] : await findOwnServer(io);
  const claims = own.map((text) => ({ kind: "program" as const, text, file: "package.json" }));
  await requireTrust(claims, io);
  const isFound = config.length + own.length > 0;
  const { targets } = isFound ? await resolveTargets({ config, name, server: own }, io) : { targets: [] };
  return { targets: [...targets, ...folders.map((dir): Target => ({ kind: "skills", dir }))] };
}

/** The command line of the program of a package that depends on an SDK of the protocol, if it is built. */
async function findOwnServer({ cwd }: Io): Promise<string[]> {
  const { bin, dependencies } = await readPackage(cwd);
  const [path] = isJsonObject(bin) ? Object.values(bin) : [bin];
  const isServer = Object.keys(dependencies ?? {}).some((one) => one.startsWith("@modelcontextprotocol/"));
  return isServer && typeof path === "string" && existsSync(resolve(cwd, path)) ? [`node ${shellWord(path)}`] : [];
}

const slug = (name: string) =>
  name
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "") || "server";

function refuseExisting(file: string, hint: string, io: Io): void {
  if (existsSync(resolve(io.cwd, file))) throw usageError(`${file} exists already, and is kept.`, hint);
}

const write = (file: string, content: string, io: Io) =>
  writeOutput(resolve(io.cwd, file), content, io, { flag: "wx" });

/** In a repository, adds the folder of run records to `.gitignore`. Returns a description of what was written. */
async function ignoreReports(io: Io): Promise<string[]> {
  const path = resolve(io.cwd, ".gitignore");
  const before = await readRegularFile(path).catch(() => undefined);
  if (before === undefined && !existsSync(resolve(io.cwd, ".git"))) return [];
  const lines = (before ?? "").split(/\r?\n/).map((line) => line.trim());
  if (lines.some((line) => /^\/?reports\/?\*?$/.test(line))) return [];
  const gap = before === undefined || before === "" || before.endsWith("\n") ? "" : "\n";
  await writeOutput(path, `${gap}/reports/\n`, io, { flag: "a" });
  return ["Added /reports/, the folder of run records, to .gitignore."];
}

async function writeWorkflow(io: Io): Promise<Block[]> {
  const files = [...(await findSuites(io)), ".mcp.json"].map((file) => resolve(io.cwd, file));
  const texts = await Promise.all(files.map((file) => readRegularFile(file).catch(() => "")));
  const { content, secrets, add } = await renderWorkflow(texts, io);
  const file = locateWorkflow(io.cwd);
  await write(file, content, io);
  const needed = "It needs tool-evals as a dependency. Add it, and commit the lock file:";
  return [
    text(`Wrote ${file}. Add to the repository's secrets: ${secrets.join(", ")}.`),
    list("step", add === undefined ? [] : [{ text: needed, command: add }]),
  ];
}
