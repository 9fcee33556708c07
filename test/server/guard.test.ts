import { describe, expect, it } from "vitest";
import { createGuard, isLoopback, urlHost } from "../../src/server/guard.ts";

describe("hosts", () => {
  const passing = (listening: string, extra: string[], hosts: string[]) =>
    hosts.filter((host) => createGuard(listening, extra)({ host }) === undefined);

  const hosts = [
    "localhost",
    "LOCALHOST:3333",
    "127.0.0.1:3333",
    "[::1]:3333",
    "10.1.2.3:3333",
    "[fe80::1]",
    "tools.example:3333",
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "evil.example@127.0.0.1",
    "127.0.0.1/evil.example",
    "127.0.0.1:3333:80",
    "[evil.example]",
    "localhost, evil.example",
    "",
  ];

  it("are loopback names on a loopback address", () => {
    const own = ["localhost", "LOCALHOST:3333", "127.0.0.1:3333", "[::1]:3333"];
    expect(passing("127.0.0.1", [], hosts)).toEqual(own);
    expect(passing("::1", [], hosts)).toEqual(own);
    expect(passing("localhost", [], hosts)).toEqual(own);
  });

  it("are also bare addresses and the allowed names beyond loopback", () => {
    const beyond = [...hosts.slice(0, 6), "tools.example:3333"];
    expect(passing("0.0.0.0", ["Tools.Example"], hosts)).toEqual(beyond);
    expect(passing("tools.example", [], hosts)).toEqual(beyond);
    expect(passing("::", [], hosts)).toEqual(hosts.slice(0, 6));
  });

  it("must be there", () => {
    expect(createGuard("0.0.0.0", [])({})).toBe(
      'The Host header "" does not name this server. Use its address, or allow the name with --allow-hosts.',
    );
  });
});

it.each([
  ["http://localhost:3333", true],
  ["https://localhost:3333", true],
  ["http://localhost", false],
  ["http://localhost:3334", false],
  ["http://127.0.0.1:3333", false],
  ["http://localhost:3333.evil.example", false],
  ["http://evil.example", false],
  ["ftp://localhost:3333", false],
  ["null", false],
  ["", false],
])("the origin %s of the host localhost:3333 may pass: %s", (origin, passes) => {
  expect(createGuard("127.0.0.1", [])({ host: "localhost:3333", origin }) === undefined).toBe(passes);
});

it("knows an origin without the port that its scheme implies", () => {
  const guard = createGuard("127.0.0.1", []);
  expect(guard({ host: "localhost:80", origin: "http://localhost" })).toBeUndefined();
  expect(guard({ host: "localhost", origin: "https://localhost" })).toBeUndefined();
});

it("knows loopback addresses", () => {
  const hosts = ["localhost", "127.0.0.1", "127.9.9.9", "::1", "0.0.0.0", "::", "10.0.0.1", "127.evil.example"];
  expect(hosts.filter(isLoopback)).toEqual(["localhost", "127.0.0.1", "127.9.9.9", "::1"]);
});

it("puts IPv6 addresses in brackets", () => {
  expect(["::1", "127.0.0.1", "localhost"].map(urlHost)).toEqual(["[::1]", "127.0.0.1", "localhost"]);
});
