import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { beforeEach, describe, expect, it } from "vitest";
import { type Ended, pageOf, spawnEvals, start, startView } from "../e2e/evals.ts";
import { makeFolder } from "../fakes/folder.ts";
import { writeActSuite } from "../fixtures/actSuite.ts";
import { startMessageBatches } from "../fixtures/endpoints/batches.ts";
import type { Fault } from "../fixtures/endpoints/endpoint.ts";
import { type MessageAnswer, startMessagesEndpoint } from "../fixtures/endpoints/messages.ts";
import { listen } from "../fixtures/ports.ts";
import { noRedis, startRedis } from "../fixtures/redis.ts";

/** Every secret that a run can know, one for each form in which it can be given, in values that nothing else contains. */
const canaries = {
  ...{ ANTHROPIC_API_KEY: "sk-ant-canary/Key+0001", GITHUB_TOKEN: "ghp_canaryToken0002" },
  ...{ LEAK_TOKEN: "canary-entry-env-0003", SERVICE_ACCOUNT: "c4nAry-äcc0unt/Lq7Xk29f0004" },
  ...{ header: "canary-header-0005", password: "canary-pass-0006", query: "canary-query-0007" },
  ...{ basePassword: "canary-base-0008", queuePassword: "canary-queue-0009" },
  ...{ collectorHeader: "canary-collector-0010", collectorPassword: "canary-collector-pass-0011" },
  ...{ collectorQuery: "canary-collector-query-0012", bearerFlag: "canary-flag-0013" },
  ...{ positional: "Xk29fLq7Rz51Qm08fTw0014", customHeader: "canary-own-header-0015" },
  ...{ urlPath: "NDk3MTg2MjAtYjE0Mi00ZTBhLTk5ZDE60016", connection: "canary+connection/0017" },
  ...{ headersInJson: "canary-json-0018", bearerVariable: "canary-bearer-0019" },
  ...{ withLineBreak: "Canary_Line&Break;0020", firstOfList: "Canary-List-0021", secondOfList: "Canary-List-0022" },
  ...{ PGPASSWORD: "Canary&Postgres'0023", mongo: "canary-mongo-0024" },
};
const server = join(import.meta.dirname, "../fixtures/servers/leaky.mjs");
const env = {
  ANTHROPIC_API_KEY: canaries.ANTHROPIC_API_KEY,
  GITHUB_TOKEN: canaries.GITHUB_TOKEN,
  UPSTREAM_AUTH: `Bearer ${canaries.bearerVariable}`,
  DEPLOY_TOKEN: `${canaries.withLineBreak}\n`,
  BOT_TOKENS: `${canaries.firstOfList},${canaries.secondOfList}`,
  PGPASSWORD: canaries.PGPASSWORD,
  MONGO: `mongodb+srv://u:${canaries.mongo}@cluster.example.net/db`,
};
/** Further arguments of the server, which it repeats. */
const args = [
  ...["--bearer", canaries.bearerFlag, canaries.positional, "--header", `X-Custom:${canaries.customHeader}`],
  ...[`https://mcp.zapier.com/api/mcp/s/${canaries.urlPath}/mcp`],
  `postgresql://u:${encodeURIComponent(canaries.connection)}@h/db`,
];
/** Variables of the server, which it repeats. */
const serverEnv = {
  LEAK_TOKEN: canaries.LEAK_TOKEN,
  SERVICE_ACCOUNT: canaries.SERVICE_ACCOUNT,
  OPENAPI_MCP_HEADERS: JSON.stringify({ Authorization: `Bearer ${canaries.headersInJson}` }),
};

/** The files that a test writes with secrets in them. */
const sources = new Set(["suite.json", ".mcp.json", "variants.json", "tools.json", "given.json"]);

let dir: string;
let endpoint: Awaited<ReturnType<typeof startMessagesEndpoint>>;
/** By default a model repeats what it was sent, and a secret. */
let answer: (headers: string) => MessageAnswer | Fault;
beforeEach(async () => {
  dir = makeFolder();
  answer = (headers) => ({ text: `${headers} ${canaries.GITHUB_TOKEN}`, calls: [{ name: "act", input: { headers } }] });
  endpoint = await startMessagesEndpoint((_, index) => answer(JSON.stringify(endpoint.requests[index]?.headers)));
});
/** The address of the endpoint, with credentials. */
const base = () => endpoint.url.replace("://", `://user:${canaries.basePassword}@`);
/** The first record, which is read from a file of it. */
const readFirst = (file: string) =>
  readFileSync(join(dir, "reports", readdirSync(join(dir, "reports"))[0] ?? "", file), "utf8");

const toAscii = (text: string) =>
  text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** The forms in which a value may come back. */
const forms = (value: string) => [
  value,
  value.toLowerCase(),
  value.toLowerCase().replace(/[^a-z0-9]+/g, "-"),
  JSON.stringify(value)
    .slice(1, -1)
    .replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`),
  value.replace(/[&<>]/g, (sign) => `&${{ "&": "amp", "<": "lt", ">": "gt" }[sign]};`),
  encodeURIComponent(value),
  Buffer.from(value).toString("base64").replace(/=+$/, "").slice(0, -1),
  Buffer.from(`user:${value}`).toString("base64").slice(8, -4),
  Buffer.from(value).toString("base64url").slice(0, -2),
  Buffer.from(value).toString("hex"),
  JSON.stringify(value).slice(1, -1).replaceAll("/", "\\/"),
  JSON.stringify(value).slice(1, -1).replaceAll("/", "\\\\/"),
  toAscii(value),
  toAscii(value).replaceAll("\\", "\\\\"),
  toAscii(value).replaceAll("/", "\\/"),
];

const listFiles = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());

/** No canary in what was printed, in any file of the records and in further texts, by their names. */
function expectNoLeak({ out, err }: Pick<Ended, "out" | "err">, further: Readonly<Record<string, string>> = {}): void {
  const texts = new Map([["stdout", out], ["stderr", err], ...Object.entries(further)]);
  for (const file of listFiles(dir).filter((one) => !sources.has(one.slice(dir.length + 1))))
    texts.set(file, readFileSync(file, "utf8")).set(`the name ${file}`, file);
  expect([...texts].flatMap(([where, text]) => canaryNames(text).map((name) => `${name} in ${where}`))).toEqual([]);
}

/** The canaries that a text has in any form. */
const canaryNames = (text: string) =>
  Object.entries(canaries).flatMap(([name, value]) => (forms(value).some((form) => text.includes(form)) ? [name] : []));

const writeSuite = (mode: string) =>
  writeFileSync(
    join(dir, "suite.json"),
    JSON.stringify({
      name: "leaky",
      server: { command: "node", args: [server, mode, ...args], env: serverEnv },
      cases: [
        { id: "one", input: "Act.", expect: { tool: "act", result: { contains: "nothing" } } },
        // Its id is made of these words.
        { input: Object.values(env).join(" "), expect: { tool: "act" } },
      ],
    }),
  );

const run = (flags: readonly string[] = [], more: Record<string, string> = {}) => {
  const trials = flags.includes("-n") ? [] : ["-n", "1"];
  const args = ["run", "suite.json", "-m", "anthropic:x", "--base-url", base(), ...trials, ...flags];
  return spawnEvals(args, { cwd: dir, env: { ...env, ...more } });
};

describe("no secret is written or printed", () => {
  it.each([[], ["--json"]])("when a server, a model and a provider repeat it (%j)", async (...flags) => {
    writeSuite("lives");
    const ended = await run(flags);
    expect(ended.code).toBe(1);
    expectNoLeak(ended);
    for (const name of ["ANTHROPIC_API_KEY", "GITHUB_TOKEN", "LEAK_TOKEN", "SERVICE_ACCOUNT"])
      expect(readFirst("trials.jsonl")).toContain(`[redacted: ${name}]`);
    expect(JSON.parse(readFirst("run.json")).flags.baseUrl).toBe(`${endpoint.url}/`);
    for (const as of ["terminal", "markdown", "html", "junit", "github"])
      expectNoLeak(await spawnEvals(["show", "--format", as], { cwd: dir, env }));
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
    await run();
    const url = `http://user:${canaries.password}@127.0.0.1:9/mcp?key=${canaries.query}`;
    const entry = { url: "http://127.0.0.1:9/mcp", headers: { Authorization: `Bearer ${canaries.header}` } };
    writeFileSync(join(dir, ".mcp.json"), JSON.stringify({ mcpServers: { remote: entry } }));
    for (const command of ["doctor", "probe", "lint"])
      for (const flags of [
        ["--url", url],
        ["--config", ".mcp.json"],
        ["--url", url, "--json"],
      ])
        expectNoLeak(await spawnEvals([command, ...flags], { cwd: dir, env }));
  });
});

/** A collector of traces that answers with everything that it got. */
async function startCollector() {
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    const body = await text(request);
    bodies.push(`${request.url} ${body}`);
    response.writeHead(401, `${request.headers.authorization}`).end(JSON.stringify(request.headers));
  });
  return { bodies, url: `http://127.0.0.1:${await listen(server)}` };
}

describe("no secret leaves in traces", () => {
  it.each([
    ["is sent", (url: string) => url, "authorization=Bearer%20canary-collector-0010"],
    ["has a header that cannot be sent", (url: string) => url, "authorization=Bearer%20canary-collector-0010%0A"],
    ["has a header that cannot be decoded", (url: string) => url, "authorization=Bearer%20canary-collector-0010%zz"],
    [
      "has credentials and a query in the URL",
      (url: string) =>
        `${url.replace("://", `://user:${canaries.collectorPassword}@`)}/x?key=${canaries.collectorQuery}`,
      "",
    ],
    ["is no URL", () => `ftp://user:${canaries.collectorPassword}@h/?key=${canaries.collectorQuery}`, ""],
  ])("where the export %s", async (_, address, headers) => {
    const collector = await startCollector();
    writeSuite("lives");
    const ended = await run(["--otlp", address(collector.url)], { OTEL_EXPORTER_OTLP_HEADERS: headers });
    expectNoLeak(ended, { traces: collector.bodies.join("\n") });
    expect(ended.err).toMatch(/The traces could not all be sent|is not an HTTP or HTTPS URL/);
  });
});

describe.skipIf(noRedis)("no secret is on the queue", () => {
  it("while trials run and after, also when a worker fails", async () => {
    const redis = await startRedis(["--requirepass", canaries.queuePassword], { password: canaries.queuePassword });
    const url = redis.url.replace("://", `://:${canaries.queuePassword}@`);
    writeSuite("lives");
    const worker = start(["worker", url, "suite.json", "--base-url", base()], { cwd: dir, env });
    const ended = await run(["--queue", url, "-n", "3", "--max-turns", "2"]);
    expect(ended.code, ended.err).toBe(1);
    worker.child.kill("SIGTERM");
    const worked = await worker.ended;
    // The file holds everything that was ever written, what is deleted by now included.
    const written = readdirSync(redis.dir).map((file) => readFileSync(join(redis.dir, file), "latin1"));
    expect(written.join("")).toContain("[redacted: GITHUB_TOKEN]");
    expectNoLeak(ended, { redis: written.join(""), worker: `${worked.out}${worked.err}` });
  });
});

describe("no secret is in a ledger of batches", () => {
  it("also where the provider names a batch after it", async () => {
    const service = await startMessageBatches({
      answer: () => ({ text: `${canaries.ANTHROPIC_API_KEY} ${canaries.GITHUB_TOKEN}`, calls: [] }),
      nameBatch: (at) => (at === 0 ? "batch_0" : `batch_${canaries.GITHUB_TOKEN}`),
    });
    writeActSuite(dir, 3, { maxTurns: 1 });
    for (let round = 0; round < 2; round++) {
      const flags = ["run", "suite.json", "--batch", "-m", "anthropic:claude-haiku-5-5"];
      const ended = await spawnEvals(flags, { cwd: dir, env: { ...env, ANTHROPIC_BASE_URL: service.url } });
      expect(ended.err).toMatch(/Batch batch_.*: 14 requests submitted/);
      expectNoLeak(ended);
    }
    expect(listFiles(join(dir, "reports")).filter((file) => file.endsWith("batches.json"))).toHaveLength(2);
  });
});

it("has no secret in what history, show and view make of a record", async () => {
  writeSuite("lives");
  await run();
  await run();
  expect(readdirSync(join(dir, "reports"))).toContain("last-result");
  const [first, second] = readdirSync(join(dir, "reports")).sort();
  for (const command of [
    ...["show --history", "show --failed", "show --history --json", "show --failed --json", "show --format csv"],
    `compare ${first} ${second}`,
  ])
    expectNoLeak(await spawnEvals(command.split(" "), { cwd: dir, env }));
  const { url, stop } = await startView([], { cwd: dir, env });
  const [id = ""] = readdirSync(join(dir, "reports"));
  const pages: Record<string, string> = {};
  const paths = ["", `runs/${id}`, `runs/${id}/data`, `runs/${canaries.GITHUB_TOKEN}`, `compare?base=${id}&head=${id}`];
  for (const page of paths)
    pages[page.replace(canaries.GITHUB_TOKEN, "TOKEN")] = await (await fetch(new URL(page, url))).text();
  expectNoLeak(await stop(), pages);
});

/** What a server, a model and a file can repeat: these values in every form, in one text. */
const repeat = (values: readonly string[]) =>
  values
    .flatMap((value) => [
      value,
      encodeURIComponent(value),
      Buffer.from(value).toString("base64"),
      Buffer.from(`Bearer ${value}`).toString("base64url"),
      Buffer.from(value).toString("hex"),
      JSON.stringify(value).replaceAll("/", "\\/"),
      JSON.stringify(toAscii(JSON.stringify(value))),
    ])
    .join(" ");
const { ANTHROPIC_API_KEY, GITHUB_TOKEN, password, query, basePassword } = canaries;

describe("no secret is in what a command writes", () => {
  const command = `node ${server} lives --token ${canaries.GITHUB_TOKEN} --api-key=${canaries.header}`;
  const further = { LEAK_TOKEN: canaries.LEAK_TOKEN };

  it("by init, which names variables in place of the secrets of a command line", async () => {
    const ended = await spawnEvals(["init", "--server", command, "--file", "evals/a.yaml"], {
      cwd: dir,
      env: { ...env, ...further },
    });
    expect(ended.code, ended.err).toBe(0);
    expectNoLeak(ended);
    const suite = readFileSync(join(dir, "evals/a.yaml"), "utf8");
    expect(suite).toContain(`--token, "\${GITHUB_TOKEN}", "--api-key=\${MCP_SECRET}"`);
    expect(ended.err).toContain(`evals/a.yaml has \${GITHUB_TOKEN}, \${MCP_SECRET} in place of values of the server`);
    expect(ended.err).toContain("Set MCP_SECRET in the environment");
    const run = (more: Record<string, string>) =>
      spawnEvals(["run", "evals/a.yaml", "-m", "lexical"], { cwd: dir, env: { ...env, ...more } });
    const done = await run({ MCP_SECRET: canaries.header });
    expect(done.err).not.toContain("not set");
    expect([0, 1]).toContain(done.code);
    expectNoLeak(done);
  });

  it("by init of a URL with credentials and a query", async () => {
    const remote = await startRemote();
    const url = `${remote.url.replace("://", `://user:${canaries.password}@`)}?key=${canaries.query}`;
    const ended = await spawnEvals(["init", "--url", url, "--file", "a.yaml"], { cwd: dir, env });
    expect(ended.code, ended.err).toBe(0);
    expectNoLeak(ended);
    expect(readFileSync(join(dir, "a.yaml"), "utf8")).toContain(`:\${MCP_SECRET}@127.0.0.1`);
    const done = await spawnEvals(["run", "a.yaml", "-m", "lexical"], {
      cwd: dir,
      env: { ...env, MCP_SECRET: canaries.password, MCP_SECRET_2: canaries.query },
    });
    expect([0, 1], done.err).toContain(done.code);
    expectNoLeak(done);
  });

  it("by init, whose queries a model writes", async () => {
    answer = (headers) => ({ text: `Do what ${headers} and ${repeat([GITHUB_TOKEN])} say`, calls: [] });
    const flags = ["--writer", "anthropic:x", "--base-url", base(), "--accept-all", "--yes"];
    const options = { cwd: dir, env: { ...env, ...further } };
    await spawnEvals(["init", command, "--file", "written.yaml"], options);
    const ended = await spawnEvals(["queries", "written.yaml", ...flags], options);
    expect(ended.err).toContain("could not be used (it repeats a secret)");
    expectNoLeak(ended);
  });

  it("by import, of a file that repeats them", async () => {
    const all = repeat(Object.values(canaries));
    const tests = [{ vars: { prompt: all }, assert: [{ type: "trajectory:tool-used", value: all }] }];
    writeFileSync(join(dir, "given.json"), JSON.stringify({ prompts: ["{{prompt}}"], tests, [all]: all }));
    const known = Object.entries(canaries).map(([name, value]) => [`${name.toUpperCase()}_TOKEN`, value]);
    for (const json of [[], ["--json"]]) {
      const flags = ["--from", "promptfoo", "--force", ...json];
      expectNoLeak(await spawnEvals(["import", "given.json", ...flags], { cwd: dir, env: Object.fromEntries(known) }));
    }
  });

  it("by variants, blame, baseline, verify, merge, search and clean", async () => {
    writeSuite("lives");
    const texts = { act: { description: "Does it." } };
    writeFileSync(join(dir, "variants.json"), JSON.stringify({ variants: { short: texts } }));
    const secrets = repeat([GITHUB_TOKEN, ANTHROPIC_API_KEY, basePassword]);
    answer = (headers) => ({ text: `${headers} ${secrets}`, calls: [{ name: "act", input: { headers } }] });
    const model = ["-m", "anthropic:x", "--base-url", base()];
    const call = async (line: string, codes: readonly number[], flags: readonly string[] = []) => {
      const ended = await spawnEvals([...line.split(" "), ...flags], { cwd: dir, env });
      expect(codes, `${line}: ${ended.err}`).toContain(ended.code);
      expectNoLeak(ended);
      return ended.out;
    };
    await call("run suite.json -n 3", [1], model);
    await call("baseline accept --force", [0]);
    await call("baseline verify suite.json", [0]);
    await call("variants variants.json suite.json --output adopted.json", [0, 1], model);
    await call("search suite.json", [0]);
    await call("tools suite.json --json", [0]);
    const shard = await call("run suite.json -n 1 --shard 1/1 --seed 1 --json", [0, 1], model);
    await call(`merge reports/${JSON.parse(shard).run}`, [0, 1]);
    // The server lists another description now, and the model no longer calls its tool.
    writeSuite("changed");
    answer = (headers) => ({ text: `${headers} ${secrets}` });
    await call("run suite.json -n 3 --check on", [0, 1, 3], model);
    await call("blame --case one", [0, 1, 3], ["--base-url", base()]);
    await call("clean", [0]);
  });
});

it("prints no secret of a server that repeats it, alive or dying", async () => {
  for (const mode of ["lives", "dies"]) {
    const command = `node ${server} ${mode} --token ${GITHUB_TOKEN}`;
    for (const name of ["doctor", "probe", "lint", "tools", "search"])
      for (const json of [[], ["--json"]]) {
        const known = { ...env, LEAK_TOKEN: canaries.LEAK_TOKEN, SERVICE_TOKEN: canaries.SERVICE_ACCOUNT };
        const ended = await spawnEvals([name, "--server", command, ...json], { cwd: dir, env: known });
        expect(ended.err).not.toContain("Internal error");
        expectNoLeak(ended);
      }
  }
});

it("prints no secret of a record that another environment has written", async () => {
  writeActSuite(dir, 0, { cases: [{ id: "one", input: repeat([password]), expect: { tool: "act" } }] });
  const tool = { name: "act", description: repeat([password, query]), inputSchema: { type: "object" } };
  writeFileSync(join(dir, "tools.json"), JSON.stringify([tool]));
  answer = () => ({ text: repeat([password, query]), calls: [] });
  for (const seed of ["1", "2"])
    await spawnEvals(`run suite.json -m anthropic:x -n 3 --seed ${seed} --base-url ${endpoint.url}`.split(" "), {
      cwd: dir,
    });
  const known = { FIRST_TOKEN: password, SECOND_TOKEN: query };
  const [id = "", other = ""] = readdirSync(join(dir, "reports")).sort();
  const lines = [
    ...["show --failed", "show --failed --json", "show --history", "show --history --json"],
    ...[`compare ${id} ${other}`, "baseline accept --force"],
  ];
  const forms = ["terminal", "json", "csv", "markdown", "html", "junit", "github"].map(
    (form) => `show ${id} --format ${form}`,
  );
  for (const line of [...lines, ...forms]) {
    const { code, out, err } = await spawnEvals(line.split(" "), { cwd: dir, env: known });
    expect([0, 1, 3], `${line}: ${err}`).toContain(code);
    expect(canaryNames(`${out} ${err}`), line).toEqual([]);
  }
  const written = listFiles(join(dir, "evals/baselines"));
  expect(written.length).toBe(1);
  for (const file of written) expect(canaryNames(`${file} ${readFileSync(file, "utf8")}`), file).toEqual([]);
});

describe("a record stays readable", () => {
  const key = `-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nBKcwggSjAgEAAoIBAQC7VJTU\n-----END KEY-----`;
  /** Secrets that look like the syntax or the words of what they are written into. */
  const odd = {
    ...{ A_TOKEN: JSON.stringify({ type: "service", private_key: key }), B_TOKEN: '":{"a":' },
    ...{ C_TOKEN: "1234567890123", D_TOKEN: key, E_TOKEN: '{"type":"object"}', F_TOKEN: "answered" },
    ...{ G_TOKEN: "trials", H_TOKEN: "B_TOKEN_VALUE", I_TOKEN: 'quote"s and \\slashes\\ and é🙂' },
    ...{ B_TOKEN_VALUE: "admin123", J_TOKEN: "xx-admin123-yy" },
  };

  it("with secrets that are JSON, numbers, words of the record, of several lines or parts of others", async () => {
    writeActSuite(dir, 0, { cases: [{ id: "one", input: "Act.", expect: { tool: "act", args: { text: "none" } } }] });
    const input = { account: JSON.parse(odd.A_TOKEN), number: 1234567890123, x: { a: { type: "object" } }, all: odd };
    answer = () => ({
      text: repeat(Object.values(odd)),
      calls: [{ name: "act", input: { ...input, [odd.D_TOKEN]: odd } }],
    });
    const call = async (line: string, code: number) => {
      const args = [...line.split(" "), ...(line.startsWith("run") ? ["--base-url", endpoint.url] : [])];
      const ended = await spawnEvals(args, { cwd: dir, env: odd });
      expect(ended.code, `${line}: ${ended.err}`).toBe(code);
      for (const value of [odd.J_TOKEN, odd.D_TOKEN, odd.I_TOKEN, ...odd.D_TOKEN.split("\n").slice(1, 3), "admin123"])
        for (const form of forms(value)) expect(`${ended.out}${ended.err}`, line).not.toContain(form);
      return ended.out;
    };
    JSON.parse(await call("run suite.json -m anthropic:x -n 2 --json", 1));
    for (const line of ["show --failed --json", "show --history --json"])
      for (const value of (await call(line, 0)).trimEnd().split(/\n(?=\{)/)) JSON.parse(value);
    for (const as of ["json", "csv", "markdown", "junit", "github"]) await call(`show --format ${as}`, 0);
    const [id = ""] = readdirSync(join(dir, "reports"));
    const page = await call("show --format html", 0);
    for (const one of [page, join(dir, "reports", id)]) expect(pageOf(one).kind).toBe("report");
    const trials = readFirst("trials.jsonl").trimEnd().split("\n");
    expect(trials.map((line) => JSON.parse(line).outcome.kind)).toEqual(["answered", "answered"]);
    expect(trials.join("")).toContain('"number":"[redacted: C_TOKEN]"');
  });

  it("without the start and the end of a secret that its limit has cut", async () => {
    writeActSuite(dir, 1);
    // Of a reply of more than 256 Ki characters, the record has all but the last eighth of as many, and this eighth of
    // its end.
    const [limit, tail] = [256 * 1024, 32 * 1024];
    const secret = canaries.GITHUB_TOKEN;
    const [start, end] = ["x ".repeat(limit).slice(0, limit - tail - 9), "y ".repeat(limit).slice(0, tail - 9)];
    answer = () => ({ text: `${start}${secret} ${"z ".repeat(limit)} ${secret}${end}`, calls: [] });
    const ended = await run();
    expect(ended.code).toBe(1);
    const journal = readFirst("trials.jsonl");
    expect(journal.match(/x (\S+ \S+)… \[cut: .*\] …(\S+ \S+)y /)?.slice(1)).toEqual([
      "x[redacted: GITHUB_TOKEN]",
      "[redacted: GITHUB_TOKEN]",
    ]);
    expect([secret.slice(0, 6), secret.slice(-6)].filter((part) => journal.includes(part))).toEqual([]);
  });
});

/** A remote server that repeats what it was sent. */
async function startRemote() {
  const server = createServer(async (request, response) => {
    const { id, method } = JSON.parse((await text(request)) || "{}");
    const sent = `${request.url} ${JSON.stringify(request.headers)} ${repeat([GITHUB_TOKEN, ANTHROPIC_API_KEY, password, query])}`;
    const results: Record<string, object> = {
      initialize: {
        ...{ protocolVersion: "2025-06-18", capabilities: { tools: {} } },
        ...{ serverInfo: { name: sent, version: sent }, instructions: sent },
      },
      "tools/list": { tools: [{ name: "act", description: sent, inputSchema: { type: "object" } }] },
    };
    if (id === undefined) return void response.writeHead(request.method === "GET" ? 405 : 202).end();
    const result = results[method];
    const answer = result ? { result } : { error: { code: -32601, message: sent } };
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
  });
  return { url: `http://127.0.0.1:${await listen(server)}/mcp` };
}
