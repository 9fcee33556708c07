import type { CallToolResult } from "@modelcontextprotocol/client";
import { isJsonObject, type JsonObject } from "../types/json.ts";
import type { ContentItem, ToolResult } from "../types/tool.ts";

const maxText = 64 * 1024;

/**
 * A server's answer as it is kept on the record: text up to 64 Ki characters an item (the cut is marked), all else as
 * type, MIME type and size in bytes. It is not checked against the tool's outputSchema: what the server really sent is
 * what gets judged. Structured content that is no object (allowed since revision 2026-07-28) is kept as text when there
 * is no other.
 */
export function toToolResult(answer: CallToolResult): ToolResult {
  const content = answer.content.map(toItem);
  const structured: unknown = answer.structuredContent;
  if (structured !== undefined && !isJsonObject(structured) && !content.some(({ type }) => type === "text")) {
    content.push({ type: "text", text: cut(JSON.stringify(structured)) });
  }
  return {
    isError: answer.isError === true,
    content,
    ...(isJsonObject(structured) && { structuredContent: structured as JsonObject }),
  };
}

/** A tool error in the server's words: what a JSON-RPC error in answer to a call amounts to. */
export function errorResult(message: string): ToolResult {
  return { isError: true, content: [{ type: "text", text: cut(message) }] };
}

function toItem(item: CallToolResult["content"][number]): ContentItem {
  switch (item.type) {
    case "text":
      return { type: "text", text: cut(item.text) };
    case "image":
    case "audio":
      return { type: item.type, mimeType: item.mimeType, bytes: Buffer.byteLength(item.data, "base64") };
    case "resource_link":
      return { type: item.type, ...mime(item.mimeType), ...(item.size !== undefined && { bytes: item.size }) };
    case "resource": {
      const { resource } = item;
      const bytes = "blob" in resource ? Buffer.byteLength(resource.blob, "base64") : Buffer.byteLength(resource.text);
      return { type: item.type, ...mime(resource.mimeType), bytes };
    }
  }
}

function mime(mimeType: string | undefined): { mimeType?: string } {
  return mimeType === undefined ? {} : { mimeType };
}

function cut(text: string): string {
  return text.length <= maxText ? text : `${text.slice(0, maxText)}… [cut: ${text.length} characters in all]`;
}

// `Unknown tool: x` (the protocol's words) and `MCP error -32602: Tool x not found` (the 1.x SDK's McpServer).
const unknownTool = /\bunknown tool\b|\btool\b.*\b(?:not found|does not exist|is not known)\b/is;

/**
 * Whether an error about a call says that the server has no such tool. A tool that is listed exists, whatever its error
 * says; for one that is not, -32602 alone is enough, as the protocol gives that code to unknown tools.
 */
export function saysUnknownTool(tool: string, message: string, listed: boolean | undefined, code?: number): boolean {
  if (listed === true) return false;
  if (listed === false && code === -32602) return true;
  return unknownTool.test(message) && message.includes(tool);
}
