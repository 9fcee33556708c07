import type { CallToolResult, Tool } from "@modelcontextprotocol/sdk/types.js";

/** The one tool of the reference server, as it is listed. */
export const echoTool: Tool = {
  name: "echo",
  description:
    "Echoes the input text back to the user. Call it when the user asks to echo or repeat a text word for word, " +
    'for example "echo hello" or "say this back to me: good morning".',
  inputSchema: {
    type: "object",
    properties: { text: { type: "string", description: "The text to echo back" } },
    required: ["text"],
  },
  annotations: { readOnlyHint: true },
};

/** Runs the tool: one text item `Echo: <text>`, or a structured failure that tells the model how to go on. */
export function echo(args: Record<string, unknown>): CallToolResult {
  const { text } = args;
  if (typeof text === "string") return { content: [{ type: "text", text: `Echo: ${text}` }] };
  return failure({
    success: false,
    error: text === undefined ? "The argument text is missing." : `The argument text is not a string: ${shown(text)}.`,
    retry_hint: 'Call echo again with the text to echo back as a string, for example {"text": "hello"}.',
    code: text === undefined ? "MISSING_ARGUMENT" : "INVALID_ARGUMENT",
  });
}

type Failure = { success: false; error: string; retry_hint: string; code: string };

/** Some hosts read the content and others the structured content, so the failure stands in both. */
function failure(outcome: Failure): CallToolResult {
  return { isError: true, content: [{ type: "text", text: JSON.stringify(outcome) }], structuredContent: outcome };
}

/** A wrong value cut short, so that a huge one does not come back to the model. */
function shown(value: unknown): string {
  const json = JSON.stringify(value);
  return json.length > 60 ? `${json.slice(0, 60)}...` : json;
}
