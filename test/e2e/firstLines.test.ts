import { cpSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { EvalsError, formatProblem } from "../../src/evals/base/types/errors.ts";
import { runCommandLine } from "../../src/evals/commands/index.ts";
import { makeFolder } from "../fakes/folder.ts";
import { anIo } from "../fakes/io.ts";

// What stands at the top of every command: what happened, how sure that is, and what to do next; or what is wrong.

const root = join(import.meta.dirname, "../..");
const dir = makeFolder();
cpSync(join(root, "docs/example"), dir, { recursive: true });
symlinkSync(join(root, "node_modules"), join(dir, "node_modules"));
const file = (name: string, content: unknown) => writeFileSync(join(dir, name), JSON.stringify(content));
const tool = (name: string, description: string) => ({ name, description, inputSchema: { type: "object" } });
file("mail.json", [tool("send_mail", "Sends a mail."), tool("find_text", "Search the notes that contain a text.")]);
file("wordings.json", { variants: { plain: { search_notes: "Find the notes that mention or contain a text." } } });
cpSync(join(root, "skills"), join(dir, "skills"), { recursive: true });
writeFileSync(
  join(dir, "prompts.md"),
  "| Tool Name | Test Prompt |\n|---|---|\n| send_mail | Send <text> to Ann |\n| send_mail | |\n",
);
file("cases.json", [{ input: "Read me the note todo.md", expectedTools: ["read_note"] }]);

/** The heading of what is printed, and the text below it; the first problem where it is refused. */
async function firstLines(line: string): Promise<string> {
  const io = anIo({ cwd: dir, env: { HOME: dir, PATH: process.env.PATH }, width: 200 });
  let code: number;
  try {
    code = await runCommandLine(line.split(" "), io, "0.0.0");
  } catch (error) {
    if (!(error instanceof EvalsError)) throw error;
    code = error.exitCode;
    io.out(
      error.problems
        .slice(0, 1)
        .map((one) => `${formatProblem(one)}\n`)
        .join(""),
    );
  }
  const lines = (io.printed() || io.warned()).split("\n");
  const shown = [lines[0] ?? "", ...lines.slice(1, 5).filter((one) => /^ {2}\S/.test(one))];
  const text = shown
    .join("\n")
    .replaceAll(dir, "<dir>")
    .replaceAll(/2\d{3}-[\dT-]{10,}/g, "<run>");
  return `$ evals ${line}\n${text.replaceAll(/2\d{3}-\d\d-\d\d( \d\d:\d\d)?/g, "<day>")}\n=> ${code}\n`;
}

const succeed = [
  ...["run evals/notes.yaml", "show --failed", "show --history", "baseline accept", "baseline verify"],
  ...["compare evals/baselines/notes.lexical-2.json latest", "variants wordings.json evals/notes.yaml", "lint"],
  ...["lint --tools mail.json --failure-threshold info", "doctor", "probe --yes --seed 1 --runs 1"],
  ...["tools evals/notes.yaml", "search", "tools --skills", "tools --skills skills"],
  ...["import prompts.md --tools mail.json --output imported", "merge shards --out merged", "clean --keep 1"],
];
const fail = [
  ...["show nope", "show 2026-01-01T", "compare nope latest", "run --case nope"],
  ...["run evals/notes.yaml --distractors 0,9", "variants nope.json", "blame"],
  ...["judge check nope.jsonl --judge anthropic:x", "doctor --server nope", "tools --server nope", "lint nope.yaml"],
  ...["baseline verify nope.yaml", "import nope.json", "merge reports", "baseline show nope"],
  ...["search --fail-on recall@5=1"],
];

it("begins with what happened, how sure that is, and what to do next", async () => {
  const texts: string[] = [];
  for (const shard of ["1/2", "2/2"]) await firstLines(`run evals/notes.yaml --seed 1 --shard ${shard} --out shards`);
  for (const line of [...succeed, ...fail]) texts.push(await firstLines(line));
  await expect(texts.join("\n")).toMatchFileSnapshot("__snapshots__/firstLines.txt");
  const verdicts = texts.slice(0, succeed.length).filter((text) => !text.includes("evals clean"));
  expect(verdicts.filter((text) => !text.includes("Next:")).map((text) => text.split("\n")[0])).toEqual([]);
});
