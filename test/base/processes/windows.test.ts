import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { makeFolder } from "../../fakes/folder.ts";

const dir = makeFolder();
mkdirSync(join(dir, "Program Files"));
for (const name of ["npx.cmd", "uvx.exe", "run.bat", "Program Files/tool.cmd", "Program Files/tool.exe"]) {
  writeFileSync(join(dir, name), "");
  chmodSync(join(dir, name), 0o755);
}

/** The command line that cross-spawn gives Windows: it is computed here, and was not run there. */
function resolveOnWindows(command: string, args: readonly string[]): { command: string; args: string[] } {
  const script = `
    Object.defineProperty(process, "platform", { value: "win32" });
    const { _parse } = require("cross-spawn");
    const { command, args } = _parse(${JSON.stringify(command)}, ${JSON.stringify(args)}, { env: process.env });
    console.log(JSON.stringify({ command, args }));`;
  const env = { PATH: dir, PATHEXT: ".exe;.cmd;.bat", comspec: "cmd.exe" };
  return JSON.parse(
    execFileSync(process.execPath, ["-e", script], { env, cwd: import.meta.dirname, encoding: "utf8" }),
  );
}

it.each([
  [
    "npx",
    ["-y", "some-server", "two words", 'a"b', "x&y"],
    { command: "cmd.exe", args: ["/d", "/s", "/c", expect.stringMatching(/npx(\.cmd)? .*some-server/)] },
  ],
  ["uvx", ["some-server", "two words"], { command: "uvx", args: ["some-server", "two words"] }],
  ["run.bat", ["%PATH%"], { command: "cmd.exe", args: ["/d", "/s", "/c", '"run.bat ^"^%PATH^%^""'] }],
  [
    join(dir, "Program Files/tool.cmd"),
    ["x"],
    { command: "cmd.exe", args: ["/d", "/s", "/c", `"${dir}/Program^ Files/tool.cmd ^"x^""`] },
  ],
  [
    join(dir, "Program Files/tool.exe"),
    ["a b", 'c"d'],
    { command: join(dir, "Program Files/tool.exe"), args: ["a b", 'c"d'] },
  ],
])("%s is started on Windows as its file needs", (command, args, expected) => {
  expect(resolveOnWindows(command, args)).toEqual(expected);
});

it("an argument stays one, whatever it contains", () => {
  const line = resolveOnWindows("npx", ["two words", "x&y", "100%", 'a"b'])?.args.at(-1) ?? "";
  // Meta characters of cmd.exe are escaped.
  expect(line).toMatchInlineSnapshot(`""npx ^"two^ words^" ^"x^&y^" ^"100^%^" ^"a\\^"b^"""`);
});
