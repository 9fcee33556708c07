import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Ended, spawnEvals, start, untilPrinted } from "../e2e/evals.ts";
import { makeFolder, writeIn } from "../fakes/folder.ts";
import type { Fault } from "../fixtures/endpoints/endpoint.ts";
import { type MessageAnswer, type MessagesBody, startMessagesEndpoint } from "../fixtures/endpoints/messages.ts";

/** Every way to begin a line, with what a terminal or a CI system would obey there. */
const evil = "K\n::error::X\r##vso[task.x]X\x1b[31m\u2028::error::X\u0085##[error]X\nFORGED \u202ex";
const quoted = JSON.stringify(evil);
const folder = "f\n::error::X##vso[x]\nFORGED";
const dir = makeFolder();
const server = join(dir, "server.mjs");

let endpoint: Awaited<ReturnType<typeof startMessagesEndpoint>>;
let answer: MessageAnswer | Fault | ((body: MessagesBody) => MessageAnswer);
beforeAll(async () => {
  endpoint = await startMessagesEndpoint((body) => (typeof answer === "function" ? answer(body) : answer));
  writeFileSync(
    server,
    `import { createInterface } from "node:readline";
const evil = ${quoted};
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
process.stderr.write(evil + "\\n");
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  const tool = { description: process.argv[2] === "changed" ? evil + " Changed." : evil, annotations: { readOnlyHint: true, title: evil } };
  const inputSchema = { type: "object", properties: { [evil]: { type: "string", description: evil, enum: [evil] } } };
  if (id === undefined) return;
  if (method === "initialize")
    say({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: evil, version: evil }, instructions: evil } });
  else if (method === "tools/list" && process.argv[2] !== "broken")
    say({ id, result: { tools: [{ ...tool, name: "act", inputSchema }, { ...tool, name: evil, inputSchema }] } });
  else if (method === "tools/call")
    say({ id, result: { isError: true, content: [{ type: "text", text: evil }], structuredContent: { [evil]: evil } } });
  else say({ id, error: { code: -32601, message: evil } });
});`,
  );
  const suite = {
    name: evil,
    server: { command: "node", args: [server] },
    maxTurns: 2,
    cases: [{ id: evil, input: evil, expect: { tool: "act", args: { text: evil }, result: { contains: `${evil}!` } } }],
  };
  given(join(folder, "s.json"), suite);
  const skill = `---\nname: ${quoted}\ndescription: ${quoted}\n---\n${evil}\n`;
  given(join("skill", folder, "SKILL.md"), skill);
});
beforeEach(() => {
  answer = { text: evil, calls: [{ name: "act", input: { text: evil, [evil]: evil } }] };
});
afterAll(() => endpoint.close());

/** A file in the folder of the tests, with `evil` in every text. */
const given = (name: string, content: unknown) => writeIn(dir, name, content);

/** What this program writes itself, in the form of a workflow command, with `--format github`. */
const own = /^::(stop-commands::|end-of-tool-evals-report::|(error|warning|notice) (file|title)=)/;

/** Runs a command, and expects that no text from outside begins a line, moves a cursor or commands a CI system. */
async function expectInert(...args: string[]): Promise<void> {
  expectInertTexts(args, await spawnEvals(args, { cwd: dir }));
}

/** The same of a command that must have got as far as its report. */
async function expectInertReport(...args: string[]): Promise<Ended> {
  const ended = await spawnEvals(args, { cwd: dir });
  expect([0, 1, 3], `${JSON.stringify(args)}: ${ended.err}`).toContain(ended.code);
  expectInertTexts(args, ended);
  return ended;
}

function expectInertTexts(args: readonly string[], { out, err }: Pick<Ended, "out" | "err">): void {
  for (const text of [out.replaceAll("\r\n", "\n"), err]) {
    const where = `${JSON.stringify(args)}: ${text.slice(0, 1_000)}`;
    expect(text.replaceAll("\n", ""), where).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\u202e]/u);
    expect(text, where).not.toMatch(/^FORGED|##[a-z]*\[/im);
    const commands = text.split("\n").filter((line) => /^\s*(::|##[a-z]*\[)/i.test(line) && !own.test(line));
    expect(commands, where).toEqual([]);
    expect(text, where).not.toMatch(/Internal error/);
  }
}

const model = () => ["-m", "anthropic:x", "--base-url", endpoint.url, "-n", "1"];
const writer = () => ["--writer", "anthropic:x", "--base-url", endpoint.url, "--yes", "--accept-all"];
const suite = join(folder, "s.json");

describe("no text from outside begins a line of its own", () => {
  it("in runs and what is made of their records", { timeout: 120_000 }, async () => {
    await expectInert("run", suite, "--dry-run");
    await expectInert("run", suite, ...model());
    await expectInert("run", suite, ...model(), "--json");
    for (const form of ["terminal", "markdown", "junit", "github", "csv", "json"])
      await expectInert("show", "--format", form);
    for (const flag of ["--failed", "--history"])
      for (const json of [[], ["--json"]]) await expectInert("show", flag, ...json);
    await expectInert("baseline", "accept", "--force");
    await expectInert("clean", "--keep", "0");
  });

  it("in errors of a provider", async () => {
    answer = { fault: "status", status: 400, message: evil };
    await expectInert("run", suite, ...model());
    await expectInert("queries", suite, ...writer());
  });

  it("in experiments, checks and what is made of their records", { timeout: 600_000 }, async () => {
    const tool = { name: "act", description: evil, inputSchema: { type: "object" }, annotations: { title: evil } };
    const texts = { act: { description: `${evil} Changed.` }, [evil]: { description: evil } };
    const variants = given("v.json", { variants: { [evil]: texts, short: { act: "Acts." } } });
    const foreign = given(
      "foreign.json",
      ["other", `${evil}2`].map((name) => ({ ...tool, name })),
    );
    const few = [...model().slice(0, 4), "--max-requests", "400"];
    await expectInertReport("variants", variants, suite, ...few, "--output", "-");
    const listRecords = () => readdirSync(join(dir, "reports")).filter((name) => /^\d/.test(name));
    const experiment = listRecords().sort().at(-1);
    for (const form of ["terminal", "markdown", "github"])
      await expectInertReport("show", `${experiment}`, "--format", form);
    given("among.json", { ...JSON.parse(readFileSync(join(dir, suite), "utf8")), distractors: [{ tools: foreign }] });
    await expectInertReport("run", "among.json", "-n", "1", "--distractors", "0,2", ...few);
    await expectInertReport("run", suite, ...model(), "--seed", "1");
    await expectInertReport("baseline", "accept", "--force");
    await expectInertReport("baseline", "verify", suite);
    await expectInertReport("run", suite, ...few, "--nightly");
    const changed = JSON.parse(readFileSync(join(dir, suite), "utf8"));
    changed.server.args.push("changed");
    given(suite, changed);
    const before = answer;
    answer = { text: evil, calls: [] };
    await expectInertReport("run", suite, "-n", "5", ...model().slice(0, 4), "--check", "on");
    answer = before;
    const shard = [...model(), "--seed", "1", "--shard", "1/1", "--json"];
    const { out } = await spawnEvals(["run", suite, ...shard], { cwd: dir });
    const isRun = (id: string) =>
      id > `${experiment}` && !("experiment" in JSON.parse(readFileSync(join(dir, "reports", id, "run.json"), "utf8")));
    const [first, second] = listRecords().filter(isRun);
    for (const form of ["terminal", "markdown", "github"])
      await expectInertReport("compare", `${first}`, `${second}`, "--format", form);
    await expectInertReport("merge", `reports/${JSON.parse(out).run}`);
    await expectInertReport("search", suite);
    await expectInertReport("search", suite, "--json");
  });

  it("in what blame finds", { timeout: 600_000 }, async () => {
    const given = (...mode: string[]) => {
      const one = { id: evil, input: evil, expect: { tool: "act" } };
      const server = { command: "node", args: [join(dir, "server.mjs"), ...mode] };
      writeIn(dir, join(folder, "blamed.json"), { name: `${evil} Blamed.`, server, cases: [one] });
    };
    given();
    // The new description of this one tool is what misleads the model.
    answer = ({ tools = [] }) => {
      const isChanged = tools.some(({ name, description }) => name === "act" && `${description}`.includes("Changed."));
      return { text: evil, calls: isChanged ? [] : [{ name: "act", input: { [evil]: evil } }] };
    };
    const blamed = join(folder, "blamed.json");
    const asked = model().slice(0, 4);
    await expectInertReport("run", blamed, "-n", "10", ...asked);
    await expectInertReport("baseline", "accept", "--force");
    given("changed");
    await expectInertReport("run", blamed, ...asked, "--check", "on");
    const { out } = await expectInertReport("blame", ...asked.slice(2));
    expect(out).toMatch(/^BLAMED: act\n/);
    for (const form of ["terminal", "json", "markdown", "github", "junit"])
      await expectInertReport("show", "blame", "--format", form);
  });

  it("in a watch", async () => {
    const args = ["run", suite, ...model(), "--watch"];
    const watch = start(args, { cwd: dir });
    await untilPrinted(watch, "Watching");
    watch.child.kill("SIGTERM");
    expectInertTexts(args, await watch.ended);
  });

  it("in labels, and in what a judge answers", async () => {
    const label = { id: evil, input: evil, transcript: evil, criterion: evil, label: "met" };
    const lines = [label, { ...label, label: "not met" }].map((one) => JSON.stringify(one));
    const labels = given("labels.jsonl", lines.join("\n"));
    const broken = given("broken.jsonl", `${JSON.stringify({ ...label, label: evil, [evil]: evil })}\n${evil}`);
    const asked = ["--judge", "anthropic:x", "--base-url", endpoint.url, "--retries", "0"];
    answer = { text: evil };
    for (const file of [labels, broken]) await expectInert("judge", "check", file, ...asked);
    answer = { text: JSON.stringify({ answers: [{ number: 1, evidence: evil, reason: evil, verdict: "met" }] }) };
    for (const flags of [[], ["--json"], ["--output", join(folder, `${evil}.json`)]]) {
      const { out } = await expectInertReport("judge", "check", labels, ...asked, ...flags);
      expect(out).toContain("K");
    }
  });

  it("in queries that a model writes", async () => {
    answer = { text: JSON.stringify({ queries: [evil, `${evil} Again.`] }) };
    const tools = given("list.json", [{ name: "act", description: evil, inputSchema: { type: "object" } }]);
    await expectInert("init", tools, "--file", "w.yaml");
    await expectInert("queries", "w.yaml", ...writer());
  });

  const required = { name: evil, args: { [evil]: evil }, [evil]: evil };
  const imported: Record<string, [file: string, content: unknown]> = {
    promptfoo: [
      "promptfooconfig.yaml",
      `prompts: [${quoted}]\ntests:\n  - description: ${quoted}\n    assert: [{ type: ${quoted}, value: ${quoted} }]\n`,
    ],
    "prompt-table": [
      "prompts.md",
      `| Tool Name | Test Prompt |\n|---|---|\n${["act", evil].map((tool) => `| ${tool.replaceAll("\n", " ")} | ${evil.replaceAll("\n", " ")} |\n`).join("")}`,
    ],
    vally: [
      "vally.yaml",
      `stimuli:\n  - ${JSON.stringify({ name: evil, prompt: evil, graders: [{ type: evil }, { type: "tool-calls", config: { required: [required] } }], [evil]: evil })}\n`,
    ],
    unknown: ["unknown.yaml", `${quoted}: ${quoted}\n`],
  };
  it.each(Object.entries(imported))("in an import of %s", async (format, [name, content]) => {
    const file = given(join(folder, "import", name), content);
    const tools = given("import-tools.json", [{ name: evil, inputSchema: { type: "object" } }]);
    const from = format === "unknown" ? [] : ["--from", format];
    for (const flags of [[], ["--json"], ["--tools", tools]])
      await (format === "unknown" ? expectInert : expectInertReport)("import", file, "--force", ...from, ...flags);
  });

  it("in lists of skills and of schemas", async () => {
    for (const json of [[], ["--json"]]) await expectInert("tools", "--skills", "skill", ...json);
    await expectInert("schema", evil);
    await expectInert("run", "skill", ...model());
  });

  it("in reports of lint", async () => {
    for (const form of ["terminal", "json", "github", "sarif"])
      await expectInertReport("lint", "skill", suite, "--format", form);
  });

  it("in the summary of a step on GitHub, as Markdown that has no links, images, tags or broken tables", async () => {
    const markup =
      "![x](http://evil.example/x.png) [y](http://evil.example) <img src=x onerror=alert(1)> | a | `b` ``c`` @all #1";
    const one = { id: markup, input: markup, expect: { tool: "act", args: { text: markup } } };
    const tools = given("m.json", [{ name: "act", description: markup, inputSchema: { type: "object" } }]);
    const file = given("markup.json", { name: markup, server: { tools }, cases: [one] });
    answer = { text: markup, calls: [{ name: "act", input: { text: `${markup}.` } }] };
    const summary = join(dir, "summary.md");
    const env = { GITHUB_STEP_SUMMARY: summary };
    await spawnEvals(["run", file, ...model(), "--reporter", "github"], { cwd: dir, env });
    const text = readFileSync(summary, "utf8");
    // Without code, in which nothing is markup.
    const prose = text.replace(/<code>.*?<\/code>/g, "").replace(/(`+)[^\n]*?\1/g, "");
    expect(text).toContain("evil");
    expect(prose).not.toMatch(/:\/\/|!\[|\]\(|<img|@all/);
    const tables = prose.split("\n").filter((line) => line.startsWith("|"));
    for (const [at, row] of tables.entries())
      if (/^\|[ :|-]+$/.test(row)) expect(tables[at - 1]?.split("|").length).toBe(row.split("|").length);
  });

  it.each(["lint", "lint --json", "lint --format github", "probe", "doctor", "doctor --json", "tools", "tools --json"])(
    "in %s of a server",
    async (words) => {
      for (const mode of ["works", "broken"])
        await expectInert(...words.split(" "), "--server", `node ${server} ${mode}`);
    },
  );

  it.each([
    ...["run --case", "run", "run --resume", "show", "show --format", "compare x", "baseline", "import", "--"],
    ...["lint --rule", "tools --skills", "variants", "blame", "compare", "merge", "judge check --judge anthropic:x"],
    ...["init", "search", "baseline verify", "schema", "show --history --suite", "clean --keep", "init --file"],
    ...["run --out", "run -m", "run --judge", "run --prices", "run --reporter", "tools --config"],
  ])("where it is given to %s", async (words) => {
    await expectInert(...words.split(" "), evil);
  });
});
