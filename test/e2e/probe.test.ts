import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { ProbeReport } from "../../src/evals/inspection/probe/report.ts";
import { type Ended, evals, start } from "./evals.ts";

const reference = "node dist/server/main.js";
const bad = "node test/fixtures/servers/bad.mjs";
const published = (name: string) => `node node_modules/@modelcontextprotocol/server-${name}/dist/index.js`;

const dir = realpathSync(mkdtempSync(join(tmpdir(), "probe-")));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const reportOf = ({ out }: Ended) => JSON.parse(out) as ProbeReport;
const foundIn = (ended: Ended) =>
  reportOf(ended).servers.flatMap(({ findings }) =>
    findings.map(
      ({ rule, location: { tool = "" } }) => `${tool.replace(/^no_such_tool_.*/, "an unknown tool")}: ${rule}`,
    ),
  );

describe("evals probe", () => {
  it("finds nothing on the reference server", async () => {
    const ended = await evals(["probe", "--server", reference, "--seed", "1"]);
    expect(ended).toMatchInlineSnapshot(`
      {
        "code": 0,
        "err": "Probing reference: 12 calls of 1 tool (echo), and at most 20 more for each finding.
      ",
        "out": "PASSED 0 errors, 0 warnings, 0 info · 1 server probed · seed 1
        Next: probe more inputs with \`--runs\`.

      reference · 1 tool called · 12 calls
      tool            calls  checks ok  not probed  findings
      ──────────────────────────────────────────────────────
      echo            11     9          2           ·
      (unknown tool)  1      4          0           ·
      ",
      }
    `);
  });

  it("finds the faults of a bad server, each with the smallest call", async () => {
    const { code, out, err } = await evals(["probe", "--server", bad, "--seed", "1", "--timeout", "2"]);
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringMatching(/^Probing bad: 96 calls of 12 tools \(.*\n$/),
    });
    await expect(out).toMatchFileSnapshot("../fixtures/probe/bad.txt");
  });

  it("makes the same calls for the same seed, as one JSON object", async () => {
    const args = ["probe", "--server", bad, "--tool", "get_[ap]*", "--tool", "get_a*", "--tool", "get_p*", "--json"];
    const [first, second, other] = await Promise.all(["4", "4", "5"].map((seed) => evals([...args, "--seed", seed])));
    expect(first).toEqual(second);
    expect(reportOf(first as Ended).seed).toBe(4);
    expect(foundIn(other as Ended)).toEqual(foundIn(first as Ended));
  });

  it("repeats a finding by its command, and only that", async () => {
    const call = JSON.stringify({ tool: "get_crash", arguments: { name: "a".repeat(21) } });
    expect(await evals(["probe", "--server", bad, "--call", call, "--seed", "1"])).toMatchInlineSnapshot(`
      {
        "code": 1,
        "err": "",
        "out": "FAILED 1 error, 0 warnings, 0 info · 1 server probed · seed 1
        Next: repeat a finding with its \`--call\` below, and fix the tool.

      bad · 1 call
        get_crash {"name":"aaaaaaaaaaaaaaaaaaaaa"}
          -> Server "node test/fixtures/servers/bad.mjs", called for "get_crash", exited with code 3.
            Its stderr ends with: out of cheese

        error survives · bad · get_crash
          The call ended the server.
          Fix: Catch exceptions of the tool, and return them as failures.
          | Call: get_crash {"name":"aaaaaaaaaaaaaaaaaaaaa"}
          | Result: Server "node test/fixtures/servers/bad.mjs", called for "get_crash", exited with
            code 3. Its stderr ends with: out of cheese
          $ evals probe --server 'node test/fixtures/servers/bad.mjs' --call '{"tool":"get_crash","arguments":{"name":"aaaaaaaaaaaaaaaaaaaaa"}}'
      ",
      }
    `);
    const fewer = JSON.stringify({ tool: "get_crash", arguments: { name: "a".repeat(20) } });
    expect(await evals(["probe", "--server", bad, "--call", fewer, "--seed", "1"])).toMatchInlineSnapshot(`
      {
        "code": 0,
        "err": "",
        "out": "PASSED 0 errors, 0 warnings, 0 info · 1 server probed · seed 1
        Next: probe more inputs with \`--runs\`.

      bad · 1 call
        get_crash {"name":"aaaaaaaaaaaaaaaaaaaa"}
          -> "ok"
      ",
      }
    `);
  });

  it("escapes the output of servers for the terminal", async () => {
    const line = `node -e 'console.error("a\\u0007b\\u202ec"); process.exit(1)'`;
    const { err } = await evals(["probe", "--server", line]);
    expect(err).toContain("a\\x07b\\u{202e}c");
  });

  it("refuses a name that is not in the file", async () => {
    const file = join(dir, "named.json");
    writeFileSync(file, JSON.stringify({ mcpServers: { a: { command: "a" }, b: { command: "b" } } }));
    const args = ["probe", "--config", "named.json", "--name", "a", "--name", "c"];
    expect(await evals(args, { cwd: dir })).toMatchInlineSnapshot(`
      {
        "code": 2,
        "err": "named.json:1:15: error: No server "c" is registered in this file.
        Did you mean "a"? Registered: a, b.
      ",
        "out": "",
      }
    `);
  });

  it.each([
    ["defaults-work", '{"tool":"get_page","arguments":{"page":1}}', '{"tool":"get_page","arguments":{}}'],
    ["repeats", '{"tool":"get_once","arguments":{"key":"only"}}', '{"tool":"get_once","arguments":{"key":"only"}}'],
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

  it("probes the servers of suites once each, and those of a host configuration by name", async () => {
    const command = { command: process.execPath, args: [join(process.cwd(), "dist/server/main.js")] };
    writeFileSync(
      join(dir, ".mcp.json"),
      JSON.stringify({ mcpServers: { good: command, absent: { command: "no-such-program" } } }),
    );
    mkdirSync(join(dir, "evals"));
    const suite = { server: command, cases: [{ input: "echo a", expect: { tool: "echo" } }] };
    for (const name of ["a", "b"])
      writeFileSync(join(dir, "evals", `${name}.json`), JSON.stringify({ ...suite, name }));
    writeFileSync(
      join(dir, "evals", "c.json"),
      JSON.stringify({ ...suite, name: "c", server: { tools: "list.json" } }),
    );
    const bySuites = await evals(["probe", "--json", "--seed", "1"], { cwd: dir });
    expect([bySuites.code, reportOf(bySuites).servers.map(({ server }) => server)]).toEqual([0, ["reference"]]);
    expect(bySuites.err).toMatchInlineSnapshot(`
      "Probing reference: 12 calls of 1 tool (echo), and at most 20 more for each finding.
      evals/c.json: warning: This suite is skipped: it has a static tool list.
        Only a live server can be started and called. Give the suite a server with a command or a URL.
      "
    `);
    const byName = await evals(["probe", "--config", ".mcp.json", "--name", "good", "--json"], { cwd: dir });
    expect([byName.code, reportOf(byName).servers.map(({ server }) => server)]).toEqual([0, ["good"]]);
    const all = await evals(["probe", "--config", ".mcp.json", "--json"], { cwd: dir });
    expect([all.code, reportOf(all).servers.length]).toEqual([3, 1]);
    expect(all.err).toContain('there is no program "no-such-program"');
  });

  it("does not pass a server of which no tool was called", async () => {
    const ended = await evals(["probe", "--server", bad, "--tool", "delete_*", "--seed", "1"]);
    expect(ended).toMatchInlineSnapshot(`
      {
        "code": 1,
        "err": "error: No tool of "bad" was called.
        Annotate tools that only read as read-only, or name with --tool those that may be called.
      ",
        "out": "FAILED 1 error, 0 warnings, 0 info · 1 problem · 1 server probed · seed 1
        Next: fix what could not be probed: No tool of "bad" was called.

      bad · 0 tools called · 1 not · 2 calls · started 2 times
      tool            calls  checks ok  not probed  findings
      ──────────────────────────────────────────────────────────────────
      (unknown tool)  2      3          0           unknown-tool-refused

      1 tool not probed, not annotated read-only (execute: read-only): delete_all

        error unknown-tool-refused · bad · no_such_tool_grec6u
          A call of a tool that is not listed succeeds.
          Fix: Answer with an error: Unknown tool: <name>.
          | Call: no_such_tool_grec6u {}
          | Result: "You are welcome."
          $ evals probe --server 'node test/fixtures/servers/bad.mjs' --call '{"tool":"no_such_tool_grec6u","arguments":{}}'
      ",
      }
    `);
  });

  it("keeps the findings of a server that cannot be restarted", async () => {
    const script = join(dir, "once.mjs");
    const marker = JSON.stringify(join(dir, "started"));
    const moody = JSON.stringify(join(process.cwd(), "test/fixtures/servers/moody.mjs"));
    writeFileSync(
      script,
      `import fs from "node:fs"; if (fs.existsSync(${marker})) process.exit(1); fs.writeFileSync(${marker}, ""); await import(${moody});`,
    );
    const [call, next] = ["die", "live"].map((mood) => JSON.stringify({ tool: "act", arguments: { mood } })) as [
      string,
      string,
    ];
    const ended = await evals(["probe", "--server", `node ${script}`, "--call", call, "--call", next, "--json"]);
    expect(ended.code).toBe(1);
    expect(foundIn(ended)).toEqual(["act: survives"]);
    expect(ended.err).toContain("exited with code 1");
    rmSync(join(dir, "started"));
    const probed = await evals(["probe", "--server", `node ${script}`, "--failure-threshold", "error", "--json"]);
    expect(reportOf(probed).problems.map(({ message }) => message)).toEqual([
      expect.stringContaining("exited with code 1"),
    ]);
  });

  it("exits cleanly on SIGINT", async () => {
    const script = join(dir, "loud.mjs");
    const called = join(dir, "called");
    const moody = JSON.stringify(join(process.cwd(), "test/fixtures/servers/moody.mjs"));
    writeFileSync(
      script,
      `import fs from "node:fs";
       process.stdin.on("data", (data) => data.includes("tools/call") && fs.writeFileSync(${JSON.stringify(called)}, ""));
       await import(${moody});`,
    );
    const call = '{"tool":"act","arguments":{"mood":"hang"}}';
    const { child, ended } = start([
      "probe",
      "--server",
      `node ${script}`,
      "--timeout",
      "60",
      "--json",
      "--call",
      call,
    ]);
    await expect.poll(() => existsSync(called)).toBe(true);
    child.kill("SIGINT");
    const { code, out } = await ended;
    expect(code).toBe(130);
    expect(reportOf({ code, out, err: "" })).toMatchObject({ stopped: true, ok: false, exitCode: 130 });
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
  it("everything: probed without an error of the probe", async () => {
    const tools = ["echo", "get-*", "simulate-*"].flatMap((tool) => ["--tool", tool]);
    const ended = await evals([
      "probe",
      "--server",
      `${published("everything")} stdio`,
      "--seed",
      "1",
      "--json",
      ...tools,
    ]);
    expect({ code: ended.code, err: ended.err }).toEqual({ code: 0, err: expect.stringMatching(/^Probing .*\n$/) });
    expect(foundIn(ended)).toMatchInlineSnapshot(`[]`);
  });

  it("filesystem: probed without tools that write", async () => {
    const folder = join(dir, "files");
    mkdirSync(folder);
    writeFileSync(join(folder, "notes.txt"), "buy milk");
    const ended = await evals([
      "probe",
      "--server",
      `${published("filesystem")} ${folder}`,
      "--seed",
      "1",
      "--json",
      "--profile",
      "spec",
    ]);
    expect({ code: ended.code, err: ended.err }).toEqual({ code: 1, err: expect.stringMatching(/^Probing .*\n$/) });
    expect(reportOf(ended).servers[0]?.skipped.map(({ tool }) => tool)).toEqual([
      "write_file",
      "edit_file",
      "create_directory",
      "move_file",
    ]);
    expect(foundIn(ended)).toMatchInlineSnapshot(`
      [
        "read_file: failure-structured",
        "read_text_file: failure-structured",
        "read_media_file: failure-structured",
        "list_directory: failure-structured",
        "list_directory_with_sizes: failure-structured",
        "directory_tree: failure-structured",
        "search_files: failure-structured",
        "get_file_info: failure-structured",
        "an unknown tool: unknown-tool-message",
      ]
    `);
  });
});
