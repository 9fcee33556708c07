import { execFile } from "node:child_process";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { beforeEach, expect, it } from "vitest";
import { makeFolder } from "../fakes/folder.ts";
import { writeActSuite } from "../fixtures/actSuite.ts";
import { startMessageBatches } from "../fixtures/endpoints/batches.ts";
import { startMessagesEndpoint } from "../fixtures/endpoints/messages.ts";
import { noRedis, startRedis } from "../fixtures/redis.ts";
import { spawnEvals, start, summaryOf, untilPrinted } from "./evals.ts";

// One of each kind of test that runs nightly (vitest.config.ts). A run that is killed: run.test.ts.

const hook = pathToFileURL(join(import.meta.dirname, "../fixtures/crash.mjs")).href;
const hostile = join(import.meta.dirname, "../fixtures/servers/hostile.mjs");
const key = "sk-ant-canary-4821";

let cwd: string;
let endpoint: Awaited<ReturnType<typeof startMessagesEndpoint>>;
beforeEach(async () => {
  cwd = makeFolder();
  writeActSuite(cwd, 4, { maxTurns: 1 });
  endpoint = await startMessagesEndpoint((_, index) => ({
    text: JSON.stringify(endpoint.requests[index]?.headers),
    calls: [{ name: "act", id: "call", input: {} }],
  }));
});

const args = () => `run suite.json -m anthropic:x --base-url ${endpoint.url} -n 1 -c 1 --json`.split(" ");
const faulty = (at: number, fault = "") => ({
  NODE_OPTIONS: `--import=${hook}`,
  EVALS_CRASH_AT: String(at),
  EVALS_FAULT: fault,
});

it("a full disk ends a run with the path and the cause", async () => {
  const { code, err } = await spawnEvals(args(), { cwd, env: faulty(12, "ENOSPC") });
  expect(code).toBe(3);
  expect(err).toMatch(/error: \S+ cannot be written: ENOSPC: \w+\.\n {2}Free space/);
  expect(err).not.toMatch(/Internal error|\n\s+at /);
});

it("a key that a provider repeats is in no output and in no file", async () => {
  const { code, out, err } = await spawnEvals(args(), { cwd, env: { ANTHROPIC_API_KEY: key } });
  expect(code, err).toBe(0);
  const files = readdirSync(join(cwd, "reports"), { recursive: true, encoding: "utf8" })
    .map((file) => join(cwd, "reports", file))
    .filter((file) => statSync(file).isFile());
  const texts = [out, err, ...files.map((file) => readFileSync(file, "utf8"))];
  expect(texts.join("")).not.toContain(key);
  expect(texts.join("")).toContain("[redacted: ANTHROPIC_API_KEY]");
});

it("a server whose result has 9 MB is probed to the end", async () => {
  const { code, out, err } = await spawnEvals(["probe", "--server", `node ${hostile} large-error`, "--json"], { cwd });
  expect(code, err).toBeOneOf([0, 1]);
  expect(out.length).toBeLessThan(1_000_000);
});

it.skipIf(noRedis)(
  "a worker runs the trials of a run over a queue, with a key that the run does not have",
  async () => {
    const redis = await startRedis();
    const worker = start(["worker", redis.url, "suite.json", "--base-url", endpoint.url], {
      cwd,
      env: { ANTHROPIC_API_KEY: key },
    });
    await untilPrinted(worker, "takes trials");
    const ended = await spawnEvals([...args(), "--queue", redis.url], { cwd, env: { ANTHROPIC_API_KEY: "" } });
    expect(ended.code, ended.err).toBe(0);
    expect(summaryOf(ended).totals).toMatchObject({ trials: 4, passed: 4 });
    worker.child.kill("SIGTERM");
    expect((await worker.ended).code).toBe(143);
  },
);

it("--watch asks again what an edit touches, and ends on Ctrl-C", async () => {
  const watch = start(["run", "suite.json", "-m", "lexical", "--watch"], { cwd });
  await untilPrinted(watch, "Watching ");
  const edited = JSON.parse(readFileSync(join(cwd, "suite.json"), "utf8"));
  edited.cases[1].input = "Act as one.";
  writeFileSync(join(cwd, "suite.json"), JSON.stringify(edited));
  await untilPrinted(watch, "Watching ");
  watch.child.kill("SIGINT");
  const { code, err } = await watch.ended;
  expect(code, err).toBe(0);
  expect(err).toContain("Changed: suite.json\n");
  expect(err).toContain("Stopped watching after 2 runs.");
});

it("requests of a run go out as a batch once one has been answered alone", async () => {
  const batches = await startMessageBatches({ answer: () => ({ text: "ok", calls: [{ name: "act", input: {} }] }) });
  const flags = [...args().filter((word) => word !== endpoint.url && word !== "--base-url"), "--batch"];
  const ended = await spawnEvals([...flags, "--base-url", batches.url], { cwd });
  expect(ended.code, ended.err).toBe(0);
  expect(summaryOf(ended).totals).toMatchObject({ trials: 4, passed: 4 });
  expect(batches.paid).toEqual({ plain: 1, batched: 3 });
});

it("the verdicts err as rarely as promised on simulated models, one row of each decision", async () => {
  const rows = [
    ...["nothing changed, 1 tool: M_MIX10", "must reach: one of ten .95 -> .6", "6 orders, same answers, known"],
    ...["interval after stopping", "false alarms over 90 nights: M_FLAKY8", "blame: one case: single, 2 descriptions"],
    ...["variants: V_GOOD8: fix, 1", "two finished records"],
  ];
  const args = ["bench/decisions.mjs", "--quick", ...rows.flatMap((row) => ["--row", row])];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: join(import.meta.dirname, "../..") });
  expect(stdout).toContain("All targets are met.");
  for (const group of ["must reach", "drift", "blame", "variants"]) expect(stdout).toContain(group);
});
