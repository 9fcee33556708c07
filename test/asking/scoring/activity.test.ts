import { describe, expect, it } from "vitest";
import {
  findWrittenCall,
  isWritable,
  listWorkspace,
  toWorkspacePath,
} from "../../../src/evals/asking/scoring/activity.ts";
import { createGrader } from "../../../src/evals/asking/scoring/score.ts";
import type { Call, Execution, Turn } from "../../../src/evals/base/types/trial.ts";
import { aTool, aToolset } from "../../fakes/suite.ts";

const turn = (text: string, ...calls: Call[]): Turn => {
  const usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
  return { text, calls, stop: "done", ms: 0, usage };
};
const ended = (isError: boolean): Execution => ({ status: "executed", result: { isError, content: [] }, ms: 0 });
const write = (path: string, content: string, change: Partial<Call> = {}): Call => ({
  ...{ id: "1", tool: "Write", arguments: { file_path: path, content }, execution: ended(false) },
  ...change,
});

describe("the workspace after a trial", () => {
  it("has the files of the case and the last text of each that was written", () => {
    const calls = [write("/project/b.md", "1"), write("b.md", "2"), write("/project/a.md", "other")];
    expect(listWorkspace([{ path: "a.md", content: "given" }], [turn("", ...calls)])).toEqual([
      { path: "a.md", content: "other" },
      { path: "b.md", content: "2" },
    ]);
  });

  it("has nothing of calls that were refused, of a host's own tools, or outside of it", () => {
    const calls = [
      write("/project/a", "x", { execution: ended(true) }),
      write("/project/b", "x", { role: "built-in" }),
      write("/etc/passwd", "x"),
      write("../c", "x"),
    ];
    expect(listWorkspace([], [turn("", ...calls)])).toEqual([]);
  });

  it.each([
    ["/project/a/b.md", "a/b.md"],
    ["./a/../b.md", "b.md"],
    ["a\\b.md", "a/b.md"],
    ["/project", undefined],
    ["/project/../x", undefined],
    ["/etc/passwd", undefined],
    ["C:\\x", undefined],
    ["..", undefined],
    [".", undefined],
  ])("knows %s as %s", (written, path) => expect(toWorkspacePath(written)).toBe(path));
});

describe("a case that expects files", () => {
  const toolset = aToolset(aTool("search"));
  const one = {
    expectedBehavior: [],
    files: [{ path: "in.csv", content: "a" }],
    expectedFiles: { "out.md": { $contains: "3.1" }, "in.csv": "a", "tmp/x": { $absent: true } },
  };
  const grade = createGrader(one, toolset);

  it("passes with these texts, and says what is wrong with each", () => {
    expect(grade([turn("", write("/project/out.md", "## 3.1"))]).grade).toBe("pass");
    const { checks, grade: verdict } = grade([turn("", write("in.csv", "b"), write("tmp/x", ""))]);
    expect(verdict).toBe("fail");
    expect(checks.map(({ what, met }) => `${what} ${met}`)).toEqual([
      "file: out.md no",
      "file: in.csv no",
      "file: tmp/x no",
    ]);
  });

  it("reads the files that a host left where there are some", () => {
    const left = [{ path: "out.md", content: "3.1" }, ...one.files];
    expect(grade([turn("done")], undefined, undefined, left).grade).toBe("pass");
  });

  it("does not count reading and writing as picks", () => {
    const picks = createGrader({ ...one, expect: { kind: "none", avoid: [] } }, toolset);
    const { selection } = picks([turn("", write("/project/out.md", "3.1"))]);
    expect(selection).toBe("abstained");
  });

  it("is not graded on a keyword search, which writes nothing", () => {
    const { grade: verdict } = createGrader(one, toolset, { unjudged: "a keyword search" })([turn("done")]);
    expect(verdict).toBe("not-gradable");
  });
});

it("lets a model write only where something reads what it wrote", () => {
  const files = [{ path: "a", content: "" }];
  const writable = (change: object) => isWritable({ expectedBehavior: [], ...change });
  expect(writable({ expectedFiles: {} })).toBe(true);
  expect(writable({ files, assertions: ["a.mjs"] })).toBe(true);
  expect(writable({ files, expectedBehavior: ["b"] })).toBe(true);
  expect([writable({ files }), writable({ assertions: ["a.mjs"] }), writable({ expectedBehavior: ["b"] })]).toEqual([
    false,
    false,
    false,
  ]);
});

const names = ["read_note", "list_notes"];

describe("a call that is written as text", () => {
  it.each<[string, string]>([
    ["Hermes, Qwen", '<tool_call>\n{"name": "read_note", "arguments": {"name": "a.md"}}\n</tool_call>'],
    ["Hermes after words", 'I will read it.\n<tool_call>{"arguments": {}, "name": "read_note"}</tool_call>'],
    ["Qwen3", "<tool_call>\n<function=read_note>\n<parameter=name>\na.md\n</parameter>\n</function>\n</tool_call>"],
    ["GLM", "<tool_call>read_note\n<arg_key>name</arg_key>\n<arg_value>a.md</arg_value>\n</tool_call>"],
    ["Llama 3.2", '<function=read_note>{"name": "a.md"}</function>'],
    ["Llama 3.1", '<|python_tag|>{"name": "read_note", "parameters": {"name": "a.md"}}'],
    ["Llama 3, plain", '{"name": "read_note", "parameters": {"name": "a.md"}}'],
    ["Llama 4", '[read_note(name="a.md")]'],
    ["Mistral", '[TOOL_CALLS] [{"name": "read_note", "arguments": {"name": "a.md"}}]'],
    ["DeepSeek DSML", '<｜DSML｜invoke name="read_note">'],
    ["Kimi", "<|tool_calls_section_begin|> functions.read_note:0"],
    ["gpt-oss", '<|channel|>commentary to=functions.read_note <|constrain|>json<|message|>{"name":"a.md"}'],
    ["FunctionGemma", "<start_function_call>call:read_note{name:<escape>a.md<escape>}<end_function_call>"],
    ["Gemma", '```tool_code\nprint(default_api.read_note(name="a.md"))\n```'],
    ["Cohere", '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "read_note", "parameters": {}}]<|END_ACTION|>'],
    ["MiniMax", '<minimax:tool_call>\n<invoke name="read_note">\n</invoke>\n</minimax:tool_call>'],
    ["Claude in text", '<function_calls>\n<invoke name="read_note">\n</invoke>\n</function_calls>'],
    ["ReAct", 'Thought: I need it.\nAction: read_note\nAction Input: {"name": "a.md"}'],
    ["Qwen2.5-Coder", 'Sure:\n```json\n{\n  "name": "read_note",\n  "arguments": {"name": "a.md"}\n}\n```'],
    ["a list", '[{"name": "read_note", "arguments": {}}, {"name": "list_notes", "arguments": {}}]'],
    ["a line each", '{"name": "read_note", "arguments": {}}\n{"name": "list_notes", "arguments": {}}'],
    ["other keys", '{"tool": "read_note", "args": {"name": "a.md"}, "thought": "they ask for it"}'],
    ["OpenAI's own", '{"tool_calls": [{"type": "function", "function": {"name": "read_note", "arguments": "{}"}}]}'],
    ["the name as key", '{"read_note": {"name": "a.md"}}'],
    ["Python alone", 'read_note(name="a.md")'],
    ["Mistral since v11", '[TOOL_CALLS]read_note[CALL_ID]a1b2c3d4e[ARGS]{"name": "a.md"}'],
    ["Mistral without its token", 'read_note[ARGS]{"name": "a.md"}'],
    ["Llama 3.1, built-in tools", '<|python_tag|>read_note.call(name="a.md")'],
    ["Llama 3, two calls", '{"name": "read_note", "parameters": {}}; {"name": "list_notes", "parameters": {}}'],
    ["Llama 4 with tokens", '<|python_start|>[read_note(name="a.md")]<|python_end|>'],
    ["Llama 4 with a header", '<|header_start|>assistant<|header_end|>\n\n[read_note(name="a.md")]'],
    [
      "DeepSeek V3",
      '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_note\n```json\n{"name":"a.md"}\n```',
    ],
    [
      "DeepSeek V3.1",
      '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read_note<｜tool▁sep｜>{"name":"a.md"}<｜tool▁call▁end｜>',
    ],
    [
      "DeepSeek V3.2",
      '<｜DSML｜function_calls>\n<｜DSML｜invoke name="read_note">\n<｜DSML｜parameter name="name">a.md',
    ],
    ["Step3", '<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="read_note">'],
    ["GLM, no arguments", "<tool_call>read_note\n</tool_call>"],
    ["LangChain's XML agents", "<tool>read_note</tool><tool_input>a.md</tool_input>"],
    ["LangChain after words", "I will read it.\n\n<tool>read_note</tool>\n<tool_input>a.md"],
    ["GLM-4", 'read_note\n{"name": "a.md"}'],
    ["Granite 20B", '<function_call> {"name": "read_note", "arguments": {"name":"a.md"}}'],
    ["Phi-4-mini", 'functools[{"name": "read_note", "arguments": {"name": "a.md"}}]'],
    ["Command R", 'Action: ```json\n[{ "tool_name": "read_note", "parameters": {"name": "a.md"} }]\n```'],
    ["gpt-oss without tokens", 'assistantcommentary to=functions.read_note json{"name":"a.md"}'],
    ["Kimi K2", "<|tool_calls_section_begin|><|tool_call_begin|>functions.read_note:0<|tool_call_argument_begin|>{}"],
    ["Qwen-Agent", '✿FUNCTION✿: read_note\n✿ARGS✿: {"name":"a.md"}'],
    ["Hunyuan, Jamba, MiniMax-M1", '<tool_calls>\n[{"name": "read_note", "arguments": {}}]\n</tool_calls>'],
    ["Seed-OSS", "<seed:tool_call>\n<function=read_note>\n<parameter=name>a.md</parameter>\n</function>"],
    ["OLMo 3", '<function_calls>\nread_note(name="a.md")\n</function_calls>'],
    ["Nemotron", '<TOOLCALL>[{"name": "read_note", "arguments": {"name":"a.md"}}]</TOOLCALL>'],
    ["LFM2", '<|tool_call_start|>[read_note(name="a.md")]<|tool_call_end|>'],
    ["Apertus", '<|tools_prefix|>[{"read_note": {"name": "a.md"}}]<|tools_suffix|>'],
    ["InternLM", '<|action_start|><|plugin|>\n{"name": "read_note", "parameters": {}}<|action_end|>'],
    ["Functionary", '<|from|>assistant\n<|recipient|>read_note\n<|content|>{"name":"a.md"}'],
    ["Functionary v3.2", '>>>read_note\n{"name":"a.md"}'],
    ["LM Studio", '[TOOL_REQUEST]{"name": "read_note", "arguments": {"name":"a.md"}}[END_TOOL_REQUEST]'],
    ["Cline", "<use_mcp_tool>\n<server_name>n</server_name>\n<tool_name>read_note</tool_name>\n</use_mcp_tool>"],
    ["a tag with its name", "<read_note>\n<name>a.md</name>\n</read_note>"],
    ["Anthropic's own", '{"type": "tool_use", "id": "t", "name": "read_note", "input": {"name": "a.md"}}'],
    ["thoughts before", '<think>They want it.</think>\n{"name": "read_note", "arguments": {}}'],
    ["an <invoke> tag alone", '<invoke name="read_note"><parameter name="name">a.md</parameter></invoke>'],
    ["words before", 'I will read it.\n\n{"name": "read_note", "arguments": {"name": "a.md"}}'],
    ["words after", '{"name": "read_note", "arguments": {"name": "a.md"}}\n\nThis reads the note.'],
    ["a dictionary of Python", "{'name': 'read_note', 'arguments': {'name': 'a.md'}}"],
  ])("in the form of %s", (_, text) => {
    expect(findWrittenCall(text, names)).toMatchObject({ tool: "read_note" });
  });

  it.each([
    ["DeepSeek", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>open_note", "open_note"],
    ["Mistral, an invented name", "[TOOL_CALLS]open_note[ARGS]{}", "open_note"],
    ["Granite", '<|tool_call|>[{"name": "read_note", "arguments": {}}]', "read_note"],
    ["Hermes, a name in its arguments", '<tool_call>{"arguments": {"name": "a"}, "name": "read_note"}', "read_note"],
    ["an invented name", '```json\n{"name": "open_note", "arguments": {"name": "a.md"}}\n```', "open_note"],
  ])("in the form of %s, whose tool is %s", (_, text, tool) => {
    expect(findWrittenCall(text, names)).toEqual({ form: expect.any(String), ...(tool !== undefined && { tool }) });
  });

  it.each([
    "I cannot tell the weather.",
    '<think>I could write <tool_call>{"name": "read_note", "arguments": {}}</tool_call>.</think>It rains.',
    "You could use read_note for that, or `list_notes()`.",
    '{"answer": 42}',
    '{"name": "Ada", "age": 36}',
    'The record is:\n```json\n{"name": "Ada", "parameters": 3}\n```',
    '```python\nprint("hello")\n```',
    "read_note (the tool) is what you want.",
    "Action: none",
    'You can read one with `read_note(name="a.md")`.',
    "The tools are:\n\n- read_note\n- list_notes",
    "<p>read_note</p>",
    "<tool>hammer</tool>",
    "Write <tool>read_note</tool> in your page.",
    'You have a note with the name "read_note" and another with arguments.',
    "",
    "[]",
    "{",
  ])("is not %j", (text) => {
    expect(findWrittenCall(text, names)).toBeUndefined();
  });

  it("is found in a long text without delay", () => {
    for (const part of ["<tool_call>{", "```\n", "[TOOL_CALLS] [{", "Action: a\n", "read_note(", "{"])
      findWrittenCall(part.repeat(20_000), names);
    expect(findWrittenCall(`${"a ".repeat(100_000)}<tool_call>`, names)).toEqual({
      form: "Hermes' and Qwen's <tool_call>",
    });
  });
});
