import { describe, expect, it } from "vitest";
import { compileMocks } from "../../../src/evals/asking/scoring/mocks.ts";
import type { Mock, Mocks } from "../../../src/evals/base/types/suite.ts";
import { call } from "./make.ts";

const mock = (label: string, text: string, args?: Mock["args"]): Mock => ({
  label,
  tool: label.replace(/\[\d+\]$/, ""),
  ...(args && { args }),
  result: { isError: false, content: [{ type: "text", text }] },
});
const list = [
  mock("read[1]", "one", { n: { $gte: 1 } }),
  mock("read[2]", "none", { n: { $absent: true } }),
  mock("list", "all"),
];
const answer = (made: Parameters<ReturnType<typeof compileMocks>>[0], unmatched: Mocks["unmatched"] = "error") =>
  compileMocks({ list, unmatched })(made);

describe("a call with mocks", () => {
  it("gets the result of the first that matches its arguments", () => {
    const label = (tool: string, args: { n?: number }) => {
      const found = answer(call(tool, args));
      return found?.status === "executed" ? found.mock : found?.reason;
    };
    expect(label("read", { n: 2 })).toBe("read[1]");
    expect(label("read", {})).toBe("read[2]");
    expect(label("list", { n: 9 })).toBe("list");
    expect(label("read", { n: 0 })).toBe("no mock of read matches these arguments (unmatched: error)");
    expect(label("write", {})).toBe("write has no mock (unmatched: error)");
  });

  it("goes to the server where the suite says so", () => {
    expect(answer(call("write"), "server")).toBeUndefined();
    expect(answer(call("read", { n: 0 }), "server")).toBeUndefined();
    expect(answer(call("list"), "server")).toMatchObject({ status: "executed", mock: "list" });
  });

  it("through a dispatcher is answered by a mock of the tool inside", () => {
    const made = { ...call("execute", { name: "read" }), inner: { tool: "read", arguments: { n: 3 } } };
    expect(answer(made)).toMatchObject({ mock: "read[1]" });
    expect(answer({ ...made, inner: { tool: "write" } })).toMatchObject({
      status: "skipped",
      reason: "write has no mock (unmatched: error)",
    });
  });
});
