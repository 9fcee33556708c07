import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { listen } from "../../src/server/http.ts";
import { clients } from "./clients.ts";
import { initialize, json, openSession, send, started, tidyUp } from "./raw.ts";

tidyUp();

describe.each(["sse", "http"] as const)("sessions over %s", (transport) => {
  it("are limited: a new one takes the place of the one that was not used for longest", async () => {
    const url = await started(transport, { maxSessions: 2 });
    const [first, second] = [await openSession(transport, url), await openSession(transport, url)];
    expect((await first.use()).status).toBeLessThan(300);
    const third = await openSession(transport, url);
    expect(await second.use()).toMatchObject({ status: 404 });
    for (const session of [first, third]) expect((await session.use()).status).toBeLessThan(300);
    for (const { connect } of clients) await (await connect({ url, transport })).close();
  });

  it("of 1,000 clients that never say goodbye leave the next one served", async () => {
    const url = await started(transport, { maxSessions: 64 });
    for (let client = 0; client < 1000; client++) await openSession(transport, url);
    expect((await (await openSession(transport, url)).use()).status).toBeLessThan(300);
  });

  it("are not used up by requests that open none", async () => {
    const url = await started(transport, { maxSessions: 1 });
    const wrong = [
      { method: "POST", headers: json, body: "{}" },
      { method: "POST", body: initialize },
    ];
    // What the Streamable HTTP transport itself refuses: an answer as an event stream is not accepted.
    const unacceptable = { "content-type": "application/json", accept: "application/json" };
    for (const request of [...wrong, { method: "POST", headers: unacceptable, body: initialize }]) {
      expect((await send(url, request)).status).toBeGreaterThanOrEqual(400);
    }
    expect((await (await openSession(transport, url)).use()).status).toBeLessThan(300);
  });

  it("end with their event stream when they are idle, and not while they are used", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const url = await started(transport, { idleMs: 60_000 });
    const [idle, busy] = [await openSession(transport, url), await openSession(transport, url)];
    const ended = once(idle.stream.resume(), "end");
    vi.advanceTimersByTime(40_000);
    expect((await busy.use()).status).toBeLessThan(300);
    vi.advanceTimersByTime(40_000);
    await ended;
    expect(await idle.use()).toMatchObject({ status: 404 });
    expect((await busy.use()).status).toBeLessThan(300);
  });

  it("end when the listener closes, which then frees the port", async () => {
    const options = { transport, name: "reference", host: "127.0.0.1", port: 0, allowHosts: [], idleMs: 60_000 };
    const { url, close } = await listen(options);
    const { stream } = await openSession(transport, url);
    const ended = once(stream.resume(), "close");
    // Nor does a request wait that is only half sent.
    const half = connect(Number(new URL(url).port), "127.0.0.1").on("error", () => {});
    half.write("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{");
    await send(url, { method: "PUT" });
    await close();
    await ended;
    await expect(send(url)).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });
});
