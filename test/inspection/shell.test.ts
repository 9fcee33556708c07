import { execFileSync } from "node:child_process";
import { describe, expect, it, test } from "vitest";
import { shellWord } from "../../src/evals/base/text/display.ts";
import { callFlag, parseCommandLine, shellTemplate } from "../../src/evals/inspection/shell.ts";

/** The words that a shell splits a line into. */
const splitWords = (line: string, env: Record<string, string> = {}) =>
  execFileSync("sh", ["-c", `printf '%s\\0' ${line}`], { env, encoding: "utf8" })
    .split("\0")
    .slice(0, -1);

test("a shell reads each text back unchanged", () => {
  const texts = ["", "plain", "two words", "it's", '"$HOME" `id` \\ !x', "~/a*?", "a\nb", "-n", "日本語"];
  expect(splitWords(texts.map(shellWord).join(" "))).toEqual(texts);
  expect(splitWords(texts.map(shellTemplate).join(" "))).toEqual(texts);
});

test("a shell substitutes the variables of a template, and nothing else", () => {
  const template = `\${A}/\${env:B}/\${C:-c}/$D "x" \\ \`id\``;
  expect(splitWords(shellTemplate(template), { A: "1", B: "2", D: "4" })).toEqual([`1/2/c/$D "x" \\ \`id\``]);
});

test("a call is one word, in ASCII", () => {
  const [flag, call = ""] = splitWords(callFlag("it's \u001b[31m", { text: "日" }));
  expect(flag).toBe("--call");
  expect(call).toMatch(/^[ -~]+$/);
  expect(JSON.parse(call)).toEqual({ tool: "it's \u001b[31m", arguments: { text: "日" } });
});

describe("the command line of a server", () => {
  it.each([
    ["node dist/main.js --port 0", ["node", "dist/main.js", "--port", "0"]],
    ["  npx\t-y  weather ", ["npx", "-y", "weather"]],
    ['"/opt/My App/run" --name="a b"', ["/opt/My App/run", "--name=a b"]],
    ["node 'it is' \"\" ''", ["node", "it is", "", ""]],
    ['say "a \\"b\\" \\\\c" d\\ e', ["say", 'a "b" \\c', "d e"]],
    ["C:\\node\\node.exe main.js", ["C:\\node\\node.exe", "main.js"]],
    ["echo $HOME; rm -r *", ["echo", "$HOME;", "rm", "-r", "*"]],
  ])("%j is split into words without a shell", (line, [command, ...args]) => {
    expect(parseCommandLine(line)).toEqual({ command, args });
  });

  it.each([
    ["A=1 node main.js", { A: "1" }, "node", ["main.js"]],
    ["API_KEY='a b=c' _x= npx -y weather B=2", { API_KEY: "a b=c", _x: "" }, "npx", ["-y", "weather", "B=2"]],
    ["./a=b run", undefined, "./a=b", ["run"]],
  ])("%j starts with its variables", (line, env, command, args) => {
    expect(parseCommandLine(line)).toEqual({ command, args, ...(env && { env }) });
  });

  it.each([
    ["A=1", 'error: --server has no command.\n  Write --server "node dist/main.js".'],
    ['node "a', 'error: --server node "a has an unclosed quote.\n  Close it with ".'],
    [" ", 'error: --server has no command.\n  Write --server "node dist/main.js".'],
  ])("%j is refused", (line, message) => {
    expect(() => parseCommandLine(line)).toThrow(message);
  });
});
