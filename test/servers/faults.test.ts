import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { EvalsError } from "../../src/evals/base/types/errors.ts";
import type { CommandSpec } from "../../src/evals/servers/spec.ts";
import { later } from "../fakes/later.ts";
import { listen, reservePort } from "../fixtures/ports.ts";
import { fixture, never, open, tidyUp } from "./servers.ts";

tidyUp();

/** For what answers or ends; only what is silent is waited for briefly. */
const startTimeoutMs = 60_000;

async function failureOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(EvalsError);
  return error instanceof EvalsError ? error.message : "";
}

const openFault = (fault: string, limits: object = { startTimeoutMs }) =>
  open({ ...fixture("faulty.mjs", fault), ...limits });
const listFault = async (fault: string) => (await openFault(fault)).list(never);

test("a server that dies at start: exit code, the end of its stderr without colors", async () => {
  expect(await failureOf(openFault("dies"))).toMatchInlineSnapshot(`
    "error: Server "sut" exited with code 7. Its stderr ends with:
        cannot open the database
          at line 3
      Run the command in the same directory, and fix the error that it prints."
  `);
});

test("of much stderr, the last ten lines are shown", async () => {
  expect(await failureOf(openFault("chatty"))).toMatchInlineSnapshot(`
    "error: Server "sut" exited with code 1. Its stderr ends with:
        line 1990
        line 1991
        line 1992
        line 1993
        line 1994
        line 1995
        line 1996
        line 1997
        line 1998
        line 1999
      Run the command in the same directory, and fix the error that it prints."
  `);
});

test.each([
  ["code-only", "unknown-tool"],
  ["other-code", "result"],
])("an unlisted tool is unknown by the error code -32602 alone (%s)", async (fault, kind) => {
  const server = await openFault(fault);
  await server.list(never);
  expect(await server.call("nope", {}, never)).toMatchObject({ kind });
});

const folder = mkdtempSync(join(tmpdir(), "evals faults "));
afterAll(() => rmSync(folder, { recursive: true }));
const spaced = join(folder, "node");
symlinkSync(process.execPath, spaced);

test("a program whose path has spaces is started", async () => {
  expect(await failureOf(open({ command: spaced, args: ["-e", "process.exit(5)"] }))).toContain("exited with code 5");
});

test.each<[string, CommandSpec, string]>([
  [
    "a program that does not exist",
    { command: "no-such-program" },
    'could not be started: there is no program "no-such-program".\n  Install it, or use the absolute path of the program: a host may have a shorter PATH than a shell.',
  ],
  ...(
    [
      ["node a.mjs", [], "node", ["a.mjs"]],
      ["npx -y", ["foo"], "npx", ["-y", "foo"]],
      ["no-such-runner ./foo --flag", [], "no-such-runner", ["./foo", "--flag"]],
      ['node "/a b/c.mjs"', [], "node", ["/a b/c.mjs"]],
      [`${spaced} --flag`, [], spaced, ["--flag"]],
      ["cd /a && node b.mjs", [], "sh", ["-c", "cd /a && node b.mjs"]],
      ["A=1 node b.mjs", [], "sh", ["-c", "A=1 node b.mjs"]],
    ] as const
  ).map(([line, more, command, args]): [string, CommandSpec, string] => [
    `a whole command line: ${line}`,
    { command: line, args: [...more] },
    `could not be started: there is no program "${line}".\n  "command" holds a whole command line: write ${JSON.stringify({ command, args })}.`,
  ]),
  [
    "a path with a space that leads nowhere",
    { command: "/no such/program --flag" },
    'could not be started: there is no program "/no such/program --flag".\n  Build it, or use its absolute path.',
  ],
  [
    "a program that may not be run",
    { command: "./faulty.mjs" },
    'could not be started: "./faulty.mjs" is not executable.\n  Run chmod +x on it, or use its interpreter as the command.',
  ],
  [
    "a folder that does not exist",
    { command: "node", cwd: "/no/such/folder" },
    'could not be started: its folder /no/such/folder does not exist.\n  Correct or remove "cwd".',
  ],
])("%s", async (_, spec, message) => {
  expect(await failureOf(open(spec))).toBe(`error: Server "sut" ${message}`);
});

test("a server that never answers", async () => {
  expect(await failureOf(openFault("silent", { startTimeoutMs: 300 }))).toMatchInlineSnapshot(`
    "error: Server "sut" did not answer within 0.3 s.
      Check that the command starts an MCP server over stdio."
  `);
});

test("a server that prints to stdout and never answers: what it printed is quoted", async () => {
  expect(await failureOf(openFault("only-noise", { startTimeoutMs: 5_000 }))).toMatchInlineSnapshot(`
    "error: Server "sut" did not answer within 5 s. It appears to serve HTTP. Its stdout contains text other than protocol messages: "Listening on port 3000".
      Register it by its URL, or start it with its option for stdio."
  `);
});

test.each([
  ["error-null", 'it has both "result" and "error"'],
  ["elapsed", '"elapsed" is no member of a response'],
  ["versionless", '"jsonrpc" must be "2.0", but is missing'],
])("an answer that the client refuses is named with its fault, at once: %s", async (fault, why) => {
  const message = await failureOf(openFault(fault));
  expect(message).toContain(`Server "sut" sent a message that JSON-RPC does not permit: ${why}: {"`);
  expect(message).toContain("Correct this in the server");
});

test("an error without an id says what the server could not read, unless it is about a notification", async () => {
  const server = await openFault("unread");
  await server.list(never);
  const message = 'Server "sut", called for "read", could not read a request: "Parse error" (-32700).';
  expect(await server.call("read", {}, never)).toEqual({ kind: "broken", stage: "server", message });
  expect(await listFault("answers-notifications")).toHaveLength(1);
});

test.each([
  ["ends a list with an empty cursor", "empty-cursor"],
  ["prints to stdout and answers", "noise"],
  ["is old, leaves on the question for its revision, and is started again without it", "leaves-early"],
])("a server is tolerated that %s", async (_, fault) => {
  expect(await listFault(fault)).toHaveLength(1);
});

test("an old server that passes over the question for its revision is waited for, then asked the old way", async () => {
  const server = await openFault("ignores-unknown", { startTimeoutMs: 10_000 });
  expect(await server.list(never)).toHaveLength(1);
});

test("a cancelled start", async () => {
  const work = open(fixture("faulty.mjs", "silent"), AbortSignal.abort());
  expect(await failureOf(work)).toMatchInlineSnapshot(`"error: The start of server "sut" was cancelled."`);
});

test("10,000 tools over many pages are listed", async () => {
  const tools = await listFault("ten-thousand");
  expect(tools).toHaveLength(10_000);
  expect(tools.at(-1)?.name).toBe("tool_9999");
});

test.each([
  ["too-many", 'Server "sut" lists more than 10,000 tools.\n  List fewer: no model can choose from so many.'],
  [
    "endless",
    'The tool list of server "sut" does not end: tools/list has more than 64 pages.\n  Send no nextCursor on the last page, or use larger pages.',
  ],
  [
    "heavy",
    'The tool list of server "sut" has more than 16 Mi characters.\n  Shorten its descriptions and schemas: no context window holds so long a list.',
  ],
  [
    "repeated-cursor",
    'The tool list of server "sut" does not end: tools/list repeats the cursor "again".\n  Send no nextCursor on the last page, or use larger pages.',
  ],
  [
    "malformed",
    'Server "sut": tool "broken" (number 2 of its list) is malformed: inputSchema must be an object, got text.\n  Correct the tool in the server: it needs a name and an inputSchema that is an object.',
  ],
  [
    "nameless",
    'Server "sut": tool without a name (number 1 of its list) is malformed: name is missing: expected text.\n  Correct the tool in the server: it needs a name and an inputSchema that is an object.',
  ],
  ["twins", 'Server "sut" lists two tools named "twin".\n  Rename one: a model cannot distinguish them.'],
  [
    "no-tools",
    'Server "sut" answered tools/list with an error: Method not found.\n  Declare the tools capability, and implement tools/list.',
  ],
  [
    "offline",
    'Server "sut" answered tools/list with an error: fetch failed.\n  The server itself fails: see in its log what it needs, such as a network, a login or a variable.',
  ],
])("a list that is refused: %s", async (fault, message) => {
  expect(await failureOf(listFault(fault))).toBe(`error: ${message}`);
});

test("a list that never comes shares the start's time limit", async () => {
  const server = await openFault("slow-list", { startTimeoutMs: 5_000 });
  expect(await failureOf(server.list(never))).toMatchInlineSnapshot(`
    "error: Server "sut" did not answer within 5 s.
      Run the command of the server in a terminal, in the same folder, to see its output."
  `);
});

test("an unknown tool, as the 1.x SDK says it; a listed tool that says so is a result", async () => {
  const server = await openFault("old-style");
  expect(await server.call("nope", {}, never)).toEqual({
    kind: "unknown-tool",
    message: "MCP error -32602: Tool nope not found",
  });
  await server.list(never);
  expect(await server.call("nope", {}, never)).toMatchObject({ kind: "unknown-tool" });
  expect(await server.call("tool_0", {}, never)).toMatchObject({ kind: "result", result: { isError: true } });
});

test("an answer that is no tool result is broken", async () => {
  const server = await openFault("garbage");
  const message =
    'Server "sut", called for "tool_0", sent a malformed result of tools/call: content must be a list, got text.';
  expect(await server.call("tool_0", {}, never)).toEqual({ kind: "broken", stage: "server", message });
});

test("long text is cut, and the cut is marked", async () => {
  const server = await openFault("huge");
  const outcome = await server.call("tool_0", {}, never);
  const text = outcome.kind === "result" ? outcome.result.content[0]?.text : "";
  const [start = "", end = ""] = text?.split(/… \[cut: 200000 characters in total, SHA-256 [0-9a-f]{64}\] …/) ?? [];
  expect([start.length + end.length, new Set(start + end)]).toEqual([65_536, new Set("x")]);
});

test("a line of more than 10 MiB ends the server", async () => {
  const server = await openFault("overlong");
  expect(await server.call("tool_0", {}, never)).toEqual({
    kind: "broken",
    stage: "server",
    message: 'Server "sut", called for "tool_0", sent a line larger than 10 MiB on stdout.',
  });
  expect(server.alive()).toBe(false);
});

test("a server's children go when it is closed", async () => {
  const server = await openFault("family");
  const outcome = await server.call("tool_0", {}, never);
  const pids: number[] = JSON.parse((outcome.kind === "result" && outcome.result.content[0]?.text) || "[]");
  expect(pids.map(isRunning)).toEqual([true, true]);
  await server.close();
  // A process that was killed takes its time to go on a busy machine.
  await expect.poll(() => pids.map(isRunning)).toEqual([false, false]);
});

test("a server that ignores SIGTERM is killed", async () => {
  const server = await openFault("stubborn");
  await server.close();
  expect(server.alive()).toBe(false);
});

/** A process that is dead and not yet collected by its parent does not run. */
function isRunning(pid: number): boolean {
  const { stdout } = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" });
  return stdout.trim() !== "" && !stdout.startsWith("Z");
}

async function answering(listener: RequestListener): Promise<string> {
  return `http://user:secret@127.0.0.1:${await listen(createServer(listener))}/mcp?key=secret`;
}

const httpFaults = {
  401: (_, res) => res.writeHead(401).end("who are you"),
  404: (_, res) => res.writeHead(404).end("nothing here"),
  500: (_, res) => res.writeHead(500).end("oops"),
  html: (_, res) => res.writeHead(200, { "content-type": "text/html" }).end("<h1>Hello</h1>"),
  silence: () => {},
} satisfies Record<string, RequestListener>;

for (const transport of ["http", "sse"] as const) {
  for (const [fault, listener] of Object.entries(httpFaults)) {
    test(`${transport}: ${fault}`, async () => {
      const url = await answering(listener);
      const headers = { authorization: "Bearer secret" };
      const limits = { startTimeoutMs: fault === "silence" ? 500 : startTimeoutMs };
      const message = await failureOf(open({ url, transport, headers, ...limits }));
      expect(message).not.toContain("secret");
      expect(message.replace(/:\d{4,5}/g, ":PORT")).toMatchSnapshot();
    });
  }

  test(`${transport}: silence, however little time there is`, async () => {
    const url = await answering(httpFaults.silence);
    for (const startTimeoutMs of [1, 3, 10, 30, 60])
      expect(await failureOf(open({ url, transport, startTimeoutMs }))).toContain(
        `did not answer within ${startTimeoutMs / 1000} s`,
      );
  });

  test(`${transport}: nothing listens`, async () => {
    const { port, release } = await reservePort();
    later(release);
    const message = await failureOf(open({ url: `http://127.0.0.1:${port}/mcp`, transport, startTimeoutMs }));
    expect(message.replaceAll(String(port), "PORT")).toMatchSnapshot();
  });
}

test("https:// of a server that has no TLS", async () => {
  const url = (await answering((_, res) => res.end())).replace("http:", "https:");
  expect(await failureOf(open({ url, startTimeoutMs }))).toMatch(
    /has no TLS at https:\/\/127\.0\.0\.1:\d+\/mcp\.\n {2}Write http:\/\/ in place of https:\/\/\.$/,
  );
});

test("a URL that is neither http nor https", async () => {
  expect(await failureOf(open({ url: "file:///etc/passwd?key=secret" }))).toMatchInlineSnapshot(`
    "error: "file:///etc/passwd" is not an http or https URL.
      Write the server's URL as https://host/path."
  `);
});

test.each(["malformed", "nameless", "twins"])(
  "a list that is refused as a whole (%s) is available as it was sent",
  async (fault) => {
    const server = await openFault(fault);
    await expect(server.list(never)).rejects.toThrow(EvalsError);
    expect((await server.listRaw(never)).at(-1)).toEqual(
      {
        malformed: { name: "broken", inputSchema: "none" },
        nameless: { inputSchema: {} },
        twins: { name: "twin", inputSchema: { type: "object" } },
      }[fault],
    );
  },
);
