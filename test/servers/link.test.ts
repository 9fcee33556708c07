import { expect, it } from "vitest";
import { writeExactJson } from "../../src/evals/base/types/json.ts";
import { explainRefusal, explainResult, markStructured } from "../../src/evals/servers/link.ts";

const valid = { jsonrpc: "2.0", id: 1, result: {} };

it.each<[string, object]>([
  ['"jsonrpc" must be "2.0", but is missing', { id: 1, result: {} }],
  ['"jsonrpc" must be "2.0", but is missing', { id: 1, error: { code: 1, message: "no" } }],
  ['"jsonrpc" must be "2.0", got "1.0"', { ...valid, jsonrpc: "1.0" }],
  ['"elapsed" is no member of a response', { ...valid, elapsed: 3 }],
  ['it has both "result" and "error"', { ...valid, error: null }],
  ['"id" must be text or a whole number, got null', { ...valid, id: null }],
  ['"id" must be text or a whole number, got 1.5', { ...valid, id: 1.5 }],
  ['"result" must be an object, got [1]', { ...valid, result: [1] }],
  ['"error" must be an object, got "no"', { jsonrpc: "2.0", id: 1, error: "no" }],
  ['"error.code" must be a whole number, got "E1"', { jsonrpc: "2.0", id: 1, error: { code: "E1", message: "no" } }],
  ['"error.message" must be text, but is missing', { jsonrpc: "2.0", id: 1, error: { code: 1 } }],
  ['"params" must be an object, got [1]', { jsonrpc: "2.0", method: "notifications/message", params: [1] }],
  ['"level" is no member of a request', { jsonrpc: "2.0", method: "notifications/message", level: "info" }],
])("names the member at fault: %s", (fault, message) => {
  const text = JSON.stringify(message);
  expect(explainRefusal(text)?.fault).toBe(`sent a message that JSON-RPC does not permit: ${fault}: ${text}`);
});

it("names a message that is not alone on its line, and an answer to no request", () => {
  const [text, isAsked] = [JSON.stringify(valid), (id: string) => id === "1"];
  for (const line of [`INFO: ${text}`, text + text, '"jsonrpc": "2.0",'])
    expect(explainRefusal(line)).toEqual({
      fault: `sent a message that is not one line of JSON: ${line}`,
      answers: false,
    });
  expect(explainRefusal(text, isAsked)).toBeUndefined();
  expect(explainRefusal(JSON.stringify({ ...valid, id: "1" }), isAsked)).toBeUndefined();
  const stray = JSON.stringify({ ...valid, id: 7 });
  const fault = `sent an answer to no request (its id is another one): ${stray}`;
  expect(explainRefusal(stray, isAsked)).toEqual({ fault, answers: false });
});

it.each([[[valid]], [[{ jsonrpc: "2.0", method: "ping" }, valid]], [[valid, 7]]])("names a batch: %j", (batch) => {
  const text = JSON.stringify(batch);
  expect(explainRefusal(text)?.fault).toBe(`sent a batch, which the protocol does not have: ${text}`);
});

it.each([
  "Listening on port 3000",
  "[1, 2]",
  '[{"level":30}]',
  "[]",
  "7",
  '{"level":30,"msg":"started"}',
  '{"level":"error","id":5,"error":"connection reset"}',
  JSON.stringify(valid),
  JSON.stringify({ jsonrpc: "2.0", error: { code: -32700, message: "Parse error" } }),
  JSON.stringify({ jsonrpc: "2.0", id: "a", method: "ping" }),
])("takes neither a log line nor a valid message for a refused one: %s", (text) => {
  expect(explainRefusal(text)).toBeUndefined();
});

it("puts the issues of a refused result in words", () => {
  const issues = [
    { expected: "array", code: "invalid_type", path: ["content"], message: "expected array, received null" },
  ];
  const cause = new Error(`Invalid result for tools/call: ${JSON.stringify(issues, null, 2)}`);
  expect(explainResult(new Error("failed", { cause }))).toBe(
    "sent a malformed result of tools/call: content must be a list, got null",
  );
  expect(explainResult(new Error("Invalid result for tools/call: no idea"))).toBeUndefined();
  expect(explainResult(new Error("Invalid result for tools/list: nextCursor: expected string, received null"))).toBe(
    "sent a malformed result of tools/list: nextCursor: expected string, received null",
  );
});

it.each([
  ['{"id":1,"result":{"structuredContent":{"id":9007199254740993}}}', '{"id":9007199254740993}'],
  [
    '{"id":1,"result":{"structuredContent":[-12345678901234567890,1.5,"1234567890123456789"]}}',
    '[-12345678901234567890,1.5,"1234567890123456789"]',
  ],
])("keeps the digits of structured content: %s", (text, written) => {
  const { result } = JSON.parse(markStructured(text));
  expect(writeExactJson(result.structuredContent)).toBe(written);
});

it.each([
  '{"id":1,"result":{"tools":[{"inputSchema":{"maximum":9223372036854775807}}],"about":"structuredContent"}}',
  '{"id":1,"result":{"content":[{"text":"structuredContent 9007199254740993"}]}}',
  'not JSON: "structuredContent" 9007199254740993',
])("leaves other messages as they are: %s", (text) => expect(markStructured(text)).toBe(text));
