import type { Case, Suite } from "../../src/evals/base/types/suite.ts";
import type { OfferedTool, Toolset } from "../../src/evals/base/types/tool.ts";

export function aTool(name: string, changes: Partial<OfferedTool> = {}): OfferedTool {
  return {
    name,
    description: `Does ${name}.`,
    inputSchema: { type: "object", properties: {} },
    annotations: { readOnlyHint: true },
    server: "s",
    origin: "server",
    ...changes,
  };
}

export const aToolset = (...tools: OfferedTool[]): Toolset => ({
  hash: `hash of ${tools.map((tool) => tool.name).join()}`,
  tools,
});

export function aCase(id: string, changes: Partial<Case> = {}): Case {
  return {
    id,
    hash: `hash of ${id}`,
    messages: [{ role: "user", content: `do ${id}` }],
    expectedBehavior: [],
    trials: 5,
    passRate: 0.8,
    maxTurns: 1,
    location: { file: "suite.yaml", line: 1 },
    ...changes,
  };
}

export function aSuite(name: string, cases: readonly Case[], changes: Partial<Suite> = {}): Suite {
  return {
    name,
    file: `${name}.yaml`,
    dir: ".",
    hash: `hash of ${name}`,
    distractors: [],
    skills: [],
    execute: "read-only",
    isolate: "run",
    cases,
    ...changes,
  };
}
