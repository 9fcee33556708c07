import { type SearchDocument, toSearchDocument } from "../search/document.ts";
import { buildRanker, type Ranker, type RankerName } from "../search/rankers.ts";
import { isJsonObject } from "../types/json.ts";
import type { ModelRequest } from "../types/model.ts";
import { isAlwaysLoaded, type OfferedTool } from "../types/tool.ts";
import type { Call, Execution, ToolSearch } from "../types/trial.ts";

/** The tool that loads definitions where only names are shown, named as Claude Code names its own. */
export const searchToolName = "ToolSearch";

/** How many tools a search loads if the model does not say, as in Claude Code; and at most. */
const limits = { usual: 5, most: 50 } as const;

/** A tool as a search reads it, under the name that the model is shown. */
type Indexed = SearchDocument & { tool: OfferedTool };

/** The tools of one list that are deferred, and their search. Made once for all trials with this list. */
export type ToolIndex = { ranker: RankerName; deferred: ReadonlySet<string>; rank: Ranker<Indexed> };

/** Whether a definition is left out until a search finds the tool. */
export function isDeferred(tool: OfferedTool): boolean {
  return !isAlwaysLoaded(tool);
}

/** Indexes the deferred ones of these tools, which have the names that the model is shown. */
export function indexTools(tools: readonly OfferedTool[], ranker: RankerName): ToolIndex {
  const documents = tools.filter(isDeferred).map((tool): Indexed => {
    return { ...toSearchDocument(tool, tool._meta?.["anthropic/searchHint"]), tool };
  });
  return { ranker, deferred: new Set(documents.map(({ name }) => name)), rank: buildRanker(ranker, documents) };
}

/** The search of one trial: which definitions the model has by now, and the tool that loads further ones. */
export class TrialSearch {
  /** The section of the prompt that names the deferred tools; empty where there are none. */
  readonly prompt: string;
  readonly #index: ToolIndex;
  readonly #loaded: OfferedTool[];
  readonly #names: Set<string>;

  /** `tools` have the order in which they are shown. */
  constructor(index: ToolIndex, tools: readonly OfferedTool[]) {
    this.#index = index;
    this.#loaded = tools.filter(({ name }) => !index.deferred.has(name));
    this.#names = new Set(this.#loaded.map(({ name }) => name));
    const deferred = tools.filter(({ name }) => index.deferred.has(name));
    this.prompt = deferred.length === 0 ? "" : renderNames(deferred);
  }

  /** The names, as shown, of the tools whose definitions are not shown from the start. */
  get deferred(): ReadonlySet<string> {
    return this.#index.deferred;
  }

  /** What a request says of the search, for a model that does not read. */
  get loader(): Pick<ModelRequest, "loader"> {
    return this.prompt === "" ? {} : { loader: { tool: searchToolName, ranker: this.#index.ranker } };
  }

  /** The definitions that the model is shown now: those from the start, those that were found, and the search. */
  get tools(): readonly OfferedTool[] {
    return this.prompt === "" ? this.#loaded : [...this.#loaded, searchTools[this.#index.ranker]];
  }

  /** The result of a call of the search, whose names are those that the model is shown; undefined for other calls. */
  answer({ tool, arguments: args }: Call): { execution: Execution; search: ToolSearch } | undefined {
    if (tool !== searchToolName || this.prompt === "") return undefined;
    const { query, max_results: wanted } = isJsonObject(args) ? args : {};
    if (typeof query !== "string" || query.trim() === "") {
      return { execution: result("Give a query, a text.", true), search: { query: "", found: [] } };
    }
    const limit = typeof wanted === "number" && wanted >= 1 ? Math.min(Math.floor(wanted), limits.most) : limits.usual;
    const found = this.#index.rank(query, limit);
    if (found.kind === "refused") return { execution: result(found.reason, true), search: { query, found: [] } };
    const tools = found.ranked.map(({ document }) => document.tool);
    for (const one of tools) if (!this.#names.has(one.name)) this.#loaded.push(one);
    for (const { name } of tools) this.#names.add(name);
    const names = tools.map(({ name }) => name);
    const text =
      names.length > 0
        ? `Loaded, and can be called now:\n${names.map((name) => `- ${name}`).join("\n")}`
        : "No tool was found. Search with other words.";
    return { execution: result(text), search: { query, found: names } };
  }
}

function renderNames(deferred: readonly OfferedTool[]): string {
  const list = deferred.map(({ name }) => `- ${name}`);
  const how = `The definitions of these tools are not loaded. Load those that you need with ${searchToolName} before you call them:`;
  return [how, "", ...list].join("\n");
}

function result(text: string, isError = false): Execution {
  return { status: "executed", result: { isError, content: [{ type: "text", text }] }, ms: 0 };
}

const queries: Readonly<Record<RankerName, string>> = {
  keyword:
    'Keywords, which are compared with names and descriptions as written; "+word" must occur; "select:<name>,<name>" loads tools by their names',
  bm25: "What the tool is for, in plain words",
  regex: 'A regular expression for names, descriptions and parameters, for example "(?i)weather|forecast"',
};

const searchTools: Readonly<Record<RankerName, OfferedTool>> = {
  keyword: createSearchTool(queries.keyword),
  bm25: createSearchTool(queries.bm25),
  regex: createSearchTool(queries.regex),
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
