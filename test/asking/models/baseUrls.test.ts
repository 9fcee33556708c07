import { createServer, type IncomingHttpHeaders } from "node:http";
import { expect, it } from "vitest";
import { type ModelOptions, openModel } from "../../../src/evals/experiments/workspace/models.ts";
import { listen } from "../../fixtures/ports.ts";
import { requestOf } from "./request.ts";

type Answer = { status?: number; headers?: Record<string, string>; text: string };

const completion = { choices: [{ finish_reason: "stop", message: { role: "assistant", content: "ok" } }] };
const message = { type: "message", content: [{ type: "text", text: "ok" }], stop_reason: "end_turn", usage: {} };

/** Asks a model at a base URL, in which `{host}` is the address of a service that gives every path this answer. */
async function askAt(id: string, base: string, options: Partial<ModelOptions> = {}, answer?: Answer) {
  const asked: { url: string; headers: IncomingHttpHeaders }[] = [];
  const service = createServer((request, response) => {
    asked.push({ url: request.url ?? "", headers: request.headers });
    const {
      status = 200,
      headers = {},
      text = JSON.stringify(id.startsWith("anthropic") ? message : completion),
    } = answer ?? {};
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(text);
  });
  const host = `127.0.0.1:${await listen(service)}`;
  const model = await openModel(id, { env: {}, baseUrl: base.replace("{host}", host), retries: 0, ...options });
  if (!("ask" in model)) throw new Error(`${id} is a host`);
  const reply = await model.ask(requestOf("hello", []), new AbortController().signal);
  const said = reply.kind === "turn" ? reply.turn.text : reply.message.replaceAll(host, "{host}");
  return { said, asked, baseUrl: String(model.settings.baseUrl).replace(host, "{host}") };
}

it.each([
  ["openai:m", "/v1/", "/v1/chat/completions"],
  ["openai:m", "/v1#section", "/v1/chat/completions"],
  ["openai:m", "/v1/chat/completions", "/v1/chat/completions"],
  ["openai:m", "/openai/v1/responses/", "/openai/v1/chat/completions"],
  ["openai:m", "/v1/completions", "/v1/chat/completions"],
  ["openai:m", "/api/v1/models/", "/api/v1/chat/completions"],
  ["ollama:m", "/api/generate", "/v1/chat/completions"],
  ["openai:m", "/v1/?api-version=1&a=%2F", "/v1/chat/completions?api-version=1&a=%2F"],
  [
    "openai:m",
    "/openai/deployments/gpt/chat/completions?api-version=1",
    "/openai/deployments/gpt/chat/completions?api-version=1",
  ],
  ["anthropic:m", "", "/v1/messages"],
  ["anthropic:m", "/v1", "/v1/messages"],
  ["anthropic:m", "/anthropic/v1/messages", "/anthropic/v1/messages"],
  ["anthropic:m", "/gateway/?api-version=1", "/gateway/v1/messages?api-version=1"],
])("%s at the base URL %s asks %s", async (id, base, url) => {
  const { said, asked, baseUrl } = await askAt(id, `http://{host}${base}`);
  expect([said, asked.map((one) => one.url)]).toEqual(["ok", [url]]);
  expect(baseUrl).not.toMatch(/[?#]|completions|messages/);
});

it.each([
  ["openai:m", "me:p%40w", {}, "me:p@w"],
  ["openai:m", "me:100%", { OPENAI_API_KEY: "k-1" }, "me:100%"],
  ["openai:m", "me", { HTTPS_PROXY: "http://127.0.0.1:9" }, "me:"],
  ["anthropic:m", ":p", { ANTHROPIC_API_KEY: "k-1" }, ":p"],
])("%s sends the user and password %s of a base URL as curl does (%j)", async (id, written, env, credentials) => {
  const { said, asked, baseUrl } = await askAt(id, `http://${written}@{host}/v1`, { env });
  expect([said, asked[0]?.headers.authorization]).toEqual(["ok", `Basic ${btoa(credentials)}`]);
  expect(baseUrl).not.toContain("@");
});

it.each([
  [["Authorization=Basic bWU6cA=="], {}, "Basic bWU6cA=="],
  [["X-Team: a=b:c"], {}, "Bearer no-key-needed"],
  [["X-Team: a=b:c"], { OPENAI_API_KEY: "k-1" }, "Bearer k-1"],
  // Gateways that hold the keys of providers, or pass them on.
  [["cf-aig-authorization=Bearer t"], {}, undefined],
  [["cf-aig-authorization=Bearer t"], { OPENAI_API_KEY: "k-1" }, "Bearer k-1"],
  [["Ocp-Apim-Subscription-Key: t"], {}, undefined],
  [["x-portkey-api-key=a", "x-portkey-virtual-key=b"], {}, undefined],
])("with the headers %j and the environment %j, the authorization is %s", async (headers, env, expected) => {
  const { said, asked } = await askAt("openai:m", "http://{host}/v1", { headers, env });
  expect([said, asked[0]?.headers.authorization]).toEqual(["ok", expected]);
});

it("sends no key of OpenAI to a local server", async () => {
  const { asked } = await askAt("vllm:m", "http://{host}", { env: { OPENAI_API_KEY: "k-1" } });
  expect(asked).toMatchObject([{ url: "/v1/chat/completions", headers: { authorization: "Bearer no-key-needed" } }]);
});

it.each<[string, Answer, string]>([
  [
    "another host",
    { status: 301, text: "", headers: { location: "https://b.example/v1/chat/completions?k=secret" } },
    "301: redirects to https://b.example/v1/chat/completions; requests do not follow, so change the base URL",
  ],
  [
    "another path",
    { status: 307, text: "<html>", headers: { location: "/chat/completions/" } },
    "307: redirects to http://{host}/chat/completions/; requests do not follow, so change the base URL",
  ],
  ["nowhere", { status: 302, text: "" }, "302: redirects; requests do not follow, so change the base URL"],
  [
    "a page",
    { text: "<!doctype html><title>Chats</title>", headers: { "content-type": "text/html" } },
    'the reply is not a completion but the text "<!doctype html><title>Chats</title>" (asked at http://{host}/); most base URLs end in /v1',
  ],
  [
    "LM Studio's error with status 200",
    { text: '{"error":"Unexpected endpoint or method. (POST /chat/completions)"}' },
    "the reply is not a completion: Unexpected endpoint or method. (POST /chat/completions); most base URLs end in /v1",
  ],
  [
    "the root of Ollama",
    { text: "Ollama is running" },
    `the reply is not JSON (Unexpected token 'O', "Ollama is running" is not valid JSON) (asked at http://{host}/); most base URLs end in /v1`,
  ],
  [
    "a site",
    { status: 405, text: "<h1>405 Not Allowed</h1>" },
    "405: 405 Not Allowed (asked for http://{host}/chat/completions; most base URLs end in /v1)",
  ],
])("a base URL that leads to %s", async (_, answer, expected) => {
  const { said, asked } = await askAt("openai:m", "http://{host}", {}, answer);
  expect([said, asked.length]).toEqual([expected, 1]);
});

it.each([
  ["http://{host}/v1/v1", "404: Lost (asked for http://{host}/v1/v1/chat/completions; it has the version twice)"],
  [
    "http://{host}/openai/deployments/gpt",
    "404: Lost (asked for http://{host}/openai/deployments/gpt/chat/completions; Azure's base URLs end in ?api-version=...)",
  ],
  ["http://{host}/v1beta/openai", "404: Lost (asked for http://{host}/v1beta/openai/chat/completions)"],
  ["https://{host}/v1", "the server has no TLS: write http:// instead"],
])("the base URL %s has its remedy", async (base, expected) => {
  const { said } = await askAt("openai:m", base, {}, { status: 404, text: "Lost" });
  expect(said).toBe(expected);
});

it.each([
  ["127.0.0.1:9/v1", "http://127.0.0.1:9/v1"],
  ["localhost:9", "http://localhost:9"],
  ["https://$" + "{HOST}/v1", "http://127.0.0.1:8080/v1"],
  ["https://<resource>.openai.azure.com", "http://127.0.0.1:8080/v1"],
  ["https://me:secret@127.0.0.1:99999/v1", "http://127.0.0.1:8080/v1"],
  ["me:secret@127.0.0.1/v1", "http://127.0.0.1:8080/v1"],
])("refuses the base URL %s", async (base, example) => {
  const refused = askAt("openai:m", base).catch((error) => error.problems);
  expect(await refused).toMatchObject([
    {
      message: `"${base.replace("me:secret@", "")}" is not a valid base URL for openai.`,
      hint: `Give a complete URL, for example ${example}.`,
    },
  ]);
});

it("sends the key of Azure beside a version of its API in any case", async () => {
  const { asked } = await askAt("openai:m", "http://{host}/openai/deployments/gpt?Api-Version=1", {
    env: { OPENAI_API_KEY: "k-1" },
  });
  expect(asked[0]?.headers["api-key"]).toBe("k-1");
});
