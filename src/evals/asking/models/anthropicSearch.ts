import type {
  Tool as ToolParam,
  ToolSearchToolBm25_20251119,
  ToolSearchToolRegex20251119,
} from "@anthropic-ai/sdk/resources/messages";
import * as z from "zod";
import type { Fault } from "../../base/types/attempt.ts";
import type { ToolSearch } from "../../base/types/trial.ts";
import { transientFault } from "./remote.ts";
import type { WireNames } from "./wireNames.ts";

type SearchTool = ToolSearchToolBm25_20251119 | ToolSearchToolRegex20251119;

const searchTools = {
  bm25: { type: "tool_search_tool_bm25_20251119", name: "tool_search_tool_bm25" },
  regex: { type: "tool_search_tool_regex_20251119", name: "tool_search_tool_regex" },
} as const satisfies Record<string, SearchTool>;

/** The tool searches of the Messages API, by their names in `--ranker`. */
export const searches: Readonly<Record<string, string>> = {
  bm25: searchTools.bm25.type,
  regex: searchTools.regex.type,
};

/** The search tool with this versioned name. */
export function createSearchTool(search: string): SearchTool {
  return search === searchTools.regex.type ? searchTools.regex : searchTools.bm25;
}

/** A search with one deferred tool: the smallest list that shows whether a model accepts it. */
export function createProbeTools(search: string): (ToolParam | SearchTool)[] {
  return [
    { name: "probe", description: "Does nothing.", input_schema: { type: "object" }, defer_loading: true },
    createSearchTool(search),
  ];
}

const searchTypes: ReadonlySet<unknown> = new Set(["server_tool_use", "tool_search_tool_result"]);

/** The fields read of the blocks of a search. A regular expression is sent as `pattern`. */
const searchBlock = z.union([
  z.object({
    type: z.literal("server_tool_use"),
    id: z.string(),
    name: z.string().startsWith("tool_search_tool_"),
    input: z.object({ query: z.string().optional(), pattern: z.string().optional() }).catch({}),
  }),
  z.object({
    type: z.literal("tool_search_tool_result"),
    tool_use_id: z.string(),
    content: z.union([
      z.object({ tool_references: z.array(z.object({ tool_name: z.string() })) }),
      z.object({ error_code: z.string() }),
    ]),
  }),
]);

/**
 * The searches in the content of a reply, with the shown names of the tools that they found. A search that failed for lack
 * of resources is a fault; one with an invalid query found nothing.
 */
export function readSearches(content: readonly unknown[], names: WireNames): ToolSearch[] | Fault {
  const queries = new Map<string, string>();
  const found = new Map<string, string[]>();
  for (const block of content as readonly { type?: unknown }[]) {
    if (!searchTypes.has(block.type)) continue;
    const { data } = searchBlock.safeParse(block);
    if (!data) continue;
    if (data.type === "server_tool_use") queries.set(data.id, data.input.query ?? data.input.pattern ?? "");
    else if ("tool_references" in data.content) {
      const tools = data.content.tool_references.map(({ tool_name }) => names.toShown(tool_name));
      found.set(data.tool_use_id, tools);
    } else if (data.content.error_code !== "invalid_tool_input") {
      return transientFault(`the tool search of the API failed: ${data.content.error_code}`);
    }
  }
  return [...queries].map(([id, query]) => ({ query, found: found.get(id) ?? [] }));
}
