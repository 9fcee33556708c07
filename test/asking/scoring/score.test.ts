import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { labelExpectation, listExpectedTools } from "../../../src/evals/asking/scoring/labels.ts";
import { type Judge, no, yes } from "../../../src/evals/asking/scoring/matchers.ts";
import { createGrader } from "../../../src/evals/asking/scoring/score.ts";
import type { Json } from "../../../src/evals/base/types/json.ts";
import { noUsage } from "../../../src/evals/base/types/model.ts";
import type { Expectation, ExpectedCall } from "../../../src/evals/base/types/suite.ts";
import type { Execution, Turn } from "../../../src/evals/base/types/trial.ts";
import { call, caseOf, executed, expectCalls, expectTool, refusal, toolsetOf, turn } from "./make.ts";

const pathSchema = {
  type: "object",
  properties: { path: { type: "string" }, head: { type: "integer" }, mode: { enum: ["text", "binary"] } },
  required: ["path"],
  additionalProperties: false,
};
const toolset = toolsetOf([
  { name: "read", inputSchema: pathSchema },
  { name: "write", inputSchema: pathSchema },
  { name: "list", inputSchema: { type: "object" } },
  { name: "Skill", inputSchema: { type: "object" } },
]);

const grade = (
  expect: Expectation | undefined,
  turns: readonly Turn[],
  behavior: readonly string[] = [],
  judge?: Judge,
) => createGrader(caseOf(expect, behavior), toolset)(turns, judge);
const words = (expect: Expectation, ...turns: Turn[]) => {
  const { grade: result, selection, picked } = grade(expect, turns);
  return `${result} ${selection} ${picked}`;
};
const whys = (expect: Expectation, ...turns: Turn[]) =>
  grade(expect, turns).checks.map(({ what, met, why }) => `${what}: ${met}${why === undefined ? "" : `: ${why}`}`);

const readNotes = expectTool({ tools: ["read"], args: { path: { $endsWith: "notes.txt" } } });
const good = call("read", { path: "a/notes.txt" });

describe("one tool", () => {
  test("the right tool with matching arguments passes", () => {
    expect(grade(readNotes, [turn(good)])).toEqual({
      grade: "pass",
      selection: "right-tool",
      expected: "read",
      picked: "read",
      checks: [
        { what: "tool", met: "yes" },
        { what: "args (schema)", met: "yes" },
        { what: "args.path", met: "yes" },
      ],
    });
  });

  test("a model that makes its arguments up is judged by the tool alone", () => {
    const unjudged = "arguments are made up";
    const score = (expect: Expectation, ...turns: Turn[]) => createGrader(caseOf(expect), toolset, { unjudged })(turns);
    const wrong = [call("read", { path: 1, more: true }), call("read", { path: "other.txt" })];
    for (const made of wrong)
      expect(score(readNotes, turn(made))).toMatchObject({
        grade: "pass",
        checks: [{ what: "tool", met: "yes" }],
        unchecked: [unjudged],
      });
    const withResult = expectTool({ tools: ["read"], result: { contains: "x" } });
    expect(score(withResult, turn({ ...good, execution: executed("y") })).grade).toBe("pass");
    expect(score(expectCalls([{ tools: ["read"], args: { path: "a" } }]), turn(good))).toMatchObject({
      grade: "pass",
      unchecked: [unjudged],
    });
    expect(score(readNotes, turn(call("list", {})))).toMatchObject({ grade: "fail", selection: "wrong-tool" });
  });

  test("no call, and a refusal", () => {
    expect(words(readNotes, turn())).toBe("fail no-call (none)");
    expect(whys(readNotes, turn())).toEqual(["tool: no: expected a call of read, got none"]);
    expect(words(readNotes, refusal)).toBe("fail refused (none)");
    expect(whys(readNotes, refusal)).toEqual([
      "tool: no: expected a call of read, got none",
      "refusal: no: expected an answer, got a refusal",
    ]);
    expect(words(readNotes)).toBe("fail no-call (none)");
  });

  test.each(["", "\n", "<think>Hm.</think>\n", "<think>Hm"])(
    "a model that says nothing does not abstain: %j",
    (text) => {
      const none: Expectation = { kind: "none", avoid: [] };
      const said = { ...turn(), text, usage: { ...noUsage, outputTokens: 3 } };
      const reason = "reply: the model wrote neither a text nor a call";
      expect(grade(none, [said])).toMatchObject({ grade: "not-gradable", reason });
      expect(words(readNotes, said)).toBe("fail no-call (none)");
      expect(words(none, { ...said, text: "<think>Hm.</think> Hello" })).toBe("pass abstained (none)");
      const thanks = {
        ...caseOf(undefined),
        turns: [
          { content: "Thanks!", expect: none },
          { content: "Read", expect: readNotes },
        ],
      };
      expect(createGrader(thanks, toolset)([said, { ...turn(good), userTurn: 2 }]).grade).toBe("pass");
    },
  );

  test("a later reply that was cut off may have had a call that must not be", () => {
    const cut: Turn = { ...turn(), stop: "cut" };
    const avoiding = { ...readNotes, avoid: ["write"] };
    const none: Expectation = { kind: "skill", skill: "none", avoid: [] };
    for (const expected of [avoiding, expectCalls([{ tools: ["read"] }]), none])
      expect(grade(expected, [turn(good), cut]).grade).toBe("not-gradable");
    expect(grade(readNotes, [turn(good), cut]).grade).toBe("pass");
    expect(grade(expectCalls([{ tools: ["read"] }], { extras: true }), [turn(good), cut]).grade).toBe("pass");
  });

  test("another listed tool, and one that is not listed", () => {
    expect(words(readNotes, turn(call("list")))).toBe("fail wrong-tool list");
    expect(whys(readNotes, turn(call("list")))).toEqual(["tool: no: expected read, got list"]);
    expect(words(readNotes, turn(call("fetch")))).toBe("fail unknown-tool fetch (unknown)");
    expect(whys(readNotes, turn(call("fetch")))).toEqual(["tool: no: expected read, got fetch, which is not listed"]);
  });

  test("the first turn that holds calls is judged, and no later one", () => {
    expect(words(readNotes, turn(), turn(good), turn(call("list")))).toBe("pass right-tool read");
    expect(words(readNotes, turn(call("list")), turn(good))).toBe("fail wrong-tool list");
  });

  test("any of several right tools", () => {
    const either = expectTool({ tools: ["list", "read"] });
    expect(words(either, turn(good))).toBe("pass right-tool read");
    expect(grade(either, [turn(good)]).expected).toBe("list | read");
  });

  test.each([
    [
      "not JSON",
      { id: "1", tool: "read", argumentsText: '{"path": ' },
      'expected an object, got text that is not JSON: {"path": ',
    ],
    ["no object", { id: "1", tool: "read", arguments: ["a"] }, 'expected an object, got ["a"]'],
    ["missing", call("read"), "args must have required property 'path'"],
    ["mistyped", call("read", { path: "notes.txt", head: "1" }), 'args.head must be integer, got "1"'],
    ["unknown", call("read", { path: "notes.txt", z: 1 }), 'args must NOT have additional properties: "z"'],
    [
      "not in the enum",
      call("read", { path: "notes.txt", mode: "hex" }),
      'args.mode must be equal to one of the allowed values: ["text","binary"], got "hex"',
    ],
  ])("arguments that are %s are malformed", (_name, made, why) => {
    expect(words(readNotes, turn(made))).toBe("fail malformed-arguments read");
    expect(whys(readNotes, turn(made))).toEqual(["tool: yes", `args (schema): no: ${why}`]);
  });

  test("arguments that do not match are wrong, each said apart", () => {
    const both = expectTool({ tools: ["read"], args: { path: "notes.txt", head: { $gte: 5 } } });
    const made = turn(call("read", { path: "a.md", head: 1 }));
    expect(words(both, made)).toBe("fail wrong-arguments read");
    expect(whys(both, made)).toEqual([
      "tool: yes",
      "args (schema): yes",
      'args.path: no: args.path: expected "notes.txt", got "a.md"',
      "args.head: no: args.head: expected a number >= 5, got 1",
    ]);
  });

  test("other arguments are free, but not in exact mode", () => {
    const made = turn(call("read", { path: "notes.txt", head: 3 }));
    expect(words(readNotes, made)).toBe("pass right-tool read");
    const exact = { ...readNotes, argsMode: "exact" } as const;
    expect(words(exact, turn(good))).toBe("pass right-tool read");
    expect(words(exact, made)).toBe("fail wrong-arguments read");
    expect(words(exact, turn(call("read", { path: "a.md" })))).toBe("fail wrong-arguments read");
    expect(whys(exact, made).at(-1)).toBe("args (exact): no: args.head: expected no such argument, got 3");
  });

  test("what passes exactly passes partially", () => {
    const some = fc.record({ path: fc.constantFrom("a", "b"), head: fc.constantFrom(1, 2) }, { requiredKeys: [] });
    fc.assert(
      fc.property(some, some, (args, made) => {
        const passes = (argsMode: "exact" | "partial") =>
          grade(expectTool({ tools: ["read"], args }, { argsMode }), [turn(call("read", { ...made }))]).grade ===
          "pass";
        expect(passes("exact") && !passes("partial")).toBe(false);
        if (args.path !== undefined) expect(passes("exact")).toBe(JSON.stringify(args) === JSON.stringify(made));
      }),
    );
  });

  test("several calls where one was wanted", () => {
    expect(words(readNotes, turn(good, call("list")))).toBe("fail several-calls read + list");
    expect(words(readNotes, turn(good, good))).toBe("fail several-calls read + read");
    expect(whys(readNotes, turn(good, call("list")))).toEqual([
      "tool: no: expected one call of read, got 2: read + list",
    ]);
    expect(words(readNotes, turn(call("list"), call("write")))).toBe("fail wrong-tool list + write");
    expect(words(readNotes, turn(call("fetch"), call("write")))).toBe("fail unknown-tool fetch (unknown) + write");
  });

  test("with extras the call that comes closest is judged", () => {
    const extras = { ...readNotes, extras: true };
    expect(words(extras, turn(call("list"), call("read", { path: "x" }), good))).toBe(
      "pass right-tool list + read + read",
    );
    expect(words(extras, turn(call("fetch"), call("list")))).toBe("fail wrong-tool fetch (unknown) + list");
    expect(words(extras, turn(call("read", { path: "x" }), call("read")))).toBe("fail wrong-arguments read + read");
  });

  test("with extras a call that is decided goes before one that needs a judge", () => {
    const args = { path: { $anyOf: [{ $judge: "a text file" }, "a"] } };
    const either = expectTool({ tools: ["read"], args }, { extras: true });
    const made = turn(call("read", { path: "b" }), call("read", { path: "a" }));
    expect(words(either, made)).toBe("pass right-tool read + read");
  });

  test("the result decides after the arguments", () => {
    const withResult = expectTool({ tools: ["read"], args: { path: "a" }, result: { contains: "hello" } });
    const answer = (text: string, path = "a") => turn(call("read", { path }, executed(text)));
    expect(words(withResult, answer("hello you"))).toBe("pass right-tool read");
    expect(words(withResult, answer("bye"))).toBe("fail wrong-result read");
    expect(words(withResult, answer("bye", "b"))).toBe("fail wrong-arguments read");
    expect(whys(withResult, answer("bye")).at(-1)).toBe('result: no: expected text with "hello", got "bye"');
  });

  test("a result of a call that was skipped cannot be decided", () => {
    const withResult = expectTool({ tools: ["write"], result: { success: true } });
    const skipped = { status: "skipped", reason: "execute: never" } as const;
    expect(grade(withResult, [turn(call("write", { path: "a" }, skipped))])).toMatchObject({
      grade: "not-gradable",
      selection: "right-tool",
      reason: "result: the call was not executed: execute: never",
    });
  });

  test("the server decides where it accepts what its schema seems to refuse", () => {
    const strict = toolsetOf([{ name: "read", inputSchema: { properties: { path: { maxLength: 1 } } } }]);
    const gradeWith = (isError: boolean) => {
      const execution: Execution = { status: "executed", ms: 1, result: { isError, content: [] } };
      return createGrader(caseOf(readNotes), strict)([turn({ ...good, execution })]);
    };
    expect(gradeWith(false)).toMatchObject({
      grade: "pass",
      unchecked: [
        expect.stringContaining("arguments of read: the server accepted what its inputSchema refuses: args.path"),
      ],
    });
    expect(gradeWith(true)).toMatchObject({ grade: "fail", selection: "malformed-arguments" });
  });

  test("a schema that cannot be compiled is not checked", () => {
    const dialect = toolsetOf([
      { name: "read", inputSchema: { $defs: { a: { $id: "x" }, b: { $id: "x", type: "string" } } } },
    ]);
    const { grade: result, checks } = createGrader(caseOf(readNotes), dialect)([turn(good)]);
    expect([result, checks.map(({ what }) => what)]).toEqual(["pass", ["tool", "args.path"]]);
  });
});

describe("no tool, any tool, tools to avoid", () => {
  const none = { kind: "none", avoid: [] } as const;
  const any = { kind: "any", avoid: [] } as const;

  test("a reply that was cut off fails with its own outcome, unless something was called before", () => {
    const cut: Turn = { ...turn(), stop: "cut" };
    for (const expected of [readNotes, expectCalls([{ tools: ["read"] }]), { kind: "none", avoid: [] } as const])
      expect(words(expected, cut)).toBe("fail cut-off (none)");
    expect(words(readNotes, turn(good), cut)).toBe(words(readNotes, turn(good)));
  });

  test("a call that is written as text is neither a call nor an abstention", () => {
    const written: Turn = { ...turn(), text: '<tool_call>{"name": "read", "arguments": {}}</tool_call>' };
    for (const expected of [readNotes, expectCalls([{ tools: ["read"] }]), none, any])
      expect(words(expected, written)).toBe("fail call-as-text read (as text)");
    expect(whys(none, written)).toMatchInlineSnapshot(`
      [
        "reply: no: the reply calls read as text (Hermes' and Qwen's <tool_call>), which the endpoint did not read as a call: give it the chat template and the tool parser of the model (llama.cpp: --jinja; vLLM: --enable-auto-tool-choice --tool-call-parser)",
      ]
    `);
    expect(words(readNotes, turn(good), written)).toBe(words(readNotes, turn(good)));
  });

  test("none: abstained, over-triggered, refused", () => {
    expect(words(none, turn())).toBe("pass abstained (none)");
    expect(words(none, turn(), turn(call("list"), good))).toBe("fail over-triggered list");
    expect(words(none, turn(call("fetch")))).toBe("fail over-triggered fetch (unknown)");
    expect(whys(none, turn(call("list"), good))).toEqual(["tool: no: expected no call, got list + read"]);
    expect(words(none, refusal)).toBe("fail refused (none)");
  });

  test("any: the first call is to a listed tool, with arguments that it takes", () => {
    expect(words(any, turn(call("list"), call("fetch")))).toBe("pass right-tool list + fetch (unknown)");
    expect(words(any, turn())).toBe("fail no-call (none)");
    expect(words(any, refusal)).toBe("fail refused (none)");
    expect(words(any, turn(call("read")))).toBe("fail malformed-arguments read");
    expect(words(any, turn(call("fetch")))).toBe("fail unknown-tool fetch (unknown)");
    expect(whys(any, turn(call("fetch")))).toEqual([
      "tool: no: expected any listed tool, got fetch, which is not listed",
    ]);
    const failing = turn(call("list", {}, executed("x", undefined, true)));
    expect(words({ ...any, result: { isError: false } }, failing)).toBe("fail wrong-result list");
  });

  test("avoid alone passes unless one of them is called, in whatever turn", () => {
    const avoid = { kind: "avoid", avoid: ["write"] } as const;
    expect(words(avoid, turn())).toBe("pass abstained (none)");
    expect(words(avoid, turn(call("list")))).toBe("pass right-tool list");
    expect(words(avoid, turn(call("list")), turn(call("write")))).toBe("fail over-triggered write");
    expect(whys(avoid, turn(call("list")), turn(call("write")))).toEqual([
      "avoid: no: expected no call of write, got write",
    ]);
    expect(words(avoid, refusal)).toBe("fail refused (none)");
  });

  test("avoid beside another expectation", () => {
    const careful = { ...readNotes, avoid: ["write", "list"] };
    expect(words(careful, turn(good))).toBe("pass right-tool read");
    expect(words(careful, turn(good), turn(call("list")))).toBe("fail wrong-tool list");
    expect(whys(careful, turn(good), turn(call("list"))).at(-1)).toBe(
      "avoid: no: expected no call of write, list, got list",
    );
    expect(words({ ...none, avoid: ["list"] }, turn(call("list")))).toBe("fail over-triggered list");
  });
});

describe("several calls", () => {
  const find: ExpectedCall = { tools: ["list"], args: { q: "todo" } };
  const open: ExpectedCall = { tools: ["read"], args: { path: "a" } };
  const found = call("list", { q: "todo" });
  const opened = call("read", { path: "a" });
  const strict = expectCalls([find, open]);
  const anyOrder = expectCalls([find, open], { order: "any" });

  test("in order, over all turns", () => {
    expect(words(strict, turn(found), turn(opened))).toBe("pass right-tool list, read");
    expect(whys(strict, turn(found), turn(opened))).toEqual([
      "calls[1] list: yes",
      "calls[2] read: yes",
      "extras: yes",
    ]);
    expect(words(strict, turn(opened), turn(found))).toBe("fail wrong-tool read, list");
    expect(whys(strict, turn(opened, found))).toEqual([
      "calls[1] list: yes",
      "calls[2] read: no: no such call at this position; the calls were: read, list",
      "extras: no: expected no other calls, got read",
    ]);
  });

  test("in any order", () => {
    expect(words(anyOrder, turn(opened, found))).toBe("pass right-tool read + list");
  });

  test("nothing called, one missing, more beside", () => {
    for (const expected of [strict, anyOrder]) {
      expect(words(expected, turn())).toBe("fail no-call (none)");
      expect(words(expected, refusal)).toBe("fail refused (none)");
      expect(words(expected, turn(found))).toBe("fail wrong-tool list");
      expect(words(expected, turn(found, call("fetch")))).toMatch(/^fail unknown-tool list/);
      expect(words(expected, turn(found, opened, opened))).toMatch(/^fail several-calls list/);
      expect(words(expected, turn(found, call("write", { path: "a" })))).toMatch(/^fail wrong-tool/);
      expect(words(expected, turn(found, call("read")))).toMatch(/^fail malformed-arguments/);
      expect(words(expected, turn(found, call("read", { path: "b" })))).toMatch(/^fail wrong-arguments/);
    }
    expect(whys(anyOrder, turn(found, call("read", { path: "b" }), call("list")))).toEqual([
      "calls[1] list: yes",
      'calls[2] read args.path: no: args.path: expected "a", got "b"',
      "extras: no: expected no other calls, got list",
    ]);
  });

  test("a malformed call beside the expected ones", () => {
    expect(words(expectCalls([open]), turn(opened, call("read")))).toBe("fail malformed-arguments read, read");
    expect(words(expectCalls([open], { extras: true }), turn(opened, call("read")))).toBe("pass right-tool read, read");
  });

  test("one call serves one expected call", () => {
    for (const order of ["strict", "any"] as const) {
      const twice = expectCalls([find, find], { order, extras: true });
      expect(words(twice, turn(found))).toBe("fail wrong-tool list");
      expect(words(twice, turn(found, found, opened))).toMatch(/^pass right-tool/);
    }
  });

  test("with extras others may stand between, but not instead", () => {
    const extras = { ...strict, extras: true };
    expect(words(extras, turn(call("write", { path: "z" }), found, call("list"), opened))).toBe(
      "pass right-tool write, list, list, read",
    );
    expect(words(extras, turn(opened, found))).toBe("fail wrong-tool read, list");
    expect(words(extras, turn(found, call("fetch"), opened))).toBe("pass right-tool list, fetch (unknown), read");
    expect(words({ ...anyOrder, extras: true }, turn(opened, call("list"), found))).toBe(
      "pass right-tool read + list + list",
    );
  });

  test("any order finds the pairing that exists, whichever call comes first", () => {
    const loose = { tools: ["read"], args: { path: { $any: true } } };
    const pair = expectCalls([loose, open], { order: "any" });
    expect(words(pair, turn(opened, call("read", { path: "b" })))).toBe("pass right-tool read + read");
    expect(words(pair, turn(call("read", { path: "b" }), opened))).toBe("pass right-tool read + read");
  });

  test("right calls with a wrong result, or one that is not known", () => {
    const checked = expectCalls([{ tools: ["list"], result: { contains: "ok" } }, open], { order: "any" });
    expect(words(checked, turn(call("list", {}, executed("bad")), opened))).toBe("fail wrong-result list + read");
    const verdict = grade(checked, [turn(call("list"), opened)]);
    expect(verdict).toMatchObject({ grade: "not-gradable", selection: "right-tool" });
    expect(verdict).toHaveProperty("reason", "calls[1] list result: the call was not executed");
  });
});

describe("optional calls", () => {
  const look: ExpectedCall = { tools: ["list"], optional: true };
  const open: ExpectedCall = { tools: ["read"], args: { path: "a" } };
  const opened = call("read", { path: "a" });
  const looked = call("list");

  test.each(["strict", "any"] as const)("may be left out, or come once (order: %s)", (order) => {
    const expectation = expectCalls([look, open], { order });
    expect(words(expectation, turn(opened))).toBe("pass right-tool read");
    expect(words(expectation, turn(looked), turn(opened))).toMatch(/^pass right-tool list/);
    expect(words(expectation, turn(looked))).toBe("fail wrong-tool list");
    expect(words(expectation, turn())).toBe("fail no-call (none)");
    expect(words(expectation, turn(looked), turn(looked), turn(opened))).toMatch(/^fail several-calls/);
    expect(words(expectation, turn(opened), turn(looked))).toBe(
      order === "any" ? "pass right-tool read + list" : "fail several-calls read, list",
    );
    expect(whys(expectation, turn(opened))).toEqual(["calls[2] read: yes", "extras: yes"]);
  });

  test("a wrong attempt at one is an additional call", () => {
    const expectation = [{ ...look, args: { q: "x" } }, open];
    const made = [turn(call("list", { q: "y" })), turn(opened)];
    expect(words(expectCalls(expectation, { extras: true }), ...made)).toBe("pass right-tool list, read");
    expect(words(expectCalls(expectation), ...made)).toBe("fail wrong-arguments list, read");
    expect(words(expectCalls(expectation, { extras: true, order: "any" }), ...made)).toBe(
      "pass right-tool list + read",
    );
  });

  test("never take the call that a required one needs", () => {
    const twice = [{ ...open, optional: true as const }, open];
    for (const order of ["strict", "any"] as const)
      expect(words(expectCalls(twice, { order }), turn(opened))).toBe("pass right-tool read");
  });

  test("all may be left out where no other call is allowed", () => {
    expect(words(expectCalls([look]), turn())).toBe("pass right-tool (none)");
    expect(words(expectCalls([look]), turn(opened))).toBe("fail several-calls read");
  });

  test("in strict order, a conversation passes exactly if some choice of optional calls is what was called", () => {
    const names = fc.constantFrom("list", "read", "write");
    const calls = fc.array(fc.record({ tool: names, optional: fc.boolean() }), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(calls, fc.array(names, { maxLength: 6 }), fc.boolean(), (expected, made, extras) => {
        fc.pre(!extras || expected.some(({ optional }) => !optional));
        const args = { path: "a" };
        const expectation = expectCalls(
          expected.map(({ tool, optional }) => ({ tools: [tool], ...(optional && { optional }) })),
          { extras },
        );
        const letter = (tool: string) => tool[0] ?? "";
        const others = extras ? ".*" : "";
        const pattern = expected.map(({ tool, optional }) => `(?:${letter(tool)}${others})${optional ? "?" : ""}`);
        const passes = new RegExp(`^${others}${pattern.join("")}$`).test(made.map(letter).join(""));
        const graded = grade(expectation, [turn(...made.map((tool) => call(tool, args)))]);
        expect(graded.grade).toBe(passes ? "pass" : "fail");
      }),
    );
  });
});

describe("acceptable tools", () => {
  const read: ExpectedCall = { tools: ["read"], args: { path: "a" }, acceptable: ["list"] };
  const score = (...turns: Turn[]) => grade(expectTool(read), turns);

  test("pass as substitutes, whatever arguments are expected", () => {
    expect(score(turn(call("list", { q: "b" })))).toMatchObject({
      grade: "pass",
      selection: "right-tool",
      substituted: ["list"],
      checks: [{ what: "tool" }, { what: "args (schema)" }],
    });
    expect(score(turn(good)).substituted).toBeUndefined();
    expect(words(expectTool(read), turn(call("write", { path: "a" })))).toBe("fail wrong-tool write");
    expect(words(expectTool({ ...read, acceptable: ["write"] }), turn(call("write")))).toBe(
      "fail malformed-arguments write",
    );
    expect(words(expectTool(read, { avoid: ["write"] }), turn(call("list")), turn(call("write")))).toBe(
      "fail wrong-tool write",
    );
  });

  test("give way to the expected tool", () => {
    const right = call("read", { path: "a" });
    expect(grade(expectTool(read, { extras: true }), [turn(call("list"), right)]).substituted).toBeUndefined();
    const calls = expectCalls([{ tools: ["list"] }, read], { order: "any" });
    expect(grade(calls, [turn(right, call("list"))]).substituted).toBeUndefined();
    expect(grade(calls, [turn(call("list"), call("list"))])).toMatchObject({ grade: "pass", substituted: ["list"] });
  });

  test("are found and chosen where definitions are deferred", () => {
    const deferred = new Set(["read", "list"]);
    const found = { ...turn(call("list")), searches: [{ query: "notes", found: ["list"] }] };
    expect(createGrader(caseOf(expectTool(read)), toolset)([found], undefined, deferred)).toMatchObject({
      grade: "pass",
      substituted: ["list"],
      discovery: { outcome: "chosen", rank: 1 },
    });
  });
});

describe("skills", () => {
  const pdf = { kind: "skill", skill: "pdf", avoid: [] } as const;
  const noSkill = { kind: "skill", skill: "none", avoid: [] } as const;

  test("loaded by the Skill tool or by reading its file, in any turn", () => {
    expect(words(pdf, turn(call("list")), turn(call("Skill", { skill: "pdf" })))).toBe("pass right-tool skill:pdf");
    expect(words(pdf, turn(call("read", { path: "/home/u/.claude/skills/pdf/SKILL.md" })))).toBe(
      "pass right-tool skill:pdf",
    );
    expect(words(pdf, turn(call("read", { path: "C:\\skills\\pdf\\SKILL.md" })))).toBe("pass right-tool skill:pdf");
    expect(words(pdf, turn(call("Bash", { command: "cat 'pdf/SKILL.md' | head" })))).toBe("pass right-tool skill:pdf");
    expect(words(pdf, turn(call("read", { path: "pdf/./notes/..//SKILL.md" })))).toBe("pass right-tool skill:pdf");
    expect(words(pdf, turn(call("x", { many: [{ of: ["docx/SKILL.md", "pdf/SKILL.md"] }] })))).toBe(
      "pass right-tool skill:docx + skill:pdf",
    );
  });

  test("not loaded, or another one", () => {
    expect(words(pdf, turn())).toBe("fail no-call (none)");
    expect(words(pdf, turn(call("list")))).toBe("fail no-call (none)");
    expect(words(pdf, turn(call("Skill", { skill: "docx" })))).toBe("fail wrong-tool skill:docx");
    expect(whys(pdf, turn(call("Skill", { skill: "docx" })))).toEqual([
      "skill: no: expected skill pdf to be loaded, got skill:docx",
    ]);
    expect(words(pdf, turn(call("read", { path: "xpdf/SKILL.md" })))).toBe("fail wrong-tool skill:xpdf");
    expect(words(pdf, turn(call("Glob", { pattern: "skills/*/SKILL.md" })))).toBe("fail no-call (none)");
    expect(words(pdf, turn(call("read", { path: "pdf/SKILL.md.bak" })))).toBe("fail no-call (none)");
    expect(words(pdf, turn({ id: "1", tool: "Skill", argumentsText: "pdf" }))).toBe("fail no-call (none)");
    expect(words(pdf, refusal)).toBe("fail refused (none)");
  });

  test("none: no skill may be loaded, tools may be called", () => {
    expect(words(noSkill, turn(call("list")))).toBe("pass abstained (none)");
    expect(words(noSkill, turn(call("Skill", { skill: "pdf" })))).toBe("fail over-triggered skill:pdf");
    expect(words(noSkill, refusal)).toBe("fail refused (none)");
  });
});

describe("where skills are offered", () => {
  const offering = toolsetOf([
    { name: "list" },
    { name: "skill:pdf", origin: "skill", server: "skills" },
    { name: "skill:docx", origin: "skill", server: "skills" },
  ]);
  const graded = (expect: Expectation, ...turns: Turn[]) =>
    createGrader({ expect, expectedBehavior: [] }, offering)(turns);
  const told = (expect: Expectation, ...turns: Turn[]) => {
    const { grade, selection, picked, skills } = graded(expect, ...turns);
    return `${grade} ${selection} ${picked} [${skills?.join()}]`;
  };
  const load = (skill: string) => turn(call("Skill", { skill }));

  test("the skills that were loaded stand in the verdict, also those that nobody asked about", () => {
    const pdf = { kind: "skill", skill: "pdf", avoid: [] } as const;
    expect(told(pdf, load("docx"), load("pdf"))).toBe("pass right-tool skill:docx + skill:pdf [docx,pdf]");
    expect(told(pdf, turn())).toBe("fail no-call (none) []");
  });

  test("a near miss: this skill may not be loaded, another one may", () => {
    const notPdf = { kind: "avoid", avoid: ["skill:pdf"] } as const;
    expect(told(notPdf, load("docx"))).toBe("pass right-tool skill:docx [docx]");
    expect(told(notPdf, turn())).toBe("pass abstained (none) []");
    expect(told(notPdf, load("/pdf"))).toBe("fail over-triggered skill:pdf [pdf]");
    expect(told(notPdf, turn(call("list")), load("pdf"))).toBe("fail over-triggered skill:pdf [pdf]");
    expect(told(notPdf, turn(call("Read", { file_path: "/skills/pdf/SKILL.md" })))).toBe(
      "fail over-triggered skill:pdf [pdf]",
    );
  });

  test("to load a skill is another pick than to call a tool, and to read a file is none", () => {
    const list = expectTool({ tools: ["list"] });
    expect(told(list, load("pdf"))).toBe("fail wrong-tool skill:pdf [pdf]");
    expect(told(list, load("nope"))).toBe("fail unknown-tool skill:nope (unknown) [nope]");
    const read = turn(call("Read", { file_path: "/skills/pdf/reference.md" }));
    expect(told(list, read, turn(call("list")))).toBe("pass right-tool list []");
  });
});

describe("what a judge decides", () => {
  const sentences = ["asks for a size", "is polite"];

  test("without a judge a sentence is unknown, and the trial not gradable", () => {
    expect(grade(undefined, [turn(good)], sentences)).toMatchObject({
      grade: "not-gradable",
      selection: "right-tool",
      checks: sentences.map((text) => ({ what: `behavior: ${text}`, met: "unknown" })),
      reason: "behavior: asks for a size: no judge model was given (and 1 more)",
    });
  });

  test("with a judge its word counts", () => {
    const judge: Judge = (question) =>
      "criterion" in question && question.criterion === "is polite" ? no("it swore") : yes;
    expect(grade(readNotes, [turn(good)], ["asks for a size"], judge).grade).toBe("pass");
    const verdict = grade(readNotes, [turn(good)], sentences, judge);
    expect([verdict.grade, verdict.selection]).toEqual(["fail", "right-tool"]);
    expect(verdict.checks.at(-1)).toEqual({ what: "behavior: is polite", met: "no", why: "it swore" });
  });

  test("what is decided and missed fails, whatever is not known", () => {
    expect(grade(readNotes, [turn(call("list"))], sentences).grade).toBe("fail");
    const judged = expectTool({ tools: ["read"], args: { path: { $judge: "a text file" } } });
    expect(words(judged, turn(good))).toBe("not-gradable right-tool read");
    expect(grade(judged, [turn(good)], [], () => yes).grade).toBe("pass");
  });

  test("a refusal may be what a sentence asks for", () => {
    expect(grade(undefined, [refusal], ["declines"], () => yes)).toMatchObject({ grade: "pass", selection: "refused" });
  });

  test("no expectation is not gradable", () => {
    expect(grade(undefined, [turn(good)])).toMatchObject({
      grade: "not-gradable",
      checks: [],
      reason: "no expectation",
    });
  });
});

describe("labels", () => {
  test.each<[Expectation | undefined, string, string[]]>([
    [expectTool({ tools: ["a"] }), "a", ["a"]],
    [expectTool({ tools: ["a", "b"] }), "a | b", ["a", "b"]],
    [expectCalls([{ tools: ["a"] }, { tools: ["b", "c"] }, { tools: ["a"] }]), "a, b | c, a", ["a", "b", "c"]],
    [expectCalls([{ tools: ["a"] }, { tools: ["b"] }], { order: "any" }), "a + b", ["a", "b"]],
    [{ kind: "none", avoid: [] }, "(none)", []],
    [{ kind: "any", avoid: [] }, "(any)", []],
    [{ kind: "avoid", avoid: ["a", "b"] }, "(avoid a, b)", []],
    [{ kind: "skill", skill: "pdf", avoid: [] }, "skill:pdf", []],
    [{ kind: "skill", skill: "none", avoid: [] }, "(none)", []],
    [undefined, "(behavior)", []],
  ])("%j is %s", (expectation, label, tools) => {
    expect([labelExpectation(expectation), listExpectedTools({ ...(expectation && { expect: expectation }) })]).toEqual(
      [label, tools],
    );
  });
});

test("a trial in which nothing was asked is never a pass", () => {
  const none = createGrader({ expect: { kind: "none", avoid: [] }, expectedBehavior: [] }, { hash: "list", tools: [] });
  expect(none([])).toMatchObject({ grade: "not-gradable", reason: "reply: no request was made" });
});

test.each<[expected: Json, given: Json | undefined, fault: string]>([
  ["5", undefined, "missing"],
  ["5", 5, "wrong-type"],
  [5, "5", "wrong-type"],
  [null, "null", "wrong-type"],
  ["null", null, "wrong-type"],
  [[], {}, "wrong-type"],
  [null, {}, "wrong-type"],
  ["5", "6", "wrong-value"],
  [[1], [2], "wrong-value"],
  [{ $startsWith: "a" }, "b", "wrong-value"],
  [{ $absent: true }, 1, "invented"],
])("an argument that must be %j and is %j is %s", (expected, given, kind) => {
  const expectation = expectTool({ tools: ["list"], args: { x: expected } });
  const { checks } = grade(expectation, [turn(call("list", given === undefined ? {} : { x: given }))]);
  expect(checks.at(-1)).toMatchObject({ met: "no", fault: { tool: "list", parameter: "x", kind } });
});

test("a call is named by the tools of which any will do", () => {
  const either = expectCalls([{ tools: ["read", "list"], args: {} }]);
  expect(whys(either, turn(call("list")))).toEqual(["calls[1] read | list: yes", "extras: yes"]);
});
