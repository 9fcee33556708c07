import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { displayWidth } from "../../src/evals/base/text/display.ts";
import type { TextChange } from "../../src/evals/reports/document.ts";
import { changedText } from "../../src/evals/reports/markdown.ts";
import { renderTerminal } from "../../src/evals/reports/terminal.ts";
import { anyText } from "../fakes/text.ts";

const display = { color: false, width: 80, unicode: true };
/** The lines of a change; a diff is indented by two columns. */
const linesOf = (change: TextChange, changes = {}) =>
  renderTerminal([{ kind: "diff", changes: [change] }], { ...display, ...changes })
    .trimEnd()
    .split("\n");
const text = (change: TextChange, changes = {}) =>
  linesOf(change, changes)
    .map((line) => line.slice(2))
    .join("\n");

const long = {
  label: "read_file: description",
  before:
    "Read the complete contents of a file from the file system as text. Handles various text encodings and provides " +
    "detailed error messages if the file cannot be read. Use this tool when you need to examine the contents of a " +
    "single file. Use the 'head' parameter to read only the first N lines of a file, or the 'tail' parameter to read " +
    "only the last N lines of a file. Operates on the file as text regardless of extension.",
  after:
    "Read the complete contents of a file from the file system as text. Handles various text encodings and provides " +
    "detailed error messages if the file cannot be read. Use this tool when you need to examine the contents of one " +
    "file, never of a folder. Use the 'head' parameter to read only the first N lines of a file, or the 'tail' " +
    "parameter to read only the last N lines of a file. Operates on the file as text regardless of extension.",
};

describe("a change at a terminal", () => {
  it("shows changes with context, marked like in git", () => {
    expect(text(long)).toMatchInlineSnapshot(`
      "read_file: description
        … be read. Use this tool when you need to examine the contents of [-a
        single-]{+one+} file{+, never of a folder+}. Use the 'head' parameter to
        read only the first N lines of a file, …"
    `);
  });

  it("keeps the marks in color", () => {
    const shown = text({ label: "t: description", before: "Reads a file.", after: "Reads one file." }, { color: true });
    expect(shown).toBe("\x1b[1mt: description\x1b[22m\n  Reads \x1b[31m[-a-]\x1b[39m\x1b[32m{+one+}\x1b[39m file.");
  });

  it.each<[string, TextChange, string]>([
    ["a word added", { label: "t", before: "Reads a file.", after: "Reads a text file." }, "Reads a {+text+} file."],
    ["a word removed", { label: "t", before: "Reads a text file.", after: "Reads a file." }, "Reads a [-text-] file."],
    [
      "words of any script",
      { label: "t", before: "Сообщает погоду тут", after: "Сообщает время тут" },
      "Сообщает [-погоду-]{+время+} тут",
    ],
    [
      "little in common",
      { label: "t", before: "Reads the file", after: "Sends mail to the team, at once" },
      "[-Reads the file-]{+Sends mail to the team, at once+}",
    ],
    ["a text that is new", { label: "t", after: "Where." }, "{+Where.+}"],
    ["a text that is gone", { label: "t", before: "Where." }, "[-Where.-]"],
    ["white space", { label: "t", before: "Reads\n  a file", after: "Reads a file " }, "(only white space differs)"],
    [
      "what cannot be seen",
      { label: "t", before: "a file", after: "a\u202e file\x1b[2J" },
      "[-a file-]{+a\\u{202e} file\\x1b[2J+}",
    ],
    [
      "JSON",
      { label: "t", before: '{"enum":["a"],"type":"string"}', after: '{"enum":["a","b"],"type":"string"}' },
      '{"enum":["a"{+,"b"+}],"type":"string"}',
    ],
  ])("shows %s", (_, wording, shown) => expect(text(wording)).toBe(`t\n  ${shown}`));

  it("is only the label without any text", () => {
    expect(text({ label: "old: renamed to new" })).toBe("old: renamed to new");
    expect(text({ label: "old: renamed to new", before: "", after: "" })).toBe("old: renamed to new");
  });

  it("is ASCII without unicode", () => {
    expect(text({ label: "t", before: "Größe", after: "Maß" }, { unicode: false })).toBe(
      "t\n  [-Gr\\xf6\\xdfe-]{+Ma\\xdf+}",
    );
  });

  it("stays small for texts of any size", () => {
    const words = (seed: number) =>
      Array.from({ length: 60_000 }, (_, at) => `w${(at * 7919 * seed) % 50_021}`).join(" ");
    expect(text({ label: "t", before: words(1), after: words(3) }).length).toBeLessThan(3000);
  });

  const words = fc.string({ unit: fc.constantFrom("a", "b", "read", " ", "  ", "\n", ".", "ж", "文", "\x1b", "😀") });

  it("contains both texts, except for white space and omissions", () => {
    fc.assert(
      fc.property(words, words, fc.integer({ min: 40, max: 200 }), (before, after, width) => {
        fc.pre(before.length < 60 && after.length < 60 && !/[-[\]{}+]/.test(before + after));
        const bare = (raw: string) => raw.replaceAll("\x1b", "\\x1b").replace(/\s/g, "");
        const [, ...lines] = linesOf({ label: "t", before, after }, { width });
        const shown = lines.join("").replace(/\s/g, "");
        if (bare(before) === "" && bare(after) === "") return;
        if (shown === "(onlywhitespacediffers)") {
          expect(bare(before)).toBe(bare(after));
          return;
        }
        expect(shown.replace(/\{\+.*?\+\}/g, "").replace(/\[-|-\]/g, "")).toBe(bare(before));
        expect(shown.replace(/\[-.*?-\]/g, "").replace(/\{\+|\+\}/g, "")).toBe(bare(after));
      }),
    );
  });

  it("never exceeds the display width, with or without color", () => {
    fc.assert(
      fc.property(words, words, fc.integer({ min: 40, max: 80 }), (before, after, width) => {
        const wording = {
          label: "t",
          before: `${before} same words at the end`,
          after: `${after} same words at the end`,
        };
        for (const line of linesOf(wording, { width })) expect(displayWidth(line)).toBeLessThanOrEqual(width);
        const words = (color: boolean) => linesOf(wording, { width, color }).join("\n");
        expect(stripVTControlCharacters(words(true))).toBe(words(false));
      }),
    );
  });
});

describe("a change in Markdown", () => {
  it("is code without active Markdown", () => {
    expect(
      changedText({ label: "a_b: description", before: "Reads a <file>.", after: "Reads a `file` for @you." }),
    ).toMatchInlineSnapshot(
      `"<code>a&#95;b&#58; description</code>: <code>Reads a <del>&#60;</del><ins>&#96;</ins>file<del>&#62;</del><ins>&#96; for &#64;you</ins>&#46;</code>"`,
    );
    expect(changedText({ label: "old: renamed to new" })).toMatchInlineSnapshot(
      `"<code>old&#58; renamed to new</code>"`,
    );
  });

  it("lets no Markdown or HTML syntax through", () => {
    fc.assert(
      fc.property(anyText(), anyText(), (before, after) => {
        const inner = changedText({ label: before, before, after });
        expect(inner.replace(/<\/?(?:code|del|ins)>/g, "").replace(/&#\d+;/g, "")).not.toMatch(/[<>&`*_[\]@|\n\\]/);
      }),
    );
  });
});
