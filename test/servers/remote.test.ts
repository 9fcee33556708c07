import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { Agent, getGlobalDispatcher, setGlobalDispatcher } from "undici";
import { describe, expect, it, test } from "vitest";
import { createPatientFetch } from "../../src/evals/base/network.ts";
import { type Json, type JsonObject, parseExactJson } from "../../src/evals/base/types/json.ts";
import { type Connection, connect } from "../../src/evals/servers/connect.ts";
import { Unanswered } from "../../src/evals/servers/link.ts";
import { readPause } from "../../src/evals/servers/session.ts";
import type { UrlSpec } from "../../src/evals/servers/spec.ts";
import { later } from "../fakes/later.ts";
import { listen } from "../fixtures/ports.ts";

// Servers behind a URL that fail for a moment, or answer in another way than the protocol has it.

const never = new AbortController().signal;

type Handle = (req: IncomingMessage, res: ServerResponse, body: string) => unknown;

async function serve(handle: Handle): Promise<string> {
  const http = createServer(async (req, res) => {
    let body = "";
    if (req.method === "POST" && !req.url?.startsWith("/messages")) for await (const part of req) body += part;
    await handle(req, res, body);
  });
  return `http://127.0.0.1:${await listen(http)}/mcp`;
}

async function open(spec: UrlSpec): Promise<Connection> {
  const server = await connect(spec, { name: "sut", dir: ".", env: {}, signal: never });
  later(() => server.close());
  return server;
}

type Sent = { id?: number | string; method: string; params: JsonObject };
/** What one request gets instead of the usual answer; nothing for the usual one. */
type Fault = (res: ServerResponse, sent: Sent, req: IncomingMessage) => unknown;

const answers = (readOnlyHint: boolean): Record<string, JsonObject> => ({
  initialize: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "odd", version: "1" } },
  "tools/list": { tools: [{ name: "read", inputSchema: { type: "object" }, annotations: { readOnlyHint } }] },
  "tools/call": { content: [{ type: "text", text: "Flour" }] },
});

/** A server of the older protocol with sessions, whose requests are logged by method. */
async function startOdd(fault: Fault, isReadOnly = true) {
  const asked: string[] = [];
  let sessions = 0;
  const url = await serve((req, res, body) => {
    if (req.method !== "POST") {
      fault(res, { method: req.method ?? "", params: {} }, req) || res.writeHead(405).end();
      return;
    }
    const sent = JSON.parse(body) as Sent;
    asked.push(sent.method);
    if (fault(res, sent, req)) return;
    if (sent.id === undefined) {
      res.writeHead(202).end();
      return;
    }
    const result = answers(isReadOnly)[sent.method];
    const session = sent.method === "initialize" && { "mcp-session-id": `s${++sessions}` };
    res.writeHead(200, { "content-type": "application/json", ...session });
    const error = { code: -32601, message: "Method not found" };
    res.end(JSON.stringify({ jsonrpc: "2.0", id: sent.id, ...(result ? { result } : { error }) }));
  });
  return { url, asked: (method: string) => asked.filter((one) => one === method).length };
}

const refuse = (res: ServerResponse, status: number, body: Json, headers = {}) => {
  res.writeHead(status, headers).end(typeof body === "string" ? body : JSON.stringify(body));
  return true;
};
const rpcError = (id: Json, code: number, message: string) => ({ jsonrpc: "2.0", id, error: { code, message } });
const json = { "content-type": "application/json" };
const flour = { kind: "result", result: { content: [{ text: "Flour" }] } };

describe("a call that one more request cures", () => {
  it.each<[string, (res: ServerResponse, id: Json) => boolean]>([
    ["404 of the SDK", (res) => refuse(res, 404, rpcError(null, -32001, "Session not found"))],
    ["404 as text", (res) => refuse(res, 404, "session not found")],
    ["400", (res) => refuse(res, 400, rpcError(null, -32000, "Bad Request: No valid session ID provided"))],
    ["400 of mcp-go", (res) => refuse(res, 400, "Invalid session ID")],
    ["400 of a proxy", (res) => refuse(res, 400, { error: "Bad Request: Unknown Mcp-Session-Id header" })],
    ...[403, 404, 409, 422].map((status): [string, (res: ServerResponse) => boolean] => [
      `${status} as an object of the server's own`,
      (res) => refuse(res, status, { error: "Session not found" }, json),
    ]),
    ["400 as an answer to the call", (res, id) => refuse(res, 400, rpcError(id, -32000, "Session expired"))],
    ["410", (res) => refuse(res, 410, "This session has ended")],
    [
      "404 as an event",
      (res) => refuse(res, 404, 'event: message\ndata: {"error":"gone"}\n\n', { "content-type": "text/event-stream" }),
    ],
    ["200", (res, id) => refuse(res, 200, rpcError(id, -32001, "Session not found"), json)],
    [
      "200 as an event, with the session",
      (res, id) => {
        const data = JSON.stringify(rpcError(id, -32600, "Invalid Request: session 's1' has expired"));
        return refuse(res, 200, `data: ${data}\n\n`, { "content-type": "text/event-stream" });
      },
    ],
    ["200 after a restart", (res, id) => refuse(res, 200, rpcError(id, -32002, "Server not initialized"), json)],
    ["400 after a restart", (res) => refuse(res, 400, rpcError(null, -32000, "Bad Request: Server not initialized"))],
  ])("a lost session is opened again once for all calls: %s", async (_, lose) => {
    const sut = await startOdd((res, { id = null, method }, req) => {
      return method === "tools/call" && req.headers["mcp-session-id"] === "s1" ? lose(res, id) : undefined;
    });
    const server = await open({ url: sut.url });
    const calls = await Promise.all([1, 2, 3].map(() => server.call("read", {}, never)));
    expect(calls).toMatchObject([flour, flour, flour]);
    expect([sut.asked("initialize"), sut.asked("tools/call")]).toEqual([2, 6]);
  });

  it.each<[string, Fault]>([
    ["a rate limit", (res) => refuse(res, 429, "slow down", { "retry-after": "0" })],
    ["a rate limit until a date", (res) => refuse(res, 429, "", { "retry-after": new Date(0).toUTCString() })],
    ["an overload", (res) => refuse(res, 503, "<h1>Unavailable</h1>", { "retry-after": "0" })],
    ["a gateway", (res) => refuse(res, 502, "Bad Gateway", { "retry-after": "0" })],
    ["a gateway's timeout", (res) => refuse(res, 504, "", { "retry-after": "0" })],
    ["a closed connection", (res) => Boolean(res.destroy())],
  ])("%s", async (_, fault) => {
    let left = 1;
    const sut = await startOdd((res, sent, req) => {
      return sent.method === "tools/call" && left-- > 0 ? fault(res, sent, req) : undefined;
    });
    const server = await open({ url: sut.url });
    await server.list(never);
    expect(await server.call("read", {}, never)).toMatchObject(flour);
    expect(sut.asked("tools/call")).toBe(2);
  });

  it.each([502, 504])(
    "a call that may have been processed is not repeated if it changes something: %i",
    async (status) => {
      const sut = await startOdd(
        (res, { method }) => (method === "tools/call" ? refuse(res, status, "no answer") : undefined),
        false,
      );
      const server = await open({ url: sut.url });
      await server.list(never);
      const message = `Server "sut", called for "read", answers with HTTP ${status} at ${sut.url}: "no answer".`;
      expect(await server.call("read", {}, never)).toEqual({ kind: "broken", stage: "server", message });
      expect(sut.asked("tools/call")).toBe(1);
    },
  );

  it.each(["server/discover", "initialize", "tools/list"])("a start that is refused for a moment: %s", async (busy) => {
    let left = 2;
    const sut = await startOdd((res, { method }) => {
      return method === busy && left-- > 0 ? refuse(res, 429, "", { "retry-after": "0" }) : undefined;
    });
    const server = await open({ url: sut.url });
    expect(await server.list(never)).toHaveLength(1);
  });

  it("a wait of hours is not waited for", async () => {
    const sut = await startOdd((res, { method }) => {
      return method === "tools/call" ? refuse(res, 429, "come back tomorrow", { "retry-after": "86400" }) : undefined;
    });
    const server = await open({ url: sut.url });
    const message = `Server "sut", called for "read", answers with HTTP 429 at ${sut.url}: "come back tomorrow".`;
    expect(await server.call("read", {}, never)).toEqual({ kind: "broken", stage: "server", message });
    expect(sut.asked("tools/call")).toBe(1);
    expect(readPause(new Unanswered("busy", 429, "", 120_000), 1)).toBe(120_000);
    expect(readPause(new Unanswered("busy", 429, "", 120_001), 1)).toBeUndefined();
  });

  it("a stream that breaks is resumed where its events have ids", async () => {
    const sut = await startOdd((res, { id, method }, req) => {
      const resumed = req.headers["last-event-id"];
      if (method !== "tools/call" && resumed === undefined) return undefined;
      res.writeHead(200, { "content-type": "text/event-stream" });
      if (resumed === undefined) {
        res.write(`retry: 1\nid: ${id}\ndata: \n\n`, () => res.destroy());
        return true;
      }
      const result = { content: [{ type: "text", text: "Flour" }] };
      res.end(`id: z\ndata: ${JSON.stringify({ jsonrpc: "2.0", id: Number(resumed), result })}\n\n`);
      return true;
    });
    const server = await open({ url: sut.url });
    expect(await server.call("read", {}, never)).toMatchObject(flour);
    expect(sut.asked("tools/call")).toBe(1);
  });
});

it("a session that a server loses again is no result", async () => {
  const sut = await startOdd((res, { id = null, method }) => {
    return method === "tools/call" && refuse(res, 200, rpcError(id, -32001, "Session not found"), json);
  });
  const message = `Server "sut", called for "read", answers with HTTP 200 at ${sut.url}: "Session not found".`;
  const outcome = await (await open({ url: sut.url })).call("read", {}, never);
  expect(outcome).toEqual({ kind: "broken", stage: "server", message });
  expect(sut.asked("initialize")).toBe(2);
});

it.each([
  [-32001, "Browser session 7 not found"],
  [-32000, "No session of the user is open"],
  [-32602, "Session not found"],
])("an error about a session of a tool is graded: %i %s", async (code, text) => {
  const sut = await startOdd((res, { id = null, method }) => {
    return method === "tools/call" && refuse(res, 200, rpcError(id, code, text), json);
  });
  const outcome = await (await open({ url: sut.url })).call("read", {}, never);
  expect(outcome).toMatchObject({ result: { isError: true, content: [{ text }] } });
});

it("a call is broken where its stream breaks and is not resumed", async () => {
  const sut = await startOdd((res, { id, method }, req) => {
    if (req.headers["last-event-id"] !== undefined) return refuse(res, 404, "gone");
    if (method !== "tools/call") return undefined;
    res.writeHead(200, { "content-type": "text/event-stream" });
    return res.write(`retry: 1\nid: ${id}\ndata: \n\n`, () => res.destroy());
  });
  const server = await open({ url: sut.url });
  const message = expect.stringContaining("the stream is not resumed: HTTP 404");
  expect(await server.call("read", {}, never)).toMatchObject({ kind: "broken", stage: "server", message });
});

it.each([400, 404, 422, 500])("an error of the protocol is graded whatever its status: %i", async (status) => {
  for (const text of ["name must end in .md", "session_id of the browser must be a number"]) {
    const sut = await startOdd((res, { id = null, method }) => {
      return method === "tools/call" ? refuse(res, status, rpcError(id, -32602, text)) : undefined;
    });
    const server = await open({ url: sut.url });
    expect(await server.call("read", {}, never)).toMatchObject({ result: { isError: true, content: [{ text }] } });
  }
});

it.each(["application/json", "text/event-stream"])("a result keeps every digit of large numbers: %s", async (type) => {
  const digits = "[9007199254740993,-12345678901234567890]";
  const sut = await startOdd((res, { id, method }) => {
    if (method !== "tools/call") return undefined;
    const text = `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":{"ids":${digits}}}}`;
    res.writeHead(200, { "content-type": type });
    const sent = type === "application/json" ? text : `event: message\r\ndata: ${text}\r\n\r\n`;
    res.write(sent.slice(0, -40));
    setImmediate(() => res.end(sent.slice(-40)));
    return true;
  });
  const outcome = await (await open({ url: sut.url })).call("read", {}, never);
  expect(outcome).toMatchObject({ result: { structuredContent: { ids: parseExactJson(digits) } } });
});

it("an answer that the client refuses is named with its fault", async () => {
  const sut = await startOdd((res, { id = null, method }) => {
    const answer = { jsonrpc: "2.0", id, result: {}, error: null };
    return method === "tools/call" && refuse(res, 200, answer, { "content-type": "application/json" });
  });
  const outcome = await (await open({ url: sut.url })).call("read", {}, never);
  expect(outcome).toMatchObject({ message: expect.stringContaining('it has both "result" and "error"') });
});

describe("an answer that the client refuses or passes over is named", () => {
  const event = (data: string) => (res: ServerResponse) =>
    refuse(res, 200, `data: ${data}\n\n`, { "content-type": "text/event-stream" });
  const reply = (body: Json) => (res: ServerResponse) => refuse(res, 200, body, json);
  const result = { jsonrpc: "2.0", id: 2, result: {} };
  it.each<[string, (res: ServerResponse) => boolean]>([
    ['it has both "result" and "error"', event(JSON.stringify({ ...result, error: null }))],
    ["sent a message that is not one line of JSON", event('{"jsonrpc":"2.0",')],
    ["sent an answer to no request", event(JSON.stringify({ ...result, id: 99 }))],
    ["sent an answer to no request", reply({ ...result, id: 99 })],
    [
      "ended the stream of its answer without one",
      event('{"jsonrpc":"2.0","method":"notifications/message","params":{}}'),
    ],
    ['sent "{\\"status\\":\\"ok\\"}" for an answer', reply({ status: "ok" })],
    ["sent nothing for an answer", reply("")],
    ["accepted a request (HTTP 202) without an answer", (res) => refuse(res, 202, "")],
  ])("%s", async (fault, answer) => {
    const sut = await startOdd((res, { method }) => method === "tools/call" && answer(res), false);
    const server = await open({ url: sut.url, callTimeoutMs: 500 });
    const message = expect.stringContaining(fault);
    expect(await server.call("read", {}, never)).toMatchObject({ kind: "broken", message });
  });
});

test("an error without an id is named, and passed over where it answers a notification", async () => {
  const sut = await startOdd((res, { id, method }) => {
    if (id === undefined) return refuse(res, 200, rpcError(null, -32601, "Method not found"), json);
    return method === "tools/call" && refuse(res, 200, rpcError(null, -32603, "boom"), json);
  });
  const outcome = await (await open({ url: sut.url })).call("read", {}, never);
  const message = 'Server "sut", called for "read", sent an error without an id: "boom" (-32603).';
  expect(outcome).toEqual({ kind: "broken", stage: "server", message });
});

test.each([
  [302, undefined],
  [307, undefined],
  [302, "sse" as const],
])("a redirect in a loop is named: %i over %s", async (status, transport) => {
  const url = await serve((req, res) => res.writeHead(status, { location: `${req.url}?again` }).end());
  const opening = open({ url, ...(transport && { transport }) });
  await expect(opening).rejects.toThrow(`Server "sut" redirects in a loop at ${url}.`);
});

test.each([undefined, "sse" as const])("a loop of redirects over several URLs is named (%s)", async (transport) => {
  const next: Record<string, string> = { "/mcp": "/a?key=1", "/a?key=1": "/b", "/b": "/a?key=1" };
  const url = await serve(({ url: asked = "" }, res) => res.writeHead(307, { location: next[asked] }).end());
  const opening = open({ url, ...(transport && { transport }) });
  await expect(opening).rejects.toThrow(`Server "sut" redirects in a loop at ${url}.`);
});

test("a redirect that is not followed is named with its target", async () => {
  const url = await serve((_, res) => res.writeHead(302, { location: "/a?key=1" }).end());
  const target = url.replace("/mcp", "/a");
  await expect(open({ url, transport: "http" })).rejects.toThrow(`Server "sut" redirects from ${url} to ${target}.`);
});

test("an answer of the client that the server accepts explains no timeout", async () => {
  const sut = await startOdd((res, { method }) => {
    if (method === undefined) return refuse(res, 202, "");
    if (method !== "tools/call") return undefined;
    res.writeHead(200, { "content-type": "text/event-stream" });
    return res.write('data: {"jsonrpc":"2.0","id":"p","method":"ping"}\n\n');
  });
  const outcome = await (await open({ url: sut.url, callTimeoutMs: 500 })).call("read", {}, never);
  expect(outcome).toMatchObject({ kind: "broken", message: expect.stringContaining("within 0.5 s") });
});

test("a failure with no known cause names the variables that are not set", async () => {
  const unset = [{ severity: "warning", message: 'Server "sut" uses HOST.', hint: "Set HOST." }] as const;
  const url = await serve((_, res) => res.writeHead(500).end());
  const connecting = connect({ url }, { name: "sut", dir: ".", env: {}, signal: never, unset });
  await expect(connecting).rejects.toThrow('See the log of the server.\n  Server "sut" uses HOST. Set HOST.');
});

describe("the question for the protocol revision", () => {
  // Asked at once, because some are waited for.
  const faults: [string, Fault][] = [
    ["an error without an id", (res) => refuse(res, 200, rpcError(null, -32600, "Missing ID field"), json)],
    ["another id", (res) => refuse(res, 200, { jsonrpc: "2.0", id: 99, result: {} }, json)],
    ["another result", (res, { id = null }) => refuse(res, 200, { jsonrpc: "2.0", id, result: { ok: true } }, json)],
    ["an empty body", (res) => refuse(res, 200, "", json)],
    ["text", (res) => refuse(res, 200, "ok", { "content-type": "text/plain" })],
    ["a page", (res) => refuse(res, 200, "<h1>Hi</h1>", { "content-type": "text/html" })],
    ["an accepted notification", (res) => refuse(res, 202, "")],
    ["an empty stream", (res) => refuse(res, 200, "", { "content-type": "text/event-stream" })],
    ["a login", (res) => refuse(res, 401, "who are you?")],
    ["a firewall", (res) => refuse(res, 403, "<h1>Forbidden</h1>")],
    ["a validation", (res) => refuse(res, 422, { detail: "validation" }, json)],
    ["a wrong method", (res) => refuse(res, 405, "")],
    ["a format it does not send", (res) => refuse(res, 406, rpcError("server-error", -32600, "Not acceptable"), json)],
    ["a way to a login page", (res) => refuse(res, 302, "", { location: "/login" })],
    ["an event", (res) => refuse(res, 400, 'data: {"error":"no"}\n\n', { "content-type": "text/event-stream" })],
    ["a crash", (res) => refuse(res, 500, "Internal Server Error")],
    ["a crash behind a gateway", (res) => refuse(res, 502, "Bad Gateway")],
    ["a closed connection", (res) => Boolean(res.destroy())],
    ["silence", () => true],
  ];
  it("is followed by the older protocol after any answer but its own", async () => {
    const listings = faults.map(async ([name, fault]) => {
      const sut = await startOdd((res, sent, req) =>
        sent.method === "server/discover" ? fault(res, sent, req) : undefined,
      );
      // Of which the question may take a half.
      const server = await open({ url: sut.url, startTimeoutMs: 4_000 });
      const { protocol, transport } = server.about;
      return [name, (await server.list(never)).length, protocol, transport];
    });
    expect(await Promise.all(listings)).toEqual(faults.map(([name]) => [name, 1, "2025-11-25", "http"]));
  });

  it("the older transport is tried after both protocols", async () => {
    const transports = new Map<string, SSEServerTransport>();
    const url = await serve(async (req, res) => {
      const session = new URL(req.url ?? "", "http://x").searchParams.get("sessionId") ?? "";
      if (req.method === "POST" && transports.has(session)) return transports.get(session)?.handlePostMessage(req, res);
      if (req.method !== "GET") return res.writeHead(405).end();
      const server = new Server({ name: "old", version: "1" }, { capabilities: { tools: {} } });
      server.setRequestHandler(ListToolsRequestSchema, () => ({
        tools: [{ name: "read", inputSchema: { type: "object" } }],
      }));
      server.setRequestHandler(CallToolRequestSchema, () => ({ content: [{ type: "text", text: "Flour" }] }));
      const transport = new SSEServerTransport("/messages", res);
      transports.set(transport.sessionId, transport);
      await server.connect(transport);
    });
    const server = await open({ url });
    expect(server.about.transport).toBe("sse");
    expect(await server.call("read", {}, never)).toMatchObject(flour);
    await expect(open({ url, transport: "http" })).rejects.toThrow("answers with HTTP 405");
  });
});

test("the user and the password of a URL are sent, also where a percent sign stands for itself", async () => {
  const sent = new Set<string | undefined>();
  const sut = await startOdd((_, __, { headers }) => void sent.add(headers.authorization));
  await open({ url: sut.url.replace("//", "//us%20er:100%safe@") });
  expect(sent).toEqual(new Set([`Basic ${btoa("us er:100%safe")}`]));
});

test("no request is ended by the HTTP client itself", async () => {
  const waiting: ServerResponse[] = [];
  const url = await serve((_, res) => waiting.push(res));
  const usual = getGlobalDispatcher();
  setGlobalDispatcher(new Agent({ headersTimeout: 1 }));
  later(() => setGlobalDispatcher(usual));
  const patient = createPatientFetch({})(url);
  await expect(fetch(url)).rejects.toThrow();
  for (const res of waiting) res.end("late");
  expect(await (await patient).text()).toBe("late");
});

describe("a call that needs the program around a model is broken, and no fault of the model", () => {
  const broken = (what: string) => ({
    kind: "broken",
    stage: "setup",
    message: `Server "sut", called for "read", needs ${what}, which is not supported by the harness.`,
  });

  it.each([
    ["Client does not support elicitation (required for elicitation/create)", "elicitation"],
    ["Client does not support form elicitation.", "elicitation"],
    ["MCP error -32603: Client does not support sampling (required for sampling/createMessage)", "sampling"],
    ["Client does not support listing roots (required for roots/list)", "roots"],
  ])("as the SDKs say it: %s", async (text, what) => {
    for (const answer of [
      { result: { isError: true, content: [{ type: "text", text }] } },
      { error: { code: -32603, message: text } },
    ]) {
      const sut = await startOdd((res, { id = null, method }) => {
        const headers = { "content-type": "application/json" };
        return method === "tools/call" && refuse(res, 200, { jsonrpc: "2.0", id, ...answer }, headers);
      });
      expect(await (await open({ url: sut.url })).call("read", {}, never)).toEqual(broken(what));
    }
  });

  it("a call before which the user has to open a URL", async () => {
    const sut = await startOdd((res, { id = null, method }) => {
      const elicitations = [{ mode: "url", elicitationId: "1", url: "https://example.com/login", message: "Log in." }];
      const error = { code: -32042, message: "This request requires more information.", data: { elicitations } };
      const headers = { "content-type": "application/json" };
      return method === "tools/call" && refuse(res, 200, { jsonrpc: "2.0", id, error }, headers);
    });
    expect(await (await open({ url: sut.url })).call("read", {}, never)).toEqual(broken("elicitation of a URL"));
  });

  it("a tool that runs as a task only", async () => {
    const sut = await startOdd((res, { id = null, method }) => {
      const tools = [{ name: "read", inputSchema: { type: "object" }, execution: { taskSupport: "required" } }];
      return (
        method === "tools/list" &&
        refuse(res, 200, { jsonrpc: "2.0", id, result: { tools } }, { "content-type": "application/json" })
      );
    });
    const server = await open({ url: sut.url });
    await server.list(never);
    expect(await server.call("read", {}, never)).toEqual(broken("tasks"));
  });

  it.each(["elicitation/create", "sampling/createMessage", "roots/list"])(
    "a server that asks all the same: %s",
    async (asked) => {
      let answerCall = () => {};
      const sut = await startOdd((res, sent) => {
        const { id, method } = sent;
        // The client's refusal.
        if (method === undefined) {
          answerCall();
          return res.writeHead(202).end();
        }
        if (method !== "tools/call") return undefined;
        res.writeHead(200, { "content-type": "text/event-stream" });
        res.write(`data: ${JSON.stringify({ jsonrpc: "2.0", id: "s1", method: asked, params: {} })}\n\n`);
        const result = { isError: true, content: [{ type: "text", text: "no answer" }] };
        answerCall = () => res.end(`data: ${JSON.stringify({ jsonrpc: "2.0", id, result })}\n\n`);
        return true;
      });
      expect(await (await open({ url: sut.url })).call("read", {}, never)).toEqual(broken(asked));
    },
  );
});
