// The server of the documentation's examples: three tools over a folder of notes.
import { readdir, readFile, writeFile } from "node:fs/promises";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const folder = new URL("notes/", import.meta.url);
const text = (value) => ({ content: [{ type: "text", text: value }] });
const server = new McpServer({ name: "notes", version: "1.0.0" });

server.registerTool(
  "search_notes",
  {
    description: "Search all notes for a word. Returns the names of the notes that contain it.",
    inputSchema: { query: z.string().describe("The word to search for") },
    annotations: { readOnlyHint: true },
  },
  async ({ query }) => {
    const names = (await readdir(folder)).filter((name) => name.endsWith(".md"));
    const texts = await Promise.all(names.map((name) => readFile(new URL(name, folder), "utf8")));
    const hits = names.filter((_, index) => texts[index].toLowerCase().includes(query.toLowerCase()));
    return text(hits.join("\n") || "No note contains it.");
  },
);

server.registerTool(
  "read_note",
  {
    description: "Read the text of one note. Use it when the user names the note.",
    inputSchema: { name: z.string().describe("The name of the note, for example shopping.md") },
    annotations: { readOnlyHint: true },
  },
  async ({ name }) => text(await readFile(new URL(name, folder), "utf8")),
);

server.registerTool(
  "save_note",
  {
    description: "Save a note under a name, or replace its text. Use it to keep something new.",
    inputSchema: { name: z.string().describe("The name of the note"), text: z.string().describe("Its new text") },
    annotations: { destructiveHint: true },
  },
  async ({ name, text: content }) => {
    await writeFile(new URL(name, folder), content);
    return text(`Saved ${name}.`);
  },
);

await server.connect(new StdioServerTransport());
