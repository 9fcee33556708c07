import type { RunManifest } from "../../src/evals/base/types/run.ts";
import type { Score, Trial } from "../../src/evals/base/types/trial.ts";
import { aTool } from "./suite.ts";

/** So many trials passed of so many. */
export const passedOf = (passed: number, trials: number) => ({ passed, trials });

/** A manifest of one suite `s` on the model `scripted`, with five trials for each of the cases. */
export function aManifest(...cases: string[]): RunManifest {
  return {
    format: "tool-evals run 1",
    id: "run-1",
    nonce: "0123456789abcdef",
    startedAt: "2026-11-21T09:30:00.000Z",
    harness: "0.1.0",
    node: "v20.20.2",
    flags: { model: ["scripted"] },
    seed: 1,
    host: "plain",
    models: [{ id: "scripted", kind: "language model", settings: {}, deterministic: false }],
    suites: [
      {
        name: "s",
        file: "s.yaml",
        hash: "hash of s",
        execute: "read-only",
        isolate: "run",
        cases: cases.map((id, index) => ({
          id,
          hash: `hash of ${id}`,
          input: `do ${id}`,
          expected: "read",
          expectedTools: ["read"],
          toolset: "list",
          trials: 5,
          passRate: 0.8,
          maxTurns: 1,
          file: "s.yaml",
          line: index + 1,
        })),
      },
    ],
    toolsets: { list: [aTool("read"), aTool("write"), aTool("foreign", { origin: "distractor" })] },
  };
}

export const passed: Score = { grade: "pass", selection: "right-tool", expected: "read", picked: "read", checks: [] };

/** An answered and passed trial. */
export function aTrial(caseId: string, trial: number, changes: Partial<Trial> = {}): Trial {
  return {
    cell: { suite: "s", case: caseId, arm: "head", model: "scripted", trial },
    toolset: "list",
    orderSeed: trial,
    outcome: { kind: "answered" },
    turns: [
      {
        text: "",
        calls: [],
        stop: "done",
        usage: { inputTokens: 10, outputTokens: 2, cacheReadTokens: 5, cacheWriteTokens: 0 },
        ms: trial,
      },
    ],
    verdict: passed,
    costUsd: 0.01,
    startedAt: "2026-11-21T09:30:00.000Z",
    ms: trial,
    ...changes,
  };
}
