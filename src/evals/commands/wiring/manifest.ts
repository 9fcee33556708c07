import { createRequire } from "node:module";
import { newRunId } from "../../runs/record.ts";
import { expectedLabel, expectedTools } from "../../scoring/labels.ts";
import type { PlannedCase } from "../../trials/plan.ts";
import type { JsonObject } from "../../types/json.ts";
import type { Model } from "../../types/model.ts";
import type { RunManifest } from "../../types/run.ts";
import type { Suite } from "../../types/suite.ts";

const { version } = createRequire(import.meta.url)("../../../../package.json") as { version: string };

export type ManifestParts = {
  flags: JsonObject;
  seed: number;
  host: string;
  models: readonly Model[];
  suites: readonly Suite[];
  /** What the server of each suite said of itself, by suite name. */
  servers: ReadonlyMap<string, JsonObject>;
  cases: readonly PlannedCase[];
  git: RunManifest["git"];
};

/** Everything that decides a run's answers, as it is written before the first question is asked. */
export function manifestOf(parts: ManifestParts): RunManifest {
  const now = new Date();
  return {
    format: "tool-evals run 1",
    id: newRunId(now),
    startedAt: now.toISOString(),
    harness: version,
    node: process.version,
    ...(parts.git && { git: parts.git }),
    flags: parts.flags,
    seed: parts.seed,
    host: parts.host,
    models: parts.models.map(({ id, kind, note, settings, deterministic }) => ({
      id,
      kind,
      ...(note && { note }),
      settings,
      deterministic,
    })),
    suites: parts.suites.map((suite) => suiteEntry(suite, parts)),
    toolsets: Object.fromEntries(parts.cases.map(({ toolset }) => [toolset.hash, [...toolset.tools]])),
  };
}

function suiteEntry(suite: Suite, { servers, cases }: ManifestParts): RunManifest["suites"][number] {
  const server = servers.get(suite.name);
  return {
    name: suite.name,
    file: suite.file,
    hash: suite.hash,
    execute: suite.execute,
    isolate: suite.isolate,
    ...(server && { server }),
    cases: cases.filter((planned) => planned.suite === suite).map(caseEntry),
  };
}

function caseEntry({ case: one, toolset }: PlannedCase): RunManifest["suites"][number]["cases"][number] {
  return {
    id: one.id,
    hash: one.hash,
    input: one.messages.findLast((message) => message.role === "user")?.content ?? "",
    expected: expectedLabel(one.expect),
    expectedTools: [...expectedTools(one.expect)],
    toolset: toolset.hash,
    trials: one.trials,
    passRate: one.passRate,
    maxTurns: one.maxTurns,
    file: one.place.file,
    line: one.place.line ?? 1,
  };
}
