import { describe, expect, it } from "vitest";
import { isSameModel } from "../../../src/evals/base/types/model.ts";

describe("isSameModel", () => {
  const dated = "claude-haiku-5-5-20260901";
  it.each([
    [{ id: "anthropic:a" }, { id: "anthropic:a" }, true],
    [{ id: "anthropic:a", repliedBy: "x" }, { id: "anthropic:a", repliedBy: "y" }, true],
    [{ id: "anthropic:claude-haiku-5-5", repliedBy: dated }, { id: `anthropic:${dated}` }, true],
    [{ id: "anthropic:a", repliedBy: dated }, { id: "anthropic:b", repliedBy: dated }, true],
    [{ id: "anthropic:a", repliedBy: dated }, { id: `openai:${dated}` }, false],
    [{ id: "anthropic:a" }, { id: "anthropic:b" }, false],
    [{ id: "lexical-1" }, { id: "lexical-2" }, false],
  ])("%j and %j: %s", (a, b, same) => {
    expect([isSameModel(a, b), isSameModel(b, a)]).toEqual([same, same]);
  });
});
