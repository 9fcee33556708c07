import { describe, expect, it } from "vitest";
import { judge, toolChecks, unknownToolChecks } from "../../src/evals/probes/checks/index.ts";
import type { Observation } from "../../src/evals/probes/probe.ts";
import { broken, failure, probed, result, seen } from "./make.ts";

/** What is found wrong, by check. */
const found = (observation: Observation) =>
  Object.fromEntries(
    judge(observation).flatMap(({ check, verdict }) =>
      typeof verdict === "object" ? [[check.id, verdict.wrong]] : [],
    ),
  );
const ok = (observation: Observation) =>
  judge(observation).flatMap(({ check, verdict }) => (verdict === "ok" ? [check.id] : []));

const structured = { success: false, error: "There is no file x.", retry_hint: "List the files first." };
const total = { type: "object", properties: { total: { type: "number" } }, required: ["total"] };
const adding = probed({ type: "object" }, { outputSchema: total });
const unsure = probed({ type: "object" }, { readOnly: false });
const steady = probed({ type: "object" }, { idempotent: true });
const image = { type: "image", mimeType: "image/png", bytes: 3 };

const cases: [string, Observation, Record<string, string>][] = [
  ["a text", seen("valid", [result("done")]), {}],
  ["no answer", seen("valid", [broken("timeout", true)]), { "answers-in-time": "the call was not answered in time" }],
  ["a crash", seen("valid", [broken("server", false)]), { survives: "the server ended at this call" }],
  [
    "an answer, and a crash after it",
    seen("valid", [{ ...result("done"), alive: false }]),
    { survives: "the server ended at this call" },
  ],
  [
    "an answer that cannot be read",
    seen("valid", [broken("server", true)]),
    { "well-formed": "the answer is no list of content items" },
  ],
  ["no content", seen("valid", [result(undefined)]), { "not-empty": "the result has no content item" }],
  ["null", seen("valid", [result("null")]), { "not-empty": "the result is only null" }],
  ["an empty object", seen("valid", [result(" {} ")]), { "not-empty": "the result is only {}" }],
  ["an empty list, which is an answer", seen("valid", [result("[]")]), {}],
  ["an empty text", seen("valid", [result("")]), { "not-blank": "the result is an empty text" }],
  [
    "an image",
    seen("valid", [result("a picture", { content: [{ type: "text", text: "a picture" }, image] })]),
    { "text-items": "an item is of type image" },
  ],
  [
    "an image without a text",
    seen("valid", [result("", { content: [image] })]),
    { "text-items": "an item is of type image" },
  ],
  ["the structured failure", seen("valid", [failure(structured)]), {}],
  ["the structured failure with a code", seen("valid", [failure({ ...structured, code: "NOT_FOUND" })]), {}],
  ["the structured failure that is not marked", seen("reference", [result(structured)]), {}],
  [
    "the structured failure in structured content only",
    seen("valid", [failure("failed: see structured", { structuredContent: structured })]),
    { "mirrored-as-text": "the text does not hold what the structured content does" },
  ],
  [
    "a code in lower case, an empty hint",
    seen("valid", [failure({ ...structured, retry_hint: " ", code: "not found" })]),
    {
      "failure-structured":
        'the failure is not the structured outcome: retry_hint is " ", not a text; code is "not found", not in UPPER_CASE',
    },
  ],
  [
    "a failure as plain text",
    seen("reference", [failure("ENOENT: /x")]),
    {
      "failure-structured":
        "the failure is not the structured outcome: it is plain text, no object with success, error and retry_hint",
    },
  ],
  [
    "an error object of another shape",
    seen("valid", [failure({ error: "no file x" })]),
    {
      "failure-structured":
        "the failure is not the structured outcome: success is missing, not false; retry_hint is missing",
    },
  ],
  ["a method that is not supported", seen("valid", [failure("MCP error -32601: act needs a task")]), {}],
  [
    "a refusal in plain words",
    seen("missing", [failure("MCP error -32602: text is required")], { parameter: "text" }),
    {},
  ],
  [
    "a refusal that means to be structured",
    seen("missing", [failure({ success: false, error: "text is required" })], { parameter: "text" }),
    { "failure-structured": "the failure is not the structured outcome: retry_hint is missing" },
  ],
  [
    "a missing parameter that is not missed",
    seen("missing", [result("done")]),
    { "refuses-missing": "a call without a required parameter succeeds" },
  ],
  [
    "a wrong type that is taken",
    seen("wrong type", [result("done")], { parameter: "n", args: { n: "7" } }),
    { "refuses-wrong-type": 'a call with a value of a wrong type succeeds: "7"' },
  ],
  [
    "structured content that breaks its schema",
    seen("valid", [result({ total: "1" }, { structuredContent: { total: "1" } })], { tool: adding }),
    {
      "output-schema":
        'the structured content breaks the outputSchema: structuredContent.total must be number, got "1"',
    },
  ],
  [
    "a schema, and no structured content",
    seen("valid", [result("1")], { tool: adding }),
    { "output-schema": "the structured content breaks the outputSchema: there is none" },
  ],
  ["a failure, which needs no outputSchema", seen("valid", [failure(structured)], { tool: adding }), {}],
  [
    "structured content in a text of its own words",
    seen("valid", [
      result("It is 12.5 degrees in Bonn.", { structuredContent: { degrees: 12.5, at: { city: "Bonn" } } }),
    ]),
    {},
  ],
  [
    "empty structured content",
    seen("valid", [result("", { structuredContent: { content: "" } })]),
    { "not-blank": "the result is an empty text" },
  ],
  [
    "a text with line breaks, mirrored",
    seen("valid", [result({ a: 'x\n"y"' }, { structuredContent: { a: 'x\n"y"' } })]),
    {},
  ],
  ["twice the same", seen("repeat", [result("done"), result("done")]), {}],
  [
    "twice, and a failure the second time",
    seen("repeat", [result("done"), failure(structured)]),
    { repeats: "the same call fails the second time" },
  ],
  ["twice a failure", seen("repeat", [failure(structured), failure(structured)]), {}],
  [
    "defaults that are needed",
    seen("defaults", [result("page 1"), failure(structured)]),
    {
      "defaults-work": "the call fails without the parameters that have defaults, and succeeds with the defaults given",
    },
  ],
  ["defaults beside what fails anyway", seen("defaults", [failure(structured), failure(structured)]), {}],
  ["defaults left out once, of a tool that writes", seen("defaults", [failure(structured)], { tool: unsure }), {}],
  [
    "another default than the declared",
    seen("defaults", [result("up"), result("down"), result("up")], { tool: steady }),
    { "defaults-as-declared": "the result differs from the one with the declared defaults given" },
  ],
  ["a result that changes by itself", seen("defaults", [result("1"), result("2"), result("3")], { tool: steady }), {}],
];

const bare = [
  ...[
    "",
    "error",
    "Error!",
    "failed",
    "Failure.",
    "500",
    "HTTP 500",
    "404 Not Found",
    "Internal Server Error",
    "null",
    "{}",
    "[]",
  ],
  ...["MCP error -32603: Internal error", "Something went wrong", "An unknown error occurred.", '{"success":false}'],
  ...['{"error":"failed"}', "Sorry, the request failed with status code 502"],
];
const telling = [
  ...["File not found: notes.txt", "There is no city of this name.", "rate limit reached", "Fehler beim Lesen"],
  ...["Error: ENOENT", '{"error":"no row 7"}', "date must be YYYY-MM-DD"],
];

describe("what is found", () => {
  it.each(cases)("at %s", (_, observation, expected) => {
    expect(found(observation)).toEqual(expected);
  });

  it.each(bare)("a failure that tells nothing: %j", (text) => {
    expect(found(seen("valid", [failure(text)]))).toEqual({
      "failure-not-bare": `the failure says no more than ${JSON.stringify(text)}`,
    });
  });

  it.each(telling)("no bare failure: %j", (text) => {
    expect(Object.keys(found(seen("valid", [failure(text)])))).toEqual(["failure-structured"]);
  });

  it("a failure without any content", () => {
    expect(found(seen("valid", [failure(undefined)]))).toEqual({
      "failure-not-bare": 'the failure says no more than ""',
    });
  });

  it("is judged only where there was an occasion", () => {
    expect(ok(seen("valid", [result("done")]))).toEqual([
      ...["answers-in-time", "survives", "well-formed", "not-empty", "not-blank", "text-items"],
    ]);
    expect(ok(seen("valid", [broken("server", false)]))).toEqual([]);
    expect(ok(seen("repeat", [result("done")]))).not.toContain("repeats");
  });
});

describe("a call of an unknown tool", () => {
  const tool = { ...probed({}), name: "nope" };
  const said = (message: string) =>
    found(seen("unknown tool", [{ alive: true, outcome: { kind: "unknown-tool", message } }], { tool }));
  const form = (message: string, own: string) => ({
    "unknown-tool-message": `the error has ${own}: ${JSON.stringify(message)}`,
  });

  it("is answered in the specified form, with the SDK's mark or without", () => {
    expect(said("Unknown tool: nope")).toEqual({});
    expect(said("MCP error -32602: Unknown tool: nope")).toEqual({});
  });

  it("is answered in McpServer's form, or in another", () => {
    expect(said("MCP error -32602: Tool nope not found")).toEqual(form("Tool nope not found", "McpServer's own form"));
    expect(said("Unknown tool: other")).toEqual(form("Unknown tool: other", "another form"));
    expect(found(seen("unknown tool", [failure("what?")], { tool }))).toEqual(form("what?", "another form"));
  });

  it("must not succeed", () => {
    expect(found(seen("unknown tool", [result("done")], { tool }))).toEqual({
      "unknown-tool-refused": "a call of a tool that is not listed succeeds",
    });
  });
});

describe("the checks", () => {
  const all = [...new Set([...toolChecks, ...unknownToolChecks])];

  it("have ids of their own, and sentences", () => {
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    for (const { id, why, fix, docs, needs } of all) {
      expect(id).toMatch(/^[a-z]+(-[a-z]+)*$/);
      expect(why).toMatch(/^[A-Z].*\.$/);
      expect(fix).toMatch(/^[A-Z].*\.$/);
      expect(docs + needs).not.toBe("");
    }
  });

  it("each find something in these tests", () => {
    const seenToFind = new Set(cases.flatMap(([, , expected]) => Object.keys(expected)));
    const elsewhere = ["failure-not-bare", "unknown-tool-refused", "unknown-tool-message"];
    expect(all.map(({ id }) => id).filter((id) => !seenToFind.has(id) && !elsewhere.includes(id))).toEqual([]);
  });
});
