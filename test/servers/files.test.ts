import { execFileSync, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { readParsed } from "../../src/evals/input/parsing/read.ts";
import { expandVariables, resolveServer } from "../../src/evals/servers/spec.ts";
import { readStaticList } from "../../src/evals/servers/toolList.ts";
import { later } from "../fakes/later.ts";
import { tidyUp } from "./servers.ts";

tidyUp();

/** The server `name` that the host file at `path` registers. */
const readHostServer = (path: string, name: string, env: Record<string, string>) =>
  resolveServer({ config: path, name }, name, "/", { env });

const readLenient = (path: string) => readParsed(path, path, { lenient: true });

/** Writes a file into a folder of its own, and gives its path. */
async function file(name: string, content: unknown): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "toolsets-"));
  later(() => rm(folder, { recursive: true }));
  const path = join(folder, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, typeof content === "string" ? content : JSON.stringify(content, null, 2));
  return path;
}

/** The message of a rejection, without the folder that the file is in. */
async function failureOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => new Error("it was fine"),
    (thrown: unknown) => thrown,
  );
  return (error instanceof Error ? error.message : "").replaceAll(/\/\S*toolsets-\w+\//g, "");
}

const vscode = `{
  // what the editor writes
  "servers": {
    "files": { "type": "stdio", "command": "node", "args": ["//not a comment", "/* nor this */"], }, /* here */
    "web": { "url": "https://example.org/mcp", "headers": { "Authorization": "Bearer \${env:TOKEN}" } },
  },
}`;

test("mcpServers of .mcp.json: command, args, env, cwd", async () => {
  const entry = { command: "node", args: ["server.mjs"], env: { A: "1" }, cwd: "sub", disabled: false };
  const path = await file(".mcp.json", { mcpServers: { files: entry } });
  expect(await readHostServer(path, "files", {})).toEqual({
    spec: { command: "node", args: ["server.mjs"], env: { A: "1" }, cwd: "sub" },
    dir: dirname(path),
    warnings: [],
  });
});

test("servers of .vscode/mcp.json: comments, trailing commas; paths start from the project's folder", async () => {
  const path = await file(".vscode/mcp.json", vscode);
  expect(await readHostServer(path, "files", {})).toEqual({
    spec: { command: "node", args: ["//not a comment", "/* nor this */"] },
    dir: dirname(dirname(path)),
    warnings: [],
  });
  expect((await readHostServer(path, "web", { TOKEN: "t" })).spec).toEqual({
    url: "https://example.org/mcp",
    transport: "http",
    headers: { Authorization: "Bearer t" },
  });
});

test("type or transport sse", async () => {
  const path = await file("c.json", {
    mcpServers: { a: { url: "http://a", type: "sse" }, b: { url: "http://b", transport: "SSE" } },
  });
  expect((await readHostServer(path, "a", {})).spec).toEqual({ url: "http://a", transport: "sse" });
  expect((await readHostServer(path, "b", {})).spec).toEqual({ url: "http://b", transport: "sse" });
});

test("a variable that is not set is named at the entry's place, and what needs it in env is left out", async () => {
  const entry = { command: `\${BIN:-node}`, args: [`\${HOME}/x`, `\${KEY}`], env: { K: `\${KEY}`, L: "l" } };
  const path = await file(".mcp.json", { mcpServers: { files: entry } });
  const { spec, warnings } = await readHostServer(path, "files", { HOME: "/home/x" });
  expect(spec).toEqual({ command: "node", args: ["/home/x/x", `\${KEY}`], env: { L: "l" } });
  expect(warnings).toEqual([
    {
      severity: "warning",
      message: 'Server "files" uses the environment variable KEY, which is not set.',
      hint: `Set KEY, or give a default: \${KEY:-value}.`,
      location: { file: path, line: 3, column: 14 },
    },
  ]);
});

test("variables: default for unset and empty, in url and headers too; what is no variable stays", () => {
  const url = `http://\${HOST:-localhost}:\${PORT:-}/\${1}/$HOST/\${workspaceFolder`;
  const headers = { X: `\${A}\${A:-b}` };
  expect(expandVariables({ url, headers }, { HOST: "", A: "" }, "s")).toEqual({
    spec: { url: `http://localhost:/\${1}/$HOST/\${workspaceFolder`, headers: { X: "b" } },
    warnings: [],
  });
});

test("text without $ is never changed by filling in", () => {
  fc.assert(
    fc.property(
      fc.string().filter((text) => !text.includes("$")),
      (text) => {
        expect(expandVariables({ command: text, args: [text] }, {}, "s").spec).toEqual({ command: text, args: [text] });
      },
    ),
  );
});

test("an unknown server: the nearest name and all there are", async () => {
  const path = await file(".mcp.json", { mcpServers: { filesystem: { command: "a" }, memory: { command: "b" } } });
  expect(await failureOf(readHostServer(path, "filesytem", {}))).toMatchInlineSnapshot(`
    ".mcp.json:2:17: error: No server "filesytem" is registered in this file.
      Did you mean "filesystem"? Registered: filesystem, memory."
  `);
  expect(await failureOf(readHostServer(path, "toString", {}))).toMatchInlineSnapshot(`
    ".mcp.json:2:17: error: No server "toString" is registered in this file.
      Registered: filesystem, memory."
  `);
});

test("a configuration without servers", async () => {
  expect(await failureOf(readHostServer(await file("c.json", { mcp: {} }), "a", {}))).toMatchInlineSnapshot(`
    "c.json:1:1: error: The file registers no servers under "mcpServers", or as another host does.
      Write { "mcpServers": { "<name>": { "command": "...", "args": [] } } }."
  `);
});

test("an entry that is neither a command nor a url", async () => {
  const path = await file("c.json", { mcpServers: { a: { args: [] }, b: { command: "x", args: "-y" } } });
  expect(await failureOf(readHostServer(path, "a", {}))).toMatchInlineSnapshot(`
    "c.json:3:10: error: Server "a" is malformed: url is missing: expected text.
      Give it a "command" (with "args", "env", "cwd") or a "url" (with "type" http or sse, "headers")."
  `);
  expect(await failureOf(readHostServer(path, "b", {}))).toMatchInlineSnapshot(`
    "c.json:6:10: error: Server "b" is malformed: args must be a list, got text.
      Give it a "command" (with "args", "env", "cwd") or a "url" (with "type" http or sse, "headers")."
  `);
});

test("a configuration that does not exist", async () => {
  const path = await file("c.json", {});
  expect(await failureOf(readHostServer(join(dirname(path), "other.json"), "a", {}))).toMatch(
    /^other\.json: error: The file cannot be read: it does not exist/,
  );
});

test.each([
  ["missing comma", '{\n  "a": 1\n  "b": 2\n}'],
  ["missing colon", '{\n  "a" 1\n}'],
  ["single quotes", "{\n  'a': 1\n}"],
  ["bare key", "{\n  a: 1\n}"],
  ["bare word", '{\n  "a": yes\n}'],
  ["octal", '{\n  "a": 010\n}'],
  ["unclosed", '{\n  "a": [1'],
  ["two values", "{}\n{}"],
  ["raw newline in a string", '{"a": "x\ny"}'],
  ["YAML", "a: 1"],
  ["empty", ""],
])("JSON is held to its syntax: %s", async (_, text) => {
  expect(await failureOf(readLenient(await file("c.json", text)))).toMatchSnapshot();
});

test("whatever is JSON is read as JSON.parse reads it", async () => {
  await fc.assert(
    fc.asyncProperty(fc.json(), fc.constantFrom(undefined, 2, "\t"), async (json, indent) => {
      const text = JSON.stringify(JSON.parse(json), null, indent);
      expect((await readLenient(await file("c.json", text))).value).toEqual(JSON.parse(text));
    }),
    { numRuns: 50 },
  );
});

test.each([
  [10, "a"],
  [10, "// , "],
  [1, "\\n"],
  [1, '\\"'],
])("a text of %d MB of %j, beside comments", async (megabytes, part) => {
  const text = `{ "long": "${part.repeat((megabytes * 1e6) / part.length)}", /* and */ "short": [1,], }`;
  const { value } = await readLenient(await file("c.json", text));
  expect(value).toMatchObject({ short: [1] });
  expect((value as { long: string }).long.length).toBeGreaterThanOrEqual(megabytes * 5e5);
});

const tool = { name: "read", description: "Reads.", inputSchema: { type: "object" } };

test("a static list: an array or {tools}, JSON or YAML; unknown fields are dropped", async () => {
  expect(await readStaticList(await file("t.json", [{ ...tool, icons: [], _meta: { "of.others/key": 1 } }]))).toEqual([
    tool,
  ]);
  expect(await readStaticList(await file("t.json", { tools: [tool], nextCursor: "x" }))).toEqual([tool]);
  const yaml = "tools:\n  - name: read\n    description: Reads.\n    inputSchema: { type: object }\n";
  expect(await readStaticList(await file("t.yaml", yaml))).toEqual([tool]);
});

test.skipIf(process.platform === "win32")("a static list from a pipe, as in --tools <(command)", async () => {
  const list = await file("t.json", [tool]);
  const pipe = join(dirname(list), "pipe");
  execFileSync("mkfifo", [pipe]);
  spawn("sh", ["-c", 'cat "$0" > "$1"', list, pipe]);
  expect(await readStaticList(pipe)).toEqual([tool]);
});

test("a static list: every malformed tool is told with its place", async () => {
  const { inputSchema, ...bare } = tool;
  const list = [tool, { ...bare, name: "b", input_schema: inputSchema }, { ...bare, name: "c" }, 5, tool];
  expect(await failureOf(readStaticList(await file("t.json", { tools: list })))).toMatchInlineSnapshot(`
    "t.json:10:5: error: Tool "b" is malformed: inputSchema is missing: expected an object.
      Rename "input_schema" to "inputSchema", its name in MCP.
    t.json:17:5: error: Tool "c" is malformed: inputSchema is missing: expected an object.
      Write a tool with a name, a description and an inputSchema that is an object.
    t.json:21:5: error: Tool without a name is malformed: it must be an object, got a number.
      Write a tool with a name, a description and an inputSchema that is an object.
    t.json:23:15: error: Two tools are named "read".
      Remove one, or rename it."
  `);
});

test("a static list that is none", async () => {
  expect(await failureOf(readStaticList(await file("t.json", { tools: {} })))).toMatchInlineSnapshot(`
    "t.json:2:12: error: This is not a tool list.
      Write an array of tools, { tools: [...] }, or name a baseline."
  `);
  expect(await failureOf(readStaticList(await file("t.yaml", "a: [b")))).toMatchInlineSnapshot(
    `
    "t.yaml:1:6: error: Invalid YAML: Flow sequence in block collection must be sufficiently indented and end with a ].
      1 | a: [b
        |      ^
      Close brackets and braces, and start all keys of one object in the same column."
  `,
  );
});
