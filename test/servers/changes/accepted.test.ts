import { describe, expect, it } from "vitest";
import type { Expectation } from "../../../src/evals/base/types/suite.ts";
import type { Tool } from "../../../src/evals/base/types/tool.ts";
import { type CurrentCases, compareAccepted } from "../../../src/evals/servers/changes/accepted.ts";

const aTool = (name: string, description: string): Tool => ({ name, description, inputSchema: { type: "object" } });
const before = [aTool("read", "Reads."), aTool("list", "Lists."), aTool("skill:pdf", "Forms.")];
const calls = (...tools: string[]): Expectation => ({
  ...{ kind: "calls", order: "strict", extras: false, argsMode: "partial", avoid: [] },
  calls: tools.map((tool) => ({ tools: [tool] })),
});

const record = {
  cases: ["read", "both", "none", "skill", "thin", "old", "edited"].map((id) => ({
    ...{ id, hash: `hash of ${id}`, toolset: "a" },
    trials: id === "thin" ? 0 : 5,
  })),
  toolsets: { a: before },
};
const current = (tools: readonly Tool[]): CurrentCases => ({
  cases: [
    { id: "read", hash: "hash of read", expect: calls("read"), toolset: "b" },
    { id: "both", hash: "hash of both", expect: calls("read", "list"), toolset: "b" },
    { id: "none", hash: "hash of none", expect: { kind: "none", avoid: [] }, toolset: "b" },
    { id: "skill", hash: "hash of skill", expect: { kind: "skill", skill: "pdf", avoid: ["list"] }, toolset: "b" },
    { id: "thin", hash: "hash of thin", expect: calls("read"), toolset: "b" },
    { id: "edited", hash: "another", expect: calls("read"), toolset: "b" },
    { id: "new", hash: "hash of new", expect: calls("read"), toolset: "b" },
  ],
  toolsets: { b: tools },
});
const states = (tools: readonly Tool[]) =>
  compareAccepted(record, current(tools)).cases.map(({ id, state, tools: named }) => [id, state, ...named].join(" "));

describe("what an accepted record covers", () => {
  it("covers all cases that were graded while neither they nor the tools changed", () => {
    expect(states(before.toReversed())).toEqual([
      ...[
        "read accepted",
        "both accepted",
        "none accepted",
        "skill accepted",
        "thin not graded",
        "edited edited",
        "new new",
      ],
    ]);
    expect(compareAccepted(record, current(before))).toMatchObject({ lists: [], removed: ["old"] });
  });

  it("does not cover cases that name a changed tool, nor those that name none", () => {
    expect(states([aTool("read", "Reads."), aTool("list", "Lists files."), aTool("skill:pdf", "Forms.")])).toEqual([
      ...["read accepted", "both stale list", "none stale list", "skill stale list", "thin not graded"],
      ...["edited edited", "new new"],
    ]);
  });

  it("counts a renamed tool under both names, and a changed skill", () => {
    const changed = states([aTool("read_file", "Reads."), aTool("list", "Lists."), aTool("skill:pdf", "Fills forms.")]);
    expect(changed.slice(0, 4)).toEqual([
      ...["read stale read", "both stale read", "none stale read read_file skill:pdf", "skill stale skill:pdf"],
    ]);
  });

  it("counts the instructions of a server for every case", () => {
    const withInstructions = [...before, aTool("instructions:files", "Read before you list.")];
    expect(states(withInstructions).slice(0, 3)).toEqual([
      ...["read stale instructions:files", "both stale instructions:files", "none stale instructions:files"],
    ]);
  });
});
