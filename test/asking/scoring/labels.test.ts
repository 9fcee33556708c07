import { describe, expect, it } from "vitest";
import { labelCase } from "../../../src/evals/asking/scoring/labels.ts";
import { preflight } from "../../../src/evals/asking/scoring/preflight.ts";
import { createGrader } from "../../../src/evals/asking/scoring/score.ts";
import { buildTranscript } from "../../../src/evals/asking/scoring/transcript.ts";
import type { Expectation, UserTurn } from "../../../src/evals/base/types/suite.ts";
import { call, caseOf, expectCalls, expectTool, toolsetOf, turn } from "./make.ts";

const toolset = toolsetOf([{ name: "search" }, { name: "read" }, { name: "list" }]);
const messages: UserTurn[] = [
  { content: "find it", expect: expectTool({ tools: ["search"], acceptable: ["list"] }) },
  { content: "thanks", expect: { kind: "none", avoid: [] } },
  { content: "open it", expect: expectTool({ tools: ["read"] }) },
];
const second = (userTurn: number, ...calls: Parameters<typeof turn>) => ({ ...turn(...calls), userTurn });
const score = (turns: ReturnType<typeof second>[], expect?: Expectation, parts = messages) =>
  createGrader({ ...caseOf(expect), turns: parts }, toolset)(turns);
const first = (...calls: Parameters<typeof turn>) => turn(...calls) as ReturnType<typeof second>;

describe("user turns", () => {
  it("pass if the replies to each are as expected", () => {
    expect(score([first(call("search")), second(2), second(3, call("read"))])).toEqual({
      grade: "pass",
      selection: "right-tool",
      expected: "search > (none) > read",
      picked: "search > (none) > read",
      checks: [
        { what: "turn 1: tool", met: "yes" },
        { what: "turn 1: args (schema)", met: "yes" },
        { what: "turn 2: tool", met: "yes" },
        { what: "turn 3: tool", met: "yes" },
        { what: "turn 3: args (schema)", met: "yes" },
      ],
    });
    expect(score([first(call("list")), second(2), second(3, call("read"))])).toMatchObject({
      grade: "pass",
      substituted: ["list"],
    });
  });

  it("fail with the word of the first that fails", () => {
    const failed = score([first(call("search")), second(2, call("list")), second(3)]);
    expect(failed).toMatchObject({ grade: "fail", selection: "over-triggered", picked: "search > list > (none)" });
    expect(failed.checks.filter(({ met }) => met === "no")).toEqual([
      { what: "turn 2: tool", met: "no", why: "expected no call, got list" },
      { what: "turn 3: tool", met: "no", why: "expected a call of read, got none" },
    ]);
  });

  it("can have an expectation of the whole conversation, alone or in addition", () => {
    const whole = expectCalls([{ tools: ["search"] }, { tools: ["read"] }]);
    const turns = [first(call("search")), second(2), second(3, call("read"))];
    expect(score(turns, whole)).toMatchObject({ grade: "pass", expected: "search > (none) > read > search, read" });
    const bare = messages.map(({ content }) => ({ content }));
    expect(score(turns, whole, bare)).toMatchObject({
      grade: "pass",
      expected: "search, read",
      picked: "search, read",
    });
    expect(score(turns.slice(0, 2), whole, bare)).toMatchObject({ grade: "fail", selection: "wrong-tool" });
    expect(labelCase({ ...caseOf(whole), turns: bare })).toBe("search, read");
  });

  it("are named where an expectation cannot be met", () => {
    const turns = [messages[0], { content: "open", expect: expectTool({ tools: ["raed"] }) }].flatMap(
      (one) => one ?? [],
    );
    expect(preflight({ ...caseOf(undefined), turns }, toolset, "read-only").map(({ message }) => message)).toEqual([
      'Case "read-one", turn 2: expected tool "raed" is not listed.',
    ]);
  });

  it("stand in the transcript that a judge is shown", () => {
    const turns = [
      { ...first(), text: "found" },
      { ...second(2), text: "welcome" },
    ];
    const shown = buildTranscript([{ role: "user", content: "find it" }], turns, ["thanks", "open it"]);
    expect(shown.map(({ label, text }) => `${label}: ${text}`)).toEqual([
      "the user says: find it",
      "the model says: found",
      "the user says: thanks",
      "the model says: welcome",
    ]);
  });
});
