import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { spawnEvals, start, summaryOf, trialsOf, untilPrinted } from "../e2e/evals.ts";
import { makeFolder } from "../fakes/folder.ts";
import { actCases, writeActSuite } from "../fixtures/actSuite.ts";
import { startMessagesEndpoint } from "../fixtures/endpoints/messages.ts";
import { listen } from "../fixtures/ports.ts";

const server = join(import.meta.dirname, "../fixtures/servers/hostile.mjs");
const cli = join(import.meta.dirname, "../../dist/evals/cli.js");

let dir: string;
let endpoint: Awaited<ReturnType<typeof startMessagesEndpoint>>;
let onRequest: (index: number) => void;
beforeEach(async () => {
  dir = makeFolder();
  onRequest = () => {};
  endpoint = await startMessagesEndpoint((_, index) => {
    onRequest(index);
    return { calls: [{ name: "act", id: "call", input: { text: "x" } }] };
  });
  writeActSuite(dir, 20, { server: { command: "node", args: [server, "none", dir] } });
});

const flags = () => ["suite.json", "-m", "anthropic:x", "--base-url", endpoint.url, "-n", "4", "--seed", "7", "--json"];
/** Processes of servers, which have the folder of the test among their arguments. */
const listServers = () =>
  execFileSync("ps", ["-axo", "pid,args"], { encoding: "utf8" })
    .split("\n")
    .filter((line) => line.includes(dir) && /hostile\.mjs|sourceProcess/.test(line) && !line.includes("cli.js"));

async function untilNoServer(): Promise<void> {
  while (listServers().length > 0) await pause(50);
}

/** Writes a server that answers nothing, and leaves a file once it runs. */
function writeSilentServer(): { line: string; mark: string } {
  const [script, mark] = [join(dir, "silent.mjs"), join(dir, "started")];
  const code = `import { writeFileSync } from "node:fs"; setInterval(() => {}, 1_000); writeFileSync("${mark}", "");`;
  writeFileSync(script, code);
  return { line: `node ${script} hostile.mjs`, mark };
}

/** Runs the program from a shell under what the shell does first. */
async function runUnder(restrict: string, args: readonly string[]) {
  const child = spawn("sh", ["-c", `${restrict} && exec "$0" "$@"`, process.execPath, cli, ...args], {
    cwd: dir,
    env: { PATH: process.env.PATH, HOME: dir, ANTHROPIC_API_KEY: "test", CI: "true" },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const closed = once(child, "close");
  const err = await text(child.stderr);
  return { code: (await closed)[0], err };
}

const expectPlain = (err: string) => expect(err).not.toMatch(/Internal error|\n\s+at /);

describe("a run that is killed", () => {
  it.each([
    ["SIGHUP", 129],
    ["SIGINT", 130],
    ["SIGQUIT", 131],
    ["SIGTERM", 143],
  ] as const)("by %s ends in order", async (signal, code) => {
    const stopped = start(["run", ...flags(), "-c", "1"], { cwd: dir });
    onRequest = (index) => {
      if (index === 3) stopped.child.kill(signal);
    };
    const ended = await stopped.ended;
    expect(ended.code).toBe(code);
    expect(ended.err).toContain("Resume with: `evals run --resume");
    expect(trialsOf(summaryOf(ended).dir).length).toBeGreaterThan(2);
    await untilNoServer();
  });
});

it.skipIf(process.platform === "win32").each([
  ["evals.config.mjs", "LOOP", []],
  ["evals.config.ts", "LOOP", []],
  ["reporter.mjs", "export default () => { LOOP };", ["-m", "lexical", "--reporter", "custom:reporter.mjs"]],
])("an endless loop in %s is ended by Ctrl-C: %s", async (file, code, args) => {
  const loop = 'console.warn("looping"); for (;;);';
  writeFileSync(join(dir, file), `export {}; ${code.replace("LOOP", loop)}`);
  const looping = start(["run", "suite.json", "--trust", ...args], { cwd: dir });
  await untilPrinted(looping, "looping");
  looping.child.kill("SIGINT");
  await looping.ended;
  expect(looping.child.signalCode).toBe("SIGINT");
  await untilNoServer();
});

describe("a custom model that loops forever", () => {
  const loops = [
    ["at once", "for (;;);"],
    ["after an await", "await 1; for (;;);"],
    ["in a microtask", "const again = async () => { for (;;) await 1; }; await again();"],
  ] as const;
  const model = (loop: string) => `import { existsSync } from "node:fs";
export default async ({ case: id }) => {
  if (id === "c1" && !existsSync("mended")) { console.warn("looping"); ${loop} }
  return { calls: [{ tool: "act", arguments: { text: "x" } }] };
};
export const deterministic = true;`;
  const run = ["run", "suite.json", "-m", "custom:model.mjs", "--trust", "-c", "1"];

  it.each(loops)("%s is ended at the limit: its trial is broken, and the others are answered", async (_, loop) => {
    writeFileSync(join(dir, "model.mjs"), model(loop));
    const { cases } = summaryOf(await spawnEvals([...run, "--timeout", "0.5", "--json"], { cwd: dir })).suites[0] ?? {};
    const broken = cases?.filter((one) => one.broken > 0).map(({ id, reasons }) => [id, reasons[0]?.text]);
    expect(broken).toEqual([["c1", "broken (timeout): no reply within 0.5 s"]]);
    expect(cases?.filter((one) => one.passed > 0)).toHaveLength(19);
  });

  it.each<[string, string]>([
    ...loops.map(([when, loop]): [string, string] => [when, model(loop)]),
    ["while it is loaded", 'console.warn("looping"); for (;;);'],
  ])("%s is ended by Ctrl-C, with the record of what was answered", async (when, code) => {
    writeFileSync(join(dir, "model.mjs"), code);
    const looping = start([...run, "--json"], { cwd: dir });
    await untilPrinted(looping, "looping");
    looping.child.kill("SIGINT");
    const ended = await looping.ended;
    expect(ended.code).toBe(130);
    await untilNoServer();
    if (when === "while it is loaded") return;
    const answered = trialsOf(summaryOf(ended).dir).filter(({ outcome }) => outcome.kind === "answered");
    expect(answered).toHaveLength(1);
    writeFileSync(join(dir, "mended"), "");
    const resumed = await spawnEvals(["run", "--resume", "latest", "--trust", "--json"], { cwd: dir });
    expect(summaryOf(resumed).totals).toMatchObject({ passed: 20, missing: 0 });
  });
});

describe("a server that goes on when its input ends", () => {
  it.skipIf(process.platform === "win32")("is ended with its children when the run is killed", async () => {
    const script = join(dir, "stubborn.mjs");
    writeFileSync(
      script,
      `import { spawn } from "node:child_process";
spawn("sh", ["-c", "sleep 600; : ${dir} hostile.mjs"], { stdio: "ignore" });
setInterval(() => {}, 1_000);
process.argv[2] = "none";
await import(${JSON.stringify(server)});`,
    );
    writeActSuite(dir, 20, { server: { command: "node", args: [script, "none", dir, "hostile.mjs"] } });
    const victim = start(["run", ...flags()], { cwd: dir });
    let running: string[] = [];
    onRequest = (index) => {
      if (index !== 3) return;
      running = listServers();
      victim.child.kill("SIGKILL");
    };
    await victim.ended;
    expect(running).toHaveLength(2);
    await untilNoServer();
  });
});

it.each(["tools", "init"])("%s ends with the code of the signal while a server does not answer", async (name) => {
  const { line, mark } = writeSilentServer();
  const { child, ended } = start([name, "--server", line], { cwd: dir });
  while (!existsSync(mark)) await pause(20);
  child.kill("SIGTERM");
  expect((await ended).code).toBe(143);
  await untilNoServer();
});

describe("two Ctrl-C end what waits for something that never answers", () => {
  let connected = 0;
  const silent = createServer(() => void connected++);
  let address = "";
  beforeAll(async () => {
    address = `127.0.0.1:${await listen(silent)}`;
  });
  afterAll(() => silent.close());
  const asked = "-m anthropic:x --base-url http://SILENT";
  const loopingSource = `import { describeAccuracyTests } from "./sdk.js";
for (;;);
describeAccuracyTests([{ prompt: "Act.", expectedToolCalls: [] }]);
`;

  it.each([
    ...["tools", "init", "probe --yes", "doctor", "lint"].map((name) => `${name} --server SERVER`),
    ...[`run suite.json ${asked}`, `run suite.json ${asked} --batch`, `variants variants.json ${asked}`],
    ...["lint tools.json --judge anthropic:x --base-url http://SILENT", "tools --url http://SILENT/mcp"],
    ...["login http://SILENT/mcp", "worker redis://SILENT", "run suite.json -m lexical --queue redis://SILENT"],
    ...["view", "run suite.json -m lexical --watch", `queries suite.json --writer ${asked.slice(3)} --accept-all -y`],
    ...[
      `improve suite.json ${asked} --proposals variants.json`,
      "judge check labels.jsonl --judge anthropic:x --base-url http://SILENT",
    ],
    ...[`run changed.json ${asked} --check always`, `run changed.json ${asked} --nightly`],
    "import loop.test.ts --execute-source",
  ])("%s", async (line) => {
    const server = writeSilentServer();
    mkdirSync(join(dir, ".git"), { recursive: true });
    writeFileSync(join(dir, "loop.test.ts"), loopingSource);
    if (line.includes("changed.json")) {
      writeActSuite(dir, 20, {}, "changed.json");
      await spawnEvals(["run", "changed.json", ...flags().slice(1), "--accept"], { cwd: dir });
      const list = readFileSync(join(dir, "tools.json"), "utf8");
      if (line.includes("--check")) writeFileSync(join(dir, "tools.json"), list.replace("Acts.", "Changed."));
    }
    writeFileSync(join(dir, "labels.jsonl"), '{"transcript": "a", "criterion": "b", "label": "met"}');
    mkdirSync(join(dir, "evals"), { recursive: true });
    writeFileSync(join(dir, "evals/suite.json"), readFileSync(join(dir, "suite.json")));
    writeFileSync(join(dir, "variants.json"), JSON.stringify({ variants: { terse: { act: "Does it." } } }));
    connected = 0;
    const words = line.split(" ").map((word) => word.replace("SILENT", address).replace("SERVER", server.line));
    const { child, ended } = start(words, { cwd: dir });
    let [err, hasEnded] = ["", false];
    child.stderr?.on("data", (part) => (err += part));
    void ended.then(() => {
      hasEnded = true;
    });
    const hasStarted = () => connected > 0 || existsSync(server.mark) || err.includes("Press Ctrl-C");
    while (!hasEnded && !hasStarted() && !(line.startsWith("import") && listServers().length > 0)) await pause(20);
    expect(hasEnded, err).toBe(false);
    child.kill("SIGINT");
    while (!hasEnded && !err.includes("Stopping")) await pause(20);
    child.kill("SIGINT");
    await ended;
    await untilNoServer();
  });
});

describe("trouble with the disk", () => {
  it.skipIf(process.platform === "win32")(
    "leaves the manifest whole when only a part of it can be written",
    async () => {
      const cases = actCases(40).map((one) => ({ ...one, input: `${one.id} ${"x".repeat(100_000)}` }));
      writeActSuite(dir, 0, { server: { command: "node", args: [server, "none", dir] }, cases });
      const half = ["-m", "anthropic:x", "--base-url", endpoint.url, "-n", "1", "--max-requests", "20", "--json"];
      const { run: id } = summaryOf(await spawnEvals(["run", "suite.json", ...half], { cwd: dir }));
      // Blocks of 512 bytes, or of 1024: enough for the journal and less than the manifest.
      const { code, err } = await runUnder("ulimit -f 2000", ["run", "--resume", id]);
      expect({ code, err }).toEqual({ code: 3, err: expect.stringMatching(/run\.json cannot be written: EFBIG/) });
      expectPlain(err);
      const resumed = summaryOf(await spawnEvals(["run", "--resume", id, "--json"], { cwd: dir }));
      expect(resumed.totals).toMatchObject({ trials: 40, missing: 0 });
      expect(endpoint.requests).toHaveLength(40);
      expect(readdirSync(join(dir, "reports", id)).filter((name) => name.endsWith(".tmp"))).toEqual([]);
    },
  );

  it("is a plain message with exit code 3 from each command that writes a file", async () => {
    writeFileSync(join(dir, "file"), "");
    for (const args of [
      ["schema", "--output", "file"],
      ["init", "--server", `node ${server} none`, "--file", "file/suite.yaml"],
      ...["file", "file/reports"].map((out) => ["run", ...flags(), "--out", out]),
    ]) {
      const { code, err } = await spawnEvals(args, { cwd: dir });
      expect(code, `${args[0]}: ${err}`).toBe(3);
      expect(err).toMatch(/cannot be written: (EEXIST|ENOTDIR|ENOENT|EACCES|EROFS)/);
      expectPlain(err);
    }
    expect(endpoint.requests).toEqual([]);
  });

  it.each([
    [
      "the working directory was removed",
      'mkdir gone && cd gone && rmdir "$PWD"',
      "The working directory was removed.",
    ],
    ["few files may be open", "ulimit -n 48", "The system allows this program too few open files."],
  ])("is a plain message when %s", async (_, restrict, message) => {
    const { code, err } = await runUnder(restrict, ["run", join(dir, "suite.json"), ...flags().slice(1)]);
    expect([2, 3]).toContain(code);
    expect(err).toContain(`error: ${message}`);
    expectPlain(err);
  });

  it.skipIf(!existsSync("/dev/full"))("is a plain message when the output cannot be written", async () => {
    mkdirSync(join(dir, "empty"));
    const full = openSync("/dev/full", "w");
    const child = spawn(process.execPath, [cli, "run", "--help"], { stdio: ["ignore", full, "pipe"], cwd: dir });
    const closed = once(child, "close");
    expect(child.stderr && (await text(child.stderr))).toMatch(
      /^error: The output cannot be written: .*ENOSPC.*\.\n {2}Free space, or write it somewhere else\.\n$/,
    );
    expect((await closed)[0]).toBe(3);
  });
});
