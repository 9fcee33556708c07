import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { loadSuites } from "../../../src/evals/input/suites/load.ts";
import { complaint, load, loadYaml, workspace } from "./workspace.ts";

const expectRead = "expect: { tool: read }";
const suite = (mocks: string, more = "") => `
mocks: ${mocks}
cases:
  - input: hi
    id: a
    ${expectRead}
    ${more}
`;

describe("mocks", () => {
  it("are read with their results, those of the case first", async () => {
    const files = {
      "evals/s.yaml": suite(
        "{ read: [{ args: { n: { $gte: 1 } }, result: one }, { file: results/two.json }], list: { file: results/list.txt } }",
        "mocks: { read: { error: gone } }",
      ),
      "evals/results/two.json": '{ "content": [{ "type": "text", "text": "two" }], "isError": true }',
      "evals/results/list.txt": "a\nb\n",
    };
    const { suites } = await loadSuites(["evals/s.yaml"], { cwd: await workspace(files) });
    expect(suites).toHaveLength(1);
    const { unmatched, list = [] } = suites[0]?.cases[0]?.mocks ?? {};
    expect(unmatched).toBe("error");
    const gives = (text: string, isError = false) => ({ content: [{ type: "text", text }], isError });
    expect(list).toEqual([
      { label: "case a: read", tool: "read", result: gives("gone", true) },
      {
        label: "read[1]",
        tool: "read",
        args: { n: { $gte: 1 } },
        result: gives("one"),
      },
      { label: "read[2]", tool: "read", result: gives("two", true) },
      { label: "list", tool: "list", result: gives("a\nb\n") },
    ]);
  });

  it("answer with JSON as text and as structured content", async () => {
    const { cases } = await loadYaml(suite("{ read: { result: { found: [1] } }, list: { result: [1] } }"));
    expect(cases[0]?.mocks?.list.map(({ result }) => result)).toEqual([
      { isError: false, content: [{ type: "text", text: '{"found":[1]}' }], structuredContent: { found: [1] } },
      { isError: false, content: [{ type: "text", text: "[1]" }] },
    ]);
  });

  it("are part of the hash of a case, and absent ones are not", async () => {
    const hash = async (text: string) => (await loadYaml(text)).cases[0]?.hash;
    const plain = await hash(`cases: [{ input: hi, id: a, ${expectRead} }]`);
    // Baselines hold this hash: what a suite does not use is not in it.
    const content = {
      expect: { argsMode: "partial", avoid: [], call: { tools: ["read"] }, extras: false, kind: "tool" },
      expectedBehavior: [],
      maxTurns: 1,
      messages: [{ content: "hi", role: "user" }],
    };
    expect(plain).toBe(createHash("sha256").update(JSON.stringify(content)).digest("hex"));
    expect(await hash(suite("{ read: { result: a } }"))).not.toBe(plain);
    expect(await hash(suite("{ read: { result: a } }"))).not.toBe(await hash(suite("{ read: { result: b } }")));
    expect(await hash(suite("{ read: { result: a } }"))).not.toBe(
      await hash(`unmatched: server\n${suite("{ read: { result: a } }")}`),
    );
  });

  it.each([
    [
      "{ read: {} }",
      's.yaml:2:16: error: The mock of "read" has no result.\n  Give one of "result", "file" and "error".',
    ],
    [
      "{ read: [{ result: a, error: b }] }",
      's.yaml:2:17: error: The mock of "read" has more than one result.\n  Give one of "result", "file" and "error".',
    ],
    ["{ read: hi }", 's.yaml:2:16: error: "read" must be an object or a list of objects, got "hi".'],
    ["{ read: { resultt: a } }", 's.yaml:2:18: error: Unknown key "resultt".\n  Did you mean "result"?'],
    [
      "{ read: { file: no.json } }",
      's.yaml:2:24: error: The result of a mock cannot be read from "no.json": it does not exist.\n  Its path is relative to the suite.',
    ],
    [
      "{ read: { args: { n: { $gt: 1 } }, result: a } }",
      's.yaml:2:31: error: "$gt" is not a matcher keyword.\n  Did you mean "$gte"? If the object is meant literally, write { $equals: ... }.',
    ],
  ])("%s is refused", async (mocks, message) => {
    expect(await complaint(load({ "s.yaml": suite(mocks) }))).toBe(message);
  });

  it("are required by `unmatched`", async () => {
    const text = `unmatched: server\ncases: [{ input: hi, ${expectRead} }]`;
    expect(await complaint(load({ "s.yaml": text }))).toBe(
      's.yaml:1:1: error: "unmatched" has no effect: the suite has no "mocks".\n  Remove it, or add mocks.',
    );
  });
});
