import { execFileSync } from "node:child_process";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { registration } from "../../src/server/registration.ts";

it("is the JSON for a host's file and the line for its command line", () => {
  expect(registration("my server", "/usr/bin/node", ["/opt/it's/main.js", "--name", "my server"])).toBe(`{
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
      const line = registration("n", "printf", ["%s\\0", ...args]).split("\n<host> mcp add n -- ")[1] ?? "";
      const printed = execFileSync("/bin/sh", ["-c", line], { encoding: "utf8" });
      expect(printed).toBe((args.length === 0 ? [""] : args).map((arg) => `${arg}\0`).join(""));
    }),
    { numRuns: 30 },
  );
});
