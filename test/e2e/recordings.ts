import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Json, JsonObject } from "../../src/evals/base/types/json.ts";
import type { RunManifest } from "../../src/evals/base/types/run.ts";
import type { Trial } from "../../src/evals/base/types/trial.ts";
import { type BfclCase, type BfclOutput, fromDialect, readOutput, rows } from "../asking/scoring/bfcl-fixtures.ts";

type Row = Omit<BfclCase, "tools"> & {
  messages: { role: string; content: string }[];
  tools: { name: string; description: string; parameters: JsonObject }[];
};

/** The wordings that the models were recorded with: how the tools' documentation was written. */
export const wordings = ["json", "python", "xml"] as const;
export type Wording = (typeof wordings)[number];

const outputs = rows<BfclOutput>("outputs.jsonl");
export const recordedModels = [...new Set(outputs.map(({ model }) => model))].sort();

/** Writes the leaderboard's cases that were recorded as a suite of this project. Returns the file's name. */
export function writeSuite(dir: string): string {
  const recorded = new Set(outputs.map(({ id }) => id));
  const cases = rows<Row>("cases.jsonl").filter(({ id }) => recorded.has(id));
  const suite = {
    name: "bfcl",
    execute: "never",
    maxTurns: 1,
    trials: 1,
    cases: cases.map(({ id, messages, tools, possible_answer }) => ({
      id,
      messages,
      tools: tools.map(({ name, description, parameters }) => ({
        name,
        description,
        inputSchema: fromDialect(parameters as Json),
      })),
      expect: {
        calls: (possible_answer ?? []).flatMap((answer) =>
          Object.entries(answer).map(([tool, args]) => ({ tool, args })),
        ),
        order: "any",
        argsMatch: "bfcl",
      },
    })),
  };
  writeFileSync(join(dir, "bfcl.json"), JSON.stringify(suite));
  return "bfcl.json";
}

/** Writes what the models answered with one wording as a run of this project. Returns the folder's name. */
export function writeRecording(dir: string, wording: Wording): string {
  const folder = `recorded-${wording}`;
  const trials = outputs.filter(({ variant }) => variant === `tool_docs=${wording}`).map(trialOf);
  const manifest: RunManifest = {
    format: "tool-evals run 1",
    id: folder,
    startedAt: "2025-11-01T00:00:00.000Z",
    harness: "0.1.0",
    node: "v20.20.2",
    flags: {},
    seed: 1,
    host: "plain",
    models: recordedModels.map((id) => ({ id, kind: "language model", settings: {}, deterministic: false })),
    suites: [],
    toolsets: {},
  };
  mkdirSync(join(dir, folder));
  writeFileSync(join(dir, folder, "run.json"), JSON.stringify(manifest));
  writeFileSync(join(dir, folder, "trials.jsonl"), trials.map((trial) => `${JSON.stringify(trial)}\n`).join(""));
  return folder;
}

function trialOf({ id, model, raw_output: text }: BfclOutput): Trial {
  const calls = readOutput(text) ?? [];
  return {
    cell: { suite: "bfcl", case: id, arm: "head", model, trial: 1 },
    toolset: "not recorded",
    orderSeed: 1,
    outcome: { kind: "answered" },
    turns: [
      {
        text,
        calls,
        stop: calls.length > 0 ? "calls" : "done",
        usage: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 },
        ms: 1,
      },
    ],
    costUsd: 0,
    startedAt: "2025-11-01T00:00:00.000Z",
    ms: 1,
  };
}

/**
 * Two-sided p of McNemar's exact test on the official verdicts: with one trial a case, only the cases that one wording
 * got right and the other did not can tell them apart, and each of these is as a coin.
 */
export function exactP(model: string, a: Wording, b: Wording): number {
  const right = (wording: Wording) => {
    const own = outputs.filter((one) => one.model === model && one.variant === `tool_docs=${wording}`);
    return new Map(own.map((one) => [one.id, one.upstream_checker_valid]));
  };
  const [first, second] = [right(a), right(b)];
  const differing = [...first].filter(([id, valid]) => second.get(id) !== valid);
  const n = differing.length;
  const most = Math.max(...[true, false].map((valid) => differing.filter((one) => one[1] === valid).length));
  let tail = 0;
  for (let k = most; k <= n; k++) tail += chooses(n, k) / 2 ** n;
  return Math.min(1, 2 * tail);
}

function chooses(n: number, k: number): number {
  let ways = 1;
  for (let i = 1; i <= k; i++) ways *= (n - k + i) / i;
  return ways;
}
