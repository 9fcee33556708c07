import MiniSearch from "minisearch";
import { isJsonObject } from "../types/json.ts";
import { words } from "./words.ts";

/** A tool as far as it is indexed, unchecked: what is no text of its kind counts as empty. */
export type IndexedTool = { name?: unknown; title?: unknown; description?: unknown; inputSchema?: unknown };

/** What a tool is found by. A field that is absent is no part of the index's mean lengths. */
export type ToolText = { id: string; name?: string; description?: string; parameters?: string };

export type ToolIndex = MiniSearch<ToolText>;

/**
 * The most that is indexed of one field of a tool, in signs, and of its parameters: far above what hosts show of them, and
 * a description of megabytes takes no longer than a long one.
 */
const most = { signs: 10_000, parameters: 500 } as const;

/**
 * The keyword index (BM25) over names, descriptions and parameters that the lexical model searches and that similar
 * tools are found by. Its scores add up mean lengths in the order of `texts`: sort them where a result must not depend
 * on the order. Ids must be unique. A query is words as `words` makes them, with spaces between.
 */
export function toolIndex(texts: readonly ToolText[]): ToolIndex {
  const index = new MiniSearch<ToolText>({
    fields: ["name", "description", "parameters"],
    tokenize: words,
    processTerm: (term) => term,
    // A name is chosen to tell what the tool does; parameters tell what it is given, which other tools are given too.
    searchOptions: { boost: { name: 3, description: 1, parameters: 0.5 }, tokenize: (text) => text.split(" ") },
  });
  index.addAll(texts);
  return index;
}

/** The text that a tool is indexed by. */
export function toolText(id: string, { name, title, description, inputSchema }: IndexedTool): ToolText {
  const properties = isJsonObject(inputSchema) && isJsonObject(inputSchema.properties) ? inputSchema.properties : {};
  const parameters = Object.entries(properties)
    .slice(0, most.parameters)
    .map(([key, property]) => `${key} ${isJsonObject(property) ? textOf(property.description) : ""}`);
  return {
    id,
    name: textOf(name),
    description: textOf(`${textOf(title)} ${textOf(description)}`),
    parameters: textOf(parameters.join(" ")),
  };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value.slice(0, most.signs) : "";
}
