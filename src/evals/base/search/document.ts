import { isJsonObject } from "../types/json.ts";

/** What a tool search reads of a tool or of a skill. */
export type SearchDocument = {
  /** As the model is shown it, with the prefix of its host. */
  name: string;
  description: string;
  /** Words that are searched but not shown (`_meta["anthropic/searchHint"]`). */
  hint?: string;
  parameterNames: readonly string[];
};

/** Scores every document of a list, by index; 0 for no match. A string is the reason why the text is refused. */
export type Scorer = (text: string) => ArrayLike<number> | string;

/** The parts of a tool or skill that a search reads, unvalidated: a part of the wrong type counts as empty. */
export type SearchableTool = { name?: unknown; description?: unknown; inputSchema?: unknown };

/** How much of a document is read: far more than hosts show, and little enough to limit the time for huge texts. */
const limits = { name: 1000, description: 10_000, hint: 10_000, parameters: 500, parameter: 200 } as const;

/** The document of a tool: its name, its description, and the names of its top-level parameters. */
export function toSearchDocument({ name, description, inputSchema }: SearchableTool, hint?: string): SearchDocument {
  const properties = isJsonObject(inputSchema) && isJsonObject(inputSchema.properties) ? inputSchema.properties : {};
  return {
    name: typeof name === "string" ? name : "",
    description: typeof description === "string" ? description : "",
    ...(hint !== undefined && { hint }),
    parameterNames: Object.keys(properties),
  };
}

/** Truncates every part of a document to the length that a search reads. */
export function shortenDocument({ name, description, hint, parameterNames }: SearchDocument): SearchDocument {
  return {
    name: name.slice(0, limits.name),
    description: description.slice(0, limits.description),
    ...(hint !== undefined && { hint: hint.slice(0, limits.hint) }),
    parameterNames: parameterNames.slice(0, limits.parameters).map((parameter) => parameter.slice(0, limits.parameter)),
  };
}
