import { describe, expect, test } from "vitest";
import { getLookup } from "../../../src/evals/asking/scoring/tools.ts";
import { toolsetOf } from "./make.ts";

describe("getLookup", () => {
  const toolset = toolsetOf([{ name: "math.add" }, { name: "math_sub" }]);

  test("is made once for a toolset", () => {
    expect(getLookup(toolset)).toBe(getLookup(toolset));
    expect(getLookup(toolset).find("math.add")).toBe(getLookup(toolset).find("math.add"));
  });

  test("finds by the exact name", () => {
    const { names, find } = getLookup(toolset);
    expect(names).toEqual(["math.add", "math_sub"]);
    expect([find("math.add"), find("math_add"), find("toString")].map((listed) => listed?.tool.name)).toEqual([
      "math.add",
      undefined,
      undefined,
    ]);
  });
});
