import { expect, it } from "vitest";
import { readRefusal } from "../../../src/evals/asking/protocols/refusals.ts";

it.each<[string, unknown, object]>([
  [
    "OpenAI",
    { error: { message: "Bad.", type: "invalid_request_error", code: null } },
    { type: "invalid_request_error" },
  ],
  ["Anthropic", { type: "error", error: { type: "overloaded_error", message: "Bad." } }, { type: "overloaded_error" }],
  ["Google", [{ error: { code: 400, message: "Bad.", status: "INVALID_ARGUMENT" } }], { type: "INVALID_ARGUMENT" }],
  ["Azure", { error: { code: "404", message: "Bad." } }, {}],
  ["Azure's gateway", { statusCode: 401, message: "Bad." }, {}],
  ["Mistral", { object: "error", message: "Bad.", type: "invalid_model", code: "1500" }, { type: "invalid_model" }],
  ["Mistral's validation", { message: { detail: [{ type: "missing", msg: "Bad." }] } }, {}],
  ["FastAPI", { detail: "Bad." }, {}],
  ["FastAPI's validation", { detail: [{ loc: ["body"], msg: "Bad.", type: "missing" }] }, {}],
  ["Ollama", { error: "Bad." }, {}],
  [
    "llama.cpp",
    { error: { code: 400, message: "Bad.", type: "invalid_request_error" } },
    { type: "invalid_request_error" },
  ],
  ["Cloudflare", { success: false, errors: [{ code: 7003, message: "Bad." }] }, {}],
  ["Apigee", { fault: { faultstring: "Bad.", detail: { errorcode: "x" } } }, {}],
  ["AWS", { __type: "ValidationException", message: "Bad." }, {}],
])("the words of a refusal of %s are read", (_, body, more) => {
  expect(readRefusal(JSON.stringify(body))).toEqual({ message: "Bad.", ...more });
});

it.each([
  [
    "of a provider behind a router",
    JSON.stringify({
      error: { message: "Provider returned error", metadata: { raw: '{"error":{"message":"Bad."}}' } },
    }),
    "Provider returned error: Bad.",
  ],
  ["of a page", "<html><style>p {}</style><h1>502</h1>\n<p>Bad Gateway</p></html>", "502 Bad Gateway"],
  ["of a text", "404 page not found\n", "404 page not found"],
  ["of nothing", "", "no body"],
  ["of a form that nobody knows", '{"ok":false}', '{"ok":false}'],
])("the words %s are read", (_, body, message) => {
  expect(readRefusal(body)).toEqual({ message });
});
