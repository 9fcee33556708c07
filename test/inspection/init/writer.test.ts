import { describe, expect, it } from "vitest";
import { checkQuery, readQuery } from "../../../src/evals/inspection/init/writer.ts";

const written = "Show me notes.txt, please";

it.each([
  ["as it is", written],
  ["in a fence", `\`\`\`\n${written}\n\`\`\``],
  ["in a fence before a remark", `Sure! Here it is:\n\`\`\`\n${written}\n\`\`\`\nIt is in everyday words.`],
  ["with what to do", `Sure, just type "${written}"`],
  ["as JSON in a fence", `\`\`\`json\n{"queries": ["${written}"]}\n\`\`\``],
  ["under another key", `{"n": 1, "message": "${written}"}`],
  ["in quotes", `"${written}"`],
  ["after a quote that does not end", `"${written}`],
  ["with a label", `**Message:** ${written}`],
  ["as an item", `1. "${written}"`],
  ["after an introduction", `Sure, here is the message:\n\n${written}`],
  ["after a word of agreement", `Sure! ${written}`],
  ["before a remark", `${written}\n\nThis message names the file.`],
])("reads a query %s", (_, reply) => {
  expect(readQuery(reply)).toBe(written);
});

describe("a written query", () => {
  const tools = [{ name: "read_file", inputSchema: {} }];
  const one = { id: "a", input: "", tool: "read_file", args: { path: "notes.txt", lines: 3 }, unfilled: ["mode"] };

  it("replaces the draft, and states its arguments in its own case", () => {
    expect(checkQuery("What are the first 3 lines of Notes.txt?", one, { tools })).toEqual({
      ...{ id: "a", tool: "read_file", input: "What are the first 3 lines of Notes.txt?", unfilled: [] },
      args: { path: { $ignoreCase: "notes.txt" }, lines: 3 },
    });
  });

  it("may say what the person cannot do", () => {
    expect(checkQuery("I can't find notes.txt, show me 3 lines of it", one, { tools })).toMatchObject({ id: "a" });
  });

  it("says in its own words what is code, which is then not expected", () => {
    const query = { ...one, args: { sql: "CREATE TABLE visits (day TEXT)" } };
    const { args: _, ...rest } = query;
    const input = "I need a table of visits by day";
    expect(checkQuery(input, query, { tools })).toEqual({ ...rest, input, unfilled: [] });
  });

  it("that needs no tool has the form that was asked for", () => {
    const toolless = { task: "", form: /^what\b/i, fault: "it is no question" };
    const none = { id: "no-tool-1", input: "", unfilled: [] };
    expect(checkQuery("Show me something", none, { tools, toolless })).toBe("it is no question");
    expect(checkQuery("What is a file?", none, { tools, toolless })).toMatchObject({ input: "What is a file?" });
  });

  it.each([
    ["I'm sorry, but I can't help with that.", "it is what the assistant would say, not the person"],
    ["To get the 3 lines of notes.txt, use the editor", "it is what the assistant would say, not the person"],
    ["", "it is empty"],
    ["a ".repeat(1001), "it is too long"],
    ["I'll read the first 3 lines of notes.txt.", "it is what the assistant would say, not the person"],
    ["I can't do that.", "it is what the assistant would say, not the person"],
    ["Give me the path of notes.txt and I will read 3 lines", "it is what the assistant would say, not the person"],
    ['{ "notes.txt": { "lines": 3 } }', "it is what the assistant would say, not the person"],
    ['type "Read 3 lines of notes.txt"', "it is what the assistant would say, not the person"],
    ["1. notes.txt 2. todo.txt 3. plan.txt", "it is what the assistant would say, not the person"],
    ["Read 3 lines of notes.txt. It names no specific tool.", "it is what the assistant would say, not the person"],
    ["Call read_file for notes.txt", "it names the tool read_file"],
    ["What is in my file?", "it does not say notes.txt"],
  ])("is refused: %j", (input, why) => {
    expect(checkQuery(input, one, { tools })).toBe(why);
  });
});
