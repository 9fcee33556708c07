import { describe, expect, it } from "vitest";
import { lexical } from "../../../src/evals/asking/models/lexical.ts";
import { toSearchDocument } from "../../../src/evals/base/search/document.ts";
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
  "Tell me a joke",
  "Who won the world cup in 1998?",
  "Compress my photos",
  "Translate this sentence to French, please",
  "What time is it?",
  "Show me what is in notes.txt",
  "",
  "?!",
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

it("goes by the last user message", async () => {
  const request = requestOf("", tools, {
    messages: [
      { role: "user", content: "What is the weather in Oslo?" },
      { role: "assistant", content: "Cold." },
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
