import { describe, expect, it } from "vitest";
import { replay } from "../../../src/evals/asking/models/replay.ts";
import type { Execution, Trial, Turn } from "../../../src/evals/base/types/trial.ts";
import { cell, followUp, requestOf } from "./request.ts";

const usage = { inputTokens: 5, outputTokens: 2, cacheReadTokens: 0, cacheWriteTokens: 0 };
const echoed = { id: "a", tool: "echo", arguments: { text: "hi" } };
const execution: Execution = { status: "executed", ms: 1, result: { isError: false, content: [] } };
const called: Turn = { text: "I look.", calls: [{ ...echoed, execution }], stop: "calls", usage, ms: 12 };
const done: Turn = { text: "Done.", calls: [], stop: "done", usage, ms: 3 };
const trial: Trial = {
  cell: { ...cell, model: "anthropic:x" },
  toolset: "",
  orderSeed: 1,
  outcome: { kind: "answered" },
  turns: [called, done],
  costUsd: 0.01,
  startedAt: "2026-11-01T00:00:00Z",
  ms: 20,
};
const signal = new AbortController().signal;
const of = (trials: Trial[], name = "run1") =>
  replay(`replay:${name}`, name, { recorded: async () => ({ models: [], trials }) });

describe("answers", () => {
  it("are the recorded turns, without the executions of their calls", async () => {
    const model = await of([trial]);
    const request = requestOf("hi", []);
    const first = await model.ask(request, signal);
    expect(first).toEqual({ kind: "turn", turn: { ...called, calls: [echoed] } });
    if (first.kind !== "turn") throw new Error(first.message);
    expect(await model.ask(followUp(request, first), signal)).toEqual({ kind: "turn", turn: done });
    expect(model.cost(usage)).toBe(0);
  });

  it("are the later ones of a cell that was asked again", async () => {
    const broken: Trial = { ...trial, turns: [], outcome: { kind: "broken", stage: "model", message: "529" } };
    expect(await (await of([broken, trial])).ask(requestOf("hi", []), signal)).toMatchObject({ kind: "turn" });
  });

  it("are broken as they were", async () => {
    const outcome = { kind: "broken", stage: "timeout", message: "no reply within 120 s" } as const;
    const model = await of([{ ...trial, turns: [], outcome }]);
    expect(await model.ask(requestOf("hi", []), signal)).toEqual(outcome);
  });

  it.each([
    ["another trial", { trial: 2 }, "turn 1 of demo, case one, head, trial 2"],
    ["another arm", { arm: "base" }, "turn 1 of demo, case one, base, trial 1"],
    ["another case", { case: "two" }, "turn 1 of demo, case two, head, trial 1"],
  ])("are not invented for %s", async (_, other, where) => {
    const request = requestOf("hi", [], { cell: { ...cell, ...other } });
    const message = `not recorded: ${where}`;
    expect(await (await of([trial])).ask(request, signal)).toMatchObject({ kind: "broken", stage: "model", message });
  });

  it("are not invented for a turn that was never reached", async () => {
    const model = await of([{ ...trial, turns: [called] }]);
    const request = followUp(requestOf("hi", []), { turn: called });
    const message = "not recorded: turn 2 of demo, case one, head, trial 1";
    expect(await model.ask(request, signal)).toMatchObject({ kind: "broken", stage: "model", message });
  });
});

it.each<[string, { toolset: string } | { query: string }]>([
  ["other tools or descriptions", { toolset: "t" }],
  ["another query", { query: "hi there" }],
])("a reply to %s answers nothing", async (what, changes) => {
  const { toolset = "", query = "hi" } = { ...changes } as { toolset?: string; query?: string };
  const recorded = async () => ({ models: [], trials: [{ ...trial, toolset }], queryOf: () => query });
  const model = await replay("replay:r", "r", { recorded });
  const message = `recorded with ${what} than now: ask a model again, without replay:`;
  expect(await model.ask(requestOf("hi", []), signal)).toEqual({ kind: "broken", stage: "setup", message });
});

describe("the model that is replayed", () => {
  const two = [trial, { ...trial, cell: { ...trial.cell, model: "lexical" } }];

  it("is the named one, and the report says so", async () => {
    const { note, settings } = await of(two, "run1#lexical");
    expect({ note, settings }).toEqual({
      note: "recorded answers of lexical in run run1: no model calls, no cost",
      settings: { run: "run1", model: "lexical" },
    });
  });

  it.each([
    [two, "run1", 'error: Run "run1" has several models.\n  Use one of: replay:run1#anthropic:x, replay:run1#lexical.'],
    [[trial], "run1#y", 'error: Run "run1" has no answers of "y".\n  Use one of: replay:run1#anthropic:x.'],
    [[], "run1", 'error: Run "run1" has no trials to replay.\n  Choose another run.'],
  ])("must be on the record (%#)", async (trials, name, message) => {
    await expect(of(trials, name)).rejects.toHaveProperty("message", message);
  });
});
