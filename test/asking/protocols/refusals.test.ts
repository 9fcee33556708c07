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
  ["an older AWS", { __type: "x#ValidationException", Message: "Bad." }, {}],
  ["gRPC", { code: 3, message: "Bad.", details: [] }, {}],
  ["OAuth", { error: "invalid_token", error_description: "Bad." }, { type: "invalid_token" }],
  ["a problem of RFC 9457", { type: "https://example.com/x", title: "No", status: 403, detail: "Bad." }, {}],
  ["a problem without details", { type: "about:blank", title: "Bad.", status: 429 }, {}],
  ["LiteLLM", { error: { message: "Bad.", type: "None", param: "None", code: "500" } }, {}],
  ["Portkey", { status: "failure", message: "Bad." }, { type: "failure" }],
  [
    "Cloudflare's AI gateway",
    { success: false, result: [], messages: [], error: [{ code: 2001, message: "Bad." }] },
    {},
  ],
  [
    "Azure's content filter",
    { error: { message: "Bad.", code: "content_filter", innererror: {} } },
    { type: "content_filter" },
  ],
  ["Spring", { status: 400, error: "Bad.", message: "", path: "/v1" }, {}],
  ["a gateway without words", { error: { message: "", type: "Bad.", code: "x" } }, {}],
  ["NVIDIA", { type: "urn:problem-details:bad-request", title: "No", status: 400, detail: "Bad." }, {}],
  ["xAI", { code: "Client specified an invalid argument", error: "Bad." }, {}],
  ["Baidu", { error_code: 336003, error_msg: "Bad." }, {}],
  ["MiniMax", { base_resp: { status_code: 1004, status_msg: "Bad." } }, {}],
  ["DashScope", { code: "InvalidParameter", message: "Bad.", request_id: "1" }, { type: "InvalidParameter" }],
  [
    "a gateway that passes on a body",
    { error: { message: '{"error":{"message":"{\\"message\\":\\"Bad.\\"}","type":"x"}}', type: "upstream" } },
    { type: "x" },
  ],
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
  [
    "of each fault, with its place",
    JSON.stringify({
      detail: [
        { loc: ["body", "tools", 3, "name"], msg: "Bad." },
        { loc: ["body", "x"], msg: "Extra." },
      ],
    }),
    "tools.3.name: Bad.; x: Extra.",
  ],
  [
    "of a field that Google refuses",
    JSON.stringify({ message: "No", details: [{ fieldViolations: [{ field: "tools[0]", description: "Bad." }] }] }),
    "No: tools[0]: Bad.",
  ],
  [
    "of a part of the request",
    JSON.stringify({ error: { message: "Bad.", param: "tools[3].parameters" } }),
    "Bad.: tools[3].parameters",
  ],
  [
    "of a part that they name",
    JSON.stringify({ error: { message: "Bad 'tools[3].name'.", param: "tools[3].name" } }),
    "Bad 'tools[3].name'.",
  ],
  ["of an object of a provider", '{"message":"No","metadata":{"raw":{"error":"Bad."}}}', "No: Bad."],
  ["after a mark of the byte order", '\uFEFF{"error":"Bad."}', "Bad."],
  [
    "of an issue of zod, as OpenRouter passes it on",
    JSON.stringify({ error: { message: '[{"code":"invalid_type","path":["tools",3],"message":"Bad."}]', code: 400 } }),
    "tools.3: Bad.",
  ],
  ["of an event with a name", 'event: error\ndata: {"error":{"message":"Bad."}}\n\n', "Bad."],
  ["of an event", 'data: {"error":{"message":"Bad."}}\n\n', "Bad."],
  ["of XML", '<?xml version="1.0"?><Error><Code>Denied</Code><Message>Bad.</Message></Error>', "Denied Bad."],
  ["of a page", "<html><style>p {}</style><h1>502</h1>\n<p>Bad Gateway</p></html>", "502 Bad Gateway"],
  ["of a text", "404 page not found\n", "404 page not found"],
  ["of nothing", "", "no body"],
  ["of a form that nobody knows", '{"ok":false}', '{"ok":false}'],
])("the words %s are read", (_, body, message) => {
  expect(readRefusal(body)).toEqual({ message });
});
