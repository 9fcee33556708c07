import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { writeIn } from "../../fakes/folder.ts";
import type { Endpoint } from "../../fixtures/endpoints/endpoint.ts";
import { startMessagesEndpoint } from "../../fixtures/endpoints/messages.ts";
import { startResponsesEndpoint } from "../../fixtures/endpoints/responses.ts";
import { evals, summaryOf, trialsOf } from "../evals.ts";
import { needsHost, tidyFolders } from "./support.ts";

// What a model in a real host gets for a call: the result of the server, a mock, or the text of a denial.
const programs = { "claude-code": needsHost("claude-code"), codex: needsHost("codex") };
const at = tidyFolders();
const server = { command: "node", args: [join(import.meta.dirname, "../../fixtures/servers/sdk1.mjs")] };
const firm = "{tool} is switched off for now ({reason}). Do not call it again.";

type Reply = { text?: string; calls?: { name: string; input: object }[] };

/**
 * A model that asks for an echo, and again as long as it is not told to stop. `outputs`: what it got so far; `plays` are
 * further calls of its first reply.
 */
function echoing(tools: readonly string[], outputs: readonly string[]): Reply {
  const echo = tools.find((name) => /(^|__)echo$/.test(name)) ?? "mcp__sdk1__echo";
  const last = outputs.at(-1);
  if (last === undefined) return { calls: [{ name: echo, input: { text: "hi" } }] };
  const isOver = /Echo: |Do not call it again|mocked|no mock/.test(last);
  return isOver || outputs.length > 2 ? { text: "Done." } : { calls: [{ name: echo, input: { text: "hi" } }] };
}

const texts = (value: unknown): string => {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(texts).join("\n");
  return typeof value === "object" && value !== null && "text" in value ? String(value.text) : "";
};

type Started = { endpoint: Endpoint<object>; flags: string[]; env: Record<string, string> };
const hosts: Record<keyof typeof programs, () => Promise<Started>> = {
  "claude-code": async () => {
    const endpoint = await startMessagesEndpoint(({ tools = [], messages }) => {
      const blocks = messages.flatMap(({ content }) => (typeof content === "string" ? [] : content));
      const outputs = blocks.filter(({ type }) => type === "tool_result").map(({ content }) => texts(content));
      const names = tools.map(({ name }) => name);
      return echoing(names, outputs);
    });
    const flags = ["-m", "claude-code:claude-sonnet-5-5", "--base-url", endpoint.url];
    return { endpoint, flags, env: { CLAUDE_CODE_PATH: programs["claude-code"]() } };
  },
  codex: async () => {
    const endpoint = await startResponsesEndpoint(({ tools = [], input }) => {
      const outputs = input.filter(({ type }) => type === "function_call_output").map(({ output }) => texts(output));
      const names = tools.flatMap((tool) => [tool, ...(tool.tools ?? [])]).flatMap(({ name }) => name ?? []);
      const own = names.filter((name) => /^mcp__.*echo$/.test(name));
      return echoing(own, outputs);
    });
    const env = { CODEX_PATH: programs.codex(), OPENAI_API_KEY: "secret" };
    return { endpoint, flags: ["-m", "codex:gpt-6.1-sol", "--base-url", `${endpoint.url}/v1`], env };
  },
};

async function ask(name: keyof typeof programs, folder: string, suite: object, ...more: string[]) {
  const dir = at(folder);
  const one = { id: "echo", input: "Say hi through the echo.", expect: { tool: "echo" }, maxTurns: 4 };
  writeIn(dir, "evals/echo.json", { server, trials: 1, cases: [one], ...suite });
  const { endpoint, flags, env } = await hosts[name]();
  const ended = await evals(["run", ...flags, "--exposure", "all", "--seed", "1", ...more, "--json"], {
    cwd: dir,
    env,
  });
  // Beside which tools are executed, nothing is said.
  const said = ended.err.replace(/^Calls of these tools are executed: .*\n/, "");
  expect([ended.code, said]).toEqual([0, ""]);
  const summary = summaryOf(ended);
  const [trial] = trialsOf(summary.dir);
  const calls = trial?.turns.flatMap((turn) => turn.calls) ?? [];
  const report = await evals(["show"], { cwd: dir });
  return { suite: summary.suites[0], calls, report: report.out, requests: endpoint.requests.map(({ body }) => body) };
}

/** What of a request decides the reply, without ids, times and folders, which differ from trial to trial. */
const readPrompt = (body: object | undefined) =>
  JSON.stringify(body, (key, value) => (/metadata|prompt_cache_key|^id$/.test(key) ? undefined : value)).replaceAll(
    /evals-host-\w+/g,
    "folder",
  );

describe.each(["claude-code", "codex"] as const)("a call in %s", (name) => {
  it("that is denied gets the text of the suite, and what follows is counted", async () => {
    const plain = await ask(name, `${name}-plain`, { execute: "never" });
    expect(plain.calls.map(({ tool }) => tool)).toEqual(["echo", "echo", "echo"]);
    expect(plain.calls[0]?.execution).toEqual({
      status: "skipped",
      reason: "no call is executed (execute: never)",
      denied: true,
    });
    expect(plain.suite?.denials).toEqual({
      ...{ calls: 3, trials: 1, retries: 2 },
      next: { sameCall: 1, otherArguments: 0, otherTool: 0, noCall: 0, ended: 0 },
    });
    expect(plain.report).toContain("Denied calls: 3 calls in 1 trial, 2 retries; then the same call 1/1 (100%)");

    const worded = await ask(name, `${name}-worded`, { execute: "never", denial: firm });
    const text = "echo is switched off for now (no call is executed (execute: never)). Do not call it again.";
    expect(worded.calls.map(({ execution }) => execution)).toMatchObject([{ status: "skipped", text }]);
    expect(JSON.stringify(worded.requests.at(-1))).toContain(text);
    expect(worded.suite?.denials).toMatchObject({ calls: 1, retries: 0, next: { noCall: 1 }, text: firm });
    expect(worded.report.replace(/\s+/g, " ")).toContain(`the model was told: ${firm}`);

    // Up to the first result nothing differs from letting calls run.
    const run = await ask(name, `${name}-run`, { execute: "all" });
    expect(run.calls.map(({ execution }) => execution?.status)).toEqual(["executed"]);
    expect(run.suite?.denials).toBeUndefined();
    expect(readPrompt(run.requests[0]) === readPrompt(plain.requests[0]), "the first request").toBe(true);
    expect(readPrompt(worded.requests[0]) === readPrompt(plain.requests[0]), "the first request").toBe(true);
  });

  it("gets the result of a mock, or why none matches", async () => {
    const mocked = await ask(name, `${name}-mock`, {
      mocks: { echo: { args: { text: "hi" }, result: "It is mocked." } },
    });
    expect(mocked.calls.map(({ execution }) => execution)).toMatchObject([
      { status: "executed", mock: "echo", result: { isError: false, content: [{ text: "It is mocked." }] } },
    ]);
    expect(JSON.stringify(mocked.requests.at(-1))).toContain("It is mocked.");
    expect(mocked.suite?.mocks).toEqual({ answered: 1, unused: [], unmatched: [] });
    const other = await ask(name, `${name}-unmatched`, { mocks: { echo: { args: { text: "no" }, result: "mocked" } } });
    const why = "no mock of echo matches these arguments (unmatched: error)";
    expect(other.calls.map(({ execution }) => execution)).toEqual([
      { status: "skipped", reason: why, unmatched: true },
    ]);
    expect(JSON.stringify(other.requests.at(-1))).toContain(`This call was not executed: ${why}`);
    expect(other.suite?.mocks).toMatchObject({ answered: 0, unused: ["echo"], unmatched: [{ text: why, n: 1 }] });
  });
});
