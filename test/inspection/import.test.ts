import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { claimSuites, findUntrusted } from "../../src/evals/experiments/workspace/trust.ts";
import { loadSuites } from "../../src/evals/input/suites/load.ts";
import { type ImportOptions, importSuites } from "../../src/evals/inspection/import.ts";
import { makeFolder } from "../fakes/folder.ts";
import { anIo } from "../fakes/io.ts";

const table = `| Tool Name | Test Prompt | Interaction |
|---|---|---|
| account_list | List all accounts of <subscription> | none |
| account_list | Which accounts are there? | none |
| account_gone | Close my account | none |
| account_create | Create an account | clarification-required |
`;
const tools = { tools: [{ name: "account_list", inputSchema: { type: "object" } }] };
const tasks = { testCases: [{ id: "a", query: "Details?", expectedTools: ["details"], reference: "Names x." }] };

function open(files: Record<string, string>) {
  const cwd = makeFolder(files);
  const run = async (options: Partial<ImportOptions> = {}, isStopped = false) => {
    const io = anIo({ cwd, env: { HOME: cwd } });
    if (isStopped) io.stop();
    const code = await importSuites(
      { output: "evals/imported", judged: false, executeSource: false, force: false, json: false, ...options },
      io,
    );
    return { code, printed: io.printed(), errors: io.warned() };
  };
  return { cwd, run };
}

it("writes a suite that loads, and prints what was kept, what was not, and expectations of tools that are gone", async () => {
  const { cwd, run } = open({ "prompts.md": table, "tools.json": JSON.stringify(tools) });
  const { code, printed } = await run({ tools: "tools.json" });
  expect(code).toBe(0);
  expect(printed).toMatchSnapshot();
  const file = "evals/imported/prompt-table.yaml";
  expect(readFileSync(join(cwd, file), "utf8")).toMatchSnapshot();
  const { suites, warnings } = await loadSuites([file], { cwd });
  expect(warnings).toEqual([]);
  expect(suites[0]?.cases.map(({ id, location }) => [id, location.line])).toEqual([
    ["list-all-accounts-of-subscription", 10],
    ["which-accounts-are-there", 14],
    ["close-my-account", 18],
  ]);
});

it.each([
  [
    "promptfoo",
    `prompts: ["Show {{id}}"]
tests:
  - vars: { id: 9007199254740993 }
    assert:
      - { type: "trajectory:tool-args-match", value: { name: get, args: { id: 9007199254740993, ids: [-12345678901234567890] } } }
  - description: by code
    vars: { id: 1 }
    assert:
      - { type: "trajectory:tool-used", value: [9007199254740993, get] }
      - { type: javascript, value: "JSON.parse(output[0].function.arguments).id === 9007199254740993" }
`,
    "promptfoo.yaml",
  ],
  [
    "bfcl",
    '{"id": "a", "question": [[{"role": "user", "content": "Show it"}]], "function": [{"name": "get", "parameters": {"type": "dict", "properties": {"id": {"type": "integer", "maximum": 9223372036854775807}}}}], "ground_truth": [{"get": {"id": [9007199254740993]}}]}',
    "bfcl.json",
  ],
])("keeps every digit of the numbers in %s", async (format, text, source) => {
  const { cwd, run } = open({ [source]: text });
  const { code, printed, errors } = await run();
  expect([code, errors]).toEqual([0, ""]);
  const file = `evals/imported/${format}.yaml`;
  expect(`${printed}\n${readFileSync(join(cwd, file), "utf8")}`).toMatchSnapshot();
  const { suites, warnings } = await loadSuites([file], { cwd });
  expect(warnings).toEqual([]);
  expect(JSON.stringify(suites[0]?.cases.map(({ tools }) => tools))).not.toContain('maximum":"');
});

it("writes nothing once it was interrupted", async () => {
  const { cwd, run } = open({ "prompts.md": table });
  expect(await run({}, true)).toMatchObject({ code: 130, printed: "" });
  expect(existsSync(join(cwd, "evals"))).toBe(false);
});

it("names the given server in each suite, as it is started from the current folder", async () => {
  const { cwd, run } = open({ "cases.json": JSON.stringify(tasks), "prompts.md": table });
  const { printed } = await run({ server: "node 'my server.mjs'" });
  expect(printed.match(/Next: .*/g)).toEqual([
    "Next: run `evals run evals/imported/apify.yaml`.",
    "Next: run `evals run evals/imported/prompt-table.yaml`.",
  ]);
  const { suites } = await loadSuites(["evals/imported/apify.yaml", "evals/imported/prompt-table.yaml"], { cwd });
  const claims = await claimSuites(suites, anIo({ cwd }));
  expect(claims).toHaveLength(2);
  expect(await findUntrusted(claims, anIo({ cwd, env: { HOME: cwd } }))).toEqual([]);
  for (const { server, dir } of suites) {
    expect(server).toMatchObject({ command: "node", args: ["my server.mjs"], cwd: "../.." });
    expect(dir).toBe(join(cwd, "evals/imported"));
  }
});

const asked = 'prompts: ["{{q}}"]\ntests: [{ vars: { q: a }, assert: [{ type: "trajectory:tool-used", value: t }] }]\n';
const memory = "{ command: npx, args: [-y, memory], name: m, env: { TOKEN: '{{env.MY_TOKEN}}' } }";

it.each<[what: string, providers: string, server: object | undefined]>([
  [
    "of several providers",
    `[{ id: openai:a, config: { mcp: { enabled: true, server: ${memory} } } }, { id: openai:b, config: { mcp: { servers: [${memory}] } } }]`,
    { command: "npx", args: ["-y", "memory"], env: { TOKEN: `$${"{MY_TOKEN}"}` }, cwd: "../.." },
  ],
  ["at a URL", "{ id: mcp, config: { server: { url: 'http://127.0.0.1:1/mcp' } } }", { url: "http://127.0.0.1:1/mcp" }],
  [
    "that is a file",
    "[{ id: mcp, config: { server: { path: ./server.py } } }]",
    { command: "python3", args: ["./server.py"], cwd: "../.." },
  ],
  ["of which there are two", `[{ config: { mcp: { servers: [${memory}, { url: x }] } } }]`, undefined],
  ["that is none", "[openai:gpt, { config: { mcp: { server: { name: m } } } }]", undefined],
])("takes the server of promptfoo's providers: one %s", async (_, providers, server) => {
  const { cwd, run } = open({ "promptfooconfig.yaml": `${asked}providers: ${providers}\n` });
  const { printed } = await run();
  expect(parse(readFileSync(join(cwd, "evals/imported/promptfoo.yaml"), "utf8")).server).toEqual(server);
  expect(printed.includes("name the server in the suite")).toBe(server === undefined);
});

it("prints every case with its reasons as JSON", async () => {
  const { run } = open({ "cases.json": JSON.stringify(tasks), "prompts.md": table });
  const { imports } = JSON.parse((await run({ json: true })).printed) as { imports: { cases: object[] }[] };
  expect(imports.map(({ cases }) => cases.length)).toEqual([1, 4]);
  expect(imports[1]?.cases.at(-1)).toEqual({
    name: "Create an account",
    location: { file: "prompts.md", line: 6 },
    leftOut: "clarification-required: the query lacks parameters that the user has to give first",
    losses: [],
  });
});

it("does not replace a suite without --force", async () => {
  const { run } = open({ "cases.json": JSON.stringify(tasks) });
  await run();
  await expect(run()).rejects.toThrow("The file evals/imported/apify.yaml exists.");
  expect((await run({ force: true })).code).toBe(0);
});

it("reads the others where a file is malformed, and ends with 2", async () => {
  const { run } = open({
    "cases.json": JSON.stringify(tasks),
    "test_cases.json": '{"testCases": [1], "expectedTools": 1}',
  });
  const { code, printed, errors } = await run();
  expect(code).toBe(2);
  expect(printed).toContain("1 of 1 case kept");
  expect(errors).toContain('test_cases.json:1:16: error: An entry of "testCases" is not an object.');
});

it("refuses a folder without cases", async () => {
  await expect(open({ "notes.md": "# Notes" }).run()).rejects.toThrow("No file under . is in a known format.");
});

it("refuses a symbolic link to itself", async () => {
  const { cwd, run } = open({});
  symlinkSync("loop.yaml", join(cwd, "loop.yaml"));
  await expect(run({ paths: ["loop.yaml"] })).rejects.toThrow('"loop.yaml" cannot be read: ELOOP');
});

it("names a dispatcher that the list has not, and no tool that is called through one", async () => {
  const stimulus = (name: string, required: object) =>
    `  - { name: ${name}, prompt: ${name}, graders: [{ type: tool-calls, config: { required: [${JSON.stringify(required)}] } }] }`;
  const evaluation = [
    "name: e",
    "stimuli:",
    stimulus("listed", { name: "acr", command: "acr_registry_list" }),
    stimulus("gone", { name: "aks", command: "aks_cluster_list" }),
    stimulus("direct", { name: "account_gone" }),
  ].join("\n");
  const { run } = open({
    "eval.yaml": evaluation,
    "tools.json": JSON.stringify({ tools: [{ name: "acr", inputSchema: { type: "object" } }] }),
  });
  const { printed } = await run({ tools: "tools.json", json: true });
  const { imports } = JSON.parse(printed) as { imports: { dead: object[] }[] };
  expect(imports[0]?.dead).toEqual([
    { tool: "aks", cases: ["gone"] },
    { tool: "account_gone", cases: ["direct"] },
  ]);
});
