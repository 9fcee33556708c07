import { beforeEach, describe, expect, it } from "vitest";
import { spawnEvals, summaryOf } from "../e2e/evals.ts";
import { makeFolder } from "../fakes/folder.ts";
import { writeActSuite } from "../fixtures/actSuite.ts";
import type { Fault } from "../fixtures/endpoints/endpoint.ts";
import { type MessageAnswer, startMessagesEndpoint } from "../fixtures/endpoints/messages.ts";
import { reservePort } from "../fixtures/ports.ts";

const cases = 200;
const dir = makeFolder();
writeActSuite(dir, cases);

let endpoint: Awaited<ReturnType<typeof startMessagesEndpoint>>;
let answer: (index: number) => MessageAnswer | Fault;
const right = { calls: [{ name: "act", input: {} }] };
beforeEach(async () => {
  answer = () => right;
  endpoint = await startMessagesEndpoint((_, index) => answer(index));
});

const model = "anthropic:claude-haiku-5-5";
const runOn = (url: string, ...flags: string[]) =>
  spawnEvals(
    [
      "run",
      "suite.json",
      "-m",
      model,
      "--base-url",
      url,
      "--json",
      ...(flags.includes("-n") ? [] : ["-n", "1"]),
      ...flags,
    ],
    { cwd: dir },
  );
const run = (...flags: string[]) => runOn(endpoint.url, ...flags);
const resume = (id: string, ...flags: string[]) =>
  spawnEvals(["run", "--resume", id, "--json", ...flags], { cwd: dir });

describe("a provider that answers nothing", () => {
  const always = [400, 401, 402, 403, 404, 422, 301];
  it.each(always)("but %i is asked once; the rest is not started, and is asked on --resume", async (status) => {
    answer = () => ({ fault: "status", status, message: "refused" });
    const ended = await run("-c", "50");
    expect(endpoint.requests.length).toBeLessThanOrEqual(1);
    expect(ended.code).toBe(3);
    const { totals, run: id } = summaryOf(ended);
    expect(totals).toMatchObject({ trials: cases, broken: 1, missing: cases - 1, calls: 0 });
    expect(ended.err).toMatch(
      new RegExp(
        `^anthropic:claude-haiku-5-5 was stopped: ${status}:? .*: 199 trials are missing\\. Resume with: \`evals run --resume ${id}\`$`,
        "m",
      ),
    );

    answer = () => right;
    const resumed = await resume(id);
    expect(resumed.err).toContain("Asking again 1 trial that broke when the run was stopped.");
    expect(summaryOf(resumed).totals).toMatchObject({ passed: cases, broken: 0, missing: 0 });
    expect(resumed.code).toBe(0);
  });

  it("any more, but rejects every case with the same 400, is stopped after five; --resume asks the rest", async () => {
    const message = "Your credit balance is too low to access the API.";
    answer = (index) => (index < 20 ? right : { fault: "status", status: 400, message });
    const ended = await run("-c", "4");
    expect(endpoint.requests.length).toBeLessThanOrEqual(20 + 5 + 8);
    expect(ended.err).toContain(`was stopped: 400 invalid_request_error: ${message}`);
    const { totals, run: id } = summaryOf(ended);
    expect(totals.passed).toBe(20);
    expect(totals.missing).toBeGreaterThanOrEqual(cases - 20 - 5 - 8);

    answer = () => right;
    const resumed = await resume(id, "--retry-broken");
    expect(summaryOf(resumed).totals).toMatchObject({ passed: cases, broken: 0, missing: 0 });
  });

  it.each([
    ["names the tools of the request", "-n 1", "tools.0.custom.input_schema: JSON schema is invalid"],
    ["names a function", "-n 1", "Invalid schema for function 'act': array schema missing items."],
    ["names the prompt", "-n 1", "The prompt was flagged as potentially violating our usage policy."],
    ["is of one case only", "-n 20 --case c100 --case c101", "This input is not allowed."],
  ])("to some cases is asked on when their error %s", async (_, more, message) => {
    answer = (index) => (index % 40 > 0 ? { fault: "status", status: 400, message } : right);
    const ended = await run("-c", "1", ...more.split(" "));
    expect(summaryOf(ended).totals).toMatchObject({ missing: 0 });
    expect(ended.err).not.toContain("was stopped");
  });

  it("until tomorrow is stopped with the wait that it asks for, and the rest is asked on --resume", async () => {
    const headers = { "retry-after": "43200" };
    answer = (index) => (index < 20 ? right : { fault: "status", status: 429, headers });
    const ended = await run("-c", "4");
    expect(ended.code).toBe(3);
    expect(ended.err).toMatch(/was stopped: 429 .*; it asks to wait 720 minutes: \d+ trials are missing/);
    expect(endpoint.requests.length).toBeLessThanOrEqual(20 + 4);
    answer = () => right;
    const resumed = await resume(summaryOf(ended).run);
    expect(summaryOf(resumed).totals).toMatchObject({ passed: cases, broken: 0, missing: 0 });
  });

  it.each<[string, MessageAnswer | Fault]>([
    ["but 529", { fault: "status", status: 529, headers: { "retry-after-ms": "1" } }],
    ["that can be used", { ...right, stopReason: "unheard_of" }],
  ])("%s is asked a bounded number of times", async (_, given) => {
    answer = () => given;
    const ended = await run("-c", "20", "--retries", "1");
    expect(endpoint.requests.length).toBeLessThanOrEqual(20 + 16);
    expect(ended.err).toContain("was stopped: ");
    expect(summaryOf(ended).totals.missing).toBeGreaterThan(cases - 40);
  });

  it("because nothing listens is given up after a bounded number of connections", async () => {
    const { port, release } = await reservePort();
    const ended = await runOn(`http://127.0.0.1:${port}`, "-c", "20", "--retries", "1");
    release();
    expect(ended.err).toContain("was stopped: the connection failed: connect ECONNREFUSED");
    expect(summaryOf(ended).totals.missing).toBeGreaterThan(cases - 40);
  });
});

describe("limits of a run", () => {
  it.each([
    ["no", { input_tokens: null, output_tokens: null }],
    ["negative", { input_tokens: -1_000_000, output_tokens: -1_000_000 }],
  ])("a budget is kept with a service that reports %s usage", async (_, usage) => {
    answer = () => ({ ...right, usage: usage as unknown as Record<string, number> });
    const ended = await run("--budget", "0.02");
    expect(ended.err).toContain("The budget of $0.02 is spent: ");
    expect(endpoint.requests.length).toBeLessThan(20);
    expect(summaryOf(ended).totals).toMatchObject({ broken: 0, costUsd: 0, inputTokens: 0, outputTokens: 0 });
    const asked = endpoint.requests.length;
    const resumed = await resume(summaryOf(ended).run, "--budget", "0.02");
    expect(resumed.err).toContain("The budget of $0.02 is spent: ");
    expect(endpoint.requests.length).toBe(asked);
  });
});
