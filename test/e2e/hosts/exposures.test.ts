import { describe, expect, it } from "vitest";
import { writeIn } from "../../fakes/folder.ts";
import { type MessageAnswer, type MessagesBody, startMessagesEndpoint } from "../../fixtures/endpoints/messages.ts";
import { type ResponseAnswer, type ResponsesBody, startResponsesEndpoint } from "../../fixtures/endpoints/responses.ts";
import { evals, summaryOf, trialsOf } from "../evals.ts";
import { needsHost, tidyFolders } from "./support.ts";

const claude = needsHost("claude-code");
const codex = needsHost("codex");
const at = tidyFolders();

const good = "Reads the text of one document.";
const spoiled = "Takes a path.";

/** A project with one case, whose tool a search for "document" finds by its description only. */
function project(name: string) {
  const dir = at(name);
  const inputSchema = { type: "object", properties: { path: { type: "string" } } };
  const move = { name: "move", description: "Moves a folder.", inputSchema };
  const list = (description: string) =>
    writeIn(dir, "tools.json", { tools: [{ name: "get", description, inputSchema }, move] });
  const cases = [{ id: "get", input: "What does the letter say?", expect: { tool: "get" } }];
  const server = { tools: "../tools.json" };
  writeIn(dir, "evals/files.json", { name: "files", server, trials: 6, maxTurns: 1, cases });
  writeIn(dir, "variants.json", { variants: { worded: { get: good } } });
  list(good);
  return { dir, list };
}

const said = { text: "There is no such tool." };

/** A model that searches for "document" where its tool is not defined, and calls what it then finds. */
function searching({ tools = [], messages }: MessagesBody): MessageAnswer {
  const search = tools.find(({ name }) => /^tool_search_tool_/.test(name))?.name;
  const wanted = tools.find(({ name }) => /^(mcp__\w+__)?get$/.test(name));
  const call = wanted && { type: "tool_use", id: "use", name: wanted.name, input: { path: "letter" } };
  if (search !== undefined) {
    const isFound = String(wanted?.description).includes("document");
    const tool_references = isFound ? [{ type: "tool_reference", tool_name: "get" }] : [];
    const result = { type: "tool_search_tool_search_result", tool_references };
    return {
      content: [
        { type: "server_tool_use", id: "srv", name: search, input: { query: "document" } },
        { type: "tool_search_tool_result", tool_use_id: "srv", content: result },
        ...(isFound && call ? [call] : [{ type: "text", text: said.text }]),
      ],
    };
  }
  if (call) return { calls: [{ name: call.name, input: call.input }] };
  const isSearched = messages.some(({ role }) => role === "assistant");
  return isSearched ? said : { calls: [{ name: "ToolSearch", input: { query: "document", max_results: 5 } }] };
}

const ways = [
  { exposure: "names", model: "anthropic:claude-sonnet-5-5", size: ["-n", "20"] },
  { exposure: "search", model: "anthropic:claude-sonnet-5-5", size: ["-n", "20"] },
  { exposure: "host", model: "claude-code:claude-sonnet-5-5", size: ["-n", "8"] },
];

describe.each(ways)("under the exposure $exposure", ({ exposure, model, size }) => {
  it("the check finds a description that a search no longer finds, blame names it, and a variant repairs it", async () => {
    const service = await startMessagesEndpoint(searching);
    const { dir, list } = project(exposure);
    const env = { ANTHROPIC_BASE_URL: service.url, CLAUDE_CODE_PATH: claude() };
    const run = (...args: string[]) => evals(args, { cwd: dir, env });
    const shared = ["-m", model, "--exposure", exposure];

    const { totals } = summaryOf(await run("run", ...shared, ...size, "--json"));
    expect(totals).toMatchObject({ passed: totals.trials, broken: 0 });
    expect((await run("baseline", "accept")).err).toBe("");
    list(spoiled);
    const checked = summaryOf(await run("run", ...shared, ...size, "--json"));
    // Two tools have two orders, too few to show that a model is deterministic.
    expect(checked.suites[0]?.verdict).toMatchObject({ kind: "regressed" });
    const blamed = await run("blame", "--json");
    const blames = JSON.stringify(JSON.parse(blamed.out).blames);
    expect([blames, blames]).toEqual([
      expect.stringContaining('"kind":"blamed"'),
      expect.stringContaining('"descriptions":["get"]'),
    ]);
    const varied = await run("variants", "variants.json", ...shared, "--json");
    expect(JSON.parse(varied.out)).toMatchObject({ kind: "adopt", winner: "worded" });
  });
});

describe("evals run --exposure host,all", () => {
  const arms = async (model: string, env: Record<string, string>) => {
    const { dir, list } = project(model.replace(/\W/g, "-"));
    list(spoiled);
    const ended = await evals(["run", "-m", model, "--exposure", "host,all", "-n", "3", "--json"], { cwd: dir, env });
    const summary = summaryOf(ended);
    expect(summary.totals).toMatchObject({ broken: 0 });
    return { exposures: summary.suites[0]?.arms?.[0]?.arms, trials: trialsOf(summary.dir) };
  };

  it("compares what Claude Code's search finds with every definition shown", async () => {
    const service = await startMessagesEndpoint(searching);
    const env = { ANTHROPIC_BASE_URL: service.url, CLAUDE_CODE_PATH: claude() };
    const { exposures, trials } = await arms("claude-code:claude-sonnet-5-5", env);
    expect(exposures).toMatchObject([
      { exposure: { kind: "host" }, discovery: { trials: 3, chosen: 0, outcomes: { "not-found": 3 } } },
      { exposure: { kind: "all" }, chosen: { passed: 3, trials: 3 } },
    ]);
    const shown = (arm: string) => trials.find(({ cell }) => cell.arm === arm)?.shown?.tools;
    expect(shown("head")?.named.toSorted()).toEqual(["get", "move"]);
    expect(shown("all")?.full.toSorted()).toEqual(["get", "move"]);
  });

  it("does the same for Codex", async () => {
    const service = await startResponsesEndpoint(({ tools = [], input }: ResponsesBody): ResponseAnswer => {
      const inner = [...tools, ...input.flatMap((item) => item.tools ?? [])];
      const space = inner.find((tool) => tool.tools?.some(({ name }) => name === "get"));
      if (space) return { calls: [{ name: `${space.name}__get`, input: { path: "letter" } }] };
      const isSearched = input.some(({ type }) => type === "tool_search_call");
      return isSearched ? said : { calls: [{ name: "tool_search", input: { query: "document" } }] };
    });
    const env = { OPENAI_BASE_URL: `${service.url}/v1`, OPENAI_API_KEY: "k", CODEX_PATH: codex() };
    const { exposures, trials } = await arms("codex:gpt-5.5", env);
    expect(exposures).toMatchObject([
      { exposure: { kind: "host" }, discovery: { trials: 3, chosen: 0 } },
      { exposure: { kind: "all" }, chosen: { passed: 3, trials: 3 } },
    ]);
    expect(trials.find(({ cell }) => cell.arm === "all")?.shown?.tools.full.toSorted()).toEqual(["get", "move"]);
  });
});
