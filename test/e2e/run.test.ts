import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeFolder } from "../fakes/folder.ts";
import { startMessagesEndpoint } from "../fixtures/endpoints/messages.ts";
import { evals, executing, spawnEvals, start, summaryOf, timeless, trialsOf, workspace } from "./evals.ts";

const dir = workspace();
const run = (line: string, env: Record<string, string> = {}) => evals(["run", ...line.split(" ")], { cwd: dir, env });

/** Runs a command line on an endpoint that answers like this. */
async function ask(script: Parameters<typeof startMessagesEndpoint>[0], line: string) {
  const { url, requests } = await startMessagesEndpoint(script);
  const ended = await run(`${line} -m anthropic:claude-sonnet-5-5 --base-url ${url} --json`);
  return { ...ended, ...summaryOf(ended), requests };
}
const echo = { calls: [{ name: "echo", input: { text: "hello" } }] };

describe("evals run on real servers", () => {
  it("passes the quickstart without a key or a network", async () => {
    const { code, out, err } = await run("evals/quickstart.yaml");
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatch(/^SMOKE CHECK · a keyword search picks the right tool in 5 of 5 cases/);
    expect(out).toContain("No language model was asked");
    const keyed = await run("evals/quickstart.yaml", { ANTHROPIC_API_KEY: "", OPENAI_API_KEY: "x" });
    expect(keyed.out).toMatch(/Next: ask a language\s+model with `evals run \S+ -m\s+openai:/);
  });

  it("executes real calls on the filesystem server, and the record shows what came back", async () => {
    const ended = await run(`evals/filesystem.yaml --json -m ${executing}`);
    const summary = summaryOf(ended);
    expect(summary.totals).toMatchObject({ trials: 10, broken: 0, missing: 0 });
    expect(summary.exitCode).toBe(ended.code);
    const trials = trialsOf(summary.dir);
    const [read] = trials.find(({ cell }) => cell.case === "read-several")?.turns[0]?.calls ?? [];
    expect(read?.execution).toMatchObject({ status: "executed", result: { isError: false } });
    expect(JSON.stringify(read?.execution)).toContain("Met Ingrid at the harbour.");
    const [moved] = trials.find(({ cell }) => cell.case === "rename")?.turns[0]?.calls ?? [];
    expect(moved?.execution).toEqual({
      status: "skipped",
      denied: true,
      reason: "move_file is not annotated read-only (execute: read-only)",
    });
    expect(readdirSync(join(dir, "evals/sandbox"))).toContain("notes.txt");
  });

  it("writes every report beside the record, and prints the same again from the record alone", async () => {
    const ended = await run("evals/evals.json --json");
    const summary = summaryOf(ended);
    expect(readdirSync(summary.dir).sort()).toEqual(
      "junit.xml lock report.html run.json summary.md trials.jsonl".split(" "),
    );
    const again = await evals(["show", summary.dir, "--format", "json"], { cwd: dir });
    expect(JSON.parse(again.out)).toEqual(JSON.parse(ended.out));
  });
});

describe("evals run against a Messages endpoint", () => {
  it("asks several trials of several turns, hands real results back, and counts tokens and dollars", async () => {
    const { suites, totals, requests, code } = await ask(
      ({ messages }) => (messages.length > 1 ? { text: "done" } : echo),
      "evals/quickstart.yaml -n 3 --max-turns 2",
    );
    expect(suites[0]?.cases[0]).toMatchObject({ trials: 3, passed: 3, ok: true });
    expect(suites[0]?.confusion).toEqual([{ expected: "(none)", picked: "echo", n: 9 }]);
    expect(totals.calls).toBe(30);
    expect(totals.costUsd).toBeGreaterThan(0);
    expect(JSON.stringify(requests.at(-1)?.body.messages)).toContain("Echo: hello");
    expect(code).toBe(1);
  });

  it("gives the same record when it is killed and resumed as when it is not", async () => {
    const answer = (body: { messages: { content: unknown }[] }) => ({
      calls: [{ name: "echo", id: "call", input: { text: JSON.stringify(body.messages[0]?.content) } }],
    });
    const line = "evals/quickstart.yaml -m anthropic:x -n 40 --seed 11 -c 2 --json --base-url";

    const whole = await startMessagesEndpoint(answer);
    const uninterrupted = summaryOf(await run(`${line} ${whole.url}`));

    let victim: ReturnType<typeof start> | undefined;
    const endpoint = await startMessagesEndpoint((body, index) => {
      if (index === 60) victim?.child.kill("SIGKILL");
      return answer(body);
    });
    victim = start(`run ${line} ${endpoint.url} --out killed`.split(" "), { cwd: dir });
    await victim.ended;
    await expect.poll(endpoint.countConnections).toBe(0);
    const [id = ""] = readdirSync(join(dir, "killed"));
    const asked = endpoint.requests.length;
    const before = trialsOf(join(dir, "killed", id)).length;
    expect(before).toBeLessThan(200);
    const resumed = summaryOf(await run(`--resume ${id} --out killed --json`));

    expect(endpoint.requests.length - asked).toBe(200 - before);
    expect(trialsOf(resumed.dir).map(timeless)).toEqual(trialsOf(uninterrupted.dir).map(timeless));
    expect(resumed.totals).toEqual(uninterrupted.totals);
    const untimed = ({ suites }: typeof resumed) => suites[0]?.cases.map(({ ms: _, ...one }) => one);
    expect(untimed(resumed)).toEqual(untimed(uninterrupted));
  });

  it("names itself in next steps as a package manager started it", async () => {
    const cwd = makeFolder();
    const { err } = await spawnEvals(["run"], { cwd, env: { npm_command: "exec" } });
    expect(err).toContain("with `npx tool-evals init`;");
    mkdirSync(join(cwd, "node_modules/tool-evals"), { recursive: true });
    expect((await spawnEvals(["run"], { cwd, env: { npm_command: "exec" } })).err).toContain("with `npx evals init`;");
  });

  it("gives every trial its own process when the suite says so", async () => {
    const server = { command: "node", args: [join(import.meta.dirname, "../fixtures/servers/moody.mjs")] };
    const cases = [{ id: "well", input: "well", expect: { tool: "act" } }];
    writeFileSync(join(dir, "moody.json"), JSON.stringify({ name: "moody", isolate: "trial", server, cases }));
    const ended = await ask(() => ({ calls: [{ name: "act", input: { mood: "well" } }] }), "moody.json -n 3");
    const results = trialsOf(ended.dir).map((trial) => JSON.stringify(trial.turns[0]?.calls[0]?.execution));
    expect(new Set(results.map((result) => /in process (\d+)/.exec(result)?.[1])).size).toBe(3);
  });
});

describe("bad input", () => {
  it("refuses a budget for a model without a price", async () => {
    const { code, err } = await run("evals/quickstart.yaml -m anthropic:unpriced --budget 1");
    const message =
      "--budget cannot be kept: the price of anthropic:unpriced is unknown.\n  Give its price with --prices.";
    expect([code, err]).toEqual([2, `error: ${message}\n`]);
  });
});
