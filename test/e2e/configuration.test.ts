import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { writeIn } from "../fakes/folder.ts";
import { startMessagesEndpoint } from "../fixtures/endpoints/messages.ts";
import { type Ended, evals, summaryOf, trialsOf, workspace } from "./evals.ts";

// A host's file with three servers of packages and fixtures, and one that does not start. `echo` is on two of them.
const dir = workspace();
const run = (...args: string[]) => evals(args, { cwd: dir });
const fixture = (name: string) => join(import.meta.dirname, "../fixtures/servers", name);
const ofPackage = (name: string) => join(dir, "node_modules/@modelcontextprotocol", name, "dist/index.js");

const file = (name: string, content: unknown) => writeIn(dir, name, content);
file("data/notes.txt", "Buy flour.\n");
file(".mcp.json", {
  mcpServers: {
    files: { command: "node", args: [ofPackage("server-filesystem"), join(dir, "data")] },
    everything: { command: "node", args: [ofPackage("server-everything")] },
    "my kit": { command: "node", args: [fixture("sdk1.mjs")] },
    gone: { command: "node", args: ["-e", "process.exit(7)"] },
    off: { command: "node", args: ["-e", "process.exit(8)"], disabled: true },
  },
});
const suite = (name: string, more: object, ...cases: object[]) => {
  const server = { config: "../.mcp.json", all: true };
  return file(`evals/${name}.json`, { server, execute: "never", ...more, cases });
};
const asks = (id: string, tool: string, more = {}) => ({ id, input: `please ${id}`, expect: { tool, ...more } });
const all = suite(
  "all",
  {},
  asks("read", "files__read_text_file"),
  asks("echo", "everything__echo"),
  asks("kit", "my_kit__echo"),
  asks("either", "everything__echo", { tool: ["files__read_text_file", "everything__echo"] }),
  asks("search", "gone__search"),
  asks("beside", "my_kit__get_sum", { avoid: "gone__add" }),
  asks("thanks", "none"),
);

/** A model that calls the echo of `my kit` for every echo, and for thanks. */
const startModel = () =>
  startMessagesEndpoint((body) => {
    const said = JSON.stringify(body.messages[0]?.content);
    const names = (body.tools ?? []).map(({ name }) => name);
    const find = (end: string) => names.find((name) => name.endsWith(end)) ?? "none";
    const own = names.find((name) => /my.kit.*__echo$/.test(name)) ?? find("everything__echo");
    const name = /please (echo|kit|thanks|either)/.test(said) ? own : find("files__read_text_file");
    return { calls: [{ name, input: { path: join(dir, "data/notes.txt"), message: "hi", text: "hi" } }] };
  });
const asked = (url: string) => ["-m", "anthropic:claude-sonnet-5-5", "--base-url", url, "--seed", "4"];

describe("a suite over a whole configuration", () => {
  it("counts what each server loses to and takes from the others, and goes on without one", async () => {
    const endpoint = await startModel();
    const ended = await run("run", all, ...asked(endpoint.url), "-n", "4", "--json");
    expect(ended.code).toBe(1);
    expect(ended.err).toContain('warning: Server "gone" exited with code 7.');
    expect(ended.err).toContain("evals doctor --config");
    expect(ended.err).not.toContain("off");
    const summary = summaryOf(ended);
    const servers = summary.suites[0]?.servers;
    expect(
      servers?.servers.map(({ name, tools, cases, right, lost, taken, broken }) => ({
        ...{ name, tools, cases, broken },
        ...{ right: `${right.passed}/${right.trials}`, lost: lost.passed, taken: `${taken.passed}/${taken.trials}` },
      })),
    ).toEqual([
      { name: "files", tools: 14, cases: 1, broken: 0, right: "4/4", lost: 0, taken: "0/12" },
      { name: "everything", tools: 13, cases: 1, broken: 0, right: "0/4", lost: 4, taken: "0/12" },
      { name: "my kit", tools: 8, cases: 2, broken: 4, right: "4/4", lost: 0, taken: "8/12" },
      { name: "gone", tools: 0, cases: 1, broken: 4, right: "0/0", lost: 0, taken: "0/16" },
    ]);
    expect(servers?.servers.map(({ tokens }) => tokens > 100)).toEqual([true, true, true, false]);
    expect(servers?.lost).toMatchObject([
      {
        from: "everything",
        to: "my kit",
        share: { passed: 4, trials: 4, interval: [expect.closeTo(0.51, 2), expect.closeTo(1, 6)] },
        confusions: [{ expected: "everything__echo", picked: "my_kit__echo", n: 4 }],
      },
      { from: null, to: "my kit", share: { passed: 4, trials: 4 } },
    ]);
    expect(servers).toMatchObject({ several: 1, clashes: [{ name: "echo", servers: ["everything", "my kit"] }] });
    const broken = trialsOf(summary.dir).filter(({ outcome }) => outcome.kind === "broken");
    expect(broken.map(({ cell, outcome }) => [cell.case, outcome])).toContainEqual([
      "search",
      { kind: "broken", stage: "server", message: 'Server "gone" exited with code 7.' },
    ]);
  });

  it("shows names as a host does, and executes a call on its server", async () => {
    const endpoint = await startModel();
    const live = suite(
      "live",
      { execute: "all", isolate: "trial" },
      asks("read", "files__read_text_file", { result: { contains: "flour" } }),
      asks("kit", "my_kit__echo", { result: { contains: "Echo: hi" } }),
    );
    const ended = await run("run", live, ...asked(endpoint.url), "-n", "1", "--host", "claude-code", "--json");
    expect(summaryOf(ended).totals).toMatchObject({ trials: 2, passed: 2, executed: 2 });
    const shown = endpoint.requests[0]?.body.tools?.map(({ name }) => name);
    expect(shown).toContain("mcp__files__read_text_file");
    expect(shown).toContain("mcp__my_kit__echo");
  });

  it("measures each server alone and beside more and more of the others", async () => {
    const endpoint = await startModel();
    const flags = ["-n", "4", "--distractors", "0,1,2", "--json"];
    const ended = await run("run", all, ...asked(endpoint.url), ...flags);
    const arms = summaryOf(ended).suites[0]?.arms?.[0]?.arms ?? [];
    // `everything` is alone, beside `files`, then beside `my kit` too, which takes its echo. The other cases are about no
    // server, several, or one that does not start, and are asked with all of them only.
    expect(arms.slice(1).map(({ passed, trials, foreign }) => [passed, trials, foreign])).toEqual([
      [12, 12, []],
      [8, 12, [{ expected: "everything__echo", picked: "my_kit__echo", n: 4 }]],
    ]);
    expect(arms[2]?.against).toMatchObject({ notAsked: ["beside", "either", "search", "thanks"] });
    const lists = endpoint.requests.map(({ body }) => body.tools?.length ?? 0);
    expect([...new Set(lists)].sort((a, b) => a - b)).toEqual([8, 13, 14, 22, 27, 35]);
  });

  it("is not verified while a server is missing, and lints each server", async () => {
    const verified = await run("baseline", "verify", all);
    expect([verified.code, verified.out]).toEqual([3, expect.stringContaining('Server "gone" exited with code 7.')]);
    const linted = await run("lint", all, "--json");
    expect(linted.out).toContain("my kit");
  });

  it("fails as one server does when none of them starts", async () => {
    file("dead.json", { mcpServers: { gone: { command: "node", args: ["-e", "process.exit(7)"] } } });
    const dead = suite("dead", { server: { config: "../dead.json", all: true } }, asks("search", "gone__search"));
    const ended: Ended = await run("run", dead);
    expect([ended.code, ended.err]).toEqual([3, expect.stringContaining('Server "gone" exited with code 7.')]);
  });
});
