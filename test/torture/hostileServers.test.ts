import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { spawnEvals, start, summaryOf, trialsOf } from "../e2e/evals.ts";
import { makeFolder } from "../fakes/folder.ts";
import type { Fault } from "../fixtures/endpoints/endpoint.ts";
import { type MessageAnswer, startMessagesEndpoint } from "../fixtures/endpoints/messages.ts";
import { readPeakMiB } from "./memory.ts";
import { evilText } from "./schemas.ts";

const dir = makeFolder();
const server = join(import.meta.dirname, "../fixtures/servers/hostile.mjs");

/** A suite on a hostile server, and one on a server that does no harm. */
function writeSuites(harm: string): void {
  const suite = (name: string, mode: string, expectation: string) =>
    `name: ${name}\nserver: { command: node, args: [${JSON.stringify(server)}, ${mode}] }\n` +
    `cases:\n  - { id: one, input: Act., expect: ${expectation} }\n  - { id: two, input: Act again., expect: ${expectation} }\n`;
  writeFileSync(join(dir, "hostile.yaml"), suite("hostile", harm, "{ tool: act, args: { text: { $any: true } } }"));
  writeFileSync(join(dir, "harmless.yaml"), suite("harmless", "none", "{ tool: act, result: { contains: done } }"));
}

let endpoint: Awaited<ReturnType<typeof startMessagesEndpoint>>;
let answer: () => MessageAnswer | Fault;
beforeEach(async () => {
  answer = () => ({ calls: [{ name: "act", input: { text: evilText } }] });
  endpoint = await startMessagesEndpoint(() => answer());
});

async function run(harm: string, trials = 2) {
  writeSuites(harm);
  const flags = ["-m", "anthropic:x", "--base-url", endpoint.url, "-n", String(trials), "--json"];
  const ended = await spawnEvals(["run", "hostile.yaml", "harmless.yaml", ...flags], { cwd: dir });
  expect(ended.err).not.toContain("Internal error");
  const summary = summaryOf(ended);
  const hostile = summary.suites.find(({ name }) => name === "hostile");
  expect(summary.suites.find(({ name }) => name === "harmless")).toMatchObject({
    ok: true,
    totals: { trials: 2 * trials, passed: 2 * trials },
  });
  return { hostile, ended, trials: trialsOf(summary.dir), bytes: statSync(join(summary.dir, "trials.jsonl")).size };
}

/** A run on a server that does no harm, with one trial of each case. */
async function runHarmless(...more: string[]) {
  writeSuites("none");
  const flags = ["-m", "anthropic:x", "--base-url", endpoint.url, "-n", "1", "--json", ...more];
  return summaryOf(await spawnEvals(["run", "hostile.yaml", ...flags], { cwd: dir }));
}

describe("a run on a server whose schema", () => {
  it.each([
    ["has a pattern of exponential time, whose server takes what it refuses", "pattern", "right-tool"],
    ["is refused before it is compiled: alternatives", "alternatives", "right-tool"],
    ["is refused before it is compiled: a reference to itself", "self-reference", "right-tool"],
    ["is refused before it is compiled: its root is itself", "root-reference", "right-tool"],
  ])("%s", async (_, harm, selection) => {
    const { trials } = await run(harm);
    const own = trials.filter(({ cell }) => cell.suite === "hostile");
    expect(own.map(({ verdict }) => verdict?.selection)).toEqual(Array(4).fill(selection));
  });

  it("cannot be applied in time passes by the rest of the case, with a note and a count", async () => {
    const { hostile } = await run("pattern-look-ahead");
    expect(hostile).toMatchObject({ ok: true, totals: { passed: 4 } });
    expect(hostile?.unchecked).toEqual([
      { n: 4, text: expect.stringMatching(/^arguments of act: .* takes more than \d+ ms$/) },
    ]);
  });

  it("is nested 800 levels deep breaks its own suite, with the tool and the cause", async () => {
    const { hostile, ended } = await run("deep-list");
    expect(hostile?.totals).toMatchObject({ broken: 4, calls: 0 });
    expect(ended.err).toContain(
      'Server "hostile": tool "act" (number 1 of its list) is nested more than 101 levels deep.',
    );
  });
});

describe("a run on a server whose result", () => {
  it.each([
    ["is nested 5,000 levels deep", "deep-result"],
    ["is 9 MB of structured content", "large-result"],
    ["has 50,000 items", "many-items"],
    ["is an error of 9 MB", "large-error"],
    ["is a protocol error of 9 MB", "large-protocol-error"],
    ["is an error that takes a careless expression quadratic time", "ambiguous-error"],
  ])("%s is recorded in a bounded size", async (_, harm) => {
    const { trials, bytes } = await run(harm);
    const own = trials.filter(({ cell }) => cell.suite === "hostile");
    expect(own.map(({ outcome }) => outcome.kind)).toEqual(Array(4).fill("answered"));
    expect(bytes).toBeLessThan(4 * 200_000);
  });
});

describe("results of 128 calls in each trial", () => {
  const runSum = async (harm: string) => {
    writeSuites(harm);
    answer = () => ({ calls: Array.from({ length: 128 }, (_, at) => ({ name: "act", input: { text: `${at}` } })) });
    const flags = ["-m", "anthropic:x", "--base-url", endpoint.url, "-n", "1", "--max-turns", "1", "--json"];
    const { child, ended } = start(["run", "hostile.yaml", ...flags], { cwd: dir });
    let peak = 0;
    const timer = setInterval(() => {
      peak = Math.max(peak, readPeakMiB(child.pid));
    }, 100);
    const summary = summaryOf(await ended);
    clearInterval(timer);
    expect(peak).toBeLessThan(700);
    return trialsOf(summary.dir).map(({ outcome }) => ("message" in outcome ? outcome.message : outcome.kind));
  };

  it("of 1 MB of text each are cut one by one", async () => {
    expect(await runSum("long-text")).toEqual(["answered", "answered"]);
  });

  it("of 1,000 items each break the trial at 16 Mi characters together", async () => {
    const cause = 'The results of this trial have more than 16 Mi characters together, with that of "act"';
    expect(await runSum("long-items")).toEqual([cause, cause]);
  });
});

it("a call that is nested 20,000 levels deep is malformed, and not broken", async () => {
  answer = () => ({
    fault: "text",
    text: `{"id":"msg","type":"message","role":"assistant","model":"x","content":[{"type":"tool_use","id":"t","name":"act","input":${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`,
  });
  const { dir: record } = await runHarmless("--max-turns", "2");
  const selections = trialsOf(record).map(({ verdict }) => verdict?.selection);
  expect(selections).toEqual(Array(2).fill("malformed-arguments"));
});

it("a reply that never ends is ended, and breaks the trial", async () => {
  answer = () => ({ fault: "endless" });
  const { suites } = await runHarmless();
  expect(JSON.stringify(suites[0]?.cases[0]?.reasons)).toContain("the reply is larger than 16 MiB");
});

it.each([
  ...["pattern", "pattern-look-ahead", "alternatives", "self-reference", "deep-list", "deep-result", "large-error"],
])("lint, probe and doctor end on a hostile server: %s", async (harm) => {
  for (const name of ["lint", "probe", "doctor"]) {
    const { code, err } = await spawnEvals([name, "--server", `node ${server} ${harm}`], { cwd: dir });
    expect(err).not.toContain("Internal error");
    expect([0, 1, 3]).toContain(code);
  }
});
