import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readOutcome } from "../../src/evals/hosts/claudeCode/converse.ts";
import { StreamReader } from "../../src/evals/hosts/claudeCode/stream.ts";

/** What Claude Code 2.1.328 wrote, without the unused fields. */
function recorded(name: string): string[] {
  const file = fileURLToPath(new URL(`../fixtures/claudeCode/${name}.jsonl`, import.meta.url));
  return readFileSync(file, "utf8").trimEnd().split("\n");
}

/** The lines read 10 ms after each other. */
function readStream(lines: readonly string[]) {
  const reader = new StreamReader(0);
  for (const [i, line] of lines.entries()) reader.read(line, 10 * (i + 1));
  return reader.summarize();
}

const nothing = { servers: [], tools: [], skills: [] };
const cleanExit = { how: "exited with code 0", isSuccess: true, stderr: "" };

describe("the stream of Claude Code", () => {
  it("is read as turns: split replies joined, usage counted once, refusals and denials marked", () => {
    const executed = (text: string) => {
      return { status: "executed", ms: 70, result: { isError: false, content: [{ type: "text", text }] } };
    };
    const skipped = (reason: string) => ({ status: "skipped", reason });
    const usage = { inputTokens: 100, outputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 0 };
    expect(readStream(recorded("conversation")).turns).toEqual([
      {
        text: "First an echo.",
        calls: [
          { id: "toolu_1", tool: "mcp__ref__echo", arguments: { text: "hello" }, execution: executed("Echo: hello") },
          {
            id: "toolu_2",
            tool: "Skill",
            arguments: { skill: "pdf" },
            execution: executed(
              "Launching skill: pdf\n\nBase directory for this skill: /trial/project/.claude/skills/pdf\n\n# Pdf\n",
            ),
          },
          {
            id: "toolu_3",
            tool: "Read",
            arguments: { file_path: "/etc/hosts" },
            execution: skipped(
              "Permission to use Read has been denied because Claude Code is running in don't ask mode.",
            ),
          },
          {
            id: "toolu_4",
            tool: "Bash",
            arguments: { command: "ls" },
            execution: skipped("No such tool available: Bash."),
          },
        ],
        stop: "calls",
        usage: { inputTokens: 100, outputTokens: 55, cacheReadTokens: 7, cacheWriteTokens: 3 },
        ms: 120,
        requestId: "req_1",
      },
      { text: "I will not.", calls: [], stop: "refused", usage, ms: 40, requestId: "req_2" },
      { text: "All done.", calls: [], stop: "done", usage, ms: 40, requestId: "req_3" },
    ]);
  });

  it("distinguishes an API error from an answer", () => {
    const summary = readStream(recorded("overloaded"));
    expect(summary.turns).toEqual([]);
    expect(readOutcome(summary, nothing, { how: "exited with code 1", isSuccess: false, stderr: "" })).toEqual({
      kind: "broken",
      stage: "model",
      message:
        "Claude Code failed (success): API Error: 529 status 529 as scripted. This is a server-side issue, usually temporary — try again in a moment. If it persists, check your inference gateway (127.0.0.1:38941).",
    });
  });

  it("treats the turn limit as an answer", () => {
    const summary = readStream(recorded("turnLimit"));
    expect(summary.turns.map(({ calls }) => calls.map(({ tool }) => tool))).toEqual([["mcp__ref__echo"]]);
    expect(readOutcome(summary, nothing, { how: "exited with code 1", isSuccess: false, stderr: "" })).toEqual({
      kind: "answered",
    });
  });

  it("is read without an exception, whatever it contains", () => {
    const lines = recorded("conversation");
    const damaged = fc
      .tuple(fc.constantFrom(...lines), fc.nat(), fc.string({ maxLength: 8 }))
      .map(
        ([line, at, noise]) => line.slice(0, at % line.length) + noise + line.slice((at % line.length) + noise.length),
      );
    const swapped = fc
      .tuple(fc.constantFrom(...lines), fc.constantFrom("message", "content", "usage", "event", "text"), fc.jsonValue())
      .map(([line, key, value]) => JSON.stringify({ ...JSON.parse(line), [key]: value }));
    const line = fc.oneof(fc.constantFrom(...lines), fc.string(), fc.json(), damaged, swapped);
    fc.assert(
      fc.property(fc.array(line, { maxLength: 40 }), (some) => {
        const { turns } = readStream(some);
        for (const { usage, ms } of turns) expect(Math.min(ms, ...Object.values(usage))).toBeGreaterThanOrEqual(0);
      }),
      { numRuns: 200 },
    );
    expect(readStream([`{"type":"assistant","message":${"[".repeat(50_000)}${"]".repeat(50_000)}}`]).turns).toEqual([]);
  });
});

describe("the outcome of a conversation in Claude Code", () => {
  const init = {
    type: "system",
    subtype: "init",
    tools: ["mcp__a__b"],
    skills: ["pdf"],
    mcp_servers: [{ name: "a", status: "connected" }],
  };
  const reply = { type: "assistant", message: { id: "m", content: [{ type: "text", text: "hi" }] } };
  const success = { type: "result", subtype: "success", is_error: false, result: "hi" };
  const given = { servers: ["a"], tools: ["mcp__a__b"], skills: ["pdf"] };
  const failed = { how: "exited with code 1", isSuccess: false, stderr: "error: unknown option" };
  const outcome = (events: readonly object[], end = cleanExit) =>
    readOutcome(readStream(events.map((one) => JSON.stringify(one))), given, end);
  const message = (...args: Parameters<typeof outcome>) => {
    const found = outcome(...args);
    return found.kind === "broken" ? `${found.stage}: ${found.message}` : found.kind;
  };

  it("is an answer when everything was loaded and the program succeeded", () => {
    expect(message([init, reply, success])).toBe("answered");
  });

  it("is broken in every other case, with the reason", () => {
    const servers = (status: string) => ({ ...init, mcp_servers: [{ name: "a", status }] });
    const messages = [
      message([], failed),
      message([servers("failed"), reply, success]),
      message([{ ...init, mcp_servers: [] }, reply, success]),
      message([{ ...init, mcp_server_errors: [{ server: "a", error: "no such file" }] }, reply, success]),
      message([{ ...init, tools: [] }, reply, success]),
      message([{ ...init, skills: ["other"] }, reply, success]),
      message([init, reply], { ...failed, how: "was killed by SIGKILL", stderr: "" }),
      message([
        init,
        reply,
        { ...success, subtype: "error_during_execution", errors: ["one", "two"], result: undefined },
      ]),
      message([init, reply, { ...success, is_error: true, result: "Not logged in" }]),
      message([init, reply, success], failed),
      message([init, { ...success, result: "Unknown command: /x" }]),
    ];
    expect(messages).toEqual([
      "model: Claude Code exited with code 1 before it started: error: unknown option",
      'server: Claude Code is not connected to server "a": failed',
      'server: Claude Code is not connected to server "a": not listed',
      'server: Claude Code skipped a tool server: [{"server":"a","error":"no such file"}]',
      'server: Claude Code does not offer tool "mcp__a__b"',
      'model: Claude Code did not load skill "pdf"',
      "model: Claude Code was killed by SIGKILL without a result",
      "model: Claude Code failed (error_during_execution): one; two",
      "model: Claude Code failed (success): Not logged in",
      "model: Claude Code exited with code 1: error: unknown option",
      "model: Claude Code answered without calling the model: Unknown command: /x",
    ]);
  });
});
