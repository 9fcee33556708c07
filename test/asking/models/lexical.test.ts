import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fillArguments, lexical } from "../../../src/evals/asking/models/lexical.ts";
import { toSearchDocument } from "../../../src/evals/base/search/document.ts";
import type { JsonObject } from "../../../src/evals/base/types/json.ts";
import type { OfferedTool } from "../../../src/evals/base/types/tool.ts";
import { evaluateSearch } from "../../../src/evals/inspection/search/evaluate.ts";
import { requestOf, tool } from "./request.ts";

const echo = tool("echo", "Echoes the input text back to the user.", { text: "the text to echo back" });
const tools = [
  echo,
  tool("get_weather", "Gets the current weather of a city.", { city: "the city" }),
  tool("addNumbers", "Adds two numbers.", { a: { type: "number" }, b: { type: "number" } }),
  tool("read_text_file", "Reads the contents of a file.", { path: "path of the file" }),
  tool("delete-file", "Deletes a file for good.", { path: "path of the file" }),
  tool("mail.send", "Sends an email to someone.", { to: "email address of the recipient" }),
  tool("book_table", "Reserves a table in a restaurant.", { guests: { type: "integer" } }),
];
const filler = Array.from({ length: 43 }, (_, i) => tool(`rotate_gadget_${i}`, `Rotates gadget number ${i}.`));

async function pick(input: string, offered: readonly OfferedTool[] = tools): Promise<string | undefined> {
  const reply = await lexical().ask(requestOf(input, offered), new AbortController().signal);
  if (reply.kind !== "turn") throw new Error(reply.message);
  return reply.turn.calls[0]?.tool;
}

const wanted = {
  "Echo: hello": "echo",
  "Please echo 'good morning' back to me": "echo",
  "What is the weather in Oslo?": "get_weather",
  "add 2 and 3": "addNumbers",
  "adding 2 to 3": "addNumbers",
  "Read me notes.txt": "read_text_file",
  "Could you delete old.log?": "delete-file",
  "Send an email to bob@example.org": "mail.send",
  "Can I get a table for four?": "book_table",
};
const unwanted = [
  ...["Tell me a joke", "Who won the world cup in 1998?", "Compress my photos", "What time is it?", "", "?!"],
  ...["Translate this sentence to French, please", "Show me what is in notes.txt"],
];

describe("the pick", () => {
  it.each(Object.entries(wanted))("%s", async (input, expected) => {
    expect(await pick(input)).toBe(expected);
  });

  it.each(Object.entries(wanted))("is what `evals search` finds first: %s", (input, expected) => {
    const query = { kind: "request" as const, text: input };
    const searched = [...tools, ...filler].map((one) => toSearchDocument(one));
    const [found] = evaluateSearch(searched, [{ id: "one", queries: [query], expected: [[expected]] }], ["bm25"]);
    expect(found?.ranks.bm25).toEqual([1]);
  });

  it.each(unwanted)("none for: %s", async (input) => {
    expect(await pick(input)).toBeUndefined();
  });

  it.each(Object.entries(wanted))("is the same among fifty tools, and with one: %s", async (input, expected) => {
    const only = tools.filter(({ name }) => name === expected);
    expect([await pick(input, [...tools, ...filler]), await pick(input, only)]).toEqual([expected, expected]);
  });

  it.each(unwanted)("none with a single tool for: %s", async (input) => {
    expect(await pick(input, [echo])).toBeUndefined();
  });

  it("needs a third of the words, and more than one word outside of the name", async () => {
    const lamp = tool("set_lamp", "Switches the lamp of a room, whatever its color.");
    expect(await pick("lamp garden brightness", [lamp])).toBe("set_lamp");
    expect(await pick("lamp garden brightness dimmer", [lamp])).toBeUndefined();
    expect(await pick("paint in which color?", [lamp])).toBeUndefined();
    expect(await pick("which color for the room?", [lamp])).toBe("set_lamp");
  });

  it("goes to the first by name where two fit equally, whatever the order", async () => {
    const twins = [tool("ping_b", "Pings the host."), tool("ping_a", "Pings the host.")];
    expect([await pick("ping", twins), await pick("ping", [...twins].reverse())]).toEqual(["ping_a", "ping_a"]);
  });

  it("does not depend on the order of tools", async () => {
    const inputs = [...Object.keys(wanted), ...unwanted];
    const forwards = await Promise.all(inputs.map((input) => pick(input)));
    expect(await Promise.all(inputs.map((input) => pick(input, [...tools].reverse())))).toEqual(forwards);
  });
});

it.each(["_-", "a.", "a+", "a", "-", "word "])("reads a query of 50,000 characters that repeats %j", async (text) => {
  expect(await pick(text.repeat(50_000 / text.length))).toBeUndefined();
});

it("reads the first 10,000 characters of a query", async () => {
  expect(await pick(`${" ".repeat(9_900)} echo hello`)).toBe("echo");
  expect(await pick(`${" ".repeat(10_000)} echo hello`)).toBeUndefined();
});

it("goes by the last user message, whatever came of earlier ones", async () => {
  const request = requestOf("", tools, {
    messages: [
      { role: "user", content: "What is the weather in Oslo?" },
      { role: "assistant", content: "Cold." },
      { role: "results", results: [{ callId: "1", tool: "get_weather", text: "Cold", isError: false }] },
      { role: "user", content: "Then echo: cold" },
    ],
  });
  const reply = await lexical().ask(request, new AbortController().signal);
  expect(reply).toMatchObject({ turn: { calls: [{ tool: "echo", arguments: { text: "cold" } }] } });
});

it("says what it is, and costs nothing", () => {
  const { ask, cost, ...said } = lexical();
  expect(said).toEqual({
    id: "lexical-2",
    aliases: ["lexical"],
    makesUpArguments: true,
    kind: "retrieval baseline",
    note: "keyword search, not a language model",
    settings: { search: "BM25 over name, description and parameter names", leastShare: 1 / 3, judged: "tools alone" },
    maxOutputTokens: 0,
    deterministic: true,
  });
  expect(cost({ inputTokens: 1, outputTokens: 1, cacheReadTokens: 1, cacheWriteTokens: 1 })).toBe(0);
});

const string = { type: "string" };
const integer = { type: "integer" };
const level = { type: "string", enum: ["low", "medium", "high"] };

function fill(query: string, properties: Record<string, JsonObject>, required = Object.keys(properties)): JsonObject {
  return fillArguments(tool("search_notes", "Searches the notes.", properties, required), query);
}

describe("values that the query spells out", () => {
  it.each<[string, Record<string, JsonObject>, JsonObject]>([
    ['say "good morning"', { text: string }, { text: "good morning" }],
    ["say 'good morning' to “them”", { a: string, b: string }, { a: "good morning", b: "them" }],
    ["don't say `this`", { text: string }, { text: "this" }],
    ["open https://a.example/x?y=1.", { url: string }, { url: "https://a.example/x?y=1" }],
    ["get http://a.example", { target: { ...string, format: "uri" } }, { target: "http://a.example" }],
    ["write to bob@a.example, please", { email: string }, { email: "bob@a.example" }],
    [
      "copy a/b.txt to ../c.txt",
      { source: string, destination: string },
      { source: "a/b.txt", destination: "../c.txt" },
    ],
    ["open ~/notes", { path: string }, { path: "~/notes" }],
    ["free on 2026-11-30?", { date: string }, { date: "2026-11-30" }],
    ["add 2 and -3.5", { a: { type: "number" }, b: { type: "number" } }, { a: 2, b: -3.5 }],
    ["2.5 litres in 4 cups", { cups: integer }, { cups: 4 }],
    ["a High priority task", { priority: level }, { priority: "high" }],
    ["in dark mode", { mode: { enum: ["dark_mode", "light_mode"] } }, { mode: "dark_mode" }],
    ["add 1, 2 and 3", { numbers: { type: "array", items: integer } }, { numbers: [1, 2, 3] }],
    ['tag it "a" and "b"', { tags: { type: "array", items: string } }, { tags: ["a", "b"] }],
    ["read a.txt and b.txt", { paths: { type: "array", items: string } }, { paths: ["a.txt", "b.txt"] }],
    ["in 5 days", { count: { type: ["null", "integer"] } }, { count: 5 }],
    ["in 5 days", { count: { anyOf: [{ type: "null" }, { type: "integer" }] } }, { count: 5 }],
  ])("%s", (query, properties, expected) => {
    expect(fill(query, properties)).toEqual(expected);
  });
});

it("a number is evidence for an optional parameter only where the query names it", () => {
  expect(fill("in 5 days", { count: integer }, [])).toEqual({});
  expect(fill("with a count of 5", { count: integer }, [])).toEqual({ count: 5 });
});

describe("the text of a single required parameter", () => {
  it.each<[string, string | undefined]>([
    ["Search: red wine", "red wine"],
    ["Which notes are about the wine of Jane?", "Which notes are about the wine of Jane?"],
    ["", undefined],
  ])("%s", (query, expected) => {
    expect(fill(query, { query: string, limit: integer }, ["query"])).toEqual(expected ? { query: expected } : {});
  });

  it("is not made up where two are missing", () => {
    expect(fill("search for wine", { query: string, folder: string })).toEqual({});
  });
});

describe("parameters that are not required", () => {
  const properties = { query: string, limit: integer, lang: { ...level, default: "low" }, tag: string };

  it("are left to their defaults without evidence", () => {
    expect(fill('search "wine"', properties, ["query"])).toEqual({ query: "wine" });
  });

  it("are filled in when the query names them, or a value of theirs", () => {
    const query = 'search "wine" with tag "red", limit 5, high';
    expect(fill(query, properties, ["query"])).toEqual({ query: "wine", tag: "red", limit: 5, lang: "high" });
  });
});

it("fills in nothing that is not in the query, for any text and schema", () => {
  const types = fc.constantFrom<JsonObject>(string, integer, level, { type: "array", items: integer }, {});
  fc.assert(
    fc.property(fc.string(), fc.dictionary(fc.string(), types, { maxKeys: 5 }), (query, properties) => {
      const filled = fill(query, properties);
      for (const value of Object.values(filled).flat()) {
        if (typeof value === "string") expect(query.toLowerCase()).toContain(value.toLowerCase().split(" ")[0]);
        if (typeof value === "number") expect(query).toContain(String(Math.abs(value)).split("e")[0]);
      }
    }),
  );
});
