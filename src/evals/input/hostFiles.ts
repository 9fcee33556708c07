import { basename, dirname, join, resolve, sep } from "node:path";
import { didYouMean } from "../base/text/nearest.ts";
import { cut } from "../base/text/text.ts";
import { type EvalsError, type Location, type Problem, usageError } from "../base/types/errors.ts";
import { getAtPath, isJsonObject, type Json, type JsonObject, type Path, parseJsonText } from "../base/types/json.ts";
import { maxBytes, readParsed, readText } from "./parsing/read.ts";

// All that differs between the configuration files of hosts: where they are, where they register servers, and how an
// entry is written. The rest of the program reads one form, that of `.mcp.json`, with the filter of tools and what is
// not supported.

/** The files of a host below the folder of a project and below the home folder, and where they register servers. */
type HostFiles = { title: string; project?: readonly string[]; home?: readonly string[]; key: string };

const goose = "goose/config.yaml";
const userData = "Library/Application Support/";
const inUserData = (file: string) => [userData + file, `.config/${file}`];
const codeSettings = inUserData("Code/User/settings.json");

/** In the order in which a project or a user is searched. */
const hosts: readonly HostFiles[] = [
  { title: "Claude Code", project: [".mcp.json"], home: [".claude.json"], key: "mcpServers" },
  { title: "Claude Code", project: [".claude-plugin/plugin.json"], key: "mcpServers" },
  { title: "VS Code", project: [".vscode/mcp.json"], home: inUserData("Code/User/mcp.json"), key: "servers" },
  { title: "VS Code", project: [".vscode/settings.json"], home: codeSettings, key: "mcp.servers" },
  { title: "VS Code", key: "settings.mcp.servers" },
  { title: "VS Code", project: [".devcontainer/devcontainer.json"], key: "customizations.vscode.mcp.servers" },
  { title: "Cursor", project: [".cursor/mcp.json"], home: [".cursor/mcp.json"], key: "mcpServers" },
  { title: "Gemini CLI", project: [".gemini/settings.json"], home: [".gemini/settings.json"], key: "mcpServers" },
  { title: "Qwen Code", project: [".qwen/settings.json"], home: [".qwen/settings.json"], key: "mcpServers" },
  { title: "Codex", project: [".codex/config.toml"], home: [".codex/config.toml"], key: "mcp_servers" },
  { title: "opencode", project: ["opencode.json"], home: [".config/opencode/opencode.json"], key: "mcp" },
  { title: "opencode", project: ["opencode.jsonc"], key: "mcp" },
  { title: "Zed", project: [".zed/settings.json"], home: [".config/zed/settings.json"], key: "context_servers" },
  { title: "Kiro", project: [".kiro/settings/mcp.json"], home: [".kiro/settings/mcp.json"], key: "mcpServers" },
  { title: "Amazon Q", project: [".amazonq/mcp.json"], home: [".aws/amazonq/mcp.json"], key: "mcpServers" },
  { title: "Roo Code", project: [".roo/mcp.json"], key: "mcpServers" },
  { title: "Junie", project: [".junie/mcp/mcp.json"], home: [".junie/mcp/mcp.json"], key: "mcpServers" },
  { title: "Continue", project: [".continue/config.yaml"], home: [".continue/config.yaml"], key: "mcpServers" },
  { title: "Claude Desktop", home: inUserData("Claude/claude_desktop_config.json"), key: "mcpServers" },
  { title: "Windsurf", home: [".codeium/windsurf/mcp_config.json"], key: "mcpServers" },
  { title: "LM Studio", home: [".lmstudio/mcp.json"], key: "mcpServers" },
  { title: "Amp", project: [".amp/settings.json"], home: [".config/amp/settings.json"], key: "amp.mcpServers" },
  { title: "Copilot CLI", home: [".copilot/mcp-config.json"], key: "mcpServers" },
  { title: "goose", home: [`.config/${goose}`], key: "extensions" },
];

/** The hosts whose files are read, for documentation. */
export const hostFileTitles = hosts.map(({ title }) => title);

/** The files of hosts below the folder of a project or below the home folder. */
export const listHostFiles = (location: "project" | "home") => [
  ...new Set(hosts.flatMap((host) => (host[location] ?? []).map(String))),
];

/** Under Windows, in the folder for application data. */
export const windowsHostFiles = [
  ...listHostFiles("home").flatMap((file) => (file.startsWith(userData) ? file.slice(userData.length) : [])),
  `Block/${goose}`,
];

/** The folder in which a host starts a server. `isOfProject`: it is that of a project, not of the file. */
type Project = { dir: string; isOfProject: boolean };

function locateProject(path: string): Project {
  const found = listHostFiles("project").find((file) => path.split(sep).join("/").endsWith(`/${file}`));
  const dir = found?.split("/").reduce((folder) => dirname(folder), path);
  return { dir: dir ?? dirname(path), isOfProject: dir !== undefined };
}

/** Where a file of any host can register servers. In VS Code, a key with dots stands for nested objects too. */
const keyPaths = [...new Set(hosts.map(({ key }) => key))].flatMap((key) => [[key], key.split(".")]);

/** The names of servers, and the path of each in its file. */
type Registered = readonly (readonly [name: string, path: Path])[];

/** The servers that an object in the content of a host's file registers, and where; undefined if it registers none. */
function findServers(root: Json, inside: Path = []): { path: Path; servers: Registered } | undefined {
  for (const keys of keyPaths) {
    const path = [...inside, ...keys];
    const servers = getAtPath(root, path);
    // Continue has a list of entries with names.
    if (Array.isArray(servers) && servers.every((one) => isJsonObject(one) && "name" in one))
      return { path, servers: servers.map((one, at) => [String(Object(one).name), [...path, at]] as const) };
    // In the file of opencode, `mcp.servers` is a server of this name.
    if (isJsonObject(servers) && (keys.join() !== "mcp,servers" || typeof servers.type !== "string"))
      return { path, servers: Object.keys(servers).map((name) => [name, [...path, name]] as const) };
  }
  return undefined;
}

/** The servers that Claude Code keeps for single projects. */
const listProjects = (value: Json) =>
  Object.keys(Object(getAtPath(value, ["projects"]))).map((folder) => {
    return { folder, servers: findServers(value, ["projects", folder])?.servers ?? [] };
  });

/**
 * The servers that are turned off by name: by Claude Code for the project that it keeps as `own`; those of `.mcp.json`,
 * in the settings that a project commits for it; and by lists of Gemini CLI.
 */
function findTurnedOff(value: Json, path: string, own = ""): (name: string) => boolean {
  const read = basename(path) === ".mcp.json" && readText(join(dirname(path), ".claude/settings.json"), maxBytes);
  const settings = Object(read && "text" in read ? parseJsonText(read.text) : null) as JsonObject;
  const kept = Object(getAtPath(value, ["projects", own])) as JsonObject;
  const { allowed, excluded } = Object(getAtPath(value, ["mcp"])) as JsonObject;
  const off = [settings.disabledMcpjsonServers, kept.disabledMcpServers, excluded].filter(Array.isArray).flat();
  return (name) => off.includes(name) || (Array.isArray(allowed) && !allowed.includes(name));
}

/** Whether the content of a file registers servers with a host. */
export const isHostFile = (value: Json) =>
  findServers(value) !== undefined || listProjects(value).some(({ servers }) => servers.length > 0);

/**
 * An entry in the form of `.mcp.json`. `tools` filters what the server lists; `inputs` are the variables that stand for
 * what the host asks the user, with its question; `problems` are about what is not supported.
 */
type HostEntry = Project & {
  entry: Json;
  tools: ToolFilter;
  inputs: ReadonlyMap<string, string>;
  problems: readonly Problem[];
};

/** The tools that a host shows of a server: those of `only` without those of `except`. Absent: all. */
export type ToolFilter = { only?: readonly string[]; except?: readonly string[] };

/** The server entries of a host's configuration file, unchecked. Paths for `place` start with a name. */
export type HostFile = {
  file: string;
  path: string;
  /** In the form of `.mcp.json`, whatever the host. */
  entries: ReadonlyMap<string, HostEntry>;
  /** The servers of other projects. */
  others: readonly { name: string; folder: string }[];
  location(path: readonly (string | number)[]): Location;
};

/**
 * Reads a host's configuration file (JSON, also with comments and trailing commas, TOML or YAML), and what Claude Code
 * keeps for the project of `dir`, the absolute folder that the path of the file starts from. `shown` is how messages
 * name the file. Throws EvalsError when it cannot be read, or registers no servers.
 */
export async function readHostFile(file: string, dir: string, shown = resolve(dir, file)): Promise<HostFile> {
  const path = resolve(dir, file);
  const { value, location } = await readParsed(path, shown, { lenient: true });
  const projects = listProjects(value);
  const isAround = (folder: string) => join(dir, sep).startsWith(join(resolve(folder), sep));
  const [own] = projects.filter(({ folder }) => isAround(folder)).sort((a, b) => b.folder.length - a.folder.length);
  const { path: root, servers: common } = findServers(value) ?? { path: [], servers: [] };
  const servers = new Map([...common, ...(own?.servers ?? [])]);
  const others = projects.flatMap((one) => (one === own ? [] : one.servers.map(([name]) => ({ ...one, name }))));
  if (servers.size === 0 && others.length > 0) {
    const hint = "Run the command in one of these folders, or register the server for this project.";
    throw usageError(`The file registers servers for other projects only: ${listFolders(others)}.`, hint, location([]));
  }
  if (servers.size === 0) {
    const hint = 'Write { "mcpServers": { "<name>": { "command": "...", "args": [] } } }.';
    throw usageError('The file registers no servers under "mcpServers", or as another host does.', hint, location([]));
  }
  const isOff = findTurnedOff(value, path, own?.folder);
  const locate = ([name, ...inside]: readonly (string | number)[]) =>
    location(name === undefined ? root : [...(servers.get(String(name)) ?? root), ...inside]);
  const read = ([name, at]: Registered[number]) => {
    const { inputs, "mcp.inputs": list = inputs } = Object(getAtPath(value, at.slice(0, -2))) as JsonObject;
    const asked = Array.isArray(list) ? list.filter(isJsonObject) : [];
    const project =
      own && at.includes(own.folder) ? { dir: resolve(own.folder), isOfProject: true } : locateProject(path);
    const context = { path, project, inputs: asked, location: location(at) };
    const entry = readEntry(name, getAtPath(value, at) ?? null, context);
    if (isOff(name) && isJsonObject(entry.entry)) entry.entry.disabled = true;
    return [name, entry] as const;
  };
  return { file: shown, path, entries: new Map([...servers].map(read)), others, location: locate };
}

const listFolders = (others: HostFile["others"]) => cut([...new Set(others.map(({ folder }) => folder))].join(", "));

/** The entry `name` of a host's configuration file. Throws EvalsError when there is none. */
export function findEntry(host: HostFile, name: string): HostEntry {
  const entry = host.entries.get(name);
  if (entry === undefined) throw unknownServer(name, [host]);
  return entry;
}

/** The names of the enabled servers of a file, in its order. */
export function listEnabled({ entries }: HostFile): string[] {
  return [...entries].flatMap(([name, { entry }]) => (isJsonObject(entry) && entry.disabled === true ? [] : [name]));
}

/** The error for a name that none of the files registers. */
export function unknownServer(name: string, hosts: readonly HostFile[]): EvalsError {
  const names = hosts.flatMap(({ entries }) => [...entries.keys()]);
  const others = hosts.flatMap((host) => host.others.filter((one) => one.name === name));
  const other = others.length > 0 && `It is registered for another project: ${listFolders(others)}.`;
  const meant = other || didYouMean(name, names, undefined);
  const hint = [meant, `Registered: ${names.join(", ")}.`].filter(Boolean).join(" ");
  const [where, location] = hosts.length === 1 ? ["this file", hosts[0]?.location([])] : ["these files", undefined];
  return usageError(`No server "${name}" is registered in ${where}.`, hint, location);
}

/** What hosts call a field, by what `.mcp.json` calls it. */
const fields: Record<string, readonly string[]> = {
  command: ["command", "cmd"],
  args: ["args"],
  env: ["env", "environment", "envs"],
  cwd: ["cwd"],
  envFile: ["envFile"],
  url: ["url", "httpUrl", "serverUrl", "uri"],
  headers: ["headers", "http_headers"],
  type: ["type", "transport"],
};
/** The names of variables whose values a host passes on, in the environment or in headers. */
const forwarded = { env: ["env_vars", "env_keys"], headers: ["env_http_headers"] } as const;
const filters = {
  only: ["tools", "includeTools", "enabled_tools", "available_tools"],
  except: ["excludeTools", "disabled_tools", "disabledTools"],
} as const;
/** Fields that change nothing of what a model sees and what a server gets. */
const irrelevant = `name description title icon version author gallery source autoApprove autoapprove alwaysAllow trust
default_tools_approval_mode timeout startup_timeout_sec startup_timeout_ms tool_timeout_sec required bundled display_name
disabled enabled bearer_token_env_var requestOptions settings dev`.split(/\s+/);

const types: Record<string, "stdio" | "http" | "sse"> = {
  stdio: "stdio",
  local: "stdio",
  custom: "stdio",
  sse: "sse",
  http: "http",
  remote: "http",
  streamablehttp: "http",
};

type EntryContext = { path: string; project: Project; inputs: readonly JsonObject[]; location: Location };

/** An entry in the form of `.mcp.json`, with the references that only hosts know as environment variables. */
function readEntry(name: string, raw: Json, { location, ...context }: EntryContext): HostEntry {
  if (!isJsonObject(raw)) return { ...context.project, entry: raw, tools: {}, inputs: new Map(), problems: [] };
  const problems: Problem[] = [];
  const warn = (message: string) =>
    problems.push({ severity: "warning", message: `Server "${name}": ${message}`, location });
  // Zed had the program and its arguments below `command`.
  const written = isJsonObject(raw.command) ? { ...raw, ...raw.command, command: raw.command.path ?? null } : raw;
  const pick = (names: readonly string[]) => names.map((one) => written[one]).find((value) => value !== undefined);
  const entry: Record<string, Json | undefined> = {};
  for (const [field, names] of Object.entries(fields)) entry[field] = pick(names);
  if (Array.isArray(entry.command)) {
    const [command, ...args] = entry.command;
    Object.assign(entry, { command, args: [...args, ...(Array.isArray(entry.args) ? entry.args : [])] });
  }
  const type = typeof entry.type === "string" ? types[entry.type.toLowerCase().replace(/[-_]/g, "")] : undefined;
  if (type !== undefined) entry.type = type;
  else if (typeof entry.type === "string")
    warn(`its type "${entry.type}" is not supported, only programs (stdio) and URLs (http, sse).`);
  const options = isJsonObject(written.requestOptions) ? written.requestOptions.headers : undefined;
  if (isJsonObject(options)) entry.headers = { ...Object(entry.headers), ...options };
  for (const field of ["env", "headers"] as const) {
    const more = forwarded[field].flatMap((one) => listForwarded(written[one]));
    if (field === "headers" && typeof written.bearer_token_env_var === "string")
      more.push(["Authorization", `Bearer \${${written.bearer_token_env_var}}`]);
    if (!isJsonObject(entry[field] ?? {})) continue;
    const given = Object.entries(Object(entry[field]) as JsonObject);
    const values = given.filter(([, value]) => value !== null);
    const texts = values.map(([key, value]) => [key, typeof value === "number" ? `${value}` : value] as const);
    if (more.length + given.length > 0) entry[field] = Object.fromEntries([...texts, ...more]);
  }
  if (written.disabled === true || written.enabled === false) entry.disabled = true;
  const known = new Set([...Object.values(fields), ...Object.values(forwarded), ...Object.values(filters)].flat());
  for (const field of Object.keys(raw))
    if (!known.has(field) && !irrelevant.includes(field)) warn(`"${field}" is not supported, and is ignored.`);
  const unknown = new Set<string>();
  const asked = new Map<string, string>();
  const expanded = mapTexts(entry as JsonObject, (text) => translate(text, { ...context, asked, unknown }));
  for (const reference of unknown) {
    const message = `Server "${name}" uses ${reference}, which only its host can fill in.`;
    problems.push({ severity: "error", message, hint: "Write an environment variable in its place.", location });
  }
  return { ...context.project, entry: expanded, tools: readFilter(written), inputs: asked, problems };
}

/** `env_vars`: names, or names with where they come from; `env_http_headers`: header -> name of a variable. */
function listForwarded(value: Json | undefined): [string, string][] {
  const names = (Array.isArray(value) ? value : []).map((one) => (isJsonObject(one) ? one.name : one));
  const entries = isJsonObject(value) ? Object.entries(value) : names.map((name) => [String(name), name] as const);
  return entries.flatMap(([key, variable]): [string, string][] =>
    typeof variable === "string" ? [[key, `\${${variable}}`]] : [],
  );
}

function readFilter(written: JsonObject): ToolFilter {
  const list = (names: readonly string[]) => {
    const found = names.map((one) => written[one]).find(Array.isArray) as readonly Json[] | undefined;
    const texts = found?.filter((one): one is string => typeof one === "string");
    return texts?.includes("*") ? undefined : texts;
  };
  const [only, except] = [list(filters.only), list(filters.except)];
  // An empty list is how goose writes "all".
  return { ...(only?.length && { only }), ...(except?.length && { except }) };
}

function mapTexts(value: Json, change: (text: string) => string): Json {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((one) => mapTexts(one, change));
  if (!isJsonObject(value)) return value;
  const given = Object.entries(value).filter(([, one]) => one !== undefined);
  return Object.fromEntries(given.map(([key, one]) => [key, mapTexts(one, change)]));
}

// `${name:rest}` of VS Code and Cursor, the folder of a plugin of Claude Code, `{env:NAME}` of opencode,
// `${{ secrets.NAME }}` of Continue, `$NAME` of Gemini CLI.
// Lengths are limited, because many unterminated references would otherwise take quadratic time.
const hostReference =
  /\$\{\{ ?(?:secrets|inputs)\.([\w.-]{1,255}) ?\}\}|\$\{(input|command|config):([^}]{1,255})\}|\$\{(workspaceFolder|workspaceFolderBasename|workspaceRoot|CLAUDE_PLUGIN_ROOT|CLAUDE_PROJECT_DIR|userHome|pathSeparator|\/)\}|(?<!\$)\{(env|file):([^}]{1,255})\}|\$([A-Za-z_]\w{0,255})/g;

type References = Omit<EntryContext, "location"> & { asked: Map<string, string>; unknown: Set<string> };

/** References that only hosts know as `${NAME}` or as their value. Adds those that cannot be filled in to `unknown`. */
function translate(text: string, { path, project: { dir }, inputs, asked, unknown }: References): string {
  const isGemini = /[\\/]\.(?:gemini|qwen|copilot)[\\/]/.test(path);
  const isOpencode = /opencode\.jsonc?$/.test(path);
  return text.replace(hostReference, (whole, secret, scheme, argument, folder, opencode, inside, plain) => {
    if (secret !== undefined) return `\${${secret}}`;
    if (scheme === "input") {
      const input = inputs.find(({ id }) => id === argument);
      const { description } = input ?? {};
      const variable = toVariable(argument);
      asked.set(variable, `"${argument}"${typeof description === "string" ? ` (${description})` : ""}`);
      return `\${${variable}${typeof input?.default === "string" ? `:-${input.default}` : ""}}`;
    }
    if (folder === "userHome") return `\${${process.platform === "win32" ? "USERPROFILE" : "HOME"}}`;
    if (folder === "pathSeparator" || folder === "/") return sep;
    if (folder !== undefined) return folder === "workspaceFolderBasename" ? basename(dir) : resolve(dir);
    if (opencode !== undefined && !isOpencode) return whole;
    if (opencode === "env") return `\${${inside}}`;
    if (plain !== undefined) return isGemini ? `\${${plain}}` : whole;
    unknown.add(whole);
    return whole;
  });
}

/** The environment variable that stands for an input that VS Code asks for: `github-token` is GITHUB_TOKEN. */
const toVariable = (input: string) => input.toUpperCase().replace(/[^A-Z0-9]+/g, "_");
