import { afterAll, beforeAll, describe } from "vitest";
import { type Listener, listen } from "../../src/server/http.ts";
import { conforms } from "./conformance.ts";

describe.each(["sse", "http"] as const)("the reference server over %s", (transport) => {
  let listener: Listener;
  beforeAll(async () => {
    const options = { transport, name: "a name, given", host: "127.0.0.1", port: 0, allowHosts: [], idleMs: 60_000 };
    listener = await listen(options);
  });
  afterAll(() => listener.close());

  conforms("a name, given", () => ({ url: listener.url, transport }));
});
