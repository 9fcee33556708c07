import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { lintReportSchema } from "../../src/evals/base/types/finding.ts";
import { doctor } from "../../src/evals/inspection/doctor/doctor.ts";
import { type DoctorReport, doctorReportSchema } from "../../src/evals/inspection/doctor/report.ts";
import { lint } from "../../src/evals/inspection/lint/command.ts";
import { type ProbeOptions, probe } from "../../src/evals/inspection/probe/probe.ts";
import type { ProbeReport } from "../../src/evals/inspection/probe/report.ts";
import type { TargetOptions } from "../../src/evals/inspection/targets.ts";
import { type Listener, listen } from "../../src/server/http.ts";
import { makeFolder } from "../fakes/folder.ts";
import { anIo, type TestIo } from "../fakes/io.ts";

// The inspections in this process, against the reference server and servers that break one promise each.
const servers = join(import.meta.dirname, "../fixtures/servers");
const node = (way: string) => `"${process.execPath}" ${way}`;
const cwd = makeFolder();

let reference: Listener;
beforeAll(async () => {
  reference = await listen({
    ...{ transport: "http", name: "reference", host: "127.0.0.1", port: 0 },
    ...{ allowHosts: [] },
  });
});
afterAll(() => reference.close());

const anEnvironment = (dir = servers) => anIo({ cwd: dir, env: { PATH: process.env.PATH } });

async function runProbe(options: Partial<ProbeOptions>, io: TestIo = anEnvironment()) {
  const defaults = {
    runs: 2,
    seed: 1,
    timeout: 60,
    yes: true,
    failureThreshold: "warning",
    format: "json",
    json: true,
  } as const;
  const code = await probe({ ...defaults, ...options }, io);
  return { code, report: JSON.parse(io.printed()) as ProbeReport, err: io.warned() };
}

async function runDoctor(options: TargetOptions, io: TestIo = anEnvironment()) {
  const code = await doctor({ ...options, execute: "read-only", timeout: 60, format: "json", json: true }, io);
  return { code, report: doctorReportSchema.parse(JSON.parse(io.printed())), err: io.warned() };
}

async function runLint(options: TargetOptions, io: TestIo = anEnvironment()) {
  const defaults = {
    all: false,
    confusable: false,
    rules: false,
    concurrency: 1,
    format: "terminal",
    failureThreshold: "error",
    json: true,
  } as const;
  const code = await lint({ ...defaults, ...options }, io);
  return { code, report: lintReportSchema.parse(JSON.parse(io.printed())), err: io.warned() };
}

const listDiagnoses = ({ servers: examined }: DoctorReport) =>
  examined.map(({ name, healthy, findings }) => [name, healthy, ...findings.map(({ rule }) => rule)]);

describe("the reference server", () => {
  it("has no findings", async () => {
    const { code, report } = await runProbe({ url: [reference.url] });
    expect([code, report.ok, report.servers[0]?.findings]).toEqual([0, true, []]);
    const linted = await runLint({ url: [reference.url] });
    expect([linted.code, linted.report.findings, linted.report.counts.linted]).toEqual([
      ...[0, [], { tools: 1, toolsets: 1 }],
    ]);
    const examined = await runDoctor({ url: [reference.url] });
    expect([examined.code, listDiagnoses(examined.report)]).toEqual([0, [[reference.url, true]]]);
    expect(examined.report.servers[0]).toMatchObject({
      tools: 1,
      notCalled: [{ tool: "echo", why: "needs arguments" }],
    });
  });
});

describe("probe", () => {
  it("reproduces a finding with the smallest call, and with the command that repeats it", async () => {
    const { code, report } = await runProbe({ server: [node("bad.mjs")], tool: ["get_crash"] });
    const finding = report.servers[0]?.findings.find(({ rule }) => rule === "survives");
    expect(code).toBe(1);
    expect(finding).toMatchObject({
      reproduced: "yes",
      call: { tool: "get_crash", arguments: { name: expect.stringMatching(/^.{21,}$/) } },
    });
    const call = finding?.command.split(" --call ")[1]?.slice(1, -1) ?? "";
    const repeated = await runProbe({ server: [node("bad.mjs")], call: [call] });
    expect(repeated.report.servers[0]?.findings.map(({ rule }) => rule)).toEqual(["survives"]);
  });

  it("gives up a tool after three broken calls", async () => {
    const options = { server: [node("bad.mjs")], tool: ["get_slow"], timeout: 0.3, runs: 20, seed: 2 };
    const { report } = await runProbe(options);
    expect(report.servers[0]?.tools[0]?.notes.join()).toMatch(
      /^stopped after 3 broken calls; \d+ probes were not made$/,
    );
  });

  it("probes the other servers when one does not start, and is incomplete", async () => {
    const { code, report, err } = await runProbe({ server: ["no-such-program"], url: [reference.url] });
    expect([code, report.servers.map(({ server }) => server), report.problems.length]).toEqual([3, ["reference"], 1]);
    expect(err).toContain('no program "no-such-program"');
    expect(err).toContain("To find the cause, run: `evals doctor --server no-such-program");
  });

  it("applies the strictest policy of the suites that share a server", async () => {
    const suite = (name: string, execute: string) => ({
      ...{ name, execute, server: { url: reference.url } },
      cases: [{ input: "echo a", expect: { tool: "echo" } }],
    });
    for (const [name, execute] of Object.entries({ reads: "read-only", never: "never" }))
      writeFileSync(join(cwd, `${name}.json`), JSON.stringify(suite(name, execute)));
    const { code, report, err } = await runProbe({ paths: ["reads.json", "never.json"] }, anEnvironment(cwd));
    expect(report.servers.map(({ tools }) => tools)).toEqual([[]]);
    expect([code, report.problems.map(({ message }) => message)]).toEqual([3, ['No tool of "reference" was called.']]);
    expect(err).not.toContain("Probing");
  });

  describe("asks before it calls", () => {
    const plan = "Probing reference: 8 calls of 1 tool (echo), and at most 20 more for each finding.\n";
    const prompts = (answer: boolean | undefined) => ({
      confirm: async () => answer,
      select: async () => undefined,
      text: async () => undefined,
    });

    it.each<[string, Partial<TestIo>, string]>([
      ["refuses without a terminal", {}, "error: These calls need your consent.\n  Add --yes."],
      ["takes no for an answer", { prompts: prompts(false) }, "error: No call was made."],
      ["takes a cancelled prompt for a no", { prompts: prompts(undefined) }, "error: No call was made."],
    ])("and %s", async (_, world, message) => {
      const io = { ...anEnvironment(), ...world };
      await expect(runProbe({ url: [reference.url], yes: false }, io)).rejects.toThrow(message);
      expect(io.warned()).toBe(plan);
    });

    it.each<[string, Partial<TestIo>]>([
      ["goes on after a yes", { prompts: prompts(true) }],
      ["needs no answer in CI", { env: { PATH: process.env.PATH, CI: "true" } }],
    ])("and %s", async (_, world) => {
      const { code, err } = await runProbe(
        { url: [reference.url], runs: 2, yes: false },
        { ...anEnvironment(), ...world },
      );
      expect([code, err]).toEqual([0, plan]);
    });
  });

  it("calls tools that may write only if they are named in full", async () => {
    const called = async (...tool: string[]) => {
      const { report } = await runProbe({ server: [node("bad.mjs")], tool, runs: 1 });
      return report.servers[0]?.tools.map((one) => one.tool);
    };
    expect(await called("delete_*")).toEqual(["(unknown tool)"]);
    expect(await called("delete_all")).toEqual(["delete_all", "(unknown tool)"]);
  });

  it("reports what it has when it is stopped", async () => {
    const io = anEnvironment();
    const called = join(cwd, "called");
    const watch = `process.stdin.on("data", (data) => data.includes("tools/call") && writeFileSync(${JSON.stringify(called)}, ""));`;
    const script = `import { writeFileSync } from "node:fs"; ${watch} await import(${JSON.stringify(join(servers, "bad.mjs"))});`;
    writeFileSync(join(cwd, "watched.mjs"), script);
    const call = '{"tool":"get_slow","arguments":{"rows":64}}';
    const probing = runProbe({ server: [node(join(cwd, "watched.mjs"))], call: [call] }, io);
    await expect.poll(() => existsSync(called)).toBe(true);
    io.stop();
    const { code, report } = await probing;
    expect([code, report.stopped, report.ok, report.problems]).toEqual([130, true, false, []]);
  });
});

describe("doctor", () => {
  it("examines each server of suites once, distractors too, and names suites without one", async () => {
    const server = { url: reference.url };
    const cases = [{ input: "echo a", expect: { tool: "echo" } }];
    const write = (name: string, more: object) =>
      writeFileSync(join(cwd, `${name}.json`), JSON.stringify({ name, cases, ...more }));
    write("one", { server, distractors: [{ command: "no-such-program" }] });
    write("two", { server });
    write("three", { server: { tools: "list.json" } });
    const { report, err } = await runDoctor({ paths: ["one.json", "two.json", "three.json"] }, anEnvironment(cwd));
    expect(listDiagnoses(report)).toEqual([
      ["one", true],
      ["one, distractor 1", false, "program-missing"],
    ]);
    expect(err).toContain("three.json: warning: This suite is skipped: it has a static tool list.");
    expect(report.servers[1]?.findings[0]?.command).toContain("no-such-program");
  });
});

describe("lint", () => {
  it("lints the other servers of a host configuration when one cannot be listed, and its entry", async () => {
    const entry = (...args: string[]) => ({ command: process.execPath, args });
    const mcpServers = { dies: entry("faulty.mjs", "dies"), fine: { url: reference.url }, wrong: { command: 5 } };
    writeFileSync(join(cwd, "lint.json"), JSON.stringify({ mcpServers }, null, 2));
    const { code, report } = await runLint({ config: ["lint.json"] }, anEnvironment(cwd));
    expect(report.counts.linted).toEqual({ "host entries": 3, tools: 1, toolsets: 1 });
    expect(report.problems.map(({ location }) => location?.file)).toEqual(["lint.json", "lint.json"]);
    expect(report.findings.map(({ rule }) => rule)).toContain("registration-relative-path");
    expect(report.problems[0]?.hint).toContain("make it absolute");
    expect(code).toBe(1);
    const named = await runLint({ config: ["lint.json"], name: ["fine"] }, anEnvironment(cwd));
    expect(named.report.counts.linted).toEqual({ "host entries": 1, tools: 1, toolsets: 1 });
  });

  it("lints the items of a list that clients refuse", async () => {
    const { report } = await runLint({ server: [node("faulty.mjs malformed")] });
    expect(report.findings.map(({ rule, location }) => `${rule} ${location.tool}`)).toContain("tool-shape broken");
  });
});
