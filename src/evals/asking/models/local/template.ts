import { createHash } from "node:crypto";
import { Template } from "@huggingface/jinja";
import { isJsonObject, type JsonObject } from "../../../base/types/json.ts";
import type { Message } from "../../../base/types/model.ts";

/** A tool as chat templates take it. */
export type ChatTool = { type: "function"; function: { name: string; description: string; parameters: JsonObject } };

/** A message as chat templates take it. */
export type ChatMessage = {
  role: "system" | "user" | "assistant" | "tool";
  content: string;
  tool_calls?: readonly { id: string; type: "function"; function: { name: string; arguments: JsonObject } }[];
  tool_call_id?: string;
  name?: string;
};

/**
 * How a model writes a call: `open`, the name of the tool, `middle`, the arguments as JSON, `close`. A call has begun
 * when the reply has `begins`, and what stands there begins with `least` of `open`.
 */
export type CallForm = { begins: RegExp; least: string; open: string; middle: string; close: string };

/**
 * JSON that models write in a code block or as the whole reply, whatever the template asks for: Qwen2.5-Coder does so
 * in a third of its calls.
 */
export const jsonForm: CallForm = {
  begins: /(?:^\s*|```[\w-]*\s*)(?=\{\s*"name"\s*:)/,
  least: '{"name":',
  open: '{"name": "',
  middle: '", "arguments": ',
  close: "}",
};

/** The form of Hermes and Qwen, in which models are asked to call whose template shows no tools. */
const hermes = (name: string, args: string) => `<tool_call>\n{"name": "${name}", "arguments": ${args}}\n</tool_call>`;

/** Braces that Qwen2.5-Coder's template doubles by mistake, so that the model doubles them, too. */
const doubled = /\{(\{\\?"name\\?": <function-name>, \\?"arguments\\?": <args-json-object>\})\}/g;

/** The day of Llama's template, and of every other, so that a request has the same prompt on every day. */
const today = () => "26 Jul 2024";

const probe = { name: "probed_tool", parameter: "probed_parameter" };

/** The chat template of a model file: writes prompts, and tells in which form calls are written. */
export class ChatTemplate {
  /** The form of calls, as far as it was found by writing one. */
  readonly form: CallForm | undefined;
  /** What was changed of the template, and why. */
  readonly corrections: readonly string[];
  readonly sha256: string;
  readonly #template: Template;
  readonly #globals: Record<string, unknown>;
  readonly #showsTools: boolean;

  /** Throws if the source is no template. `bos`, `eos`: the texts of these tokens. */
  constructor(source: string, { bos, eos }: { bos: string; eos: string }) {
    const corrected = source.replace(doubled, "$1");
    this.sha256 = createHash("sha256").update(source).digest("hex");
    this.#template = new Template(corrected.replaceAll("strftime_now", "evals_today"));
    this.#globals = { bos_token: bos, eos_token: eos, enable_thinking: false, evals_today: today };
    this.#showsTools = true;
    const tool = { name: probe.name, description: "", parameters: { type: "object", properties: {} } };
    const prompt = this.render([{ role: "user", content: "1" }], [{ type: "function", function: tool }]);
    this.#showsTools = prompt.includes(probe.name);
    this.form = this.#showsTools ? this.#findForm() : readForm(hermes(probe.name, `{"${probe.parameter}": 7}`));
    this.corrections = [
      ...(corrected === source ? [] : ["the doubled braces of its example of a call are single"]),
      ...(this.#showsTools ? [] : ["the tools are in the system message, because the template shows none"]),
    ];
  }

  /** The prompt up to the reply of the model. Throws what the template throws, as for a wrong order of roles. */
  render(messages: readonly ChatMessage[], tools: readonly ChatTool[]): string {
    if (this.#showsTools || tools.length === 0) return this.#write({ messages: [...messages], tools });
    return this.#write({ messages: writeAsText(messages, tools), tools: [] });
  }

  /**
   * What the prompts of all conversations with these tools and system messages have in common: two that differ in the
   * first sign of the query, up to there.
   */
  renderPrefix(messages: readonly ChatMessage[], tools: readonly ChatTool[]): readonly [string, string] {
    const system = messages.filter(({ role }) => role === "system");
    const render = (content: string) => this.render([...system, { role: "user", content }], tools);
    return [render("A"), render("1")];
  }

  #write(values: { messages: readonly ChatMessage[]; tools: readonly ChatTool[]; add_generation_prompt?: boolean }) {
    const { tools, ...rest } = values;
    const own = tools.length > 0 && { tools: [...tools] };
    return this.#template.render({ ...this.#globals, add_generation_prompt: true, ...rest, ...own });
  }

  /** Finds how calls are written by writing one, as the last message of a conversation. */
  #findForm(): CallForm | undefined {
    const user: ChatMessage = { role: "user", content: "1" };
    const written = { name: probe.name, arguments: { [probe.parameter]: 7 } };
    // Some templates take arguments as text.
    const forms = [written, { ...written, arguments: JSON.stringify(written.arguments) as unknown as JsonObject }];
    for (const called of forms) {
      try {
        const calls = [{ id: "call00101", type: "function" as const, function: called }];
        const messages: ChatMessage[] = [user, { role: "assistant", content: "", tool_calls: calls }];
        const whole = this.#write({ messages, tools: [], add_generation_prompt: false });
        const asked = this.#write({ messages: [user], tools: [] });
        const form = readForm(whole.slice(commonLength(whole, asked)));
        if (form) return form;
      } catch {
        // It takes no calls in this form.
      }
    }
    return undefined;
  }
}

/** The length of what two texts have in common at their start. */
export function commonLength(one: ArrayLike<unknown>, other: ArrayLike<unknown>): number {
  let length = 0;
  while (length < one.length && length < other.length && one[length] === other[length]) length++;
  return length;
}

/** The form of a written call of the probe; undefined unless its arguments are JSON. */
function readForm(written: string): CallForm | undefined {
  const [whole, open = "", middle = "", close = ""] =
    /^([\s\S]*?)probed_tool([\s\S]*?)\{\s*"probed_parameter"\s*:\s*7\s*\}([\s\S]*)$/.exec(written) ?? [];
  if (whole === undefined) return undefined;
  const [sign] = /<[^<>]+>|\[[A-Z_]+\]/.exec(open) ?? [];
  // Without a sign of its own, a call is JSON alone.
  if (sign === undefined) return { ...jsonForm, middle };
  const own = open.slice(open.indexOf(sign));
  return { begins: new RegExp(`(?=${escapePattern(sign)})`), least: sign, open: own, middle, close };
}

/** A text as a regular expression that finds it. */
export const escapePattern = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** A conversation for a template without tools: their list in the system message, calls and results as text. */
function writeAsText(messages: readonly ChatMessage[], tools: readonly ChatTool[]): ChatMessage[] {
  const list = tools.map((tool) => JSON.stringify(tool)).join("\n");
  const example = hermes("<function-name>", "<args-json-object>");
  const intro = `# Tools\n\nYou may call one or more functions to assist with the user query.\n\n<tools>\n${list}\n</tools>\n\nFor each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:\n${example}`;
  const [first, ...others] = messages;
  const hasSystem = first?.role === "system";
  const system: ChatMessage = { role: "system", content: hasSystem ? `${first.content}\n\n${intro}` : intro };
  const rest = (hasSystem ? others : messages).map(({ role, content, tool_calls = [] }): ChatMessage => {
    if (role === "tool") return { role: "user", content: `<tool_response>\n${content}\n</tool_response>` };
    const calls = tool_calls.map(({ function: { name, arguments: args } }) => hermes(name, JSON.stringify(args)));
    return { role, content: [content, ...calls].filter(Boolean).join("\n") };
  });
  // Templates like Gemma's refuse two messages of one role in a row.
  const joined: ChatMessage[] = [];
  for (const one of [system, ...rest]) {
    const last = joined.at(-1);
    if (last?.role === one.role) last.content += `\n${one.content}`;
    else joined.push({ ...one });
  }
  return joined;
}

/** A message of a conversation as chat templates take it. */
export function toChatMessages(message: Message): ChatMessage[] {
  if (message.role === "results")
    return message.results.map(({ callId, tool, text }) => {
      return { role: "tool", tool_call_id: callId, name: tool, content: text };
    });
  if (message.role !== "assistant") return [{ role: message.role, content: message.content }];
  const { native, content } = message;
  return [isJsonObject(native) ? (native as unknown as ChatMessage) : { role: "assistant", content }];
}
