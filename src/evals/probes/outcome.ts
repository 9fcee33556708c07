import { isJsonObject, type Json, type JsonObject } from "../types/json.ts";
import type { ToolResult } from "../types/tool.ts";
import type { Answer } from "./probe.ts";

/** What a call returned, unless it broke or the tool is not known. */
export function resultOf(answer: Answer | undefined): ToolResult | undefined {
  return answer?.outcome.kind === "result" ? answer.outcome.result : undefined;
}

/** Whether a result reports a failure: by the protocol's mark, or as a structured outcome. */
export function failed(result: ToolResult): boolean {
  const body = bodyOf(result);
  return result.isError || (isJsonObject(body) && body.success === false);
}

/** The texts of a result, joined. */
export function textOf(result: ToolResult): string {
  return result.content.flatMap(({ text }) => text ?? []).join("\n");
}

/** The structured content, else the text read as JSON, else undefined. */
export function bodyOf(result: ToolResult): Json | undefined {
  if (result.structuredContent && Object.keys(result.structuredContent).length > 0) return result.structuredContent;
  try {
    return JSON.parse(textOf(result)) as Json;
  } catch {
    return undefined;
  }
}

/** A text without the mark that the SDK puts before the message of an error. */
export function unmarked(message: string): string {
  return message.replace(/^(?:MCP error -?\d+: )+/, "");
}

const saysNothing = new Set(
  (
    "a access an and argument arguments at bad call caused code could denied did error errors err exception execution exit fail failed " +
    "failure false forbidden gateway generic happened has http input internal invalid is issue method mcp no none not " +
    "nothing null occurred ok oops operation params permission problem request result return server service something sorry status " +
    "success the there timeout tool unable unauthorized unavailable undefined unexpected unhandled unknown unsuccessful was went with wrong found"
  ).split(" "),
);

/**
 * Whether a failure tells nothing but that it failed: no content, null, an empty object, or a few words and numbers that
 * could stand for any failure ("Error", "500 Internal Server Error", "Something went wrong").
 */
export function isBare(result: ToolResult): boolean {
  const structured = result.structuredContent ?? {};
  const text = unmarked(textOf(result)) + (Object.keys(structured).length > 0 ? JSON.stringify(structured) : "");
  const words = text.toLowerCase().match(/[\p{L}\p{M}']+/gu) ?? [];
  return words.length <= 8 && words.every((word) => saysNothing.has(word));
}

/** What is missing in a structured failure {success, error, retry_hint, code?}, in words; empty when nothing is. */
export function outcomeFaults(result: ToolResult): string[] {
  const body = bodyOf(result);
  if (!isJsonObject(body)) return ["it is plain text, no object with success, error and retry_hint"];
  const { success, code } = body;
  return [
    ...(success === false
      ? []
      : [`success is ${success === undefined ? "missing" : JSON.stringify(success)}, not false`]),
    ...["error", "retry_hint"].flatMap((key) => textFault(body, key)),
    ...(code === undefined || (typeof code === "string" && /^[A-Z][A-Z0-9_]*$/.test(code))
      ? []
      : [`code is ${JSON.stringify(code)}, not in UPPER_CASE`]),
  ];
}

function textFault(body: JsonObject, key: string): string[] {
  const value = body[key];
  if (value === undefined) return [`${key} is missing`];
  return typeof value === "string" && value.trim() !== "" ? [] : [`${key} is ${JSON.stringify(value)}, not a text`];
}

const mostText = 64 * 1024;

/**
 * Whether the texts of a result tell what its structured content does: as the same JSON, or with every value of it
 * somewhere. A text that is so long that it may have been cut is believed.
 */
export function isMirrored(structured: JsonObject, result: ToolResult): boolean {
  const text = textOf(result);
  if (text.length >= mostText) return true;
  const compact = text.replace(/\s+/g, "");
  const leaves = leavesOf(structured);
  if (leaves.length === 0) return text.trim() !== "";
  return leaves.every((leaf) => text.includes(leaf) || compact.includes(escaped(leaf)));
}

const escaped = (leaf: string) => JSON.stringify(leaf).slice(1, -1).replace(/\s+/g, "");

function leavesOf(value: Json): string[] {
  if (typeof value === "object" && value !== null) return Object.values(value).flatMap(leavesOf);
  return typeof value === "string" || typeof value === "number" ? [String(value)] : [];
}
