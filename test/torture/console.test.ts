import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { evals } from "../e2e/evals.ts";
import type { Fault } from "../fixtures/endpoints/endpoint.ts";
import { type MessageAnswer, startMessagesEndpoint } from "../fixtures/endpoints/messages.ts";

/** Every way to begin a line, with what a terminal or a CI system would obey there. */
const evil = "K\n::error::X\r##vso[task.x]X\x1b[31m\u2028::error::X\u0085##[error]X\nFORGED \u202ex";
const folder = "f\n::error::X##vso[x]\nFORGED";
const dir = mkdtempSync(join(tmpdir(), "evals-console-"));
const server = join(dir, "server.mjs");

let endpoint: Awaited<ReturnType<typeof startMessagesEndpoint>>;
let answer: MessageAnswer | Fault;
beforeAll(async () => {
  endpoint = await startMessagesEndpoint(() => answer);
  writeFileSync(
    server,
    `import { createInterface } from "node:readline";
const evil = ${JSON.stringify(evil)};
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
process.stderr.write(evil + "\\n");
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  const tool = { description: evil, annotations: { readOnlyHint: true, title: evil } };
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
  mkdirSync(join(dir, folder));
  const suite = {
    name: evil,
    server: { command: "node", args: [server] },
    maxTurns: 2,
    cases: [{ id: evil, input: evil, expect: { tool: "act", args: { text: evil }, result: { contains: `${evil}!` } } }],
  };
  writeFileSync(join(dir, folder, "s.json"), JSON.stringify(suite));
  mkdirSync(join(dir, "skill", folder), { recursive: true });
  const skill = `---\nname: ${JSON.stringify(evil)}\ndescription: ${JSON.stringify(evil)}\n---\n${evil}\n`;
  writeFileSync(join(dir, "skill", folder, "SKILL.md"), skill);
  const prompts = `prompts: [${JSON.stringify(evil)}]\ntests:\n  - assert: [{ type: ${JSON.stringify(evil)} }]\n`;
  writeFileSync(join(dir, folder, "promptfoo.yaml"), prompts);
  answer = { text: evil, calls: [{ name: "act", input: { text: evil, [evil]: evil } }] };
});
afterAll(async () => {
  await endpoint.close();
  rmSync(dir, { recursive: true, force: true });
});

/** What this program writes itself, in the form of a workflow command, with `--as github`. */
const own = /^::(stop-commands::|end-of-tool-evals-report::|(error|warning|notice) (file|title)=)/;

/** Runs a command, and expects that no text from outside begins a line, moves a cursor or commands a CI system. */
async function expectInert(...args: string[]): Promise<void> {
  const { out, err } = await evals(args, { cwd: dir });
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
const suite = join(folder, "s.json");

describe("no text from outside begins a line of its own", () => {
  it("in runs and what is made of their records", { timeout: 120_000 }, async () => {
    await expectInert("run", suite, "--dry-run");
    await expectInert("run", suite, ...model());
    await expectInert("run", suite, ...model(), "--json");
    for (const form of ["terminal", "markdown", "junit", "github", "csv", "json"])
      await expectInert("report", "--as", form);
    for (const args of [
      ["show"],
      ["show", "--json"],
      ["history"],
      ["history", "--json"],
      ["baseline", "accept", "--force"],
    ])
      await expectInert(...args);
    await expectInert("clean", "--keep", "0");
  });

  it("in errors of a provider", async () => {
    const before = answer;
    answer = { fault: "status", status: 400, message: evil };
    await expectInert("run", suite, ...model());
    await expectInert("try", "--server", `node ${server}`, "--yes", ...model().slice(0, 4));
    answer = before;
  });

  it.each(["lint", "lint --json", "lint --as github", "probe", "doctor", "doctor --json", "tools", "tools --json"])(
    "in %s of a server",
    async (words) => {
      for (const mode of ["works", "broken"])
        await expectInert(...words.split(" "), "--server", `node ${server} ${mode}`);
    },
  );

  it("in skills and imports", async () => {
    await expectInert("lint", "skill");
    await expectInert("run", "skill", ...model());
    await expectInert("import", join(folder, "promptfoo.yaml"));
  });

  it.each([
    "run --case",
    "run",
    "run --resume",
    "report",
    "report --as",
    "show",
    "compare x",
    "baseline",
    "import",
    "--",
    "lint --rule",
    "skills",
    "variants",
    "crowd",
  ])("where it is given to %s", async (words) => {
    await expectInert(...words.split(" "), evil);
  });
});
