import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { ServerSpec } from "../../src/evals/base/types/suiteFile.ts";
import { openSource } from "../../src/evals/servers/source.ts";
import { later, never, tidyUp } from "../servers/servers.ts";

tidyUp();

const root = fileURLToPath(new URL("../../", import.meta.url));

async function open(server: ServerSpec) {
  const source = await openSource(
    { name: "server", server, distractors: [], dir: root },
    { env: process.env, signal: never },
  );
  later(source.close);
  return source;
}

const published = (name: string, ...args: string[]): ServerSpec => ({
  command: process.execPath,
  args: [`node_modules/@modelcontextprotocol/${name}/dist/index.js`, ...args],
});

test("server-everything lists and calls", async () => {
  const { server, tools } = await open(published("server-everything", "stdio"));
  expect(server?.about).toMatchObject({ transport: "stdio" });
  expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["echo", "get-sum"]));
  expect(await server?.call("echo", { message: "hello" }, never)).toEqual({
    kind: "result",
    result: { isError: false, content: [{ type: "text", text: "Echo: hello" }] },
  });
  expect(await server?.call("get-tiny-image", {}, never)).toMatchObject({
    kind: "result",
    result: { content: expect.arrayContaining([{ type: "image", mimeType: "image/png", bytes: expect.any(Number) }]) },
  });
  expect(await server?.call("nope", {}, never)).toMatchObject({ kind: "unknown-tool" });
});

test("server-filesystem lists, reads a file, and refuses one outside its folder", async () => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "files-")));
  later(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "notes.txt"), "buy milk");
  const { server, tools } = await open(published("server-filesystem", folder));
  expect(tools).toHaveLength(14);
  expect(tools.every(({ origin, inputSchema }) => origin === "server" && inputSchema.type === "object")).toBe(true);
  expect(await server?.call("read_text_file", { path: join(folder, "notes.txt") }, never)).toMatchObject({
    kind: "result",
    result: { isError: false, content: [{ type: "text", text: "buy milk" }] },
  });
  expect(await server?.call("read_text_file", { path: "/etc/passwd" }, never)).toMatchObject({
    kind: "result",
    result: { isError: true },
  });
});
