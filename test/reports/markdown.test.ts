import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { forms, runReport } from "../../src/evals/experiments/run/report/forms.ts";
import { code, renderMarkdown } from "../../src/evals/reports/markdown.ts";
import { anyText } from "../fakes/text.ts";
import { checkOf, sampleReports } from "./checks.ts";
import { caseOf, failed, manifest, runOf, suiteOf } from "./samples.ts";

describe.each(sampleReports)("%s", (name, report) => {
  const text = forms.markdown.render(report);

  it("renders as Markdown", async () => {
    await expect(text).toMatchFileSnapshot(`snapshots/${name}.summary.md.txt`);
  });

  it("has complete table rows, and only its own tags", () => {
    const outside = text.replace(/`[^`\n]*`/g, "code");
    for (const table of outside.match(/^\|.*(\n\|.*)*/gm) ?? []) {
      const cells = table.split("\n").map((row) => row.split("|").length);
      expect(cells).toEqual(cells.map(() => cells[0]));
    }
    expect(
      outside.match(/<[^>]*>/g)?.filter((tag) => !/^<\/?(code|del|details|ins|summary)>$/.test(tag)) ?? [],
    ).toEqual([]);
  });
});

describe("size", () => {
  const cases = (n: number) =>
    Array.from({ length: n }, (_, at) =>
      caseOf({
        id: `case-${at}-${"|".repeat(90)}`,
        input: "<".repeat(500),
        expected: "tool",
        passed: 0,
        reasons: [{ text: "|".repeat(500), n: 5 }],
      }),
    );

  it.each([
    [1, 300],
    [20, 30],
    [150, 3],
  ])("stays below 60,000 bytes with %d suites of %d cases, and says what is cut", (suites, n) => {
    const changes = cases(n).map(({ id, input }) => ({ label: id, before: input.slice(0, 40), after: "|".repeat(40) }));
    const grew = {
      expected: "|".repeat(90),
      picked: "<".repeat(90),
      base: { passed: 0, trials: 5 },
      head: { passed: 5, trials: 5 },
    };
    const verdict = checkOf({ kind: "regressed", by: "suite", changes, grew: changes.map(() => grew) });
    const one = suiteOf({ cases: cases(n), verdict });
    const text = forms.markdown.render(
      runReport({
        summary: runOf(
          Array.from({ length: suites }, () => one),
          1,
        ),
        manifest,
      }),
    );
    expect(Buffer.byteLength(text)).toBeLessThan(60_000);
    expect(text).toMatch(/… and [\d,]+ more (case|suite)/);
  });

  it("does not cut a run that fits", () => {
    expect(forms.markdown.render(runReport({ summary: failed, manifest }))).not.toContain("… and");
  });
});

describe("code", () => {
  it.each([
    ["read_text_file", "`read_text_file`"],
    ["@team #1 <b>", "<code>&#64;team &#35;1 &#60;b&#62;</code>"],
    ["a|b", "<code>a&#124;b</code>"],
    ["a`b\\", "<code>a&#96;b&#92;</code>"],
    ["a\nb", "`a b`"],
    [" ", "_empty_"],
  ])("%j", (raw, text) => expect(code(raw)).toBe(text));

  it("stays within its cell, span and line", () => {
    fc.assert(
      fc.property(anyText(), (raw) => {
        expect(code(raw)).toMatch(/^(`[^`|<\\\n]+`|<code>([^<>|`\\\n*@[\]&]|&#\d+;)+<\/code>|_empty_)$/u);
      }),
    );
  });

  it("has a maximum length", () => expect(code("🎉".repeat(300), 10)).toBe(`\`${"🎉".repeat(9)}…\``));
});

describe("prose", () => {
  const render = (text: string) => renderMarkdown([{ kind: "text", lines: [text] }]).trimEnd();

  it.each([
    ['Größe "ü" [1] & x@beta?', 'Größe "ü" &#91;1&#93; &#38; x&#64;&#8203;beta?'],
    ["run `evals run -n 5` on a|b", "run `evals run -n 5` on a&#124;b"],
    ["see #12 at https://x.org, www.y.org", "see &#35;&#8203;12 at https&#58;//x.org, www&#46;y.org"],
    ["$1 and $2, <1%", "&#36;1 and &#36;2, &#60;1%"],
    ["- no list", "&#45; no list"],
    ["1. no list", "1&#46; no list"],
  ])("%j", (raw, text) => expect(render(raw)).toBe(text));

  it("is never cut", () => expect(render("Long words. ".repeat(100))).toHaveLength(1199));
});
