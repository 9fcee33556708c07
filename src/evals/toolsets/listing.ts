import type { EvalsError } from "../errors.ts";
import { type Tool, toolSchema } from "../types/tool.ts";
import { serverError } from "./spec.ts";

const maxPages = 64;
const maxTools = 10_000;

/** One page of a server's list, its tools not yet checked. */
export type ToolPage = { tools: readonly unknown[]; nextCursor?: string | undefined };

/**
 * The entries of a server's list, all pages, as they were sent. Throws EvalsError for a list that does not end (more than
 * 64 pages, a cursor that comes back) and for more than 10,000 entries.
 */
export async function readPages(
  server: string,
  page: (cursor?: string) => Promise<ToolPage>,
): Promise<readonly unknown[]> {
  const entries: unknown[] = [];
  const cursors = new Set<string>();
  for (let { tools: found, nextCursor } = await page(); ; { tools: found, nextCursor } = await page(nextCursor)) {
    for (const entry of found) entries.push(entry);
    if (entries.length > maxTools) {
      throw serverError(`server "${server}" lists more than 10,000 tools`, "No model can choose from so many.");
    }
    if (nextCursor === undefined) break;
    if (cursors.has(nextCursor)) {
      throw endless(server, `its tools/list gives the cursor ${JSON.stringify(nextCursor.slice(0, 80))} twice`);
    }
    cursors.add(nextCursor);
    if (cursors.size >= maxPages) throw endless(server, `its tools/list has more than ${maxPages} pages`);
  }
  return entries;
}

/** The tools of a list. Throws EvalsError for a malformed tool and for two tools of one name. */
export function parseTools(server: string, entries: readonly unknown[]): readonly Tool[] {
  const tools = entries.map((entry, at) => parseTool(server, entry, at + 1));
  assertNamedOnce(server, tools);
  return tools;
}

function endless(server: string, what: string): EvalsError {
  return serverError(
    `server "${server}" does not end its list of tools: ${what}`,
    "The last page must have no nextCursor; larger pages need fewer of them.",
  );
}

function parseTool(server: string, tool: unknown, position: number): Tool {
  const parsed = toolSchema.safeParse(tool);
  if (parsed.success) return parsed.data;
  throw serverError(
    `server "${server}": tool ${nameOf(tool)} (number ${position} of its list) is malformed: ${issuesOf(parsed.error)}`,
    "Mend the tool in the server; a tool needs a name and an inputSchema that is an object.",
  );
}

/** The name of what may be a tool, for a message. */
export function nameOf(tool: unknown): string {
  const name = typeof tool === "object" && tool !== null && "name" in tool ? tool.name : undefined;
  return typeof name === "string" && name !== "" ? JSON.stringify(name) : "without a name";
}

/** What a zod error says, each with its path, on one line. */
export function issuesOf(error: { issues: readonly { path: readonly PropertyKey[]; message: string }[] }): string {
  return error.issues.map(({ path, message }) => [path.join("."), message].filter(Boolean).join(": ")).join("; ");
}

function assertNamedOnce(server: string, tools: readonly Tool[]): void {
  const seen = new Set<string>();
  for (const { name } of tools) {
    if (seen.has(name)) {
      throw serverError(`server "${server}" lists two tools named "${name}"`, "A model could not tell them apart.");
    }
    seen.add(name);
  }
}
