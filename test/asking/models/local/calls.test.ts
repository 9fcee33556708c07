import { describe, expect, it } from "vitest";
import { CallGrammar, findOpening, readCalls } from "../../../../src/evals/asking/models/local/calls.ts";
import { ChatTemplate, type ChatTool, jsonForm } from "../../../../src/evals/asking/models/local/template.ts";
import type { JsonObject } from "../../../../src/evals/base/types/json.ts";
import { qwen } from "./stub.ts";

const tokens = { bos: "<s>", eos: "</s>" };
const toTool = (name: string, parameters: JsonObject = { type: "object", properties: {} }): ChatTool => {
  return { type: "function", function: { name, description: `Does ${name}.`, parameters } };
};
const tools = [toTool("read_file", { type: "object", properties: { path: { type: "string" } } })];
const user = { role: "user", content: "hi" } as const;

/** Templates in the styles of families, in short: how each lists tools and writes a call. */
const families = {
  qwen,
  "qwen2.5-coder": qwen.replace(
    '{"name": <function-name>, "arguments": <args-json-object>}',
    '{{"name": <function-name>, "arguments": <args-json-object>}}',
  ),
  llama: `{{- bos_token }}{% if strftime_now is defined %}{{ strftime_now("%d %b %Y") }}{% endif %}{% for m in messages %}<|start|>{{ m.role }}<|end|>{% if tools and m.role == "user" %}{{ tools | tojson }}{% endif %}{% if m.tool_calls %}{{ '{"name": "' + m.tool_calls[0].function.name + '", "parameters": ' }}{{ m.tool_calls[0].function.arguments | tojson }}{{ "}" }}{% else %}{{ m.content }}{% endif %}<|eot|>{% endfor %}{% if add_generation_prompt %}<|start|>assistant<|end|>{% endif %}`,
  mistral: `{{- bos_token }}{% if tools %}[AVAILABLE_TOOLS]{{ tools | tojson }}[/AVAILABLE_TOOLS]{% endif %}{% for m in messages %}{% if m.role == "user" %}[INST] {{ m.content }} [/INST]{% elif m.role == "assistant" %}{% if m.tool_calls %}{% for c in m.tool_calls %}{% if c.id|length != 9 %}{{ raise_exception("id") }}{% endif %}[TOOL_CALLS]{{ c.function.name }}[ARGS]{{ c.function.arguments if c.function.arguments is string else raise_exception("text") }}{% endfor %}{% else %} {{ m.content }}{% endif %}{{ eos_token }}{% endif %}{% endfor %}`,
  gemma: `{{- bos_token }}{% for m in messages %}{% if (m.role == "user") != (loop.index0 % 2 == 0) and messages[0].role != "system" %}{{ raise_exception("roles must alternate") }}{% endif %}<start_of_turn>{{ "model" if m.role == "assistant" else m.role }}\n{{ m.content | trim }}<end_of_turn>\n{% endfor %}{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}`,
};

describe("a chat template", () => {
  it.each(Object.entries(families))("of the style of %s shows the tools and tells the form of calls", (_, source) => {
    const template = new ChatTemplate(source, tokens);
    const { form, corrections } = template;
    const prompt = template.render([user], tools);
    expect(prompt).toContain("Does read_file.");
    expect({ ...form, begins: String(form?.begins), corrections }).toMatchSnapshot();
  });

  it("shares all but the query between two prompts with the same tools", () => {
    const template = new ChatTemplate(qwen, tokens);
    const [one, other] = template.renderPrefix([{ role: "system", content: "Be brief." }, user], tools);
    expect([one.replace("A<", "<"), one.includes("Be brief.")]).toEqual([other.replace("1<", "<"), true]);
  });

  it("gives a conversation to a template without tools as text, in which roles alternate", () => {
    const called = { id: "call00100", type: "function", function: { name: "read_file", arguments: {} } } as const;
    const messages = [
      user,
      { role: "assistant", content: "", tool_calls: [called] },
      ...["one", "two"].map((content) => ({ role: "tool", content }) as const),
    ] as const;
    expect(new ChatTemplate(families.gemma, tokens).render(messages, tools)).toMatchSnapshot();
  });
});

describe("a call in a reply", () => {
  const forms = [new ChatTemplate(qwen, tokens).form ?? jsonForm, jsonForm];

  it.each([
    "Sure. <tool_call>",
    '<tool_call>{"name"',
    '```json\n{\n  "name":',
    '{"name": "re',
    'I read it:\n```\n{"name" :',
  ])("has begun in %j", (text) => {
    expect(findOpening(text, forms)?.written).toBe(text.slice(text.search(/<tool_call>|\{/)));
  });

  it.each(["A JSON object {", '```json\n{"path":', 'Write {"name": "x"}', "```tool_code", ""])(
    "has not begun in %j",
    (text) => expect(findOpening(text, forms)).toBeUndefined(),
  );

  it.each<[string, unknown[], string]>([
    ['<tool_call>\n{"name": "a", "arguments": {"x": "}"}}\n</tool_call>', [["a", { x: "}" }]], ""],
    ['{"name":"a","arguments":{}}', [["a", {}]], ""],
    ['Look: ```json\n{ "name": "a", "arguments": {"b": {"c": 1}} }\n```', [["a", { b: { c: 1 } }]], "Look:"],
    [
      '<tool_call>\n{"name": "a", "arguments": {}}\n</tool_call>\n<tool_call>\n{"name": "b", "arguments": {}}\n</tool_call>',
      [
        ["a", {}],
        ["b", {}],
      ],
      "",
    ],
    ['{"name": "a", "parameters": {"x": 1}}', [["a", { x: 1 }]], ""],
    ['<tool_call>\n{"name": "a", "arguments": {"x": ', [], '<tool_call>\n{"name": "a", "arguments": {"x":'],
    ["Oslo.", [], "Oslo."],
  ])("is read from %j", (text, calls, left) => {
    const read = readCalls(text, forms);
    expect([read.calls.map((call) => [call.tool, call.arguments]), read.text]).toEqual([calls, left]);
  });
});

/** Accepts what a grammar in GBNF permits, as llama.cpp reads it: all ends of a text from a place. */
function accepts(grammar: string, text: string): boolean {
  const rules = new Map(
    grammar
      .split("\n")
      .filter((line) => line.includes("::="))
      .map((line) => line.split(" ::=", 2) as [string, string])
      .map(([name, body]) => [name, parse(body)]),
  );
  type Node = (at: number) => number[];
  function parse(body: string): () => Node {
    const parts = body.match(/"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|[A-Za-z][\w-]*|\{[\d,]+\}|[|()*?]/g) ?? [];
    let i = 0;
    const unique = (ends: number[]) => [...new Set(ends)];
    const sequence =
      (left: Node, right: Node): Node =>
      (at) =>
        unique(left(at).flatMap(right));
    const repeat =
      (one: Node, most: number, least = 0): Node =>
      (at) => {
        const ends = [at];
        for (let next = [at], n = 0; next.length > 0 && n < most; n++) {
          next = unique(next.flatMap(one)).filter((end) => !ends.includes(end));
          ends.push(...next);
        }
        return ends.slice(least);
      };
    const atom = (): Node => {
      const part = parts[i++] ?? "";
      let node: Node;
      if (part === "(") {
        node = choice();
        i++;
      } else if (part.startsWith('"')) {
        const literal = JSON.parse(part) as string;
        node = (at) => (text.startsWith(literal, at) ? [at + literal.length] : []);
      } else if (part.startsWith("[")) {
        const pattern = new RegExp(part, "y");
        node = (at) => {
          pattern.lastIndex = at;
          return pattern.test(text) ? [at + 1] : [];
        };
      } else node = (at) => rules.get(part)?.()(at) ?? [];
      const sign = parts[i] ?? "";
      if (sign === "*" || sign === "?" || sign.startsWith("{")) {
        i++;
        const exact = /^\{(\d+)\}$/.exec(sign)?.[1];
        const most = sign === "?" ? 1 : sign === "*" ? 1e6 : Number(/(\d+)\}/.exec(sign)?.[1]);
        if (exact !== undefined) return Array.from({ length: Number(exact) }, () => node).reduce(sequence);
        return repeat(node, most, Number(/^\{(\d+),/.exec(sign)?.[1] ?? 0));
      }
      return node;
    };
    const choice = (): Node => {
      const choices: Node[] = [];
      let current: Node = (at) => [at];
      while (i < parts.length && parts[i] !== ")") {
        if (parts[i] === "|") {
          choices.push(current);
          current = (at) => [at];
          i++;
        } else current = sequence(current, atom());
      }
      return (at) => unique([...choices, current].flatMap((one) => one(at)));
    };
    const whole = choice();
    return () => whole;
  }
  return rules.get("root")?.()(0).includes(text.length) ?? false;
}

describe("the grammar of calls", () => {
  const accept = (schema: JsonObject, value: string) => accepts(CallGrammar.ofSchema(schema), value);
  const text = { type: "string" };

  it.each<[JsonObject, string[], string[]]>([
    [{}, ["1", '"a"', '{"a": [null]}'], ["{", "a"]],
    [text, ['"a\\n\\u00e9 }"', '""'], ["a", '"a', '"\n"']],
    [{ type: "integer" }, ["-12", "0"], ["1.5", "01"]],
    [{ type: "number" }, ["1.5", "2e3", "-1"], ["1."]],
    [{ enum: ["a", 2, null] }, ['"a"', "2", "null"], ['"b"']],
    [{ const: "x" }, ['"x"'], ['"y"']],
    [{ type: ["string", "null"] }, ['"a"', "null"], ["1"]],
    [{ anyOf: [text, { type: "boolean" }] }, ['"a"', "true"], ["1"]],
    [{ allOf: [{ $ref: "#/$defs/t" }], $defs: { t: text } }, ['"a"'], ["1"]],
    [{ type: "array", items: text, minItems: 1 }, ['["a"]', '["a", "b"]'], ["[]", "[1]"]],
    [{ type: "array" }, ["[]", '[1, "a"]'], ["1"]],
    [{ type: "object", properties: {} }, ["{}"], ['{"a": 1}']],
    [{ type: "object" }, ["{}", '{"a": 1}'], ["[]"]],
    [
      { properties: { a: text, b: text, c: text }, required: ["b"] },
      ['{"b": ""}', '{"a": "", "b": ""}', '{"b": "", "c": ""}', '{\n  "a":"","b":"","c":""\n}'],
      ["{}", '{"a": ""}', '{"b": "", "a": ""}', '{"b": "", "b": ""}', '{"b": "", "d": ""}', '{"b": "",}'],
    ],
    [{ properties: { a: text, b: text } }, ["{}", '{"b": ""}', '{"a": "", "b": ""}'], ['{, "b": ""}']],
    [{ properties: { 'a"b\\': text }, required: ['a"b\\'] }, ['{"a\\"b\\\\": ""}'], ["{}"]],
    [
      { $ref: "#/$defs/n", $defs: { n: { properties: { n: { $ref: "#/$defs/n" } } } } },
      ['{"n": {"x": 1}}', "{}"],
      ["1"],
    ],
    [{ $ref: "https://elsewhere.example/schema" }, ["1", "{}"], ["a"]],
    [{ type: "weird", properties: "none", enum: [] }, ["1"], [""]],
  ])("of %j permits what the schema does", (schema, good, bad) => {
    expect(good.filter((value) => !accept(schema, value))).toEqual([]);
    expect(bad.filter((value) => accept(schema, value))).toEqual([]);
  });

  it.each<[string, string[], string[]]>([
    [
      '{"name": "',
      ['read_file", "arguments": {}}', 'read_file","arguments":{"path":"a"}\n}'],
      ['other", "arguments": {}}'],
    ],
    ['{"name":', ['"read_file", "arguments": {}}', ' "read_file", "arguments": {}}'], ["1"]],
    ['{\n  "name": "read_', ['file",\n  "arguments": {}}'], ['read_file", "arguments": {}}', 'file"}']],
  ])("goes on from %j", (written, good, bad) => {
    const grammar = new CallGrammar([...tools, toTool("list")]).follow(written, jsonForm) ?? "";
    expect(good.filter((rest) => !accepts(grammar, rest))).toEqual([]);
    expect(bad.filter((rest) => accepts(grammar, rest))).toEqual([]);
  });

  it("leaves a name that no listed tool begins with to the model", () => {
    expect(new CallGrammar(tools).follow('{"name": "x', jsonForm)).toBeUndefined();
  });

  it("does not grow with the paths through a schema", () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 30 }, (_, i) => [
        `d${i}`,
        { anyOf: [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }] },
      ]),
    );
    expect(CallGrammar.ofSchema({ $ref: "#/$defs/d0", $defs }).length).toBeLessThan(3_000);
  });
});
