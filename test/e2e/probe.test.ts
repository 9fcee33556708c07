import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ProbeReport } from "../../src/evals/inspection/probe/report.ts";
import { makeFolder, writeIn } from "../fakes/folder.ts";
import { type Ended, evals } from "./evals.ts";

const reference = "node dist/server/main.js";
const bad = "node test/fixtures/servers/bad.mjs";

const dir = makeFolder();

const reportOf = ({ out }: Ended) => JSON.parse(out) as ProbeReport;
const foundIn = (ended: Ended) =>
  reportOf(ended).servers.flatMap(({ findings }) =>
    findings.map(
      ({ rule, location: { tool = "" } }) => `${tool.replace(/^no_such_tool_.*/, "an unknown tool")}: ${rule}`,
    ),
  );

describe("evals probe", () => {
  it("finds the faults of a bad server, each with the smallest call", async () => {
    const { code, out, err } = await evals(["probe", "--server", bad, "--seed", "1", "--timeout", "2"]);
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringMatching(/^Probing bad: 62 calls of 9 tools \(.*\n$/),
    });
    await expect(out).toMatchFileSnapshot("../fixtures/probe/bad.txt");
  });

  it.each([
    ["refuses-missing", '{"tool":"get_anything","arguments":{}}'],
    ["refuses-wrong-type", '{"tool":"get_anything","arguments":{"count":"7"}}'],
    ["unknown-tool-refused", '{"tool":"nope"}'],
  ])("checks the calls of --call: %s", async (check, ...calls) => {
    const ended = await evals(["probe", "--server", bad, "--json", ...calls.flatMap((call) => ["--call", call])]);
    expect(ended.code).toBe(1);
    const [server] = reportOf(ended).servers;
    expect(server?.findings.map((finding) => finding.rule)).toEqual([check]);
    expect(server?.answers).toHaveLength(calls.length);
  });

  it("keeps the findings of a server that cannot be restarted", async () => {
    const script = join(dir, "once.mjs");
    const marker = JSON.stringify(join(dir, "started"));
    const moody = JSON.stringify(join(process.cwd(), "test/fixtures/servers/moody.mjs"));
    writeFileSync(
      script,
      `import fs from "node:fs"; if (fs.existsSync(${marker})) process.exit(1); fs.writeFileSync(${marker}, ""); await import(${moody});`,
    );
    const calls = ["die", "live"].flatMap((mood) => ["--call", JSON.stringify({ tool: "act", arguments: { mood } })]);
    const ended = await evals(["probe", "--server", `node ${script}`, ...calls, "--json"]);
    expect(ended.code).toBe(1);
    expect(foundIn(ended)).toEqual(["act: survives"]);
    expect(ended.err).toContain("exited with code 1");
    rmSync(join(dir, "started"));
    const probed = await evals(["probe", "--server", `node ${script}`, "--failure-threshold", "error", "--json"]);
    expect(reportOf(probed).problems.map(({ message }) => message)).toEqual([
      expect.stringContaining("exited with code 1"),
    ]);
  });

  it.each([
    [["--server", reference, "--call", "{}"]],
    [["--server", reference, "--server", bad, "--call", '{"tool":"echo"}']],
    [["--server", reference, "--name", "x"]],
  ])("refuses %j", async (args) => {
    const { code, out, err } = await evals(["probe", ...args]);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toMatchSnapshot();
  });
});

it("the settings of lint suppress findings with their reason, and turn rules off", async () => {
  const cwd = makeFolder();
  const flags = ["--server", `node ${join(process.cwd(), "test/fixtures/servers/bad.mjs")}`, "--tool", "get_a*"];
  const find = async (...more: string[]) => {
    const ended = await evals(["probe", ...flags, "--seed", "1", "--timeout", "2", "--json", ...more], { cwd });
    return reportOf(ended).servers.flatMap(({ findings }) => findings);
  };
  const [first] = await find();
  if (!first) throw new Error("nothing was found");
  const isFirst = ({ rule, location }: typeof first) => rule === first.rule && location.tool === first.location.tool;
  const ignore = [{ rule: first.rule, tool: first.location.tool, reason: "known until 2.0" }];
  writeIn(cwd, "evals/lint.yaml", JSON.stringify({ ignore }));
  const suppressed = (await find()).filter(isFirst).map((one) => one.suppressed);
  expect(new Set(suppressed)).toEqual(new Set(["known until 2.0"]));
  const off = await find("--severity", `${first.rule}=off`);
  expect(off.filter(({ rule }) => rule === first.rule)).toEqual([]);
});

it("a published server is probed without an error of the probe", async () => {
  const server = "node node_modules/@modelcontextprotocol/server-everything/dist/index.js stdio";
  const tools = ["echo", "get-*", "simulate-*"].flatMap((tool) => ["--tool", tool]);
  const ended = await evals(["probe", "--server", server, "--seed", "1", "--json", ...tools]);
  expect({ code: ended.code, err: ended.err }).toEqual({ code: 0, err: expect.stringMatching(/^Probing .*\n$/) });
  expect(foundIn(ended)).toEqual([]);
});
