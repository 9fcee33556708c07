import { describe, expect, it } from "vitest";
import { createGrader } from "../../../src/evals/asking/scoring/score.ts";
import { isWritable, listWorkspace, toWorkspacePath } from "../../../src/evals/asking/scoring/writtenFiles.ts";
import type { Call, Execution, Turn } from "../../../src/evals/base/types/trial.ts";
import { aTool, aToolset } from "../../fakes/suite.ts";

const turn = (text: string, ...calls: Call[]): Turn => {
  const usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
  return { text, calls, stop: "done", ms: 0, usage };
};
const ended = (isError: boolean): Execution => ({ status: "executed", result: { isError, content: [] }, ms: 0 });
const write = (path: string, content: string, change: Partial<Call> = {}): Call => ({
  ...{ id: "1", tool: "Write", arguments: { file_path: path, content }, execution: ended(false) },
  ...change,
});

describe("the workspace after a trial", () => {
  it("has the files of the case and the last text of each that was written", () => {
    const calls = [write("/project/b.md", "1"), write("b.md", "2"), write("/project/a.md", "other")];
    expect(listWorkspace([{ path: "a.md", content: "given" }], [turn("", ...calls)])).toEqual([
      { path: "a.md", content: "other" },
      { path: "b.md", content: "2" },
    ]);
  });

  it("has nothing of calls that were refused, of a host's own tools, or outside of it", () => {
    const calls = [
      write("/project/a", "x", { execution: ended(true) }),
      write("/project/b", "x", { role: "built-in" }),
      write("/etc/passwd", "x"),
      write("../c", "x"),
    ];
    expect(listWorkspace([], [turn("", ...calls)])).toEqual([]);
  });

  it.each([
    ["/project/a/b.md", "a/b.md"],
    ["./a/../b.md", "b.md"],
    ["a\\b.md", "a/b.md"],
    ["/project", undefined],
    ["/project/../x", undefined],
    ["/etc/passwd", undefined],
    ["C:\\x", undefined],
    ["..", undefined],
    [".", undefined],
  ])("knows %s as %s", (written, path) => expect(toWorkspacePath(written)).toBe(path));
});

describe("a case that expects files", () => {
  const toolset = aToolset(aTool("search"));
  const one = {
    expectedBehavior: [],
    files: [{ path: "in.csv", content: "a" }],
    expectedFiles: { "out.md": { $contains: "3.1" }, "in.csv": "a", "tmp/x": { $absent: true } },
  };
  const grade = createGrader(one, toolset);

  it("passes with these texts, and says what is wrong with each", () => {
    expect(grade([turn("", write("/project/out.md", "## 3.1"))]).grade).toBe("pass");
    const { checks, grade: verdict } = grade([turn("", write("in.csv", "b"), write("tmp/x", ""))]);
    expect(verdict).toBe("fail");
    expect(checks.map(({ what, met }) => `${what} ${met}`)).toEqual([
      "file: out.md no",
      "file: in.csv no",
      "file: tmp/x no",
    ]);
  });

  it("reads the files that a host left where there are some", () => {
    const left = [{ path: "out.md", content: "3.1" }, ...one.files];
    expect(grade([turn("done")], undefined, undefined, left).grade).toBe("pass");
  });

  it("does not count reading and writing as picks", () => {
    const picks = createGrader({ ...one, expect: { kind: "none", avoid: [] } }, toolset);
    const { selection } = picks([turn("", write("/project/out.md", "3.1"))]);
    expect(selection).toBe("abstained");
  });

  it("is not graded on a keyword search, which writes nothing", () => {
    const { grade: verdict } = createGrader(one, toolset, { unjudged: "a keyword search" })([turn("done")]);
    expect(verdict).toBe("not-gradable");
  });
});

it("lets a model write only where something reads what it wrote", () => {
  const files = [{ path: "a", content: "" }];
  const writable = (change: object) => isWritable({ expectedBehavior: [], ...change });
  expect(writable({ expectedFiles: {} })).toBe(true);
  expect(writable({ files, assertions: ["a.mjs"] })).toBe(true);
  expect(writable({ files, expectedBehavior: ["b"] })).toBe(true);
  expect([writable({ files }), writable({ assertions: ["a.mjs"] }), writable({ expectedBehavior: ["b"] })]).toEqual([
    false,
    false,
    false,
  ]);
});
