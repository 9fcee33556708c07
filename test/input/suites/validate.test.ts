import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadSuites } from "../../../src/evals/input/suites/load.ts";
import { complaint, load, workspace } from "./workspace.ts";

/** What is said of a suite, a line for each error: `line:column message hint`. */
const about = async (text: string) =>
  (await complaint(load({ "s.yaml": text })))
    .replaceAll(/^s\.yaml:(\d+:\d+): error: /gm, "$1 ")
    .replaceAll("\n  ", " ");

/** What is said of a suite of one case with these lines in it. */
const aboutCase = (...lines: string[]) =>
  about(["cases:", "  - input: hi", ...lines.map((line) => `    ${line}`), ""].join("\n"));

describe("a case", () => {
  it.each([
    ["expct: { tool: x }", '3:5 Unknown key "expct". Did you mean "expect"?'],
    ["tool: x", '3:5 Unknown key "tool". Did you mean "expect: { tool: ... }"?'],
    ["expected_tool: x", '3:5 Unknown key "expected_tool". Did you mean "expect: { tool: ... }"?'],
    ["name: x", '3:5 Unknown key "name". Did you mean "id"?'],
    [
      "reason: x",
      '3:5 Unknown key "reason". Known keys here: id, input, messages, turns, expect, tags, searches, split, expected_behavior, tools, files, mocks, elicit, trials, passRate, maxTurns.',
    ],
    [
      "expect: { calls: [{ tool: x, optional: true }], extras: true }",
      '3:15 All calls are optional and "extras" allows others, so nothing would be checked. Require a call, or drop extras.',
    ],
    [
      "expect: { calls: [{ tool: [x, y], acceptable: y }] }",
      '3:51 "y" is both expected and acceptable. Remove it from one of the two.',
    ],
    [
      "expect: { tool: x, acceptable: [z, none], avoid: z }",
      '3:37 "z" is both expected and avoided, so no trial can pass. Remove it from one of the two.\n3:40 "none" cannot be used in a list of tools. Name the tools; a tool that is called none is written \'"none"\', with both quotes.',
    ],
    [
      "expect: { tool: x, optional: true }",
      '3:24 Unknown key "optional". Known keys here: tool, acceptable, avoid, args, argsMode, result, calls, order, extras, skill, files, assert.',
    ],

    [
      "turns: [{ input: hello, expect: { assert: a.mjs } }]",
      '3:5 The case has both "input" and "turns". Remove one of them.\n3:39 "assert" is about the whole conversation, not about one turn. Write it in the "expect" of the case.',
    ],

    ["expect: { calls: [{ tol: x }] }", '3:23 "tool" is missing.\n3:25 Unknown key "tol". Did you mean "tool"?'],
    ["expect:", '3:5 "expect" must be an object, got nothing. Write { tool: none } if no tool is right.'],
    [
      "expect: { tool: null }",
      '3:21 "tool" must be text or a list of text, got nothing. Write { tool: none } if no tool is right.',
    ],
    [
      "expect: [x, y]",
      '3:13 "expect" must be an object, got a list. Write { tool: [x, y] } if one of them is enough, or { calls: [{ tool: x }, { tool: y }] } if each must be called.',
    ],
    ["expect: [none]", '3:13 "expect" must be an object, got a list. Write: { tool: none }.'],
    [
      "expect: {}",
      '3:13 "expect" names no tool or skill, so nothing would be checked. Add "tool", "calls", "skill", "avoid", "files" or "assert".',
    ],
    [
      "expect: { args: { a: 1 } }",
      '3:13 "expect" names no tool or skill, so nothing would be checked. Add "tool", "calls", "skill", "avoid", "files" or "assert".',
    ],
    ["expect: { tool: 5 }", '3:21 "tool" must be text or a list of text, got 5. Put it in quotes.'],
    ["expect: { tool: 12345678901234567890 }", '3:21 "tool" must be text, got 12345678901234567890. Put it in quotes.'],
    ["expect: { tool: [x, &a 2.50] }", '3:28 "tool[1]" must be text, got 2.5. Put it in quotes.'],
    [
      "expect: { tool: false }",
      '3:21 "tool" must be text or a list of text, got false. Write { tool: none } if no tool is right.',
    ],
    ["expect: { tool: [x, [y]] }", '3:25 "tool[1]" must be text, got a list.'],
    ["expect: { tool: [] }", '3:21 "tool" is empty. Write { tool: none } if no tool is right.'],
    ['expect: { tool: "" }', '3:21 "tool" is empty. Fill it in, or leave it out.'],
    [
      "expect: { tool: x, argsMode: partially }",
      '3:34 "argsMode" must be partial | exact, got "partially". Did you mean "partial"?',
    ],
    [
      "expect: { tool: x, calls: [{ tool: y }] }",
      '3:24 "tool" and "calls" exclude each other in one "expect". Keep one of them, or write two cases.',
    ],
    [
      "expect: { calls: [{ tool: y }], args: { a: 1 }, result: { success: true } }",
      '3:37 "args" has no effect with "calls". Write "args" next to "tool" in the entries of "calls".\n3:53 "result" has no effect with "calls". Write "result" next to "tool" in the entries of "calls".',
    ],
    ["expect: { tool: none, args: { a: 1 } }", '3:27 "args" has no effect with "tool: none". Remove it.'],
    ["expect: { tool: any, args: { a: 1 } }", '3:26 "args" has no effect with "tool: any". Remove it.'],
    ["expect: { tool: x, order: any }", '3:24 "order" has no effect with "tool". Remove it.'],
    ["expect: { skill: s, extras: true }", '3:25 "extras" has no effect with "skill". Remove it.'],
    ["expect: { avoid: x, result: { success: true } }", '3:25 "result" has no effect with "avoid" alone. Remove it.'],
    [
      "expect: { tool: [x, none] }",
      '3:25 "none" cannot be used in a list of tools. Name the tools; a tool that is called none is written \'"none"\', with both quotes.',
    ],
    [
      "expect: { calls: [{ tool: any }] }",
      '3:31 "any" cannot be used in "calls". Name the tools; a tool that is called any is written \'"any"\', with both quotes.',
    ],
    [
      "expect: { tool: x, avoid: [y, x] }",
      '3:21 "x" is both expected and avoided, so no trial can pass. Remove it from one of the two.',
    ],
    ["expect: { tool: x, result: {} }", '3:32 "result": at least one keyword is required.'],
    ["expected_behavior: []", '3:24 "expected_behavior" is empty. Fill it in, or leave it out.'],
    ["expected_behavior: { a: 1 }", '3:24 "expected_behavior" must be text or a list of text, got an object.'],
    ["id: x", '2:5 The case is not gradable because it expects nothing. Add "expect" or "expected_behavior".'],
    [
      "messages: [{ role: user, content: a }]",
      '2:5 The case is not gradable because it expects nothing. Add "expect" or "expected_behavior".\n3:5 The case has both "input" and "messages". Remove one of them.',
    ],
  ])("with %s", async (line, message) => {
    expect(await aboutCase(line)).toBe(message);
  });

  it.each([
    [
      "{ a: { $matches: '(' } }",
      '3:47 "$matches" is not a regular expression: error parsing regexp: missing closing ): `(`. Use RE2 syntax, without look-around and back-references; in YAML put it in single quotes.',
    ],
    [
      "{ a: { $matches: '/^a$/i' } }",
      '3:47 "$matches" is between slashes, which count as part of it, so that nothing matches. Leave them out; for the flag i, begin with (?i).',
    ],
    [
      "{ a: { $gte: x } }",
      '3:43 "$gte" must be a number, got "x". Wrap the object in { $equals: ... } if it is meant literally.',
    ],
    [
      "{ a: { $any: false } }",
      '3:43 "$any" must be true, got false. Wrap the object in { $equals: ... } if it is meant literally.',
    ],
    [
      "{ a: { $type: strin } }",
      '3:44 "$type" must be string | number | integer | boolean | array | object | null, got "strin". Did you mean "string"?',
    ],
    [
      "{ a: [{ b: { $contains: 1, foo: 2 } }] }",
      '3:57 "foo" stands beside keys that begin with $, which only matchers have. Remove it; if the object is meant literally, write { $equals: ... }.',
    ],
    [
      "{ a: { $contain: 1 } }",
      '3:37 "$contain" is not a matcher keyword. Did you mean "$contains"? If the object is meant literally, write { $equals: ... }.',
    ],
    [
      "{ a: { $object: { $match: { $gte: x } } } }",
      '3:64 "$gte" must be a number, got "x". Wrap the object in { $equals: ... } if it is meant literally.',
    ],
    [
      "{ a: { $anyOf: [x, { $optional: { $lte: y } }] } }",
      '3:70 "$lte" must be a number, got "y". Wrap the object in { $equals: ... } if it is meant literally.',
    ],
  ])("with the arguments %s", async (args, message) => {
    expect(await aboutCase(`expect: { tool: t, args: ${args} }`)).toBe(message);
  });

  it("checks matchers in the entries of calls and in results", async () => {
    const line =
      "expect: { calls: [{ tool: t, args: { a: { $lte: x } }, result: { matches: '[', json: { b: { $gte: y } } } }] }";
    expect(await aboutCase(line)).toMatchInlineSnapshot(`
      "3:53 "$lte" must be a number, got "x". Wrap the object in { $equals: ... } if it is meant literally.
      3:79 "matches" is not a regular expression: error parsing regexp: missing closing ]: \`[\`. Use RE2 syntax, without look-around and back-references; in YAML put it in single quotes.
      3:103 "$gte" must be a number, got "y". Wrap the object in { $equals: ... } if it is meant literally."
    `);
  });

  it.each([
    ["{ a: { contains: x } }", "contains", "$contains"],
    ["{ a: { gte: 1, lte: 2 } }", "gte", "$gte"],
    ["{ a: { contain: x } }", "contain", "$contains"],
  ])("with the arguments %s warns of a matcher without $", async (args, key, meant) => {
    const { warnings } = await load({ "s.yaml": `cases: [{ input: x, expect: { tool: t, args: ${args} } }]` });
    expect(warnings.map(({ message, hint }) => [message, hint])).toEqual([
      [
        `"${key}" is not a matcher keyword, so this object is compared literally.`,
        `Did you mean "${meant}"? If not, wrap the object in { $equals: ... }.`,
      ],
    ]);
  });

  it("with several wrong settings, all at once", async () => {
    const lines = [
      "expect: { tool: t }",
      "trials: 0",
      "passRate: 2",
      "maxTurns: 1.5",
      "id: 7",
      "tools: [{ name: a, inputSchema: {} }, { name: a, inputSchema: 5 }]",
    ];
    expect(await aboutCase(...lines)).toMatchInlineSnapshot(`
      "4:13 "trials" must be at least 1, got 0.
      5:15 "passRate" must be at most 1, got 2.
      6:15 "maxTurns" must be a whole number, got 1.5.
      7:9 "id" must be text, got 7. Put it in quotes.
      8:67 "inputSchema" must be an object, got 5."
    `);
  });

  it("with tools of one name", async () => {
    const lines = ["expect: { tool: a }", "tools: [{ name: a, inputSchema: {} }, { name: a, inputSchema: {} }]"];
    expect(await aboutCase(...lines)).toBe('4:51 Two tools are named "a". Rename one.');
  });

  it("without a prompt, with two, or with a conversation that ends otherwise", async () => {
    const text = [
      "cases:",
      "  - expect: { tool: t }",
      "  - expect: { tool: t }",
      "    messages: [{ role: user, content: a }, { role: assistant, content: b }]",
      "  - expect: { tool: t }",
      "    messages: [{ role: usr, content: 5 }]",
      "  - expect: { tool: t }",
      "    input: ' '",
      "  - expect: { tool: t }",
      "    messages: [{ role: user, content: '' }]",
    ];
    expect(await about(text.join("\n"))).toMatchInlineSnapshot(`
      "2:5 The case has no prompt. Add "input" (or "messages" or "turns").
      4:44 "messages" must end with a user message. Add one with "role: user".
      6:24 "role" must be system | user | assistant, got "usr". Did you mean "user"?
      6:38 "content" must be text, got 5. Put it in quotes.
      8:12 "input": must not be blank.
      10:39 "content": must not be blank."
    `);
  });
});

const oneCase = "cases:\n  - input: hi\n    expect: { tool: t }\n";

describe("a suite", () => {
  it.each([
    [`server: {}\n${oneCase}`, '1:9 "server" needs one of "command", "url", "config", "tools".'],
    [
      `server: { comand: x }\n${oneCase}`,
      '1:9 "server" needs one of "command", "url", "config", "tools". Did you mean "command"?',
    ],
    [
      `server: { command: x, url: y }\n${oneCase}`,
      '1:23 "server" has both "command" and "url". Give only one of "command", "url", "config", "tools".',
    ],
    [
      `server: { endpoint: x }\n${oneCase}`,
      '1:9 "server" needs one of "command", "url", "config", "tools". Did you mean "url"?',
    ],
    ["evals:\n  - input: hi\n    expct: { tool: t }\n", '3:5 Unknown key "expct". Did you mean "expect"?'],
    [`server: { command: x, arg: [] }\n${oneCase}`, '1:23 Unknown key "arg". Did you mean "args"?'],
    [
      `server: { config: .mcp.json }\n${oneCase}`,
      '1:9 "name" is missing. Name a server of the file, or write `all: true` for all of them.',
    ],
    [
      `server: { url: 5, transport: ws }\n${oneCase}`,
      '1:16 "url" must be text, got 5. Put it in quotes.\n1:30 "transport" must be http | sse, got "ws".',
    ],
    [`server: npx\n${oneCase}`, '1:9 "server" must be an object, got "npx". Write: { command: npx }.'],
    [`distractors: [{ tools: a.json, name: b }]\n${oneCase}`, '1:32 Unknown key "name". Known keys here: tools.'],
    [
      `execute: readonly\n${oneCase}`,
      '1:10 "execute" must be all | additive | read-only | never, got "readonly". Did you mean "read-only"?',
    ],
    [`nme: x\n${oneCase}`, '1:1 Unknown key "nme". Did you mean "name"?'],
    [
      `<<: { trials: 3 }\n${oneCase}`,
      '1:1 Unknown key "<<". Known keys here: $schema, name, description, server, dispatch, catalog, surfaces, laterTools, distractors, skills, lift, system, values, model, files, mocks, unmatched, execute, denial, isolate, trials, passRate, maxTurns, cases, evals, unreviewed, lint.',
    ],
    ["name: x\n", '1:1 There are no cases: neither "cases" nor "evals". List the cases under "cases" (or "evals").'],
    ["cases: []\n", '1:1 There are no cases: "cases" is empty. Add at least one case.'],
    ["cases: 5\n", '1:8 "cases" must be a list, got 5.'],
    ["cases: [1, null]\n", '1:9 "cases[0]" must be an object, got 1.\n1:12 "cases[1]" must be an object, got nothing.'],
    [
      "cases: []\nevals: []\n",
      '2:1 The suite has both "cases" and "evals", which mean the same. Put all cases into one of them.',
    ],
    ["- input: hi\n", '1:1 The file must be an object, got a list. Indent the list below "cases:", and add "server:".'],
    [
      `${oneCase}  - { id: a, input: x, expect: { tool: t } }\n  - { id: a, input: y, expect: { tool: t } }\n`,
      '5:11 An earlier case has the id "a" already. Give each case of the suite its own id.',
    ],
  ])("that reads %j", async (text, message) => {
    expect(await about(text)).toBe(message);
  });
});

describe("files", () => {
  it("that are not text", async () => {
    const bytes = (...codes: number[]) => new Uint8Array(codes);
    const files = {
      "bin.yaml": bytes(97, 0, 98),
      "latin.yaml": bytes(0x61, 0xe9, 0x62),
      "utf16.yaml": bytes(0xff, 0xfe, 97, 0),
      "utf16be.yaml": bytes(0xfe, 0xff, 0, 97),
      // Neither byte order mark is whole.
      "ff.yaml": bytes(0xff, 0x61),
      "fe.yaml": bytes(0xfe, 0x61),
    };
    expect(await complaint(load(files))).toMatchInlineSnapshot(`
      "bin.yaml: error: The file cannot be read: it is binary.
        Give a .yaml, .yml or .json file.
      latin.yaml: error: The file cannot be read: it is not UTF-8 text.
        Save it as UTF-8.
      utf16.yaml: error: The file cannot be read: it is UTF-16 text.
        Save it as UTF-8.
      utf16be.yaml: error: The file cannot be read: it is UTF-16 text.
        Save it as UTF-8.
      ff.yaml: error: The file cannot be read: it is not UTF-8 text.
        Save it as UTF-8.
      fe.yaml: error: The file cannot be read: it is not UTF-8 text.
        Save it as UTF-8."
    `);
  });

  it("that are too large, missing or folders", async () => {
    const folder = await workspace({ "dir/x": "" });
    await writeFile(join(folder, "big.yaml"), `# ${"x".repeat(10 * 1024 * 1024)}`);
    const files = ["big.yaml", "none.yaml", "dir"];
    expect(await complaint(loadSuites(files, { cwd: folder }))).toMatchInlineSnapshot(`
      "big.yaml: error: The file cannot be read: it is larger than 10 MiB.
        Split it into several files.
      none.yaml: error: The file cannot be read: it does not exist.
        Check the path; a path in a suite file is relative to its folder.
      dir: error: The file cannot be read: it is not a regular file.
        Give a .yaml, .yml or .json file."
    `);
  });

  it("report all their errors at once, and suspicious matchers", async () => {
    const files = {
      "a.yaml":
        "trails: 3\ncases:\n  - input: x\n    input: y\n    expect: { tool: t, args: { p: { endWith: x } } }\n  - input: w\n    expect: { tool: t, args: { p: [{ typ: x }, { type: search, analyzer: x }] } }\n  - input: z\n",
      "b.json":
        '{\n  "cases": [\n    { "input": "x", "expect": { "tool": 1 } },\n    { "input": 2, "expect": { "calls": [] } }\n  ]\n}\n',
      "c.json": "{,}",
    };
    expect(await complaint(load(files))).toMatchInlineSnapshot(`
      "a.yaml:1:1: error: Unknown key "trails".
        Did you mean "trials"?
      a.yaml:4:5: error: "input" appears twice in this object.
        Remove one of them.
      a.yaml:5:37: warning: "endWith" is not a matcher keyword, so this object is compared literally; so is another.
        Did you mean "$endsWith"? If not, wrap the object in { $equals: ... }.
      a.yaml:8:5: error: The case is not gradable because it expects nothing.
        Add "expect" or "expected_behavior".
      b.json:3:41: error: "tool" must be text or a list of text, got 1.
        Put it in quotes.
      b.json:4:16: error: "input" must be text or a list of text, got 2.
        Put it in quotes.
      b.json:4:40: error: "calls" is empty.
        Fill it in, or leave it out.
      c.json:1:2: error: Invalid JSON: value expected.
        Put text in double quotes, and no comma after the last item."
    `);
  });

  it("that would share a suite name", async () => {
    const sound =
      "cases:\n  - { input: hi, expect: { tool: none } }\n".repeat(1) +
      "  - { input: ho, expect: { tool: none } }\n".repeat(4);
    expect(
      await complaint(load({ "a.yaml": sound, "b/a.yaml": sound, "c.yaml": `name: a\n${sound}` })),
    ).toMatchInlineSnapshot(`
      "b/a.yaml:1:1: error: The suite name "a" is already used by a.yaml.
        Give one of them another "name".
      c.yaml:1:7: error: The suite name "a" is already used by a.yaml.
        Give one of them another "name"."
    `);
  });
});

describe("what was probably meant", () => {
  it.each([
    "cases: [{ prompt: hi, expect: { tool: x } }]",
    "cases: [{ input: hi, expected: { tool: x } }]",
    "cases: [{ input: hi, expect: read_note }]",
    "cases: [{ input: hi, expect: { tool: x, arguments: {} } }]",
    "tests: [{ input: hi, expect: { tool: x } }]",
    "server: node server.mjs --port 1\ncases: [{ input: hi, expect: { tool: x } }]",
    "server: https://example.com/mcp\ncases: [{ input: hi, expect: { tool: x } }]",
    "server: ../.mcp.json\ncases: [{ input: hi, expect: { tool: x } }]",
    "server: { cmd: node }\ncases: [{ input: hi, expect: { tool: x } }]",
    "threshold: 1\ncases: [{ input: hi, expect: { tool: x } }]",
  ])("by %j", async (text) => {
    expect(await about(text)).toMatchSnapshot();
  });
});
