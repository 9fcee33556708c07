/** A call that a reply writes as text: its tool, if the form shows it, and what the form is called. */
export type WrittenCall = { tool?: string; form: string };

/**
 * What the chat templates of open models put around a call. An endpoint that parses calls removes these signs, so a reply
 * that shows one was not parsed. A group, if there is one, is the name of the tool; without, it is in what follows.
 */
const signs: readonly (readonly [form: string, pattern: RegExp])[] = [
  ["Qwen3-Coder's <function=…>", /<(?:\w+:)?tool_call>\s*<function=([\w.:/-]+)/],
  ["GLM's <tool_call> with <arg_key>", /<tool_call>\s*([\w.:/-]+)\s*<arg_key>/],
  ["an <invoke> tag", /<(?:\w+:)?(?:tool_call|function_calls?)>\s*<(?:\w+:)?invoke name="([^"]+)"/],
  ["Hermes' and Qwen's <tool_call>", /<tool_call>/],
  ["Llama's <function=…>", /<function=([\w.:/-]+)/],
  ["Llama's <|python_tag|>", /<\|python_(?:tag|start)\|>/],
  ["Mistral's [TOOL_CALLS]", /\[TOOL_CALLS\](?:\s*([\w.:/-]+)\s*\[(?:ARGS|CALL_ID)\])?/],
  ["Kimi's tool_calls_section", /<\|tool_calls?_section_begin\|>|<\|tool_call_begin\|>\s*functions\.([\w/-]+):\d+/],
  [
    "DeepSeek's tool_calls",
    /<[|｜]tool[▁_]calls?[▁_]begin[|｜]>(?:<[^>]{1,40}>)?(?:function<[|｜]tool[▁_]sep[|｜]>)?(?:<steptml:invoke name=")?([\w.:/-]+)?/,
  ],
  ["DeepSeek's DSML", /<[|｜]DSML[|｜](?:function_calls>\s*<[|｜]DSML[|｜])?invoke name="([^"]+)"|<[|｜]DSML[|｜]/],
  ["Granite's and Phi's <|tool_call|>", /<\|tool_calls?\|>|\bfunctools\[/],
  ["gpt-oss's channel", /\bto=functions\.([\w.-]+)/],
  ["Gemma's call:", /<(?:start_function_call|\|tool_call)>(?:call:([\w.-]+))?/],
  ["Gemma's tool_code", /```tool_code\s+(?:print\()?(?:\w+\.)*?(\w+)\(/],
  ["Cohere's <|START_ACTION|>", /<\|START_ACTION\|>/],
  ["ReAct's Action", /^Action:\s*`?([\w.:/-]+)`?\s*\n\s*Action Input:/m],
  ["Functionary's recipient", /<\|recipient\|>\s*(?!all\b)([\w.:/-]+)/],
  ["Qwen-Agent's ✿FUNCTION✿", /✿FUNCTION✿:\s*([\w.:/-]+)/],
  ["LM Studio's [TOOL_REQUEST]", /\[TOOL_REQUEST\]/],
  // Granite 20B, Hunyuan, Jamba, LongCat, MiniMax-M1, Nemotron, OLMo, Cline; LFM, Apertus, InternLM.
  ["a tag of calls", /<(?:\w+_)?(?:tool_?calls?|function_?calls?|tool_use|use_mcp_tool)>/i],
  ["a token of calls", /<\|(?:tool_call_start|tools_prefix|action_start|role_sep)\|>/],
];

/** The keys under which models write the name and the arguments of a call in JSON, or as a dictionary of Python. */
const nameKey = /[{,]\s*["'](?:name|tool|tool_name|function|function_name|action)["']\s*:\s*["']([\w.:/-]+)["']/g;
const argumentKey = /["'](?:arguments|args|parameters|params|input|tool_input|action_input)["']\s*:/;
/** The form that most open models are trained on, whatever name it has: models invent names, too. */
const callObject =
  /^\[?\s*\{\s*(?:"type"\s*:\s*"function"\s*,\s*)?"name"\s*:\s*"([\w.:/-]+)"\s*,\s*"(?:arguments|parameters)"\s*:\s*\{/;
/** `{"tool": {…arguments}}`; the name before its arguments; a tag with its name; and Python, as in `[read_file(path="a")]`. */
const listedForms = [
  /^\[?\s*\{\s*"([\w.:/-]+)"\s*:\s*\{/,
  /^(?:>>>|\[)? ?([\w.:/-]+)(?:\]|\[ARGS\])? ?:?\s{0,2}\{\s*["'}]/,
  /^<([\w.:/-]+)>\s*</,
  // LangChain's XML agents: `<tool>search</tool><tool_input>…`.
  /^<tool(?:_name)?>\s*([\w.:/-]+)\s*<\/tool(?:_name)?>/,
  /^\[?\s*(?:print\()?(?:\w+\.)?([\w-]+)\((?:\s*\w+\s*=[\s\S]*)?\)*\s*[\],]?[\s\S]*\)\s*\]?$/,
];

const fence = /```[\w-]*\s*\n([\s\S]*?)```/g;

/**
 * Finds a call that a model wrote as text, because the endpoint had no chat template or parser for its calls: in the signs of
 * open models, as JSON, or as Python, alone, after thoughts or words, or in a code block. Since an answer may show either,
 * JSON of another form than `{"name": …, "arguments": {…}}`, and Python, count only with the name of a listed tool.
 */
export function findWrittenCall(text: string, names: readonly string[]): WrittenCall | undefined {
  const listed = new Set(names);
  for (const [form, pattern] of signs) {
    const found = pattern.exec(text);
    if (!found) continue;
    const tool = found.slice(1).find((group) => group !== undefined) ?? findNamed(text.slice(found.index), listed);
    return { form, ...(tool !== undefined && { tool }) };
  }
  const whole = text.trim();
  const blocks = [...text.matchAll(fence)].map(([, inside = ""]) => inside.trim());
  const answer = (whole.split("</think>").at(-1) ?? "").trim();
  const last = (answer.split("\n\n").at(-1) ?? "").trim();
  for (const block of [whole, ...blocks, answer, last]) {
    const [, named] = callObject.exec(block) ?? [];
    const tool = named ?? listedForms.map((form) => form.exec(block)?.[1]).find((name) => name && listed.has(name));
    if (tool !== undefined) return { tool, form: block === whole ? "JSON or Python" : "a part of the text" };
  }
  const tool = argumentKey.test(text) ? findKeyed(text).find((name) => listed.has(name)) : undefined;
  return tool === undefined ? undefined : { tool, form: "JSON among words" };
}

const findKeyed = (text: string) => [...text.matchAll(nameKey)].map(([, name = ""]) => name);

/** The name in what may be cut off: a listed one, by its key or wherever it stands, else the first with a key. */
function findNamed(text: string, listed: ReadonlySet<string>): string | undefined {
  const start = text.slice(0, 4_000);
  const keyed = findKeyed(start);
  const words = [...start.matchAll(/[\w.:/-]+/g)].map(([word]) => word.replace(/^functions\.|:\d+$|\.call$/g, ""));
  return [...keyed, ...words].find((name) => listed.has(name)) ?? keyed[0];
}
