// A made-up run of any size for the page of reports: two models, the tools before and after a change, transcripts.
import { seededRandom } from "../build/evals/base/stats/random.js";

const names = ["read_file", "list_directory", "search_files", "write_file", "get_file_info", "move_file", "edit_file"];
const words =
  "list read file notes open the search for path result query invoice customer status pull request branch merge commit directory folder weather create update delete user".split(
    " ",
  );
const outcomes = ["wrong-tool", "no-call", "wrong-arguments", "malformed-arguments"];
const models = ["anthropic:claude-haiku-5-5", "openai:gpt-6-mini"];
const toolset = "5f2d1c0b9a8e7d6c5f2d1c0b9a8e7d6c5f2d1c0b9a8e7d6c5f2d1c0b9a8e7d6c";

/** A manifest and the trials of its run: `count` trials, of which about one in five does not pass. */
export function makeRecord(count, { trialsPerCase = 10, seed = 7 } = {}) {
  const random = seededRandom(seed);
  const pick = (list) => list[random.below(list.length)];
  const write = (length) => Array.from({ length }, () => pick(words)).join(" ");
  const perCase = trialsPerCase * models.length * 2;
  const cases = Array.from({ length: Math.max(1, Math.round(count / perCase)) }, (_, at) => {
    const expected = names[at % names.length];
    return {
      id: `${expected.replace("_", "-")}-${at + 1}`,
      hash: toolset,
      input: `${write(12)} (${at + 1})`,
      expected,
      expectedTools: [expected],
      toolset,
      trials: trialsPerCase,
      passRate: 0.8,
      maxTurns: 3,
      file: "evals/files.yaml",
      line: 10 + at * 6,
      difficulty: random.next() ** 3,
    };
  });
  const trials = [];
  for (const model of models)
    for (const one of cases)
      for (const arm of ["base", "head"])
        for (let number = 1; number <= trialsPerCase; number++)
          trials.push(makeTrial({ one, model, arm, number, random, pick, write }));
  const manifest = {
    format: "tool-evals run 1",
    id: "2026-11-21T09-30-00-000",
    startedAt: "2026-11-21T09:30:00.000Z",
    finishedAt: "2026-11-21T09:41:00.000Z",
    harness: "0.1.0",
    node: "v20.20.0",
    flags: {},
    seed,
    host: "plain",
    models: models.map((id) => ({ id, kind: "language model", settings: { maxTokens: 1024 }, deterministic: false })),
    suites: [
      {
        name: "files",
        file: "evals/files.yaml",
        hash: toolset,
        execute: "safe",
        isolate: "run",
        cases: cases.map(({ difficulty, ...one }) => one),
      },
    ],
    toolsets: {
      [toolset]: names.map((name) => ({
        name,
        description: `Does what ${name} says. ${write(20)}.`,
        inputSchema: { type: "object", properties: { path: { type: "string" } } },
        server: "files",
        origin: "server",
      })),
    },
  };
  return { manifest, trials };
}

function makeTrial({ one, model, arm, number, random, pick, write }) {
  const isPassed = random.next() > one.difficulty * (arm === "head" ? 1 : 0.6);
  const isBroken = !isPassed && random.below(20) === 0;
  const selection = isPassed ? "right-tool" : pick(outcomes);
  const isRight = isPassed || selection.endsWith("arguments");
  const picked = isRight
    ? one.expected
    : selection === "no-call"
      ? "(none)"
      : pick(names.filter((name) => name !== one.expected));
  const why = {
    "wrong-tool": `expected ${one.expected}, got ${picked}`,
    "no-call": `no tool was called, expected ${one.expected}`,
    "wrong-arguments": 'args.path: expected "notes.txt", got "/notes.txt"',
    "malformed-arguments": "args must have required property 'path'",
  }[selection];
  const calls =
    picked === "(none)"
      ? []
      : [
          {
            id: "1",
            tool: picked,
            arguments: { path: isPassed ? "notes.txt" : `/${write(1)}.txt`, limit: random.below(9) },
            execution: {
              status: "executed",
              ms: 1 + random.below(40),
              result: { isError: random.below(12) === 0, content: [{ type: "text", text: write(60) }] },
            },
          },
        ];
  const usage = {
    inputTokens: 900 + random.below(300),
    outputTokens: 20 + random.below(80),
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
  };
  const turns = [
    { text: write(40), calls, stop: calls.length > 0 ? "calls" : "done", usage, ms: 300 + random.below(2500) },
  ];
  return {
    cell: { suite: "files", case: one.id, arm, model, trial: number },
    toolset,
    orderSeed: random.below(2 ** 31),
    outcome: isBroken
      ? { kind: "broken", stage: "model", message: "529 overloaded after 6 tries" }
      : { kind: "answered" },
    turns: isBroken ? [] : turns,
    ...(!isBroken && {
      verdict: {
        grade: isPassed ? "pass" : "fail",
        selection,
        expected: one.expected,
        picked,
        checks: [{ what: "tool", met: isPassed ? "yes" : "no", ...(why && { why }) }],
      },
    }),
    costUsd: 0.0004,
    startedAt: "2026-11-21T09:30:01.000Z",
    ms: turns[0].ms + 30,
  };
}
