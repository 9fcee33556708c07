import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RunManifest } from "../../src/evals/base/types/run.ts";
import type { Trial } from "../../src/evals/base/types/trial.ts";
import { formatLine } from "../../src/evals/records/journal.ts";

/** Two wordings of the tools with which the models were recorded. */
export const wordings = ["plain", "vague"] as const;
export type Wording = (typeof wordings)[number];
export const recordedModels = ["model-a", "model-b"] as const;
export type RecordedModel = (typeof recordedModels)[number];

const cases = 250;

/** Whether an answer is right: fewer are with the vague wording, though some only with it. */
function isRight(model: RecordedModel, wording: Wording, at: number): boolean {
  if (at % 50 === 0) return wording === "vague";
  const wrong = model === "model-a" ? 4 : 3;
  return at % (wording === "plain" ? 11 : wrong) !== 1;
}

/** How many answers of a model are right with a wording. */
export const countRight = (model: RecordedModel, wording: Wording) =>
  Array.from({ length: cases }, (_, at) => isRight(model, wording, at)).filter(Boolean).length;

/** Writes the suite that was recorded. Returns the file's name. */
export function writeSuite(dir: string): string {
  const tools = ["search", "read"].map((name) => ({ name, inputSchema: { type: "object" } }));
  const suite = {
    name: "recorded",
    execute: "never",
    trials: 1,
    cases: Array.from({ length: cases }, (_, at) => ({
      id: `case-${at}`,
      input: `Find note ${at}`,
      tools,
      expect: { tool: "search", args: { id: at } },
    })),
  };
  writeFileSync(join(dir, "recorded.json"), JSON.stringify(suite));
  return "recorded.json";
}

/** Writes what the models answered with one wording as a run of this project. Returns the folder's name. */
export function writeRecording(dir: string, wording: Wording): string {
  const folder = `recorded-${wording}`;
  const trials = recordedModels.flatMap((model) =>
    Array.from({ length: cases }, (_, at) => createTrial(model, at, isRight(model, wording, at))),
  );
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
  const lines = trials.map((trial, at) =>
    formatLine(JSON.stringify({ ...trial, run: folder, seq: at + 1 }), (text) => text),
  );
  writeFileSync(join(dir, folder, "trials.jsonl"), lines.join(""));
  return folder;
}

function createTrial(model: RecordedModel, at: number, right: boolean): Trial {
  return {
    cell: { suite: "recorded", case: `case-${at}`, arm: "head", model, trial: 1 },
    toolset: "not recorded",
    orderSeed: 1,
    outcome: { kind: "answered" },
    turns: [
      {
        text: "",
        calls: [{ id: "1", tool: right ? "search" : "read", arguments: { id: at } }],
        stop: "calls",
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
 * Two-sided p of McNemar's exact test: with one trial a case, only the cases that one wording got right and the other did
 * not can tell them apart, and each of these is as a coin.
 */
export function exactP(model: RecordedModel): number {
  const only = (right: Wording, wrong: Wording) =>
    Array.from({ length: cases }, (_, at) => at).filter(
      (at) => isRight(model, right, at) && !isRight(model, wrong, at),
    );
  const [plain, vague] = [only("plain", "vague").length, only("vague", "plain").length];
  const n = plain + vague;
  let tail = 0;
  for (let k = Math.max(plain, vague); k <= n; k++) tail += countChoices(n, k) / 2 ** n;
  return Math.min(1, 2 * tail);
}

function countChoices(n: number, k: number): number {
  let ways = 1;
  for (let i = 1; i <= k; i++) ways *= (n - k + i) / i;
  return ways;
}
