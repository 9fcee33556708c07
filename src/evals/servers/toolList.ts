import { createHash } from "node:crypto";
import { defined } from "../base/collections.ts";
import { cut } from "../base/text/text.ts";
import { EvalsError, formatIssues, type Location, type Problem, usageError } from "../base/types/errors.ts";
import {
  canonicalJson,
  isJsonObject,
  isNestedDeeper,
  type Json,
  jsonSchema,
  maxDepth,
  type Path,
} from "../base/types/json.ts";
import { type SkillPackage, skillEntryName } from "../base/types/skill.ts";
import { instructionsEntryName, type OfferedTool, type Tool, type Toolset, toolSchema } from "../base/types/tool.ts";
import { readParsed } from "../input/parsing/read.ts";
import { serverError } from "./spec.ts";

/**
 * The tools with a hash of their list, which does not depend on their order. Throws EvalsError when two tools have the
 * same name.
 */
export function createToolset(tools: readonly OfferedTool[]): Toolset {
  const byName = new Map<string, OfferedTool>();
  for (const tool of tools) {
    const other = byName.get(tool.name);
    if (other) {
      const origins = `one of ${describeOrigin(other)} and one of ${describeOrigin(tool)}`;
      const hint = "Rename one, or remove one of the two: an expectation cannot distinguish them.";
      throw usageError(`Two tools are named "${tool.name}": ${origins}.`, hint);
    }
    byName.set(tool.name, tool);
  }
  const sorted = [...byName.keys()].sort().map((name) => byName.get(name));
  const text = canonicalJson(jsonSchema.parse(sorted));
  return { hash: createHash("sha256").update(text).digest("hex"), tools: [...tools] };
}

/** Where a tool comes from, in a message: `server "files"`, `the distractor "github"`. */
export function describeOrigin({ server, origin }: OfferedTool): string {
  if (origin === "server" || origin === "instructions") return `server "${server}"`;
  const kind = origin === "static" ? "list" : origin === "dispatched" ? "catalog" : "distractor";
  return `the ${kind} "${server}"`;
}

/** A skill as an entry of a tool list, so that its description is part of the hash. */
export function createSkillEntry({ name, description }: Pick<SkillPackage, "name" | "description">): OfferedTool {
  return { name: skillEntryName(name), description, inputSchema: noInput, server: "skills", origin: "skill" };
}

/** The instructions of a server as an entry of a tool list, so that they are part of the hash. */
export function createInstructionsEntry(server: string, instructions: string): OfferedTool {
  const name = instructionsEntryName(server);
  return { name, description: instructions, inputSchema: noInput, server, origin: "instructions" };
}

const noInput = { type: "object" };

/** A schema of the maximum depth inside a tool. */
const maxToolDepth = maxDepth + 1;
const maxPages = 64;
const maxTools = 10_000;
const listFewer = "List fewer: no model can choose from so many.";
/** Of all pages together, as JSON. The largest lists of public servers have one hundredth of it. */
const maxListCharacters = 16 * 1024 * 1024;

/** One page of a server's list, with unchecked tools. */
export type ToolPage = { tools: readonly unknown[]; nextCursor?: string | undefined };

/**
 * The entries of a server's list, all pages, as they were sent. Throws EvalsError for a list that does not end (more
 * than 64 pages, a repeated cursor), for more than 10,000 entries, and for more than 16 Mi characters.
 */
export async function readPages(server: string, page: (cursor?: string) => Promise<ToolPage>): Promise<unknown[]> {
  const entries: unknown[] = [];
  const cursors = new Set<string>();
  let characters = 0;
  for (let { tools: found, nextCursor } = await page(); ; { tools: found, nextCursor } = await page(nextCursor)) {
    for (const entry of found) entries.push(entry);
    if (entries.length > maxTools) throw serverError(`Server "${server}" lists more than 10,000 tools.`, listFewer);
    characters += JSON.stringify(found).length;
    if (characters > maxListCharacters) {
      const size = `more than ${maxListCharacters / 1024 / 1024} Mi characters`;
      const hint = "Shorten its descriptions and schemas: no context window holds so long a list.";
      throw serverError(`The tool list of server "${server}" has ${size}.`, hint);
    }
    // Some servers send an empty cursor on the last page, and hosts stop there.
    if (nextCursor === undefined || nextCursor === "") break;
    if (cursors.has(nextCursor))
      throw endlessList(server, `tools/list repeats the cursor ${JSON.stringify(cut(nextCursor, 80))}`);
    cursors.add(nextCursor);
    if (cursors.size >= maxPages) throw endlessList(server, `tools/list has more than ${maxPages} pages`);
  }
  return entries;
}

/** The tools of a list. Throws EvalsError for a malformed tool and for two tools with the same name. */
export function parseTools(server: string, entries: readonly unknown[]): readonly Tool[] {
  const tools = new Map<string, Tool>();
  const needs = "Correct the tool in the server: it needs a name and an inputSchema that is an object.";
  for (const [at, entry] of entries.entries()) {
    const { tool, fault, hint } = readTool(entry, needs);
    if (!tool)
      throw serverError(`Server "${server}": tool ${quoteName(entry)} (number ${at + 1} of its list) ${fault}.`, hint);
    const repeated = `Server "${server}" lists two tools named "${tool.name}".`;
    if (tools.has(tool.name)) throw serverError(repeated, "Rename one: a model cannot distinguish them.");
    tools.set(tool.name, tool);
  }
  return [...tools.values()];
}

function endlessList(server: string, what: string): EvalsError {
  const hint = "Send no nextCursor on the last page, or use larger pages.";
  return serverError(`The tool list of server "${server}" does not end: ${what}.`, hint);
}

const flatten = "Make its schemas flatter: no model reads so deep a schema.";

/** An entry of a list as a tool; or what is wrong with it, as a predicate, and how to fix it. */
function readTool(entry: unknown, hint: string): { tool?: Tool; fault?: string; hint?: string } {
  if (isNestedDeeper(entry, maxToolDepth))
    return { fault: `is nested more than ${maxToolDepth} levels deep`, hint: flatten };
  const parsed = toolSchema.safeParse(entry);
  if (!parsed.success) return { fault: `is malformed: ${formatIssues(parsed.error)}`, hint };
  const { _meta = {}, ...tool } = parsed.data;
  // A `_meta` without keys that a host obeys does not change the hash of the tool.
  const meta = defined(_meta);
  return { tool: Object.keys(meta).length > 0 ? { ...tool, _meta: meta } : tool };
}

/** The name of a possible tool, for a message. */
function quoteName(tool: unknown): string {
  const name = typeof tool === "object" && tool !== null && "name" in tool ? tool.name : undefined;
  return typeof name === "string" && name !== "" ? JSON.stringify(name) : "without a name";
}

/** The entries of a tool list in a file, unchecked, and the place of a value inside the list. */
export type ListFile = { items: readonly Json[]; location(path: Path): Location };

/**
 * Reads the tool list of a JSON or YAML file, unchecked. `shown` is how messages name the file. Throws EvalsError when
 * the file has no list, or one of more than 10,000 entries.
 */
export async function readListFile(path: string, shown = path): Promise<ListFile> {
  const { value, location } = await readParsed(path, shown, { lenient: true });
  const list = findList(value);
  if (!list) {
    const at = location(isJsonObject(value) && "tools" in value ? ["tools"] : []);
    throw usageError("This is not a tool list.", "Write an array of tools, { tools: [...] }, or name a baseline.", at);
  }
  if (list.items.length > maxTools)
    throw usageError("The list has more than 10,000 tools.", listFewer, location(list.path));
  return { items: list.items, location: (inside) => location([...list.path, ...inside]) };
}

/**
 * Finds the tool list in the content of a file: an array of tools, `{ tools: [...] }` as in the answer of tools/list,
 * or for a baseline the list that most of its cases were shown.
 */
function findList(value: Json): { items: readonly Json[]; path: Path } | undefined {
  if (Array.isArray(value)) return { items: value, path: [] };
  if (!isJsonObject(value)) return undefined;
  if (Array.isArray(value.tools)) return { items: value.tools, path: ["tools"] };
  const { toolsets, cases } = value;
  if (!isJsonObject(toolsets)) return undefined;
  const shown = Array.isArray(cases) ? cases.map((one) => (isJsonObject(one) ? one.toolset : undefined)) : [];
  const countCases = (hash: string) => shown.filter((one) => one === hash).length;
  const [hash] = Object.keys(toolsets).sort((a, b) => countCases(b) - countCases(a));
  const items = hash === undefined ? undefined : toolsets[hash];
  return hash !== undefined && Array.isArray(items) ? { items, path: ["toolsets", hash] } : undefined;
}

/**
 * The tools of a JSON or YAML file, without the skills, instructions and distractors of a baseline. Throws EvalsError
 * with the place of every malformed tool.
 */
export async function readStaticList(file: string): Promise<readonly Tool[]> {
  const { items, location } = await readListFile(file);
  const problems: Problem[] = [];
  const tools = new Map<string, Tool>();
  const report = (message: string, hint: string, at: Path) =>
    problems.push({ severity: "error", message, hint, location: location(at) });
  for (const [index, item] of items.entries()) {
    if (isJsonObject(item) && ["skill", "instructions", "distractor"].includes(String(item.origin))) continue;
    const { tool, fault, hint = "" } = readTool(item, hintForTool(item));
    if (!tool) report(`Tool ${quoteName(item)} ${fault}.`, hint, [index]);
    else if (tools.has(tool.name))
      report(`Two tools are named "${tool.name}".`, "Remove one, or rename it.", [index, "name"]);
    else tools.set(tool.name, tool);
  }
  if (problems.length > 0) throw new EvalsError(problems);
  return [...tools.values()];
}

function hintForTool(item: unknown): string {
  // What model APIs call the input schema.
  const other = isJsonObject(item) && ["input_schema", "parameters"].find((key) => key in item);
  return other
    ? `Rename "${other}" to "inputSchema", its name in MCP.`
    : "Write a tool with a name, a description and an inputSchema that is an object.";
}
