import { describe, expect, it } from "vitest";
import { createGrader } from "../../../src/evals/asking/scoring/score.ts";
import type { Discovery } from "../../../src/evals/base/types/exposure.ts";
import type { Expectation } from "../../../src/evals/base/types/suite.ts";
import type { Call, ToolSearch, Turn } from "../../../src/evals/base/types/trial.ts";
import { turn } from "../../fakes/model.ts";
import { aTool, aToolset } from "../../fakes/suite.ts";
import { expectCalls, expectTool } from "./make.ts";

const toolset = aToolset(aTool("find"), aTool("other"), aTool("kept"));
const deferred = new Set(["find", "other"]);
const wants = (...tools: string[]): Expectation => expectTool({ tools });
const search = (query: string, ...found: string[]): ToolSearch => ({ query, found });
const searched = (...searches: ToolSearch[]): Turn => ({
  ...turn("", ["ToolSearch", { query: "" }]),
  calls: searches.map((_, at): Call => ({ id: `${at}`, tool: "ToolSearch", role: "search" })),
  searches,
});
const builtIn = (tool: string): Turn => ({ ...turn(""), calls: [{ id: "b", tool, role: "built-in", arguments: {} }] });
const call = (tool: string) => turn("", [tool, {}]);

const grade = (expect: Expectation, ...turns: Turn[]) =>
  createGrader({ expect, expectedBehavior: [] }, toolset)(turns, undefined, deferred);

describe("the outcome of a search", () => {
  it.each<[string, Turn[], Discovery, string | undefined]>([
    [
      "chosen",
      [searched(search("a", "other"), search("b", "other", "find")), call("find")],
      { outcome: "chosen", rank: 2, queries: ["a", "b"] },
      undefined,
    ],
    ["chosen without a search", [call("find")], { outcome: "chosen-without-search" }, undefined],
    [
      "found and not chosen",
      [searched(search("a", "other", "find")), call("other")],
      { outcome: "found-not-chosen", rank: 2, queries: ["a"] },
      'the search for "a" found the expected tool (rank 2), but it was not called',
    ],
    [
      "searched and not found",
      [searched(search("a")), searched(search("b", "other")), turn("no")],
      { outcome: "not-found", queries: ["a", "b"] },
      'the search for "a", "b" did not find the expected tool',
    ],
    ["never searched", [turn("no")], { outcome: "not-searched" }, "no tool was searched for"],
    [
      "a tool of the host used instead",
      [builtIn("Grep"), turn("no")],
      { outcome: "built-in-used", builtIn: "Grep" },
      "no tool was searched for; called Grep of the host instead",
    ],
    [
      "not found, and a tool of the host used",
      [searched(search("a")), builtIn("Grep")],
      { outcome: "not-found", queries: ["a"] },
      'the search for "a" did not find the expected tool; called Grep of the host instead',
    ],
  ])("%s", (_, turns, discovery, why) => {
    const score = grade(wants("find"), ...turns);
    expect(score.discovery).toEqual(discovery);
    expect(score.grade).toBe(why === undefined ? "pass" : "fail");
    expect(score.checks.find(({ what }) => what === "search")?.why).toBe(why);
  });

  it("counts a tool that is always loaded as found", () => {
    expect(grade(wants("kept"), call("other")).discovery).toEqual({ outcome: "found-not-chosen" });
    expect(grade(wants("kept"), call("kept")).discovery).toEqual({ outcome: "chosen-without-search" });
    expect(grade(wants("find", "kept"), call("other")).discovery).toEqual({ outcome: "found-not-chosen" });
  });

  it("is that of the first expected call that was not made", () => {
    const both = expectCalls([{ tools: ["find"] }, { tools: ["other"] }], { order: "any", extras: true });
    expect(grade(both, searched(search("a", "find")), call("find")).discovery).toEqual({
      outcome: "not-found",
      queries: ["a"],
    });
    expect(grade(both, searched(search("a", "find", "other")), call("find"), call("other")).discovery?.outcome).toBe(
      "chosen",
    );
  });

  it("is absent where no tool is expected, and where all definitions are shown", () => {
    const none: Expectation = { kind: "none", avoid: [] };
    expect(grade(none, searched(search("a")), turn("no"))).toMatchObject({ grade: "pass", selection: "abstained" });
    expect(grade(none, turn("no")).discovery).toBeUndefined();
    const all = createGrader({ expect: wants("find"), expectedBehavior: [] }, toolset)([call("find")]);
    expect(all.discovery).toBeUndefined();
  });

  it("names a tool of the host as the pick where nothing else was picked", () => {
    expect(grade(wants("find"), builtIn("Grep")).picked).toBe("Grep (built-in)");
    expect(grade(wants("find"), builtIn("Read"), call("find"))).toMatchObject({ grade: "pass", picked: "find" });
    expect(grade({ kind: "none", avoid: [] }, builtIn("Grep"))).toMatchObject({ grade: "pass", picked: "(none)" });
  });
});
