import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Io } from "../../src/evals/base/types/io.ts";
import { nameCommand } from "../../src/evals/commands/commandLine.ts";
import { commands } from "../../src/evals/commands/index.ts";
import { callIn } from "../e2e/evals.ts";
import { makeFolder, writeIn } from "../fakes/folder.ts";
import { anIo } from "../fakes/io.ts";
import { listen } from "../fixtures/ports.ts";

// A folder of somebody else: each program, module and address that its files name leaves a trace if it is used.

const sdk = join(import.meta.dirname, "../fixtures/servers/moody.mjs");
let received = 0;
const sink = createServer((_, response) => void response.writeHead(500).end());
// Also one that speaks another protocol, such as that of Redis.
sink.on("connection", () => received++);

let address = "";
beforeAll(async () => {
  address = `http://127.0.0.1:${await listen(sink)}`;
});
afterAll(() => sink.close());

let cwd = "";
let home = "";
const traces = () => (existsSync(join(home, "traces")) ? readdirSync(join(home, "traces")).sort() : []);
const leave = (name: string) =>
  `import { mkdirSync, writeFileSync } from "node:fs"; const at = ${JSON.stringify(join(home, "traces"))};
mkdirSync(at, { recursive: true }); writeFileSync(at + "/${name}", "");\n`;
const write = (name: string, content: unknown) => writeIn(cwd, name, content);
const suite = (more: object = {}) => ({
  name: "moods",
  server: { command: process.execPath, args: ["server.mjs"], cwd: ".." },
  trials: 1,
  cases: [
    { id: "act", input: "Act in a good mood", expect: { tool: "act" } },
    // The test below never asks it: code runs in a thread of the built program.
    { id: "checked", input: "Act in a bad mood", expect: { tool: "act", assert: "check.mjs" } },
  ],
  ...more,
});

const plain = { id: "act", input: "Act", expect: { tool: "act" } };
/** A suite of a tool list, which needs no server. */
const listed = (more: object = {}) => suite({ server: { tools: "../list.json" }, cases: [plain], ...more });

beforeEach(() => {
  received = 0;
  cwd = makeFolder();
  home = makeFolder();
  write("server.mjs", `${leave("server")}await import(${JSON.stringify(sdk)});`);
  write("evals/check.mjs", `${leave("assertion")}export default () => true;`);
  const calls = '[{ tool: "act", arguments: { mood: "good" } }]';
  write("model.mjs", `${leave("model")}export default () => ({ calls: ${calls} });`);
  write("evals/moods.json", suite());
  write("list.json", [{ name: "act", description: "Acts.", inputSchema: { type: "object" } }]);
  write(".mcp.json", { mcpServers: { moods: { command: process.execPath, args: ["server.mjs"] } } });
});

/** What a command line uses and changes: traces, connections, and every file of the folder and beside it. */
const observe = () => ({
  ...{ traces: traces(), received },
  files: [...readdirSync(cwd, { recursive: true }), existsSync(join(cwd, "../elsewhere"))].sort(),
});
const used = { command: process.execPath, args: ["used.mjs"] };

/** Runs a command line as on somebody's machine: nothing is trusted, and there is no terminal unless answers are given. */
async function evals(line: string, { env = {}, answers }: { env?: Io["env"]; answers?: (string | undefined)[] } = {}) {
  const asked: string[] = [];
  const confirm = async (message: string) => {
    asked.push(message);
    const answer = answers?.shift();
    return answer === undefined ? undefined : answer === "yes";
  };
  const io = anIo({
    cwd,
    env: { PATH: process.env.PATH, HOME: home, ANTHROPIC_API_KEY: "sk-secret-of-the-user", ...env },
    isTrusted: false,
    ...(answers && { prompts: { confirm, select: async () => undefined, text: async () => undefined } }),
  });
  const code = await callIn(io, line.split(" "));
  return { code, asked, err: io.warned(), out: io.printed() };
}

/** Every file that the program reads, each of which names a program, a module or an address. */
function writeHostile(kind: (typeof languages)[number]) {
  const settings = {
    ...{ baseUrl: address, model: "anthropic:claude-haiku-5-5", judge: "custom:judge.mjs" },
    ...{ reporter: "custom:reporter.mjs", otlp: address, out: "../elsewhere" },
  };
  if (kind === "json" || kind === "yaml") write(`evals.config.${kind}`, settings);
  else write(`evals.config.${kind}`, `${leave("config")}export default ${JSON.stringify(settings)};`);
  for (const name of ["other", "judge", "reporter", "match", "decoy", "surface"]) write(`${name}.mjs`, leave(name));
  const entry = (name: string) => ({ command: process.execPath, args: [`${name}.mjs`] });
  write("evals/decoys.json", {
    ...suite({ name: "decoys", distractors: [entry("decoy")], surfaces: [{ name: "next", server: entry("surface") }] }),
    cases: [{ input: "Act", expect: { tool: "act", args: { mood: { $custom: "../match.mjs" } } } }],
  });
  for (const file of [".vscode/mcp.json", ".cursor/mcp.json"]) write(file, { servers: { own: entry("other") } });
  write(".claude/skills/one/SKILL.md", "---\nname: one\ndescription: Acts.\n---\nRun `node other.mjs`.\n");
  write(".claude/skills/one/evals/evals.json", { skill_name: "one", evals: [{ prompt: "Act", should_trigger: true }] });
  write("evals/baselines/moods.json", { suite: "moods", server: entry("other") });
  write("variants.yaml", "variants:\n  terse:\n    act: Does it.\n");
  write("promptfooconfig.yaml", "providers: ['file://other.mjs']\nprompts: ['{{q}}']\ntests: [{ vars: { q: Act } }]\n");
}

const languages = ["ts", "mjs", "json", "yaml"] as const;
/** Command lines that use what files name. */
const using = [
  ...["run", "run -m custom:other.mjs", "run --dry-run", "run --nightly", "run --changed", "run --surfaces"],
  ...["variants variants.yaml", "baseline verify", "search", "probe --yes", "probe --config .mcp.json --yes", "doctor"],
  ...["doctor --config .mcp.json", "lint", "lint --judge anthropic:claude-haiku-5-5", "tools evals/moods.json"],
  ...["tools --config .mcp.json", "init", "queries --writer anthropic:claude-haiku-5-5 --yes --accept-all"],
  ...["blame --case act", "improve --writer anthropic:claude-haiku-5-5"],
];
/** Those that do without. */
const others = [
  ...["show", "show --history", "clean --dry-run", "schema suite", "lint --rules", "merge a b", "compare a b"],
  ...["run --help", "import", "judge a.yaml", "login http://127.0.0.1:1/mcp"],
];

it("every command is among them", () => {
  // A server, and a worker of a queue that the command line names: test/torture/view.test.ts, test/e2e/queue.test.ts.
  const tested = ["view", "worker", ...[...using, ...others].map((line) => line.split(" ")[0])];
  expect(commands.map(nameCommand).filter((name) => !tested.includes(name))).toEqual([]);
});

describe.each(languages)("in a folder with a configuration in %s, nothing is used by", (kind) => {
  // Another language is read by other code, and used by the same.
  const isFirst = kind === "mjs" || kind === "json";
  const some = new Set(["run", "doctor", "init", "show"]);
  it.each(using.filter((line) => isFirst || some.has(line)))("%s", async (line) => {
    writeHostile(kind);
    const before = observe();
    const { code, err } = await evals(line);
    expect({ code, ...observe() }).toEqual({ code: 2, ...before });
    expect(err).toContain("Add --trust if you trust them");
  });

  it.each(others.filter((line) => isFirst || some.has(line)))("%s, which needs nothing of it", async (line) => {
    writeHostile(kind);
    const before = observe();
    const { err } = await evals(line);
    expect(observe()).toEqual(before);
    expect(err).not.toContain("--trust");
  });
});

describe("nothing is used of", () => {
  const custom = { $custom: "../used.mjs" };
  const expecting = (more: object) => ({ cases: [{ ...plain, expect: { tool: "act", ...more } }] });
  it.each<[string, object, string, string, object?]>([
    ["otlp", { otlp: "ADDRESS" }, "run -m lexical", "address ADDRESS"],
    ["queue", { queue: "ADDRESS" }, "run -m lexical", "address ADDRESS"],
    ["baseUrl", { baseUrl: "ADDRESS" }, "run -m anthropic:x", "address ADDRESS"],
    ["a reporter", { reporter: "custom:used.mjs" }, "run -m lexical", "code used.mjs"],
    ["a judge", { judge: "custom:used.mjs" }, "run -m lexical", "code used.mjs"],
    ["a folder of records elsewhere", { out: "../elsewhere" }, "run -m lexical", "folder ../elsewhere"],
    ["a folder of baselines elsewhere", { baselines: "../elsewhere" }, "run -m lexical", "folder ../elsewhere"],
    ["distractors", {}, "run -m lexical", `program ${process.execPath} used.mjs`, { distractors: [used] }],
    ["surfaces", {}, "run -m lexical --surfaces", "used.mjs", { surfaces: [{ name: "next", server: used }] }],
    ["a custom model of a suite", {}, "run", "code used.mjs", { model: "custom:used.mjs" }],
    ["a $custom matcher", {}, "run -m lexical", "code ../used.mjs", expecting({ args: { mood: custom } })],
    ["an assertion", {}, "run -m lexical", "code ../used.mjs", expecting({ assert: "../used.mjs" })],
  ])("%s", async (_, settings, line, claim, more) => {
    const filled = (text: string) => text.replaceAll("ADDRESS", address);
    write("used.mjs", leave("used"));
    write("evals/moods.json", listed(more));
    write("evals.config.json", filled(JSON.stringify(settings)));
    const before = observe();
    const { code, err } = await evals(line);
    expect(err).toContain(filled(claim));
    expect({ code, ...observe() }).toEqual({ code: 2, ...before });
  });
});

it("init does not start the program of a package.json", async () => {
  rmSync(join(cwd, ".mcp.json"));
  write("package.json", { bin: "server.mjs", dependencies: { "@modelcontextprotocol/sdk": "1" } });
  const { code, err } = await evals("init");
  expect([code, traces()]).toEqual([2, []]);
  expect(err).toContain("  program node server.mjs (package.json)\n");
});

describe("trust", () => {
  it("is needed for the weights of a local model that a file names", async () => {
    write("evals.config.json", { model: "local:weights.gguf" });
    const { code, err } = await evals("run");
    expect([code, err]).toEqual([2, expect.stringContaining("  program local:weights.gguf (evals.config.json)\n")]);
  });

  const plan = () => `Files name what is used only if you trust it, in ${cwd}:\n`;
  const hint = "Read the files that are named above.";

  it("is asked once with exactly what it is, and kept for the folder and the content", async () => {
    const run = "run --case act -m custom:model.mjs";
    const first = await evals(run, { answers: ["yes"] });
    expect(first.asked).toEqual(["Do you trust all of it?"]);
    expect(first.err).toContain(`${plan()}  program ${process.execPath} server.mjs (evals/moods.json)\n`);
    expect([first.code, traces()]).toEqual([0, ["model", "server"]]);
    expect((await evals(run, { answers: [] })).asked).toEqual([]);
    expect((await evals(run)).code).toBe(0);
    write("evals/check.mjs", "export default () => false;");
    const more = await evals("run -m custom:model.mjs", { answers: ["no"] });
    expect([more.code, more.err]).toEqual([
      ...[2, `${plan()}  code check.mjs (evals/moods.json)\nerror: Nothing of it was used.\n  ${hint}\n`],
    ]);
    const server = { command: process.execPath, args: ["server.mjs", "--more"], cwd: ".." };
    write("evals/moods.json", suite({ server }));
    const { asked, code } = await evals(run, { answers: [undefined] });
    expect([asked.length, code]).toEqual([1, 2]);
  });

  it.each([
    ["the author of a project once, whatever is run first", ["yes"], {}, 1],
    ["CI never", [], { CI: "true" }, 0],
  ])("is asked of %s", async (_, answers, env, times) => {
    writeHostile("json");
    const lines = ["tools --config .mcp.json", "search", "run --surfaces --dry-run"];
    let asked = 0;
    for (const line of lines) asked += (await evals(line, { answers, env })).asked.length;
    expect(asked).toBe(times);
  });

  it("is needed for the servers that a host keeps for the folder, in a file elsewhere", async () => {
    const file = join(home, ".claude.json");
    const mine = { command: process.execPath, args: ["server.mjs"] };
    writeIn(home, ".claude.json", { mcpServers: {}, projects: { [cwd]: { mcpServers: { mine } } } });
    write("evals/moods.json", suite({ server: { config: file, name: "mine" }, cases: [plain] }));
    for (const line of [`tools --config ${file}`, `doctor ${file}`, "run -m lexical"]) {
      const { code, err } = await evals(line);
      expect({ code, traces: traces() }).toEqual({ code: 2, traces: [] });
      expect(err).toContain(`program ${process.execPath} server.mjs`);
    }
    await evals("run -m lexical", { answers: ["yes", "yes"] });
    expect(traces()).toEqual(["server"]);
  });

  it("is not asked again for a server in another file, nor for the program that it names", async () => {
    await evals("tools --config .mcp.json", { answers: ["yes"] });
    write("other.json", { mcpServers: { again: { command: process.execPath, args: ["server.mjs"] } } });
    write("server.mjs", `${leave("edited")}await import(${JSON.stringify(sdk)});`);
    expect((await evals("tools --config other.json", { answers: [] })).asked).toEqual([]);
    expect(traces()).toEqual(["edited", "server"]);
  });

  it("is not asked for the server that init was given, in the suite that init wrote of it", async () => {
    rmSync(join(cwd, "evals"), { recursive: true });
    const io = anIo({ cwd, env: { PATH: process.env.PATH, HOME: home }, isTrusted: false });
    expect(await callIn(io, ["init", `${process.execPath} server.mjs`])).toBe(0);
    expect((await evals("run -m lexical")).err).not.toContain("trusted");
    write(join("evals", readdirSync(join(cwd, "evals"))[0] ?? ""), suite());
    expect((await evals("run -m lexical")).code).toBe(2);
  });

  it.each<[string, string, Io["env"]]>([
    ["the flag", "run --case act --trust -m custom:model.mjs", {}],
    ["CI", "run --case act -m custom:model.mjs", { CI: "true" }],
  ])("is given by %s, and not kept", async (_, line, env) => {
    expect([(await evals(line, { env })).code, traces()]).toEqual([0, ["model", "server"]]);
    expect((await evals("run --case act -m custom:model.mjs")).code).toBe(2);
  });

  it("is not needed for what is on the command line or in the environment", async () => {
    write("evals/moods.json", listed());
    const run = "run -m anthropic:claude-haiku-5-5 --retries 0 -n 1";
    await evals(`${run} --base-url ${address}`);
    expect(received).toBe(1);
    await evals(run, { env: { ANTHROPIC_BASE_URL: address } });
    expect(received).toBe(2);
  });

  it("sends no key to an address of a project file until it is trusted", async () => {
    write("evals/moods.json", listed());
    write("evals.config.json", { baseUrl: address, retries: 0, trials: 1 });
    const run = "run -m anthropic:claude-haiku-5-5";
    const refused = await evals(run);
    expect(refused.err).toContain(`  address ${address} (evals.config.json)\n`);
    expect([refused.code, received]).toEqual([2, 0]);
    await evals(run, { answers: ["yes"] });
    expect(received).toBe(1);
  });

  it.each<[string, object, string, string[]]>([
    ["a suite", { execute: "all" }, "", ["  calls execute: all (evals/moods.json)"]],
    ["a suite by name", { execute: ["act"] }, "", ["  calls execute: act (evals/moods.json)"]],
    ["a suite that executes less than the default", { execute: "never" }, "", []],
    ["a suite whose policy is given", { execute: "all" }, " --execute additive", []],
    ["a suite of a tool list", { execute: "all", server: { tools: "../list.json" } }, "", []],
  ])("is needed for calls that %s permits beside those of read-only tools", async (_, more, flag, claims) => {
    await evals("tools --config .mcp.json", { answers: ["yes"] });
    write("evals/moods.json", suite({ cases: [{ input: "Act", expect: { tool: "act" } }], ...more }));
    const { err } = await evals(`run -m custom:model.mjs${flag}`);
    expect(err.match(/^ {2}calls .*$/gm) ?? []).toEqual(claims);
  });

  it("is needed for what the record names that --resume continues", async () => {
    await evals("run --case act --trust -m custom:model.mjs --max-time 0.000001 -n 3");
    rmSync(join(home, "traces"), { recursive: true, force: true });
    const { code, err } = await evals("run --resume latest");
    expect([code, traces()]).toEqual([2, []]);
    expect(err).toContain("  code model.mjs (");
    expect((await evals("run --resume latest --trust")).code).not.toBe(2);
  });

  it("is needed for each flag of a record that uses code, a program, an address or a folder elsewhere, and for no other", async () => {
    write("evals/moods.json", listed());
    write("used.mjs", leave("used"));
    await evals("run -m lexical --max-time 0.000001 -n 3");
    const [id = ""] = readdirSync(join(cwd, "reports")).filter((name) => name !== "last-result");
    const file = join(cwd, "reports", id, "run.json");
    const written = readFileSync(file, "utf8");
    const claimOf = async (flags: object) => {
      const manifest = JSON.parse(written);
      writeFileSync(file, JSON.stringify({ ...manifest, flags: { ...manifest.flags, retries: 0, ...flags } }));
      const { code, err } = await evals(`run --resume ${id} --out reports`);
      const [, claim] = /^ {2}((?:code|program|address|folder|calls) .*) \(reports\/.*\)$/m.exec(err) ?? [];
      return { claim, code, traces: traces(), received };
    };
    const asked: [object, string][] = [
      [{ model: ["lexical", "custom:used.mjs"] }, "code used.mjs"],
      [{ model: "ai:other/x" }, "code ai:other/x"],
      [{ model: "local:weights.gguf" }, "program local:weights.gguf"],
      [{ judge: "custom:used.mjs" }, "code used.mjs"],
      [{ writer: "custom:used.mjs" }, "code used.mjs"],
      [{ model: "anthropic:x", baseUrl: address }, `address ${address}`],
      [{ judge: "openai:x", baseUrl: address }, `address ${address}`],
      [{ baselines: "../elsewhere" }, "folder ../elsewhere"],
      [{ execute: "all" }, "calls execute: all"],
      [{ execute: ["act", "send"] }, "calls execute: act, send"],
    ];
    for (const [flags, claim] of asked)
      expect(await claimOf(flags), JSON.stringify(flags)).toEqual({ claim, code: 2, traces: [], received: 0 });
    // Data, or no flag that a record has: what else starts or sends something is not read from it.
    const data = {
      ...{ prices: "prices.json", hostDir: ["skills"], host: "plain", execute: "read-only" },
      ...{ reporter: "custom:used.mjs", otlp: address, queue: address, header: [`A=${address}`], out: "../elsewhere" },
    };
    write("prices.json", {});
    write("skills/one/SKILL.md", "---\nname: one\ndescription: Acts.\n---\nAct.\n");
    expect(await claimOf(data)).toEqual({ claim: undefined, code: 0, traces: [], received: 0 });
  });
});
