import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { callFlag, shellTemplate, shellWord } from "../../src/evals/inspection/shell.ts";

/** The words that a shell makes of a line. */
const wordsOf = (line: string, env: Record<string, string> = {}) =>
  execFileSync("sh", ["-c", `printf '%s\\0' ${line}`], { env, encoding: "utf8" })
    .split("\0")
    .slice(0, -1);

test("a shell reads each text back as it is", () => {
  const texts = ["", "plain", "two words", "it's", '"$HOME" `id` \\ !x', "~/a*?", "a\nb", "-n", "日本語"];
  expect(wordsOf(texts.map(shellWord).join(" "))).toEqual(texts);
  expect(wordsOf(texts.map(shellTemplate).join(" "))).toEqual(texts);
});

test("a shell fills in the variables of a template, and nothing else", () => {
  const template = `\${A}/\${env:B}/\${C:-c}/$D "x" \\ \`id\``;
  expect(wordsOf(shellTemplate(template), { A: "1", B: "2", D: "4" })).toEqual([`1/2/c/$D "x" \\ \`id\``]);
});

test("a call is one word, in ASCII", () => {
  const [flag, call = ""] = wordsOf(callFlag("it's \u001b[31m", { text: "日" }));
  expect(flag).toBe("--call");
  expect(call).toMatch(/^[ -~]+$/);
  expect(JSON.parse(call)).toEqual({ tool: "it's \u001b[31m", arguments: { text: "日" } });
});
