import { describe, expect, it } from "vitest";
import type { ProbeObservation } from "../../../../src/evals/inspection/probe/plan/probe.ts";
import { checkRules, toolRules, unknownToolRules } from "../../../../src/evals/inspection/probe/plan/rules.ts";
import { broken, failure, probed, result, seen } from "./make.ts";

/** The violations, by rule. */
const found = (observation: ProbeObservation) =>
  Object.fromEntries(
    checkRules(observation).flatMap(({ rule, result }) =>
      typeof result === "object" ? [[rule.id, result.violation]] : [],
    ),
  );
const ok = (observation: ProbeObservation) =>
  checkRules(observation).flatMap(({ rule, result }) => (result === "ok" ? [rule.id] : []));

const valid = (call: Parameters<typeof seen>[1], changes?: Parameters<typeof seen>[2]) => seen("valid", call, changes);
const unstructured = (why: string) => ({ "failure-structured": `The failure is not a structured outcome: ${why}` });

const structured = { success: false, error: "There is no file x.", retry_hint: "List the files first." };
const total = { type: "object", properties: { total: { type: "number" } }, required: ["total"] };
const adding = probed({ type: "object" }, { outputSchema: total });
const image = { type: "image", mimeType: "image/png", bytes: 3 };

const cases: [string, ProbeObservation, Record<string, string>][] = [
  ["a text", valid(result("done")), {}],
  ["no answer", valid(broken("timeout", true)), { "answers-in-time": "The call was not answered in time." }],
  ["no answer of a tool asked to wait", valid(broken("timeout", true), { args: { waitMs: 60_000 } }), {}],
  [
    "no answer of a tool that is asked not to wait",
    valid(broken("timeout", true), { args: { delay: 0, count: 9 } }),
    { "answers-in-time": "The call was not answered in time." },
  ],
  [
    "no answer of a tool that waits by its defaults",
    valid(broken("timeout", true), {
      tool: probed({ type: "object", properties: { duration: { type: "number", default: 10 } } }),
      args: {},
    }),
    {},
  ],
  ["a crash", valid(broken("server", false)), { survives: "The call ended the server." }],
  ["a crash after it", valid({ ...result("done"), alive: false }), { survives: "The call ended the server." }],
  [
    "an answer that cannot be read",
    valid(broken("server", true)),
    { "well-formed": "The answer is not a list of content items." },
  ],
  ["no content", valid(result(undefined)), { "not-empty": "The result has no content items." }],
  ["null", valid(result("null")), { "not-empty": "The result is only null." }],
  ["an empty object", valid(result(" {} ")), { "not-empty": "The result is only {}." }],
  ["an empty list, which is an answer", valid(result("[]")), {}],
  ["an empty text", valid(result("")), {}],
  ["an image", valid(result("a picture", { content: [{ type: "text", text: "a picture" }, image] })), {}],
  ["an image without a text", valid(result("", { content: [image] })), {}],
  ["the structured failure", valid(failure(structured)), {}],
  ["the structured failure with a code", valid(failure({ ...structured, code: "NOT_FOUND" })), {}],
  ["the structured failure that is not marked", valid(result(structured)), {}],
  [
    "the structured failure in structured content only",
    valid(failure("failed: see structured", { structuredContent: structured })),
    {},
  ],
  [
    "a code in lower case, an empty hint",
    valid(failure({ ...structured, retry_hint: " ", code: "not found" })),
    unstructured("retry_hint is invalid: it is blank; code is invalid: it is not in UPPER_CASE."),
  ],
  [
    "a failure as plain text",
    valid(failure("ENOENT: /x")),
    unstructured("it is plain text, not an object with success, error and retry_hint."),
  ],
  [
    "an error object of another shape",
    valid(failure({ error: "no file x" })),
    unstructured("success must be false; retry_hint is missing: expected text."),
  ],
  ["a method that is not supported", valid(failure("MCP error -32601: act needs a task")), {}],
  ["a plain refusal", seen("missing", failure("MCP error -32602: text is required"), { parameter: "text" }), {}],
  [
    "a refusal that means to be structured",
    seen("missing", failure({ success: false, error: "text is required" }), { parameter: "text" }),
    unstructured("retry_hint is missing: expected text."),
  ],
  [
    "a missing parameter that is not missed",
    seen("missing", result("done")),
    { "refuses-missing": "A call without a required parameter succeeds." },
  ],
  [
    "a wrong type that is taken",
    seen("wrong type", result("done"), { parameter: "n", args: { n: "7" } }),
    { "refuses-wrong-type": 'A call with a value of the wrong type succeeds: "7".' },
  ],
  [
    "structured content that breaks its schema",
    valid(result({ total: "1" }, { structuredContent: { total: "1" } }), { tool: adding }),
    {
      "output-schema":
        'The structured content violates the outputSchema: structuredContent.total must be number, got "1".',
    },
  ],
  [
    "a schema, and no structured content",
    valid(result("1"), { tool: adding }),
    { "output-schema": "The structured content violates the outputSchema: there is none." },
  ],
  ["a failure, which needs no outputSchema", valid(failure(structured), { tool: adding }), {}],
];

const uninformative = [
  ...["", "error", "Error!", "failed", "Failure.", "500", "HTTP 500", "404 Not Found", "Internal Server Error"],
  ...["null", "{}", "[]"],
  ...["MCP error -32603: Internal error", "Something went wrong", "An unknown error occurred.", '{"success":false}'],
  ...['{"error":"failed"}', "Sorry, the request failed with status code 502"],
];
const informative = [
  ...["File not found: notes.txt", "There is no city of this name.", "rate limit reached", "Fehler beim Lesen"],
  ...["Error: ENOENT", '{"error":"no row 7"}', "date must be YYYY-MM-DD"],
];

describe("what is found", () => {
  it.each(cases)("at %s", (_, observation, expected) => {
    expect(found(observation)).toEqual(expected);
  });

  it.each(uninformative)("an uninformative failure: %j", (text) => {
    expect(found(valid(failure(text)))).toEqual({
      "failure-not-bare": `The failure says only ${JSON.stringify(text)}.`,
    });
  });

  it.each(informative)("an informative failure: %j", (text) => {
    expect(Object.keys(found(valid(failure(text))))).toEqual(["failure-structured"]);
  });

  it("a failure without any content", () => {
    expect(found(valid(failure(undefined)))).toEqual({ "failure-not-bare": 'The failure says only "".' });
  });

  it("applies only rules that fit what was seen", () => {
    expect(ok(valid(result("done")))).toEqual(["answers-in-time", "survives", "well-formed", "not-empty"]);
    expect(ok(valid(broken("server", false)))).toEqual([]);
  });
});

describe("a call of an unknown tool", () => {
  const tool = { ...probed({}), name: "nope" };
  const refuse = (message: string) =>
    found(seen("unknown tool", { alive: true, outcome: { kind: "unknown-tool", message } }, { tool }));
  const finding = (message: string, form: string) => ({
    "unknown-tool-message": `The error has ${form}: ${JSON.stringify(message)}.`,
  });

  it("is answered in the specified form, with the prefix of the SDK or without", () => {
    expect(refuse("Unknown tool: nope")).toEqual({});
    expect(refuse("MCP error -32602: Unknown tool: nope")).toEqual({});
  });

  it("is answered in the form of McpServer, or in another", () => {
    expect(refuse("MCP error -32602: Tool nope not found")).toEqual(
      finding("Tool nope not found", "the form of McpServer"),
    );
    expect(refuse("Unknown tool: other")).toEqual(finding("Unknown tool: other", "another form"));
    expect(found(seen("unknown tool", failure("what?"), { tool }))).toEqual(finding("what?", "another form"));
  });

  it("must not succeed", () => {
    expect(found(seen("unknown tool", result("done"), { tool }))).toEqual({
      "unknown-tool-refused": "A call of a tool that is not listed succeeds.",
    });
  });
});

describe("the rules", () => {
  const all = [...new Set([...toolRules, ...unknownToolRules])];

  it("have unique ids, and sentences", () => {
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    for (const { id, why, fix, docs } of all) {
      expect(id).toMatch(/^[a-z]+(-[a-z]+)*$/);
      expect(why).toMatch(/^[A-Z].*\.$/);
      expect(fix).toMatch(/^[A-Z].*\.$/);
      expect(docs).not.toBe("");
    }
  });

  it("each find something in these tests", () => {
    const ids = new Set(cases.flatMap(([, , expected]) => Object.keys(expected)));
    const elsewhere = ["failure-not-bare", "unknown-tool-refused", "unknown-tool-message"];
    expect(all.map(({ id }) => id).filter((id) => !ids.has(id) && !elsewhere.includes(id))).toEqual([]);
  });
});
