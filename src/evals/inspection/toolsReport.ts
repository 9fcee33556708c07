import * as z from "zod";
import { listProperties, listRequired } from "../base/jsonSchema/values.ts";
import { isJsonObject, type Json } from "../base/types/json.ts";
import { countListTokens, type Tool } from "../base/types/tool.ts";
import { type Block, heading, makeColumns, table, text, unlimited } from "../reports/document.ts";
import { count, integer } from "../reports/format.ts";

/** The output of `evals tools --json`. */
export const toolsOutputSchema = z.object({
  tools: z.array(z.unknown()).readonly().describe("each as the server sent it, unchecked"),
});
/** A named tool list as the server sent it, unchecked. */
export type ListedTools = { name: string; items: readonly unknown[] };

/** The tools of each list: name, tokens in a request, parameters (`?`: optional), annotated effect, description. */
export function toolsDocument(lists: readonly ListedTools[]): Block[] {
  const columns = makeColumns(["name", "tool"], ["figure", "tokens"], ["text", "parameters", "effect", "description"]);
  return lists.flatMap(({ name, items }, at) => [
    heading(1, [
      { strong: count(items.length, "tool") },
      ` · about ${integer(countListTokens(items.map((item) => Object(item) as Tool)))} tokens in every request · `,
      { code: name },
    ]),
    text(
      at === 0
        ? "Next: check their wording with `evals lint`, or draft a suite for them with `evals init`."
        : undefined,
    ),
    table("tool", columns, items.map(describeTool), { max: unlimited }),
    ...(items.length === 0 ? [text("The server lists no tools.")] : []),
  ]);
}

function describeTool(tool: unknown): { code: string; max?: number }[] {
  const { name, description, inputSchema, annotations } = isJsonObject(tool as Json)
    ? (tool as Record<string, Json>)
    : {};
  const schema = isJsonObject(inputSchema) ? inputSchema : {};
  const required = new Set(listRequired(schema));
  const parameters = listProperties(schema).map(([key]) => (required.has(key) ? key : `${key}?`));
  return [
    typeof name === "string" ? name : "(no name)",
    integer(countListTokens([Object(tool) as Tool])),
    parameters.join(", "),
    describeEffect(isJsonObject(annotations) ? annotations : {}),
    summarise(typeof description === "string" ? description : ""),
  ].map((cell) => ({ code: cell, max: 160 }));
}

/** By default, the specification treats a tool as destructive. */
function describeEffect(annotations: Record<string, Json>): string {
  if (annotations.readOnlyHint === true) return "reads";
  return annotations.destructiveHint === false ? "writes" : "may destroy";
}

function summarise(description: string): string {
  const line = description.replace(/\s+/g, " ").trim();
  const sentence = /^.*?[.!?](?= [A-Z]|$)/.exec(line)?.[0] ?? line;
  return sentence.length > 120 ? `${sentence.slice(0, 119)}…` : sentence;
}
