import { expect, it, vi } from "vitest";
import { fixture, never, open, serve, tidyUp } from "./servers.ts";

tidyUp();

const kinds = ["stdio", "old-stdio", "http", "old-http"] as const;
const connect = async (kind: (typeof kinds)[number]) =>
  open(kind.endsWith("http") ? { url: await serve("/mcp", "changing.mjs", kind) } : fixture("changing.mjs", kind));

it.each(kinds)("hears over %s that the list changed, and reads the new one", async (kind) => {
  const server = await connect(kind);
  const names = async () => (await server.list(never)).map(({ name }) => name);
  expect(await names()).toEqual(["open", "close", "read"]);
  await server.call("read", {}, never);
  expect(server.listChanges?.()).toBe(0);
  // The stream of a remote server is opened beside the first requests.
  const hearsChange = async () => {
    await server.call("open", {}, never);
    expect(server.listChanges?.()).toBeGreaterThan(0);
  };
  await vi.waitFor(hearsChange, { timeout: 60_000 });
  expect(await names()).toEqual(["open", "close", "read", "pin"]);
  await server.call("close", {}, never);
  expect(await names()).toEqual(["open", "close", "pin"]);
  expect(server.settleMs).toBe(kind.endsWith("http") ? 50 : 0);
});

it("reads a list again that changes while it is read", async () => {
  const server = await open({ ...fixture("changing.mjs", "old-stdio"), env: { SLOW: "1" } });
  expect((await server.list(never)).map(({ name }) => name)).toEqual(["open", "close", "read", "late"]);
  expect(server.listChanges?.()).toBe(0);
});
