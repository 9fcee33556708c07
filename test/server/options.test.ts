import { execFileSync } from "node:child_process";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatRegistration, parseOptions, UsageError } from "../../src/server/options.ts";

const defaults = {
  transport: "stdio",
  name: "reference",
  host: "127.0.0.1",
  port: 3333,
  allowHosts: [],
  idleMs: 300_000,
  printConfig: false,
  flags: [],
};

it("has defaults", () => {
  expect(parseOptions([])).toEqual(defaults);
});

it("accepts every flag, and returns them in one form", () => {
  const line = "--port=0 --transport=sse --host ::1 --name n --allow-hosts a,b --idle-minutes 0.5 --print-config";
  expect(parseOptions(line.split(" "))).toEqual({
    transport: "sse",
    name: "n",
    host: "::1",
    port: 0,
    allowHosts: ["a", "b"],
    idleMs: 30_000,
    printConfig: true,
    flags: "--transport sse --name n --host ::1 --port 0 --allow-hosts a,b --idle-minutes 0.5".split(" "),
  });
});

it("uses the last of a repeated flag", () => {
  expect(parseOptions(["--name", "a", "--name", "b"])).toEqual({ ...defaults, name: "b", flags: ["--name", "b"] });
});

it("keeps a name unchanged, also if it looks like a number", () => {
  expect(parseOptions(["--name", "007"]).name).toBe("007");
});

describe("refuses", () => {
  const http = ["--transport", "http"];
  it.each([
    [["--transport", "foo"], 'Invalid values:\n  Argument: transport, Given: "foo", Choices: "stdio", "sse", "http"'],
    [["--port", "1"], "--port does not apply to stdio. Add --transport http or --transport sse."],
    [
      ["--transport", "stdio", "--host", "::1"],
      "--host does not apply to stdio. Add --transport http or --transport sse.",
    ],
    [["--name", " "], "--name must not be empty."],
    [["--name"], "Not enough arguments following: name"],
    [[...http, "--host="], "--host must not be empty."],
    [[...http, "--port", "x"], "--port must be an integer from 0 to 65535."],
    [[...http, "--port", "1.5"], "--port must be an integer from 0 to 65535."],
    [[...http, "--port", "65536"], "--port must be an integer from 0 to 65535."],
    [[...http, "--port=-1"], "--port must be an integer from 0 to 65535."],
    [[...http, "--port"], "Not enough arguments following: port"],
    [[...http, "--idle-minutes", "0"], "--idle-minutes must be a number from 0.001 to 35000."],
    [[...http, "--idle-minutes", "Infinity"], "--idle-minutes must be a number from 0.001 to 35000."],
    [["--nope"], "Unknown argument: nope"],
    [["word"], "Unknown argument: word"],
  ])("%j", (argv, message) => {
    expect(() => parseOptions(argv)).toThrow(
      new UsageError(`${message}\nRun tool-evals-reference-server --help to see the flags.`),
    );
  });
});

it("is the JSON for a host's file and the line for its command line", () => {
  expect(formatRegistration("my server", "/usr/bin/node", ["/opt/it's/main.js", "--name", "my server"])).toBe(`{
  "mcpServers": {
    "my server": {
      "command": "/usr/bin/node",
      "args": [
        "/opt/it's/main.js",
        "--name",
        "my server"
      ]
    }
  }
}
<host> mcp add 'my server' -- /usr/bin/node '/opt/it'\\''s/main.js' --name 'my server'`);
});

it("keeps every word whole in a shell", () => {
  const words = fc.array(
    fc.string({ unit: "grapheme" }).filter((word) => !word.includes("\0")),
    { maxLength: 4 },
  );
  fc.assert(
    fc.property(words, (args) => {
      const line = formatRegistration("n", "printf", ["%s\\0", ...args]).split("\n<host> mcp add n -- ")[1] ?? "";
      const printed = execFileSync("/bin/sh", ["-c", line], { encoding: "utf8" });
      expect(printed).toBe((args.length === 0 ? [""] : args).map((arg) => `${arg}\0`).join(""));
    }),
    { numRuns: 30 },
  );
});
