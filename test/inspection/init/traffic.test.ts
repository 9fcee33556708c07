import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { draftFromTraffic, replacePersonalData } from "../../../src/evals/inspection/init/traffic.ts";
import { makeFolder } from "../../fakes/folder.ts";

const cwd = makeFolder();

const tools = ["search_notes", "read_note", "delete_note"].map((name) => ({ name, inputSchema: {} }));

type Step = { user: string } | { call: string; failed?: boolean };

/** The same conversation as each program writes it. */
const formats: Record<string, (steps: readonly Step[]) => string> = {
  "Claude Code": (steps) =>
    steps
      .flatMap((step, at): object[] => {
        if ("user" in step) return [{ type: "user", message: { role: "user", content: step.user } }];
        const use = { type: "tool_use", id: `toolu_${at}`, name: `mcp__notes__${step.call}`, input: {} };
        const result = { type: "tool_result", tool_use_id: use.id, is_error: step.failed ?? false, content: "x" };
        return [
          { type: "assistant", message: { role: "assistant", content: [{ type: "thinking", thinking: "" }, use] } },
          { type: "user", message: { role: "user", content: [result] } },
        ];
      })
      .map((line) => JSON.stringify({ sessionId: "s1", isSidechain: false, ...line }))
      .join("\n"),
  Codex: (steps) =>
    steps
      .map((step, at) =>
        "user" in step
          ? { type: "message", role: "user", content: [{ type: "input_text", text: step.user }] }
          : { type: "function_call", name: step.call, namespace: "mcp__notes__", call_id: `${at}`, arguments: "{}" },
      )
      .map((payload) => JSON.stringify({ timestamp: "2026-11-01T00:00:00Z", type: "response_item", payload }))
      .join("\n"),
  OpenTelemetry: (steps) => {
    const messages = steps.map((step, at) =>
      "user" in step
        ? { role: "user", parts: [{ type: "text", content: step.user }] }
        : {
            role: "assistant",
            parts: [{ type: "tool_call", id: `${at}`, name: `notes__${step.call}`, arguments: {} }],
          },
    );
    const spans = messages.map((_, at) => ({
      traceId: "t1",
      attributes: [
        { key: "gen_ai.operation.name", value: { stringValue: "chat" } },
        { key: "gen_ai.input.messages", value: { stringValue: JSON.stringify(messages.slice(0, at)) } },
        { key: "gen_ai.output.messages", value: { stringValue: JSON.stringify(messages.slice(at, at + 1)) } },
      ],
    }));
    return JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
  },
};

function draft(content: string, names: string[] = [], known: { input: string; tool?: string }[] = []) {
  writeFileSync(join(cwd, "session.jsonl"), content);
  const isUsable = (text: string) => !text.includes("hunter2");
  return draftFromTraffic(["session.jsonl"], tools, { names, known, isUsable }, { cwd });
}

describe.each(Object.entries(formats))("conversations of %s", (_, write) => {
  it("become cases that expect the tool that was used in the end", () => {
    const { cases, report } = draft(
      write([
        { user: "<environment_context>cwd</environment_context>" },
        { user: "Where did I write about the garden?" },
        { call: "search_notes" },
        { user: "What is the capital of Norway?" },
        { user: "Show me what I wrote to anna@firm.example yesterday" },
        { call: "search_notes" },
        { user: "No, I meant the whole note" },
        { call: "read_note" },
        { user: "Where did I write about the garden, please?" },
        { call: "search_notes" },
        { user: "thanks" },
        { user: "Open it with the password hunter2 please" },
        { call: "read_note" },
      ]),
    );
    expect(cases).toEqual([
      { id: "search_notes-1", tool: "search_notes", input: "Where did I write about the garden?", unfilled: [] },
      {
        ...{ id: "read_note-1", tool: "read_note", unfilled: [], avoid: { tool: "search_notes", shared: [] } },
        input: "Show me what I wrote to alex@example.com yesterday",
      },
      { id: "no-tool-1", input: "What is the capital of Norway?", unfilled: [] },
    ]);
    expect(report).toContain("from 1 conversation,");
    expect(report).toContain("Left out: 1 with a secret, 1 without a context, 1 like another.");
  });
});

it("avoids the tool that failed before another was used", () => {
  const steps = [{ user: "Show me the note of Monday" }, { call: "search_notes", failed: true }, { call: "read_note" }];
  expect(draft(formats["Claude Code"]?.(steps) ?? "").cases).toMatchObject([
    { tool: "read_note", avoid: { tool: "search_notes" } },
  ]);
});

it("skips lines that a crash cut, what subagents were told, and conversations without a tool of the server", () => {
  const good = formats["Claude Code"]?.([{ user: "Find the note on tax" }, { call: "search_notes" }]) ?? "";
  const told = JSON.stringify({
    ...{ sessionId: "s1", type: "user", isSidechain: true, message: { content: "Search all of the notes for tax" } },
  });
  const other = good.replaceAll("s1", "s2").replaceAll("mcp__notes__search_notes", "Bash");
  const { cases, report } = draft(`${other}\n${good}\n${told}\n{"type":"us`);
  expect(cases.map(({ input }) => input)).toEqual(["Find the note on tax"]);
  expect(report).toMatchInlineSnapshot(
    `"1 query in the words of users, from 1 conversation, where names of tools begin with "mcp__notes__". E-mail addresses, phone, card and account numbers are replaced. The tools are those that were used, right or not."`,
  );
});

it.each([
  ["no conversation", '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"read_note"}}'],
  ["none that calls a tool of the server", formats.Codex?.([{ user: "List the files" }, { call: "ls" }]) ?? ""],
  ["none that can be used", formats.Codex?.([{ user: "Log in with hunter2" }, { call: "read_note" }]) ?? ""],
])("says what is wrong with a file with %s", (_, content) => {
  expect(() => draft(content)).toThrowErrorMatchingSnapshot();
});

it.each([
  ["Mail bob.smith+x@mail.co.uk about it", "Mail alex@example.com about it"],
  ["Call +49 (0)30 1234567 now", "Call +1 202-555-0100 now"],
  ["Call 415-555-2671 now", "Call +1 202-555-0100 now"],
  ["Charge 4539 1488 0343 6467 for it", "Charge 4111 1111 1111 1111 for it"],
  ["Charge 4539148803436467.", "Charge 4111 1111 1111 1111."],
  ["Pay GB29 NWBK 6016 1331 9268 19 today", "Pay DE89 3704 0044 0532 0130 00 today"],
  ["Close account 9876543210 today", "Close account 123456789 today"],
  ["Read /home/bob/notes.txt", "Read /home/alex/notes.txt"],
  ["Read C:\\Users\\Bob\\notes.txt", "Read C:\\Users\\alex\\notes.txt"],
  ["Show order 3f2504e0-4f89-11d3-9a0c-0305e82c3301", "Show order 00000000-0000-4000-8000-000000000000"],
  ["What did Zoë-Ann (ACME) say to zoë-ann?", "What did Alex (Robin) say to Alex?"],
])("replaces personal data: %s", (query, replaced) => {
  expect(replacePersonalData(query, ["Zoë-Ann", "acme"])).toBe(replaced);
});

it.each([
  "Meet on 2026-11-27 at 10:30",
  "Open http://127.0.0.1:8080/a?b=12345",
  "Use version 1.22.333 of node@20.20.1",
  "Sum 1,234,567.89 and 12345678",
  "Round 3.14159265358979",
  "Show lines 100-200 of app.ts",
  "What does annaconda mean?",
])("leaves alone: %s", (query) => {
  expect(replacePersonalData(query, ["anna"])).toBe(query);
});
