import { expect, it } from "vitest";
import { startRelay } from "../../src/evals/asking/hosts/relay.ts";
import { connect } from "../../src/evals/servers/connect.ts";
import { later } from "../fakes/later.ts";
import { startProxy } from "../fixtures/endpoints/proxy.ts";

it("reaches a server through the proxy of the environment", async () => {
  const tool = { name: "echo", inputSchema: { type: "object" } };
  const result = { isError: false, content: [{ type: "text", text: "hi" }] };
  const relay = await startRelay();
  const service = relay.serve({ name: "s", tools: [tool], call: async () => ({ status: "executed", ms: 1, result }) });
  const proxy = await startProxy(service.url);
  const url = service.url.replace(/127\.0\.0\.1:\d+/, "mcp.test");
  const signal = new AbortController().signal;
  const context = { name: "s", dir: ".", env: { HTTP_PROXY: proxy.url }, signal };
  const server = await connect({ url }, context);
  later(service.close);
  later(() => server.close());
  expect(await server.list(signal)).toEqual([tool]);
  expect(await server.call("echo", {}, signal)).toMatchObject({ kind: "result", result });
  expect(new Set(proxy.requests)).toContain(`POST ${url}`);
});
