import { readdirSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { runManifestSchema } from "../../src/evals/base/types/run.ts";
import { makeFolder, writeIn } from "../fakes/folder.ts";
import { later } from "../fakes/later.ts";
import { startMessagesEndpoint } from "../fixtures/endpoints/messages.ts";
import { evals, start, summaryOf } from "./evals.ts";

const root = join(import.meta.dirname, "../..");
let dir = "";
beforeEach(() => {
  dir = makeFolder();
  symlinkSync(join(root, "node_modules"), join(dir, "node_modules"));
  write("evals/mail.yaml", mailSuite("Send a mail to Ann"));
  write("evals/files.yaml", filesSuite);
  write("lists/mail.json", mailTools);
  write("server/main.mjs", serverMain);
  write("server/texts.mjs", texts("Reads the text of one file.", "Reads the entries of one folder."));
  write("home/.keep", "");
});
/** Replaces a file as editors do: a reader never sees a half-written one. */
const write = (name: string, content: string) =>
  renameSync(join(dir, writeIn(dir, `${name}.new`, content)), join(dir, name));

function linkSuite(target: string): void {
  symlinkSync(target, join(dir, "link"));
  renameSync(join(dir, "link"), join(dir, "evals/mail.yaml"));
}

const mailSuite = (input: string) => `server: { tools: ../lists/mail.json }
cases:
  - { id: send, input: ${input}, expect: { tool: send_mail } }
`;
const mailTools = JSON.stringify([
  { name: "send_mail", description: "Sends a mail to a person.", inputSchema: { type: "object" } },
]);
const filesSuite = `server: { command: node, args: [../server/main.mjs] }
cases:
  - { id: read, input: Read the text of the file notes.txt, expect: { tool: read_file } }
  - { id: list, input: Read the entries of the folder src, expect: { tool: read_folder } }
  - { id: zone, input: Which zone of time is Oslo in, expect: { tool: lookup_zone } }
`;
const serverMain = `import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { texts } from "./texts.mjs";
const server = new Server({ name: "files", version: "1" }, { capabilities: { tools: {} } });
const tools = Object.entries(texts).map(([name, description]) => ({ name, description, inputSchema: { type: "object" } }));
server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
await server.connect(new StdioServerTransport());
`;
const texts = (file: string, folder: string) =>
  `export const texts = ${JSON.stringify({ read_file: file, read_folder: folder, lookup_zone: "Looks up the zone of time of a city." })};\n`;

/** `evals run --watch`, and what it printed. `waits(n)` resolves when it waits for changes for the n-th time. */
function watchRun(args: readonly string[] = [], env: Record<string, string> = {}) {
  const { child, ended } = start(["run", "--watch", ...args], { cwd: dir, env: { HOME: join(dir, "home"), ...env } });
  let err = "";
  const waiting: { n: number; done: () => void }[] = [];
  const check = () => {
    const n = err.match(/^Watching /gm)?.length ?? 0;
    for (const one of waiting) if (n >= one.n) one.done();
  };
  child.stderr?.on("data", (data) => {
    err += data;
    check();
  });
  later(() => child.kill("SIGKILL"));
  const waits = (n: number) =>
    Promise.race([
      new Promise<void>((done) => {
        waiting.push({ n, done });
        check();
      }),
      ended.then(({ out, err: all }) => Promise.reject(new Error(`ended early:\n${out}\n${all}`))),
    ]);
  const stop = async () => {
    child.kill("SIGINT");
    return await ended;
  };
  return { waits, stop, ended };
}

const partialRecords = () =>
  readdirSync(join(dir, "reports/partial"))
    .filter((name) => name !== "last-result")
    .sort()
    .map((id) =>
      runManifestSchema.parse(JSON.parse(readFileSync(join(dir, "reports/partial", id, "run.json"), "utf8"))),
    );
const askedIn = (record: ReturnType<typeof partialRecords>[number] | undefined) =>
  record?.partial?.asked.map(({ case: id, why, tools }) => [id, why, ...tools].join(" "));

describe("evals run --watch", () => {
  it("asks all cases, then those that a change of a suite, of a list and of a server's source touches", async () => {
    const watch = watchRun();
    await watch.waits(1);
    write("evals/mail.yaml", mailSuite("Send a mail to Bob"));
    await watch.waits(2);
    write("lists/mail.json", mailTools.replace("to a person", "to one person"));
    await watch.waits(3);
    write("server/texts.mjs", texts("Reads the text of a single file.", "Reads the entries of one folder."));
    await watch.waits(4);
    // The text of a case is what was asked; a comment changes nothing.
    write("evals/mail.yaml", `# Cases on mail\n${mailSuite("Send a mail to Bob")}`);
    await watch.waits(5);
    write("evals/more.yaml", mailSuite("Send a mail to Eve"));
    await watch.waits(6);
    const { code, err } = await watch.stop();
    expect(code).toBe(0);
    expect(partialRecords().map(askedIn)).toEqual([
      ["read no record", "list no record", "zone no record", "send no record"],
      ["send edited"],
      ["send stale send_mail"],
      ["read stale read_file", "list neighbor read_file"],
      ["send no record"],
    ]);
    expect(partialRecords().at(3)?.partial?.leftOut).toEqual([
      { suite: "files", why: "unchanged", cases: 1 },
      { suite: "mail", why: "unchanged", cases: 1 },
    ]);
    expect(err).toContain("Changed: server/texts.mjs\n");
    expect(err).toContain("No case is asked: no change since they were last asked affects any of 4 cases.\n");
    expect(err).toContain("Stopped watching after 5 runs. Records: reports/partial\n");
  });

  it("prints what is wrong while a suite or a server is edited, and goes on", async () => {
    const wrong = "  - { id: send, input: Hello, expct: {} }\n";
    write("evals/mail.yaml", `server: { tools: ../lists/mail.json }\ncases:\n${wrong}`);
    const watch = watchRun();
    await watch.waits(1);
    write("evals/mail.yaml", mailSuite("Send a mail to Ann"));
    await watch.waits(2);
    write("server/texts.mjs", "throw new Error('half written');\nexport const texts = {};\n");
    await watch.waits(3);
    write("server/texts.mjs", texts("Reads one text file.", "Reads the entries of one folder."));
    await watch.waits(4);
    write("evals.config.yaml", "trails: 3\n");
    await watch.waits(5);
    write("evals.config.yaml", "suites: { mail: { maxTurns: 2 } }\n");
    await watch.waits(6);
    const { code, err } = await watch.stop();
    expect(code).toBe(0);
    const stale = ["read", "list", "zone"].map((id) => expect.stringMatching(new RegExp(`^${id} stale`)));
    expect(err).toMatch(/evals\/mail\.yaml:3:\d+: error: .*expct/);
    expect(err).toContain("half written");
    expect(err).toMatch(/evals\.config\.yaml:1:1: error: .*trails/);
    expect(partialRecords().map(askedIn)).toEqual([
      ["read no record", "list no record", "zone no record", "send no record"],
      ...[stale, stale, ["send edited"]],
    ]);
  });

  it("asks with what is saved while a server is started that fails", async () => {
    const watch = watchRun();
    await watch.waits(1);
    const repaired = texts("Reads one text file.", "Reads the entries of one folder.");
    // It is started twice before it is given up. At the second time it does what a user does who saves the file again.
    const broken = [
      'import { existsSync, renameSync, writeFileSync } from "node:fs";',
      "const own = new URL(import.meta.url).pathname;",
      'const isSecond = existsSync(own + ".once");',
      `writeFileSync(own + ".once", ${JSON.stringify(repaired)});`,
      'if (isSecond) renameSync(own + ".once", own);',
      'throw new Error("half written");',
      "export const texts = {};",
    ];
    write("server/texts.mjs", broken.join("\n"));
    await watch.waits(3);
    const { err } = await watch.stop();
    expect(err).toContain("half written");
    expect(partialRecords().map(askedIn).at(-1)?.[0]).toMatch(/^read stale/);
  });

  it.each([
    ["a folder that is removed and made again", () => rmSync(join(dir, "evals"), { recursive: true })],
    ["a suite that becomes a link to a device without end", () => linkSuite("/dev/zero")],
    ["a suite that becomes a link to a file outside", () => linkSuite("/etc/passwd")],
  ])("goes on after %s", async (_, spoil) => {
    rmSync(join(dir, "evals/files.yaml"));
    const watch = watchRun();
    await watch.waits(1);
    spoil();
    await watch.waits(2);
    write("evals/mail.yaml", mailSuite("Send a mail to Bob"));
    await watch.waits(3);
    const { code, err } = await watch.stop();
    expect([code, err]).toEqual([0, expect.stringContaining("error: ")]);
    expect(err).not.toContain("root:");
    expect(partialRecords().map(askedIn).at(-1)).toEqual(["send edited"]);
  });

  it("keeps one budget for all its runs, and records each reply once", async () => {
    const endpoint = await startMessagesEndpoint(() => ({
      calls: [{ name: "send_mail", input: {} }],
      usage: { input_tokens: 1_000_000 },
    }));
    rmSync(join(dir, "evals/files.yaml"));
    const watch = watchRun(["-m", "anthropic:claude-haiku-5-5", "--base-url", endpoint.url, "--budget", "0.8"]);
    await watch.waits(1);
    write("evals/mail.yaml", mailSuite("Send a mail to Bob"));
    const { code, err } = await watch.ended;
    expect(code).toBe(3);
    expect(err).toContain("The budget of $0.8 is spent. Stopped watching after 2 runs.");
    expect(endpoint.requests.length).toBe(2);
  });

  it("asks with --cache only what no save before had asked, and needs the model for nothing else", async () => {
    const endpoint = await startMessagesEndpoint(() => ({ calls: [{ name: "send_mail", input: {} }] }));
    rmSync(join(dir, "evals/files.yaml"));
    const second = (input: string) =>
      `${mailSuite("Send a mail to Ann")}  - { id: more, input: ${input}, expect: { tool: send_mail } }\n`;
    write("evals/mail.yaml", second("Send a mail to Bob"));
    const watch = watchRun(["-m", "anthropic:claude-haiku-5-5", "--base-url", endpoint.url, "--cache"]);
    await watch.waits(1);
    write("lists/mail.json", mailTools.replace("to a person", "to one person"));
    await watch.waits(2);
    // One save takes the change of the list back and edits one case: the other is asked as it was at first.
    write("evals/mail.yaml", second("Send a mail to Eve"));
    await watch.waits(3);
    write("lists/mail.json", mailTools);
    await watch.waits(4);
    const { code, out } = await watch.stop();
    expect(code).toBe(0);
    expect(partialRecords().map(({ totals }) => [totals?.calls, totals?.cached ?? 0])).toEqual([
      [2, 0],
      [2, 0],
      [1, 0],
      [1, 1],
    ]);
    expect(endpoint.requests.map(({ body }) => /to (Ann|Bob|Eve)/.exec(JSON.stringify(body.messages))?.[1])).toEqual([
      ...["Ann", "Bob", "Ann", "Bob", "Eve", "Eve"],
    ]);
    expect(out).toContain("DRAFT");
  });

  it("ends at once on a signal while a model is asked, and the rest can be resumed", async () => {
    let answer = () => {};
    const asked = new Promise<void>((done) => {
      answer = done;
    });
    const endpoint = await startMessagesEndpoint(() => {
      answer();
      return { fault: "hang" };
    });
    rmSync(join(dir, "evals/files.yaml"));
    const model = ["-m", "anthropic:claude-haiku-5-5", "--base-url", endpoint.url];
    const watch = watchRun(model);
    await asked;
    const { code, err } = await watch.stop();
    expect(code).toBe(130);
    const [record] = partialRecords();
    expect(err).toContain(`evals run --resume ${join(dir, "reports/partial", record?.id ?? "")}`);
    expect(record?.finishedAt).toBeUndefined();
  });
});

describe("evals run --changed", () => {
  const run = (...args: string[]) => evals(["run", ...args], { cwd: dir, env: { HOME: join(dir, "home") } });

  it("asks the cases that changed since the baseline, and is no baseline and no latest run", async () => {
    expect((await run("--accept")).code).toBe(0);
    const before = await evals(["show", "--format", "json"], { cwd: dir });
    const nothing = await run("--changed");
    expect([nothing.code, nothing.out]).toEqual([
      0,
      "No case is asked: no change since the accepted baseline affects any of 4 cases.\n",
    ]);
    write("server/texts.mjs", texts("Reads the text of a single file.", "Reads the entries of one folder."));
    write("evals/mail.yaml", mailSuite("Mail Ann"));

    const planned = await run("--changed", "--dry-run");
    expect(planned.out).toContain("files: 2 cases");
    expect(planned.err).toMatchSnapshot();
    const changed = await run("--changed");
    expect(changed.code).toBe(0);
    expect(changed.out.replace(/\s+/g, " ")).toContain("in 3 of 3 cases · partial run, 1 case left out");

    const summary = summaryOf(await run("--changed", "--json"));
    expect(summary.partial?.leftOut).toEqual([{ suite: "files", why: "unchanged", cases: 1 }]);
    expect(summaryOf(await evals(["show", summary.run, "--format", "json"], { cwd: dir })).partial).toBeDefined();

    expect(summaryOf(await evals(["show", "--format", "json"], { cwd: dir })).run).toBe(summaryOf(before).run);
    const history = JSON.parse((await evals(["show", "--history", "--json"], { cwd: dir })).out);
    expect(history.histories.flatMap((one: { runs: unknown[] }) => one.runs)).toHaveLength(2);
    for (const more of [[], ["--force"]]) {
      const refused = await evals(["baseline", "accept", summary.run, ...more], { cwd: dir });
      expect([refused.code, refused.err]).toEqual([
        2,
        expect.stringContaining(`error: The run ${summary.run} is partial: it asked 3 of 4 cases.\n`),
      ]);
    }
  });

  it("asks every case where nothing is accepted, or nothing that can be compared", async () => {
    const first = await run("--changed");
    expect(first.err).toContain(
      "  read, list, zone of files: there is no accepted baseline\n  send of mail: there is no accepted baseline\n",
    );
    await run("--accept");
    const other = await run("--changed", "--host", "codex");
    expect(other.err).toContain(
      'warning: Every case of "files" is asked: its baseline cannot be compared. The host profile',
    );
    expect(other.err).toContain("Asking 4 of 4 cases.");
  });

  it("is broken, not passed, where a server cannot be listed", async () => {
    await run("--accept");
    write("server/texts.mjs", "throw new Error('half written');\n");
    const { code, err } = await run("--changed");
    expect(code).toBe(3);
    expect(err).toContain("Asking 3 of 4 cases.");
  });
});
