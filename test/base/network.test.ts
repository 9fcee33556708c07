import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { anthropic } from "../../src/evals/asking/models/anthropic.ts";
import { openai } from "../../src/evals/asking/models/openai.ts";
import { abortAfter, createFetch } from "../../src/evals/base/network.ts";
import { requestOf } from "../asking/models/request.ts";
import { startCompletionsEndpoint } from "../fixtures/endpoints/completions.ts";
import type { Fault } from "../fixtures/endpoints/endpoint.ts";
import { startMessagesEndpoint } from "../fixtures/endpoints/messages.ts";
import { startProxy } from "../fixtures/endpoints/proxy.ts";
import { listen } from "../fixtures/ports.ts";

const untrusted =
  /^the connection failed: .*certificate.* \(UNABLE_TO_VERIFY_LEAF_SIGNATURE\); set NODE_EXTRA_CA_CERTS to a PEM file with your organization's CA$/;

/** An endpoint behind a proxy, and a model that is asked once. */
async function setUp(fault?: Fault) {
  const endpoint = await startMessagesEndpoint(() => fault ?? { text: "hello" });
  const proxy = await startProxy(endpoint.url);
  const ask = (
    baseUrl: string,
    env: Record<string, string>,
    signal = new AbortController().signal,
    timeoutMs = 60_000,
  ) =>
    anthropic("anthropic:x", "x", { env: { ANTHROPIC_API_KEY: "k", ...env }, baseUrl, timeoutMs, retries: 0 }).ask(
      requestOf("hi", []),
      signal,
    );
  return { endpoint, proxy, ask };
}

const answered = { kind: "turn", turn: { text: "hello" } };

describe("proxies", () => {
  it.each(["HTTP_PROXY", "http_proxy"])("%s forwards plain requests", async (name) => {
    const { proxy, ask } = await setUp();
    expect(await ask("http://api.test:81", { [name]: proxy.url })).toMatchObject(answered);
    expect(proxy.requests).toEqual(["POST http://api.test:81/v1/messages"]);
  });

  it.each(["HTTPS_PROXY", "https_proxy"])("%s tunnels TLS, with its credentials", async (name) => {
    const { proxy, ask } = await setUp();
    const url = proxy.url.replace("//", "//me:secret@");
    const message = expect.stringMatching(untrusted);
    expect(await ask("https://api.test", { [name]: url })).toMatchObject({ kind: "broken", stage: "model", message });
    expect(proxy.requests).toEqual(["CONNECT api.test:443 Basic bWU6c2VjcmV0"]);
  });

  it.each([
    ["http://0.0.0.0", { HTTP_PROXY: "PROXY", NO_PROXY: "example.com, 0.0.0.0" }],
    ["http://0.0.0.0", { http_proxy: "PROXY", no_proxy: "*" }],
    ["http://0.0.0.0", { HTTPS_PROXY: "", HTTP_PROXY: "", NO_PROXY: "example.com" }],
    ["http://127.0.0.1", { HTTP_PROXY: "PROXY", HTTPS_PROXY: "PROXY" }],
    ["http://localhost", { HTTP_PROXY: "PROXY", NO_PROXY: "example.com" }],
  ])("are not used for %s with %j", async (host, env) => {
    const { endpoint, proxy, ask } = await setUp();
    const entries = Object.entries(env).map(([name, value]) => [name, value.replace("PROXY", proxy.url)]);
    expect(await ask(endpoint.url.replace("http://127.0.0.1", host), Object.fromEntries(entries))).toMatchObject(
      answered,
    );
    expect(proxy.requests).toEqual([]);
  });

  it("serve every provider", async () => {
    const endpoint = await startCompletionsEndpoint(() => ({ text: "hello" }));
    const proxy = await startProxy(endpoint.url);
    const options = { env: { OPENAI_API_KEY: "k", HTTP_PROXY: proxy.url }, baseUrl: "http://api.test/v1" };
    const reply = await openai("openai:x", "x", options).ask(requestOf("hi", []), new AbortController().signal);
    expect(reply).toMatchObject(answered);
    expect(proxy.requests).toEqual(["POST http://api.test/v1/chat/completions"]);
  });

  it.each<[Fault, string, string]>([
    [{ fault: "truncated" }, "model", "the connection failed: the reply was cut off"],
    [{ fault: "stalled" }, "timeout", "no reply within 0.3 s (or no connection within 10 s); --timeout allows more"],
    [{ fault: "status", status: 400, message: "bad" }, "model", "400 invalid_request_error: bad (request req_1)"],
  ])("keep the meaning of %j", async (fault, stage, message) => {
    const { proxy, ask } = await setUp(fault);
    // Only what never answers is waited for briefly: all else may take its time on a busy machine.
    const timeoutMs = stage === "timeout" ? 300 : undefined;
    const reply = await ask("http://api.test", { HTTP_PROXY: proxy.url }, undefined, timeoutMs);
    expect(reply).toMatchObject({ kind: "broken", stage, message });
  });

  it("are cancelled by the signal", async () => {
    const { endpoint, proxy, ask } = await setUp({ fault: "hang" });
    const controller = new AbortController();
    const reply = ask("http://api.test", { HTTP_PROXY: proxy.url }, controller.signal);
    await expect.poll(() => endpoint.requests.length).toBe(1);
    controller.abort();
    expect(await reply).toMatchObject({ stage: "cancelled" });
  });

  it("are refused when they are not URLs, without showing the value", () => {
    const env = { ANTHROPIC_API_KEY: "k", HTTPS_PROXY: "me:secret@proxy:8080" };
    expect(() => anthropic("anthropic:x", "x", { env })).toThrow(
      "error: HTTPS_PROXY is not an http or https URL.\n  Write it as http://host:port.",
    );
  });
});

it("names the remedy for a certificate of an unknown CA, and does not retry", async () => {
  const { proxy, endpoint, ask } = await setUp();
  const message = expect.stringMatching(untrusted);
  expect(await ask(`https://localhost:${proxy.tlsPort}`, {})).toMatchObject({
    kind: "broken",
    stage: "model",
    message,
  });
  expect(endpoint.requests).toEqual([]);
});

it("a reply of JSON is read with a byte order mark and as plain text", async () => {
  const server = createServer((_, res) => res.writeHead(200, { "content-type": "text/plain" }).end('\uFEFF{"a":1}'));
  const response = await createFetch({})(`http://127.0.0.1:${await listen(server)}`);
  expect([response.headers.get("content-type"), await response.json()]).toEqual(["application/json", { a: 1 }]);
});

describe("a reply that is compressed although no compression was asked for", () => {
  async function fetchText(encoding: string, body: Buffer): Promise<string> {
    const server = createServer((_, res) => res.writeHead(200, { "content-encoding": encoding }).end(body));
    const response = await createFetch({})(`http://127.0.0.1:${await listen(server)}`);
    return await response.text();
  }

  it.each([
    ["gzip", gzipSync],
    ["deflate", deflateSync],
    ["br", brotliCompressSync],
  ])("is read (%s)", async (encoding, compress) => {
    expect(await fetchText(encoding, compress("hello"))).toBe("hello");
  });

  it("is bounded by its length without compression", async () => {
    const body = gzipSync(Buffer.alloc(16 * 1024 * 1024 + 1));
    await expect(fetchText("gzip", body)).rejects.toThrow("the reply is larger than 16 MiB");
  });

  it("breaks when it is damaged or cut off", async () => {
    const whole = gzipSync("hello");
    await expect(fetchText("gzip", Buffer.from("hello"))).rejects.toThrow("the reply was cut off");
    await expect(fetchText("gzip", whole.subarray(0, -4))).rejects.toThrow("the reply was cut off");
  });
});

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

/** Reads an answer that has no end, while garbage is collected at each of its bytes. */
async function readWithoutEnd(makeLimit: () => AbortSignal, onByte = () => {}): Promise<void> {
  const server = createServer((_, response) => {
    const timer = setInterval(() => response.write(" "), 5);
    response.on("close", () => clearInterval(timer));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { signal: makeLimit() });
    for await (const _ of response.body ?? []) {
      collectGarbage();
      onByte();
    }
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

it("ends an answer that has no end, whatever is collected as garbage meanwhile", async () => {
  const { signal } = new AbortController();
  await expect(readWithoutEnd(() => abortAfter(signal, 300))).rejects.toThrow("no answer within 0.3 s");
});

it("ends it earlier where the signal aborts", async () => {
  const stop = new AbortController();
  const ended = readWithoutEnd(
    () => abortAfter(stop.signal, 600_000),
    () => stop.abort(new Error("stopped")),
  );
  await expect(ended).rejects.toThrow("stopped");
});
