import { EvalsError, type Problem, usageError } from "../errors.ts";
import { readParsed } from "../parsing/read.ts";
import { isJsonObject } from "../types/json.ts";
import { type Tool, toolSchema } from "../types/tool.ts";
import { issuesOf, nameOf } from "./listing.ts";

/**
 * The tools of a file: a list of tools, or `{ tools: [...] }` as tools/list answers it, in JSON or YAML.
 * Throws EvalsError with the place of every tool that is malformed.
 */
export async function readStaticList(file: string): Promise<readonly Tool[]> {
  const { value, place } = await readParsed(file, file, { lenient: true });
  const path = Array.isArray(value) ? [] : ["tools"];
  const list = isJsonObject(value) ? value.tools : value;
  if (!Array.isArray(list)) {
    throw usageError("this is no list of tools", "Write an array of tools, or { tools: [...] }.", place(path));
  }
  const problems: Problem[] = [];
  const tools: Tool[] = [];
  const seen = new Set<string>();
  for (const [index, item] of list.entries()) {
    const parsed = toolSchema.safeParse(item);
    if (!parsed.success) {
      problems.push({
        severity: "error",
        message: `tool ${nameOf(item)} is malformed: ${issuesOf(parsed.error)}`,
        hint: schemaHint(item),
        place: place([...path, index]),
      });
    } else if (seen.has(parsed.data.name)) {
      problems.push({
        severity: "error",
        message: `two tools are named "${parsed.data.name}"`,
        hint: "Remove one, or rename it.",
        place: place([...path, index, "name"]),
      });
    } else {
      seen.add(parsed.data.name);
      tools.push(parsed.data);
    }
  }
  if (problems.length > 0) throw new EvalsError(problems);
  return tools;
}

function schemaHint(item: unknown): string {
  // The names that model APIs use for the same thing.
  const other = isJsonObject(item) && ["input_schema", "parameters"].find((key) => key in item);
  return other
    ? `Rename ${other} to inputSchema, as MCP names it.`
    : "A tool has a name, a description and an inputSchema that is an object.";
}
