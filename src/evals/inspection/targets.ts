import { existsSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { basename, delimiter, join, relative, resolve } from "node:path";
import { groupBy, schedule } from "../base/collections.ts";
import { shellWord } from "../base/text/display.ts";
import { EvalsError, type Problem, usageError } from "../base/types/errors.ts";
import type { Io } from "../base/types/io.ts";
import type { Suite } from "../base/types/suite.ts";
import type { Configuration, ServerSpec } from "../base/types/suiteFile.ts";
import { claimServer, requireTrust } from "../experiments/workspace/trust.ts";
import { findEntry, type HostFile, listEnabled, readHostFile, unknownServer } from "../input/hostFiles.ts";
import { findOfferedFolder, realPath } from "../input/parsing/folders.ts";
import { discover, type NamedBy, recognize } from "../input/suites/discover.ts";
import { expandVariables, type LiveServer } from "../servers/spec.ts";
import { parseCommandLine } from "./shell.ts";

/** How lint, probe and doctor name what they inspect. `name` selects servers of the `config` files. */
export type TargetOptions = {
  paths?: string[] | undefined;
  server?: string[] | undefined;
  url?: string[] | undefined;
  transport?: "http" | "sse" | undefined;
  config?: string[] | undefined;
  name?: string[] | undefined;
  tools?: string[] | undefined;
  skills?: string[] | undefined;
};

export type ServerTarget = {
  kind: "server";
  /** How messages name it: its command line, its URL, or its name in a suite or host configuration. */
  name: string;
  server: LiveServer;
  /** The folder that relative paths start from. */
  dir: string;
  /** The suite or host configuration that names it. */
  via?: string;
  /** Its entry in a host configuration. */
  registration?: { host: HostFile; name: string };
  /** The flags or path that name it on a command line. */
  flags: string;
  /** The suites that test it; empty for a distractor, and for a server that a flag names. */
  suites: Suite[];
  /** Set for a server that suites only list next to the one that they test. */
  isDistractor?: boolean;
};

/** A tool list in a file, relative to the working directory. */
type ToolListTarget = { kind: "tool list"; file: string; suites: Suite[] };

/** The skill packages in a folder, or the package that the folder is. `only`: the names of the folders to use in it. */
export type SkillsTarget = {
  kind: "skills";
  dir: string;
  only?: string[];
  /** Set if nothing names the folder: a run finds skills there. */
  isFound?: true;
};

export type SuiteTarget = { kind: "suite"; suite: Suite };

export type Source = ServerTarget | ToolListTarget;

export type Target = Source | SkillsTarget | SuiteTarget;

/** Whether distractor servers are targets too, and, if nothing is named, the skills that a run finds. */
type TargetSettings = { distractors?: boolean; projectSkills?: boolean };

/**
 * Everything that the command line names, or what is under `evals/` if it names nothing. A server that several suites
 * share is one target. Throws EvalsError for what is missing, malformed or not trusted.
 */
export async function resolveTargets(options: TargetOptions, io: Io, settings: TargetSettings = {}): Promise<Resolved> {
  const found = await findTargets(options, io, settings);
  const claims = found.targets.flatMap((one) =>
    one.kind === "server" && one.via !== undefined ? [claimServer(one.server, one.dir, one.via)] : [],
  );
  await requireTrust((await Promise.all(claims)).flat(), io);
  return found;
}

type Resolved = { targets: Target[]; warnings: Problem[] };

async function findTargets(options: TargetOptions, io: Io, settings: TargetSettings): Promise<Resolved> {
  const { transport, name = [], skills = [] } = options;
  const named: Record<NamedBy, string[]> = { paths: [], server: [], url: [], config: [], tools: [] };
  for (const by of ["server", "url", "config", "tools"] as const) named[by].push(...(options[by] ?? []));
  // A word on the command line stands for a flag, or for suites and skill packages.
  for (const word of options.paths ?? []) {
    const by = await recognize(word, io.cwd);
    const message = `There is no file or folder "${word}", but a program of that name.`;
    if (by === "paths" && isOnPath(word, io) && !existsSync(resolve(io.cwd, word)))
      throw usageError(message, `Name a program with --server ${word}.`);
    named[by].push(word);
  }
  const { paths } = named;
  for (const folder of skills) await requireFolder(folder, io);
  if (name.length > 0 && named.config.length === 0) {
    const hint = await suggestRegistered(name[0] ?? "", io);
    throw usageError("--name needs --config.", hint ?? "Name the host configuration file with --config.");
  }
  const flagged: Target[] = [
    ...(await Promise.all(named.server.map((line) => resolveCommand(line, io)))),
    ...named.url.map((one) => resolveUrl(one, transport, io)),
    ...named.tools.map((file): ToolListTarget => ({ kind: "tool list", file, suites: [] })),
    ...(await Promise.all(skills.map((dir) => resolveSkills(dir, io)))).flat(),
    ...(await resolveConfigs(named.config, name, io)),
  ];
  if (paths.length === 0 && flagged.length > 0) return { targets: flagged, warnings: [] };
  const found = await resolvePaths(paths, io, settings);
  return { targets: [...found.targets, ...flagged], warnings: found.warnings };
}

/** The suites and eval files under `evals/`. */
export async function findSuites({ cwd }: Pick<Io, "cwd">): Promise<string[]> {
  if (!existsSync(resolve(cwd, "evals"))) return [];
  const { files, packages } = await discover(["evals"], cwd);
  return [...files, ...packages];
}

/** What to do next, with commands that name the targets as these options do: `lint`, and `ask` or draft a suite. */
export async function describeNext(options: TargetOptions, targets: readonly Target[], io: Io) {
  const { paths = [] } = options;
  const flags = (["server", "url", "transport", "config", "name", "tools"] as const).flatMap((flag) =>
    [options[flag] ?? []].flat().map((value) => `--${flag} ${shellWord(value)}`),
  );
  const lint = ["evals lint", ...paths.map(shellWord), ...flags].join(" ") + repeatEnv(io);
  const hasSuites = targets.some((one) => one.kind === "suite" || one.kind === "skills" || one.suites.length > 0);
  const run = ["evals run", ...(hasSuites ? paths.map(shellWord) : [])].join(" ");
  const [first] = targets.flatMap((one) =>
    one.kind === "server" ? [one.flags] : one.kind === "tool list" ? [shellWord(one.file)] : [],
  );
  const isAsked = hasSuites || first === undefined || (await findSuites(io)).length > 0;
  return {
    lint: `\`${lint}\``,
    ask: isAsked ? `see what a model picks with \`${run}\`` : `draft a suite with \`evals init ${first}\``,
  };
}

/** How many servers are started at the same time: more would slow each other down. */
const concurrency = 4;

/** The results of work, on four at a time, in the order of the targets; of those that were begun before a stop. */
export async function forEachTarget<T, R>(targets: readonly T[], io: Io, work: (one: T) => Promise<R>): Promise<R[]> {
  const results: R[][] = targets.map(() => []);
  await schedule(targets.entries(), concurrency, io.signal, async ([at, target]) => {
    results[at] = [await work(target)];
  });
  return results.flat(1) as R[];
}

/** A package or a folder of packages; if it is neither, the packages deeper inside it. */
async function resolveSkills(dir: string, io: Io): Promise<SkillsTarget[]> {
  const folder = resolve(io.cwd, dir);
  const names = await readdir(folder).catch((): string[] => []);
  const isDirect = ["", ...names].some((name) => existsSync(join(folder, name, "SKILL.md")));
  const packages = isDirect ? [] : (await discover([dir], io.cwd)).packages;
  return packages.length > 0 ? groupPackages(packages, io) : [{ kind: "skills", dir }];
}

/** Throws EvalsError if the folder does not exist. */
export async function requireFolder(folder: string, io: Io): Promise<void> {
  const found = await stat(resolve(io.cwd, folder)).catch(() => undefined);
  if (!found?.isDirectory())
    throw usageError(`The folder "${folder}" does not exist.`, "Name a skill package, or a folder of skill packages.");
}

function isOnPath(word: string, { env }: Io): boolean {
  const folders = (env.PATH ?? env.Path ?? "").split(delimiter).filter(Boolean);
  return /^[\w.-]+$/.test(word) && folders.some((folder) => existsSync(join(folder, word)));
}

async function resolveCommand(line: string, io: Io): Promise<ServerTarget> {
  const hint = /^[\w.-]+$/.test(line) && !isOnPath(line, io) ? await suggestRegistered(line, io) : undefined;
  if (hint !== undefined) throw usageError(`There is no program "${line}".`, hint);
  const flags = `--server ${shellWord(line)}${repeatEnv(io)}`;
  return { kind: "server", name: line, server: parseCommandLine(line), dir: io.cwd, flags, suites: [] };
}

/** The flags that give servers the same variables again, without values. */
const repeatEnv = ({ env, serverEnv = {} }: Io) =>
  Object.entries(serverEnv)
    .map(([name, value]) => ` --env ${name}${value === "" ? "=" : env[name] === value ? "" : "=..."}`)
    .join("");

/** How to use the server with this name in a host configuration file; undefined if no file has one. */
export async function suggestRegistered(name: string, io: Io): Promise<string | undefined> {
  const { findRegisteredServers } = await import("./findServers.ts");
  const file = (await findRegisteredServers(io)).find((server) => server.name === name)?.file;
  if (file === undefined) return undefined;
  return `${file} has a server "${name}": use --config ${shellWord(file)} --name ${shellWord(name)} for that one.`;
}

function resolveUrl(url: string, transport: TargetOptions["transport"], io: Io): ServerTarget {
  const filled = expandVariables({ url }, io.env, "--url").spec.url;
  if (!/^https?:\/\/./i.test(filled) || !URL.canParse(filled))
    throw usageError(`--url ${url} is not an HTTP or HTTPS URL.`, "Write it as https://host/path.");
  const flags = `--url ${shellWord(url)}${transport === "sse" ? " --transport sse" : ""}`;
  const server = { url, ...(transport && { transport }) };
  return { kind: "server", name: hideSecrets(url), server, dir: io.cwd, flags, suites: [] };
}

/** A URL without the parts that may be secret: user, password, query and fragment. */
export function hideSecrets(url: string): string {
  if (!URL.canParse(url)) return url;
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

/** The servers of host configuration files, or those with these names. Throws EvalsError for an unknown name. */
async function resolveConfigs(files: string[], names: string[], io: Io, dir = io.cwd): Promise<ServerTarget[]> {
  const hosts = await Promise.all(files.map((file) => readHostFile(resolve(io.cwd, file), dir, file)));
  const all = hosts.flatMap((host) => [...host.entries.keys()].map((name) => ({ host, name })));
  const missing = names.find((wanted) => !all.some(({ name }) => name === wanted));
  if (missing !== undefined) throw unknownServer(missing, hosts);
  const selected = all.filter(({ host, name }) => (names.length > 0 ? names : listEnabled(host)).includes(name));
  if (all.length > 0 && selected.length === 0) throw usageError("All servers are disabled.", "Name one with --name.");
  return selected.map(({ host, name }) => ({
    kind: "server",
    name,
    server: { config: host.path, name },
    dir,
    via: host.file,
    registration: { host, name },
    flags: `--config ${shellWord(host.file)} --name ${shellWord(name)}${repeatEnv(io)}`,
    suites: [],
  }));
}

async function resolvePaths(paths: readonly string[], io: Io, { distractors, projectSkills }: TargetSettings) {
  const { loadSuites } = await import("../input/suites/load.ts");
  const { files, packages, warnings, parsed } = await discover(paths, io.cwd);
  const ofProject = projectSkills && paths.length === 0 ? await findProjectSkills(packages, io) : [];
  if (files.length + packages.length + ofProject.length === 0) {
    const message = `There is no suite and no skill package under ${paths.join(", ") || "evals/ and skills/"}.`;
    const hint =
      "Name a suite, a skill package (its queries are in evals/evals.json), a tool list, a host configuration, a URL, or a command line in quotes; `evals init` drafts suites and queries.";
    throw new EvalsError([{ severity: "error", message, hint }, ...warnings]);
  }
  const loaded = await loadSuites(files, { cwd: io.cwd, parsed });
  return {
    targets: [...(await resolveSuites(loaded.suites, io, distractors)), ...groupPackages(packages, io), ...ofProject],
    warnings: [...warnings, ...loaded.warnings],
  };
}

/** The folders in which a run finds the skills of the project. A package that was found before is not used again. */
async function findProjectSkills(known: readonly string[], io: Io): Promise<SkillsTarget[]> {
  const { findSkillFolders } = await import("../experiments/workspace/skills.ts");
  const { formatRules } = await import("../input/skills/hosts.ts");
  const seen = new Set(known.map((path) => realPath(resolve(io.cwd, path))));
  const targets: SkillsTarget[] = [];
  for (const { dir } of (await findSkillFolders({}, io)).roots) {
    const names = (await readdir(dir, { withFileTypes: true }).catch(() => []))
      .filter((entry) => (entry.isDirectory() || entry.isSymbolicLink()) && formatRules.isSearched(entry.name))
      .map(({ name }) => name);
    const only = names.filter((name) => !seen.has(realPath(join(dir, name))));
    for (const name of only) seen.add(realPath(join(dir, name)));
    const folder: SkillsTarget = { kind: "skills", dir: relative(io.cwd, dir), isFound: true };
    if (only.length > 0) targets.push({ ...folder, ...(only.length < names.length && { only }) });
  }
  return targets;
}

/** Groups packages by folder, because a package is linted next to the others that hosts load with it. */
function groupPackages(packages: readonly string[], io: Io): SkillsTarget[] {
  const dirs = packages.map((path) => realPath(resolve(io.cwd, path)) ?? resolve(io.cwd, path));
  const folders = groupBy(dirs, (dir) => findOfferedFolder(dir, io.cwd));
  return [...folders].map(([dir, own]) => ({ kind: "skills", dir, only: own.map((one) => basename(one)) }));
}

async function resolveSuites(suites: readonly Suite[], io: Io, distractors = false): Promise<Target[]> {
  const targets = new Map<string, Target>();
  const makeKey = (server: ServerSpec | Configuration, dir: string) => JSON.stringify([server, dir]);
  for (const suite of suites) {
    const { server, dir } = suite;
    const key = server ? makeKey(server, dir) : JSON.stringify(suite.name);
    const known = targets.get(key);
    if (!server) targets.set(key, { kind: "suite", suite });
    else if (known && "suites" in known) known.suites.push(suite);
    else if ("all" in server) {
      const file = relative(io.cwd, resolve(dir, server.config));
      for (const one of await resolveConfigs([file], [], io, dir)) targets.set(makeKey(one.server, one.dir), one);
      targets.set(JSON.stringify(suite.name), { kind: "suite", suite });
    } else if ("tools" in server)
      targets.set(key, { kind: "tool list", file: resolve(dir, server.tools), suites: [suite] });
    else targets.set(key, { ...(await resolveSuiteServer(server, suite, suite.name, io)), suites: [suite] });
  }
  if (!distractors) return [...targets.values()];
  for (const suite of suites)
    for (const [at, server] of suite.distractors.entries()) {
      const key = makeKey(server, suite.dir);
      if ("tools" in server || targets.has(key)) continue;
      const target = await resolveSuiteServer(server, suite, `${suite.name}, distractor ${at + 1}`, io);
      targets.set(key, { ...target, isDistractor: true });
    }
  return [...targets.values()];
}

async function resolveSuiteServer(server: LiveServer, suite: Suite, name: string, io: Io): Promise<ServerTarget> {
  const { dir, file } = suite;
  const target: ServerTarget = { kind: "server", name, server, dir, via: file, flags: shellWord(file), suites: [] };
  if (!("config" in server)) return target;
  const path = resolve(dir, server.config);
  const host = await readHostFile(path, dir, relative(io.cwd, path));
  findEntry(host, server.name);
  return { ...target, name: server.name, registration: { host, name: server.name } };
}

/** The servers among the targets, and a warning for each other target. Throws EvalsError when there is none. */
export function selectServers(targets: readonly Target[]): { servers: ServerTarget[]; warnings: Problem[] } {
  const servers = targets.filter((target) => target.kind === "server");
  const warnings = targets.flatMap(explainSkipped);
  if (servers.length > 0) return { servers, warnings };
  const message = "There is no live server among the targets.";
  const hint = "Name one with --server, --url or --config, or a suite whose server has a command or a URL.";
  throw new EvalsError([{ severity: "error", message, hint }, ...warnings]);
}

function explainSkipped(target: Target): Problem[] {
  if (target.kind === "server") return [];
  if (target.kind === "skills") {
    const message = `Skill packages are skipped: ${target.only?.join(", ") ?? target.dir}.`;
    return [{ severity: "warning", message, hint: "Lint them with `evals lint`." }];
  }
  const hint = "Only a live server can be started and called. Give the suite a server with a command or a URL.";
  // The servers of a whole configuration are targets of their own.
  if (target.kind === "suite" && target.suite.server) return [];
  const suites = target.kind === "suite" ? [target.suite] : target.suites;
  return suites.map(({ file }) => ({
    severity: "warning",
    message: `This suite is skipped: it has ${target.kind === "suite" ? "no server" : "a static tool list"}.`,
    hint,
    location: { file },
  }));
}
