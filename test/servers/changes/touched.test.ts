import { describe, expect, it } from "vitest";
import type { Expectation } from "../../../src/evals/base/types/suite.ts";
import type { Tool } from "../../../src/evals/base/types/tool.ts";
import { type CurrentCases, findTouched } from "../../../src/evals/servers/changes/changes.ts";

const aTool = (name: string, description: string): Tool => ({ name, description, inputSchema: { type: "object" } });
const tools = [
  aTool("read_file", "Reads the text of one file."),
  aTool("read_folder", "Reads the entries of one folder."),
  aTool("send_mail", "Sends a message to a person."),
];
const calls = (tool: string, acceptable?: string): Expectation => ({
  ...{ kind: "tool", extras: false, argsMode: "partial", avoid: [] },
  call: { tools: [tool], ...(acceptable && { acceptable: [acceptable] }) },
});
const cases: CurrentCases["cases"] = [
  { id: "file", hash: "1", toolset: "b", expect: calls("read_file") },
  { id: "folder", hash: "2", toolset: "b", expect: calls("read_folder") },
  { id: "mail", hash: "3", toolset: "b", expect: calls("send_mail") },
  { id: "either", hash: "4", toolset: "b", expect: calls("send_mail", "read_file") },
  {
    id: "turns",
    hash: "5",
    toolset: "b",
    turns: [{ content: "Hello" }, { content: "Read", expect: calls("read_file") }],
  },
];
const record = { cases: cases.map(({ id, hash }) => ({ id, hash, trials: 1, toolset: "a" })), toolsets: { a: tools } };
const touched = (now: readonly Tool[], current = cases) =>
  findTouched(record, { cases: current, toolsets: { b: now } }).map(({ id, why, tools: named }) =>
    [id, why, ...named].join(" "),
  );
const reworded = aTool("read_file", "Opens one file, and gives its text.");

describe("the cases that a change touches", () => {
  it("are none where nothing changed", () => {
    expect(touched(tools.toReversed())).toEqual([]);
  });

  it("name the changed tool, also as an acceptable one or in a later turn, or one that is similar to it", () => {
    expect(touched([reworded, ...tools.slice(1)])).toEqual([
      ...["file stale read_file", "folder neighbor read_file", "either stale read_file", "turns stale read_file"],
    ]);
    expect(touched([...tools.slice(0, 2), aTool("send_mail", "Mails.")])).toEqual([
      ...["mail stale send_mail", "either stale send_mail"],
    ]);
  });

  it("are touched by a similar tool that is new, and by one that is gone", () => {
    const rival = aTool("read_file_range", "Reads a part of the text of one file.");
    expect(touched([...tools, rival])).toEqual([
      ...["file neighbor read_file_range", "folder neighbor read_file_range"],
      ...["either neighbor read_file_range", "turns neighbor read_file_range"],
    ]);
    expect(touched(tools.slice(1))).toContain("folder neighbor read_file");
    expect(touched([...tools, aTool("resize_photo", "Scales a picture to a width.")])).toEqual([]);
  });

  it("are those that changed themselves", () => {
    const edited = cases.map((one) => (one.id === "mail" ? { ...one, hash: "other" } : one));
    expect(touched(tools, [...edited, { id: "new", hash: "9", toolset: "b" }])).toEqual(["mail edited", "new new"]);
  });
});
