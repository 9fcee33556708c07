import { describe, expect, it } from "vitest";
import { startCompletionsEndpoint } from "../../../fixtures/endpoints/completions.ts";
import { startMessagesEndpoint } from "../../../fixtures/endpoints/messages.ts";
import { describeHost } from "../contract.ts";
import { later, needsHost, never, openHost, reads, trialOf } from "../support.ts";

const program = needsHost("goose");
const open = (model: string, url: string, path: string, options: object = {}) =>
  openHost(`goose:${model}`, {
    env: {
      PATH: process.env.PATH,
      GOOSE_PATH: path,
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: "secret",
      OPENAI_BASE_URL: `${url}/v1`,
      OPENAI_API_KEY: "secret",
    },
    ...options,
  });

describeHost({
  name: "goose",
  program,
  start: (script) =>
    startMessagesEndpoint(({ messages }) =>
      script({ text: JSON.stringify(messages), replies: messages.filter(({ role }) => role === "assistant").length }),
    ),
  open,
  ways: [
    { name: "as its users run it", exposure: "host", model: "anthropic/claude-sonnet-5-5", level: () => "full" },
    { name: "with every definition", exposure: "all", model: "anthropic/claude-sonnet-5-5", level: () => "full" },
  ],
  toShownName: (server, tool) => `${server}__${tool}`,
  loadSkill: (name) => ({ name: "load_skill", input: { name } }),
  oddNames: ["put-item", "Camel_Case", "x".repeat(40)],
});

describe("goose, beyond what all hosts do", () => {
  it("speaks chat completions, too, and breaks a trial with names that the provider refuses", async () => {
    const service = await startCompletionsEndpoint(() => ({ text: "Done." }));
    later(service.close);
    const model = await open("openai/some-model", service.url, program(), { retries: 0 });
    const named = await model.converse(trialOf({ tools: [{ ...reads, name: "read" }], exposure: "host" }), never);
    expect(named.outcome).toEqual({ kind: "answered" });
    expect(named.shown?.tools.full).toEqual(["read"]);
    const dotted = await model.converse(trialOf({ tools: [reads], exposure: "host" }), never);
    expect(dotted.outcome).toMatchObject({
      kind: "broken",
      message: expect.stringMatching(/^the provider answered 400: .*does not match pattern/),
    });
  });

  it("denies the tools of the host that change something, and reports it", async () => {
    const service = await startMessagesEndpoint(({ messages }) =>
      messages.length > 1
        ? { text: "Done." }
        : {
            calls: [
              { name: "shell", input: { command: "echo hello" } },
              { name: "tree", input: { path: "." } },
            ],
          },
    );
    later(service.close);
    const model = await open("anthropic/claude-sonnet-5-5", service.url, program());
    const { outcome, turns } = await model.converse(trialOf({ exposure: "host" }), never);
    expect(outcome).toEqual({ kind: "answered" });
    expect(turns[0]?.calls.map(({ tool, role, execution }) => [tool, role, execution?.status])).toEqual([
      ["shell", "built-in", "skipped"],
      ["tree", "built-in", "executed"],
    ]);
  });

  it("refuses a model without a known provider, an effort, and an address that it cannot use", async () => {
    const problem = (id: string, options = {}) =>
      open(id, "http://127.0.0.1:1", program(), options).then(
        () => "opened",
        (error) => `${error.problems[0].message} ${error.problems[0].hint}`,
      );
    expect(await problem("claude-sonnet-5-5")).toBe(
      'The model id "goose:claude-sonnet-5-5" has no provider. Write goose:<provider>/<model>, with one of the providers anthropic and openai.',
    );
    expect(await problem("openapi/gpt-5.4")).toContain('has the unknown provider "openapi". Did you mean "openai"?');
    expect(await problem("openai/gpt-5.4", { effort: "high" })).toContain("Leave --effort out.");
    expect(await problem("openai/gpt-5.4", { baseUrl: "http://127.0.0.1:1/api" })).toContain("does not end with /v1");
  });
});
