import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { loadSuites } from "../../../src/evals/input/suites/load.ts";
import { complaint, load, loadYaml, workspace } from "./workspace.ts";

/** The expectation that `expect: <text>` comes to. */
async function expectationOf(text: string) {
  return (await loadYaml(`cases: [{ input: hi, expect: ${text} }]`)).cases[0]?.expect;
}

const idsOf = async (...inputs: string[]) => {
  const cases = inputs.map((input) => ({
    ...(input.startsWith("#") ? { id: input.slice(1), input: "x" } : { input }),
    expect: { tool: "none" },
  }));
  return (await loadYaml(stringify({ cases }))).cases.map(({ id }) => id);
};

describe("a loaded suite", () => {
  it("has defaults", async () => {
    const folder = await workspace({
      "evals/files.yaml": "cases:\n  - input: Show me what is in notes.txt\n    expect: { tool: read }\n",
    });
    const { suites } = await loadSuites(["evals/files.yaml"], { cwd: folder });
    expect(suites).toEqual([
      {
        name: "files",
        file: "evals/files.yaml",
        dir: join(folder, "evals"),
        hash: expect.stringMatching(/^[0-9a-f]{64}$/),
        distractors: [],
        skills: [],
        execute: "read-only",
        isolate: "run",
        cases: [
          {
            id: "show-me-what-is-in-notes-txt",
            hash: expect.stringMatching(/^[0-9a-f]{64}$/),
            messages: [{ role: "user", content: "Show me what is in notes.txt" }],
            expect: { kind: "tool", avoid: [], call: { tools: ["read"] }, extras: false, argsMode: "partial" },
            expectedBehavior: [],
            trials: 5,
            passRate: 0.8,
            maxTurns: 1,
            location: { file: "evals/files.yaml", line: 2, column: 5 },
          },
        ],
      },
    ]);
  });

  it("keeps its own settings, and a case overrides its suite", async () => {
    const suite = await loadYaml(`
name: mine
server: { url: "http://127.0.0.1:9/mcp", headers: { a: b } }
distractors: [{ tools: others.json }]
skills: [../skills]
system: Be brief.
execute: never
isolate: trial
trials: 3
passRate: 1
maxTurns: 4
cases:
  - { input: a, expected_behavior: asks first }
  - messages: [{ role: user, content: b }, { role: assistant, content: c }, { role: user, content: d }]
    expect: { calls: [{ tool: x }, { tool: y }] }
    expected_behavior: [one, two]
    tools: [{ name: x, inputSchema: { type: object } }, { name: y, description: Y, inputSchema: {} }]
    trials: 9
    passRate: 0
    maxTurns: 2
`);
    expect(suite).toMatchObject({
      name: "mine",
      server: { url: "http://127.0.0.1:9/mcp", headers: { a: "b" } },
      distractors: [{ tools: "others.json" }],
      skills: ["../skills"],
      execute: "never",
      isolate: "trial",
    });
    const [first, second] = suite.cases;
    expect(first).toMatchObject({ id: "a", expectedBehavior: ["asks first"], trials: 3, passRate: 1, maxTurns: 4 });
    expect(first?.messages).toEqual([
      { role: "system", content: "Be brief." },
      { role: "user", content: "a" },
    ]);
    expect(first).not.toHaveProperty("expect");
    expect(second).toMatchObject({ id: "d", expectedBehavior: ["one", "two"], trials: 9, passRate: 0, maxTurns: 2 });
    expect(second?.messages.map(({ content }) => content)).toEqual(["Be brief.", "b", "c", "d"]);
    expect(second?.tools).toEqual([
      { name: "x", inputSchema: { type: "object" } },
      { name: "y", description: "Y", inputSchema: {} },
    ]);
  });

  it("accepts the specified shape, even with a byte order mark", async () => {
    const text =
      '\ufeff{"evals": [{"input": "Fill in the form", "expected_behavior": ["asks for the date", "writes a PDF"]}]}';
    const { suites } = await load({ "evals/evals.json": text });
    expect(suites[0]?.name).toBe("evals");
    expect(suites[0]?.cases[0]).toMatchObject({
      id: "fill-in-the-form",
      expectedBehavior: ["asks for the date", "writes a PDF"],
    });
  });

  it.each([
    [
      "{ tool: [a, b], args: { p: { $gte: 1 } }, argsMode: exact, result: { success: true }, extras: true }",
      {
        kind: "tool",
        avoid: [],
        call: { tools: ["a", "b"], args: { p: { $gte: 1 } }, result: { success: true } },
        extras: true,
        argsMode: "exact",
      },
    ],
    ["{ tool: none, avoid: a }", { kind: "none", avoid: ["a"] }],
    ["{ tool: [any], result: { isError: false } }", { kind: "any", avoid: [], result: { isError: false } }],
    [
      "{ calls: [{ tool: a, args: { p: [1] } }], order: any }",
      {
        kind: "calls",
        avoid: [],
        calls: [{ tools: ["a"], args: { p: [1] } }],
        order: "any",
        extras: false,
        argsMode: "partial",
      },
    ],
    ["{ skill: image-compressor }", { kind: "skill", avoid: [], skill: "image-compressor" }],
    ["{ avoid: [a, b] }", { kind: "avoid", avoid: ["a", "b"] }],
  ])("reads expect: %s", async (text, expectation) => {
    expect(await expectationOf(text)).toEqual(expectation);
  });

  it("takes literals and matchers as arguments as they are", async () => {
    const args = {
      a: { $equals: { gte: "x", other: 1 } },
      b: [{ type: "string" }],
      c: { city: "Oslo", at: { $contains: "x" } },
      d: null,
    };
    const suite = await loadYaml(stringify({ cases: [{ input: "hi", expect: { tool: "t", args } }] }));
    expect(suite.cases[0]?.expect).toMatchObject({ call: { args } });
  });

  it("gives a case of several calls 8 turns, one of a single call 1", async () => {
    const suite = await loadYaml(
      "cases:\n  - { input: a, expect: { calls: [{ tool: x }, { tool: y }] } }\n  - { input: b, expect: { calls: [{ tool: x }] } }\n",
    );
    expect(suite.cases.map(({ maxTurns }) => maxTurns)).toEqual([8, 1]);
  });
});

describe("the id of a case", () => {
  it.each([
    ["Wie wird das Wetter in Zürich?", "wie-wird-das-wetter-in-zurich"],
    ["word ".repeat(20), "word-word-word-word-word-word-word-word-word-word"],
    ["x".repeat(80), "x".repeat(50)],
    ["天気は？", "天気は"],
    ["Ёлка, हिन्दी", "ёлка-हिन्दी"],
    ["?!", "case"],
  ])("is a slug of the input, lower case, cut between words at 50 characters: %s", async (input, id) => {
    expect(await idsOf(input)).toEqual([id]);
  });

  it("is numbered when taken, and never equals a given one", async () => {
    expect(await idsOf("Hi!", "hi", "#hi-2", "#hi", "hi?")).toEqual(["hi-3", "hi-4", "hi-2", "hi", "hi-5"]);
  });

  it("is unique in its suite, whatever the inputs", async () => {
    const inputs = fc.array(fc.stringMatching(/^[ab]{1,2}( [12])?$/), { minLength: 1, maxLength: 30 });
    const given = fc.uniqueArray(fc.stringMatching(/^[ab]{1,2}-[1-9]$/), { maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(inputs, given, async (texts, ids) => {
        const all = await idsOf(...texts, ...ids.map((id) => `#${id}`));
        expect(new Set(all).size).toBe(texts.length + ids.length);
      }),
    );
  });
});

describe("hashes", () => {
  const hashesOf = async (text: string, file = "s.yaml") => {
    const [suite] = (await load({ [file]: text })).suites;
    return [suite?.hash, suite?.cases[0]?.hash];
  };
  const base = "server: { command: a, args: [b] }\ncases: [{ input: hi, expect: { tool: t, args: { p: 1, q: 2 } } }]";

  it("do not depend on the order of keys, the syntax, ids, places and numbers of trials", async () => {
    const other =
      '{"cases": [\n\n{"expect": {"args": {"q": 2, "p": 1.0}, "tool": ["t"]}, "id": "z", "trials": 1, "input": "hi"}],\n "name": "s", "server": {"args": ["b"], "command": "a"}}';
    expect(await hashesOf(other, "t.json")).toEqual(await hashesOf(base));
  });

  it("do not depend on the tools of a case, which are a list like a server's; equal lists are one object", async () => {
    const tools = (description: string) => `tools: [{ name: t, description: ${description}, inputSchema: {} }]`;
    const inline = (...lists: string[]) =>
      `cases:\n${lists.map((list) => `  - { input: hi, ${list}, expect: { tool: t } }\n`).join("")}`;
    expect(await hashesOf(inline(tools("old")))).toEqual(await hashesOf(inline(tools("new"))));
    const [suite] = (await load({ "s.yaml": inline(tools("a"), tools("b"), tools("a"), "tools: []") })).suites;
    const [first, second, third, fourth] = suite?.cases ?? [];
    expect(first?.tools).toBe(third?.tools);
    expect(first?.tools).not.toEqual(second?.tools);
    expect(fourth?.tools).toEqual([]);
  });

  it("depend on the paraphrases, of which a list of one is none", async () => {
    expect(await hashesOf(base.replace("hi", "[hi]"))).toEqual(await hashesOf(base));
    const [, one] = await hashesOf(base.replace("hi", "[hi, ho]"));
    const [, other] = await hashesOf(base.replace("hi", "[hi, hu]"));
    expect(new Set([one, other, (await hashesOf(base))[1]]).size).toBe(3);
  });

  it.each([
    ["the expectation", base.replace("q: 2", "q: 3"), true],
    ["the prompt", base.replace("hi", "ho"), true],
    ["the system prompt", `system: Be brief.\n${base}`, true],
    ["the turns", `maxTurns: 2\n${base}`, true],
    ["the server", base.replace("[b]", "[c]"), false],
    ["the policy", `execute: never\n${base}`, false],
    ["the isolation", `isolate: trial\n${base}`, false],
    ["the distractors", `distractors: [{ tools: x.json }]\n${base}`, false],
    ["the name", `name: other\n${base}`, false],
  ])("depend on %s", async (_, text, changesCase) => {
    const [suite, first] = await hashesOf(text);
    const [baseSuite, baseFirst] = await hashesOf(base);
    expect(suite).not.toBe(baseSuite);
    expect(first !== baseFirst).toBe(changesCase);
  });
});

it("warns of nothing in a sound suite", async () => {
  const positive = Array.from({ length: 4 }, (_, i) => `  - { input: q${i}, expect: { tool: t } }`);
  const text = ["cases:", ...positive, "  - { input: weather, expect: { tool: none } }"].join("\n");
  expect((await load({ "s.yaml": text })).warnings).toEqual([]);
});

describe("user turns", () => {
  const turns = "turns: [{ input: Find it, expect: { tool: search } }, { input: Now open it }]";

  it("have a first message, expectations and eight replies each", async () => {
    const [one] = (await loadYaml(`system: Be brief.\ncases: [{ ${turns} }]`)).cases;
    expect(one).toMatchObject({
      id: "find-it",
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "Find it" },
      ],
      turns: [{ content: "Find it", expect: { kind: "tool" } }, { content: "Now open it" }],
      maxTurns: 8,
    });
  });

  it("are part of the hash", async () => {
    const hash = async (text: string) => (await loadYaml(`cases: [${text}]`)).cases[0]?.hash;
    expect(await hash(`{ ${turns} }`)).not.toBe(await hash(`{ ${turns.replace("Now open", "Open")} }`));
    expect(await hash(`{ ${turns} }`)).not.toBe(await hash(`{ ${turns.replace("search", "find")} }`));
  });

  it.each([
    ["{ turns: [{ input: a }, { input: b }] }", "The case is not gradable because it expects nothing."],
    ["{ turns: [] }", '"turns" is empty.'],
    ["{ turns: [{ input: a, expect: { skill: x, tool: y } }, { input: b }] }", "exclude each other"],
  ])("%s is refused", async (text, message) => {
    expect(await complaint(load({ "s.yaml": `cases: [${text}]` }))).toContain(message);
  });
});
