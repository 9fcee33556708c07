import { isJsonObject, type Json, type JsonObject } from "../../base/types/json.ts";

/** A call that a reply writes as text: its tool, if the form shows it, and what the form is called. */
export type WrittenCall = { tool?: string; form: string };

/**
 * What the chat templates of open models put around a call. An endpoint that parses calls removes these signs, so a reply
 * that shows one was not parsed. A group, if there is one, is the name of the tool; without, it is in the JSON that follows.
 */
const signs: readonly (readonly [form: string, pattern: RegExp])[] = [
  ["Qwen3-Coder's <function=…>", /<tool_call>\s*<function=([\w.:/-]+)/],
  ["GLM's <tool_call> with <arg_key>", /<tool_call>\s*([\w.:/-]+)\s*<arg_key>/],
  ["Hermes' and Qwen's <tool_call>", /<tool_call>/],
  ["Llama's <function=…>", /<function=([\w.:/-]+)/],
  ["Llama's <|python_tag|>", /<\|python_tag\|>/],
  ["Mistral's [TOOL_CALLS]", /\[TOOL_CALLS\]/],
  ["DeepSeek's tool_calls", /<[|｜]tool[▁_]calls?[▁_]begin[|｜]>/],
  ["DeepSeek's DSML", /<[|｜]DSML[|｜](?:function_calls|invoke name="([^"]+)")/],
  ["Kimi's tool_calls_section", /<\|tool_calls?(?:_section)?_begin\|>(?:\s*functions\.([\w/-]+):\d+)?/],
  ["Granite's and Phi's <|tool_call|>", /<\|tool_calls?\|>/],
  ["gpt-oss's channel", /<\|channel\|>\w*\s*to=functions\.([\w.-]+)|to=functions\.([\w.-]+)\s*<\|channel\|>/],
  ["FunctionGemma's <start_function_call>", /<start_function_call>(?:call:([\w.-]+))?/],
  ["Gemma's tool_code", /```tool_code\s+(?:print\()?(?:\w+\.)*?(\w+)\(/],
  ["Cohere's <|START_ACTION|>", /<\|START_ACTION\|>/],
  ["an <invoke> tag", /<(?:\w+:)?(?:tool_call|function_calls?)>\s*<(?:\w+:)?invoke name="([^"]+)"/],
  ["ReAct's Action", /^Action:\s*`?([\w.:/-]+)`?\s*\n\s*Action Input:/m],
];

/** The keys under which models write the name and the arguments of a call in JSON. */
const nameKeys = ["name", "tool", "tool_name", "function", "function_name", "action"];
const argumentKeys = ["arguments", "args", "parameters", "params", "input", "tool_input", "action_input"];

const fence = /```[\w-]*\s*\n([\s\S]*?)```/g;

/**
 * Finds a call that a model wrote as text, because the endpoint had no chat template or parser for its calls: in the signs of
 * open models, as JSON, or as Python, alone or in a code block. Since an answer may show either, JSON of another form than
 * `{"name": …, "arguments": {…}}`, and Python, count only with the name of a listed tool.
 */
export function findWrittenCall(text: string, names: readonly string[]): WrittenCall | undefined {
  const listed = new Set(names);
  for (const [form, pattern] of signs) {
    const found = pattern.exec(text);
    if (!found) continue;
    const tool = found.slice(1).find((group) => group !== undefined) ?? findNamed(text.slice(found.index), listed);
    return { form, ...(tool !== undefined && { tool }) };
  }
  const blocks = [text, ...[...text.matchAll(fence)].map(([, inside = ""]) => inside)];
  for (const block of blocks.map((one) => one.trim())) {
    const tool = findInJson(block, listed) ?? findInPython(block, listed);
    if (tool !== undefined) return { tool, form: block === text.trim() ? "JSON or Python" : "a code block" };
  }
  return undefined;
}

/** The name in JSON that may be cut off: a listed one, else the first. */
function findNamed(text: string, listed: ReadonlySet<string>): string | undefined {
  const named = [...text.slice(0, 4_000).matchAll(/"(?:tool_)?name"\s*:\s*"([^"]+)"/g)].map(([, name = ""]) => name);
  return named.find((name) => listed.has(name)) ?? named[0];
}

/** The listed tool that JSON calls: an object with a name and arguments, `{"tool": {…arguments}}`, or a list of them. */
function findInJson(text: string, listed: ReadonlySet<string>): string | undefined {
  if (!/^[[{]/.test(text)) return undefined;
  try {
    return findCalled(JSON.parse(text), listed);
  } catch {
    // Several objects, a line each.
    const first = text.split("\n")[0] ?? "";
    return first === text ? undefined : findInJson(first, listed);
  }
}

function findCalled(value: Json, listed: ReadonlySet<string>): string | undefined {
  if (Array.isArray(value)) return value[0] === undefined ? undefined : findCalled(value[0], listed);
  if (!isJsonObject(value)) return undefined;
  const inner = [value.function, value.tool_calls, value.function_call].find((one) => typeof one === "object");
  if (inner) return findCalled(inner, listed);
  if (isCallObject(value)) return value.name;
  const name = nameKeys.map((key) => value[key]).find((one) => typeof one === "string" && listed.has(one));
  if (typeof name === "string" && argumentKeys.some((key) => key in value)) return name;
  const [only, ...others] = Object.keys(value);
  return only !== undefined && others.length === 0 && listed.has(only) && isJsonObject(value[only]) ? only : undefined;
}

/** The form that most open models are trained on, whatever name it has: models invent names, too. */
function isCallObject(value: JsonObject): value is JsonObject & { name: string } {
  const { name, arguments: args, parameters = args, type: _type, id: _id, ...others } = value;
  const isAlone = Object.keys(others).length === 0;
  return isAlone && isJsonObject(parameters) && typeof name === "string" && /^[\w.:/-]+$/.test(name);
}

/** The listed tool that a line of Python calls, as in `[read_file(path="a.txt")]`. */
function findInPython(text: string, listed: ReadonlySet<string>): string | undefined {
  const [, name] = /^\[?\s*(?:print\()?(?:\w+\.)?([\w-]+)\((?:\s*\w+\s*=[\s\S]*)?\)*\s*[\],]?/.exec(text) ?? [];
  return name !== undefined && listed.has(name) && /\)\s*\]?$/.test(text) ? name : undefined;
}
