import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadSuites } from "../../../src/evals/input/suites/load.ts";
import { complaint, load, workspace } from "./workspace.ts";

/** What is said of a suite of one case with these lines in it. */
const aboutCase = (...lines: string[]) =>
  complaint(load({ "s.yaml": ["cases:", "  - input: hi", ...lines.map((line) => `    ${line}`), ""].join("\n") }));

const about = (text: string) => complaint(load({ "s.yaml": text }));

describe("a case", () => {
  it.each([
    ["expct: { tool: x }", 's.yaml:3:5: error: Unknown key "expct".\n  Did you mean "expect"?'],
    ["tool: x", 's.yaml:3:5: error: Unknown key "tool".\n  Did you mean "expect: { tool: ... }"?'],
    ["expected_tool: x", 's.yaml:3:5: error: Unknown key "expected_tool".\n  Did you mean "expect: { tool: ... }"?'],
    ["name: x", 's.yaml:3:5: error: Unknown key "name".\n  Did you mean "id"?'],
    [
      "reason: x",
      's.yaml:3:5: error: Unknown key "reason".\n  Known keys here: id, input, messages, turns, expect, tags, searches, split, expected_behavior, tools, files, mocks, elicit, trials, passRate, maxTurns.',
    ],
    [
      "expect: { calls: [{ tool: x, optional: true }], extras: true }",
      's.yaml:3:15: error: All calls are optional and "extras" allows others, so nothing would be checked.\n  Require a call, or drop extras.',
    ],
    [
      "expect: { calls: [{ tool: [x, y], acceptable: y }] }",
      's.yaml:3:51: error: "y" is both expected and acceptable.\n  Remove it from one of the two.',
    ],
    [
      "expect: { tool: x, acceptable: [z, none], avoid: z }",
      's.yaml:3:37: error: "z" is both expected and avoided, so no trial can pass.\n  Remove it from one of the two.\n' +
        's.yaml:3:40: error: "none" cannot be used in a list of tools.\n  Name the tools; a tool that is called none is written \'"none"\', with both quotes.',
    ],
    [
      "expect: { tool: x, optional: true }",
      's.yaml:3:24: error: Unknown key "optional".\n  Known keys here: tool, acceptable, avoid, args, argsMode, result, calls, order, extras, skill, files, assert.',
    ],
    [
      "turns: [{ input: a, expect: { tool: x } }, { input: b }]",
      's.yaml:3:5: error: The case has both "input" and "turns".\n  Remove one of them.',
    ],
    [
      "turns: [{ input: hello, expect: { assert: a.mjs } }]",
      's.yaml:3:5: error: The case has both "input" and "turns".\n  Remove one of them.\ns.yaml:3:39: error: "assert" is about the whole conversation, not about one turn.\n  Write it in the "expect" of the case.',
    ],
    [
      "expect: { frobnicate: 1, tool: x }",
      's.yaml:3:15: error: Unknown key "frobnicate".\n  Known keys here: tool, acceptable, avoid, args, argsMode, result, calls, order, extras, skill, files, assert.',
    ],
    [
      "expect: { calls: [{ tol: x }] }",
      's.yaml:3:23: error: "tool" is missing.\ns.yaml:3:25: error: Unknown key "tol".\n  Did you mean "tool"?',
    ],
    [
      "expect:",
      's.yaml:3:5: error: "expect" must be an object, got nothing.\n  Write { tool: none } if no tool is right.',
    ],
    [
      "expect: { tool: null }",
      's.yaml:3:21: error: "tool" must be text or a list of text, got nothing.\n  Write { tool: none } if no tool is right.',
    ],
    [
      "expect: [x, y]",
      's.yaml:3:13: error: "expect" must be an object, got a list.\n  Write { tool: [x, y] } if one of them is enough, or { calls: [{ tool: x }, { tool: y }] } if each must be called.',
    ],
    ["expect: [none]", 's.yaml:3:13: error: "expect" must be an object, got a list.\n  Write: { tool: none }.'],
    [
      "expect: {}",
      's.yaml:3:13: error: "expect" names no tool or skill, so nothing would be checked.\n  Add "tool", "calls", "skill", "avoid", "files" or "assert".',
    ],
    [
      "expect: { args: { a: 1 } }",
      's.yaml:3:13: error: "expect" names no tool or skill, so nothing would be checked.\n  Add "tool", "calls", "skill", "avoid", "files" or "assert".',
    ],
    [
      "expect: { tool: 5 }",
      's.yaml:3:21: error: "tool" must be text or a list of text, got 5.\n  Put it in quotes: "5".',
    ],
    ["expect: { tool: [x, [y]] }", 's.yaml:3:25: error: "tool[1]" must be text, got a list.'],
    ["expect: { tool: [] }", 's.yaml:3:21: error: "tool" is empty.\n  Write { tool: none } if no tool is right.'],
    ['expect: { tool: "" }', 's.yaml:3:21: error: "tool" is empty.\n  Fill it in, or leave it out.'],
    [
      "expect: { tool: x, argsMode: partially }",
      's.yaml:3:34: error: "argsMode" must be partial | exact, got "partially".\n  Did you mean "partial"?',
    ],
    [
      "expect: { tool: x, calls: [{ tool: y }] }",
      's.yaml:3:24: error: "tool" and "calls" exclude each other in one "expect".\n  Keep one of them, or write two cases.',
    ],
    [
      "expect: { calls: [{ tool: y }], args: { a: 1 }, result: { success: true } }",
      's.yaml:3:37: error: "args" has no effect with "calls".\n  Write "args" next to "tool" in the entries of "calls".\n' +
        's.yaml:3:53: error: "result" has no effect with "calls".\n  Write "result" next to "tool" in the entries of "calls".',
    ],
    [
      "expect: { tool: none, args: { a: 1 } }",
      's.yaml:3:27: error: "args" has no effect with "tool: none".\n  Remove it.',
    ],
    [
      "expect: { tool: any, args: { a: 1 } }",
      's.yaml:3:26: error: "args" has no effect with "tool: any".\n  Remove it.',
    ],
    ["expect: { tool: x, order: any }", 's.yaml:3:24: error: "order" has no effect with "tool".\n  Remove it.'],
    ["expect: { skill: s, extras: true }", 's.yaml:3:25: error: "extras" has no effect with "skill".\n  Remove it.'],
    [
      "expect: { avoid: x, result: { success: true } }",
      's.yaml:3:25: error: "result" has no effect with "avoid" alone.\n  Remove it.',
    ],
    [
      "expect: { tool: [x, none] }",
      's.yaml:3:25: error: "none" cannot be used in a list of tools.\n  Name the tools; a tool that is called none is written \'"none"\', with both quotes.',
    ],
    [
      "expect: { calls: [{ tool: any }] }",
      's.yaml:3:31: error: "any" cannot be used in "calls".\n  Name the tools; a tool that is called any is written \'"any"\', with both quotes.',
    ],
    [
      "expect: { tool: x, avoid: [y, x] }",
      's.yaml:3:21: error: "x" is both expected and avoided, so no trial can pass.\n  Remove it from one of the two.',
    ],
    ["expect: { tool: x, result: {} }", 's.yaml:3:32: error: "result": at least one keyword is required.'],
    ["expected_behavior: []", 's.yaml:3:24: error: "expected_behavior" is empty.\n  Fill it in, or leave it out.'],
    [
      "expected_behavior: { a: 1 }",
      's.yaml:3:24: error: "expected_behavior" must be text or a list of text, got an object.',
    ],
    [
      "id: x",
      's.yaml:2:5: error: The case is not gradable because it expects nothing.\n  Add "expect" or "expected_behavior".',
    ],
    [
      "messages: [{ role: user, content: a }]",
      's.yaml:2:5: error: The case is not gradable because it expects nothing.\n  Add "expect" or "expected_behavior".\n' +
        's.yaml:3:5: error: The case has both "input" and "messages".\n  Remove one of them.',
    ],
  ])("with %s", async (line, message) => {
    expect(await aboutCase(line)).toBe(message);
  });

  it.each([
    [
      "{ a: { $matches: '(' } }",
      's.yaml:3:47: error: "$matches" is not a regular expression: error parsing regexp: missing closing ): `(`.\n  Use RE2 syntax, without look-around and back-references; in YAML put it in single quotes.',
    ],
    [
      "{ a: { $gte: x } }",
      's.yaml:3:43: error: "$gte" must be a number, got "x".\n  Wrap the object in { $equals: ... } if it is meant literally.',
    ],
    [
      "{ a: { $any: false } }",
      's.yaml:3:43: error: "$any" must be true, got false.\n  Wrap the object in { $equals: ... } if it is meant literally.',
    ],
    [
      "{ a: { $type: strin } }",
      's.yaml:3:44: error: "$type" must be string | number | integer | boolean | array | object | null, got "strin".\n  Did you mean "string"?',
    ],
    [
      "{ a: [{ b: { $contains: 1, foo: 2 } }] }",
      's.yaml:3:57: error: "foo" stands beside keys that begin with $, which only matchers have.\n  Remove it; if the object is meant literally, write { $equals: ... }.',
    ],
    [
      "{ a: { $contain: 1 } }",
      's.yaml:3:37: error: "$contain" is not a matcher keyword.\n  Did you mean "$contains"? If the object is meant literally, write { $equals: ... }.',
    ],
    [
      "{ a: { $object: { $match: { $gte: x } } } }",
      's.yaml:3:64: error: "$gte" must be a number, got "x".\n  Wrap the object in { $equals: ... } if it is meant literally.',
    ],
    [
      "{ a: { $anyOf: [x, { $optional: { $lte: y } }] } }",
      's.yaml:3:70: error: "$lte" must be a number, got "y".\n  Wrap the object in { $equals: ... } if it is meant literally.',
    ],
  ])("with the arguments %s", async (args, message) => {
    expect(await aboutCase(`expect: { tool: t, args: ${args} }`)).toBe(message);
  });

  it("checks matchers in the entries of calls and in results", async () => {
    const line =
      "expect: { calls: [{ tool: t, args: { a: { $lte: x } }, result: { matches: '[', json: { b: { $gte: y } } } }] }";
    expect(await aboutCase(line)).toMatchInlineSnapshot(`
      "s.yaml:3:53: error: "$lte" must be a number, got "x".
        Wrap the object in { $equals: ... } if it is meant literally.
      s.yaml:3:79: error: "matches" is not a regular expression: error parsing regexp: missing closing ]: \`[\`.
        Use RE2 syntax, without look-around and back-references; in YAML put it in single quotes.
      s.yaml:3:103: error: "$gte" must be a number, got "y".
        Wrap the object in { $equals: ... } if it is meant literally."
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
      "s.yaml:4:13: error: "trials" must be at least 1, got 0.
      s.yaml:5:15: error: "passRate" must be at most 1, got 2.
      s.yaml:6:15: error: "maxTurns" must be a whole number, got 1.5.
      s.yaml:7:9: error: "id" must be text, got 7.
        Put it in quotes: "7".
      s.yaml:8:67: error: "inputSchema" must be an object, got 5."
    `);
  });

  it("with tools of one name", async () => {
    const lines = ["expect: { tool: a }", "tools: [{ name: a, inputSchema: {} }, { name: a, inputSchema: {} }]"];
    expect(await aboutCase(...lines)).toBe('s.yaml:4:51: error: Two tools are named "a".\n  Rename one.');
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
      "s.yaml:2:5: error: The case has no prompt.
        Add "input" (or "messages" or "turns").
      s.yaml:4:44: error: "messages" must end with a user message.
        Add one with "role: user".
      s.yaml:6:24: error: "role" must be system | user | assistant, got "usr".
        Did you mean "user"?
      s.yaml:6:38: error: "content" must be text, got 5.
        Put it in quotes: "5".
      s.yaml:8:12: error: "input": must not be blank.
      s.yaml:10:39: error: "content": must not be blank."
    `);
  });
});

const oneCase = "cases:\n  - input: hi\n    expect: { tool: t }\n";

describe("a suite", () => {
  it.each([
    [`server: {}\n${oneCase}`, 's.yaml:1:9: error: "server" needs one of "command", "url", "config", "tools".'],
    [
      `server: { comand: x }\n${oneCase}`,
      's.yaml:1:9: error: "server" needs one of "command", "url", "config", "tools".\n  Did you mean "command"?',
    ],
    [
      `server: { command: x, url: y }\n${oneCase}`,
      's.yaml:1:23: error: "server" has both "command" and "url".\n  Give only one of "command", "url", "config", "tools".',
    ],
    [
      `server: { endpoint: x }\n${oneCase}`,
      's.yaml:1:9: error: "server" needs one of "command", "url", "config", "tools".\n  Did you mean "url"?',
    ],
    [
      "evals:\n  - input: hi\n    expct: { tool: t }\n",
      's.yaml:3:5: error: Unknown key "expct".\n  Did you mean "expect"?',
    ],
    [`server: { command: x, arg: [] }\n${oneCase}`, 's.yaml:1:23: error: Unknown key "arg".\n  Did you mean "args"?'],
    [
      `server: { config: .mcp.json }\n${oneCase}`,
      's.yaml:1:9: error: "name" is missing.\n  Name a server of the file, or write `all: true` for all of them.',
    ],
    [
      `server: { url: 5, transport: ws }\n${oneCase}`,
      's.yaml:1:16: error: "url" must be text, got 5.\n  Put it in quotes: "5".\ns.yaml:1:30: error: "transport" must be http | sse, got "ws".',
    ],
    [
      `server: npx\n${oneCase}`,
      's.yaml:1:9: error: "server" must be an object, got "npx".\n  Write: { command: npx }.',
    ],
    [
      `distractors: [{ tools: a.json, name: b }]\n${oneCase}`,
      's.yaml:1:32: error: Unknown key "name".\n  Known keys here: tools.',
    ],
    [
      `execute: readonly\n${oneCase}`,
      's.yaml:1:10: error: "execute" must be all | additive | read-only | never, got "readonly".\n  Did you mean "read-only"?',
    ],
    [`nme: x\n${oneCase}`, 's.yaml:1:1: error: Unknown key "nme".\n  Did you mean "name"?'],
    [
      `<<: { trials: 3 }\n${oneCase}`,
      's.yaml:1:1: error: Unknown key "<<".\n  Known keys here: $schema, name, description, server, dispatch, catalog, surfaces, laterTools, distractors, skills, lift, system, values, model, files, mocks, unmatched, execute, denial, isolate, trials, passRate, maxTurns, cases, evals, unreviewed, lint.',
    ],
    [
      "name: x\n",
      's.yaml:1:1: error: There are no cases: neither "cases" nor "evals".\n  List the cases under "cases" (or "evals").',
    ],
    ["cases: []\n", 's.yaml:1:1: error: There are no cases: "cases" is empty.\n  Add at least one case.'],
    ["cases: 5\n", 's.yaml:1:8: error: "cases" must be a list, got 5.'],
    [
      "cases: [1, null]\n",
      's.yaml:1:9: error: "cases[0]" must be an object, got 1.\ns.yaml:1:12: error: "cases[1]" must be an object, got nothing.',
    ],
    [
      "cases: []\nevals: []\n",
      's.yaml:2:1: error: The suite has both "cases" and "evals", which mean the same.\n  Put all cases into one of them.',
    ],
    [
      "- input: hi\n",
      's.yaml:1:1: error: The file must be an object, got a list.\n  Indent the list below "cases:", and add "server:".',
    ],
    [
      `${oneCase}  - { id: a, input: x, expect: { tool: t } }\n  - { id: a, input: y, expect: { tool: t } }\n`,
      's.yaml:5:11: error: An earlier case has the id "a" already.\n  Give each case of the suite its own id.',
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
        Put it in quotes: "1".
      b.json:4:16: error: "input" must be text or a list of text, got 2.
        Put it in quotes: "2".
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
