import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { makeFolder } from "../fakes/folder.ts";
import { startMessagesEndpoint } from "../fixtures/endpoints/messages.ts";
import { runAction as runInstalled } from "./githubRunner.ts";
import { installPackage, root } from "./packed.ts";

// The steps of action.yml, run by a shell in a project with the packed package. The model is an endpoint on loopback that
// speaks Anthropic's protocol, `gh` a program that keeps the comments of a pull request.

const dir = makeFolder();
const file = (name: string) => join(dir, name);
const read = (name: string) => (existsSync(file(name)) ? readFileSync(file(name), "utf8") : "");

beforeAll(() => {
  cpSync(join(root, "docs/example"), dir, { recursive: true });
  writeFileSync(file("package.json"), JSON.stringify({ private: true, type: "module" }));
  installPackage(dir);
  mkdirSync(file("bin"));
  // Lists one comment once there is one, and keeps the body that it is sent.
  writeFileSync(
    file("bin/gh"),
    `#!/bin/bash
echo "$@" >> "${dir}/gh.log"
case "$*" in
  *--paginate*) [ -f "${dir}/comment" ] && echo 77; exit 0 ;;
esac
for word in "$@"; do case "$word" in body=@*) cp "\${word#body=@}" "${dir}/comment" ;; esac; done
`,
    { mode: 0o755 },
  );
});
beforeEach(() => {
  for (const name of ["gh.log", "comment", "summary.md", "reports"])
    rmSync(file(name), { recursive: true, force: true });
});

type Context = { inputs: Record<string, string>; env?: Record<string, string>; event?: string; fork?: boolean };

/** Runs the action as it is in the package. */
async function runAction({ inputs, ...context }: Context) {
  const job = { cwd: dir, bin: file("bin"), ...context };
  const { summary, ...ran } = await runInstalled("./node_modules/tool-evals", inputs, job);
  writeFileSync(file("summary.md"), summary);
  return ran;
}

/** A model that calls the first of these tools that the query is about. */
async function withModel<R>(right: boolean, use: (env: Record<string, string>) => Promise<R>): Promise<R> {
  const endpoint = await startMessagesEndpoint(({ messages }) => {
    const query = JSON.stringify(messages);
    const called = query.includes("Oslo")
      ? []
      : query.includes("shopping")
        ? [{ name: "read_note", input: { name: "shopping.md" } }]
        : query.includes("Ada")
          ? [{ name: "save_note", input: { name: "todo.md", text: "call Ada" } }]
          : [{ name: "search_notes", input: { query: "garden" } }];
    return { text: "ok", calls: messages.length > 1 || (!right && query.includes("shopping")) ? [] : called };
  });
  return await use({ ANTHROPIC_API_KEY: "test", ANTHROPIC_BASE_URL: endpoint.url });
}
const model = "anthropic:claude-haiku-5-5";

describe("the action", () => {
  it("asks no model for a fork without its key, says why, and stays green", async () => {
    for (const [inputs, why] of [
      [{ model, comment: "true" }, "a pull request from a fork does not get the secret ANTHROPIC_API_KEY"],
      [{}, "no model is named"],
    ] as const) {
      const { failed, printed, result } = await runAction({ inputs, fork: true });
      expect([failed, result]).toEqual([false, "skipped"]);
      expect(printed).toContain(`::notice title=tool-evals::The model was not asked: ${why}.`);
      expect(read("summary.md")).toContain(`The model was not asked: ${why}.`);
    }
    expect(printedLint((await runAction({ inputs: {} })).printed)).toBe(true);
    expect(read("gh.log")).toBe("");
  });

  it("fails where a key is missing, or its secret is mistyped, and no fork is the reason", async () => {
    for (const key of [{}, { ANTHROPIC_API_KEY: "" }, { ANTHROPIC_API_KEi: "test" }]) {
      const { failed, printed, result } = await runAction({ inputs: { model, lint: "false" }, env: key });
      expect([failed, result]).toEqual([true, "incomplete"]);
      expect(printed).toContain("ANTHROPIC_API_KEY is not set");
    }
  });

  it("asks a local model that needs no key", async () => {
    await withModel(true, async ({ ANTHROPIC_BASE_URL = "" }) => {
      const { failed, result } = await runAction({
        inputs: { model, lint: "false", args: "-n 1" },
        env: { ANTHROPIC_BASE_URL },
      });
      expect([failed, result]).toEqual([false, "passed"]);
    });
  });

  it("passes, with a summary and one comment that the next run replaces", async () => {
    await withModel(true, async (env) => {
      const inputs = { model, comment: "true", args: "--budget 1 -n 1" };
      const first = await runAction({ inputs, env });
      expect([first.failed, first.result], first.printed).toEqual([false, "passed"]);
      expect(read("summary.md")).toContain("PASSED · 5 of 5 cases pass");
      expect(read("comment")).toMatch(/^<!-- tool-evals -->\n#+ .*PASSED · 5 of 5 cases pass/s);
      expect(read("gh.log")).toContain("--method POST repos/ada/notes/issues/5/comments");
      // A comment of somebody else that begins alike is left alone.
      expect(read("gh.log")).toContain('select(.user.login == "github-actions[bot]")');
      await runAction({ inputs, env });
      expect(
        read("gh.log")
          .split("\n")
          .filter((line) => line.includes("PATCH")),
      ).toEqual([
        "api --method PATCH repos/ada/notes/issues/comments/77 --field body=@reports/last-result/comment.md --silent",
      ]);
    });
  });

  it("posts no comment that the pull request brought", async () => {
    mkdirSync(file("reports/last-result"), { recursive: true });
    writeFileSync(file("reports/last-result/comment.md"), "<!-- tool-evals -->\nAll cases pass");
    // The run ends before it writes a report.
    const inputs = { model, comment: "true", lint: "false", paths: "evals/none.yaml" };
    const { failed } = await runAction({ inputs, env: { ANTHROPIC_API_KEY: "test" } });
    expect(failed).toBe(true);
    expect(read("gh.log")).toBe("");
  });

  it("fails with annotations on the lines of the suite, and still comments", async () => {
    await withModel(false, async (env) => {
      const { failed, result, printed } = await runAction({
        inputs: { model, comment: "true", lint: "false", args: "-n 1" },
        env,
      });
      expect([failed, result]).toEqual([true, "failed"]);
      expect(printed).toMatch(/::error file=evals\/notes\.yaml,line=\d+,title=notes%3A read/);
      expect(read("comment")).toContain("FAILED · 4 of 5 cases pass");
    });
  });

  it("puts what is blamed for a regression into the summary and the comment", async () => {
    const server = read("server.mjs");
    // The model reads the note as long as the description says so.
    const endpoint = await startMessagesEndpoint(({ messages, tools = [] }) => {
      const query = JSON.stringify(messages[0]);
      const isClear = JSON.stringify(tools.find(({ name }) => name === "read_note")).includes("Read");
      const called = query.includes("Ada")
        ? { name: "save_note", input: { name: "todo.md", text: "call Ada" } }
        : query.includes("shopping") && isClear
          ? { name: "read_note", input: { name: "shopping.md" } }
          : { name: "search_notes", input: { query: "garden" } };
      return { text: "ok", calls: messages.length > 1 || query.includes("Oslo") ? [] : [called] };
    });
    try {
      const env = { ANTHROPIC_API_KEY: "test", ANTHROPIC_BASE_URL: endpoint.url };
      await runAction({ inputs: { model, lint: "false", args: "-n 12 --accept" }, env });
      writeFileSync(
        file("server.mjs"),
        server.replace("Read the text of one note. Use it when the user names the note.", "Handles a note."),
      );
      rmSync(file("summary.md"), { force: true });
      const args = "-n 25 --blame --seed 1";
      const { failed, result, printed } = await runAction({
        inputs: { model, comment: "true", lint: "false", args },
        env,
      });
      expect([failed, result], printed).toEqual([true, "failed"]);
      for (const text of [read("summary.md"), read("comment")]) {
        expect(text).toContain("REGRESSED (read)");
        expect(text).toMatch(/BLAMED: .*read_note/);
        expect(text).toContain("<ins>Handles a note");
      }
    } finally {
      writeFileSync(file("server.mjs"), server);
      rmSync(file("evals/baselines"), { recursive: true, force: true });
    }
  });

  it("comments on pull requests only", async () => {
    await withModel(true, async (env) => {
      const { failed } = await runAction({ inputs: { model, comment: "true", args: "-n 1" }, env, event: "push" });
      expect([failed, read("gh.log")]).toEqual([false, ""]);
    });
  });
});

const printedLint = (printed: string) => /linted .*3 tools/.test(printed);
