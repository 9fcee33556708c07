import { describe, expect, it } from "vitest";
import { offerTools, startRelay } from "../../../src/evals/asking/hosts/relay.ts";
import { connect } from "../../../src/evals/servers/connect.ts";

const never = new AbortController().signal;

describe("the relay of tool servers", () => {
  it("offers exactly the tools of a service, and answers calls with their executions", async () => {
    const relay = await startRelay();
    let listings = 0;
    const tool = {
      name: "files.read",
      description: "Reads.",
      inputSchema: { type: "object", properties: { path: { type: "string" } } },
      annotations: { readOnlyHint: true },
      _meta: { "anthropic/alwaysLoad": true, "anthropic/searchHint": "disk" },
    } as const;
    const image = { type: "image", mimeType: "image/png", bytes: 3 };
    const resources = [
      { type: "resource", uri: "note://a", mimeType: "text/plain", text: "Flour" },
      { type: "resource_link", uri: "note://b", name: "b", description: "Milk" },
    ];
    const service = relay.serve({
      name: "files",
      tools: [tool],
      instructions: "Read before you write.",
      onListed: () => listings++,
      call: async (_, { path }) =>
        path === "a"
          ? {
              status: "executed",
              ms: 1,
              result: {
                isError: false,
                content: [{ type: "text", text: "A" }, image, ...resources],
                structuredContent: { a: 1 },
              },
            }
          : { status: "skipped", reason: "it is not safe" },
    });
    const server = await connect({ url: service.url }, { name: "sut", dir: ".", env: {}, signal: never });
    expect(server.instructions).toBe("Read before you write.");
    expect(listings).toBe(0);
    expect(await server.list(never)).toEqual([tool]);
    expect(listings).toBe(1);
    expect(await server.call("files.read", { path: "a" }, never)).toEqual({
      kind: "result",
      result: {
        isError: false,
        content: [{ type: "text", text: "A" }, { type: "text", text: "[image image/png]" }, ...resources],
        structuredContent: { a: 1 },
      },
    });
    expect(await server.call("files.read", {}, never)).toMatchObject({
      result: { isError: true, content: [{ text: "This call was not executed: it is not safe" }] },
    });
    const statusOf = async (url: string, method: string) => (await fetch(url, { method })).status;
    expect([await statusOf(service.url, "GET"), await statusOf(`${service.url}x`, "POST")]).toEqual([405, 404]);
    service.close();
    expect(await statusOf(service.url, "POST")).toBe(404);
    await server.close();
  });
});

describe("the offer of a trial", () => {
  const names = {
    toServerName: (name: string) => name,
    toShownName: (server: string, tool: string) => `${server}-${tool}`,
  };
  const tool = (server: string, name: string) =>
    ({ name, inputSchema: { type: "object" }, server, origin: "server" }) as const;

  it("has each tool and its instructions under its server, and reports what was listed and called", async () => {
    const relay = await startRelay();
    const offer = offerTools(
      names,
      relay,
      {
        tools: [tool("a", "x"), tool("b", "y"), tool("a", "z")],
        instructions: [{ server: "b", text: "Be kind." }],
        execute: async () => ({ status: "skipped", reason: "no" }),
      },
      never,
      () => {},
    );
    expect([offer.shown, offer.toListed("b-y"), offer.toListed("other"), offer.unlisted()]).toEqual([
      ["a-x", "b-y", "a-z"],
      "y",
      "other",
      ["a", "b"],
    ]);
    const server = await connect(
      { url: offer.servers.get("b") ?? "" },
      { name: "b", dir: ".", env: {}, signal: never },
    );
    expect(server.instructions).toBe("Be kind.");
    expect((await server.list(never)).map(({ name }) => name)).toEqual(["y"]);
    await server.call("y", { n: 1 }, never);
    expect(offer.unlisted()).toEqual(["a"]);
    expect(offer.relayed).toMatchObject([
      { id: "", tool: "y", arguments: { n: 1 }, execution: { status: "skipped", reason: "no" } },
    ]);
    await server.close();
    offer.close();
  });

  it("offers a tool of a whole configuration under its name on its server, and reports its calls under the listed one", async () => {
    const relay = await startRelay();
    const calls: string[] = [];
    const offer = offerTools(
      names,
      relay,
      {
        tools: [
          { ...tool("a", "a__find"), ownName: "find" },
          { ...tool("b", "b__find"), ownName: "find" },
        ],
        instructions: [],
        execute: async (call) => {
          calls.push(call.tool);
          return { status: "skipped", reason: "no" };
        },
      },
      never,
      () => {},
    );
    expect([offer.shown, offer.toListed("b-find")]).toEqual([["a-find", "b-find"], "b__find"]);
    const url = offer.servers.get("b") ?? "";
    const server = await connect({ url }, { name: "b", dir: ".", env: {}, signal: never });
    expect((await server.list(never)).map(({ name }) => name)).toEqual(["find"]);
    await server.call("find", {}, never);
    expect([calls, offer.relayed.map(({ tool: listed }) => listed)]).toEqual([["b__find"], ["b__find"]]);
    await server.close();
    offer.close();
  });
});
