import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, it } from "vitest";
import { makeFolder, writeIn } from "../fakes/folder.ts";
import { listen } from "../fixtures/ports.ts";
import { type Ended, spawnEvals } from "./evals.ts";

const mongodb = `
import { readFileSync } from "node:fs";
import path from "node:path";
import { describeAccuracyTests } from "./sdk/describe.js";
import { Matcher } from "./sdk/matcher.js";
import { names } from "./names.js";
import { load } from "./generated.js";
import { z } from "zod";
import type { Result } from "@scope/types";

const letters: string[] = JSON.parse(readFileSync(path.join(__dirname, "letters.json"), "utf8"));
beforeAll(() => { throw new Error("not run"); });
const lookUps = (database: string) => [
  { toolName: "list-databases", parameters: {}, optional: true },
  { toolName: names.collections, parameters: { database }, optional: true },
];
const mockedTools = {
  [names.collections]: (): Result => ({ content: [{ type: "text", text: "books" }] }),
  "count": (params: { n: number }) => ({ content: [{ type: "text", text: String(params.n) }] }),
};

describe.each(["one model"])("%s", () => {
  describeAccuracyTests([
    {
      prompt: \`How many books are in '\${"comics"}.books'?\`,
      mockedTools,
      expectedToolCalls: [
        ...lookUps("comics"),
        {
          toolName: "count",
          parameters: {
            database: "comics",
            query: { year: { $gt: 1990 }, kind: Matcher.anyOf(Matcher.undefined, Matcher.value("book")) },
            limit: Matcher.number((value) => value >= 10),
            name: Matcher.anyOf(Matcher.undefined, Matcher.string()),
            filter: Matcher.emptyObjectOrUndefined,
            hint: Matcher.undefined,
            title: Matcher.caseInsensitiveString("Emma"),
            stages: [{ type: "search" }, Matcher.anyOf(Matcher.undefined, Matcher.value({ $sort: Matcher.anyValue }))],
            fields: Matcher.arrayOrSingle("a"),
            flag: Matcher.not(Matcher.boolean(true)),
          },
        },
      ],
    },
    { prompt: "Say hello", systemPrompt: "Be brief", expectedToolCalls: [], customScorer: (score: number) => score },
    { prompt: ["Find it", "Again"], expectedToolCalls: [{ toolName: "find", parameters: { limit: Matcher.number((n) => n % 2) } }] },
    ...letters.map((letter) => ({ prompt: "List " + letter, expectedToolCalls: [{ toolName: "list-databases", parameters: {} }] })),
    { prompt: z.string().description, expectedToolCalls: [] },
    { prompt: "Nothing required", expectedToolCalls: lookUps("x") },
    ...load(),
  ], { userConfig: { readOnly: "true" } });
});
`;

const vitestEvals = `
import { describeEval } from "vitest-evals";
import { FIXTURES, TOOLS } from "./shared";
import { checkFactuality, eachModel, NoOp, runTask } from "./helpers";
describeEval("issues", {
  data: async () => [
    { input: \`Open issues of \${FIXTURES.slug}\`, expectedTools: [
      { name: "find_organizations", arguments: {} },
      { name: "search_issues", arguments: { slug: FIXTURES.slug, query: { $gte: 1 } } },
    ] },
    { input: "Thanks", expectedTools: [] },
    { input: "Who am I?", expectedTools: [{ name: "whoami", arguments: {} }], expected: { query: /me/ } },
    { input: 5, expectedTools: [] },
  ],
  task: NoOp(), scorers: [], threshold: 0.6,
});
eachModel("$modelName", ({ model }) => {
  describeEval("list", {
    data: async () => [{ input: "List my namespaces", expected: \`The \${TOOLS.list} tool is called\` }],
    task: async (input: string) => {
      const { toolCalls } = await runTask(model, input);
      const call = toolCalls.find((one) => one.toolName === TOOLS.list);
      expect(call).toBeDefined();
      expect(toolCalls).toEqual(expect.arrayContaining([expect.objectContaining({ toolName: "write", args: { a: 1 } })]));
    },
    scorers: [checkFactuality], threshold: 1,
  });
});
`;

const harness = `
import { describeEval } from "vitest-evals";
import { harness } from "./helpers";
describeEval("refund", { harness }, (it) => {
  it("approves", async ({ run }) => {
    const expected = { expected: "It is refunded.", expectedTools: ["lookup", "refund"] };
    const result = await run("Refund invoice 1");
  });
  it("does two things", async ({ run }) => { await run("a"); await run("b"); });
});
`;

const sources = {
  "accuracy/a.test.ts": mongodb,
  "accuracy/names.ts": 'export const names = { collections: "list-collections" } as const;\n',
  "accuracy/letters.json": '["a", "b"]',
  "accuracy/sdk/agent.ts": 'import { x } from "ai";\nconst systemPrompt = ["Use the tools.", x ? "Be exact." : ""];\n',
  "accuracy/sdk/describe.ts": "export function describeAccuracyTests() {}\n",
  "accuracy/sdk/matcher.ts": "export const Matcher = {};\n",
  "evals/a.eval.ts": vitestEvals,
  "evals/b.eval.ts": harness,
  "evals/shared.ts": 'export const FIXTURES = { slug: "acme" };\nexport enum TOOLS { list = "namespaces_list" }\n',
};

/** Writes sources into a repository and imports them; the suites that were written, by their format. */
async function importSources(files: Record<string, string>, ...flags: string[]) {
  const cwd = makeFolder();
  mkdirSync(join(cwd, ".git"));
  for (const [name, text] of Object.entries(files)) writeIn(cwd, name, text);
  const ended: Ended = await spawnEvals(["import", ".", "--output", "out", ...flags], { cwd });
  const read = (format: string) => {
    const file = join(cwd, "out", `${format}.yaml`);
    return existsSync(file) ? readFileSync(file, "utf8") : undefined;
  };
  return { cwd, ...ended, mongodb: read("mongodb"), vitestEvals: read("vitest-evals") };
}

it("reads TypeScript sources by running them, which it offers first", async () => {
  const { code, out, mongodb: none } = await importSources(sources);
  expect({ code, none }).toEqual({ code: 1, none: undefined });
  expect(out).toMatchSnapshot("offered");
  const run = await importSources(sources, "--execute-source");
  expect(run.out).toMatchSnapshot("printed");
  expect(run.mongodb).toMatchSnapshot("mongodb");
  expect(run.vitestEvals).toMatchSnapshot("vitest-evals");
  const judged = await importSources({ "evals/b.eval.ts": harness }, "--execute-source", "--judged");
  expect(judged.vitestEvals).toContain("- It is refunded.");
});

const test = (prompt: string, before = "") => `import { describeAccuracyTests } from "./sdk.js";
${before}
describeAccuracyTests([{ prompt: "${prompt}", expectedToolCalls: [] }]);
`;

it("keeps the calls before a failure, and the other sources of a hostile one", async () => {
  const requests: string[] = [];
  const server = createServer(({ url = "" }, response) => void response.end(void requests.push(url)));
  const port = await listen(server);
  const attempts = [
    `await fetch("http://127.0.0.1:${port}/fetch")`,
    `process.getBuiltinModule("node:http").get("http://127.0.0.1:${port}/built-in")`,
    `await (await import("node:http")).get("http://127.0.0.1:${port}/import")`,
    `await (0, eval)('import("node:http")').then((http) => http.get("http://127.0.0.1:${port}/eval"))`,
    `new (process.binding("tcp_wrap").TCP)(0)`,
    ...["process.stdin", "process.stdout", "console._stdout", "process._getActiveHandles()[0]"].map(
      (socket) =>
        `await new Promise((done) => new ${socket}.constructor().connect(${port}, "127.0.0.1", done).end("GET /${socket} HTTP/1.0\\r\\n\\r\\n"))`,
    ),
    "process.kill(process.ppid, 0)",
    `require("node:child_process").execFileSync("touch", ["started.txt"])`,
    `(await import("node:fs")).writeFileSync("written.txt", "x")`,
    `(await import("node:fs")).readFileSync("/etc/hostname")`,
  ];
  const probe = attempts.map((attempt) => `try { ${attempt}; done.push(${JSON.stringify(attempt)}); } catch {}`);
  const files = {
    "a.test.ts": `${test("Before the failure")}\nthrow new Error("broken");`,
    "b.test.ts": test("The end of the process", "process.exit(0);"),
    "c.test.ts": test("Output", 'console.log("{}"); (await import("node:fs")).writeSync(1, "no reply\\n");'),
    "d.test.ts": test("Without memory", "const all = []; for (;;) all.push(new Array(1e6).fill(1.5));"),
    "e.test.ts": `${test("Attempts", `const done: string[] = [Object.keys(process.env).join()]; ${probe.join("\n")}`)}
import { describeAccuracyTests as describe2 } from "./sdk.js";
describeAccuracyTests(done.filter(Boolean).map((prompt) => ({ prompt, expectedToolCalls: [] })));`,
    "f.test.ts": test("Without end", "for (;;);"),
    "g.test.ts": test("The last"),
  };
  const { cwd, mongodb: suite, out } = await importSources(files, "--execute-source", "--json");
  server.close();
  const { imports } = JSON.parse(out) as { imports: { cases: { name: string }[]; losses: { detail?: string }[] }[] };
  expect(imports[0]?.cases.map(({ name }) => name)).toEqual([
    "Before the failure",
    "Attempts",
    // A stub, which has done nothing.
    ...attempts.filter((attempt) => /child_process|import\("node:http"\)\)/.test(attempt)),
    "The last",
  ]);
  expect(imports[0]?.losses.flatMap(({ detail }) => detail ?? [])).toEqual([
    "it threw: broken",
    "it ended the process",
    "it wrote to the output of the process",
    expect.stringMatching(/./),
    "it did not end within 10 s",
  ]);
  expect(suite).toContain("The last");
  expect(requests).toEqual([]);
  expect(["written.txt", "started.txt"].filter((file) => existsSync(join(cwd, file)))).toEqual([]);
});
