import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { makeFolder } from "../fakes/folder.ts";
import { type MessageAnswer, type MessagesBody, startMessagesEndpoint } from "../fixtures/endpoints/messages.ts";
import { evals, summaryOf, trialsOf } from "./evals.ts";

// A live server that hides its tools behind a search, a call and a tool for a namespace, with every command for such servers.
const server = join(import.meta.dirname, "../fixtures/servers/dispatcher.mjs");
const model = ["-m", "anthropic:claude-sonnet-5-5"];
let cwd = "";
beforeEach(() => {
  cwd = makeFolder();
  mkdirSync(join(cwd, "evals"));
  writeFileSync(join(cwd, "catalog.json"), execFileSync(process.execPath, [server, "catalog"]));
});

const texts = (content: MessagesBody["messages"][number]["content"]): string =>
  typeof content === "string"
    ? content
    : content.map((block) => String(block.text ?? texts((block.content ?? "") as never))).join("\n");

/** Searches for tools that it is told of, calls what it found, runs commands of storage, and writes queries. */
function answer(body: MessagesBody): MessageAnswer {
  const { messages, tools = [] } = body;
  const query = texts(messages[0]?.content ?? "");
  const last = texts(messages.at(-1)?.content ?? "");
  if (tools.length === 0) return { text: write(query) };
  if (messages.length > 3) return { text: "Here it is." };
  const named = / (?:in|by|at) (.+)\?/.exec(query)?.[1] ?? "";
  const organization = named;
  if (/accounts/i.test(query) && messages.length === 1)
    return { calls: [{ name: "storage", input: { command: "account_list", parameters: { subscription: named } } }] };
  if (messages.length > 1) {
    const wanted = /shipped|release/i.test(query) ? "find_releases" : "find_issues";
    if (!last.includes(wanted)) return { text: "Nothing fits." };
    return { calls: [{ name: "execute_tool", input: { name: wanted, arguments: { organization } } }] };
  }
  const search = tools.find(({ name }) => name === "search_tools");
  const isKnown = String(search?.description).includes("issues");
  return isKnown && /issue|error|release|shipped/i.test(query)
    ? { calls: [{ name: "search_tools", input: { query } }] }
    : { text: "I cannot do that." };
}

let written = 0;

/** The query that a writer is asked for, with the values that it must contain. */
function write(prompt: string): string {
  const [, request = ""] = prompt.split("\n");
  const values = /must contain: (.+)/.exec(prompt)?.[1] ?? "";
  if (prompt.includes("can do none of this")) return "How tall is the tower?";
  // Of two queries that say the same, one is left out.
  if (/issue/i.test(request))
    return written++ === 0 ? `Which errors does it have in ${values}?` : `Show every open issue by ${values}?`;
  if (/release/i.test(request)) return `What was shipped last week by ${values}?`;
  return "Which accounts do we keep?";
}

const suite = (env: object = {}) =>
  writeFileSync(
    join(cwd, "evals/tracker.json"),
    JSON.stringify({
      server: { command: process.execPath, args: [server], env },
      dispatch: {
        search_tools: { search: "query" },
        execute_tool: { name: "name", arguments: "arguments" },
        storage: { name: "command", arguments: "parameters" },
      },
      catalog: "../catalog.json",
      trials: 3,
      cases: [
        {
          id: "issues",
          input: "Which errors are open at acme?",
          expect: { tool: "find_issues", args: { organization: "acme" } },
        },
        {
          id: "releases",
          input: "What was shipped by acme?",
          expect: { tool: "find_releases", result: { contains: "find_releases of acme" } },
        },
        { id: "accounts", input: "Which accounts are there?", expect: { tool: "account_list", avoid: "find_issues" } },
      ],
    }),
  );

const open = async () => {
  const endpoint = await startMessagesEndpoint(answer);
  const env = { ANTHROPIC_API_KEY: "test", ANTHROPIC_BASE_URL: endpoint.url };
  return (...args: string[]) => evals(args, { cwd, env });
};

describe("a live server with dispatchers", () => {
  it("is drafted from a catalog, by a model too, and the drafts run", async () => {
    const run = await open();
    const given = ["--server", `node ${server}`];
    const plain = await run("init", ...given, "--file", "evals/plain.yaml");
    expect(plain.out.replace(/\s+/g, " ")).toContain(
      "Drafted evals/plain.yaml: 5 queries (0 tools, 5 that need no tool). Every tool calls or finds others: name a list of those with --catalog.",
    );
    await run("init", ...given, "--catalog", "catalog.json");
    const flags = ["--accept-all", "--writer", "anthropic:claude-sonnet-5-5"];
    const drafted = await run("queries", "evals/tracker.yaml", ...flags);
    expect([drafted.code, drafted.err]).toEqual([0, expect.stringContaining("No tool is executed.")]);
    const text = readFileSync(join(cwd, "evals/tracker.yaml"), "utf8");
    expect(text).toContain("By anthropic:claude-sonnet-5-5, prompt ");
    expect(text).toContain(
      "dispatch: { search_tools: { search: query }, execute_tool: { name: name, arguments: arguments }",
    );
    expect(text).toContain("catalog: ../catalog.json");
    expect(text).toContain("What was shipped last week by");
    expect(text).not.toContain("expect: { tool: search_tools");
    const ran = await run("run", "evals/tracker.yaml", ...model, "-n", "1", "--json");
    const [summary] = summaryOf(ran).suites;
    expect(summary?.cases.flatMap(({ id, reasons }) => reasons.map(({ text: why }) => `${id}: ${why}`))).toEqual([]);
    expect(summary?.cases.map(({ expected }) => expected)).toContain("find_releases");
    expect(summary?.discovery).toMatchObject({ found: 3 });
  });

  it("is scored by the tool inside, verified, and a wording of its search is blamed", async () => {
    const run = await open();
    suite();
    const accepted = await run("run", ...model, "--accept", "--json");
    expect([accepted.code, accepted.err]).toEqual([0, expect.not.stringContaining("warning")]);
    const summary = summaryOf(accepted);
    expect(summary.suites[0]).toMatchObject({ ok: true, discovery: { trials: 9, found: 6, chosen: 6 } });
    const trials = trialsOf(summary.dir);
    expect(
      trials[0]?.turns.flatMap(({ calls }) => calls.map(({ tool, role, inner }) => [tool, role, inner?.tool])),
    ).toEqual(expect.arrayContaining([["storage", undefined, "account_list"]]));
    const { out: shown } = await run("show", "issues", "--trial", "1");
    expect(shown.slice(shown.indexOf("Calls: "), shown.indexOf("\nResult: find_issues of"))).toMatchInlineSnapshot(`
      "Calls: execute_tool {"name":"find_issues","arguments":{"organization":"acme"}}
      Inner call: find_issues {"organization":"acme"}"
    `);
    const verified = await run("baseline", "verify");
    expect([verified.code, verified.out]).toEqual([0, expect.stringContaining("3 of 3")]);
    expect((await run("lint", "evals/tracker.json", "--all")).out).not.toContain("dispatcher-");

    suite({ VAGUE: "1" });
    const changed = await run("baseline", "verify");
    expect([changed.code, changed.out]).toEqual([1, expect.stringContaining("search_tools")]);
    const checked = await run("run", ...model, "--check", "on", "-n", "12", "--blame");
    expect(checked.code).toBe(1);
    const blamed = checked.out.slice(checked.out.indexOf("BLAMED"));
    expect(blamed.split("\n").slice(0, 3).join("\n")).toMatchInlineSnapshot(`
      "BLAMED: search_tools
        It is the only change of the list, so no model was asked. To confirm the fall of issues and
          releases, check again."
    `);
  });

  it("is warned of where a case expects a dispatcher", async () => {
    const run = await open();
    suite();
    const declared = JSON.parse(readFileSync(join(cwd, "evals/tracker.json"), "utf8"));
    const cases = [{ input: "Search for tools", expect: { tool: "search_tools" } }];
    writeFileSync(join(cwd, "evals/tracker.json"), JSON.stringify({ ...declared, cases }));
    const { err } = await run("run", "evals/tracker.json");
    expect(err).toContain('"search_tools" is under "dispatch": a call of it counts as the tool that it calls.');
  });
});
