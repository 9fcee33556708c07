import { describe, expect, it } from "vitest";
import { converse } from "../../../src/evals/asking/trials/conversation.ts";
import { createExecutor, HeldResults, isolatedPool, sharedPool } from "../../../src/evals/asking/trials/execution.ts";
import type { ExecutionPolicy } from "../../../src/evals/base/types/flagValues.ts";
import type { AskedModel } from "../../../src/evals/base/types/model.ts";
import type { Execution } from "../../../src/evals/base/types/trial.ts";
import { scriptedModel, turn } from "../../fakes/model.ts";
import { scriptedServer, text } from "../../fakes/server.ts";
import { aTool, aToolset } from "../../fakes/suite.ts";

const never = new AbortController().signal;
const cell = { suite: "s", case: "c", arm: "head", model: "scripted", trial: 1 };
const toolset = aToolset(
  aTool("read"),
  aTool("write", { annotations: { readOnlyHint: false } }),
  aTool("foreign", { origin: "distractor", server: "other" }),
);

function talk(
  model: AskedModel,
  server = scriptedServer(() => text("found")),
  policy: ExecutionPolicy = "read-only",
  maxTurns = 3,
) {
  const executor = createExecutor(toolset, { policy, pool: sharedPool(server, async () => server) });
  const messages = [{ role: "user" as const, content: "hello" }];
  const listedName = (shown: string) => shown.replace(/^host_/, "");
  return converse(
    { cell, seed: 1, model, messages, tools: toolset.tools, toolset: toolset.hash, listedName, maxTurns, executor },
    never,
  );
}

describe("converse", () => {
  it("hands results back until the model makes no call", async () => {
    const model = scriptedModel((request) =>
      request.turn < 3 ? turn("", ["host_read", { n: request.turn }]) : turn("done"),
    );
    const server = scriptedServer((_tool, args) => text(`found ${JSON.stringify(args)}`));
    const { outcome, turns } = await talk(model, server);
    expect(outcome).toEqual({ kind: "answered" });
    expect(server.calls).toEqual([
      ["read", { n: 1 }],
      ["read", { n: 2 }],
    ]);
    expect(turns.map((one) => one.calls.map((call) => call.tool))).toEqual([["read"], ["read"], []]);
    const last = model.asked[2]?.messages;
    expect(last?.map((message) => message.role)).toEqual(["user", "assistant", "results", "assistant", "results"]);
    expect(last?.[2]).toEqual({
      role: "results",
      results: [{ callId: "call-1", tool: "read", text: 'found {"n":1}', isError: false }],
    });
  });

  it("stops after maxTurns replies, the calls of the last one executed", async () => {
    const model = scriptedModel(() => turn("", ["read", {}]));
    const { turns } = await talk(model, undefined, "read-only", 2);
    expect(turns).toHaveLength(2);
    expect(turns[1]?.calls[0]?.execution?.status).toBe("executed");
  });

  it("gives the reason for every skipped call, in the record and to the model", async () => {
    const calls = turn("", ["write", {}], ["foreign", {}], ["nowhere", {}], ["read", [1]], ["read", undefined]);
    const model = scriptedModel((request) => (request.turn === 1 ? calls : turn("done")));
    const { turns } = await talk(model);
    const reasons = turns[0]?.calls.map(({ execution = {} }) => {
      const { status, reason } = execution as { status?: string; reason?: string };
      return `${status}: ${reason}`;
    });
    expect(reasons).toEqual([
      "skipped: write is not annotated read-only (execute: read-only)",
      "skipped: foreign is a distractor",
      "skipped: there is no tool nowhere",
      "skipped: its arguments are not a JSON object",
      "skipped: its arguments are not a JSON object",
    ]);
    expect(model.asked[1]?.messages[2]).toMatchObject({
      results: [{ isError: true }, { isError: true }, { isError: true }, { isError: true }, { isError: true }],
    });
  });

  it("executes tools that may write only if permitted, and nothing with never", async () => {
    const model = scriptedModel(() => turn("", ["write", {}], ["read", {}]));
    const statuses = async (policy: ExecutionPolicy) =>
      (await talk(model, undefined, policy, 1)).turns[0]?.calls.map((call) => call.execution?.status);
    expect(await statuses("all")).toEqual(["executed", "executed"]);
    expect(await statuses("read-only")).toEqual(["skipped", "executed"]);
    expect(await statuses("never")).toEqual(["skipped", "skipped"]);
  });

  it("goes by the annotations of the server that is called, not by those of an older list", async () => {
    const pool = {
      ...sharedPool(
        scriptedServer(() => text("found")),
        async () => scriptedServer(() => text("")),
      ),
    };
    const executor = createExecutor(toolset, {
      policy: "read-only",
      pool: { ...pool, tools: [aTool("read", { annotations: {} })] },
    });
    const { reason } = Object(await executor.execute({ id: "1", tool: "read", arguments: {} }, never));
    expect(reason).toBe("read is not annotated read-only (execute: read-only)");
  });

  it("keeps the turns that were made before something broke", async () => {
    const broken = { kind: "broken", stage: "model", message: "gone" } as const;
    const model = scriptedModel((request) => (request.turn === 1 ? turn("", ["read", {}]) : broken));
    const { outcome, turns } = await talk(model);
    expect(outcome).toEqual(broken);
    expect(turns).toHaveLength(1);
  });

  it("breaks when the results of one trial are too much together", async () => {
    const server = scriptedServer(() => text("x".repeat(6 * 1024 * 1024)));
    const model = scriptedModel(() => turn("", ["read", {}]));
    const { outcome, turns } = await talk(model, server, "read-only", 5);
    expect([outcome, turns.length]).toEqual([
      {
        kind: "broken",
        stage: "server",
        message: 'The results of this trial have more than 16 Mi characters together, with that of "read"',
      },
      3,
    ]);
  });

  it("breaks when the results of all trials in flight are too much together, and not after they ended", async () => {
    const pool = sharedPool(
      scriptedServer(() => text("x")),
      async () => scriptedServer(() => text("x")),
    );
    const held = new HeldResults();
    const others = HeldResults.most - 20;
    held.add(others);
    const execute = async () => {
      const executor = createExecutor(toolset, { policy: "all", pool, held });
      const done = await executor.execute({ id: "1", tool: "read", arguments: {} }, never);
      await executor.close();
      return done;
    };
    expect(await execute()).toEqual({
      kind: "broken",
      stage: "server",
      message: 'The results of the trials in flight have more than 256 Mi characters together, with that of "read"',
    });
    held.add(-others);
    expect(await execute()).toMatchObject({ status: "executed" });
  });

  it("breaks with the server's own cause when a call breaks, the turn kept", async () => {
    const server = scriptedServer(() => ({ kind: "broken", stage: "server", message: "died with exit code 1" }));
    const { outcome, turns } = await talk(
      scriptedModel(() => turn("", ["read", {}])),
      server,
    );
    expect(outcome).toEqual({ kind: "broken", stage: "server", message: "died with exit code 1" });
    expect(turns[0]?.calls).toEqual([{ id: "call-1", tool: "read", arguments: {} }]);
  });
});

describe("server pools", () => {
  it("restarts a dead server once for all waiting trials", async () => {
    const dead = scriptedServer(() => text(""));
    dead.die();
    const opened: string[] = [];
    const pool = sharedPool(dead, async () => {
      opened.push("again");
      return scriptedServer(() => text(""));
    });
    await Promise.all([pool.acquire(never), pool.acquire(never), pool.acquire(never)]);
    expect(opened).toEqual(["again"]);
  });

  it("gives up after three failed starts in a row, with the cause", async () => {
    const dead = scriptedServer(() => text(""));
    dead.die();
    let starts = 0;
    const pool = sharedPool(dead, async () => {
      throw new Error(`no start ${++starts}`);
    });
    for (let use = 0; use < 5; use++) await pool.acquire(never);
    expect(starts).toBe(3);
    expect(await pool.acquire(never)).toEqual({ kind: "broken", stage: "server", message: "no start 3" });
  });

  it("gives each trial its own process when isolated, and ends it afterwards", async () => {
    const servers = [scriptedServer(() => text("")), scriptedServer(() => text(""))];
    let next = 0;
    const pool = isolatedPool(async () => servers[next++] ?? scriptedServer(() => text("")));
    for (let trial = 0; trial < 2; trial++) {
      const executor = createExecutor(toolset, { policy: "read-only", pool });
      await executor.execute({ id: "1", tool: "read", arguments: {} }, never);
      await executor.execute({ id: "2", tool: "read", arguments: {} }, never);
      await executor.close();
    }
    expect(servers.map((server) => [server.calls.length, server.closed])).toEqual([
      [2, 1],
      [2, 1],
    ]);
  });
});

describe("mocks", () => {
  const mocked: Execution = { status: "executed", result: { isError: false, content: [] }, ms: 0, mock: "write" };
  const execute = (tool: string) =>
    createExecutor(toolset, {
      policy: "never",
      answerByMock: (call) => (call.tool === "write" ? mocked : undefined),
    }).execute({ id: "1", tool, arguments: {} }, never);

  it("answer calls that the policy does not execute, and need no server", async () => {
    expect(await execute("write")).toEqual(mocked);
    expect(await execute("read")).toMatchObject({
      status: "skipped",
      reason: expect.stringContaining("execute: never"),
    });
    expect(await execute("nothing")).toMatchObject({ status: "skipped", reason: "there is no tool nothing" });
  });
});
