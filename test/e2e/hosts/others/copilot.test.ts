import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startMessagesEndpoint } from "../../../fixtures/endpoints/messages.ts";
import { startResponsesEndpoint } from "../../../fixtures/endpoints/responses.ts";
import { describeHost, describeWays, oddNames } from "../contract.ts";
import { later, needsHost, never, openHost, trialOf } from "../support.ts";

const program = needsHost("copilot");
const open = (model: string, url: string, path: string, options: object = {}) =>
  openHost(`copilot:${model}`, {
    env: {
      PATH: process.env.PATH,
      COPILOT_PATH: path,
      COPILOT_CACHE_HOME: join(import.meta.dirname, "../../../../node_modules/.cache/tool-evals/copilot"),
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: "a-long-secret-key",
      OPENAI_BASE_URL: `${url}/v1`,
      OPENAI_API_KEY: "a-long-secret-key",
    },
    ...options,
  });
const shared = {
  program,
  open,
  toShownName: (server: string, tool: string) => `${server}-${tool}`,
  loadSkill: (skill: string) => ({ name: "skill", input: { skill } }),
  // It cuts names at 64 characters.
  oddNames,
};
const isDeferring = (count: number) => (count > 13 ? "deferred" : "full");

describeHost({
  ...shared,
  name: "Copilot CLI",
  start: (script) =>
    startMessagesEndpoint(
      ({ messages }) =>
        script({ text: JSON.stringify(messages), replies: messages.filter(({ role }) => role === "assistant").length }),
      { sampling: true },
    ),
  ways: [
    {
      ...{ name: "with a Claude model", exposure: "host", model: "claude-sonnet-5-5", level: isDeferring },
      counts: [5, 50, 200],
      ...{ search: (tool) => ({ name: "tool_search_tool", input: { pattern: tool, limit: 5 } }), crowd: 50 },
    },
    { name: "with every definition", exposure: "all", model: "claude-sonnet-5-5", level: () => "full" },
  ],
});

const made = /_call$|^message$/;

describeWays({
  ...shared,
  name: "Copilot CLI",
  start: (script) =>
    startResponsesEndpoint(({ input }) => {
      const replies = input.filter(({ type, role }) => made.test(type) && (type !== "message" || role === "assistant"));
      return script({ text: JSON.stringify(input), replies: replies.length });
    }),
  ways: [
    {
      ...{ name: "with a GPT model", exposure: "host", model: "gpt-5.4", level: isDeferring, counts: [5, 50, 200] },
      ...{ search: (tool) => ({ name: "tool_search", input: { query: tool } }), crowd: 50, hosted: true },
    },
    { name: "with every definition, and a GPT model", exposure: "all", model: "gpt-5.4", level: () => "full" },
  ],
});

describe("Copilot CLI, beyond what all hosts do", () => {
  it("lets a model read the project, denies what needs a permission, and reports it", async () => {
    const service = await startMessagesEndpoint(
      ({ messages }) =>
        messages.length > 1
          ? { text: "Done." }
          : {
              calls: [
                { name: "view", input: { path: "notes.txt" } },
                { name: "view", input: { path: "/etc/passwd" } },
                { name: "bash", input: { command: "touch made", description: "x" } },
                { name: "lost", input: {} },
              ],
            },
      { sampling: true },
    );
    later(service.close);
    const model = await open("claude-sonnet-5-5", service.url, program());
    const files = [{ path: "notes.txt", content: "met Ingrid" }];
    const { outcome, turns } = await model.converse(trialOf({ exposure: "host", files }), never);
    expect(outcome).toEqual({ kind: "answered" });
    const executions = turns[0]?.calls.map(({ execution }) => execution);
    expect(executions?.map((one) => one?.status)).toEqual(["executed", "skipped", "skipped", "skipped"]);
    expect(JSON.stringify(executions?.[0])).toContain("met Ingrid");
    expect(executions?.[3]).toMatchObject({ reason: "Tool 'lost' does not exist" });
  });
});
