import { cut } from "../base/text/text.ts";
import { formatIssues, messageOf } from "../base/types/errors.ts";
import { isJsonObject, type Json, type JsonObject, markWholes, parseJsonText } from "../base/types/json.ts";
import { listCauses } from "./link.ts";

export const refusedHint = "Correct the message in the server: hosts refuse it as well.";

/** What is wrong with a message, as a predicate. `answers`: it would have been the answer to a request. */
export type RefusedMessage = { fault: string; answers: boolean };

const members = {
  request: ["jsonrpc", "id", "method", "params"],
  response: ["jsonrpc", "id", "result", "error"],
};

/**
 * What is wrong with a text that is meant as a message of JSON-RPC 2.0 and not as a log line: the member at fault, what is
 * expected of it, and the message itself. Undefined if the client accepts it.
 */
export function explainRefusal(text: string): RefusedMessage | undefined {
  const message = parseJsonText(text);
  if (Array.isArray(message) && message.some((one) => isJsonObject(one) && one.jsonrpc !== undefined))
    return { fault: `sent a batch, which the protocol does not have: ${cut(text)}`, answers: true };
  if (!isJsonObject(message)) return undefined;
  const names = Object.keys(message);
  const answers = names.includes("id") && (names.includes("result") || names.includes("error"));
  const isMessage = names.includes("jsonrpc") || (answers && names.every((name) => members.response.includes(name)));
  const what = isMessage && findFault(message, names.includes("method") ? "request" : "response");
  return what ? { fault: `sent a message that JSON-RPC does not permit: ${what}: ${cut(text)}`, answers } : undefined;
}

/** The text of a message in which large whole numbers of the structured content of a result are marked texts. */
export function markStructured(text: string): string {
  const marked = text.includes('"structuredContent"') ? markWholes(text) : text;
  if (marked === text) return text;
  const [{ result }, { result: exact }] = [readMessage(text), readMessage(marked)];
  if (!isJsonObject(result) || !isJsonObject(exact) || exact.structuredContent === undefined) return text;
  return JSON.stringify({ ...readMessage(text), result: { ...result, structuredContent: exact.structuredContent } });
}

function readMessage(text: string): JsonObject {
  const message = parseJsonText(text);
  return isJsonObject(message) ? message : {};
}

function findFault(message: JsonObject, kind: keyof typeof members): string | undefined {
  const { jsonrpc, id, result, error, params = {} } = message;
  if (jsonrpc !== "2.0") return describeFault("jsonrpc", '"2.0"', jsonrpc);
  const extra = Object.keys(message).find((name) => !members[kind].includes(name));
  if (extra !== undefined) return `"${extra}" is no member of a ${kind}`;
  const mayLackId = id === undefined && (kind === "request" || error !== undefined);
  if (!mayLackId && typeof id !== "string" && !Number.isInteger(id))
    return describeFault("id", "text or a whole number", id);
  if (kind === "request") return isJsonObject(params) ? undefined : describeFault("params", "an object", params);
  if (result !== undefined && error !== undefined) return 'it has both "result" and "error"';
  if (error === undefined) return isJsonObject(result) ? undefined : describeFault("result", "an object", result);
  if (!isJsonObject(error)) return describeFault("error", "an object", error);
  if (!Number.isInteger(error.code)) return describeFault("error.code", "a whole number", error.code);
  return typeof error.message === "string" ? undefined : describeFault("error.message", "text", error.message);
}

function describeFault(name: string, expected: string, given: Json | undefined): string {
  return `"${name}" must be ${expected}${given === undefined ? ", but is missing" : `, got ${cut(JSON.stringify(given), 60)}`}`;
}

/** With the issues as JSON, or as a path and what is wrong there, by the version of the SDK's validation. */
const refusedResult = /^Invalid result for (\S+): (\[.*\]|[\w.[\]]+: .*)$/s;

/** What is wrong with a result that the client refused, as a predicate; undefined for another error. */
export function explainResult(error: unknown): string | undefined {
  const [, method, text = ""] = refusedResult.exec(messageOf(listCauses(error).at(-1) ?? error)) ?? [];
  const issues = parseJsonText(text);
  if (method === undefined) return undefined;
  const fault = Array.isArray(issues) ? formatIssues({ issues: issues as never }) : cut(text);
  return `sent a malformed result of ${method}: ${fault}`;
}
