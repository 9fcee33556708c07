import { describe, expect, it } from "vitest";
import { converse } from "../../../src/evals/asking/trials/conversation.ts";
import { HeldResults } from "../../../src/evals/asking/trials/execution.ts";
import { SpendingLimits } from "../../../src/evals/asking/trials/limits.ts";
import type { PlannedCase } from "../../../src/evals/asking/trials/plan.ts";
import { runTrial } from "../../../src/evals/asking/trials/runTrial.ts";
import type { AskedModel, HostModel } from "../../../src/evals/base/types/model.ts";
import type { Case } from "../../../src/evals/base/types/suite.ts";
import { openAskedModel } from "../../../src/evals/experiments/workspace/models.ts";
import { scriptedModel, turn } from "../../fakes/model.ts";
import { passed } from "../../fakes/record.ts";
import { aCase, aSuite, aTool, aToolset } from "../../fakes/suite.ts";
import { startCompletionsEndpoint } from "../../fixtures/endpoints/completions.ts";
import { startMessagesEndpoint } from "../../fixtures/endpoints/messages.ts";
import { startResponsesEndpoint } from "../../fixtures/endpoints/responses.ts";

const toolset = aToolset(aTool("search"), aTool("read"));
const never = new AbortController().signal;
const cell = { suite: "s", case: "c", arm: "head", model: "m", trial: 1 };

const talk = (model: AskedModel, followUps: readonly string[], maxTurns = 3) =>
  converse(
    {
      cell,
      seed: 1,
      model,
      messages: [{ role: "user", content: "find it" }],
      followUps,
      tools: toolset.tools,
      toolset: toolset.hash,
      listedName: (shown) => shown,
      maxTurns,
      executor: {
        execute: async ({ tool }) => ({
          status: "executed",
          result: { isError: false, content: [{ type: "text", text: `result of ${tool}` }] },
          ms: 1,
        }),
      },
    },
    never,
  );

/** Calls `search`, says so, then, asked again, calls `read` in its second message and says nothing. */
const answers = [
  { calls: [{ name: "search", input: {} }] },
  { text: "found it" },
  { text: "reading", calls: [{ name: "read", input: {} }] },
  { text: "done" },
];

describe("a host", () => {
  const host: HostModel = {
    id: "claude-code",
    kind: "language model",
    settings: {},
    maxOutputTokens: 1,
    ownPromptTokens: 1,
    deterministic: false,
    cost: () => 0,
    converse: async () => ({ outcome: { kind: "answered" }, turns: [turn("hi")] }),
  };
  const several = aCase("c", { turns: [{ content: "a", expect: { kind: "none", avoid: [] } }, { content: "b" }] });
  const suite = aSuite("s", [several]);
  const planned = (one: Case): PlannedCase => ({ suite, case: one, arm: "head", toolset });

  it("refuses a case with several turns, before any model call", async () => {
    const context = {
      ...{
        pool: () => undefined,
        skills: () => undefined,
        now: () => new Date(0),
        limits: new SpendingLimits({}),
        held: new HeldResults(),
      },
      show: () => ({ tools: [], listedName: (name: string) => name }),
      grade: async () => ({ verdict: passed }),
    };
    const location = { planned: planned(several), model: host, cell, orderSeed: 1 };
    const message = "claude-code accepts only one user message, and the case has several turns";
    expect((await runTrial(location, context, never)).outcome).toEqual({ kind: "broken", stage: "setup", message });
    const plain = { ...location, planned: planned(aCase("d")) };
    expect((await runTrial(plain, context, never)).outcome).toEqual({ kind: "answered" });
  });
});

describe("several messages of the user", () => {
  it.each([
    ["anthropic:claude-sonnet-5-5", "messages"],
    ["openai:local", "completions"],
    ["openai:gpt-6.1", "responses"],
  ] as const)("are sent one after the other by %s (%s)", async (id, wire) => {
    const input = (calls: (typeof answers)[number]["calls"]) => calls?.map(({ name }) => ({ name, arguments: "{}" }));
    const endpoint =
      wire === "messages"
        ? await startMessagesEndpoint((_, index) => answers[index] ?? {})
        : wire === "responses"
          ? await startResponsesEndpoint((_, index) => answers[index] ?? {})
          : await startCompletionsEndpoint((_, index) => {
              const { text, calls } = answers[index] ?? {};
              return { ...(text !== undefined && { text }), ...(calls && { calls: input(calls) ?? [] }) };
            });
    const env = {
      ANTHROPIC_API_KEY: "secret",
      ANTHROPIC_BASE_URL: endpoint.url,
      OPENAI_API_KEY: "secret",
      OPENAI_BASE_URL: `${endpoint.url}/v1`,
    };
    const model = await openAskedModel(id, { env, ...(wire === "responses" && { toolSearch: true }) });
    const { outcome, turns } = await talk(model, ["now open it"]);
    // The endpoints refuse what the services refuse, such as results of calls that were not made.
    expect(endpoint.requests.flatMap(({ refused }) => refused ?? [])).toEqual([]);
    expect(outcome).toEqual({ kind: "answered" });
    expect(turns.map(({ userTurn, text, calls }) => [userTurn, text, calls.map(({ tool }) => tool)])).toEqual([
      [undefined, "", ["search"]],
      [undefined, "found it", []],
      [2, "reading", ["read"]],
      [2, "done", []],
    ]);
    const sent = JSON.stringify(endpoint.requests.at(-1)?.body);
    const positions = ["find it", "result of search", "found it", "now open it", "result of read"].map((text) =>
      sent.indexOf(text),
    );
    expect(positions).toEqual(positions.toSorted((a, b) => a - b));
    expect(positions).not.toContain(-1);
  });

  it("continue after the limit of replies, and after an empty reply", async () => {
    const model = scriptedModel(({ messages }) =>
      messages.at(-1)?.role === "user" && messages.length > 1 ? turn("") : turn("", ["search", {}]),
    );
    const { turns } = await talk(model, ["second", "third"], 1);
    expect(turns.map(({ userTurn, calls }) => [userTurn, calls.length])).toEqual([
      [undefined, 1],
      [2, 0],
      [3, 0],
    ]);
    expect(model.asked.at(-1)?.messages.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "results",
      "user",
      "user",
    ]);
  });
});
