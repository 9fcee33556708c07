import { describe, expect, it } from "vitest";
import { findWrittenCall } from "../../../src/evals/asking/scoring/writtenCalls.ts";

const names = ["read_note", "list_notes"];

describe("a call that is written as text", () => {
  it.each<[string, string]>([
    ["Hermes, Qwen", '<tool_call>\n{"name": "read_note", "arguments": {"name": "a.md"}}\n</tool_call>'],
    ["Hermes after words", 'I will read it.\n<tool_call>{"arguments": {}, "name": "read_note"}</tool_call>'],
    [
      "Qwen3-Coder",
      "<tool_call>\n<function=read_note>\n<parameter=name>\na.md\n</parameter>\n</function>\n</tool_call>",
    ],
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
  ])("in the form of %s", (_, text) => {
    expect(findWrittenCall(text, names)).toMatchObject({ tool: "read_note" });
  });

  it.each([
    ["DeepSeek", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_note", undefined],
    ["Granite", '<|tool_call|>[{"name": "read_note", "arguments": {}}]', "read_note"],
    [
      "Hermes, with a name among the arguments",
      '<tool_call>{"arguments": {"name": "a"}, "name": "read_note"}',
      "read_note",
    ],
    ["an invented name", '```json\n{"name": "open_note", "arguments": {"name": "a.md"}}\n```', "open_note"],
  ])("in the form of %s, whose tool is %s", (_, text, tool) => {
    expect(findWrittenCall(text, names)).toEqual({ form: expect.any(String), ...(tool !== undefined && { tool }) });
  });

  it.each([
    "I cannot tell the weather.",
    "You could use read_note for that, or `list_notes()`.",
    '{"answer": 42}',
    '{"name": "Ada", "age": 36}',
    'The record is:\n```json\n{"name": "Ada", "parameters": 3}\n```',
    '```python\nprint("hello")\n```',
    "read_note (the tool) is what you want.",
    "Action: none",
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
