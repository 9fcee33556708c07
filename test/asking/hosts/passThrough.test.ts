import { createServer } from "node:http";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { startPassThrough, type TapOptions } from "../../../src/evals/asking/hosts/passThrough.ts";
import { later } from "../../fakes/later.ts";
import { startMessagesEndpoint } from "../../fixtures/endpoints/messages.ts";
import { listen } from "../../fixtures/ports.ts";

const headers = { "content-type": "application/json", "x-api-key": "secret", "anthropic-version": "2023-06-01" };
const body = (prompt = "Hi.") => ({ model: "m", max_tokens: 9, messages: [{ role: "user", content: prompt }] });
const post = (url: string, value: object) => fetch(url, { method: "POST", headers, body: JSON.stringify(value) });

async function open(script: Parameters<typeof startMessagesEndpoint>[0], options: Partial<TapOptions> = {}) {
  const service = await startMessagesEndpoint(script);
  const proxy = await startPassThrough(fetch);
  const tap = proxy.open({ upstream: service.url, admit: () => true, ...options });
  later(tap.close);
  return { service, tap, proxy };
}

describe("the pass-through", () => {
  it("forwards a request and its stream unchanged, and records both without any header", async () => {
    const { service, tap } = await open(() => ({ text: "Hello." }));
    const direct = await (await post(`${service.url}/v1/messages`, { ...body(), stream: true })).text();
    const passed = await post(`${tap.url}/v1/messages?beta=true`, { ...body(), stream: true });
    expect(passed.headers.get("content-type")).toBe("text/event-stream");
    expect(passed.headers.get("request-id")).toBe("req_2");
    expect((await passed.text()).replaceAll("msg_2", "msg_1")).toBe(direct);
    expect(service.requests[1]).toMatchObject({ body: { ...body(), stream: true }, headers });
    expect(tap.exchanges).toMatchObject([
      { request: { model: "m", opening: "Hi." }, reply: { id: "msg_2", text: "Hello.", stop: "done" } },
    ]);
    expect(JSON.stringify(tap.exchanges)).not.toContain("secret");
  });

  it("adds headers in place of those of the host", async () => {
    const service = await startMessagesEndpoint(() => ({ text: "Hello." }));
    const proxy = await startPassThrough(fetch, {
      "x-team": "search",
      "x-api-key": "gateway",
      "anthropic-version": null,
    });
    const tap = proxy.open({ upstream: service.url, admit: () => true });
    later(tap.close);
    await (await post(`${tap.url}/v1/messages`, body())).text();
    const { "x-team": team, "x-api-key": key, "anthropic-version": version } = service.requests[0]?.headers ?? {};
    expect([team, key, version]).toEqual(["search", "gateway", undefined]);
  });

  it("hands on a stream as it comes", async () => {
    let release = () => {};
    const released = new Promise<void>((done) => {
      release = done;
    });
    const slow = createServer(async (_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).write("data: 1\n\n");
      await released;
      response.end("data: 2\n\n");
    });
    const proxy = await startPassThrough(fetch);
    const upstream = `http://127.0.0.1:${await listen(slow)}`;
    const tap = proxy.open({ upstream, admit: () => true });
    const reader = (await post(`${tap.url}/v1/messages`, body())).body?.getReader();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe("data: 1\n\n");
    release();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe("data: 2\n\n");
  });

  it("records true faults, whatever the host makes of them", async () => {
    const faults = [
      { fault: "status", status: 401, message: "bad key" },
      { fault: "empty" },
      { fault: "truncated" },
      { fault: "reset" },
      { fault: "invalid-json" },
    ] as const;
    const { tap } = await open((_, index) => faults[index] ?? { text: "fine" });
    const statuses: unknown[] = [];
    for (const _ of faults) {
      const response = await post(`${tap.url}/v1/messages`, body()).catch(() => undefined);
      statuses.push(
        await response?.text().then(
          () => response.status,
          () => "cut",
        ),
      );
    }
    expect(statuses).toEqual([401, 200, "cut", 502, 200]);
    expect(tap.exchanges.map(({ fault, reply }) => fault ?? reply)).toEqual([
      { message: "bad key", status: 401 },
      { message: "the reply is empty (status 200, no body)", status: 200 },
      { message: expect.stringContaining("the provider cannot be reached") },
      { message: expect.stringContaining("the provider cannot be reached") },
      { message: expect.stringContaining("the reply is not a message but the text"), status: 200 },
    ]);
  });

  it("reads compressed requests", async () => {
    const { service, tap } = await open(() => ({ text: "Hello." }));
    const zipped = gzipSync(JSON.stringify(body("Zipped.")));
    await fetch(`${tap.url}/v1/messages`, {
      method: "POST",
      headers: { ...headers, "content-encoding": "gzip" },
      body: zipped,
    });
    expect(tap.exchanges[0]?.request.opening).toBe("Zipped.");
    expect(service.requests).toHaveLength(0);
  });

  it("keeps trials apart, and knows only the addresses of open ones", async () => {
    const { tap, proxy, service } = await open(() => ({ text: "Hello." }));
    const other = proxy.open({ upstream: service.url, admit: () => true });
    await Promise.all([post(`${tap.url}/v1/messages`, body("one")), post(`${other.url}/v1/messages`, body("two"))]);
    expect(tap.exchanges.map(({ request }) => request.opening)).toEqual(["one"]);
    expect(other.exchanges.map(({ request }) => request.opening)).toEqual(["two"]);
    other.close();
    expect((await post(`${other.url}/v1/messages`, body())).status).toBe(404);
    expect((await fetch(new URL("/v1/messages", tap.url), { method: "POST" })).status).toBe(404);
  });

  it("does not answer a request that is not admitted, and cuts it when the trial ends", async () => {
    const { service, tap } = await open(() => ({ text: "Hello." }), { admit: (sent) => sent.length < 2 });
    await (await post(`${tap.url}/v1/messages`, body())).text();
    const waiting = post(`${tap.url}/v1/messages`, body("more")).then(
      ({ status }) => status,
      () => "cut",
    );
    await expect.poll(() => tap.exchanges.length).toBe(2);
    tap.close();
    expect(await waiting).toBe("cut");
    expect(service.requests).toHaveLength(1);
    expect(tap.exchanges[1]).toMatchObject({ request: { opening: "more" } });
    expect(tap.exchanges[1]?.reply).toBeUndefined();
  });

  it("forwards other requests without recording them", async () => {
    const { tap } = await open(() => ({ text: "Hello." }));
    expect((await post(`${tap.url}/v1/messages/count_tokens`, body())).status).toBe(200);
    expect(tap.exchanges).toEqual([]);
  });
});
