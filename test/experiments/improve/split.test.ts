import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { isSibling, listUnproved, type SplitCase, splitCases } from "../../../src/evals/experiments/improve/plan.ts";
import { overlay } from "../../../src/evals/experiments/variants/ask.ts";
import { createToolset } from "../../../src/evals/servers/toolList.ts";
import { aCase, aSuite, aTool } from "../../fakes/suite.ts";

const casesOf = (counts: Record<string, number>): SplitCase[] =>
  Object.entries(counts).flatMap(([label, n]) => Array.from({ length: n }, (_, i) => ({ id: `${label}-${i}`, label })));
const countHeldOut = (cases: readonly SplitCase[]) => {
  const splits = splitCases("s", cases);
  const labels = [...new Set(cases.map(({ label }) => label))];
  return labels.map((label) => cases.filter((one) => one.label === label && splits.get(one.id) === "held-out").length);
};

describe("splitCases", () => {
  it.each([
    [{ read: 4, list: 2, none: 6 }, [2, 1, 3]],
    [{ read: 1, list: 1 }, [1, 0]],
    [{ read: 3, list: 3 }, [2, 1]],
  ])("halves the cases of each expectation: %o", (counts, expected) => {
    expect(countHeldOut(casesOf(counts)).sort()).toEqual(expected.toSorted());
  });

  it("keeps what the file records, and fills up the other half", () => {
    const cases = casesOf({ read: 4 }).map((one, at) => (at < 2 ? { ...one, split: "train" as const } : one));
    expect(Object.fromEntries(splitCases("s", cases))).toEqual({
      "read-0": "train",
      "read-1": "train",
      "read-2": "held-out",
      "read-3": "held-out",
    });
  });

  test("it does not depend on the order of cases, and no recorded one moves when cases are added", () => {
    const counts = fc.record({ read: fc.nat(6), list: fc.nat(6), none: fc.nat(6) });
    fc.assert(
      fc.property(counts, counts, (counted, more) => {
        const cases = casesOf(counted);
        const splits = splitCases("s", cases);
        expect(splitCases("s", cases.toReversed())).toEqual(splits);
        const recorded = cases.map((one) => ({ ...one, split: splits.get(one.id) }));
        const added = casesOf(more).map((one) => ({ ...one, id: `new-${one.id}` }));
        const grown = splitCases("s", [...recorded, ...added]);
        for (const { id } of cases) expect(grown.get(id)).toBe(splits.get(id));
        const surplus = [...grown.values()].reduce((sum, one) => sum + (one === "train" ? 1 : -1), 0);
        expect(Math.abs(surplus)).toBeLessThanOrEqual(3);
      }),
    );
  });

  it("names the expectations that nothing proves, those with the fewest cases first", () => {
    const cases = casesOf({ read: 3, list: 1 }).map((one) => ({ ...one, split: "train" as const }));
    expect(listUnproved(cases, splitCases("s", cases))).toEqual(["list", "read"]);
  });
});

describe("isSibling", () => {
  const planned = (tool: string) => {
    const one = aCase(tool, {
      expect: { kind: "tool", call: { tools: [tool] }, avoid: [], extras: false, argsMode: "partial" },
    });
    return {
      suite: aSuite("s", [one]),
      case: one,
      arm: "head",
      toolset: createToolset([aTool("read"), aTool("list")]),
    };
  };

  it.each([
    ["the tool that is reworded", "read", false],
    ["a tool whose text is only repeated", "list", true],
  ])("is %s: %s", (_, tool, expected) => {
    const { description, inputSchema } = aTool("list");
    const whole = overlay("x", { read: "Reads one file.", list: { tool: { description, inputSchema } } });
    expect(isSibling(planned(tool), whole)).toBe(expected);
  });
});
