import {
  isJsonObject,
  isMarked,
  type Json,
  type JsonObject,
  parseJsonText,
  writeExactJson,
} from "../../../base/types/json.ts";
import { joinText, type ToolResult } from "../../../base/types/tool.ts";
import type { ProbeAnswer, ProbeObservation } from "./probe.ts";

/** The result of a call; undefined if the call broke or the tool is unknown. */
export function getResult(answer: ProbeAnswer | undefined): ToolResult | undefined {
  return answer?.outcome.kind === "result" ? answer.outcome.result : undefined;
}

/** Whether a result reports a failure: by isError, or as a structured outcome. */
export function isFailure(result: ToolResult): boolean {
  const body = getBody(result);
  return result.isError || (isJsonObject(body) && body.success === false);
}

/** The call that broke, which is the last one. */
export function getBroken({ answers }: ProbeObservation): { stage: string; alive: boolean } | undefined {
  const last = answers.at(-1);
  return last?.outcome.kind === "broken" ? { stage: last.outcome.stage, alive: last.alive } : undefined;
}

export function findFailure({ answers }: ProbeObservation): ToolResult | undefined {
  return answers.flatMap((answer) => getResult(answer) ?? []).find(isFailure);
}

/** The structured content, or the text parsed as JSON; undefined if there is neither. */
export function getBody(result: ToolResult): Json | undefined {
  const { structuredContent = {} } = result;
  return Object.keys(structuredContent).length > 0 ? structuredContent : parseJsonText(joinText(result));
}

/** A message without the prefix that the SDK adds to the message of an error. */
export function stripErrorPrefix(message: string): string {
  return message.replace(/^(?:MCP error -?\d+: )+/, "");
}

const fillerWords = new Set(
  (
    "a access an and argument arguments at bad call caused code could denied did error errors err exception execution exit fail failed " +
    "failure false forbidden gateway generic happened has http input internal invalid is issue method mcp no none not " +
    "nothing null occurred ok oops operation params permission problem request result return server service something sorry status " +
    "success the there timeout tool unable unauthorized unavailable undefined unexpected unhandled unknown unsuccessful was went with wrong found"
  ).split(" "),
);

/**
 * Whether a failure says nothing except that it failed: no content, null, an empty object, or a few words and numbers
 * that fit any failure ("Error", "500 Internal Server Error", "Something went wrong").
 */
export function isUninformative(result: ToolResult): boolean {
  const structured = result.structuredContent ?? {};
  const text =
    stripErrorPrefix(joinText(result)) + (Object.keys(structured).length > 0 ? JSON.stringify(structured) : "");
  const words = text.toLowerCase().match(/[\p{L}\p{M}']+/gu) ?? [];
  return words.length <= 8 && words.every((word) => fillerWords.has(word));
}

/** How a failure deviates from the structure {success, error, retry_hint, code?}. */
export function findOutcomeFaults(result: ToolResult): string[] {
  const body = getBody(result);
  if (!isJsonObject(body)) return ["it is plain text, not an object with success, error and retry_hint"];
  const { success, code } = body;
  const isCodeValid = code === undefined || (typeof code === "string" && /^[A-Z][A-Z0-9_]*$/.test(code));
  return [
    ...(success === false
      ? []
      : [`success is ${success === undefined ? "missing" : JSON.stringify(success)}, not false`]),
    ...["error", "retry_hint"].flatMap((key) => findTextFault(body, key)),
    ...(isCodeValid ? [] : [`code is ${JSON.stringify(code)}, not in UPPER_CASE`]),
  ];
}

function findTextFault(body: JsonObject, key: string): string[] {
  const value = body[key];
  if (value === undefined) return [`${key} is missing`];
  return typeof value === "string" && value.trim() !== "" ? [] : [`${key} is ${JSON.stringify(value)}, not a text`];
}

const maxText = 64 * 1024;

/** Whether the texts repeat the structured content, as JSON or value by value. A text that may be cut counts too. */
export function isMirrored(structured: JsonObject, result: ToolResult): boolean {
  const text = joinText(result);
  if (text.length >= maxText) return true;
  const compact = text.replace(/\s+/g, "");
  const leaves = listLeaves(structured).map((leaf) => (isMarked(leaf) ? writeExactJson(leaf) : leaf));
  if (leaves.length === 0) return text.trim() !== "";
  return leaves.every((leaf) => text.includes(leaf) || compact.includes(escapeLeaf(leaf)));
}

const escapeLeaf = (leaf: string) => JSON.stringify(leaf).slice(1, -1).replace(/\s+/g, "");

function listLeaves(value: Json): string[] {
  if (typeof value === "object" && value !== null) return Object.values(value).flatMap(listLeaves);
  return typeof value === "string" || typeof value === "number" ? [String(value)] : [];
}

/** A value as JSON, short enough for a message. */
export function quoteJson(value: Json): string {
  const text = JSON.stringify(value);
  return text.length > 120 ? `${text.slice(0, 119)}…` : text;
}
