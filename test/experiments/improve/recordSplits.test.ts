import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import type { PlannedCase } from "../../../src/evals/asking/trials/plan.ts";
import type { Io } from "../../../src/evals/base/types/io.ts";
import type { Split } from "../../../src/evals/base/types/suiteFile.ts";
import { recordSplits } from "../../../src/evals/experiments/improve/recordSplits.ts";
import { loadSuites } from "../../../src/evals/input/suites/load.ts";
import { makeFolder } from "../../fakes/folder.ts";

let cwd = "";
beforeAll(() => {
  cwd = makeFolder();
});

const server = "server: { command: node, args: [server.mjs] }";
const listed = `name: s\n${server}\ncases: cases.csv\n`;

async function record(file: string, text: string) {
  writeFileSync(join(cwd, "cases.csv"), "id,input,tool\na,open it,read\nb,shut it,none\n");
  writeFileSync(join(cwd, file), text);
  const load = async () => (await loadSuites([file], { cwd, redact: (one: string) => one })).suites[0]?.cases ?? [];
  const cases = await load();
  const splits = new Map(cases.map(({ id }, at): [string, Split] => [id, at % 2 === 0 ? "train" : "held-out"]));
  const said: string[] = [];
  const io = { cwd, env: {}, err: (line: string) => said.push(line) } as unknown as Io;
  const planned = cases.map((one) => ({ case: one })) as unknown as PlannedCase[];
  const recorded = await recordSplits(file, splits, planned, io);
  const after = await load();
  expect(after.map(({ hash }) => hash)).toEqual(cases.map(({ hash }) => hash));
  expect(recorded).toBe(after.filter(({ split }) => split).length);
  return { said, text: readFileSync(join(cwd, file), "utf8"), splits: after.map(({ split }) => split) };
}

it.each([
  [
    "block.yaml",
    `${server}\ncases:\n  # first\n  - id: a # kept\n    input: open it\n    expect: { tool: read }\n\n  - input: shut it\n    expect:\n      tool: none\n`,
  ],
  [
    "flow.yaml",
    `${server}\ncases:\n  - { id: a, input: open it, expect: { tool: read } }\n  - {input: "ü 😀", expect: {tool: none}}\n`,
  ],
  [
    "line.yaml",
    `${server}\ncases: [ { id: a, input: open it, expect: { tool: read } }, { input: shut it, expect: { tool: none } } ]\n`,
  ],
  [
    "plain.json",
    '{"server":{"command":"node"},"cases":[{"id":"a","input":"open it","expect":{"tool":"read"}},{"input":"shut it","expect":{"tool":"none"}}]}',
  ],
  ["windows.yaml", `${server}\r\ncases:\r\n  - id: a\r\n    input: open it\r\n    expect: { tool: read }\r\n`],
])("writes the splits into %s, and nothing else", async (file, text) => {
  const result = await record(file, text);
  expect(result.text).toMatchSnapshot();
  expect(result.splits).toEqual(["train", "held-out"].slice(0, result.splits.length));
  const again = await record(file, result.text);
  expect([again.text, again.said]).toEqual([result.text, []]);
});

it.each([
  [
    "anchors.yaml",
    `${server}\ncases:\n  - &one\n    id: a\n    input: open it\n    expect: &read { tool: read }\n  - { id: b, input: show it, expect: *read }\n`,
  ],
  ["listed.yaml", listed],
])("changes nothing else in %s", async (file, text) => {
  const result = await record(file, text);
  expect(result.text.replaceAll(/ *split: [\w-]+(?:,|\n)/g, "")).toBe(text);
});
