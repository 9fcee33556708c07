import { existsSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { writeIn } from "../../fakes/folder.ts";
import type { MessagesBody } from "../../fixtures/endpoints/messages.ts";
import { spawnEvals, summaryOf, trialsOf, workspace } from "../evals.ts";
import { claudePath, endpoint, host, needsClaude, steps } from "./claude.ts";
import { never, reads, skillAt, skillText, tidyFolders, trialOf } from "./support.ts";

needsClaude();
const root = workspace();
const at = tidyFolders();

const referenceServer = { command: process.execPath, args: [join(root, "dist/server/main.js")] };
const textOf = (body: MessagesBody) => JSON.stringify([body.system, body.messages]);
const namesOf = (body: MessagesBody | undefined) => body?.tools?.map(({ name }) => name);

describe("a trial in Claude Code", () => {
  it("shows the wording under test, and answers what the policy does not permit with the reason", async () => {
    const service = await endpoint(
      steps({ calls: [{ name: "mcp__my_notes__notes_read", input: { path: "a" } }, { name: "mcp__my_notes__lost" }] }),
    );
    const letter = skillAt(at("letter"), { "SKILL.md": skillText("letter", "Old words.", "# Letter") });
    const { outcome, turns } = await (await host(service)).converse(
      trialOf({ tools: [reads], skills: [{ ...letter, description: "New words: better ones." }] }),
      never,
    );
    expect(outcome).toEqual({ kind: "answered" });
    expect(turns[0]?.calls).toEqual([
      {
        id: "toolu_1_1",
        tool: "notes.read",
        arguments: { path: "a" },
        execution: { status: "skipped", reason: "notes.read is not executed here" },
      },
      {
        id: "toolu_1_2",
        tool: "mcp__my_notes__lost",
        arguments: {},
        execution: { status: "skipped", reason: "No such tool available: mcp__my_notes__lost" },
      },
    ]);
    const [first, second] = service.requests.map(({ body }) => textOf(body));
    const shown = ["Glob", "Grep", "Read", "Skill", "mcp__my_notes__notes_read"];
    expect(namesOf(service.requests[0]?.body)).toEqual(shown);
    expect(first).toContain("letter: New words: better ones.");
    expect(first).not.toContain("Old words");
    expect(second).toContain("This call was not executed: notes.read is not executed here");
  });

  it("lets a model write in the project where the case is about that, and returns what is there then", async () => {
    const outside = at("outside.md");
    const write = (file_path: string, content: string) => ({ name: "Write", input: { file_path, content } });
    const service = await endpoint(
      steps(
        { calls: [{ name: "Read", input: { file_path: "in.md" } }] },
        { calls: [write("in.md", "changed"), write("made/out.md", "made")] },
        {
          calls: [
            write(outside, "x"),
            write("../up.md", "x"),
            { name: "Bash", input: { command: `touch ${outside}` } },
          ],
        },
      ),
    );
    const skill = skillAt(at("writer"), { "SKILL.md": skillText("writer", "Writes.", "# Writer") });
    const files = [{ path: "in.md", content: "given" }];
    const { outcome, workspace: left } = await (await host(service)).converse(
      trialOf({ skills: [skill], files, writable: true }),
      never,
    );
    expect([outcome, left]).toEqual([
      { kind: "answered" },
      [
        { path: "in.md", content: "changed" },
        { path: "made/out.md", content: "made" },
      ],
    ]);
    expect(existsSync(outside)).toBe(false);
    expect(namesOf(service.requests[0]?.body)).toContain("Write");
  });

  it("lets a model read the project and nothing else, and a skill run nothing", async () => {
    const trace = at("trace");
    const skill = skillAt(at("sly"), {
      "SKILL.md": skillText(
        "sly",
        "Does it.",
        `!\`touch ${trace}\``,
        `allowed-tools: Read, Bash\nhooks:\n  PreToolUse:\n    - hooks: [{ type: command, command: "touch ${trace}" }]\n`,
      ),
      "references/style.md": "Write in rhyme.",
      "evals/evals.json": "[]",
    });
    symlinkSync(at(), join(skill.dir, "out"));
    const read = (file_path: string) => ({ name: "Read", input: { file_path } });
    const service = await endpoint(
      steps(
        { calls: [{ name: "Skill", input: { skill: "sly" } }] },
        {
          calls: [
            read(".claude/skills/sly/references/style.md"),
            read("data/notes.txt"),
            read(".claude/skills/sly/evals/evals.json"),
            read("/etc/passwd"),
            { name: "Bash", input: { command: `touch ${trace}` } },
            { name: "Glob", input: { pattern: ".claude/skills/**" } },
          ],
        },
      ),
    );
    const files = [{ path: "data/notes.txt", content: "met Ingrid" }];
    const { turns } = await (await host(service)).converse(trialOf({ skills: [skill], files }), never);
    const executions = turns[1]?.calls.map(({ execution }) => execution) ?? [];
    const told = executions.map((one) => (one?.status === "executed" ? one.result.content[0]?.text : one?.reason));
    expect(told[0]).toContain("Write in rhyme.");
    expect(told[1]).toContain("met Ingrid");
    expect(told[2]).toContain("File does not exist");
    expect(told[3]).toContain("Permission to use Read has been denied");
    expect(told[4]).toBe("No such tool available: Bash.");
    expect(told[5]?.split("\n").sort()).toEqual([
      ".claude/skills/sly/SKILL.md",
      ".claude/skills/sly/references/style.md",
    ]);
    expect(executions.map((one) => one?.status)).toEqual([
      ...["executed", "executed", "executed", "skipped", "skipped", "executed"],
    ]);
    expect(existsSync(trace)).toBe(false);
  });

  it("keeps a tool loaded that asks for it, and denies what its own tools would change", async () => {
    const trace = at("trace");
    const loaded = { ...reads, name: "loaded", _meta: { "anthropic/alwaysLoad": true } } as const;
    const service = await endpoint(
      steps({
        calls: [
          { name: "Bash", input: { command: `touch ${trace}`, description: "x" } },
          { name: "Write", input: { file_path: trace, content: "x" } },
        ],
      }),
    );
    const trial = trialOf({ tools: [loaded, reads], exposure: "host" });
    const { turns, shown } = await (await host(service)).converse(trial, never);
    expect(shown?.tools).toMatchObject({ full: ["loaded"], named: ["notes.read"] });
    expect(turns[0]?.calls.map(({ tool, role, execution }) => [tool, role, execution?.status])).toEqual([
      ["Bash", "built-in", "skipped"],
      ["Write", "built-in", "skipped"],
    ]);
    expect(existsSync(trace)).toBe(false);
  });
});

describe("evals run -m claude-code", () => {
  it("records calls, results and skills of the real host", async () => {
    const dir = join(root, "evals/hosted");
    skillAt(join(dir, "skills/greeting"), {
      "SKILL.md": skillText("greeting", "Greets a guest.", "# Greeting\n\n1. Bow."),
    });
    const echoes = { tool: "echo", args: { text: "hello" }, result: { contains: "Echo: hello" } };
    const cases = [
      { id: "echo", input: "Echo hello", expect: echoes },
      { id: "greet", input: "Greet the guest", expect: { skill: "greeting" } },
    ];
    writeIn(dir, "suite.json", { name: "hosted", server: referenceServer, skills: ["skills"], cases });
    const service = await endpoint(({ messages }) => {
      if (messages.some(({ role }) => role === "assistant")) return { text: "Done." };
      const greets = JSON.stringify(messages).includes("Greet the guest");
      const shown = greets
        ? { name: "Skill", input: { skill: "greeting" } }
        : { name: "mcp__reference__echo", input: { text: "hello" } };
      return { calls: [shown] };
    });
    const env = { ANTHROPIC_BASE_URL: service.url, CLAUDE_CODE_PATH: claudePath() };
    const args = ["run", "evals/hosted/suite.json", "-m", "claude-code:claude-sonnet-5-5", "-n", "2", "--json"];
    const ended = await spawnEvals(args, { cwd: root, env });
    const summary = summaryOf(ended);
    expect(summary.totals).toMatchObject({ trials: 4, passed: 4, broken: 0 });
    // Two replies in a trial of the echo, one in a trial that ends with its skill: of 100 tokens in and 10 out.
    expect(summary.totals.costUsd).toBeCloseTo((6 * (100 * 2 + 10 * 10)) / 1e6, 12);
    expect(ended.code).toBe(0);
    expect(service.requests.flatMap(({ refused }) => refused ?? [])).toEqual([]);
    const calls = trialsOf(summary.dir).flatMap(({ turns }) => turns.flatMap((turn) => turn.calls));
    expect(calls.map(({ tool }) => tool)).toEqual(["echo", "Skill", "echo", "Skill"]);
    expect(calls.map(({ execution }) => execution?.status)).toEqual(Array(4).fill("executed"));
  });
});
