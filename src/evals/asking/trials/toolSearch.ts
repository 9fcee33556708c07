import { type SearchDocument, toSearchDocument } from "../../base/search/document.ts";
import { buildRanker, type Ranker, type RankerName } from "../../base/search/rankers.ts";
import { isJsonObject } from "../../base/types/json.ts";
import type { ModelRequest } from "../../base/types/model.ts";
import { isAlwaysLoaded, type OfferedTool } from "../../base/types/tool.ts";
import type { Call, Execution, ToolSearch } from "../../base/types/trial.ts";
import { createTextResult } from "./execution.ts";

/** The tool that loads definitions where only names are shown, named as Claude Code names its own. */
export const searchToolName = "ToolSearch";

/** How many tools a search loads: by default, as in Claude Code, and at most. */
const limits = { usual: 5, most: 50 } as const;

/** A tool as a search document, under its shown name. */
type Indexed = SearchDocument & { tool: OfferedTool };

/** The deferred tools of one list, and their search. Created once for all trials with this list. */
export type ToolIndex = { ranker: RankerName; deferred: ReadonlySet<string>; rank: Ranker<Indexed> };

/** Whether the definition of a tool is hidden until a search finds it. */
export const isDeferred = (tool: OfferedTool): boolean => !isAlwaysLoaded(tool);

/** Indexes the deferred tools among these, by their shown names. */
export function indexTools(tools: readonly OfferedTool[], ranker: RankerName): ToolIndex {
  const documents = tools.filter(isDeferred).map((tool): Indexed => {
    return { ...toSearchDocument(tool, tool._meta?.["anthropic/searchHint"]), tool };
  });
  return { ranker, deferred: new Set(documents.map(({ name }) => name)), rank: buildRanker(ranker, documents) };
}

/** The search of one trial: the definitions that are loaded so far, and the tool that loads more. */
export class TrialSearch {
  /** The prompt section that names the deferred tools; empty if there are none. */
  readonly prompt: string;
  #loaded: OfferedTool[] = [];
  readonly #names = new Set<string>();

  /** `tools` are in the order in which they are shown. */
  constructor(
    private index: ToolIndex,
    tools: readonly OfferedTool[],
  ) {
    this.update(index, tools);
    const list = tools.filter(({ name }) => index.deferred.has(name)).map(({ name }) => `- ${name}`);
    const how = `The definitions of these tools are not loaded. Load those that you need with ${searchToolName} before you call them:`;
    this.prompt = list.length === 0 ? "" : [how, "", ...list].join("\n");
  }

  /** Searches another list from now on; what is loaded stays loaded. Returns itself. */
  update(index: ToolIndex, tools: readonly OfferedTool[]): this {
    for (const { name } of tools) if (!index.deferred.has(name)) this.#names.add(name);
    this.index = index;
    this.#loaded = tools.filter(({ name }) => this.#names.has(name));
    return this;
  }

  /** Shown names of the tools whose definitions are not shown from the start. */
  get deferred(): ReadonlySet<string> {
    return this.index.deferred;
  }

  /** Describes the search in a request, for models that do not read prompts, such as `lexical`. */
  get loader(): Pick<ModelRequest, "loader"> {
    return this.prompt === "" ? {} : { loader: { tool: searchToolName, ranker: this.index.ranker } };
  }

  /** The definitions to show now: the initial ones, those that searches found, and the search itself. */
  get tools(): readonly OfferedTool[] {
    return this.prompt === "" ? this.#loaded : [...this.#loaded, searchTools[this.index.ranker]];
  }

  /** Executes a call of the search. Found names are shown names. Returns undefined for other calls. */
  answer({ tool, arguments: args }: Call): { execution: Execution; search: ToolSearch } | undefined {
    if (tool !== searchToolName || this.prompt === "") return undefined;
    const { query, max_results: wanted } = isJsonObject(args) ? args : {};
    if (typeof query !== "string" || query.trim() === "")
      return { execution: createTextResult("Give a query, a text.", true), search: { query: "", found: [] } };
    const limit = typeof wanted === "number" && wanted >= 1 ? Math.min(Math.floor(wanted), limits.most) : limits.usual;
    const found = this.index.rank(query, limit);
    if (found.kind === "refused")
      return { execution: createTextResult(found.reason, true), search: { query, found: [] } };
    const tools = found.ranked.map(({ document }) => document.tool);
    for (const one of tools) if (!this.#names.has(one.name)) this.#loaded.push(one);
    for (const { name } of tools) this.#names.add(name);
    const names = tools.map(({ name }) => name);
    const loaded = `Loaded, and can be called now:\n${names.map((name) => `- ${name}`).join("\n")}`;
    const text = names.length > 0 ? loaded : "No tool was found. Search with other words.";
    return { execution: createTextResult(text), search: { query, found: names } };
  }
}

const searchTools: Readonly<Record<RankerName, OfferedTool>> = {
  keyword: createSearchTool(
    'Keywords, which are compared with names and descriptions as written; "+word" must occur; "select:<name>,<name>" loads tools by their names',
  ),
  bm25: createSearchTool("What the tool is for, in plain words"),
  regex: createSearchTool(
    'A regular expression for names, descriptions and parameters, for example "(?i)weather|forecast"',
  ),
};

function createSearchTool(meaning: string): OfferedTool {
  return {
    name: searchToolName,
    description:
      "Searches the tools whose definitions are not loaded, and loads the definitions of the best matches, which can be called from then on.",
    inputSchema: {
      type: "object",
      properties: {
        query: { type: "string", description: meaning },
        max_results: { type: "integer", description: `Maximum number of tools to load (default: ${limits.usual})` },
      },
      required: ["query"],
      additionalProperties: false,
    },
    server: "tool-evals",
    origin: "static",
    annotations: { readOnlyHint: true },
  };
}
