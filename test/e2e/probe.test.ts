import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ProbeReport } from "../../src/evals/inspection/probe/report.ts";
import { makeFolder } from "../fakes/folder.ts";
import { type Ended, evals } from "./evals.ts";

const reference = "node dist/server/main.js";
const bad = "node test/fixtures/servers/bad.mjs";
const published = (name: string) => `node node_modules/@modelcontextprotocol/server-${name}/dist/index.js`;

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

describe("published servers", () => {
  const probe = (server: string, ...more: string[]) =>
    evals(["probe", "--server", server, "--seed", "1", "--json", ...more]);

  it("everything: probed without an error of the probe", async () => {
    const tools = ["echo", "get-*", "simulate-*"].flatMap((tool) => ["--tool", tool]);
    const ended = await probe(`${published("everything")} stdio`, ...tools);
    expect({ code: ended.code, err: ended.err }).toEqual({ code: 0, err: expect.stringMatching(/^Probing .*\n$/) });
    expect(foundIn(ended)).toEqual([]);
  });

  it("filesystem: probed without tools that write", async () => {
    const folder = join(dir, "files");
    mkdirSync(folder);
    writeFileSync(join(folder, "notes.txt"), "buy milk");
    const ended = await probe(`${published("filesystem")} ${folder}`, "--profile", "spec");
    expect({ code: ended.code, err: ended.err }).toEqual({ code: 1, err: expect.stringMatching(/^Probing .*\n$/) });
    const skipped = reportOf(ended).servers[0]?.skipped.map(({ tool }) => tool);
    expect(skipped).toEqual("write_file edit_file create_directory move_file".split(" "));
    const reading = "read_file read_text_file read_media_file list_directory list_directory_with_sizes directory_tree";
    const tools = [...reading.split(" "), "search_files", "get_file_info"];
    expect(foundIn(ended)).toEqual([
      ...tools.map((tool) => `${tool}: failure-structured`),
      "an unknown tool: unknown-tool-message",
    ]);
  });
});
