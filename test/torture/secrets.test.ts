import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Ended, evals } from "../e2e/evals.ts";
import type { Fault } from "../fixtures/endpoints/endpoint.ts";
import { type MessageAnswer, startMessagesEndpoint } from "../fixtures/endpoints/messages.ts";

/** Every secret that a run can know, in values that nothing else contains. */
const canaries = {
  ANTHROPIC_API_KEY: "sk-ant-canary/Key+0001",
  GITHUB_TOKEN: "ghp_canaryToken0002",
  LEAK_TOKEN: "canary-entry-env-0003",
  SERVICE_ACCOUNT: "canary-account-0004",
  header: "canary-header-0005",
  password: "canary-pass-0006",
  query: "canary-query-0007",
  basePassword: "canary-base-0008",
};
const server = join(import.meta.dirname, "../fixtures/servers/leaky.mjs");
const env = { ANTHROPIC_API_KEY: canaries.ANTHROPIC_API_KEY, GITHUB_TOKEN: canaries.GITHUB_TOKEN };

let dir: string;
let endpoint: Awaited<ReturnType<typeof startMessagesEndpoint>>;
let answer: (headers: string) => MessageAnswer | Fault;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "evals-secrets-"));
  endpoint = await startMessagesEndpoint((_, index) => answer(JSON.stringify(endpoint.requests[index]?.headers)));
});
afterEach(async () => {
  await endpoint.close();
  rmSync(dir, { recursive: true, force: true });
});

/** The forms in which a value may come back. */
const forms = (value: string) => [
  value,
  encodeURIComponent(value),
  Buffer.from(value).toString("base64").replace(/=+$/, "").slice(0, -1),
  Buffer.from(`user:${value}`).toString("base64").slice(8, -4),
  Buffer.from(value).toString("hex"),
];

function listFiles(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? listFiles(path) : [path];
  });
}

/** No canary in what was printed and in any file of the records. */
function expectNoLeak({ out, err }: Ended): void {
  const texts = new Map([
    ["stdout", out],
    ["stderr", err],
  ]);
  for (const file of listFiles(join(dir, "reports"))) texts.set(file, readFileSync(file, "utf8"));
  const found = [...texts].flatMap(([where, text]) =>
    Object.entries(canaries).flatMap(([name, value]) =>
      forms(value).some((form) => text.includes(form)) ? [`${name} in ${where}`] : [],
    ),
  );
  expect(found).toEqual([]);
}

const writeSuite = (mode: string) =>
  writeFileSync(
    join(dir, "suite.json"),
    JSON.stringify({
      name: "leaky",
      server: {
        command: "node",
        args: [server, mode],
        env: { LEAK_TOKEN: canaries.LEAK_TOKEN, SERVICE_ACCOUNT: canaries.SERVICE_ACCOUNT },
      },
      cases: [{ id: "one", input: "Act.", expect: { tool: "act", result: { contains: "nothing" } } }],
    }),
  );

const run = (...flags: string[]) => {
  const base = endpoint.url.replace("://", `://user:${canaries.basePassword}@`);
  const args = ["run", "suite.json", "-m", "anthropic:x", "--base-url", base, "-n", "1", ...flags];
  return evals(args, { cwd: dir, env });
};

describe("no secret is written or printed", () => {
  it.each([[], ["--json"]])("when a server, a model and a provider repeat it (%j)", async (...flags) => {
    writeSuite("lives");
    answer = (headers) => ({
      text: `${headers} ${canaries.GITHUB_TOKEN}`,
      calls: [{ name: "act", input: { headers } }],
    });
    const ended = await run(...flags);
    expect(ended.code).toBe(1);
    expectNoLeak(ended);
    const [id = ""] = readdirSync(join(dir, "reports"));
    const journal = readFileSync(join(dir, "reports", id, "trials.jsonl"), "utf8");
    for (const name of ["ANTHROPIC_API_KEY", "GITHUB_TOKEN", "LEAK_TOKEN", "SERVICE_ACCOUNT"])
      expect(journal).toContain(`[redacted: ${name}]`);
    const { flags: recorded } = JSON.parse(readFileSync(join(dir, "reports", id, "run.json"), "utf8"));
    expect(recorded.baseUrl).toBe(`${endpoint.url}/`);
    for (const as of ["terminal", "markdown", "html", "junit", "github"])
      expectNoLeak(await evals(["report", id, "--as", as], { cwd: dir, env }));
  });

  it("when a 401 repeats the key", async () => {
    writeSuite("lives");
    answer = (headers) => ({ fault: "status", status: 401, message: `wrong key in ${headers}` });
    const ended = await run();
    expect(ended.err).toContain("401 authentication_error: wrong key in");
    expectNoLeak(ended);
  });

  it("when a server prints its environment and dies", async () => {
    writeSuite("dies");
    answer = () => ({ text: "" });
    const ended = await run();
    expect(ended.err).toContain("[redacted: LEAK_TOKEN]");
    expectNoLeak(ended);
  });

  it("by doctor, probe and lint of a URL with credentials and a query, and of an entry with headers", async () => {
    writeSuite("lives");
    answer = () => ({ text: "" });
    await run();
    const url = `http://user:${canaries.password}@127.0.0.1:9/mcp?key=${canaries.query}`;
    const entry = { url: "http://127.0.0.1:9/mcp", headers: { Authorization: `Bearer ${canaries.header}` } };
    writeFileSync(join(dir, ".mcp.json"), JSON.stringify({ mcpServers: { remote: entry } }));
    for (const command of ["doctor", "probe", "lint"]) {
      expectNoLeak(await evals([command, "--url", url], { cwd: dir, env }));
      expectNoLeak(await evals([command, "--config", ".mcp.json"], { cwd: dir, env }));
      expectNoLeak(await evals([command, "--url", url, "--json"], { cwd: dir, env }));
    }
  });
});

it("prints no line of a server as a workflow command", async () => {
  writeSuite("lives");
  answer = () => ({ calls: [{ name: "act", input: {} }] });
  const { out, err } = await run();
  expect(`${out}\n${err}`).not.toMatch(/^\s*::/m);
});
