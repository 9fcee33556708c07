import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cut, cutNames, displayWidth, narrowColumns, wrap, wrapName } from "../../src/evals/base/text/display.ts";
import { makeColumns, table } from "../../src/evals/reports/document.ts";
import { renderTerminal } from "../../src/evals/reports/terminal.ts";

const text = fc.string({ unit: "grapheme" });

describe("columns", () => {
  it.each([
    ["abc", 3],
    ["日本", 4],
    ["🎉", 2],
    ["e\u0301", 1],
    ["✓ ≥", 3],
  ])("of %s", (shown, width) => expect(displayWidth(shown)).toBe(width));
});

describe("cut", () => {
  it("keeps text that fits and marks the cut", () => {
    expect([cut("abcdef", 6, "…"), cut("abcdef", 5, "…"), cut("日本語", 4, "…"), cut("abcdef", 2, "...")]).toEqual([
      "abcdef",
      "abcd…",
      "日…",
      "..",
    ]);
  });

  it("never exceeds the width", () => {
    fc.assert(
      fc.property(text, fc.nat(40), (raw, width) => {
        expect(displayWidth(cut(raw, width, "…"))).toBeLessThanOrEqual(width);
      }),
    );
  });
});

describe("wrap", () => {
  it("breaks at spaces, and inside a word only if it must", () => {
    expect(wrap("one two abcdefghij k", 7)).toEqual(["one two", "abcdefg", "hij k"]);
  });

  it("takes no more than linear time for one long word", () => {
    expect(wrap("x".repeat(4_000_000), 80)).toHaveLength(50_000);
    expect(wrapName("x".repeat(4_000_000), 80)).toHaveLength(50_000);
  });

  it("fits, and drops only the spaces at line breaks", () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 2, max: 40 }), (raw, width) => {
        const lines = wrap(raw, width);
        for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(width);
        expect(lines.join("").replaceAll(" ", "")).toBe(raw.replaceAll(" ", ""));
      }),
    );
  });
});

describe("names", () => {
  const look = (names: readonly string[], width: number) => [...cutNames(names, width, "…").values()];

  it("are cut in the middle", () => {
    expect(look(["read_file", "browser_take_screenshot"], 12)).toEqual(["read_file", "browse…nshot"]);
  });

  it("that differ there alone keep what differs", () => {
    expect(look(["browser_network_requests", "browser_navigate_requests", "browser_close"], 18)).toEqual([
      "brow…etwork_reque…",
      "brow…avigate_requ…",
      "browser_close",
    ]);
    const twice = ["browser_a_long_name_of_x_requests", "browser_a_long_name_of_y_requests", "browser_b_x_requests"];
    expect(look(twice, 16)).toEqual(["brows…x_requests", "brows…y_requests", "bro…b_x_requests"]);
  });

  it("are shown as different names, in their width", () => {
    const name = fc.string({ unit: fc.constantFrom("a", "b", "_"), minLength: 10, maxLength: 30 });
    fc.assert(
      fc.property(name, name, name, fc.integer({ min: 8, max: 20 }), (a, b, rest, width) => {
        const names = [`${a}x${rest}`, `${a}y${rest}`, b];
        const shown = cutNames(names, width, "…");
        for (const one of shown.values()) expect(displayWidth(one)).toBeLessThanOrEqual(width);
        expect(shown.get(names[0] ?? "")).not.toBe(shown.get(names[1] ?? ""));
      }),
    );
  });
});

describe("ids", () => {
  it("are wrapped behind their separators, or anywhere", () => {
    expect(wrapName("get-the-weather-of-oslo", 12)).toEqual(["get-the-", "weather-of-", "oslo"]);
    expect(wrapName("abcdefghij", 4)).toEqual(["abcd", "efgh", "ij"]);
  });

  it("are whole, in their width", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("a", "-", "_", "é", "日") }),
        fc.integer({ min: 2, max: 40 }),
        (id, width) => {
          const lines = wrapName(id, width);
          for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(width);
          expect(lines.join("")).toBe(id);
        },
      ),
    );
  });

  it("are whole in a table on a screen of 80 columns, where names lose their middle", () => {
    const id = "find-the-notes-that-contain-the-word-garden-in-it";
    const columns = makeColumns(["text", "gate"], ["id", "case"], ["name", "expected"], ["figure", "passed"]);
    const tool = "list_directory_with_sizes_and_dates_and_owners_of_files";
    const blocks = [table("case", columns, [["✗ ≥80%", id, tool, "0/1 0% (0-79%)"]])];
    expect(renderTerminal(blocks, { color: false, width: 80, unicode: true })).toMatchSnapshot();
  });
});

describe("narrowed", () => {
  it("narrows the widest columns first", () => {
    expect(narrowColumns([30, 10, 12], 40, 6)).toEqual([18, 10, 12]);
    expect(narrowColumns([30, 10, 12], 30, 6)).toEqual([10, 10, 10]);
    expect(narrowColumns([5, 5], 40, 6)).toEqual([5, 5]);
    expect(narrowColumns([30, 30], 3, 6)).toEqual([6, 6]);
  });
});
