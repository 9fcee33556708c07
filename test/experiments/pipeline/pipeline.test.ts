import { describe, expect, it } from "vitest";
import { TrialRecord } from "../../../src/evals/asking/trials/design.ts";
import { cellKey } from "../../../src/evals/base/types/trial.ts";
import { check } from "../../../src/evals/experiments/check/design.ts";
import { addTrial } from "../../../src/evals/experiments/design/observe.ts";
import { runExperiment, withExperiment } from "../../../src/evals/experiments/pipeline/experiment.ts";
import { describeProgress } from "../../../src/evals/experiments/pipeline/pipeline.ts";
import type { Fault } from "../../fixtures/endpoints/endpoint.ts";
import type { MessageAnswer } from "../../fixtures/endpoints/messages.ts";
import { endpoint, experimentDefaults, project } from "./project.ts";

const right: Record<string, MessageAnswer> = {
  notes: { calls: [{ name: "read", input: {} }] },
  entries: { calls: [{ name: "list", input: {} }] },
  morning: { text: "Good morning." },
};

/** The check of a list against itself, asked as a run asks. */
async function checkItself(
  unusual: (index: number) => MessageAnswer | Fault | undefined,
  { trials = 25, concurrency = 4 } = {},
) {
  const made = project();
  const { started, model, asked } = await endpoint((body, index) => {
    const said = JSON.stringify(body.messages);
    const [, answer] = Object.entries(right).find(([word]) => said.includes(word)) ?? [];
    return (unusual(index) as MessageAnswer | undefined) ?? answer;
  });
  const options = { ...experimentDefaults, ...asked, model, concurrency };
  const finished = await withExperiment({ command: "variants", options }, made.io(), (workspace) => {
    const cases = workspace.cases.map((planned) => planned.case.id);
    const arms = new Map(
      ["base", "head"].map((arm) => [arm, ({ toolset }: (typeof workspace.cases)[number]) => toolset]),
    );
    return runExperiment(
      workspace,
      {
        cases: workspace.cases,
        arms,
        design: check({ cases, seed: workspace.seed, requests: () => 6, trials }),
        setup: {},
      },
      made.io(),
    );
  });
  return { ...made, finished, requests: started.requests, journal: made.trials(finished.manifest.id) };
}

const describeRecord = (record: TrialRecord, ids: readonly string[]) =>
  ids.map((id) =>
    ["base", "head"].map((arm) => ({
      answers: [...record.answers(id, arm)],
      recovered: [...record.recovered(id, arm)],
      outcomes: record.answers(id, arm).map((_, t) => record.outcome(id, arm, t + 1)),
      paid: { ...record.paid(id, arm) },
    })),
  );

describe("runDesign", () => {
  it("asks both arms of a trial with the same order, and no order of a case twice before all are used", async () => {
    const { finished, journal, requests } = await checkItself(() => undefined);
    expect(finished).toMatchObject({ kind: "decided", verdict: { kind: "no-regression" } });
    const orders = new Map<string, number[]>();
    for (const { cell, orderSeed } of journal) {
      const key = `${cell.case} ${cell.arm}`;
      orders.set(key, Object.assign(orders.get(key) ?? [], { [cell.trial - 1]: orderSeed }));
    }
    for (const id of ["read", "list", "none"]) {
      expect(orders.get(`${id} base`)?.slice(0, 6)).toEqual(orders.get(`${id} head`)?.slice(0, 6));
      expect(new Set(orders.get(`${id} base`)?.slice(0, 6)).size).toBe(6);
    }
    expect(orders.get("read base")).not.toEqual(orders.get("list base"));
    const shown = requests.flatMap(({ body }) =>
      JSON.stringify(body.messages).includes("notes") ? [body.tools?.map(({ name }) => name).join()] : [],
    );
    expect(new Set(shown).size).toBe(6);
  });

  it("asks broken and copied trials again, and its journal reproduces the record", async () => {
    const { finished, journal } = await checkItself((index) =>
      index % 7 === 3
        ? { fault: "status", status: 500 }
        : index % 11 === 5
          ? { calls: [{ name: "read", input: {} }], id: "msg_cached" }
          : undefined,
    );
    expect(finished.kind).toBe("decided");
    expect(journal.some(({ copy }) => copy)).toBe(true);
    expect(journal.some(({ outcome }) => outcome.kind === "broken")).toBe(true);
    expect(new Set(journal.map(({ cell }) => cellKey(cell))).size).toBe(journal.length);
    const replayed = new TrialRecord();
    for (const trial of journal) addTrial(replayed, trial);
    const ids = ["read", "list", "none"];
    expect(describeRecord(replayed, ids)).toEqual(describeRecord(finished.record, ids));
  });

  it("gives up a trial that is never answered, and ends", async () => {
    const failure: Fault = { fault: "status", status: 500, headers: { "x-should-retry": "false" } };
    // A model that never answered any request would be stopped.
    const { finished, journal } = await checkItself((index) => (index === 0 ? undefined : failure), {
      trials: 8,
      concurrency: 1,
    });
    expect(finished).toMatchObject({ kind: "decided", verdict: { kind: "inconclusive", because: "missing" } });
    const attempts = journal.filter(({ cell }) => cell.case === "read" && cell.arm === "base" && cell.trial === 2);
    expect(attempts.map(({ cell }) => cell.attempt)).toEqual([undefined, 2, 3]);
  });
});

it("says on a terminal how many trials failed so far, and what they cost", () => {
  const none = { recorded: 0, planned: 50, failed: 0, broken: 0, spent: 0, secondsLeft: undefined };
  expect(describeProgress(none)).toBe("0/50 trials");
  expect(describeProgress({ recorded: 12, planned: 50, failed: 3, broken: 1, spent: 0.042, secondsLeft: 20 })).toBe(
    "12/50 trials · 3 failed · 1 broken · $0.04 · about 20 s left",
  );
  expect(describeProgress({ ...none, spent: "unknown" })).toBe("0/50 trials · cost unknown");
});
