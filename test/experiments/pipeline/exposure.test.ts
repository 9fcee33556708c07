import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runSummarySchema } from "../../../src/evals/base/types/run.ts";
import { run } from "../../../src/evals/experiments/run/run.ts";
import { variants } from "../../../src/evals/experiments/variants/ask.ts";
import { passedOf } from "../../fakes/record.ts";
import type { MessageAnswer, MessagesBody } from "../../fixtures/endpoints/messages.ts";
import { startResponsesEndpoint } from "../../fixtures/endpoints/responses.ts";
import { endpoint, experimentDefaults, project, runDefaults, toolList } from "./project.ts";

const suite = (trials: number) => ({
  name: "files",
  server: { tools: "../tools.json" },
  trials,
  cases: [
    { id: "read", input: "What is the text of the file notes.txt?", expect: { tool: "read" } },
    { id: "list", input: "Which entries does the folder src have?", expect: { tool: "list" } },
  ],
});

const wanted = ({ messages }: MessagesBody) => (JSON.stringify(messages).includes("notes.txt") ? "read" : "list");
const isSearched = ({ messages }: MessagesBody) => messages.length > 1;
const has = ({ tools = [] }: MessagesBody, name: string) => tools.some((tool) => tool.name === name);
const call = (name: string, input: object = {}): MessageAnswer => ({ calls: [{ name, input }] });

/** Calls what is wanted where it is defined; else searches for "folder", which the description of read lacks. */
function findByFolder(body: MessagesBody): MessageAnswer {
  if (has(body, wanted(body))) return call(wanted(body));
  return isSearched(body) ? { text: "There is no such tool." } : call("ToolSearch", { query: "folder" });
}

/** Searches with the tool of the API, which finds everything. */
function findByApi(body: MessagesBody): MessageAnswer {
  const name = wanted(body);
  if (!has(body, "tool_search_tool_bm25")) return call(name);
  return {
    content: [
      { type: "server_tool_use", id: "srv", name: "tool_search_tool_bm25", input: { query: name } },
      {
        type: "tool_search_tool_result",
        tool_use_id: "srv",
        content: {
          type: "tool_search_tool_search_result",
          tool_references: [{ type: "tool_reference", tool_name: name }],
        },
      },
      { type: "tool_use", id: "use", name, input: {} },
    ],
  };
}

async function runOn(answer: (body: MessagesBody) => MessageAnswer, options: object, trials = 3) {
  const { io, dir, records, manifest, trials: recorded } = project({ "evals/files.json": suite(trials) });
  const { started, model, asked } = await endpoint(answer);
  const world = io();
  const code = await run({ ...runDefaults, ...asked, model: [model], ...options }, world);
  const [id = ""] = records();
  const file = (name: string) => readFileSync(join(dir, "reports", id, name), "utf8");
  return { code, world, started, file, manifest: () => manifest(id), recorded: () => recorded(id) };
}

describe("evals run --exposure names", () => {
  it("records how tools were shown, every search, and how expected tools were found and chosen", async () => {
    const { code, world, manifest, recorded, file } = await runOn(findByFolder, { exposure: "names" });
    expect(code).toBe(1);
    const summary = runSummarySchema.parse(JSON.parse(world.printed()));
    expect(manifest().models[0]).toMatchObject({
      note: "names shown, definitions found on the client by keyword 1",
      exposures: [{ kind: "names", ranker: "keyword 1" }],
    });
    expect(summary.suites[0]?.discovery).toEqual({
      ...{ trials: 6, found: 3, chosen: 3, outcomes: { chosen: 3, "not-found": 3 } },
      ...{ notFound: [{ expected: "read", query: "folder", n: 3 }], notChosen: [], builtIns: [] },
    });
    expect(recorded()[0]?.turns[0]?.searches).toEqual([{ query: "folder", found: ["list"] }]);
    expect(recorded()[0]?.verdict?.discovery).toEqual({ outcome: "not-found", queries: ["folder"] });
    expect(file("junit.xml")).toContain('<property name="search" value="found 3 of 6, chosen 3 of 3"/>');
    const reason = 'search: the search for "folder" did not find the expected tool';
    expect(file("junit.xml").replaceAll("&quot;", '"')).toContain(reason);
    expect(file("report.html")).toContain(JSON.stringify(reason).slice(1, -1));
  });

  it("prints what was found and chosen, and the queries that found nothing", async () => {
    const { world } = await runOn(findByFolder, { exposure: "names", json: false });
    const text = world.printed();
    expect(text.slice(text.indexOf("Tool search"), text.indexOf("Cases that fail"))).toMatchSnapshot();
  });

  it("uses the requested ranker", async () => {
    const bm25 = await runOn(findByFolder, { exposure: "names", ranker: "bm25" });
    expect(bm25.manifest().models[0]?.exposures).toEqual([{ kind: "names", ranker: "bm25 1" }]);
  });

  it("refuses a suite with a tool named like the search", async () => {
    const list = [...toolList(), { name: "ToolSearch", inputSchema: { type: "object" } }];
    const { io } = project({ "tools.json": list });
    await expect(run({ ...runDefaults, exposure: "names" }, io())).rejects.toThrowErrorMatchingInlineSnapshot(`
      [EvalsError: evals/files.json: error: The suite "files" lists a tool "ToolSearch", a name that is reserved where only names are shown.
        Use --exposure all for this suite.]
    `);
  });

  it("is not comparable with a baseline of all definitions", async () => {
    const { io } = project({ "evals/files.json": suite(1) });
    const { accept } = await import("../../../src/evals/experiments/baseline/accept.ts");
    await run(runDefaults, io());
    await accept({ baselines: "evals/baselines", out: "reports", force: false }, io());
    const world = io();
    await run({ ...runDefaults, exposure: "names" }, world);
    expect(JSON.parse(world.printed()).suites[0].verdict).toMatchObject({
      kind: "not-comparable",
      reasons: [
        'The exposure differs: "all" before, "names (keyword 1)" now. Use the same --exposure, or accept a new baseline for it.',
      ],
    });
  });
});

describe("several exposures", () => {
  it("are asked interleaved with the same tool orders, and each is compared with the first", async () => {
    const { world, recorded, manifest, code } = await runOn(findByFolder, { exposure: "all,names" }, 20);
    expect(code).toBe(0);
    const cells = recorded().map(({ cell, orderSeed }) => [cell.case, cell.trial, cell.arm, orderSeed]);
    expect(cells.slice(0, 5).map(([id, trial, arm]) => `${id} ${trial} ${arm}`)).toEqual([
      "read 1 head",
      "read 1 names",
      "list 1 head",
      "list 1 names",
      "read 2 head",
    ]);
    expect(cells[0]?.[3]).toBe(cells[1]?.[3]);
    expect(manifest().models[0]?.exposures).toEqual([{ kind: "all" }, { kind: "names", ranker: "keyword 1" }]);
    const [one] = runSummarySchema.parse(JSON.parse(world.printed())).suites;
    expect(one?.totals).toMatchObject({ trials: 80, missing: 0, broken: 0 });
    expect(one?.arms?.[0]?.arms).toMatchObject([
      { exposure: { kind: "all" }, passed: 40, trials: 40, chosen: passedOf(40, 40) },
      {
        ...{ exposure: { kind: "names" }, passed: 20, chosen: passedOf(20, 40) },
        ...{ discovery: { found: 20, trials: 40 }, requestsPerTrial: 2 },
        against: {
          verdict: "worse",
          comparisons: 2,
          net: { change: -0.5 },
          fell: [{ case: "read", base: passedOf(20, 20), head: passedOf(0, 20) }],
          rose: [],
        },
      },
    ]);
  });

  it("are reported side by side, before the cases", async () => {
    const { world } = await runOn(findByFolder, { exposure: "all,names", json: false }, 20);
    const text = world.printed();
    await expect(text.slice(text.indexOf("Exposures"), text.indexOf("gate "))).toMatchFileSnapshot(
      "snapshots/exposures.txt",
    );
  });

  it("share the error rate: a case that fails in 5 of 5 is shown by one test, not by one of two", async () => {
    const against = async (trials: number) => {
      const { world } = await runOn(findByFolder, { exposure: "all,names" }, trials);
      return runSummarySchema.parse(JSON.parse(world.printed())).suites[0]?.arms?.[0]?.arms[1]?.against;
    };
    expect(await against(5)).toMatchObject({ verdict: "open", comparisons: 2 });
    expect(await against(6)).toMatchObject({ verdict: "worse", comparisons: 2 });
  });

  it("are not checked against a baseline", async () => {
    const { io } = project();
    const asked = { ...runDefaults, exposure: "all,names", check: "on" as const };
    await expect(run(asked, io())).rejects.toThrowErrorMatchingInlineSnapshot(`
      [EvalsError: error: A run of several arms compares them with each other, not with a baseline.
        Omit --check, or compare nothing else.]
    `);
    const nightly = { ...runDefaults, exposure: "all,names", nightly: true };
    await expect(run(nightly, io())).rejects.toThrow("Omit --nightly, or compare nothing else.");
    // As a setting of the project file, which no flag repeats.
    const world = io();
    await run({ ...asked, given: new Set(["exposure"]) }, world);
    const [suite] = runSummarySchema.parse(JSON.parse(world.printed())).suites;
    expect(suite?.arms?.[0]?.arms.map(({ exposure }) => exposure?.kind)).toEqual(["all", "names"]);
  });
});

describe("evals run --exposure search", () => {
  it("selects under the tool search of Anthropic's API", async () => {
    const { world, recorded, code } = await runOn(findByApi, { exposure: "all,search" });
    expect(code).toBe(0);
    const [one] = runSummarySchema.parse(JSON.parse(world.printed())).suites;
    expect(one?.arms?.[0]?.arms[1]).toMatchObject({
      exposure: { kind: "search", ranker: "tool_search_tool_bm25_20251119" },
      discovery: { trials: 6, found: 6, chosen: 6 },
    });
    const searched = recorded().find(({ cell }) => cell.arm === "search");
    expect(searched?.turns[0]?.searches).toEqual([{ query: "read", found: ["read"] }]);
    expect(searched?.verdict?.discovery).toEqual({ outcome: "chosen", rank: 1, queries: ["read"] });
  });

  it("selects under the tool search of OpenAI's Responses API, in every arm", async () => {
    const responses = await startResponsesEndpoint(({ tools = [] }) => {
      const isDeferred = tools.some(({ type }) => type === "tool_search");
      const item = { type: "function_call", call_id: "c", name: "read", arguments: "{}" };
      if (!isDeferred) return { output: [item] };
      const call = { type: "tool_search_call", call_id: null, execution: "server", arguments: { paths: ["tools"] } };
      const output = { type: "tool_search_output", call_id: null, tools: [{ type: "function", name: "read" }] };
      return { output: [call, output, { ...item, namespace: "tools" }] };
    });
    const { io, records, trials } = project({ "evals/files.json": suite(1) });
    const env = { OPENAI_API_KEY: "k" };
    const asked = { ...runDefaults, baseUrl: `${responses.url}/v1`, model: ["openai:gpt-6.1"], case: ["read"] };
    const world = io({ env });
    expect(await run({ ...asked, exposure: "all,search" }, world)).toBe(0);
    expect(responses.requests.map(({ refused }) => refused)).toEqual([undefined, undefined]);
    expect(trials(records()[0] ?? "").map(({ verdict }) => verdict?.discovery?.outcome)).toEqual([undefined, "chosen"]);
  });

  it("is refused before anything is spent if the API refuses it", async () => {
    const { io, records } = project();
    const { started, asked } = await endpoint();
    const model = ["anthropic:claude-3-opus"];
    await expect(
      run({ ...runDefaults, ...asked, model, exposure: "search" }, io()),
    ).rejects.toThrowErrorMatchingInlineSnapshot(`
      [EvalsError: error: anthropic:claude-3-opus refuses the tool search tool_search_tool_bm25_20251119: 'claude-3-opus' does not support tool types: tool_search_tool_bm25_20251119.
        Use a model that has it, or --exposure names, which searches on the client.]
    `);
    expect([started.requests.length, started.counted.length]).toEqual([0, 1]);
    expect(() => records()).toThrow();
  });

  it("is planned without a request", async () => {
    const { io } = project();
    const { started, asked, model } = await endpoint();
    const world = io();
    await run({ ...runDefaults, ...asked, model: [model], exposure: "all,names", dryRun: true, json: false }, world);
    expect([started.requests.length, started.counted.length]).toEqual([0, 0]);
    expect(world.printed()).toContain("also in the arm names");
  });
});

describe("other commands", () => {
  it("measure which wording a search finds", async () => {
    const { io, records, manifest } = project({
      "evals/files.json": suite(1),
      "variants.json": { variants: { hinted: { read: { searchHint: "folder" } } } },
    });
    const { model, asked } = await endpoint(findByFolder);
    const world = io();
    const shared = { ...experimentDefaults, ...asked, baselines: "evals/baselines", margin: 0.1 };
    const code = await variants({ ...shared, model, file: "variants.json", exposure: "names" }, world);
    expect(JSON.parse(world.printed())).toMatchObject({ kind: "adopt", winner: "hinted" });
    expect(code).toBe(0);
    expect(manifest(records()[0] ?? "").models[0]?.exposures).toEqual([{ kind: "names", ranker: "keyword 1" }]);
  });

  it("take one exposure", async () => {
    const { io } = project({ "variants.json": { variants: { hinted: { read: { searchHint: "folder" } } } } });
    const shared = { ...experimentDefaults, baselines: "evals/baselines", margin: 0.1 };
    const asked = variants({ ...shared, file: "variants.json", exposure: "all,names" }, io());
    await expect(asked).rejects.toThrowErrorMatchingInlineSnapshot(`
      [EvalsError: error: This command takes one exposure, but there are 2: all, names.
        Name one of them; \`evals run\` compares several.]
    `);
  });
});
