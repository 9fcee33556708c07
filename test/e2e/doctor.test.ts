import { spawnSync } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { doctorReportSchema } from "../../src/evals/inspection/doctor/report.ts";
import { reservePort } from "../fixtures/ports.ts";
import { evals } from "./evals.ts";

const servers = join(import.meta.dirname, "../fixtures/servers");
const empty = realpathSync(mkdtempSync(join(tmpdir(), "doctor-")));
afterAll(() => rmSync(empty, { recursive: true }));

/** A report without what differs from machine to machine: paths, ports, times, and where lines are broken. */
function stable(text: string): string {
  return text
    .replace(/\n {4,}(?![|$… ]|Fix:)/g, " ")
    .replaceAll(servers, "SERVERS")
    .replaceAll(empty, "EMPTY")
    .replaceAll(process.execPath, "NODE")
    .replace(/127\.0\.0\.1:\d+/g, "127.0.0.1:PORT")
    .replace(/\| .*SSL routines.*/g, "| SSL routines ...")
    .replace(/\b\d+(?:\.\d+)? m?s\b/g, "N s")
    .replace(/not found in PATH: .*/g, "not found in PATH: ...");
}

const doctor = (args: readonly string[], env: Record<string, string> = {}, cwd = servers) =>
  evals(["doctor", ...args], { cwd, env });
const each = (...ways: string[]) => ways.flatMap((way) => ["--server", `node ${way}`]);

test("working servers: of the old SDK, of the new one, and one that prints to stdout", async () => {
  const { code, out } = await doctor(each("sdk1.mjs", "sdk2.mjs stdio reject", "faulty.mjs noise"));
  expect(stable(out)).toMatchInlineSnapshot(`
    "HEALTHY: 3 servers, 1 warning
      Next: check the wording of the tools with \`evals lint --server 'node sdk1.mjs' --server 'node sdk2.mjs stdio reject' --server 'node faulty.mjs noise'\`, or draft a suite with \`evals init --server 'node sdk1.mjs'\`.

    ✓ node sdk1.mjs
      sdk1 1.2.3, protocol 2025-11-25 over stdio: answers after N s; 8 tools listed in N s
      1 tool called, 1 answered; not called: echo, get_sum, break_promise, get_media, refuse and 2 more (not annotated read-only)

    ✓ node sdk2.mjs stdio reject
      sdk2 4.5.6, protocol 2026-07-28 over stdio: answers after N s; 8 tools listed in N s
      1 tool called, 1 answered; not called: echo, get_sum, break_promise, get_media, refuse and 2 more (not annotated read-only)

    ✓ node faulty.mjs noise
      faulty 0, protocol 2025-11-25 over stdio: answers after N s; 1 tool listed in N s
      no tool called; not called: tool_0 (not annotated read-only)

      warning stdout-noise The server writes output other than protocol messages to stdout; some hosts then close the connection.
        Fix: Write logs to stderr.
        | stdout: Listening on port 3000
    "
  `);
  expect(code).toBe(0);
});

test("servers that do not start", async () => {
  const lines = each("broken.mjs needs-key", "broken.mjs needs-usage", "faulty.mjs dies", "not-there.mjs");
  const programs = ["--server", "no-such-program", "--server", "./faulty.mjs"];
  const { code, out } = await doctor([...lines, ...programs], { WEATHER_API_KEY: "secret" });
  expect(stable(out)).toMatchInlineSnapshot(`
    "UNHEALTHY: 6 of 6 servers
      Next: apply the fix of the first error below, then run this again.

    ✗ node broken.mjs needs-key
      error variable-missing The server needs the environment variable WEATHER_API_KEY.
        Fix: WEATHER_API_KEY is set in this shell, but servers inherit only a few variables, such as HOME. Add --env WEATHER_API_KEY, or "env": { "WEATHER_API_KEY": "\${WEATHER_API_KEY}" } to its entry or suite.
        | exited with code 1
        | stderr: Error: WEATHER_API_KEY is not set
        $ (unset WEATHER_API_KEY; cd SERVERS && node broken.mjs needs-key)

    ✗ node broken.mjs needs-usage
      error arguments The server was started with the wrong arguments.
        Fix: Set "args" according to its usage message.
        | exited with code 2
        | stderr: usage: broken.mjs <folder>
        $ cd SERVERS && node broken.mjs needs-usage

    ✗ node faulty.mjs dies
      error exits The server exits before it answers.
        Fix: Run the command in the same directory, and fix the error that it prints.
        | exited with code 7
        | stderr: cannot open the database
        | stderr:   at line 3
        $ cd SERVERS && node faulty.mjs dies

    ✗ node not-there.mjs
      error script-missing The script SERVERS/not-there.mjs does not exist.
        Fix: Build the server, or correct the path; in the configuration of a host, make it absolute.
        | "not-there.mjs" is relative to SERVERS
        $ cd SERVERS && node not-there.mjs

    ✗ no-such-program
      error program-missing The program "no-such-program" was not found.
        Fix: Install it, or use the absolute path of the program: a host may have a shorter PATH than a shell.
        | not found in PATH: ...
        $ cd SERVERS && no-such-program

    ✗ ./faulty.mjs
      error program-not-executable SERVERS/faulty.mjs is not executable.
        Fix: Run chmod +x on it, or use its interpreter as the command.
        $ cd SERVERS && ./faulty.mjs
    "
  `);
  expect(code).toBe(1);
});

test("a server that is silent", async () => {
  const { code, out } = await doctor([...each("faulty.mjs silent"), "--timeout", "1"]);
  expect(stable(out.slice(out.indexOf("✗")))).toMatchInlineSnapshot(`
    "✗ node faulty.mjs silent
      error silent The server is running, but did not answer within N s.
        Fix: Check that the command starts an MCP server over stdio.
        $ cd SERVERS && node faulty.mjs silent
    "
  `);
  expect(code).toBe(1);
});

test("a server without a key is told which: at its start and in answers", async () => {
  const { code, out } = await doctor(each("broken.mjs keyless"));
  expect(stable(out)).toMatchInlineSnapshot(`
    "UNHEALTHY: 1 of 1 server
      Next: apply the fix of the first error below, then run this again.

    ✗ node broken.mjs keyless
      broken 0, protocol 2025-11-25 over stdio: answers after N s; 3 tools listed in N s
      3 tools called, 0 answered

      warning variable-missing The server starts, but reports that it has no WEATHER_API_KEY: some of its tools may fail.
        Fix: WEATHER_API_KEY is not set in this shell. Add --env WEATHER_API_KEY=<value>, or "env": { "WEATHER_API_KEY": "\${WEATHER_API_KEY}" } to its entry or suite.
        | stderr: No WEATHER_API_KEY set: running without forecasts.
        $ cd SERVERS && node broken.mjs keyless
      error credentials A call of "get_forecast" fails: the server has no valid API key or token.
        Fix: Give it one in "env" or "args" of its entry, as its documentation describes.
        | the server answered "forecast error (401): the API key must be provided"
        | for the same reason: list_forecasts
        $ evals probe --server 'node broken.mjs keyless' --call '{"tool":"get_forecast","arguments":{}}'
      warning service-unreachable A call of "get_map" fails: the server cannot reach a service.
        Fix: Check the network and its proxy, and the address of the service.
        | the server answered "getaddrinfo ENOTFOUND maps.example"
        $ evals probe --server 'node broken.mjs keyless' --call '{"tool":"get_map","arguments":{}}'
    "
  `);
  expect(code).toBe(1);
});

test("a server that starts too slowly beside others is started again alone", async () => {
  const ids = async (...lines: string[]) => {
    const { out } = await doctor([...each(...lines), "--timeout", "10", "--json"]);
    return doctorReportSchema.parse(JSON.parse(out)).servers.map((one) => one.findings.map(({ rule }) => rule));
  };
  const first = `broken.mjs busy ${join(empty, "first")}`;
  expect(await ids(first)).toEqual([["silent"]]);
  expect(await ids(`broken.mjs busy ${join(empty, "second")}`, "broken.mjs empty")).toEqual([[], ["no-tools"]]);
});

test("a long text on stderr is cut in the middle, and an invalid URL is diagnosed without a request", async () => {
  const line = "node -e 'console.error(`x`.repeat(2999)); process.exit(1)'";
  writeFileSync(join(empty, "ftp.json"), JSON.stringify({ mcpServers: { ftp: { url: "ftp://example.com/mcp" } } }));
  const { code, out } = await doctor(["--server", line, "--config", "ftp.json", "--json"], {}, empty);
  const [long, other] = doctorReportSchema.parse(JSON.parse(out)).servers;
  expect(long?.findings[0]?.evidence).toEqual([
    "exited with code 1",
    `stderr: ${"x".repeat(1400)}…`,
    "stderr: (999 characters left out)",
    `stderr: …${"x".repeat(600)}`,
  ]);
  expect(other?.findings.map(({ rule }) => rule)).toEqual(["no-url", "registration-url"]);
  expect(out).toMatch(/^[\n -~…]+$/);
  expect(code).toBe(1);
});

test("the printed commands reproduce the findings", async () => {
  writeFileSync(join(empty, "it's.mjs"), `import ${JSON.stringify(join(servers, "broken.mjs"))};`);
  const { out } = await doctor(["--server", `node "it's.mjs" calls`, "--json"], {}, empty);
  const [{ findings = [] } = {}] = doctorReportSchema.parse(JSON.parse(out)).servers;
  const shown = findings.map(({ command = "" }) => command);
  expect([shown[0], shown[1]]).toMatchInlineSnapshot(`
    [
      "evals lint --server 'node "it'\\''s.mjs" calls'",
      "evals probe --server 'node "it'\\''s.mjs" calls' --call '{"tool":"get_refused","arguments":{}}'",
    ]
  `);
  const evalsCommand = join(import.meta.dirname, "../../dist/evals/cli.js");
  const again = (command = "") =>
    spawnSync("sh", ["-c", command.replace(/^evals/, `node ${evalsCommand}`)], { cwd: empty, encoding: "utf8" });
  expect(again(shown[0]).stdout).toContain('"str" is not a type of JSON Schema');
  expect(again(shown[1]).stdout).toContain("Invalid arguments: city is required");
});

test("the timeout of a suite applies to a server of a host configuration", async () => {
  const entry = { command: "node", args: [join(servers, "faulty.mjs"), "silent"] };
  writeFileSync(join(empty, "silent.json"), JSON.stringify({ mcpServers: { silent: entry } }));
  writeFileSync(
    join(empty, "silent.yaml"),
    "server: { config: silent.json, name: silent, startTimeoutMs: 400 }\ncases: [{ input: hello, expect: { tool: none } }]\n",
  );
  const { out } = await doctor(["silent.yaml"], {}, empty);
  // It says how long it waited, which is longer on a busy machine; the default of doctor is 30 s.
  expect(out).toMatch(/The server is running, but did not answer within (?!30 )[\d.]+ s\./);
});

test("a missing module is diagnosed at the end of a long trace", async () => {
  const { out } = await doctor([...each("broken.mjs needs-module"), "--json"]);
  const [examined] = doctorReportSchema.parse(JSON.parse(out)).servers;
  expect(examined?.findings.map(({ rule, severity }) => ({ rule, severity }))).toEqual([
    { rule: "module-missing", severity: "error" },
  ]);
});

test("servers with faulty lists or calls", async () => {
  const { code, out } = await doctor(
    each("broken.mjs empty", "faulty.mjs twins", "faulty.mjs malformed", "broken.mjs calls"),
  );
  expect(stable(out)).toMatchInlineSnapshot(`
    "UNHEALTHY: 4 of 4 servers
      Next: apply the fix of the first error below, then run this again.

    ✗ node broken.mjs empty
      broken 0, protocol 2025-11-25 over stdio: answers after N s; 0 tools listed in N s

      error no-tools The server lists no tools.
        Fix: Register tools before the server answers tools/list. Some servers need settings to offer any.
        $ evals lint --server 'node broken.mjs empty'

    ✗ node faulty.mjs twins
      faulty 0, protocol 2025-11-25 over stdio: answers after N s

      error duplicate-tools Two of its tools have the same name.
        Fix: Give each tool a unique name: neither a host nor a model can tell them apart.
        | Server "node faulty.mjs twins" lists two tools named "twin".
        $ evals lint --server 'node faulty.mjs twins'

    ✗ node faulty.mjs malformed
      faulty 0, protocol 2025-11-25 over stdio: answers after N s

      error malformed-tool A malformed tool makes clients reject the list.
        Fix: Correct the tool in the server: it needs a name and an inputSchema that is an object.
        | Server "node faulty.mjs malformed": tool "broken" (number 2 of its list) is malformed: inputSchema must be an object, got text.
        $ evals lint --server 'node faulty.mjs malformed'

    ✗ node broken.mjs calls
      broken 0, protocol 2025-11-25 over stdio: answers after N s; 11 tools listed in N s
      7 tools called, 2 answered; not called: get_city, get_unlisted (needs arguments); delete_all (not annotated read-only); get_after (the server has exited)

      error malformed-schema 2 tools have an invalid inputSchema.
        Fix: Correct the schema: hosts refuse such a tool, or its calls fail.
        | get_untyped: $.inputSchema.type: The tool has no inputSchema.type.
        | get_untyped: $.inputSchema.properties.city.type: "str" is not a type of JSON Schema.
        | get_unlisted: $.inputSchema.required: Required but not among the properties: "town".
        $ evals lint --server 'node broken.mjs calls'
      error call-fails A call of "get_refused" without arguments fails, although its schema requires none.
        Fix: Correct its inputSchema: usually a type is wrong, or a required parameter is missing from "required".
        | the server answered "Invalid arguments: city is required"
        $ evals probe --server 'node broken.mjs calls' --call '{"tool":"get_refused","arguments":{}}'
      warning call-fails A call of "get_page" without arguments fails, although its schema requires none.
        Fix: If it needs something first, such as another call, a program or a setting, say so in its description.
        | the server answered "Open a page first."
        $ evals probe --server 'node broken.mjs calls' --call '{"tool":"get_page","arguments":{}}'
      error call-unknown "get_unknown" is listed, but the server does not know it when it is called.
        Fix: Handle calls under the names that are listed.
        | the server answered "Unknown tool: get_unknown"
        $ evals probe --server 'node broken.mjs calls' --call '{"tool":"get_unknown","arguments":{}}'
      error call-breaks A call of "get_dead" breaks the server.
        Fix: Catch the exception in the tool, and return an error result that says how to recover.
        | Server "node broken.mjs calls", called for "get_dead", exited with code 9. Its stderr ends with:     TypeError: boom
        $ evals probe --server 'node broken.mjs calls' --call '{"tool":"get_dead","arguments":{}}'
    "
  `);
  expect(code).toBe(1);
});

test("--execute never calls nothing", async () => {
  const { code, out } = await doctor([...each("sdk1.mjs"), "--execute", "never", "--json"]);
  const report = doctorReportSchema.parse(JSON.parse(out));
  expect(report.servers[0]?.called).toEqual([]);
  expect(report.servers[0]?.notCalled).toContainEqual({ tool: "read_env", why: "--execute never" });
  expect(code).toBe(0);
});

test("every server of a host configuration, and its entry", async () => {
  const script = join(servers, "sdk1.mjs");
  const file = {
    mcpServers: {
      good: { command: "node", args: [script] },
      relative: { command: "node", args: ["server.mjs", `\${NOT_SET_ANYWHERE}`, `\${SECRET}`] },
      broken: { command: 5 },
      "my key": { command: process.execPath, args: [script], env: { KEY: `ghp_${"a1B2".repeat(9)}` } },
    },
  };
  writeFileSync(join(empty, ".mcp.json"), JSON.stringify(file, null, 2));
  const { code, out } = await doctor(["--config", ".mcp.json", "--execute", "never"], { SECRET: "hush" }, empty);
  expect(stable(out)).toMatchInlineSnapshot(`
    "UNHEALTHY: 2 of 4 servers; 2 healthy
      Next: apply the fix of the first error below, then run this again.

    ✓ good (.mcp.json)
      node SERVERS/sdk1.mjs
      sdk1 1.2.3, protocol 2025-11-25 over stdio: answers after N s; 8 tools listed in N s
      no tool called; not called: echo, read_env, get_sum, break_promise, get_media and 3 more (--execute never)

    ✗ relative (.mcp.json)
      node server.mjs "\${NOT_SET_ANYWHERE}" "\${SECRET}"

      error script-missing The script EMPTY/server.mjs does not exist.
        Fix: Build the server, or correct the path; in the configuration of a host, make it absolute.
        | "server.mjs" is relative to EMPTY
        $ cd EMPTY && node server.mjs "\${NOT_SET_ANYWHERE}" "\${SECRET}"
      warning registration-unset-variable The variable NOT_SET_ANYWHERE is not set.
        Fix: Set it, or give a default: \${NOT_SET_ANYWHERE:-value}.

    ✗ broken (.mcp.json)
      error registration-entry The command is 5.
        Fix: Name the program that starts the server.

    ✓ my key (.mcp.json)
      NODE SERVERS/sdk1.mjs
      sdk1 1.2.3, protocol 2025-11-25 over stdio: answers after N s; 8 tools listed in N s
      no tool called; not called: echo, read_env, get_sum, break_promise, get_media and 3 more (--execute never)

      warning registration-name Hosts replace or reject characters of the name "my key".
        Fix: Use letters, digits, _ and -.
      warning registration-secret The entry contains a token.
        Fix: Put it in an environment variable, and write \${NAME} here.
    "
  `);
  expect(code).toBe(1);
});

test("URLs without a server", async () => {
  const answers: Record<string, RequestListener> = {
    "/401": (_, res) => res.writeHead(401, { "www-authenticate": "Bearer" }).end(),
    "/404": (_, res) => res.writeHead(404).end(),
    "/moved": (_, res) => res.writeHead(302, { location: "/login" }).end(),
    "/page": (_, res) => res.writeHead(200, { "content-type": "text/html" }).end("<p>Hello"),
  };
  const web = createServer((req, res) => (answers[req.url ?? ""] ?? answers["/404"])?.(req, res));
  await new Promise<void>((listening) => web.listen(0, "127.0.0.1", listening));
  const closed = await reservePort();
  const host = `127.0.0.1:${(web.address() as AddressInfo).port}`;
  const urls = [
    ...Object.keys(answers).map((path) => `http://${host}${path}`),
    `https://${host}/mcp`,
    `http://127.0.0.1:${closed.port}/mcp`,
  ];
  try {
    const { code, out } = await doctor(urls.flatMap((url) => ["--url", url]));
    expect(stable(out)).toMatchInlineSnapshot(`
      "UNHEALTHY: 6 of 6 servers
        Next: apply the fix of the first error below, then run this again.

      ✗ http://127.0.0.1:PORT/401
        error credentials The server requires credentials.
          Fix: Add them to "headers" as Authorization: Bearer <token>, or log in with \`evals login http://127.0.0.1:PORT/401\`.
          | HTTP 401
          | WWW-Authenticate: Bearer
          | client: Server "http://127.0.0.1:PORT/401" answers with HTTP 401 at http://127.0.0.1:PORT/401.
          $ curl -i -X POST http://127.0.0.1:PORT/401

      ✗ http://127.0.0.1:PORT/404
        error no-endpoint There is no MCP endpoint at this URL.
          Fix: Check the path (often /mcp or /sse), and whether the server uses the transport sse (\`--transport sse\`).
          | HTTP 404
          | client: Server "http://127.0.0.1:PORT/404" answers with HTTP 404 at http://127.0.0.1:PORT/404.
          $ curl -i -X POST http://127.0.0.1:PORT/404

      ✗ http://127.0.0.1:PORT/moved
        error redirect The URL redirects to /login.
          Fix: Use the target URL: hosts drop headers on redirects, or do not follow them.
          | HTTP 302
          | client: Server "http://127.0.0.1:PORT/moved" does not answer as an MCP server at http://127.0.0.1:PORT/moved: Error POSTing to endpoint: Redirect to http://127.0.0.1:PORT/login not followed; use that URL as the endpoint if it is the intended server (redirectPolicy: 'same-origin').
          $ curl -i -X POST http://127.0.0.1:PORT/moved

      ✗ http://127.0.0.1:PORT/page
        error not-mcp The URL answers, but not with MCP.
          Fix: Check the URL, and whether the server's transport is http (Streamable HTTP) or sse.
          | HTTP 200, text/html
          | body: <p>Hello
          | client: Server "http://127.0.0.1:PORT/page" does not answer as an MCP server at http://127.0.0.1:PORT/page: Unexpected content type: text/html.
          $ curl -i -X POST http://127.0.0.1:PORT/page

      ✗ https://127.0.0.1:PORT/mcp
        error tls The TLS handshake failed.
          Fix: Use http:// if the server has no TLS, or put a TLS proxy in front of it.
          | SSL routines ...
          $ curl -i -X POST https://127.0.0.1:PORT/mcp

      ✗ http://127.0.0.1:PORT/mcp
        error port-refused The connection was refused: nothing listens on the port.
          Fix: Start the server, and check host and port of the URL.
          | connect ECONNREFUSED 127.0.0.1:PORT
          $ curl -i -X POST http://127.0.0.1:PORT/mcp
      "
    `);
    expect(code).toBe(1);
  } finally {
    closed.release();
    web.closeAllConnections();
    await new Promise((done) => web.close(done));
  }
});

test("a suite with a static tool list has nothing to examine", async () => {
  writeFileSync(join(empty, "tools.json"), "[]");
  writeFileSync(
    join(empty, "list.yaml"),
    "server: { tools: tools.json }\ncases: [{ input: hello, expect: { tool: none } }]\n",
  );
  const { code, err } = await doctor(["list.yaml"], {}, empty);
  expect(err).toMatchInlineSnapshot(`
    "error: There is no live server among the targets.
      Name one with --server, --url or --config, or a suite whose server has a command or a URL.
    list.yaml: warning: This suite is skipped: it has a static tool list.
      Only a live server can be started and called. Give the suite a server with a command or a URL.
    "
  `);
  expect(code).toBe(2);
});
