import { existsSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { readRegularFile } from "../../base/files/readRegularFile.ts";
import { listProperties } from "../../base/jsonSchema/values.ts";
import { knownSecrets, redactValue } from "../../base/secrets/secrets.ts";
import { printableLines, visible } from "../../base/secrets/visible.ts";
import { type ExitCode, exitCodes, formatProblem, usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import { isJsonObject, type Json } from "../../base/types/json.ts";
import type { DispatchRules, ServerSpec } from "../../base/types/suite.ts";
import type { Tool } from "../../base/types/tool.ts";
import { writeOutput } from "../../experiments/workspace/writeOutput.ts";
import { discover } from "../../input/suites/discover.ts";
import { text } from "../../reports/document.ts";
import { count } from "../../reports/format.ts";
import { renderTerminal } from "../../reports/terminal.ts";
import { resolveServer } from "../../servers/spec.ts";
import { parseTools, readStaticList } from "../../servers/toolList.ts";
import { recogniseDispatchers } from "../dispatchers.ts";
import { findRegisteredServers, type RegisteredServer } from "../findServers.ts";
import { resolveTargets, type ServerTarget } from "../targets.ts";
import { listServer } from "../tools.ts";
import { type Draft, draftCases } from "./draft.ts";
import { renderSuite } from "./suiteText.ts";

export type InitOptions = {
  server?: string | undefined;
  url?: string | undefined;
  transport?: "http" | "sse" | undefined;
  config?: string | undefined;
  name?: string | undefined;
  file?: string | undefined;
  ci?: "github" | undefined;
  /** A file with the tools behind dispatchers. */
  catalog?: string | undefined;
};

/** Drafts cases for tools; undefined when the user cancels. */
export type DraftTools = (tools: readonly Tool[]) => Promise<Draft | undefined>;

/**
 * `evals init`: lists the tools of one server and writes a suite with drafted cases, an entry in `.gitignore` and, on
 * request, a workflow. On a terminal it prompts for the server. A project that has suites and names no server gets the
 * workflow alone. Never overwrites a file. Throws EvalsError.
 */
export async function init(options: InitOptions, io: Io, draftTools?: DraftTools): Promise<ExitCode> {
  const { ci, server: commandLine, url, config, name: serverName, file: suiteFile, catalog } = options;
  if (ci !== undefined) refuseExisting(workflowFile, "Remove it first, or leave out --ci.", io);
  const given = [commandLine, url, config, serverName, suiteFile, catalog, draftTools];
  if (ci !== undefined && given.every((one) => one === undefined) && (await hasSuites(io))) {
    const wrote = await writeWorkflow(io);
    const next = `Next: add the secret ${workflowSecret} to the repository, and commit the file.`;
    io.out(renderTerminal([text(`Wrote ${wrote}.`), text(next)], io));
    return exitCodes.passed;
  }
  const target = await chooseServer(options, io);
  if (!target) return cancel(io);
  const listed = await listServer(target, io);
  // A server decides on its name and tools, which become a file name, ids and comments.
  const { name, items } = redactValue(listed, io);
  const tools = parseTools(name, items);
  if (tools.length === 0)
    throw usageError(`Server "${name}" lists no tools.`, "Check that it is the right server: evals doctor.");
  const file = options.file ?? `evals/${slug(name)}.yaml`;
  refuseExisting(file, "Name another file with --file.", io);
  const dispatch = recogniseDispatchers((items as readonly Json[]).filter(isJsonObject));
  const behind = await listBehind(dispatch, tools, options.catalog, io);
  // A call of a dispatcher counts as one of the tool inside, so that is what a case expects.
  const askable = [...tools.filter((tool) => !Object.hasOwn(dispatch, tool.name)), ...behind];
  const draft = draftTools ? await draftTools(askable) : draftCases(askable);
  if (!draft) return cancel(io);
  const toProject = `${relative(dirname(resolve(io.cwd, file)), io.cwd) || "."}/`;
  const { server, variables } = await describeServer(target, toProject, io);
  await write(
    file,
    renderSuite(redactValue(draft, io), {
      server,
      name,
      toProject,
      dispatch,
      ...(options.catalog !== undefined && { catalog: `${toProject}${options.catalog}` }),
    }),
    io,
  );
  warnOfVariables(file, variables, io);
  const drafted = draft.cases.filter(({ tool }) => tool !== undefined).length;
  const done = [
    askable.length === 0
      ? `${file}: ${count(draft.cases.length, "draft")} that need no tool, because every tool of ${visible(name)} calls or finds others: name a list of those with --catalog`
      : `${file}: drafts for ${drafted} of ${count(askable.length, "tool")} of ${visible(name)}, and ${draft.cases.length - drafted} that need no tool`,
    ...(await ignoreReports(io)),
    ...(ci === undefined ? [] : [await writeWorkflow(io)]),
  ];
  const isInstalled = existsSync(resolve(io.cwd, "node_modules/tool-evals"));
  io.out(
    renderTerminal(
      [
        text(...done.map((line) => `Wrote ${line}.`)),
        text(
          `Next: ${isInstalled ? "" : "`npm i -D tool-evals`, then "}\`npx evals run ${file}\`, which asks a keyword search and needs no key.`,
          "Then replace the drafted queries by what your users write, and ask a language model with `-m anthropic:claude-haiku-5-5` (`--dry-run` prints its cost).",
        ),
      ],
      io,
    ),
  );
  return exitCodes.passed;
}

function cancel(io: Io): ExitCode {
  io.err("Cancelled: nothing was written.\n");
  return exitCodes.usage;
}

/** The tools behind dispatchers: those of the catalog, or those that the enum of a schema names. */
async function listBehind(
  dispatch: DispatchRules,
  tools: readonly Tool[],
  catalog: string | undefined,
  io: Io,
): Promise<readonly Tool[]> {
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

/** The server of the flags, else the only one in host configurations, else the one chosen at a prompt. */
async function chooseServer({ server, url, config, name, transport }: InitOptions, io: Io) {
  if (server !== undefined || url !== undefined || config !== undefined)
    return await resolveOne(
      {
        ...(server !== undefined && { server: [server] }),
        ...(url !== undefined && { url: [url], transport }),
        ...(config !== undefined && { config: [config], ...(name !== undefined && { name: [name] }) }),
      },
      io,
    );
  const found = await findRegisteredServers(io);
  const named = name === undefined ? found : found.filter((one) => one.name === name);
  const [only, ...others] = named;
  if (only && others.length === 0) {
    io.err(printableLines(`Using the server "${only.name}" of ${only.file}.`));
    return await resolveRegistered(only, io);
  }
  if (io.prompts && name === undefined) return await promptForServer(found, io.prompts, io);
  const names = found.map((one) => `"${one.name}" (${one.file})`).join(", ");
  if (found.length > 0)
    throw usageError(
      name === undefined ? `There are ${found.length} servers: ${names}.` : `There is no server "${name}".`,
      `Name one with --name, for example --name ${found[0]?.name}${name === undefined ? "" : `; there are ${names}`}.`,
    );
  throw usageError(
    "No server is named, and no host configuration (.mcp.json, .vscode/mcp.json, .cursor/mcp.json, Claude Desktop) has one.",
    'Name yours: evals init --server "node dist/server.js", or --url https://example.com/mcp.',
  );
}

/** Asks for a registered server, or for a command line or URL. Returns undefined if the user cancels. */
async function promptForServer(
  found: readonly RegisteredServer[],
  prompts: NonNullable<Io["prompts"]>,
  io: Io,
): Promise<ServerTarget | undefined> {
  const options = found.map(({ name, file }, at) => ({ value: String(at), label: visible(name), hint: file }));
  const picked =
    found.length === 0
      ? "other"
      : await prompts.select("Which server?", [...options, { value: "other", label: "Another one" }]);
  if (picked === undefined) return undefined;
  const registered = found[Number(picked)];
  if (registered) return await resolveRegistered(registered, io);
  const typed = await prompts.text("How is it started or reached?", "node dist/server.js, or https://example.com/mcp");
  if (!typed) return undefined;
  return await resolveOne(/^https?:/i.test(typed) ? { url: [typed] } : { server: [typed] }, io);
}

const resolveRegistered = ({ name, file }: RegisteredServer, io: Io) =>
  resolveOne({ config: [file], name: [name] }, io);

async function resolveOne(options: Parameters<typeof resolveTargets>[0], io: Io): Promise<ServerTarget> {
  const { targets } = await resolveTargets(options, io);
  const [only, ...others] = targets.filter((target) => target.kind === "server");
  if (only && others.length === 0) return only;
  const names = targets.map((target) => ("name" in target ? `"${target.name}"` : "")).join(", ");
  throw usageError(`A suite is about one server, but there are ${targets.length}: ${names}.`, "Name one with --name.");
}

/** `variables`: the environment variables that stand for secrets of the server, with these values. */
export type DescribedServer = { server: ServerSpec; variables: Readonly<Record<string, string>> };

/**
 * The server as the suite names it: by its entry in a configuration of the project, else with references to environment
 * variables in place of known secrets, and of the literal values in a configuration of the user.
 */
export async function describeServer(target: ServerTarget, toProject: string, io: Io): Promise<DescribedServer> {
  const { server, registration } = target;
  if (registration) {
    const inside = relative(io.cwd, registration.host.path);
    if (!inside.startsWith(".."))
      return { server: { config: `${toProject}${inside}`, name: registration.name }, variables: {} };
  }
  const variables = new Map<string, string>();
  const refer = (name: string, value: string) => {
    let variable = name;
    for (let at = 2; (variables.get(variable) ?? value) !== value; at++) variable = `${name}_${at}`;
    variables.set(variable, value);
    return `\${${variable}}`;
  };
  // The value of a variable, such as one that the shell has filled in, is that variable again.
  const secrets = knownSecrets(io.env);
  const hide = (text: string) =>
    secrets.replace(text, (name, form) => refer(io.env[name] === form ? name : "MCP_SECRET", form));
  // A value of a configuration that is a reference itself stays.
  const hideAll = (values: Record<string, string>) =>
    Object.fromEntries(
      Object.entries(values).map(([key, value]) => [
        key,
        value.includes("${") ? value : refer(key.replace(/\W/g, "_").toUpperCase(), value),
      ]),
    );
  const spec =
    "config" in server
      ? (await resolveServer(server, target.name, target.dir, {}, registration?.host)).spec
      : "command" in server
        ? { ...server, cwd: toProject.replace(/\/$/, "") }
        : server;
  const described =
    "command" in spec
      ? {
          ...spec,
          command: hide(spec.command),
          ...(spec.args && { args: spec.args.map(hide) }),
          ...(spec.env && { env: hideAll(spec.env) }),
        }
      : { ...spec, url: hide(spec.url), ...(spec.headers && { headers: hideAll(spec.headers) }) };
  return { server: described, variables: Object.fromEntries(variables) };
}

/** Says which variables a suite needs because secrets of its server are not written into it. */
export function warnOfVariables(file: string, variables: DescribedServer["variables"], io: Io): void {
  const names = Object.keys(variables);
  const unset = names.filter((name) => io.env[name] !== variables[name]);
  if (names.length === 0) return;
  const message = `${file} has ${names.map((name) => `\${${name}}`).join(", ")} in place of ${names.length === 1 ? "a value" : "values"} of the server that may be secret.`;
  const hint = unset.length > 0 && `Set ${unset.join(", ")} in the environment before you run the suite.`;
  io.err(`${formatProblem({ severity: "warning", message, ...(hint && { hint }) })}\n`);
}

/** The name of a server for a file name. */
export const slug = (name: string) =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "") || "server";

function refuseExisting(file: string, hint: string, io: Io): void {
  if (existsSync(resolve(io.cwd, file))) throw usageError(`${file} exists already, and is kept.`, hint);
}

async function hasSuites({ cwd }: Io): Promise<boolean> {
  if (!existsSync(resolve(cwd, "evals"))) return false;
  const { files, packages } = await discover(["evals"], cwd);
  return files.length + packages.length > 0;
}

const write = (file: string, text: string, io: Io) => writeOutput(resolve(io.cwd, file), text, io, { flag: "wx" });

/** In a repository, adds the folder of run records to `.gitignore`. Returns a description of what was written. */
async function ignoreReports(io: Io): Promise<string[]> {
  const path = resolve(io.cwd, ".gitignore");
  const before = await readRegularFile(path).catch(() => undefined);
  if (before === undefined && !existsSync(resolve(io.cwd, ".git"))) return [];
  const lines = (before ?? "").split(/\r?\n/).map((line) => line.trim());
  if (lines.some((line) => /^\/?reports\/?\*?$/.test(line))) return [];
  const gap = before === undefined || before === "" || before.endsWith("\n") ? "" : "\n";
  await writeOutput(path, `${gap}/reports/\n`, io, { flag: "a" });
  return [".gitignore: /reports/, the folder of run records"];
}

/** Returns a description of what was written. */
async function writeWorkflow(io: Io): Promise<string> {
  await write(workflowFile, workflow, io);
  return `${workflowFile}: lint, and run where the secret ${workflowSecret} is set, on every pull request`;
}

const workflowFile = ".github/workflows/evals.yml";
const workflowSecret = "ANTHROPIC_API_KEY";
const workflow = `name: evals
on: pull_request
permissions: { contents: read, pull-requests: write }
jobs:
  evals:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v5
      - uses: actions/setup-node@v5
        with: { node-version: 22, cache: npm }
      - run: npm ci
      # Lints, then asks the model. Without its key, as in pull requests from forks, the model is not asked.
      - uses: ./node_modules/tool-evals
        with: { model: "anthropic:claude-haiku-5-5", args: --budget 1 --blame, comment: "true" }
        env: { ANTHROPIC_API_KEY: "\${{ secrets.ANTHROPIC_API_KEY }}" }
      - if: always()
        uses: actions/upload-artifact@v5
        with: { name: evals, path: reports }
`;
