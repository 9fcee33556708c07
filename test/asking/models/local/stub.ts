import { readFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "../../../fakes/folder.ts";

/** Qwen2.5's template, in short. */
export const qwen = `{%- if messages[0].role == 'system' %}{{- '<|im_start|>system\\n' + messages[0].content }}{%- else %}{{- '<|im_start|>system\\nYou help.' }}{%- endif %}
{%- if tools %}{{- '\\n<tools>' }}{%- for tool in tools %}{{- '\\n' }}{{- tool | tojson }}{%- endfor %}{{- '\\n</tools>\\n{"name": <function-name>, "arguments": <args-json-object>}' }}{%- endif %}{{- '<|im_end|>\\n' }}
{%- for message in messages %}{%- if message.role == 'assistant' %}{{- '<|im_start|>assistant\\n' + message.content }}{%- for call in message.tool_calls %}{{- '\\n<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}{{- call.function.arguments | tojson }}{{- '}\\n</tool_call>' }}{%- endfor %}{{- '<|im_end|>\\n' }}{%- elif message.role == 'tool' %}{{- '<|im_start|>user\\n<tool_response>\\n' + message.content + '\\n</tool_response><|im_end|>\\n' }}{%- elif message.role == 'user' %}{{- '<|im_start|>user\\n' + message.content + '<|im_end|>\\n' }}{%- endif %}{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}`;

/** What the stub reads from a model file. */
type StubModel = { template?: string; context?: number; bytes?: number; fault?: string; sampling?: object };

/**
 * A project with the stub in place of node-llama-cpp and a model file. The process of a model is started from the sources,
 * which needs a loader. `log`: what the stub evaluated so far.
 */
export function createProject(model: StubModel | string = { template: qwen }) {
  const cwd = makeFolder({
    "node_modules/node-llama-cpp/package.json": { version: "0.0.0", type: "module", main: "./index.mjs" },
    "node_modules/node-llama-cpp/index.mjs": readFileSync("test/fixtures/models/nodeLlamaCpp.mjs"),
    "m.gguf": model,
  });
  const env = { ...process.env, EVALS_MODELS: join(cwd, "models"), NODE_OPTIONS: "--import jiti/register" };
  return { cwd, env, log: () => readFileSync(join(cwd, "evaluated.log"), "utf8").trim().split("\n") };
}
