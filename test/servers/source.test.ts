import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openSource, type SourceParts } from "../../src/evals/servers/source.ts";
import { later } from "../fakes/later.ts";
import { fixture, never, tidyUp } from "./servers.ts";

tidyUp();

const tool = (name: string) => ({ name, inputSchema: { type: "object" } });

/** A folder with a static list and a host configuration. */
async function folder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "toolsets-"));
  later(() => rm(dir, { recursive: true }));
  await writeFile(join(dir, "github.json"), JSON.stringify([tool("list_issues")]));
  const mcpServers = { mine: fixture("faulty.mjs", "fine"), silent: fixture("faulty.mjs", "silent") };
  await writeFile(join(dir, ".mcp.json"), JSON.stringify({ mcpServers }));
  return dir;
}

async function open(parts: Omit<SourceParts, "dir" | "name"> & { dir?: string }) {
  const source = await openSource(
    { name: "server", dir: await folder(), ...parts },
    { env: process.env, signal: never },
  );
  later(source.close);
  return source;
}

test("a live server and its distractors, each tool with its origin", async () => {
  const source = await open({
    server: { config: ".mcp.json", name: "mine" },
    distractors: [{ tools: "github.json" }, fixture("faulty.mjs", "noise")],
  });
  expect(source.tools).toEqual([
    { ...tool("tool_0"), server: "mine", origin: "server" },
    { ...tool("list_issues"), server: "github", origin: "distractor" },
    { ...tool("tool_0"), server: "faulty", origin: "distractor" },
  ]);
  expect(source.server?.name).toBe("mine");
  expect(source.server?.alive()).toBe(true);
  expect(source.warnings).toEqual([]);
});

test("a whole configuration is one list, each tool with its server's name in front; one that does not start is named", async () => {
  const dir = await folder();
  const mcpServers = {
    mine: { ...fixture("faulty.mjs", "huge"), env: { TOKEN: `\${UNSET}` } },
    "other one": fixture("faulty.mjs", "guided"),
    wrong: { command: "" },
    dead: fixture("faulty.mjs", "dies"),
    off: { ...fixture("faulty.mjs", "dies"), disabled: true },
  };
  await writeFile(join(dir, "all.json"), JSON.stringify({ servers: mcpServers }));
  const source = await open({ server: { config: "all.json", all: true }, distractors: [], dir });
  const shown = source.tools.map(({ name, ownName, server, origin }) => [name, ownName, server, origin]);
  expect(shown.slice(0, 2)).toEqual([
    ["mine__tool_0", "tool_0", "mine", "server"],
    ["other_one__kept", "kept", "other one", "server"],
  ]);
  expect(shown.at(-1)).toEqual(["instructions:other one", undefined, "other one", "instructions"]);
  expect(source.members).toEqual([
    { name: "mine" },
    { name: "other one" },
    { name: "wrong", failure: expect.stringContaining('Server "wrong" is malformed') },
    { name: "dead", failure: expect.stringContaining('Server "dead" exited with code 7') },
  ]);
  const [unset, wrong, dead] = source.warnings;
  expect(source.warnings).toHaveLength(3);
  expect(unset?.message).toBe('Server "mine" uses the environment variable UNSET, which is not set.');
  expect([wrong, dead]).toMatchObject([
    { severity: "warning", location: { line: 1 }, message: expect.stringContaining('"wrong"') },
    { severity: "warning", location: { line: 1 }, message: expect.stringContaining('"dead"') },
  ]);
  const call = async (tool: string) => await source.server?.call(tool, {}, never);
  expect(await call("mine__tool_0")).toMatchObject({ kind: "result" });
  expect(await call("dead__x")).toMatchObject({ kind: "broken", stage: "server" });
  expect(await call("tool_0")).toMatchObject({ kind: "unknown-tool" });
  expect((await source.server?.list(never))?.map(({ name }) => name)).toContain("other_one__plain");
  await source.server?.close();
  expect(source.server?.alive()).toBe(false);
  const again = await source.reopen(never);
  expect([again.alive(), again.about]).toEqual([
    true,
    {
      mine: expect.objectContaining({ transport: "stdio" }),
      "other one": expect.objectContaining({ transport: "stdio" }),
      wrong: { failure: expect.any(String) },
      dead: { failure: expect.any(String) },
    },
  ]);
});

test("keeps the instructions of a server as an entry, and of _meta only what hosts obey", async () => {
  const source = await open({ server: fixture("faulty.mjs", "guided"), distractors: [] });
  const own = { server: "faulty", origin: "server" };
  expect(source.tools).toEqual([
    { ...tool("kept"), ...own, _meta: { "anthropic/alwaysLoad": true } },
    { ...tool("hinted"), ...own, _meta: { "anthropic/searchHint": "weather forecast" } },
    { ...tool("plain"), ...own },
    { ...tool("odd"), ...own },
    { ...tool("instructions:faulty"), server: "faulty", origin: "instructions", description: "Ask before you delete." },
  ]);
  expect(source.tools.map((one) => "_meta" in one)).toEqual([true, true, false, false, false]);
});

test("joins the instructions of two servers with the same name", async () => {
  const guided = fixture("faulty.mjs", "guided");
  const source = await open({ server: fixture("faulty.mjs", "fine"), distractors: [guided, guided] });
  expect(source.tools.filter(({ origin }) => origin === "instructions")).toMatchObject([
    { name: "instructions:faulty", description: "Ask before you delete.\n\nAsk before you delete." },
  ]);
});

test("a static list offers tools and has no server", async () => {
  const source = await open({ server: { tools: "github.json" }, distractors: [] });
  expect(source.tools).toEqual([{ ...tool("list_issues"), server: "github", origin: "static" }]);
  expect(source.server).toBeUndefined();
  await expect(source.reopen(never)).rejects.toThrowErrorMatchingInlineSnapshot(`
    [EvalsError: error: The suite has no live server to open.
      Give it a server with a "command" or a "url".]
  `);
});

test("a suite without a server offers no tools", async () => {
  expect((await open({ distractors: [] })).tools).toEqual([]);
});

test("reopen starts a fresh process; close ends them all", async () => {
  const source = await open({ server: fixture("sdk1.mjs"), distractors: [] });
  const second = await source.reopen(never);
  expect(second.about).toEqual(source.server?.about);
  expect(await source.server?.call("crash", {}, never)).toMatchObject({ kind: "broken" });
  expect([source.server?.alive(), second.alive()]).toEqual([false, true]);
  await source.close();
  expect(second.alive()).toBe(false);
  await expect(source.reopen(never)).rejects.toThrow('error: The start of server "server" was cancelled.');
});

test("variables of the suite's own entry are filled in, with warnings", async () => {
  const server = { ...fixture("sdk1.mjs"), env: { A: `\${TOKEN}`, B: `\${NOT_SET}` } };
  const source = await openSource(
    { name: "server", server, distractors: [], dir: await folder() },
    { env: { TOKEN: "t" }, signal: never },
  );
  later(source.close);
  const outcome = await source.server?.call("read_env", {}, never);
  const text = outcome?.kind === "result" ? outcome.result.content[0]?.text : undefined;
  expect(JSON.parse(text ?? "")).toEqual({ A: "t" });
  expect(source.warnings.map(({ message }) => message)).toEqual([
    'Server "server" uses the environment variable NOT_SET, which is not set.',
  ]);
});

test("all that fails is told at once, and nothing is left open", async () => {
  const dir = await folder();
  const work = open({
    dir,
    server: fixture("faulty.mjs", "fine"),
    distractors: [
      { command: "no-such-program" },
      { config: ".mcp.json", name: "silent", startTimeoutMs: 200 },
      { config: ".mcp.json", name: "slient" },
    ],
  });
  const message = await work.catch((error: Error) => error.message.replaceAll(dir, "DIR"));
  expect(message).toMatchInlineSnapshot(`
    "error: Server "server: distractor 1" could not be started: there is no program "no-such-program".
      Install it, or use the absolute path of the program: a host may have a shorter PATH than a shell.
    error: Server "silent" did not answer within 0.2 s.
      Check that the command starts an MCP server over stdio.
    DIR/.mcp.json:1:15: error: No server "slient" is registered in this file.
      Did you mean "silent"? Registered: mine, silent."
  `);
});
