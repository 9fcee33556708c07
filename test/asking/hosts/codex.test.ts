import { expect, it } from "vitest";
import { toToml } from "../../../src/evals/asking/hosts/codex.ts";

it("writes tables of values as TOML", () => {
  const config = { model: 'a"b\n', retries: 1, list: ["x"], on: false, servers: { "my-notes": { url: "http://x" } } };
  expect(toToml(config)).toBe(
    '"model" = "a\\"b\\n"\n"retries" = 1\n"list" = ["x"]\n"on" = false\n["servers"."my-notes"]\n"url" = "http://x"',
  );
});
