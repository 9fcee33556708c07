import { startMessageBatches } from "../fixtures/endpoints/batches.ts";
import { type CompletionsBody, startCompletionsEndpoint } from "../fixtures/endpoints/completions.ts";
import { type MessagesBody, startMessagesEndpoint } from "../fixtures/endpoints/messages.ts";

type Tool = { name: string; description: string; required: readonly string[] };

/** Local services that stand in for those that commands on the pages name, and the environment that leads to them. */
export async function startModels() {
  const answerMessage = (body: MessagesBody) => {
    const { calls, text } = answer(lastText(body), body.output_config !== undefined, listMessagesTools(body));
    return { text, ...(calls && { calls: calls.map(({ name, args }) => ({ name, input: args })) }) };
  };
  const messages = await startMessagesEndpoint(answerMessage);
  const batches = await startMessageBatches({ answer: answerMessage });
  const completions = await startCompletionsEndpoint((body) => {
    const { calls, text } = answer(lastText(body), body.response_format !== undefined, listCompletionsTools(body));
    return {
      text,
      ...(calls && { calls: calls.map(({ name, args }) => ({ name, arguments: JSON.stringify(args) })) }),
    };
  });
  return {
    env: {
      ANTHROPIC_API_KEY: "test",
      ANTHROPIC_BASE_URL: messages.url,
      OPENAI_API_KEY: "test",
      OPENAI_BASE_URL: `${completions.url}/v1`,
    },
    /** Points a command that names a local server at the stand-in. */
    redirect: (command: string) => {
      const redirected = command.replaceAll("http://localhost:8000", completions.url);
      return command.includes("--batch") ? `ANTHROPIC_BASE_URL=${batches.url} ${redirected}` : redirected;
    },
    close: () => Promise.all([messages.close(), completions.close(), batches.close()]),
  };
}

function answer(query: string, isJudge: boolean, tools: readonly Tool[]) {
  if (isJudge) return { text: judge(query) };
  const wordsOf = (text: string) => new Set(text.toLowerCase().match(/[a-z]{3,}/g) ?? []);
  const asked = wordsOf(query);
  const scored = tools.map((tool) => {
    const known = wordsOf(`${tool.name.replaceAll("_", " ")} ${tool.description}`);
    return { tool, score: [...asked].filter((word) => known.has(word)).length };
  });
  const [best] = scored.sort((a, b) => b.score - a.score);
  if (!best || best.score < 2) return { text: "No tool fits." };
  const quoted = /"([^"]+)"/.exec(query)?.[1] ?? query;
  const args = Object.fromEntries(best.tool.required.map((name) => [name, quoted]));
  return { text: "", calls: [{ name: best.tool.name, args }] };
}

/** A query for each item that `try` asks for: the words of the tool, and the arguments. */
function write(prompt: string): string {
  const tool = /^\{"name".*$/m.exec(prompt)?.[0];
  const { description = "Tell me a joke" } = tool === undefined ? {} : (JSON.parse(tool) as { description?: string });
  const items = prompt.split("\n").filter((line) => /^\d+\. /.test(line));
  const values = (item: string) => [...item.matchAll(/:("[^"]*"|[\d.]+)/g)].map(([, value = ""]) => value).join(" ");
  return JSON.stringify({ queries: items.map((item) => `${description.split(".")[0]} ${values(item)}`) });
}

/** An answer of the asked form: of a judge that cannot tell, or that finds nothing to improve. */
function judge(prompt: string): string {
  if (prompt.includes("Write messages")) return write(prompt);
  const count = Number(/Grade all (\d+) criteria/.exec(prompt)?.[1] ?? 1);
  if (!prompt.includes("Grade ")) {
    const grade = { reason: "The description gives it.", score: 5 };
    const keys = ["judge-purpose", "judge-usage", "judge-when-not", "judge-parameters"];
    return JSON.stringify(Object.fromEntries(keys.map((key) => [key, grade])));
  }
  const answers = Array.from({ length: count }, (_, index) => ({
    ...{ number: index + 1, evidence: "", reason: "The transcript does not show it.", verdict: "cannot tell" },
  }));
  return JSON.stringify({ answers });
}

/** What the user asked last; nothing once results are in, so that the conversation ends. */
function lastText({ messages }: MessagesBody | CompletionsBody): string {
  const { role, content } = messages.at(-1) ?? {};
  if (role !== "user") return "";
  if (typeof content === "string") return content;
  const blocks = Array.isArray(content) ? (content as { type?: string; text?: string }[]) : [];
  return blocks.some(({ type }) => type === "tool_result") ? "" : blocks.map(({ text = "" }) => text).join("\n");
}

const listMessagesTools = ({ tools = [] }: MessagesBody): Tool[] =>
  tools.map(({ name, description, input_schema }) => toTool(name, description, input_schema));

const listCompletionsTools = ({ tools = [] }: CompletionsBody): Tool[] =>
  tools.map((tool) => {
    const { name, parameters, ...rest } = tool.function;
    return toTool(name, (rest as { description?: unknown }).description, parameters);
  });

const toTool = (name: string, description: unknown, schema: Record<string, unknown> = {}): Tool => ({
  name,
  description: String(description ?? ""),
  required: Array.isArray(schema.required) ? schema.required.map(String) : [],
});
