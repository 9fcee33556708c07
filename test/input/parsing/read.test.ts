import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readText } from "../../../src/evals/input/parsing/read.ts";
import { makeFolder } from "../../fakes/folder.ts";

it.skipIf(process.platform === "win32")(
  "refuses a pipe with more text than the limit, and reads one with as much",
  async () => {
    const pipe = join(makeFolder(), "pipe");
    execFileSync("mkfifo", [pipe]);
    for (const [size, expected] of [
      [1000, { text: "x".repeat(1000) }],
      [1001, { kind: "too large" }],
    ] as const) {
      const writer = spawn(process.execPath, ["-e", `fs.writeFileSync(process.argv[1], "x".repeat(${size}))`, pipe]);
      expect(readText(pipe, 1000, { pipes: true })).toMatchObject(expected);
      await once(writer, "close");
    }
  },
);

it.each([
  [[0xff, 0xfe, 0x61, 0], "utf-16"],
  [[0xfe, 0xff, 0, 0x61], "utf-16"],
  [[0xff, 0x61], "not utf-8"],
  [[0x61, 0xfe], "not utf-8"],
  [[0xfe, 0x61], "not utf-8"],
  [[0x61, 0], "binary"],
])("a file of the bytes %j is %s", (bytes, kind) => {
  expect(readText(join(makeFolder({ file: Uint8Array.from(bytes) }), "file"), 100)).toMatchObject({ kind });
});
