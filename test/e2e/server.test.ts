import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { clients } from "../server/clients.ts";
import { conforms } from "../server/conformance.ts";

const script = fileURLToPath(new URL("../../dist/server/main.js", import.meta.url));

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

/** Runs the program to its end, with nothing on its standard input unless given. */
function run(args: string[], input = ""): Promise<{ code: number | string; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [script, ...args], (error, stdout, stderr) => {
      resolve({ code: error ? (error.code ?? String(error.signal)) : 0, stdout, stderr });
    });
    children.push(child);
    child.stdin?.end(input);
  });
}

/** Starts the program and waits until its standard error, which is returned, holds a line that starts like this. */
async function started(args: string[], line: string) {
  const child = spawn(process.execPath, [script, ...args]);
  children.push(child);
  let stderr = "";
  child.stderr.setEncoding("utf8");
  for await (const chunk of child.stderr.iterator({ destroyOnReturn: false })) {
    stderr += chunk;
    if (new RegExp(`^${line}.*\n`, "m").test(stderr)) return { child, stderr };
  }
  throw new Error(`ended before ${line}: ${stderr}`);
}

const request = (id: number, method: string, params: object) =>
  `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`;
const initialize = request(1, "initialize", {
  protocolVersion: "2025-06-18",
  capabilities: {},
  clientInfo: { name: "raw", version: "0" },
});
const call = (id: number, text: string) => request(id, "tools/call", { name: "echo", arguments: { text } });

describe("over stdio", () => {
  conforms("reference", () => ({ command: process.execPath, args: [script] }));

  it("answers all requests, then exits when its input closes, with only protocol messages on stdout", async () => {
    const { code, stdout, stderr } = await run([], initialize + call(2, "a") + call(3, "b"));
    const texts = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line).result.content?.[0].text);
    expect({ code, texts, stderr }).toEqual({ code: 0, texts: [undefined, "Echo: a", "Echo: b"], stderr: "" });
  });

  it("reports an invalid line on stderr, and continues", async () => {
    const { code, stdout, stderr } = await run([], `garbage\n${call(2, "a")}`);
    expect({ code, lines: stdout.trimEnd().split("\n").length }).toEqual({ code: 0, lines: 1 });
    expect(stderr).toMatch(/^error: .*garbage.*\n$/);
  });

  it.each(["SIGTERM", "SIGINT"] as const)("ends with 0 on %s", async (signal) => {
    const child = spawn(process.execPath, [script]);
    children.push(child);
    child.stdin.write(initialize);
    await once(child.stdout, "data");
    child.kill(signal);
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  it("exits when its output is closed", async () => {
    const child = spawn(process.execPath, [script]);
    children.push(child);
    child.stdin.write(initialize);
    await once(child.stdout, "data");
    child.stdout.destroy();
    child.stdin.write(call(2, "a"));
    expect(await once(child, "exit")).toEqual([0, null]);
  });
});

describe.each(["sse", "http"] as const)("over %s", (transport) => {
  it.each(["SIGTERM", "SIGINT"] as const)("serves, and on %s closes its sessions and ends with 0", async (signal) => {
    const { child, stderr } = await started(["--transport", transport, "--port", "0"], "Listening on");
    const url = /^Listening on (http:\/\/127\.0\.0\.1:\d+\/\w+)\n$/.exec(stderr)?.[1] ?? "";
    const exit = once(child, "exit");
    const opened = await Promise.all(clients.map(({ connect }) => connect({ url, transport })));
    for (const client of opened) expect((await client.listTools()).tools).toHaveLength(1);
    child.kill(signal);
    expect(await exit).toEqual([0, null]);
    await Promise.all(opened.map((client) => client.close()));
  });

  it("warns when others can reach it", async () => {
    const args = ["--transport", transport, "--port", "0", "--host", "0.0.0.0"];
    const { stderr } = await started(args, "Listening on");
    expect(stderr.replace(/:\d+/, ":<port>")).toBe(
      "warning: 0.0.0.0 is not a loopback address. Other machines can reach this server without authentication.\n" +
        `Listening on http://0.0.0.0:<port>/${transport === "sse" ? "sse" : "mcp"}\n`,
    );
  });

  it("explains why it does not start", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const taken = await run(["--transport", transport, "--port", String(port)]);
    other.close();
    expect(taken).toEqual({
      code: 1,
      stdout: "",
      stderr:
        `error: Cannot listen on 127.0.0.1, port ${port}. ` +
        "The port is in use. Set another one with --port, or --port 0 for any free port.\n",
    });
    expect(await run(["--transport", transport, "--port", "0", "--host", "192.0.2.1"])).toEqual({
      code: 1,
      stdout: "",
      stderr:
        "error: Cannot listen on 192.0.2.1, port 0. " +
        "This machine does not have that address. Set one that it has with --host.\n",
    });
  });
});

describe("the command line", () => {
  const http = ["--transport", "http"];
  it.each([
    [["--transport", "carrier-pigeon"], "--transport must be stdio, http or sse."],
    [["--port", "1"], "--port does not apply to stdio. Add --transport http or --transport sse."],
    [["--name", " "], "--name must not be empty."],
    [[...http, "--host="], "--host must not be empty."],
    [[...http, "--port", "x"], "--port must be an integer from 0 to 65535."],
    [[...http, "--port", "65536"], "--port must be an integer from 0 to 65535."],
    [["--nope"], "Unknown option '--nope'"],
    [["word"], "Unexpected argument 'word'"],
  ])("%j is refused with exit code 2", async (args, message) => {
    const { code, stdout, stderr } = await run(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(`error: ${message}`);
    expect(stderr).toMatch(/\nRun tool-evals-reference-server --help to see the flags\.\n$/);
  });

  it("has a help text that names every flag", async () => {
    const { code, stdout, stderr } = await run(["--help"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    for (const flag of ["--transport", "--name", "--host", "--port", "--allow-hosts", "--print-config", "--version"]) {
      expect(stdout).toContain(flag);
    }
    expect((await run(["--version"])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it.each([[[]], [["--name", "it's mine", "--transport", "stdio"]]])(
    "%j is printed as a working entry of .mcp.json",
    async (args) => {
      const { code, stdout, stderr } = await run([...args, "--print-config"]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      const name = args[1] ?? "reference";
      const { mcpServers } = JSON.parse(stdout);
      expect(mcpServers).toEqual({ [name]: { command: process.execPath, args: [script, ...args] } });
      for (const { connect } of clients) {
        const client = await connect(mcpServers[name]);
        expect(client.getServerVersion()?.name).toBe(name);
        await client.close();
      }
    },
  );

  it.each([
    ["http", "http://127.0.0.1:8080/mcp"],
    ["sse", "http://127.0.0.1:8080/sse"],
  ])("is printed with its URL over %s", async (type, url) => {
    const { stdout } = await run(["--transport", type, "--port", "8080", "--print-config"]);
    expect(JSON.parse(stdout)).toEqual({ mcpServers: { reference: { type, url } } });
  });
});
