import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import type { TryResult } from "../../src/evals/base/types/tryout.ts";
import type { Endpoint } from "../fixtures/endpoints/endpoint.ts";
import { type MessagesBody, startMessagesEndpoint } from "../fixtures/endpoints/messages.ts";
import { evals, summaryOf } from "./evals.ts";

// A server that logs every method, and a local service that writes queries and picks tools by a fixed rule.
const server = `
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
const tool = (name, description) => ({ name, description, inputSchema: {
  type: "object", properties: { path: { type: "string" } }, required: ["path"] } });
const tools = [tool("read_file", "Reads the text of one file."), tool("read_folder", "Reads the names in one folder."),
  tool("remove", "Removes one file for ever.")];
const answers = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "files", version: "1" } }),
  "tools/list": () => ({ tools }),
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  appendFileSync("methods.log", method + "\\n");
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: answers[method]?.(params) ?? {} }));
}
`;

let cwd = "";
let service: Endpoint<MessagesBody> | undefined;
const folders: string[] = [];
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), "evals-try-"));
  folders.push(cwd);
  writeFileSync(join(cwd, "server.mjs"), server);
});
afterEach(async () => {
  await service?.close();
  service = undefined;
});
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const lastText = ({ messages }: MessagesBody) => {
  const content = messages.at(-1)?.content ?? "";
  return typeof content === "string" ? content : content.map((block) => String(block.text ?? "")).join("");
};

/** Writes `Look at notes.txt now`, with the argument that each item gives; the first query for `remove` names its tool. */
function write(prompt: string): string {
  const tool = /"name":"(\w+)"/.exec(prompt)?.[1];
  const items = prompt.split("\n").filter((line) => /^\d+\. /.test(line));
  const verbs: Record<string, string> = { read_file: "Show me", read_folder: "What is in", remove: "Delete" };
  const queries = items.map((item, at) => {
    const path = /"path":"([^"]+)"/.exec(item)?.[1];
    if (tool === undefined) return `Tell me a joke, number ${at + 1}`;
    return tool === "remove" && at === 0 ? `Use remove() on ${path}` : `${verbs[tool]} ${path}, please (${at})`;
  });
  return JSON.stringify({ queries });
}

async function startService() {
  service = await startMessagesEndpoint((body) => {
    const text = lastText(body);
    if (body.output_config !== undefined) return { text: write(text) };
    // Takes every question about a folder for one about a file.
    const name = /^(?:Show me|What is in)/.test(text) ? "read_file" : /^Delete/.test(text) ? "remove" : undefined;
    const path = / (?:me|in) (\S+),/.exec(text)?.[1] ?? / (\S+),/.exec(text)?.[1] ?? "";
    return name === undefined ? { text: "A joke." } : { calls: [{ name, input: { path } }] };
  });
  return { ANTHROPIC_API_KEY: "test", ANTHROPIC_BASE_URL: service.url };
}

const steady = (text: string) =>
  text
    .replaceAll(cwd, "DIR")
    .replace(/\d{4}-\d\d-\d\dT[\d-]+/g, "RUN")
    .replace(/\$0\.\d+/g, "$COST");

describe("evals try", () => {
  it("has queries written and asked, executes nothing, and leaves a suite that runs", async () => {
    const env = await startService();
    const { code, out, err } = await evals(["try", "node server.mjs", "--yes", "-c", "1"], { cwd, env });
    expect({ code, out: steady(out) }).toMatchSnapshot();
    expect(steady(err)).toContain("files: 3 tools, 14 queries, about $COST, on anthropic:claude-haiku-5-5.");
    expect(readFileSync(join(cwd, "methods.log"), "utf8")).not.toContain("tools/call");
    expect(readFileSync(join(cwd, "evals/try-files.yaml"), "utf8")).toMatchSnapshot();
    const ran = await evals(["run", "-m", "anthropic:claude-haiku-5-5", "-n", "1", "--json"], { cwd, env });
    expect(summaryOf(ran).suites[0]?.cases).toHaveLength(13);
    expect(readFileSync(join(cwd, "methods.log"), "utf8")).not.toContain("tools/call");
  });

  it("asks a keyword search without a key, and says what that is", async () => {
    const { code, out } = await evals(["try", "node server.mjs", "--json"], { cwd, env: { ANTHROPIC_API_KEY: "" } });
    const result = JSON.parse(out) as TryResult;
    expect([code, result.model, result.queries, result.costUsd]).toEqual([0, "lexical-2", 5, 0]);
    expect(result.writer).toBeUndefined();
    const again = await evals(["try", "node server.mjs"], { cwd, env: { ANTHROPIC_API_KEY: "" } });
    expect(again.out).toContain("How sure: this is what a keyword search finds");
    expect(existsSync(join(cwd, "evals/try-files-2.yaml"))).toBe(true);
  });

  it("takes a tool list in a file", async () => {
    writeFileSync(join(cwd, "tools.json"), JSON.stringify([{ name: "a", description: "Does a.", inputSchema: {} }]));
    const { code, out } = await evals(["try", "--tools", "tools.json", "-m", "lexical"], { cwd });
    expect([code, out]).toEqual([0, expect.stringContaining("tools · 1 tool")]);
  });
});

describe("bad input", () => {
  it.each([
    ["no server", [], "No server is named."],
    ["two servers", ["node a.mjs", "--tools", "b.json"], "More than one server is named."],
    ["no consent", ["node server.mjs"], "This command calls a paid model.\n  Add --yes, or set a maximum cost"],
  ])("refuses %s before anything is asked", async (_, args, message) => {
    const { code, err } = await evals(["try", ...args], { cwd });
    expect([code, err]).toEqual([2, expect.stringContaining(message)]);
    expect(existsSync(join(cwd, "evals"))).toBe(false);
  });

  it("says why no query could be used", async () => {
    service = await startMessagesEndpoint(() => ({ text: "I would rather not." }));
    const env = { ANTHROPIC_API_KEY: "test", ANTHROPIC_BASE_URL: service.url };
    const { code, err } = await evals(["try", "node server.mjs", "--budget", "1"], { cwd, env });
    expect(code).toBe(2);
    expect(err).toContain("None of the 14 queries could be used: the writer's answer is not JSON.");
  });
});
