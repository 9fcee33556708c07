import { describe, expect, it } from "vitest";
import { formatProblem } from "../../../src/evals/base/types/errors.ts";
import type { Json } from "../../../src/evals/base/types/json.ts";
import { findImports } from "../../../src/evals/input/imports/find.ts";
import type { ImportContext } from "../../../src/evals/input/imports/formats/format.ts";
import { checkSuite } from "../../../src/evals/input/suites/validate.ts";
import { makeFolder } from "../../fakes/folder.ts";

/** Writes files and imports all of them: each format, its kept cases, what was left out, and what could not be said. */
async function importFiles(files: Record<string, string>, context: Partial<ImportContext> & { from?: string } = {}) {
  const cwd = makeFolder(files);
  const { found, problems } = await findImports(["."], { cwd, judged: false, ...context });
  const cases = found.flatMap((one) => one.files).flatMap((file) => file.cases);
  for (const one of cases)
    if (one.kind === "kept") {
      // A placeholder without a value is a warning until the suite has a table of values.
      const wrong = checkSuite({ cases: [one.content] } as unknown as Json).problems;
      expect(wrong.filter(({ sharedAs }) => sharedAs !== "placeholder")).toEqual([]);
    }
  return {
    formats: found.map(({ format }) => format.name),
    kept: cases.flatMap((one) => (one.kind === "kept" ? [one.content] : [])),
    left: cases.flatMap((one) =>
      one.kind === "left out" ? [`${one.location.file}:${one.location.line} ${one.reason}`] : [],
    ),
    losses: [
      ...cases.flatMap((one) => one.losses),
      ...found.flatMap((one) => one.files).flatMap((file) => file.losses),
    ].map(({ what }) => what),
    dispatch: found.flatMap((one) => one.files).map((file) => file.dispatch),
    problems: problems.map(formatProblem),
  };
}

describe("lists of tasks", () => {
  it("load from Apify's picks and tasks", async () => {
    const picks = {
      version: "1",
      testCases: [
        { id: "a", category: "x", query: "Details of x?", expectedTools: ["details"], reference: "Must name x." },
        { id: "b", category: "x", query: "Try again", expectedTools: ["publish"], context: "It failed before." },
        { id: "c", category: "x", query: "Hello", expectedTools: [] },
        { id: "d", category: "x", query: "Both", expectedTools: ["one", "two"] },
        { id: "e", category: "x", query: "Nothing" },
      ],
    };
    const tasks = [
      { id: "t1", category: "c", query: "Run it", reference: "It ran.", maxTurns: 12, failTools: ["call"] },
      { id: "t2", category: "c", query: "Run it", reference: "" },
    ];
    const result = await importFiles({
      "test_cases.json": JSON.stringify(picks),
      "dataset_snapshot.json": JSON.stringify(tasks),
    });
    expect(result).toMatchSnapshot();
  });

  it("load from PostHog's tasks, where any expected tool passes and an acceptable one substitutes", async () => {
    const result = await importFiles({
      "tasks.yaml": `version: 1
tasks:
  - id: daily
    category: sql
    intent: How many events came each day?
    expected_tools: [execute-sql]
    acceptable_tools: [query-trends]
    success_criteria: A count for each day.
    probe: { tool: execute-sql, args: { query: SELECT 1 } }
  - id: chain
    category: insights
    intent: Create an insight and run it.
    expected_tools: [insight-create, insight-query]
    success_criteria: Both happened.
  - id: empty
    category: sql
    intent: Nothing is expected here.
    expected_tools: []
`,
    });
    expect(result).toMatchSnapshot();
  });

  it("load from whichtool's task sets", async () => {
    const { kept, left } = await importFiles({
      "whichtool.tasks.yaml": `version: 1
surface: null
tasks:
  - id: users.list
    prompt: Show all users
    expected: list_users
    tags: [users]
  - id: distractor
    prompt: Delete the account
    expected: null
  - id: broken
    prompt: No expectation
`,
    });
    expect(kept).toEqual([
      { id: "users.list", input: "Show all users", expect: { tool: "list_users" } },
      { id: "distractor", input: "Delete the account", expect: { tool: "none" } },
    ]);
    expect(left).toEqual(["whichtool.tasks.yaml:11 it expects nothing"]);
  });
});

describe("tables and lists of prompts", () => {
  it("load by tool; rows that cannot be asked as they are have their reason", async () => {
    const result = await importFiles({
      "prompts.md": `## Accounts

| Tool Name | Test Prompt | Interaction |
|:----------|:------------|:------------|
| account_list | List all accounts in <subscription> | none |
| account_list | Show a \\| b |
| account_create | Create an account | clarification-required |
| account_delete | | none |
`,
      "namespace-prompts.json": JSON.stringify({ acr: ["List registries"], aks: ["List clusters", "Scale it"] }),
    });
    expect(result).toMatchSnapshot();
  });
});

describe("rows and lists of prompts that are malformed", () => {
  it("are left out with their place; rows of other tables are no cases", async () => {
    const { left, kept } = await importFiles({
      "prompts.md": `| Option | Meaning |
|---|---|
| verbose | Print more |

| Tool Name | Test Prompt |
|:---|:---|
| \`acr_list\` | List my registries |
| acr_list |
| | Which registry is the largest |
| two words | Scale it |
`,
      "more-prompts.json": JSON.stringify({ acr: ["List registries", 5, ""] }),
    });
    expect(kept.map(({ input, expect: { tool } = {} }) => [tool, input])).toEqual([
      ["acr", "List registries"],
      ["acr_list", "List my registries"],
    ]);
    expect(left).toEqual([
      "more-prompts.json:1 the prompt is not a text",
      "more-prompts.json:1 the prompt is not a text",
      "prompts.md:8 the row has no prompt",
      "prompts.md:9 the row does not begin with the name of a tool",
      "prompts.md:10 the row does not begin with the name of a tool",
    ]);
  });
});

describe("Vally and waza", () => {
  it("load required and forbidden tools, skills and rubrics; a namespace's command is the expected tool", async () => {
    const result = await importFiles({
      "eval.yaml": `name: registry
type: capability
stimuli:
  - name: List
    prompt: List my registries
    environment: \${ENVIRONMENT}
    graders:
      - type: tool-calls
        config: { required: [{ name: acr, command: acr_registry_list }], disallowed: [{ name: ^aks$ }] }
      - type: file-exists
        config: { path: a }
  - name: Shell
    prompt: Ask the API
    graders:
      - type: tool-calls
        config: { required: [{ name: "(?i)^(bash|powershell)$", command: "az rest .*", args: { mode: ^get$ } }] }
      - type: prompt
        config: { prompt: The answer names the API. }
  - name: Skill
    prompt: Review the code
    graders: [{ type: skill-invocation, config: { required: [review] } }]
  - name: Nothing
    prompt: Hello
    graders: [{ type: output-contains, config: { substring: hi } }]
`,
    });
    expect(result).toMatchSnapshot();
  });

  it("loads waza's graders of tools and skills, and the files of its tasks with their content", async () => {
    const result = await importFiles({
      "fixtures/a.py": "print(1)\n",
      "tasks/missing.yaml": `id: missing
inputs:
  prompt: Explain it
  files: [{ path: gone.py }]
expected: { behavior: { required_tools: [view] } }
`,
      "tasks/edit.yaml": `id: edit-1
name: Edit
inputs:
  prompt: Add a function
  files: [{ path: a.py }, { path: b.py, content: "print(2)" }]
expected:
  behavior: { required_tools: [view], forbidden_tools: [rm], max_tool_calls: 5 }
graders:
  - name: guard
    type: tool_constraint
    config: { expect_tools: [{ tool: bash, command_pattern: "azd\\\\s+up" }], reject_tools: [{ tool: push }] }
  - { name: out, type: text, config: {} }
`,
    });
    expect(result).toMatchSnapshot();
  });
});

describe("promptfoo", () => {
  it("loads prompts with their variables and assertions about calls", async () => {
    const result = await importFiles({
      "promptfooconfig.yaml": `description: agent
prompts: ["Answer: {{query}}", "file://other.txt"]
providers: [openai:gpt]
defaultTest: { assert: [{ type: cost, threshold: 0.1 }] }
tests:
  - vars: { query: Where is order 7? }
    assert:
      - { type: "trajectory:tool-used", value: search_orders }
      - { type: "trajectory:tool-args-match", value: { name: search_orders, args: { id: 7, where: { type: string } } } }
      - { type: "not-trajectory:tool-used", value: issue_refund }
      - { type: llm-rubric, value: Names the order. }
  - vars: { query: Compose }
    assert:
      - { type: "trajectory:tool-sequence", value: { mode: exact, steps: [search, compose] } }
  - vars: { query: F1 }
    assert: [{ type: tool-call-f1, value: "a, b", threshold: 1 }]
  - vars: { other: 1 }
    assert: [{ type: "trajectory:tool-used", value: a }]
  - vars: { query: Only text }
    assert: [{ type: contains, value: x }]
  - file://more.yaml
`,
    });
    expect(result).toMatchSnapshot();
  });
});

describe("promptfoo's numbers of calls", () => {
  it.each<[assertion: string, expected: Json]>([
    ['"trajectory:tool-used", value: { name: a, min: 0, max: 0 }', { avoid: "a", calls: [{ tool: "b" }] }],
    ['"trajectory:tool-used", value: { name: a, min: 2 }', { calls: [{ tool: "b" }, { tool: "a" }, { tool: "a" }] }],
    ['"not-trajectory:tool-used", value: { name: a, min: 1 }', { avoid: "a", calls: [{ tool: "b" }] }],
    ["skill-used, value: { name: a, max: 0 }", { avoid: "skill:a", calls: [{ tool: "b" }] }],
    ["not-skill-used, value: a", { avoid: "skill:a", calls: [{ tool: "b" }] }],
  ])("are expected: %s", async (assertion, expected) => {
    const { kept, losses } = await importFiles({
      "promptfooconfig.yaml": `prompts: ["{{q}}"]
tests:
  - vars: { q: Go }
    assert: [{ type: "trajectory:tool-used", value: b }, { type: ${assertion} }]
`,
    });
    expect(kept.map(({ expect: one }) => one)).toMatchObject([expected]);
    expect(losses).toEqual([]);
  });
});

describe("a test of promptfoo that is left out", () => {
  const used = '[{ type: "trajectory:tool-used", value: a }]';
  const list = `[${"x, ".repeat(11)}x]`;
  const f1 = (more: string) => `{ vars: { q: Go }, assert: [{ type: tool-call-f1, value: [a], ${more} }] }`;
  const matched = (args: string) =>
    `{ vars: { q: Go }, assert: [{ type: "trajectory:tool-args-match", value: { name: a, ${args} } }] }`;
  it.each([
    [
      `{ vars: { q: x, b: ${list}, c: ${list}, d: ${list} }, assert: ${used} }`,
      "its variables make more than 1000 cases",
    ],
    [`{ vars: { q: [] }, assert: ${used} }`, "one of its variables is an empty list"],
    [`{ vars: file://vars.yaml, assert: ${used} }`, "its variables are in another file"],
    ['{ path: "file://tests.py:create" }', "tests of another file"],
    [f1("threshold: 0.6"), "no assertion can be kept: tool-call-f1 with a threshold below 1"],
    [f1('threshold: "0.6"'), "no assertion can be kept: tool-call-f1 with a threshold below 1"],
    [matched("args: x"), "no assertion can be kept: arguments that are no object"],
    [matched("mode: exact"), "no assertion can be kept: arguments that are no object"],
    [
      `{ vars: { q: "{{ 'a' | upper }}" }, assert: ${used} }`,
      "its prompt has variables without a value, or other template syntax",
    ],
  ])("has the reason: %s", async (test, reason) => {
    const { kept, left } = await importFiles({
      "promptfooconfig.yaml": `prompts: ["{{q}}"] # of promptfoo\ntests:\n  - ${test}\n`,
    });
    expect([kept, left]).toEqual([[], [`promptfooconfig.yaml:3 ${reason}`]]);
  });

  it("is not in a file of YAML or JSON beside it, which is read", async () => {
    const test = (q: string) =>
      JSON.stringify([{ vars: { q }, assert: [{ type: "trajectory:tool-used", value: "a" }] }]);
    const config = (tests: string) => `prompts: ["{{q}}"]\ntests: ${tests}\n`;
    const { kept, left } = await importFiles({
      "promptfooconfig.yaml": config("file://cases/one.json"),
      "cases/one.json": test("One?"),
      "promptfoo.two.yaml": config("[cases/two.yaml, file://three.csv, file://../four.json]"),
      "cases/two.yaml": test("Two?"),
    });
    expect(kept.map(({ input }) => input)).toEqual(["Two?", "One?"]);
    expect(left).toEqual(["promptfoo.two.yaml:2 tests of another file", "promptfoo.two.yaml:2 tests of another file"]);
  });

  it("is named where all tests are in another file", async () => {
    const tests = "tests: { path: file://tests.py, config: {} }";
    const { losses } = await importFiles({ "promptfooconfig.yaml": `prompts: ["{{q}}"] # of promptfoo\n${tests}\n` });
    expect(losses).toEqual(['"tests" in another file']);
  });
});

describe("mcp-evals and the Berkeley leaderboard", () => {
  it("load what has an expectation", async () => {
    const line = {
      id: "simple_0",
      question: [[{ role: "user", content: "Area of 3 and 4?" }]],
      function: [
        {
          name: "triangle.area",
          description: "Area.",
          parameters: { type: "dict", properties: { a: { type: "float" }, b: { type: "integer" } }, required: ["a"] },
        },
      ],
      ground_truth: [{ "triangle.area": { a: [3, 3.0], b: [4, ""] } }],
    };
    const { ground_truth: _, ...open } = line;
    const result = await importFiles({
      "evals.yaml": `model: { provider: openai, name: gpt-4o }
evals:
  - { name: weather, description: Weather, prompt: Weather in Oslo?, expected_result: Names a temperature. }
  - { name: bare, description: Bare, prompt: Hello }
`,
      "bfcl.jsonl": [line, { ...open, id: "simple_1" }, { ...open, id: "irrelevance_0" }]
        .map((one) => JSON.stringify(one))
        .join("\n"),
    });
    expect(result).toMatchSnapshot();
  });
});

it("the code of mcp-evals has queries, and expects nothing", async () => {
  const code = `import { grade } from "mcp-evals";
const weather = { name: "w", run: async () => JSON.parse(await grade(openai("gpt-4"), "Weather in Oslo?")) };
const other = { name: "o", run: async () => grade(model, 'It\\'s late') };`;
  const { formats, left } = await importFiles({ "evals.ts": code });
  const reason = "it has no expected_result: a judge scores it by nothing in particular";
  expect({ formats, left }).toEqual({ formats: ["mcp-evals"], left: [`evals.ts:2 ${reason}`, `evals.ts:3 ${reason}`] });
});

describe("promptfoo's assertions about the first call of a reply", () => {
  it("expect its tool and its arguments", async () => {
    const first = "output[0].function";
    const { kept, left } = await importFiles({
      "promptfooconfig.yaml": `prompts: ["Weather in {{city}}?"]
tests:
  - vars: { city: Boston }
    assert:
      - { type: is-valid-openai-tools-call }
      - { type: javascript, value: "${first}.name === 'get_weather'" }
      - { type: javascript, value: "JSON.parse(${first}.arguments).location === 'Boston, MA'" }
      - { type: javascript, value: "JSON.parse(${first}.arguments).days === 3" }
  - vars: { city: Oslo }
    options: { transform: "${first}.name" }
    assert: [{ type: equals, value: get_weather }]
  - { vars: { city: Rome }, assert: [{ type: is-valid-openai-tools-call }] }
  - { vars: { city: Bern }, assert: [{ type: javascript, value: "output.length > 3" }] }
  - { vars: { city: Mars } }
`,
    });
    expect(kept.map(({ expect: expected }) => expected)).toEqual([
      { tool: "get_weather", args: { location: "Boston, MA", days: 3 }, extras: true },
      { tool: "get_weather", extras: true },
      { tool: "any" },
    ]);
    expect(left).toEqual([
      expect.stringContaining('no assertion can be kept: the assertion "javascript"'),
      expect.stringContaining("it has no assertion"),
    ]);
  });
});

describe("what is malformed or not known", () => {
  it("is named with its place", async () => {
    const { problems } = await importFiles({
      "test_cases.json": '{ "testCases": { "expectedTools": 1 } }',
      "tasks.yaml": "tasks:\n  - intent: x\n    expected_tools: [a\n",
    });
    expect(problems).toMatchSnapshot();
  });

  it("is a format that does not exist, a path that does not, and a named file in no format", async () => {
    await expect(importFiles({}, { from: "promptfo" })).rejects.toThrow('there is no format "promptfo"');
    const cwd = makeFolder({ "notes.md": "# Notes\n" });
    await expect(findImports(["gone"], { cwd, judged: false })).rejects.toThrow('There is no file or folder "gone".');
    const { problems } = await findImports(["notes.md"], { cwd, judged: false });
    expect(problems.map(formatProblem).join()).toContain("notes.md: error: The file is in none of the known formats.");
  });

  it("is a named file that is cut off before it shows its format, or cannot be read", async () => {
    const cwd = makeFolder({
      "tasks.yaml": "tasks:\n  - id: a\n    intent: [x\n",
      "cases.json": Buffer.from([0x7b, 0, 0, 0x7d]),
    });
    const { problems } = await findImports(["tasks.yaml", "cases.json"], { cwd, judged: false });
    expect(problems.map(({ location, message }) => [location, message])).toEqual([
      [expect.objectContaining({ file: "tasks.yaml", line: 4 }), expect.stringContaining("end with a ].")],
      [{ file: "cases.json" }, expect.stringContaining("The file cannot be read: ")],
    ]);
  });

  it("is a file of a folder that is cut off or cannot be read: a warning, and the others are read", async () => {
    const task = "tasks:\n  - intent: Count\n    expected_tools: [sql]\n";
    const { kept, problems } = await importFiles({
      "a/tasks.yaml": task,
      "a/cut.yaml": "tasks:\n  - id: a\n    intent: [x\n",
      "a/binary.json": "\0{}",
    });
    expect(kept).toHaveLength(1);
    expect(problems).toEqual([
      expect.stringMatching(/^a\/binary.json: warning: Skipped. The file cannot be read: /),
      expect.stringMatching(/^a\/cut.yaml:4:\d+: warning: Skipped. Invalid YAML: Flow sequence .* end with a \]./),
    ]);
  });
});

describe("an entry of a list that is not text", () => {
  it("is named where the case is kept, and leaves out a case that has no other", async () => {
    const tool = (config: string) => `inputs:\n  prompt: Go\ngraders:\n  - { type: behavior, config: ${config} }\n`;
    const result = await importFiles({
      "posthog.yaml": `tasks:
  - { id: some, intent: Count, expected_tools: [5, execute], acceptable_tools: [true, other] }
  - { id: none, intent: Count, expected_tools: [5] }
`,
      "apify.json": JSON.stringify({
        testCases: [
          { id: "some", query: "Find", expectedTools: [5, "search"], reference: [{}] },
          { id: "none", query: "Find", expectedTools: [5] },
          { id: "text", query: "Find", expectedTools: "search" },
        ],
      }),
      "waza.yaml": tool("{ required_tools: [5, view], forbidden_tools: [{ a: 1 }, rm] }"),
      "vally.yaml": `stimuli:
  - name: Go
    prompt: Go
    graders:
      - { type: tool-calls, config: { required: [5, view, { name: 7 }], disallowed: [6, rm] } }
      - { type: skill-invocation, config: { disallowed: [8, other] } }
`,
      "whichtool.yaml": "tasks:\n  - { prompt: Go, expected: 5 }\n",
    });
    expect(result.kept.map(({ expect: expected }) => expected)).toEqual([
      { tool: "search" },
      { tool: "search" },
      { calls: [{ tool: "execute", acceptable: "other" }], extras: true },
      { calls: [{ tool: "view" }], order: "any", extras: true, avoid: ["rm", "skill:other"] },
      { calls: [{ tool: "view" }], order: "any", extras: true, avoid: "rm" },
    ]);
    expect(result).toMatchSnapshot();
  });

  it("is a test of promptfoo that is no object, or a tool that is a number", async () => {
    const { kept, left, losses } = await importFiles({
      "promptfooconfig.yaml": `prompts: ["{{q}}"]
tests:
  - 5
  - file://more.yaml
  - vars: { q: Go }
    assert:
      - { type: "trajectory:tool-used", value: [7, search] }
      - { type: "trajectory:tool-args-match", value: { name: 8, args: { id: 1 } } }
      - { type: skill-used, value: [a, b] }
`,
    });
    expect(kept.map(({ expect: expected }) => expected)).toEqual([
      { calls: [{ tool: "search" }], order: "any", extras: true },
    ]);
    expect(left).toEqual([
      "promptfooconfig.yaml:3 the test is not an object",
      "promptfooconfig.yaml:4 tests of another file",
    ]);
    expect(losses).toEqual([
      "a tool name that is not text",
      "a tool name that is not text",
      "several skills that must all be loaded",
      "a skill beside expected calls",
    ]);
  });
});
