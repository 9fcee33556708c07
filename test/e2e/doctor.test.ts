import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import { doctorReportSchema } from "../../src/evals/inspection/doctor/report.ts";
import { makeFolder } from "../fakes/folder.ts";
import { listen, reservePort } from "../fixtures/ports.ts";
import { evals } from "./evals.ts";

const servers = join(import.meta.dirname, "../fixtures/servers");
const empty = makeFolder();

/** A report without what differs from machine to machine: paths, ports, times, and where lines are broken. */
function stable(text: string): string {
  return text
    .replace(/\n {4,}(?![|$… ]|Fix:)/g, " ")
    .replaceAll(servers, "SERVERS")
    .replaceAll(empty, "EMPTY")
    .replaceAll(process.execPath, "NODE")
    .replace(/127\.0\.0\.1:\d+/g, "127.0.0.1:PORT")
    .replace(/(\||:) [^|]*SSL routines.*/g, "$1 SSL routines ...")
    .replace(/\b\d+(?:\.\d+)? m?s\b/g, "N s")
    .replace(/not found in PATH: .*/g, "not found in PATH: ...");
}

const doctor = (args: readonly string[], env: Record<string, string> = {}, cwd = servers) =>
  evals(["doctor", ...args], { cwd, env });
const each = (...ways: string[]) => ways.flatMap((way) => ["--server", `node ${way}`]);

/** The report, and its findings in lines: the texts of rules are in test/inspection/doctor. */
async function examine(args: readonly string[], env: Record<string, string> = {}, cwd = servers) {
  const { code, out, err } = await doctor([...args, "--json"], env, cwd);
  const report = doctorReportSchema.parse(JSON.parse(out));
  const lines = report.servers.flatMap(({ name, findings }) =>
    findings.map(({ rule, severity, evidence = [] }) => [name, severity, `${rule}:`, evidence.join(" | ")].join(" ")),
  );
  return { ...report, code, err, lines: lines.map((line) => stable(line).trim()) };
}

test("what is observed of servers that do not start", async () => {
  const ways = ["needs-key", "needs-usage", "needs-module"].map((way) => `broken.mjs ${way}`);
  const programs = ["--server", "no-such-program", "--server", "./faulty.mjs"];
  const lines = each(...ways, "faulty.mjs dies", "not-there.mjs");
  const { code, ...report } = await examine([...lines, ...programs], { WEATHER_API_KEY: "secret" });
  expect(code).toBe(1);
  expect(report.lines.filter((line) => !line.includes("needs-module"))).toMatchSnapshot();
  // The cause is at the end of a long trace.
  expect(report.servers[2]?.findings.map(({ rule }) => rule)).toEqual(["module-missing"]);
  expect(report.servers[0]?.findings[0]?.command).toBe(
    `(unset WEATHER_API_KEY; cd ${servers} && node broken.mjs needs-key)`,
  );
});

test("a server that starts too slowly beside others is started again alone", async () => {
  const ids = async (...lines: string[]) => {
    const { servers: examined } = await examine([...each(...lines), "--timeout", "10"]);
    return examined.map((one) => one.findings.map(({ rule }) => rule));
  };
  const first = `broken.mjs busy ${join(empty, "first")}`;
  expect(await ids(first)).toEqual([["silent"]]);
  expect(await ids(`broken.mjs busy ${join(empty, "second")}`, "broken.mjs empty")).toEqual([[], ["no-tools"]]);
});

test("the printed commands reproduce the findings", async () => {
  writeFileSync(join(empty, "it's.mjs"), `import ${JSON.stringify(join(servers, "broken.mjs"))};`);
  const [{ findings = [] } = {}] = (await examine(["--server", `node "it's.mjs" calls`], {}, empty)).servers;
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

test("what is observed of servers with faulty lists or calls, or without a key", async () => {
  const ways = [
    "broken.mjs empty",
    "faulty.mjs twins",
    "faulty.mjs malformed",
    "broken.mjs calls",
    "broken.mjs keyless",
  ];
  const { code, lines, servers: examined } = await examine(each(...ways));
  expect(code).toBe(1);
  expect(lines).toMatchSnapshot();
  expect(examined[3]?.notCalled.map(({ tool, why }) => `${tool}: ${why}`)).toEqual([
    "get_city: needs arguments",
    "get_unlisted: needs arguments",
    "delete_all: not annotated read-only",
    "get_after: the server has exited",
  ]);
});

test("every server of a host configuration, and its entry; --execute never calls nothing", async () => {
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
  const given = ["--config", ".mcp.json", "--execute", "never"];
  const { code, lines, healthy, unhealthy, servers: examined } = await examine(given, { SECRET: "hush" }, empty);
  expect({ code, lines, healthy, unhealthy }).toMatchSnapshot();
  expect(examined[1]?.findings[0]?.command).toBe(`cd ${empty} && node server.mjs "\${NOT_SET_ANYWHERE}" "\${SECRET}"`);
  expect(examined[0]?.called).toEqual([]);
  expect(examined[0]?.notCalled).toContainEqual({ tool: "read_env", why: "--execute never" });
});

test("what is observed of URLs without a server", async () => {
  const answers: Record<string, RequestListener> = {
    "/401": (_, res) => res.writeHead(401, { "www-authenticate": "Bearer" }).end(),
    "/404": (_, res) => res.writeHead(404).end(),
    "/moved": (_, res) => res.writeHead(302, { location: "/login" }).end(),
    "/page": (_, res) => res.writeHead(200, { "content-type": "text/html" }).end("<p>Hello"),
    "/key": (_, res) => res.writeHead(400).end('{"error":"Missing API key"}'),
    "/busy": (_, res) => res.writeHead(429, { "retry-after": "3600" }).end("quota exceeded"),
    "/fault": (_, res) => res.writeHead(500).end(),
  };
  const web = createServer((req, res) => (answers[req.url ?? ""] ?? answers["/404"])?.(req, res));
  const closed = await reservePort();
  const host = `127.0.0.1:${await listen(web)}`;
  const urls = [
    ...Object.keys(answers).map((path) => `http://${host}${path}`),
    `https://${host}/mcp`,
    `http://127.0.0.1:${closed.port}/mcp`,
  ];
  try {
    const { code, servers: examined } = await examine(urls.flatMap((url) => ["--url", url]));
    const found = examined.flatMap(({ findings }) => findings.map(({ rule, message, fix }) => [rule, message, fix]));
    expect(found.map((texts) => stable(texts.join(" | ")))).toMatchSnapshot();
    expect(code).toBe(1);
  } finally {
    closed.release();
  }
});

test("a suite with a static tool list has nothing to examine", async () => {
  writeFileSync(join(empty, "tools.json"), "[]");
  const suite = "server: { tools: tools.json }\ncases: [{ input: hello, expect: { tool: none } }]\n";
  writeFileSync(join(empty, "list.yaml"), suite);
  const { code, err } = await doctor(["list.yaml"], {}, empty);
  expect([code, err]).toEqual([
    2,
    expect.stringMatching(/^error: There is no live server among the targets\.\n {2}Name one with/),
  ]);
});
