import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { outcomeOf } from "../../src/evals/hosts/claudeCode/outcome.ts";
import { StreamReader } from "../../src/evals/hosts/claudeCode/stream.ts";

/** What Claude Code 2.1.328 wrote, without the fields that nobody reads. */
function recorded(name: string): string[] {
  const file = fileURLToPath(new URL(`../fixtures/claudeCode/${name}.jsonl`, import.meta.url));
  return readFileSync(file, "utf8").trimEnd().split("\n");
}

/** The lines read 10 ms after each other. */
function heardIn(lines: readonly string[]) {
  const reader = new StreamReader(0);
  for (const [i, line] of lines.entries()) reader.read(line, 10 * (i + 1));
  return reader.heard();
}

const nothing = { servers: [], tools: [], skills: [] };
const well = { how: "ended with code 0", wasWell: true, stderr: "" };

describe("the stream of Claude Code", () => {
  it("is read as turns: split replies joined, usage counted once, refusals and denials told", () => {
    const executed = (text: string) => {
      return { status: "executed", ms: 70, result: { isError: false, content: [{ type: "text", text }] } };
    };
    const skipped = (reason: string) => ({ status: "skipped", reason });
    const usage = { inputTokens: 100, outputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 0 };
    expect(heardIn(recorded("conversation")).turns).toEqual([
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

  it("tells an error of the interface from an answer", () => {
    const heard = heardIn(recorded("overloaded"));
    expect(heard.turns).toEqual([]);
    expect(outcomeOf(heard, nothing, { how: "ended with code 1", wasWell: false, stderr: "" })).toEqual({
      kind: "broken",
      stage: "model",
      message:
        "Claude Code gave up (success): API Error: 529 status 529 as scripted. This is a server-side issue, usually temporary — try again in a moment. If it persists, check your inference gateway (127.0.0.1:38941).",
    });
  });

  it("takes the limit of turns for an answer", () => {
    const heard = heardIn(recorded("turnLimit"));
    expect(heard.turns.map(({ calls }) => calls.map(({ tool }) => tool))).toEqual([["mcp__ref__echo"]]);
    expect(outcomeOf(heard, nothing, { how: "ended with code 1", wasWell: false, stderr: "" })).toEqual({
      kind: "answered",
    });
  });

  it("is read without an exception, whatever it holds", () => {
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
        const { turns } = heardIn(some);
        for (const { usage, ms } of turns) expect(Math.min(ms, ...Object.values(usage))).toBeGreaterThanOrEqual(0);
      }),
      { numRuns: 200 },
    );
    expect(heardIn([`{"type":"assistant","message":${"[".repeat(50_000)}${"]".repeat(50_000)}}`]).turns).toEqual([]);
  });
});

describe("what a conversation in Claude Code came to", () => {
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
  const failed = { how: "ended with code 1", wasWell: false, stderr: "error: unknown option" };
  const outcome = (events: readonly object[], end = well) =>
    outcomeOf(heardIn(events.map((one) => JSON.stringify(one))), given, end);
  const message = (...args: Parameters<typeof outcome>) => {
    const found = outcome(...args);
    return found.kind === "broken" ? `${found.stage}: ${found.message}` : found.kind;
  };

  it("is an answer when all that was given was there, and the end was good", () => {
    expect(message([init, reply, success])).toBe("answered");
  });

  it("is broken in every other case, with the reason", () => {
    const servers = (status: string) => ({ ...init, mcp_servers: [{ name: "a", status }] });
    const told = [
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
      message([init, reply, { ...success, stop_reason: "max_tokens" }]),
      message([init, { ...success, result: "Unknown command: /x" }]),
    ];
    expect(told).toEqual([
      "model: Claude Code ended with code 1 before it began: error: unknown option",
      "server: Claude Code has no connection to the server a: failed",
      "server: Claude Code has no connection to the server a: not listed",
      'server: Claude Code skipped a tool server: [{"server":"a","error":"no such file"}]',
      "server: Claude Code does not offer the tool mcp__a__b",
      "model: Claude Code did not load the skill pdf",
      "model: Claude Code was killed by SIGKILL without a result",
      "model: Claude Code gave up (error_during_execution): one; two",
      "model: Claude Code gave up (success): Not logged in",
      "model: Claude Code ended with code 1: error: unknown option",
      "model: the reply was cut at the most output tokens; raise --max-tokens",
      "model: Claude Code answered by itself, without asking the model: Unknown command: /x",
    ]);
  });
});
