import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeFolder } from "../fakes/folder.ts";
import { type MessageAnswer, type MessagesBody, startMessagesEndpoint } from "../fixtures/endpoints/messages.ts";
import { evals, summaryOf, trialsOf } from "./evals.ts";

// A live server in four ways: all tools, one tool a namespace, consolidated, read-only.
const cwd = makeFolder();
const server = (surface: string) => ({
  command: process.execPath,
  args: [join(import.meta.dirname, "../fixtures/servers/surfaces.mjs"), surface],
});
const asks = (id: string, input: string, tool: string, result: string) => ({
  ...{ id, input },
  expect: { tool, args: { name: "main" }, result: { contains: result } },
});
const dispatch = {
  storage: { name: "command", arguments: "parameters" },
  keyvault: { name: "command", arguments: "parameters" },
};
mkdirSync(join(cwd, "evals"));
writeFileSync(
  join(cwd, "evals/cloud.json"),
  JSON.stringify({
    server: server("all"),
    execute: "additive",
    surfaces: [
      { name: "namespace", server: server("namespace"), dispatch },
      {
        ...{ name: "consolidated", server: server("consolidated") },
        names: { account_show: "account", account_create: "account", vault_show: "vault" },
      },
      { name: "read-only", server: server("read-only"), names: { account_create: null } },
    ],
    cases: [
      asks("show", "Show the account main", "account_show", "of main"),
      asks("create", "Create the account main", "account_create", "of main"),
      asks("vault", "Show the vault main", "vault_show", "of main"),
      { id: "thanks", input: "Thanks!", expect: { tool: "none" } },
    ],
  }),
);

/** Picks by the words of the request; takes the namespace of accounts for vaults too. A token is four bytes of the list. */
function answer({ messages, tools = [] }: MessagesBody): MessageAnswer {
  const query = JSON.stringify(messages[0]?.content);
  const usage = { input_tokens: Math.round(JSON.stringify(tools).length / 4) };
  if (query.includes("Thanks")) return { text: "You are welcome.", usage };
  const names = tools.map(({ name }) => name);
  const wanted = query.includes("Create") ? "account_create" : query.includes("vault") ? "vault_show" : "account_show";
  if (names.includes("storage"))
    return {
      usage,
      calls: [
        { name: "storage", input: { command: wanted.replace("vault", "account"), parameters: { name: "main" } } },
      ],
    };
  const name = names.includes("account") ? (/^[a-z]+/.exec(wanted)?.[0] ?? "") : wanted;
  return { usage, calls: [{ name, input: { name: "main" } }] };
}

describe("surfaces of a live server", () => {
  it("are asked beside each other on their own servers, with names, tokens and shared error rates", async () => {
    const endpoint = await startMessagesEndpoint(answer);
    const env = { ANTHROPIC_API_KEY: "test", ANTHROPIC_BASE_URL: endpoint.url };
    const flags = ["run", "--surfaces", "-m", "anthropic:claude-sonnet-5-5", "-n", "12", "--seed", "1"];
    const ended = await evals([...flags, "--json"], { cwd, env });
    expect([ended.code, ended.err]).toEqual([
      0,
      "Calls of these tools are executed: account_show, account_create, vault_show, storage, keyvault, account, vault.\n",
    ]);
    const { suites, dir } = summaryOf(ended);
    const exposures = suites[0]?.arms?.[0]?.arms ?? [];
    expect(exposures.map(({ name, passed, trials, chosen }) => [name, passed, trials, chosen])).toEqual([
      ["default", 48, 48, { passed: 36, trials: 36 }],
      ["namespace", 36, 48, { passed: 24, trials: 36 }],
      ["consolidated", 48, 48, { passed: 36, trials: 36 }],
      ["read-only", 36, 36, { passed: 24, trials: 24 }],
    ]);
    expect(exposures.map(({ against }) => against && [against.verdict, against.comparisons])).toEqual([
      undefined,
      ["worse", 6],
      ["equal", 6],
      ["equal", 6],
    ]);
    expect(exposures[1]?.against?.fell.map((one) => one.case)).toEqual(["vault"]);
    // Tokens of a request are those of its own list.
    const sizes = new Map(
      endpoint.requests.map(({ body }) => [
        body.tools
          ?.map(({ name }) => name)
          .sort()
          .join(),
        JSON.stringify(body.tools).length / 4,
      ]),
    );
    expect(sizes.size).toBe(4);
    for (const { tokensPerRequest } of exposures)
      expect([...sizes.values()].some((size) => Math.abs(size - (tokensPerRequest ?? 0)) < 2)).toBe(true);
    // Each call is executed on the server of its surface.
    const results = trialsOf(dir).flatMap(({ cell, turns }) =>
      turns.flatMap(({ calls }) =>
        calls.map(
          ({ execution }) =>
            `${cell.arm}: ${execution?.status === "executed" ? execution.result.content[0]?.text : "skipped"}`,
        ),
      ),
    );
    expect([...new Set(results)].sort()).toEqual([
      ...["consolidated: consolidated: account of main", "consolidated: consolidated: vault of main"],
      ...["head: all: account_create of main", "head: all: account_show of main", "head: all: vault_show of main"],
      ...["namespace: namespace: account_create of main", "namespace: namespace: account_show of main"],
      ...["read-only: read-only: account_show of main", "read-only: read-only: vault_show of main"],
    ]);
    const { out } = await evals(["show"], { cwd });
    expect(out.slice(out.indexOf("Surfaces\n"), out.indexOf("Chosen: an expected tool was called."))).toMatchSnapshot();
  });
});
